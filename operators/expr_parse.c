/* operators/expr_parse.c - the tree of a native expression, by precedence climbing.
 * Invariant: the parser recurses at most BR_EXPR_DEPTH_MAX deep, and so does the tree. */
#include "operators/expr_internal.h"

#include "runtime/base/alloc.h"
#include "runtime/base/limits.h"

typedef struct parser {
    br_bytes text;
    br_token token; /* the next one; its node is owned */
    int depth;
    bool final; /* as in br_expr_parse */
    br_err *err;
} parser;

enum { UNARY_BINDS = 6 };

/* How tightly a binary operator binds its operands; 0: it is none. As in Lua 5.4. */
static int binds(const br_token *token)
{
    if (token->kind != TOKEN_OP) return 0;
    if (token->op == EXPR_OR) return 1;
    if (token->op == EXPR_AND) return 2;
    if (token->op <= EXPR_NE) return 3;
    if (token->op <= EXPR_SUB) return 4;
    return token->op <= EXPR_MOD ? 5 : 0;
}

br_expr_node *br_expr_node_create(br_expr_kind kind, size_t at)
{
    br_expr_node *node = BR_NEW(br_expr_node);
    node->kind = kind;
    node->column = (int)at + 1;
    node->depth = 1;
    return node;
}

void br_expr_node_destroy(br_expr_node *node)
{
    if (!node) return;
    for (size_t i = 0; i < node->arg_count; i++) br_expr_node_destroy(node->args[i]);
    br_free(node->args);
    br_free(node->name);
    br_path_dispose(&node->path);
    br_path_dispose(&node->rest);
    br_free(node);
}

/* Takes arg, also where it fails. */
static br_status add_arg(parser *p, br_expr_node *node, br_expr_node *arg)
{
    node->args = br_realloc(node->args, (node->arg_count + 1) * sizeof(br_expr_node *));
    node->args[node->arg_count++] = arg;
    if (arg->depth >= node->depth) node->depth = arg->depth + 1;
    if (node->depth <= BR_EXPR_DEPTH_MAX) return BR_OK;
    return br_fail(p->err, BR_ERR_LIMIT,
                   "column %d: more than %d operations inside one another; split the expression",
                   node->column, BR_EXPR_DEPTH_MAX);
}

static br_status advance(parser *p)
{
    return br_expr_token(p->text, p->token.at + p->token.text.len, &p->token, p->err);
}

static br_status fail_unexpected(parser *p, const char *wanted)
{
    const br_token *token = &p->token;
    if (token->kind == TOKEN_END)
        br_fail(p->err, BR_ERR_CONFIG, "the expression ends where %s was expected", wanted);
    else
        br_fail(p->err, BR_ERR_CONFIG, "unexpected `%.*s` where %s was expected",
                (int)(token->text.len < 40 ? token->text.len : 40), token->text.data, wanted);
    return br_expr_fail_at(token->at, p->err);
}

static br_status parse_binary(parser *p, int binds_min, br_expr_node **out);

static br_status parse_args(parser *p, br_expr_node *call)
{
    br_status st = advance(p); /* the ( */
    if (st == BR_OK) st = advance(p);
    while (st == BR_OK && p->token.kind != TOKEN_CLOSE) {
        br_expr_node *arg = NULL;
        st = parse_binary(p, 1, &arg);
        if (st == BR_OK) st = add_arg(p, call, arg);
        if (st != BR_OK || p->token.kind == TOKEN_CLOSE) break;
        if (p->token.kind != TOKEN_COMMA) return fail_unexpected(p, "`,` or `)`");
        st = advance(p);
        if (st == BR_OK && p->token.kind == TOKEN_CLOSE) return fail_unexpected(p, "a value");
    }
    return st == BR_OK ? advance(p) : st;
}

/* What would fail for every record is refused at once. */
static br_status check_separator(parser *p, const br_expr_node *call)
{
    size_t at = call->fn->separator;
    if (at == 0 || call->arg_count <= at) return BR_OK;
    const br_expr_node *sep = call->args[at];
    if (sep->kind != EXPR_LITERAL || sep->value.kind != BR_TEXT || sep->value.s.len > 0)
        return BR_OK;
    br_fail(p->err, BR_ERR_CONFIG, "%s needs a separator that is not empty", call->fn->name);
    return br_wrap(p->err, "column %d", sep->column);
}

static br_status parse_call(parser *p, br_expr_node **out)
{
    br_token name = p->token;
    const br_function *fn = br_function_find(name.text);
    if (!fn) {
        const char *near = br_function_nearest(name.text);
        br_fail(p->err, BR_ERR_CONFIG, "unknown function `%.*s`%s%s%s",
                (int)(name.text.len < 40 ? name.text.len : 40), name.text.data,
                near ? ", did you mean `" : "", near ? near : "", near ? "`?" : "");
        return br_expr_fail_at(name.at, p->err);
    }
    br_expr_node *call = br_expr_node_create(EXPR_CALL, name.at);
    call->fn = fn;
    br_status st = parse_args(p, call);
    if (st == BR_OK) {
        st = br_function_check(fn, call->arg_count, p->err);
        st = st == BR_OK ? check_separator(p, call) : br_expr_fail_at(name.at, p->err);
        p->final = st != BR_OK;
    }
    if (st == BR_OK)
        *out = call;
    else
        br_expr_node_destroy(call);
    return st;
}

static br_status parse_parens(parser *p, br_expr_node **out)
{
    br_status st = advance(p);
    if (st == BR_OK) st = parse_binary(p, 1, out);
    if (st != BR_OK) return st;
    if (p->token.kind != TOKEN_CLOSE) return fail_unexpected(p, "an operator or `)`");
    return advance(p);
}

static br_status parse_primary(parser *p, br_expr_node **out)
{
    switch (p->token.kind) {
    case TOKEN_LITERAL:
    case TOKEN_FIELD:
    case TOKEN_META:
        *out = p->token.node;
        p->token.node = NULL;
        return advance(p);
    case TOKEN_CALL: return parse_call(p, out);
    case TOKEN_OPEN: return parse_parens(p, out);
    case TOKEN_OP:
    case TOKEN_CLOSE:
    case TOKEN_COMMA:
    case TOKEN_END: break;
    }
    return fail_unexpected(p, "a value");
}

static br_status parse_unary(parser *p, br_expr_node **out)
{
    br_expr_op op = p->token.op == EXPR_SUB ? EXPR_NEGATE : p->token.op;
    if (p->token.kind != TOKEN_OP || (op != EXPR_NOT && op != EXPR_NEGATE))
        return parse_primary(p, out);
    br_expr_node *node = br_expr_node_create(EXPR_OPERATE, p->token.at), *operand = NULL;
    node->op = op;
    *out = node; /* the caller destroys it on failure */
    br_status st = advance(p);
    if (st == BR_OK) st = parse_binary(p, UNARY_BINDS, &operand);
    return st == BR_OK ? add_arg(p, node, operand) : st;
}

/* left op right op …; *left becomes the whole. */
static br_status parse_right(parser *p, br_expr_node **left)
{
    int strength = binds(&p->token);
    br_expr_node *node = br_expr_node_create(EXPR_OPERATE, p->token.at), *right = NULL;
    node->op = p->token.op;
    br_status st = add_arg(p, node, *left);
    *left = node;
    if (st == BR_OK) st = advance(p);
    if (st == BR_OK) st = parse_binary(p, strength + 1, &right);
    return st == BR_OK ? add_arg(p, node, right) : st;
}

/* On failure nothing is left in *out. */
static br_status parse_binary(parser *p, int binds_min, br_expr_node **out)
{
    br_status st = BR_OK;
    *out = NULL;
    if (++p->depth > BR_EXPR_DEPTH_MAX) {
        br_fail(p->err, BR_ERR_LIMIT, "more than %d levels of nesting; split the expression",
                BR_EXPR_DEPTH_MAX);
        st = br_expr_fail_at(p->token.at, p->err);
    }
    if (st == BR_OK) st = parse_unary(p, out);
    while (st == BR_OK && binds(&p->token) >= binds_min) st = parse_right(p, out);
    p->depth--;
    if (st == BR_OK) return BR_OK;
    br_expr_node_destroy(*out);
    *out = NULL;
    return st;
}

br_status br_expr_parse(br_bytes text, br_expr_node **out, bool *final, br_err *err)
{
    parser p = {.text = text, .err = err};
    *out = NULL;
    br_status st = advance(&p);
    if (st == BR_OK) st = parse_binary(&p, 1, out);
    if (st == BR_OK && p.token.kind != TOKEN_END) st = fail_unexpected(&p, "an operator");
    *final = p.final;
    if (st == BR_OK) return BR_OK;
    br_expr_node_destroy(p.token.node);
    br_expr_node_destroy(*out);
    *out = NULL;
    return st;
}

br_status br_expr_resolve(br_expr_node *node, br_scope *scope, br_err *err)
{
    if (node->kind == EXPR_FIELD) {
        br_status st = br_scope_resolve(scope, &node->path, &node->slot, &node->rest, err);
        return st == BR_OK ? BR_OK : br_wrap(err, "column %d", node->column);
    }
    for (size_t i = 0; i < node->arg_count; i++) {
        br_status st = br_expr_resolve(node->args[i], scope, err);
        if (st != BR_OK) return st;
    }
    return BR_OK;
}
