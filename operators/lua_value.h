/* operators/lua_value.h - values of rows as values of Lua, and back.
 * null <-> nil; integers of 64 bits, floats, bool and text as they are; an object or array becomes
 * a table (arrays from 1), never back. */
#ifndef BR_OPERATORS_LUA_VALUE_H
#define BR_OPERATORS_LUA_VALUE_H

#include "operators/value.h"
#include "runtime/base/arena.h"

#include <lua.h>

enum { BR_LUA_JSON_DEPTH_MAX = 32 };

/* Inside br_lua_call: pushes v. Whatever cannot be pushed ends the call by br_lua_raise, with err
 * filled: BR_ERR_BAD_RECORD for integers beyond 64 bits, broken JSON, or JSON nested too deep. */
void br_lua_push(lua_State *L, const br_value *v, br_arena *arena, br_err *err);
/* The value at index; text borrows the state's. BR_ERR_BAD_RECORD: a table, a function, inf, nan.
 */
BR_MUST_USE br_status br_lua_to_value(lua_State *L, int index, br_value *out, br_err *err);

#endif
