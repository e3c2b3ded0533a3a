/* operators/expr.h - expressions of job files, compiled once and evaluated per row.
 * Native: paths (ad_id, device.id, tags[0], ."odd name"), @key @timestamp @partition @offset @topic
 *         @header.NAME, literals (12, 1.5, "text", 'text', true, false, null), comparisons == != ~=
 *         < <= > >=, arithmetic + - * / // % (as in Lua 5.4: / gives a float, // and % floor), and
 *         or not, parentheses, and the functions unsalt part concat lower upper.
 * Lua:    anything else that Lua 5.4 compiles as an expression over the same names, in a sandbox
 *         with math, string (no dump, rep bounded), table.concat/unpack, tostring, tonumber, type,
 *         select, ipairs and the functions above; no io, os, load, require, pairs, random, clock;
 *         bounded instructions and memory (lua_sandbox.h). Lua's integers wrap at 64 bits.
 * Null:   natively null in arithmetic, in a comparison with < and in a function gives null; == null
 *         tests for it; `and`, `or`, `not` treat null as false. Types do not mix: text + 1 and
 *         text < 1 are bad records; == between types is false. Integer overflow of 64 bits goes on
 *         in 128 bits, beyond that it is a bad record.
 * Thread: an expression belongs to one thread (Lua state, scratch). */
#ifndef BR_OPERATORS_EXPR_H
#define BR_OPERATORS_EXPR_H

#include "operators/record.h"
#include "operators/scope.h"

typedef struct br_expr br_expr;

/* BR_OK: the caller owns *out. Names are resolved in scope, which learns which fields it needs.
 * BR_ERR_CONFIG: the message says what is wrong at which column of text (of the native reading, and
 * Lua's own if it came further), BR_ERR_LIMIT: too long or too deep. */
BR_MUST_USE br_status br_expr_compile(br_expr **out, br_bytes text, br_scope *scope, br_err *err);
void br_expr_destroy(br_expr *expr); /* NULL is fine */

/* BR_OK: *out lives as long as arena, the row's bytes and the expression (its literals).
 * BR_ERR_BAD_RECORD: why it has no value. */
BR_MUST_USE br_status br_expr_eval(const br_expr *expr, const br_row *row, br_arena *arena,
                                   br_value *out, br_err *err);
/* false: it has a value for every row, no longer than the row's key or field. */
bool br_expr_can_fail(const br_expr *expr);
bool br_expr_is_native(const br_expr *expr);
/* The text that was compiled. */
const char *br_expr_text(const br_expr *expr);
/* The name that a group field has where the job file gives none: the text of a plain path; for
 * @key and the like the word behind @ (@header.NAME: NAME); for a function the name of its first
 * path; else NULL. Borrows the expression. */
const char *br_expr_default_name(const br_expr *expr);
/* The record path (its text) if the expression is nothing but a path, else NULL. */
const char *br_expr_plain_path(const br_expr *expr);

/* The key functions, also for producers and tests.
 * unsalt: x without its last `sep` + decimal digits; x unchanged where it does not end so
 * (ad_7_3 -> ad_7, ad_7_ -> ad_7_, ad -> ad), or where sep is empty. Borrows x. */
br_bytes br_unsalt(br_bytes x, br_bytes sep);
/* The i-th part (from 0; negative: from the end) of x split at sep; BR_NO_BYTES where there is
 * none. Borrows x. sep must not be empty. */
br_bytes br_part(br_bytes x, br_bytes sep, int64_t i);

#endif
