/* operators/lua_sandbox.c - see lua_sandbox.h. */
#include "operators/lua_sandbox.h"

#include "operators/functions.h"
#include "operators/lua_value.h"
#include "runtime/base/alloc.h"
#include "runtime/base/limits.h"

#include <lauxlib.h>
#include <lualib.h>

static const char *const base_functions[] = {"tonumber", "type", "select", "ipairs", NULL};
static const char *const table_functions[] = {"concat", "unpack", NULL};
static const char *const string_functions[] = {"byte", "char",    "format", "len",   "lower",
                                               "rep",  "reverse", "sub",    "upper", NULL};
static const char *const pattern_functions[] = {"find", "match", "gmatch", "gsub", NULL};
static const char *const math_functions[] = {
    "abs",  "acos", "asin", "atan", "ceil",       "cos",  "deg",        "exp",  "floor",
    "fmod", "huge", "log",  "max",  "maxinteger", "min",  "mininteger", "modf", "pi",
    "rad",  "sin",  "sqrt", "tan",  "tointeger",  "type", "ult",        NULL};
static const char *const libraries[] = {"math", "string", "table", NULL};

/* Only their addresses count: keys of the registry, and the error value of br_lua_raise. */
static const char environment_key = 'e', chunk_key = 'c', raised = 'r';

static bool contains(const char *const *names, br_bytes name)
{
    for (; *names; names++)
        if (br_bytes_equal(name, br_str(*names))) return true;
    return false;
}

bool br_lua_has_function(br_bytes name)
{
    return contains(base_functions, name) || br_bytes_equal(name, br_str("tostring")) ||
           br_function_find(name);
}

bool br_lua_has_library(br_bytes name)
{
    return contains(libraries, name);
}

bool br_lua_has_member(br_bytes library, br_bytes name)
{
    if (br_bytes_equal(library, br_str("math"))) return contains(math_functions, name);
    if (br_bytes_equal(library, br_str("table"))) return contains(table_functions, name);
    return br_bytes_equal(library, br_str("string")) &&
           (contains(string_functions, name) || contains(pattern_functions, name));
}

/* Refusing makes Lua collect its garbage and ask again, then raise an error. */
static void *allocate(void *arg, void *old, size_t old_size, size_t size)
{
    br_lua *lua = arg;
    size_t had = old ? old_size : 0; /* without old, old_size is a type */
    size_t more = size > had ? size - had : 0;
    if (more > 0 &&
        (lua->bytes + more > BR_LUA_BYTES_MAX || lua->call_bytes + more > BR_LUA_CALL_BYTES_MAX))
        return NULL;
    lua->call_bytes += more;
    lua->bytes = lua->bytes - had + size;
    if (size > 0) return br_realloc(old, size);
    br_free(old);
    return NULL;
}

static br_lua *lua_of(lua_State *L)
{
    void *lua = NULL;
    lua_getallocf(L, &lua);
    return lua;
}

static int refuse_write(lua_State *L)
{
    return luaL_error(L, "names outside the expression cannot be assigned to");
}

static void refuse_steps(lua_State *L, lua_Debug *unused)
{
    (void)unused;
    luaL_error(L, "more than %d instructions", BR_LUA_STEPS_MAX);
}

/* tostring, without the addresses that Lua gives for tables and functions. */
static int to_text(lua_State *L)
{
    luaL_checkany(L, 1);
    if (lua_type(L, 1) > LUA_TSTRING || lua_islightuserdata(L, 1))
        return luaL_error(L, "a %s has no text", luaL_typename(L, 1));
    luaL_tolstring(L, 1, NULL);
    return 1;
}

static bool has_pointer_format(const char *format, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (format[i] != '%') continue;
        for (i++; i < len && memchr("-+ #0123456789.", format[i], 15);) i++;
        if (i < len && format[i] == 'p') return true;
    }
    return false;
}

/* string.format, without addresses. Upvalue 1: Lua's own. */
static int format(lua_State *L)
{
    size_t len;
    int count = lua_gettop(L);
    const char *text = luaL_checklstring(L, 1, &len);
    if (has_pointer_format(text, len)) return luaL_error(L, "%%p is not allowed");
    for (int i = 2; i <= count; i++)
        if (lua_type(L, i) > LUA_TSTRING)
            return luaL_error(L, "a %s has no text", luaL_typename(L, i));
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, count, 1);
    return 1;
}

/* find, match, gmatch, gsub: matching backtracks inside C, where no instruction is counted.
 * Upvalue 1: Lua's own. */
static int match(lua_State *L)
{
    size_t text, pattern;
    int count = lua_gettop(L);
    luaL_checklstring(L, 1, &text);
    luaL_checklstring(L, 2, &pattern);
    if (text > BR_LUA_PATTERN_TEXT_BYTES_MAX || pattern > BR_LUA_PATTERN_BYTES_MAX)
        return luaL_error(L, "a pattern may have %d bytes and its text %d",
                          BR_LUA_PATTERN_BYTES_MAX, BR_LUA_PATTERN_TEXT_BYTES_MAX);
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, count, LUA_MULTRET);
    return lua_gettop(L);
}

/* One of br_functions. Upvalue 1: which. */
static int key_function(lua_State *L)
{
    const br_function *fn = lua_touserdata(L, lua_upvalueindex(1));
    br_value args[BR_FUNCTION_ARGS_MAX], result;
    br_err err;
    int count = lua_gettop(L);
    br_status st = br_function_check(fn, (size_t)count, &err);
    for (int i = 0; st == BR_OK && i < count; i++) st = br_lua_to_value(L, i + 1, &args[i], &err);
    if (st == BR_OK)
        st = br_function_call(fn, args, (size_t)count, lua_of(L)->arena, &result, &err);
    if (st != BR_OK) return luaL_error(L, "%s", err.message);
    if (br_value_is_null(&result))
        lua_pushnil(L);
    else
        lua_pushlstring(L, result.s.data, result.s.len);
    return 1;
}

/* Copies names from the table at the top to the one below it, through wrap where it is given. */
static void copy_names(lua_State *L, const char *const *names, lua_CFunction wrap)
{
    for (; *names; names++) {
        lua_getfield(L, -1, *names);
        if (wrap) lua_pushcclosure(L, wrap, 1);
        lua_setfield(L, -3, *names);
    }
}

/* Replaces the table at the top by an empty one that shows it and cannot be written to. */
static void freeze(lua_State *L)
{
    lua_newtable(L);
    lua_createtable(L, 0, 2);
    lua_pushvalue(L, -3);
    lua_setfield(L, -2, "__index");
    lua_pushcfunction(L, refuse_write);
    lua_setfield(L, -2, "__newindex");
    lua_setmetatable(L, -2);
    lua_replace(L, -2);
}

/* Texts get methods but not Lua's arithmetic on them: types do not mix. */
static void add_string(lua_State *L)
{
    lua_newtable(L);
    luaL_requiref(L, LUA_STRLIBNAME, luaopen_string, 0);
    copy_names(L, string_functions, NULL);
    copy_names(L, pattern_functions, match);
    lua_getfield(L, -1, "format");
    lua_pushcclosure(L, format, 1);
    lua_setfield(L, -3, "format");
    lua_pop(L, 1);
    freeze(L);
    lua_pushliteral(L, "");
    lua_createtable(L, 0, 1);
    lua_pushvalue(L, -3);
    lua_setfield(L, -2, "__index");
    lua_setmetatable(L, -2);
    lua_pop(L, 1);
    lua_setfield(L, -2, LUA_STRLIBNAME);
}

static void add_library(lua_State *L, const char *name, lua_CFunction open,
                        const char *const *names)
{
    lua_newtable(L);
    luaL_requiref(L, name, open, 0);
    copy_names(L, names, NULL);
    lua_pop(L, 1);
    freeze(L);
    lua_setfield(L, -2, name);
}

/* Builds the environment and leaves it in the registry. */
static int build(lua_State *L)
{
    lua_newtable(L);
    luaL_requiref(L, LUA_GNAME, luaopen_base, 0);
    copy_names(L, base_functions, NULL);
    lua_pop(L, 1);
    lua_pushcfunction(L, to_text);
    lua_setfield(L, -2, "tostring");
    add_string(L);
    add_library(L, LUA_MATHLIBNAME, luaopen_math, math_functions);
    add_library(L, LUA_TABLIBNAME, luaopen_table, table_functions);
    for (const br_function *fn = br_functions; fn->name; fn++) {
        lua_pushlightuserdata(L, (void *)(uintptr_t)fn);
        lua_pushcclosure(L, key_function, 1);
        lua_setfield(L, -2, fn->name);
    }
    freeze(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &environment_key);
    return 0;
}

br_lua *br_lua_create(void)
{
    br_lua *lua = BR_NEW(br_lua);
    lua->L = lua_newstate(allocate, lua);
    BR_ASSERT(lua->L != NULL); /* memory does not run out, and the bound is far away */
    lua_pushcfunction(lua->L, build);
    int status = lua_pcall(lua->L, 0, 0, 0);
    BR_ASSERT(status == LUA_OK);
    return lua;
}

void br_lua_destroy(br_lua *lua)
{
    if (!lua) return;
    lua_close(lua->L);
    br_free(lua);
}

/* Lua's message without the chunk's name in front. */
static const char *message_of(lua_State *L)
{
    const char *message = lua_tostring(L, -1);
    const char *start = message ? strstr(message, "expression:") : NULL;
    if (!message) return "an error without a message";
    if (start != message) return message;
    start += strlen("expression:");
    start += strspn(start, "0123456789");
    return strncmp(start, ": ", 2) == 0 ? start + 2 : message;
}

static int load_chunk(lua_State *L)
{
    const br_bytes *chunk = lua_touserdata(L, 1);
    if (luaL_loadbufferx(L, chunk->data, chunk->len, "=expression", "t") != LUA_OK)
        return lua_error(L);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &environment_key);
    lua_setupvalue(L, -2, 1); /* _ENV; a main chunk always has it */
    lua_rawsetp(L, LUA_REGISTRYINDEX, &chunk_key);
    return 0;
}

void br_lua_push_chunk(lua_State *L)
{
    lua_rawgetp(L, LUA_REGISTRYINDEX, &chunk_key);
}

br_status br_lua_load(br_lua *lua, br_bytes chunk, br_err *err)
{
    lua->call_bytes = 0;
    lua_pushcfunction(lua->L, load_chunk);
    lua_pushlightuserdata(lua->L, &chunk);
    if (lua_pcall(lua->L, 1, 0, 0) == LUA_OK) return BR_OK;
    br_fail(err, BR_ERR_CONFIG, "%s", message_of(lua->L));
    lua_pop(lua->L, 1);
    return BR_ERR_CONFIG;
}

_Noreturn void br_lua_raise(lua_State *L)
{
    lua_pushlightuserdata(L, (void *)(uintptr_t)&raised);
    lua_error(L);
    __builtin_unreachable();
}

br_status br_lua_call(br_lua *lua, lua_CFunction run, void *arg, br_arena *arena, br_err *err)
{
    lua_State *L = lua->L;
    lua->arena = arena;
    lua->call_bytes = 0;
    lua_sethook(L, refuse_steps, LUA_MASKCOUNT, BR_LUA_STEPS_MAX); /* counts from here */
    lua_pushcfunction(L, run);
    lua_pushlightuserdata(L, arg);
    int status = lua_pcall(L, 1, 0, 0);
    if (status == LUA_OK) return BR_OK;
    if (lua_touserdata(L, -1) != &raised) {
        if (status == LUA_ERRMEM)
            br_fail(err, BR_ERR_BAD_RECORD,
                    "Lua: more than %d bytes of memory, or %d in all in one call", BR_LUA_BYTES_MAX,
                    BR_LUA_CALL_BYTES_MAX);
        else
            br_fail(err, BR_ERR_BAD_RECORD, "Lua: %s", message_of(L));
    }
    lua_pop(L, 1);
    return err->status;
}
