/* operators/expr_internal.h - what the files behind expr.h share.
 * Shape:     text -> tokens (expr_lexer.c) -> tree (expr_parse.c) -> values (expr_eval.c,
 *            expr_arith.c); or text -> Lua chunk (expr_lua_scan.c) -> values (expr_lua.c)
 * Invariant: a tree is at most BR_EXPR_DEPTH_MAX deep, so evaluation may recurse. */
#ifndef BR_OPERATORS_EXPR_INTERNAL_H
#define BR_OPERATORS_EXPR_INTERNAL_H

#include "operators/functions.h"
#include "operators/record.h"
#include "operators/scope.h"

/* Operators, weakest first; the same precedences as in Lua. */
typedef enum br_expr_op {
    EXPR_NO_OP,
    EXPR_OR,
    EXPR_AND,
    EXPR_LT,
    EXPR_LE,
    EXPR_GT,
    EXPR_GE,
    EXPR_EQ,
    EXPR_NE,
    EXPR_ADD,
    EXPR_SUB,
    EXPR_MUL,
    EXPR_DIV,
    EXPR_FLOOR_DIV,
    EXPR_MOD,
    EXPR_NOT,
    EXPR_NEGATE,
} br_expr_op;

typedef enum br_expr_meta {
    EXPR_KEY,
    EXPR_TIMESTAMP,
    EXPR_PARTITION,
    EXPR_OFFSET,
    EXPR_TOPIC,
    EXPR_HEADER,
} br_expr_meta;

typedef enum br_expr_kind {
    EXPR_LITERAL, /* value */
    EXPR_FIELD,   /* path; after br_expr_resolve: slot and rest */
    EXPR_META,    /* meta, name */
    EXPR_OPERATE, /* op, one or two args */
    EXPR_CALL,    /* fn, args */
} br_expr_kind;

typedef struct br_expr_node br_expr_node;
struct br_expr_node {
    br_expr_kind kind;
    br_expr_op op;
    br_expr_meta meta;
    uint32_t slot;
    int column; /* from 1, in the text */
    int depth;
    br_value value; /* its text borrows name */
    br_path path, rest;
    char *name; /* a literal's text, or a header's name */
    const br_function *fn;
    br_expr_node **args;
    size_t arg_count;
};

typedef enum br_token_kind {
    TOKEN_END,
    TOKEN_LITERAL, /* node */
    TOKEN_FIELD,   /* node */
    TOKEN_META,    /* node */
    TOKEN_CALL,    /* text: the function's name; the next token is its ( */
    TOKEN_OP,      /* op; EXPR_SUB for a minus of any kind */
    TOKEN_OPEN,
    TOKEN_CLOSE,
    TOKEN_COMMA,
} br_token_kind;

typedef struct br_token {
    br_token_kind kind;
    size_t at; /* offset in the whole text */
    br_bytes text;
    br_expr_op op;
    br_expr_node *node; /* owned */
} br_token;

/* The token at offset `at` of text, or behind blanks there. With the column: BR_ERR_CONFIG,
 * BR_ERR_LIMIT (a number that is too large). */
BR_MUST_USE br_status br_expr_token(br_bytes text, size_t at, br_token *out, br_err *err);
/* @key, @header.NAME …: text[at] is the @. *used: its length. */
BR_MUST_USE br_status br_expr_token_meta(br_bytes text, size_t at, br_expr_node **out, size_t *used,
                                         br_err *err);
/* Puts "column N: " before the message. */
BR_MUST_USE br_status br_expr_fail_at(size_t at, br_err *err);
const char *br_expr_op_text(br_expr_op op);

br_expr_node *br_expr_node_create(br_expr_kind kind, size_t at);
void br_expr_node_destroy(br_expr_node *node); /* and its args; NULL is fine */
/* Reads the whole text natively. BR_ERR_CONFIG, BR_ERR_LIMIT. *final: a function was called
 * wrongly, so that reading the text in another way would only put the error off. */
BR_MUST_USE br_status br_expr_parse(br_bytes text, br_expr_node **out, bool *final, br_err *err);
/* Finds the slots of all fields of the tree. */
BR_MUST_USE br_status br_expr_resolve(br_expr_node *node, br_scope *scope, br_err *err);

/* BR_ERR_BAD_RECORD. */
BR_MUST_USE br_status br_expr_node_eval(const br_expr_node *node, const br_row *row,
                                        br_arena *arena, br_value *out, br_err *err);
/* + - * / // % of two values, and the negative of one. Nulls give null. */
BR_MUST_USE br_status br_expr_arith(br_expr_op op, const br_value *a, const br_value *b,
                                    br_value *out, br_err *err);
BR_MUST_USE br_status br_expr_negate(const br_value *a, br_value *out, br_err *err);
/* == != < <= > >= */
BR_MUST_USE br_status br_expr_compare(br_expr_op op, const br_value *a, const br_value *b,
                                      br_value *out, br_err *err);

#endif
