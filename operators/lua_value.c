/* operators/lua_value.c - see lua_value.h.
 * Invariant: Lua raises errors by longjmp, which must not cross the JSON reader's C++ frames. So
 *            a container's elements are gathered in the arena first, and pushed afterwards. */
#include "operators/lua_value.h"

#include "operators/json.h"
#include "operators/lua_sandbox.h"

#include <lauxlib.h>
#include <math.h>

typedef struct element {
    br_bytes name; /* of an object's field */
    br_value value;
    struct element *next;
} element;

typedef struct elements {
    br_arena *arena;
    element *first, **end;
} elements;

static br_status gather(void *arg, br_bytes name, const br_value *value, br_err *err)
{
    elements *list = arg;
    element *e = br_arena_alloc(list->arena, sizeof(*e));
    (void)err;
    *e = (element){.name = name, .value = *value};
    if (name.len > 0) e->name = br_arena_copy(list->arena, name, 0);
    *list->end = e;
    list->end = &e->next;
    return BR_OK;
}

static void push(lua_State *L, const br_value *v, int depth, br_arena *arena, br_err *err);

static void push_json(lua_State *L, br_bytes json, int depth, br_arena *arena, br_err *err)
{
    elements list = {.arena = arena, .end = &list.first};
    bool array = json.len > 0 && json.data[0] == '[';
    br_status st = BR_OK;
    if (depth > BR_LUA_JSON_DEPTH_MAX)
        st = br_fail(err, BR_ERR_BAD_RECORD, "objects and arrays more than %d deep in one another",
                     BR_LUA_JSON_DEPTH_MAX);
    else if (array)
        st = br_json_each(json, arena, gather, &list, err);
    else
        st = br_json_fields(json, arena, gather, &list, err);
    if (st != BR_OK) br_lua_raise(L);
    luaL_checkstack(L, 4, "values in one another");
    lua_newtable(L);
    lua_Integer index = 1;
    for (const element *e = list.first; e; e = e->next, index++) {
        if (!array) lua_pushlstring(L, e->name.len > 0 ? e->name.data : "", e->name.len);
        push(L, &e->value, depth + 1, arena, err);
        if (array)
            lua_rawseti(L, -2, index);
        else
            lua_rawset(L, -3);
    }
}

static _Noreturn void refuse_number(lua_State *L, br_err *err)
{
    br_fail(err, BR_ERR_BAD_RECORD, "an integer beyond 64 bits, which Lua cannot hold");
    br_lua_raise(L);
}

static void push(lua_State *L, const br_value *v, int depth, br_arena *arena, br_err *err)
{
    switch (v->kind) {
    case BR_MISSING:
    case BR_NULL: lua_pushnil(L); return;
    case BR_BOOL: lua_pushboolean(L, v->b); return;
    case BR_INT: lua_pushinteger(L, v->i); return;
    case BR_BIG: refuse_number(L, err);
    case BR_FLOAT: lua_pushnumber(L, v->f); return;
    case BR_TEXT: lua_pushlstring(L, v->s.len > 0 ? v->s.data : "", v->s.len); return;
    case BR_JSON:
        /* A number inside a container that brine cannot hold comes as JSON too. */
        if (v->s.len == 0 || (v->s.data[0] != '{' && v->s.data[0] != '[')) refuse_number(L, err);
        push_json(L, v->s, depth, arena, err);
        return;
    }
}

void br_lua_push(lua_State *L, const br_value *v, br_arena *arena, br_err *err)
{
    push(L, v, 1, arena, err);
}

static br_status to_number(lua_State *L, int index, br_value *out, br_err *err)
{
    if (lua_isinteger(L, index)) {
        *out = br_value_int(lua_tointeger(L, index));
        return BR_OK;
    }
    *out = br_value_float(lua_tonumber(L, index));
    if (isfinite(out->f)) return BR_OK;
    return br_fail(err, BR_ERR_BAD_RECORD, "the result is not a finite number");
}

br_status br_lua_to_value(lua_State *L, int index, br_value *out, br_err *err)
{
    size_t len;
    switch (lua_type(L, index)) {
    case LUA_TNONE:
    case LUA_TNIL: *out = br_value_null(); return BR_OK;
    case LUA_TBOOLEAN: *out = br_value_bool(lua_toboolean(L, index)); return BR_OK;
    case LUA_TNUMBER: return to_number(L, index, out, err);
    case LUA_TSTRING: {
        const char *text = lua_tolstring(L, index, &len);
        *out = br_value_text(br_bytes_of(text, len));
        return BR_OK;
    }
    default:
        return br_fail(err, BR_ERR_BAD_RECORD,
                       "a %s is no value here; text, a number, a bool or nil is",
                       luaL_typename(L, index));
    }
}
