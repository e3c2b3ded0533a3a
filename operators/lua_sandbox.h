/* operators/lua_sandbox.h - a Lua 5.4 state in which an expression can do nothing but compute.
 * There:     math (no random), string (no dump; patterns and their texts of bounded length),
 *            table.concat, table.unpack, tostring, tonumber, type, select, ipairs, and the key
 *            functions unsalt part concat lower upper. Every one of these tables is read-only, so
 *            nothing is left behind for the next row: a row's result is a function of it alone.
 * Not there: io os debug load require pairs next coroutines metatables collectgarbage, the address
 *            of anything (tostring of a table, %p): its value would change from run to run.
 * Bounds:    BR_LUA_STEPS_MAX instructions per call, BR_LUA_BYTES_MAX per state. The work that one
 *            call of a pattern function does is bounded only by the lengths of pattern and text.
 * Thread:    one. */
#ifndef BR_OPERATORS_LUA_SANDBOX_H
#define BR_OPERATORS_LUA_SANDBOX_H

#include "runtime/base/arena.h"
#include "runtime/base/limits.h"

#include <lua.h>

enum {
    BR_LUA_CALL_BYTES_MAX = 4 * BR_LUA_BYTES_MAX,
    BR_LUA_PATTERN_BYTES_MAX = 128,
    BR_LUA_PATTERN_TEXT_BYTES_MAX = 4096,
};

typedef struct br_lua {
    lua_State *L;
    size_t bytes;      /* that L holds now */
    size_t call_bytes; /* that this call has asked for, whether given back or not */
    br_arena *arena;   /* of the call that runs, for the key functions */
} br_lua;

br_lua *br_lua_create(void);
void br_lua_destroy(br_lua *lua); /* NULL is fine */
/* Compiles the state's only chunk, to run in the sandbox's environment. BR_ERR_CONFIG with Lua's
 * message. */
BR_MUST_USE br_status br_lua_load(br_lua *lua, br_bytes chunk, br_err *err);
/* Calls run(L, arg) under the bounds; the stack is as before. A failure that run itself explains
 * goes to err by br_lua_raise. BR_ERR_BAD_RECORD with Lua's message otherwise. */
BR_MUST_USE br_status br_lua_call(br_lua *lua, lua_CFunction run, void *arg, br_arena *arena,
                                  br_err *err);
/* Inside br_lua_call: pushes the compiled chunk. */
void br_lua_push_chunk(lua_State *L);
/* Inside br_lua_call: ends it with what err (its own) says. */
_Noreturn void br_lua_raise(lua_State *L);

/* Whether the sandbox has a function of this name; a library; a member of a library (math, pi). */
bool br_lua_has_function(br_bytes name);
bool br_lua_has_library(br_bytes name);
bool br_lua_has_member(br_bytes library, br_bytes name);

#endif
