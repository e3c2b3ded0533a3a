/* operators/expr_lua.h - expressions that are more than the native language: Lua 5.4, sandboxed.
 * Shape:     text -> fields become arguments of a chunk (expr_lua_scan.c) -> compiled once ->
 *            called per row with their values
 * Paths mean the same as natively (tags[0] is the first); a computed index into a table counts
 * from 1 as in Lua. Integers wrap at 64 bits inside Lua; one beyond them is a bad record.
 * Thread:    one; every expression has a Lua state of its own, so it needs no lock and cannot
 *            pass anything on to another expression. */
#ifndef BR_OPERATORS_EXPR_LUA_H
#define BR_OPERATORS_EXPR_LUA_H

#include "operators/expr_internal.h"

typedef struct br_expr_lua br_expr_lua;

/* BR_ERR_CONFIG: not an expression of Lua, or calls what the sandbox does not have; *only_lua says
 * whether it uses something that the native language lacks, so that Lua's message is of interest;
 * *read whether all but the names of fields is fine. */
BR_MUST_USE br_status br_expr_lua_compile(br_expr_lua **out, br_bytes text, br_scope *scope,
                                          bool *only_lua, bool *read, br_err *err);
void br_expr_lua_destroy(br_expr_lua *lua); /* NULL is fine */
/* Text lives in arena. BR_ERR_BAD_RECORD: an error in Lua, too many steps, too much memory, a
 * result that is no value of a record. */
BR_MUST_USE br_status br_expr_lua_eval(br_expr_lua *lua, const br_row *row, br_arena *arena,
                                       br_value *out, br_err *err);

#endif
