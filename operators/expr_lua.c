/* operators/expr_lua.c - see expr_lua.h. */
#include "operators/expr_lua.h"

#include "operators/expr_lua_scan.h"
#include "operators/lua_sandbox.h"
#include "operators/lua_value.h"
#include "runtime/base/alloc.h"

#include <lauxlib.h>

struct br_expr_lua {
    br_lua *lua;
    br_lua_chunk chunk;
    br_value *values; /* of the chunk's args, for the row at hand */
};

static br_status resolve_args(br_expr_lua *expr, br_scope *scope, br_err *err)
{
    for (size_t i = 0; i < expr->chunk.arg_count; i++) {
        br_status st = br_expr_resolve(expr->chunk.args[i], scope, err);
        if (st != BR_OK) return st;
    }
    return BR_OK;
}

br_status br_expr_lua_compile(br_expr_lua **out, br_bytes text, br_scope *scope, bool *only_lua,
                              bool *read, br_err *err)
{
    br_expr_lua *expr = BR_NEW(br_expr_lua);
    br_status st = br_lua_scan(text, &expr->chunk, err);
    if (st == BR_OK) {
        expr->lua = br_lua_create();
        st = br_lua_load(expr->lua, br_buf_bytes(&expr->chunk.text), err);
    }
    *read = st == BR_OK;
    *only_lua = expr->chunk.only_lua;
    if (st == BR_OK) st = resolve_args(expr, scope, err);
    if (st == BR_OK)
        expr->values = br_calloc(expr->chunk.arg_count, sizeof(*expr->values));
    else
        br_expr_lua_destroy(expr);
    *out = st == BR_OK ? expr : NULL;
    return st;
}

void br_expr_lua_destroy(br_expr_lua *expr)
{
    if (!expr) return;
    br_lua_destroy(expr->lua);
    br_lua_chunk_dispose(&expr->chunk);
    br_free(expr->values);
    br_free(expr);
}

typedef struct call {
    const br_value *values;
    size_t count;
    br_arena *arena;
    br_value *out;
    br_err *err;
} call;

/* Runs protected: everything that may ask Lua for memory is in here. */
static int run(lua_State *L)
{
    call *c = lua_touserdata(L, 1);
    luaL_checkstack(L, (int)c->count + 4, "fields");
    br_lua_push_chunk(L);
    for (size_t i = 0; i < c->count; i++) br_lua_push(L, &c->values[i], c->arena, c->err);
    lua_call(L, (int)c->count, 1);
    if (br_lua_to_value(L, -1, c->out, c->err) != BR_OK) br_lua_raise(L);
    if (c->out->kind == BR_TEXT) c->out->s = br_arena_copy(c->arena, c->out->s, 0);
    return 0;
}

br_status br_expr_lua_eval(br_expr_lua *expr, const br_row *row, br_arena *arena, br_value *out,
                           br_err *err)
{
    size_t count = expr->chunk.arg_count;
    for (size_t i = 0; i < count; i++) {
        br_status st = br_expr_node_eval(expr->chunk.args[i], row, arena, &expr->values[i], err);
        if (st != BR_OK) return st;
    }
    call c = {.values = expr->values, .count = count, .arena = arena, .out = out, .err = err};
    return br_lua_call(expr->lua, run, &c, arena, err);
}
