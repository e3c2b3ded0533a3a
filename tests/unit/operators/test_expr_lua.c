/* tests/unit/operators/test_expr_lua.c - expressions that run in Lua: values, and the walls of the
 * sandbox. */
#include "unit/operators/expr_fixture.h"

typedef struct expr_case {
    const char *text, *wanted;
} expr_case;

static void expect_all(fixture *f, const expr_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) fixture_expect(f, cases[i].text, false, cases[i].wanted);
}

static void lua__over_the_same_names__values(void **state)
{
    /* Fields, paths and metadata mean in Lua what they mean natively, whatever stands around. */
    static const expr_case cases[] = {
        {"ad_id .. ':' .. cost", "text ad_7:12"},
        {"#ad_id", "integer 4"},
        {"ad_id:upper()", "text AD_7"},
        {"device.id .. tags[0]", "text d1t0"},
        {"device.id:upper() .. device.os.name", "text D1x"},
        {".\"user-id\" .. ''", "text u1"},
        {"@key .. '/' .. @partition .. @header.region", "text ad_7_3/3us"},
        {"cost ^ 2", "float 144"},
        {"cost & 4 | 1", "integer 5"},
        {"math.floor(rate)", "integer 0"},
        {"(table.id or 'no') .. ''", "text no"},
        {"math.pi > cost", "bool false"},
        {"math.max(cost, 20)", "integer 20"},
        {"(ad_id:match('^ad_(%d+)$'))", "text 7"},
        {"string.format('%03d', cost)", "text 012"},
        {"ad_id:gsub('%d', function(d) return d + 0 == 7 and 'x' or 'y' end)", "bad: arithmetic"},
        {"ad_id:gsub('%d', function(d) return d .. '!' end)", "text ad_7!"},
        {"tostring(cost) .. tostring(ok)", "text 12true"},
        {"tonumber('12') + 1", "integer 13"},
        {"type .. type(type)", "text clickstring"},
        {"select('#', 1, 2, 3)", "integer 3"},
        {"table.concat({ad_id, 'x'}, '-')", "text ad_7-x"},
        {"({ad_id = 1, cost = cost}).cost", "integer 12"},
        {"[[long ]] .. [==[te]]xt]==]", "text long te]]xt"},
        {"nothing == nil and #ad_id", "integer 4"},
        {"(not_there or 'none') .. ''", "text none"},
        {"null == nil and #'ab'", "integer 2"},
        {"ad_id .. 'x' != 'ad_7x'", "bool false"},
        {"ok and #ad_id == 4", "bool true"},
        {"#nul", "integer 3"},
        {"nul .. ''", "text a"}, /* and a NUL: see below */
        {"#ad_id > 9 and 1 or nil", "null "},
        {"unsalt(@key) .. '!'", "text ad_7!"},
        {"concat(part(@key, '_', 0), #ad_id) .. lower('A')", "text ad4a"},
        {"(part('a', ':', 5) or 'none') .. ''", "text none"},
        {"id .. ''", "text 9007199254740993"},
        {"big .. ''", "text 9223372036854775807"},
        {"(function(cost) return cost.x end)({x = 5})", "integer 5"},
        {"(function() local s = 0 for i = 1, 10 do s = s + i end return s end)()", "integer 55"},
        {"rate .. ''", "text 0.5"},
        {"device.id .. (__br0 or 1)", "text d11"},
        {"(.\"end\" or .\"user-id\") .. ''", "text u1"},
    };
    expect_all(*state, cases, BR_COUNTOF(cases));
}

static void objects_and_arrays__as_tables__from_one(void **state)
{
    /* An array that is computed with counts from 1, as Lua's do; nothing of it is lost or cut. */
    static const expr_case cases[] = {
        {"#tags", "integer 3"},
        {"tags[#tags]", "text t2"},
        {"tags[1 + 0]", "text t0"},
        {"table.concat(tags, ',')", "text t0,t1,t2"},
        {"(function() local n = 0 for i, t in ipairs(tags) do n = n + #t * i end return n end)()",
         "integer 12"},
        {"#deep", "integer 2"},
        {"(function(d) return d[2].k[1] + d[1][2] end)(deep)", "integer 5"},
        {"(function(d) return d.os.name end)(device)", "text x"},
        {"(function(d) return d end)(device)", "bad: table"},
    };
    expect_all(*state, cases, BR_COUNTOF(cases));
}

static void results__that_are_no_values__bad_record(void **state)
{
    /* Tables, functions, inf and nan do not leave Lua; errors say what happened. */
    static const expr_case cases[] = {
        {"{}", "bad: a table is no value here"},
        {"#ad_id and string.rep", "bad: a function is no value here"},
        {"math.huge", "bad: not a finite number"},
        {"-(0/0) ^ 1", "bad: not a finite number"},
        {"nothing .. 'x'", "bad: Lua: attempt to concatenate a nil value (local 'nothing')"},
        {"ad_id:nope()", "bad: nope"},
        {"#ad_id + ad_id", "bad: attempt to perform arithmetic on a string value"},
        {"'10' + 1 .. ''", "bad: attempt to perform arithmetic on a string value"},
        {"cost // 0 .. ''", "bad: attempt to divide by zero"},
        {"huge .. ''", "bad: an integer beyond 64 bits, which Lua cannot hold"},
        {"unsalt() .. ''", "bad: unsalt has 0 arguments"},
        {"unsalt(tags) .. ''", "bad: a table is no value here"},
    };
    expect_all(*state, cases, BR_COUNTOF(cases));
}

static void sandbox__ways_out__are_not_there(void **state)
{
    /* Calls of what the sandbox lacks do not even compile. */
    static const char *const refused[] = {
        "os.time()",
        "io.open('x')",
        "load('return 1')()",
        "loadstring('1')",
        "dofile('x')",
        "require('os')",
        "require 'os'",
        "debug.getinfo(1)",
        "collectgarbage()",
        "pairs({})",
        "next({})",
        "setmetatable({}, {})",
        "getmetatable('')",
        "rawset(math, 1, 1)",
        "rawget({}, 1)",
        "rawequal(1, 1)",
        "coroutine.wrap(1)",
        "pcall(1)",
        "error('x')",
        "print(1)",
        "package.loadlib('')",
        "os.exit()",
        "load{}",
        "utf8.char(1)",
        "string.dump(1)",
        "math.random()",
        "math.randomseed(1)",
        "table.insert({}, 1)",
    };
    for (size_t i = 0; i < BR_COUNTOF(refused); i++)
        fixture_refuse(*state, refused[i], BR_ERR_CONFIG, "column ");
}

static void sandbox__back_doors__lead_nowhere(void **state)
{
    /* What is not named is not there either: by way of libraries, locals, environments, methods. */
    static const expr_case cases[] = {
        {"('x').dump", "null "},
        {"('x'):dump()", "bad: attempt to call a nil value"},
        {"(load)('return 1')", "bad: attempt to call a nil value"},
        {"(_G or _ENV) == nil and #'ab'", "integer 2"},
        {"_ENV or math.floor(2.5) .. ''", "text 2"},
        {"(function() return os end)()", "null "},
        {"(function() local os = 1 return _G end)()", "null "},
        {"(function() string.rep = nil return 1 end)()", "bad: cannot be assigned to"},
        {"(function() math.pi = 1 return 1 end)()", "bad: cannot be assigned to"},
        {"(function() ('x').y = 1 return 1 end)()", "bad: attempt to index a string value"},
        {"(function() if no then local n end n = (n or 0) + 1 return n end)()",
         "bad: cannot be assigned to"},
        {"tostring({})", "bad: a table has no text"},
        {"tostring(string.rep)", "bad: a function has no text"},
        {"string.format('%s', {})", "bad: a table has no text"},
        {"string.format('%p', 'x')", "bad: %p is not allowed"},
        {"string.format('a\\0%-5p', 'x')", "bad: %p is not allowed"},
        {"string.format('%%p %d%%', 5)", "text %p 5%"},
    };
    expect_all(*state, cases, BR_COUNTOF(cases));
}

static void sandbox__rows_one_after_the_other__nothing_is_carried_over(void **state)
{
    /* An expression is a function of its row: no row can see that there was one before it. */
    fixture *f = *state;
    br_expr *expr =
        fixture_compile(f, "(function() cost = cost + 1 local t = {cost} return t[1] .. '' end)()");
    for (int i = 0; i < 3; i++) {
        br_value v;
        assert_int_equal(br_expr_eval(expr, &f->row, f->arena, &v, &f->err), BR_OK);
        assert_string_equal(fixture_show(f, &v), "text 13");
    }
    br_expr_destroy(expr);
}

static void bounds__steps_memory_stack__bad_record_and_then_on(void **state)
{
    /* No expression runs for ever or eats the memory; the next row finds the state in order. */
    static const expr_case cases[] = {
        {"(function() while true do end end)()", "bad: more than 100000 instructions"},
        {"(function() local f f = function() return f() end return f() end)()",
         "bad: more than 100000 instructions"},
        {"('x'):rep(1000000000)", "bad: bytes of memory"},
        {"('x'):rep(1e18)", "bad: Lua"},
        {"(function() local s = 'x' while true do s = s .. s end end)()", "bad: bytes of memory"},
        {"(function() local s = ('x'):rep(1000000) while true do local t = s .. 'y' end end)()",
         "bad: bytes of memory"},
        {"(function() local t = {} for i = 1, 1e9 do t[i] = i end end)()", "bad: Lua"},
        {"(function() local f f = function() return 1 + f() end return f() end)()",
         "bad: more than 100000 instructions"},
        {"('a'):rep(5000):find('b')", "bad: a pattern may have 128 bytes and its text 4096"},
        {"('a'):find(('b'):rep(200))", "bad: a pattern may have"},
        {"#(('ab'):rep(100))", "integer 200"},
    };
    fixture *f = *state;
    expect_all(f, cases, BR_COUNTOF(cases));
    br_expr *expr = fixture_compile(f, "(function() while ok do end return #ad_id end)()");
    br_value v;
    for (int i = 0; i < 3; i++) {
        fixture_read(f);
        assert_int_equal(br_expr_eval(expr, &f->row, f->arena, &v, &f->err), BR_ERR_BAD_RECORD);
        f->slots[0] = br_value_bool(false); /* ok: the first field that was asked for */
        assert_int_equal(br_expr_eval(expr, &f->row, f->arena, &v, &f->err), BR_OK);
        assert_string_equal(fixture_show(f, &v), "integer 4");
    }
    br_expr_destroy(expr);
}

static void steps__many_rows__counted_for_each(void **state)
{
    /* The bound is for one row: rows of 5,000 steps each go on for ever. */
    fixture *f = *state;
    br_expr *expr = fixture_compile(
        f, "(function() local n = 0 for i = 1, 1000 do n = n + i end return n end)()");
    for (int i = 0; i < 1000; i++) {
        br_value v;
        assert_int_equal(br_expr_eval(expr, &f->row, f->arena, &v, &f->err), BR_OK);
        assert_int_equal(v.i, 500500);
        br_arena_reset(f->arena);
    }
    br_expr_destroy(expr);
}

static void json__deeper_than_allowed__bad_record(void **state)
{
    /* Objects are handed over to a bounded depth: pushing them recurses. */
    fixture *f = *state;
    uint32_t slot;
    br_buf json = {0};
    assert_int_equal(br_scope_set(f->scope, "made", &slot, &f->err), BR_OK);
    br_expr *expr = fixture_compile(f, "#made");
    for (int depth = 32; depth <= 33; depth++) {
        br_value v;
        br_buf_reset(&json);
        for (int i = 0; i < depth; i++) br_buf_addc(&json, '[');
        for (int i = 0; i < depth; i++) br_buf_addc(&json, ']');
        f->slots[slot] = (br_value){.kind = BR_JSON, .s = br_buf_bytes(&json)};
        br_status st = br_expr_eval(expr, &f->row, f->arena, &v, &f->err);
        assert_int_equal(st, depth == 32 ? BR_OK : BR_ERR_BAD_RECORD);
    }
    assert_non_null(strstr(f->err.message, "more than 32 deep"));
    f->slots[slot] = (br_value){.kind = BR_JSON, .s = br_str("[1, 1e400]")};
    br_value v;
    assert_int_equal(br_expr_eval(expr, &f->row, f->arena, &v, &f->err), BR_ERR_BAD_RECORD);
    br_expr_destroy(expr);
    br_buf_dispose(&json);
}

static void compile__broken_lua__both_readings_explained(void **state)
{
    /* Where the text uses what only Lua has, Lua's message follows the native one. */
    static const expr_case cases[] = {
        {"ad_id .. ", "column 7: unexpected `.`; read as Lua: "},
        {"ad_id .. (", "a bracket that is not closed"},
        {"#ad_id) .. (cost", "a closing bracket that matches none"},
        {"#ad_id -- x", "-- would begin a comment"},
        {"'x' .. frobnicate(1)", "column 8: no function `frobnicate` here"},
        {"os.time()", "no function `os.time` here"},
        {"return #ad_id", "read as Lua"},
        {"#a; b", "read as Lua"},
        {"#a, b", "read as Lua"},
        {"[[abc", "a text that has no end"},
        {"(function(__br0) return __br0 end)(1)", "nor begin with __br"},
        {"(function() local _ENV = {} return x end)()", "must not be called _ENV"},
    };
    for (size_t i = 0; i < BR_COUNTOF(cases); i++)
        fixture_refuse(*state, cases[i].text, BR_ERR_CONFIG, cases[i].wanted);
}

static void text__with_nul__whole_in_and_out(void **state)
{
    /* FAULTS 51: a NUL inside a text passes through Lua. */
    fixture *f = *state;
    br_expr *expr = fixture_compile(f, "nul .. '\\0c'");
    br_value v;
    assert_int_equal(br_expr_eval(expr, &f->row, f->arena, &v, &f->err), BR_OK);
    assert_true(br_bytes_equal(v.s, br_bytes_of("a\0b\0c", 5)));
    br_expr_destroy(expr);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(lua__over_the_same_names__values),
        FIXTURE_TEST(objects_and_arrays__as_tables__from_one),
        FIXTURE_TEST(results__that_are_no_values__bad_record),
        FIXTURE_TEST(sandbox__ways_out__are_not_there),
        FIXTURE_TEST(sandbox__back_doors__lead_nowhere),
        FIXTURE_TEST(sandbox__rows_one_after_the_other__nothing_is_carried_over),
        FIXTURE_TEST(bounds__steps_memory_stack__bad_record_and_then_on),
        FIXTURE_TEST(steps__many_rows__counted_for_each),
        FIXTURE_TEST(json__deeper_than_allowed__bad_record),
        FIXTURE_TEST(compile__broken_lua__both_readings_explained),
        FIXTURE_TEST(text__with_nul__whole_in_and_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
