/* operators/expr.c - see expr.h: native where it can be, else Lua. */
#include "operators/expr.h"

#include "operators/expr_internal.h"
#include "operators/expr_lua.h"
#include "runtime/base/alloc.h"
#include "runtime/base/limits.h"

struct br_expr {
    char *text;
    br_expr_node *root; /* native, or NULL */
    br_expr_lua *lua;   /* or NULL */
    bool in_slot;       /* it is nothing but the value of `slot` */
    uint32_t slot;
    char *name; /* br_expr_default_name */
    char *plain_path;
};

static char *path_text(const br_path *path)
{
    br_buf text = {0};
    br_path_print(path, path->count, &text);
    char *copy = br_strdup(br_buf_cstr(&text));
    br_buf_dispose(&text);
    return copy;
}

/* Owned, or NULL. */
static char *default_name(const br_expr_node *node)
{
    static const char *const meta[] = {
        [EXPR_KEY] = "key",       [EXPR_TIMESTAMP] = "timestamp", [EXPR_PARTITION] = "partition",
        [EXPR_OFFSET] = "offset", [EXPR_TOPIC] = "topic",
    };
    char *found = NULL;
    if (node->kind == EXPR_FIELD) return path_text(&node->path);
    if (node->kind == EXPR_META)
        return br_strdup(node->meta == EXPR_HEADER ? node->name : meta[node->meta]);
    if (node->kind != EXPR_CALL) return NULL;
    for (size_t i = 0; !found && i < node->arg_count; i++) found = default_name(node->args[i]);
    return found;
}

static br_status check_text(br_bytes text, br_err *err)
{
    if (text.len > BR_EXPR_BYTES_MAX)
        return br_fail(err, BR_ERR_LIMIT, "an expression of %zu bytes; %d are allowed", text.len,
                       BR_EXPR_BYTES_MAX);
    if (text.len > 0 && memchr(text.data, '\0', text.len))
        return br_fail(err, BR_ERR_CONFIG, "an expression with a NUL byte");
    return BR_OK;
}

/* Lua's turn, after the native reading failed with what err says. */
static br_status compile_lua(br_expr *expr, br_bytes text, br_scope *scope, br_err *err)
{
    br_err lua_err = {0};
    bool only_lua = false, read = false;
    br_status st = br_expr_lua_compile(&expr->lua, text, scope, &only_lua, &read, &lua_err);
    if (st == BR_OK) return BR_OK;
    if (read || st == BR_ERR_LIMIT) {
        *err = lua_err;
    } else if (only_lua) {
        br_err native = *err;
        br_fail(err, BR_ERR_CONFIG, "%.400s; read as Lua: %.400s", native.message, lua_err.message);
    }
    return err->status;
}

static br_status compile(br_expr *expr, br_bytes text, br_scope *scope, br_err *err)
{
    bool final;
    br_status st = check_text(text, err);
    if (st != BR_OK) return st;
    st = br_expr_parse(text, &expr->root, &final, err);
    if (st == BR_ERR_CONFIG && !final) st = compile_lua(expr, text, scope, err);
    if (st == BR_OK && expr->root) st = br_expr_resolve(expr->root, scope, err);
    return st == BR_OK ? BR_OK : br_wrap(err, "expression `%.200s`", expr->text);
}

br_status br_expr_compile(br_expr **out, br_bytes text, br_scope *scope, br_err *err)
{
    br_expr *expr = BR_NEW(br_expr);
    expr->text = br_strndup(text.data ? text.data : "", text.len);
    br_status st = compile(expr, text, scope, err);
    if (st == BR_OK && expr->root) {
        expr->name = default_name(expr->root);
        if (expr->root->kind == EXPR_FIELD) expr->plain_path = path_text(&expr->root->path);
        expr->in_slot = expr->root->kind == EXPR_FIELD && expr->root->rest.count == 0;
        expr->slot = expr->root->slot;
    }
    if (st != BR_OK) br_expr_destroy(expr);
    *out = st == BR_OK ? expr : NULL;
    return st;
}

void br_expr_destroy(br_expr *expr)
{
    if (!expr) return;
    br_expr_node_destroy(expr->root);
    br_expr_lua_destroy(expr->lua);
    br_free(expr->text);
    br_free(expr->name);
    br_free(expr->plain_path);
    br_free(expr);
}

br_status br_expr_eval(const br_expr *expr, const br_row *row, br_arena *arena, br_value *out,
                       br_err *err)
{
    if (expr->in_slot) { /* nearly every group field and argument */
        *out = row->slots[expr->slot];
        return BR_OK;
    }
    br_status st = expr->root ? br_expr_node_eval(expr->root, row, arena, out, err)
                              : br_expr_lua_eval(expr->lua, row, arena, out, err);
    return st == BR_OK ? BR_OK : br_wrap(err, "expression `%.200s`", expr->text);
}

/* Text or null in every record. */
static bool is_text(const br_expr_node *node)
{
    return node->kind == EXPR_META &&
           (node->meta == EXPR_KEY || node->meta == EXPR_TOPIC || node->meta == EXPR_HEADER);
}

bool br_expr_can_fail(const br_expr *expr)
{
    const br_expr_node *root = expr->root;
    if (expr->in_slot) return false;
    if (!root || root->kind == EXPR_LITERAL || root->kind == EXPR_META) return !root;
    /* unsalt, lower, upper and concat take any one text, and make it no longer. */
    return !(root->kind == EXPR_CALL && root->arg_count == 1 && is_text(root->args[0]));
}

bool br_expr_is_native(const br_expr *expr)
{
    return expr->root != NULL;
}

const char *br_expr_text(const br_expr *expr)
{
    return expr->text;
}

const char *br_expr_default_name(const br_expr *expr)
{
    return expr->name;
}

const char *br_expr_plain_path(const br_expr *expr)
{
    return expr->plain_path;
}
