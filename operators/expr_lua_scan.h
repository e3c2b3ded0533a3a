/* operators/expr_lua_scan.h - finds the fields in the text of a Lua expression, and makes a chunk
 * of it that takes them as arguments:
 *   tags[0] .. "/" .. @key   ->   local __br0,__br1=... return (__br0 .. "/" .. __br1)
 * Lexical, with no grammar: Lua's own compiler judges the chunk. */
#ifndef BR_OPERATORS_EXPR_LUA_SCAN_H
#define BR_OPERATORS_EXPR_LUA_SCAN_H

#include "operators/expr_internal.h"

enum { BR_LUA_ARGUMENTS_MAX = 100 }; /* Lua allows 200 locals */

typedef struct br_lua_chunk {
    br_buf text;
    br_expr_node **args; /* fields and metadata, each once, not resolved */
    size_t arg_count;
    bool only_lua; /* something that the native language does not have */
} br_lua_chunk;

/* out is disposed by the caller in any case. BR_ERR_CONFIG: brackets that do not match, comments,
 * an unclosed text, a call of something that is no function here. BR_ERR_LIMIT. */
BR_MUST_USE br_status br_lua_scan(br_bytes text, br_lua_chunk *out, br_err *err);
void br_lua_chunk_dispose(br_lua_chunk *chunk);

#endif
