/* tests/unit/operators/test_expr.c - expressions that run natively: values, names and errors. */
#include "unit/operators/expr_fixture.h"

#include "runtime/base/rng.h"

#include <stdio.h>
#include <time.h>

typedef struct expr_case {
    const char *text, *wanted;
} expr_case;

static void expect_all(fixture *f, const expr_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) fixture_expect(f, cases[i].text, true, cases[i].wanted);
}

static void paths__of_the_record__its_values_with_their_types(void **state)
{
    /* A path gives the field as it is; what is not there is null. FAULTS 48, 51. */
    static const expr_case cases[] = {
        {"ad_id", "text ad_7"},
        {"cost", "integer 12"},
        {"rate", "float 0.5"},
        {"ok", "bool true"},
        {"nothing", "null "},
        {"not_there", "null "},
        {"device.id", "text d1"},
        {"device.id.x", "null "},
        {"tags[0]", "text t0"},
        {"tags[3]", "null "},
        {"deep[1].k[0]", "integer 3"},
        {"device.os", "object or array {\"name\": \"x\"}"},
        {".\"user-id\"", "text u1"},
        {"id", "integer 9007199254740993"},
        {"huge", "integer 170141183460469231731687303715884105727"},
        {" ( ad_id ) ", "text ad_7"},
        {"device.\"id\"", "text d1"},
        {".\"and\"", "null "},
        {"true", "bool true"},
    };
    expect_all(*state, cases, BR_COUNTOF(cases));
}

static void metadata__of_the_row__at_names(void **state)
{
    /* @names give the record's own data; of two headers of a name the last counts. */
    static const expr_case cases[] = {
        {"@key", "text ad_7_3"},
        {"@timestamp", "integer 1709315512577"},
        {"@partition", "integer 3"},
        {"@offset", "integer 42"},
        {"@topic", "text clicks"},
        {"@header.region", "text us"},
        {"@header.x-trace", "null "},
        {"@header.not-there", "null "},
        {"@partition-1", "integer 2"},
        {"unsalt(@key)", "text ad_7"},
        {"@key == \"ad_7_3\"", "bool true"},
    };
    fixture *f = *state;
    expect_all(f, cases, BR_COUNTOF(cases));
    f->row.key = BR_NO_BYTES;
    f->row.timestamp_ms = -1;
    fixture_expect(f, "@key", true, "null ");
    fixture_expect(f, "@timestamp", true, "null ");
    fixture_expect(f, "unsalt(@key)", true, "null ");
}

static void key__with_nul_and_odd_bytes__kept_by_length(void **state)
{
    /* FAULTS 51: record keys 00, 61 00 62 and FF FE pass through @key and unsalt byte for byte. */
    static const br_bytes keys[] = {{"\0", 1}, {"a\0b", 3}, {"\xff\xfe", 2}, {"", 0}};
    fixture *f = *state;
    br_expr *key = fixture_compile(f, "@key"), *real = fixture_compile(f, "unsalt(@key)");
    for (size_t i = 0; i < BR_COUNTOF(keys); i++) {
        br_value v;
        f->row.key = keys[i];
        assert_int_equal(br_expr_eval(key, &f->row, f->arena, &v, &f->err), BR_OK);
        assert_true(v.kind == BR_TEXT && br_bytes_equal(v.s, keys[i]));
        assert_int_equal(br_expr_eval(real, &f->row, f->arena, &v, &f->err), BR_OK);
        assert_true(v.kind == BR_TEXT && br_bytes_equal(v.s, keys[i]));
    }
    br_expr_destroy(key);
    br_expr_destroy(real);
}

static void literals__of_every_form__their_values(void **state)
{
    /* Numbers keep their digits, texts their escapes. */
    static const expr_case cases[] = {
        {"12", "integer 12"},
        {"9223372036854775808", "integer 9223372036854775808"},
        {"170141183460469231731687303715884105727",
         "integer 170141183460469231731687303715884105727"},
        {"1.5", "float 1.5"},
        {"1e3", "float 1000"},
        {"2.5e-1", "float 0.25"},
        {"\"a\\tb\\\\\\\"\"", "text a\tb\\\""},
        {"'it\\'s'", "text it's"},
        {"'\\x41\\u{e9}\\u{1F600}\\n'", "text A\xc3\xa9\xf0\x9f\x98\x80\n"},
        {"''", "text "},
        {"null", "null "},
        {"nil", "null "},
        {"false", "bool false"},
    };
    expect_all(*state, cases, BR_COUNTOF(cases));
}

static void arithmetic__as_in_lua__but_exact(void **state)
{
    /* Precedence and rounding are Lua 5.4's; 64-bit overflow goes on in 128 bits. FAULTS 49. */
    static const expr_case cases[] = {
        {"1 + 2 * 3", "integer 7"},
        {"(1 + 2) * 3", "integer 9"},
        {"10 - 3 - 2", "integer 5"},
        {"-cost + 20", "integer 8"},
        {"- -cost", "integer 12"},
        {"-2 * -3", "integer 6"},
        {"7 // 2", "integer 3"},
        {"neg // 2", "integer -4"},
        {"neg % 3", "integer 2"},
        {"7 % -3", "integer -2"},
        {"-7 % -3", "integer -1"},
        {"7 / 2", "float 3.5"},
        {"6 / 2", "float 3"},
        {"7.5 // 2", "float 3"},
        {"-7.5 % 2", "float 0.5"},
        {"1 + rate", "float 1.5"},
        {"big + 1", "integer 9223372036854775808"},
        {"-big - 2", "integer -9223372036854775809"},
        {"big * big", "integer 85070591730234615847396907784232501249"},
        {"(big + 1) * (big + 1) * -2", "integer -170141183460469231731687303715884105728"},
        {"(-huge - 1) // 1", "integer -170141183460469231731687303715884105728"},
        {"(-huge - 1) % -1", "integer 0"},
        {"huge * -1", "integer -170141183460469231731687303715884105727"},
        {"huge * 0", "integer 0"},
        {"id - 1", "integer 9007199254740992"},
        {"nothing + 1", "null "},
        {"1 - not_there", "null "},
        {"-nothing", "null "},
        {"(big + 1) * (big + 1) * 2", "bad: beyond 128 bits"},
        {"huge + 1", "bad: beyond 128 bits"},
        {"-huge - 2", "bad: beyond 128 bits"},
        {"huge * 2", "bad: beyond 128 bits"},
        {"-(-huge - 1)", "bad: beyond 128 bits"},
        {"(-huge - 1) // -1", "bad: beyond 128 bits"},
        {"cost // zero", "bad: column 6: // by zero"},
        {"cost % zero", "bad: % by zero"},
        {"cost / zero", "bad: not a finite number"},
        {"1e308 * 10", "bad: not a finite number"},
        {"1.5 % 0", "bad: not a finite number"},
        {"ad_id + 1", "bad: column 7: + takes two numbers, not text and integer"},
        {"'1' + 1", "bad: text and integer"},
        {"-ad_id", "bad: - takes a number, not text"},
        {"ok * 2", "bad: bool and integer"},
        {"device + 1", "bad: object or array and integer"},
    };
    expect_all(*state, cases, BR_COUNTOF(cases));
}

static void comparisons__typed__null_and_mixed_types_as_written_down(void **state)
{
    /* Numbers compare exactly; == between types is false; < between types is a bad record. */
    static const expr_case cases[] = {
        {"cost == 12", "bool true"},
        {"cost == 12.0", "bool true"},
        {"cost != 12", "bool false"},
        {"cost ~= 13", "bool true"},
        {"cost < 13 and cost <= 12 and cost > 11 and cost >= 12", "bool true"},
        {"id == 9007199254740992.0", "bool false"},
        {"id > 9007199254740992.0", "bool true"},
        {"big < 9223372036854775808", "bool true"},
        {"huge > big", "bool true"},
        {"ad_id < 'ad_8'", "bool true"},
        {"ad_id == \"ad_7\"", "bool true"},
        {"'' < 'a'", "bool true"},
        {"cost == '12'", "bool false"},
        {"cost != '12'", "bool true"},
        {"ok == true", "bool true"},
        {"nothing == null", "bool true"},
        {"not_there == null", "bool true"},
        {"cost == null", "bool false"},
        {"no == null", "bool false"},
        {"cost ~= nil", "bool true"},
        {"nothing < 1", "null "},
        {"1 >= not_there", "null "},
        {"device == device", "bool true"},
        {"1 + 1 == 2", "bool true"},
        {"ad_id < 1", "bad: < takes two numbers or two texts, not text and integer"},
        {"ok < ok", "bad: bool and bool"},
        {"device < device", "bad: object or array"},
    };
    expect_all(*state, cases, BR_COUNTOF(cases));
}

static void logic__lazy__gives_an_operand(void **state)
{
    /* and, or and not work as in Lua: null is false, 0 and "" are not, the second is lazy. */
    static const expr_case cases[] = {
        {"ok and cost", "integer 12"},
        {"no and cost", "bool false"},
        {"nothing and cost", "null "},
        {"nothing or 0", "integer 0"},
        {"zero or 1", "integer 0"},
        {"empty or 1", "text "},
        {"no or nothing", "null "},
        {"not ok", "bool false"},
        {"not nothing", "bool true"},
        {"not zero", "bool false"},
        {"not ok == no", "bool true"},
        {"no and ad_id + 1", "bool false"},
        {"ok or ad_id + 1", "bool true"},
        {"no or no and ok", "bool false"},
        {"ok or no and no", "bool true"},
        {"not no and cost > 1", "bool true"},
        {"not (cost // zero == 1)", "bad: by zero"},
    };
    expect_all(*state, cases, BR_COUNTOF(cases));
}

static void functions__on_texts_numbers_and_null__keys(void **state)
{
    /* Numbers are taken as their digits; null stays null; what has no text is a bad record. */
    static const expr_case cases[] = {
        {"unsalt('ad_7_3')", "text ad_7"},
        {"unsalt('ad_7#3', '#')", "text ad_7"},
        {"unsalt(nothing)", "null "},
        {"unsalt(123)", "text 123"},
        {"unsalt(173, 7)", "text 1"},
        {"part('ad_7:us-west', ':', 0)", "text ad_7"},
        {"part('ad_7:us-west', ':', -1)", "text us-west"},
        {"part('a', ':', 1)", "null "},
        {"part('a', ':', huge)", "null "},
        {"part(1.25, '.', 1)", "text 25"},
        {"part(nothing, ':', 0)", "null "},
        {"concat(ad_id, ':', cost, ':', rate, ok)", "text ad_7:12:0.5true"},
        {"concat(id)", "text 9007199254740993"},
        {"concat(ad_id, nothing)", "null "},
        {"concat('', '')", "text "},
        {"lower('AbZ\xc3\x84[')", "text abz\xc3\x84["},
        {"upper('aBz\xc3\xa4{')", "text ABZ\xc3\xa4{"},
        {"lower(part(upper('a:b'), ':', 1))", "text b"},
        {"unsalt( ad_id )", "text ad"},
        {"unsalt(ok)", "bad: column 1: unsalt takes text or a number, not bool"},
        {"part('a', empty, 0)", "bad: separator that is not empty"},
        {"part('a', ':', '0')", "bad: integer as its third argument, not text"},
        {"part('a', ':', 0.5)", "bad: not float"},
        {"concat(device)", "bad: concat takes text, numbers and bools, not object or array"},
        {"lower(tags)", "bad: lower takes text or a number"},
    };
    expect_all(*state, cases, BR_COUNTOF(cases));
}

static void can_fail__of_any_record__only_where_it_never_does(void **state)
{
    /* What is said never to fail has a value in every row, of whatever kind its field is. */
    static const struct {
        const char *text;
        bool can_fail;
    } cases[] = {
        {"ad_id", false},
        {"device", false},
        {"12", false},
        {"@key", false},
        {"@offset", false},
        {"@header.region", false},
        {"unsalt(@key)", false},
        {"lower(@topic)", false},
        {"concat(@header.region)", false},
        {"unsalt(ad_id)", true},
        {"unsalt(@key, ad_id)", true},
        {"lower(@offset)", true},
        {"cost + 1", true},
        {"not ok", true},
        {"string.len(ad_id)", true},
        {"part(@key, '_', 0)", true},
    };
    fixture *f = *state;
    for (size_t i = 0; i < BR_COUNTOF(cases); i++) {
        br_value v;
        br_expr *expr = fixture_compile(f, cases[i].text);
        if (br_expr_can_fail(expr) != cases[i].can_fail) fail_msg("`%s`", cases[i].text);
        for (int kind = BR_MISSING; kind <= BR_JSON && !cases[i].can_fail; kind++) {
            for (size_t s = 0; s < BR_SLOTS_MAX; s++)
                f->slots[s] = (br_value){.kind = (br_kind)kind, .s = br_str("{}")};
            assert_int_equal(br_expr_eval(expr, &f->row, f->arena, &v, &f->err), BR_OK);
        }
        br_expr_destroy(expr);
    }
}

static void unsalt__salted_keys__exactly_what_was_salted(void **state)
{
    /* FAULTS 44: camp, camp#7, # and the empty key come back from their salted forms, and a text
     * that does not end in sep and digits stays itself. */
    static const struct {
        br_bytes x;
        const char *sep;
        br_bytes wanted;
    } cases[] = {
        {BR_LITERAL("camp#0"), "#", BR_LITERAL("camp")},
        {BR_LITERAL("camp#7#2"), "#", BR_LITERAL("camp#7")},
        {BR_LITERAL("##2"), "#", BR_LITERAL("#")},
        {BR_LITERAL("#1"), "#", BR_LITERAL("")},
        {BR_LITERAL("camp"), "#", BR_LITERAL("camp")},
        {BR_LITERAL("camp#"), "#", BR_LITERAL("camp#")},
        {BR_LITERAL("#"), "#", BR_LITERAL("#")},
        {BR_LITERAL(""), "#", BR_LITERAL("")},
        {BR_LITERAL("7"), "#", BR_LITERAL("7")},
        {BR_LITERAL("ad_7_3"), "_", BR_LITERAL("ad_7")},
        {BR_LITERAL("ad_7_"), "_", BR_LITERAL("ad_7_")},
        {BR_LITERAL("ad"), "_", BR_LITERAL("ad")},
        {BR_LITERAL("ad_7x"), "_", BR_LITERAL("ad_7x")},
        {BR_LITERAL("ad_1234567890123456789012"), "_", BR_LITERAL("ad")},
        {BR_LITERAL("ad-s12"), "-s", BR_LITERAL("ad")},
        {BR_LITERAL("ad_15"), "_1", BR_LITERAL("ad")},
        {BR_LITERAL("a\0b_1"), "_", BR_LITERAL("a\0b")},
        {BR_LITERAL("ad7"), "", BR_LITERAL("ad7")},
    };
    (void)state;
    for (size_t i = 0; i < BR_COUNTOF(cases); i++) {
        br_bytes real = br_unsalt(cases[i].x, br_str(cases[i].sep));
        assert_true(br_bytes_equal(real, cases[i].wanted));
    }
}

static void part__every_index__the_parts_from_both_ends(void **state)
{
    /* Splitting keeps empty parts; an index beyond them, however far, is none. */
    static const struct {
        const char *x, *sep;
        int64_t i;
        const char *wanted; /* NULL: none */
    } cases[] = {
        {"a:b:c", ":", 0, "a"},
        {"a:b:c", ":", 2, "c"},
        {"a:b:c", ":", 3, NULL},
        {"a:b:c", ":", -1, "c"},
        {"a:b:c", ":", -3, "a"},
        {"a:b:c", ":", -4, NULL},
        {"", ":", 0, ""},
        {"", ":", -1, ""},
        {"", ":", 1, NULL},
        {":", ":", 0, ""},
        {":", ":", 1, ""},
        {"a::b", ":", 1, ""},
        {"a::b", "::", 1, "b"},
        {":::", "::", 1, ":"},
        {"abc", ":", 0, "abc"},
        {"a:b", ":", INT64_MAX, NULL},
        {"a:b", ":", INT64_MIN, NULL},
    };
    (void)state;
    for (size_t i = 0; i < BR_COUNTOF(cases); i++) {
        br_bytes part = br_part(br_str(cases[i].x), br_str(cases[i].sep), cases[i].i);
        assert_int_equal(part.data == NULL, cases[i].wanted == NULL);
        if (cases[i].wanted) assert_true(br_bytes_equal(part, br_str(cases[i].wanted)));
    }
}

static void computed_value__path_into_it__its_inner_field(void **state)
{
    /* A set name hides the record's field, and a path goes on into its value. */
    fixture *f = *state;
    uint32_t slot;
    assert_int_equal(br_scope_set(f->scope, "device", &slot, &f->err), BR_OK);
    br_expr *expr = fixture_compile(f, "device.a[1].b");
    br_value v;
    f->slots[slot] = (br_value){.kind = BR_JSON, .s = br_str("{\"a\":[0,{\"b\":\"in\"}]}")};
    assert_int_equal(br_expr_eval(expr, &f->row, f->arena, &v, &f->err), BR_OK);
    assert_string_equal(fixture_show(f, &v), "text in");
    f->slots[slot] = br_value_int(1);
    assert_int_equal(br_expr_eval(expr, &f->row, f->arena, &v, &f->err), BR_OK);
    assert_int_equal(v.kind, BR_MISSING);
    br_expr_destroy(expr);
}

static void names__of_every_form__default_and_plain_path(void **state)
{
    /* What a group field is called where the job file gives no name. */
    static const struct {
        const char *text, *name, *plain;
    } cases[] = {
        {"ad_id", "ad_id", "ad_id"},
        {"device.id", "device.id", "device.id"},
        {" (tags[0]) ", "tags[0]", "tags[0]"},
        {"@key", "key", NULL},
        {"@header.x-trace", "x-trace", NULL},
        {"unsalt(@key)", "key", NULL},
        {"concat(ad_id, ':', cost)", "ad_id", NULL},
        {"concat('x', lower(device.id))", "device.id", NULL},
        {"concat('x')", NULL, NULL},
        {"cost + 1", NULL, NULL},
        {"ad_id .. 'x'", NULL, NULL},
        {"1", NULL, NULL},
    };
    fixture *f = *state;
    for (size_t i = 0; i < BR_COUNTOF(cases); i++) {
        br_expr *expr = fixture_compile(f, cases[i].text);
        const char *name = br_expr_default_name(expr), *plain = br_expr_plain_path(expr);
        assert_string_equal(br_expr_text(expr), cases[i].text);
        assert_string_equal(name ? name : "-", cases[i].name ? cases[i].name : "-");
        assert_string_equal(plain ? plain : "-", cases[i].plain ? cases[i].plain : "-");
        br_expr_destroy(expr);
    }
}

static void compile__broken_text__says_what_and_at_which_column(void **state)
{
    /* Every error names the column and what was found; near names are offered. */
    static const expr_case cases[] = {
        {"", "column 1: the expression ends where a value was expected"},
        {"cost +", "column 7: the expression ends where a value was expected"},
        {"cost 1", "column 6: unexpected `1` where an operator was expected"},
        {"(cost", "column 6: the expression ends where an operator or `)` was expected"},
        {"cost)", "column 5: unexpected `)`"},
        {"cost = 1", "column 6: `=` is no operator here; it is `==`"},
        {"a && b", "column 3: `&&` is no operator here; it is `and`"},
        {"!a", "column 1: `!` is no operator here; it is `not`"},
        {"'abc", "the closing ' is missing"},
        {"'a\\q'", "column 3: not an escape"},
        {"unsatl(@key)", "column 1: unknown function `unsatl`, did you mean `unsalt`?"},
        {"1 + frobnicate(x)", "column 5: unknown function `frobnicate`"},
        {"unsalt()", "unsalt has 0 arguments; it is unsalt(x[, sep])"},
        {"lower(a, b)", "lower has 2 arguments"},
        {"part(a, '', 0)", "column 9: part needs a separator that is not empty"},
        {"unsalt(a, \"\")", "column 11: unsalt needs a separator"},
        {"part(a, ':' 0)", "column 13: unexpected `0` where `,` or `)` was expected"},
        {"lower(a,)", "column 9: unexpected `)` where a value was expected"},
        {"@kye", "column 1: unknown `@kye`"},
        {"@header", "@header needs a name"},
        {"1x", "column 1: a number and a name"},
        {"caf\xc3\xa9", "column 4: unexpected byte 0xc3"},
    };
    for (size_t i = 0; i < BR_COUNTOF(cases); i++)
        fixture_refuse(*state, cases[i].text, BR_ERR_CONFIG, cases[i].wanted);
}

static void compile__unknown_field__nearest_and_column(void **state)
{
    /* Where a scope has only certain names, others are errors, natively and in Lua. */
    static const char *const fields[] = {"region", "clicks"};
    fixture *f = *state;
    f->scope = br_scope_of_fields(f->layout, fields, 2, 1);
    fixture_refuse(f, "1 + click", BR_ERR_CONFIG,
                   "column 5: unknown field `click`, did you mean `clicks`?");
    fixture_refuse(f, "'x' .. regoin", BR_ERR_CONFIG,
                   "column 8: unknown field `regoin`, did you mean `region`?");
}

static void compile__failed__leaves_no_field_behind(void **state)
{
    /* Fields of an expression that is refused are not decoded for ever after. */
    fixture *f = *state;
    fixture_refuse(f, "cost + device.id +", BR_ERR_CONFIG, "column 19");
    fixture_refuse(f, "cost .. device.id ..", BR_ERR_CONFIG, "read as Lua");
    assert_int_equal(br_layout_slots(f->layout), 0);
}

/* text, repeated. */
static const char *times(br_buf *out, const char *head, const char *text, int n, const char *tail)
{
    br_buf_reset(out);
    br_buf_adds(out, head);
    for (int i = 0; i < n; i++) br_buf_adds(out, text);
    br_buf_adds(out, tail);
    return br_buf_cstr(out);
}

static void compile__too_long_or_deep__limit(void **state)
{
    /* Length and depth are bounded: neither the parser nor the evaluation can overflow a stack. */
    fixture *f = *state;
    br_buf text = {0};
    fixture_refuse(f, times(&text, "1", " ", BR_EXPR_BYTES_MAX, ""), BR_ERR_LIMIT, "4097 bytes");
    fixture_refuse(f, times(&text, "", "(", 2000, "1"), BR_ERR_LIMIT, "levels of nesting");
    fixture_refuse(f, times(&text, "", "not ", 1000, "1"), BR_ERR_LIMIT, "levels of nesting");
    fixture_refuse(f, times(&text, "", "- ", 2000, "1"), BR_ERR_LIMIT, "levels of nesting");
    fixture_refuse(f, times(&text, "", "lower(", 600, "1"), BR_ERR_LIMIT, "levels of nesting");
    fixture_refuse(f, times(&text, "1", "+1", 2000, ""), BR_ERR_LIMIT, "inside one another");
    fixture_refuse(f, "1e999", BR_ERR_LIMIT, "column 1: a number too large for a float");
    fixture_refuse(f, "1 + 170141183460469231731687303715884105728", BR_ERR_LIMIT,
                   "column 5: a number beyond 128 bits");
    fixture_refuse(f, "ad_id .. 9223372036854775808", BR_ERR_CONFIG, "beyond 64 bits");
    fixture_expect(f, times(&text, "1", "+1", BR_EXPR_DEPTH_MAX - 1, ""), true, "integer 100");
    br_buf_dispose(&text);
    br_expr *expr;
    assert_int_equal(br_expr_compile(&expr, br_bytes_of("1\0", 2), f->scope, &f->err),
                     BR_ERR_CONFIG);
    assert_int_equal(br_expr_compile(&expr, BR_NO_BYTES, f->scope, &f->err), BR_ERR_CONFIG);
}

static void random_texts__compiled_and_run__never_crash(void **state)
{
    /* Any mix of tokens is either refused with a message or gives a value or a bad record. */
    static const char *const tokens[] = {
        "cost", "ad_id",  "device.id", "tags[1]",  "nothing", "huge",      "1",
        "2.5",  "'x_1'",  "null",      "true",     "@key",    "and",       "or",
        "not",  "==",     "<",         "<=",       "+",       "-",         "*",
        "/",    "//",     "%",         "(",        ")",       ",",         "..",
        "#",    "lower(", "part(",     "concat(",  "{",       "}",         "[",
        "]",    "\"",     ".",         ":upper()", "=",       "tostring(", "math.floor(",
        "[[",   "]]",     "function",  "end",      "local",   "\\",        "\xff",
        "~",
    };
    fixture *f = *state;
    br_rng rng = {.state = (uint64_t)time(NULL)};
    br_buf text = {0};
    int compiled = 0;
    print_message("seed %llu\n", (unsigned long long)rng.state);
    for (int round = 0; round < 20000; round++) {
        br_expr *expr;
        br_value v;
        br_buf_reset(&text);
        for (uint64_t n = 1 + br_rng_below(&rng, 8); n > 0; n--)
            br_buf_printf(&text, "%s ", tokens[br_rng_below(&rng, BR_COUNTOF(tokens))]);
        br_status st = br_expr_compile(&expr, br_buf_bytes(&text), f->scope, &f->err);
        assert_true(st == BR_OK || (st == f->err.status && f->err.message[0] != '\0'));
        if (st != BR_OK) continue;
        fixture_read(f);
        st = br_expr_eval(expr, &f->row, f->arena, &v, &f->err);
        assert_true(st == BR_OK || st == BR_ERR_BAD_RECORD);
        br_expr_destroy(expr);
        br_arena_reset(f->arena);
        compiled++;
    }
    assert_true(compiled > 100);
    br_buf_dispose(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(paths__of_the_record__its_values_with_their_types),
        FIXTURE_TEST(metadata__of_the_row__at_names),
        FIXTURE_TEST(key__with_nul_and_odd_bytes__kept_by_length),
        FIXTURE_TEST(literals__of_every_form__their_values),
        FIXTURE_TEST(arithmetic__as_in_lua__but_exact),
        FIXTURE_TEST(comparisons__typed__null_and_mixed_types_as_written_down),
        FIXTURE_TEST(logic__lazy__gives_an_operand),
        FIXTURE_TEST(functions__on_texts_numbers_and_null__keys),
        FIXTURE_TEST(can_fail__of_any_record__only_where_it_never_does),
        cmocka_unit_test(unsalt__salted_keys__exactly_what_was_salted),
        cmocka_unit_test(part__every_index__the_parts_from_both_ends),
        FIXTURE_TEST(computed_value__path_into_it__its_inner_field),
        FIXTURE_TEST(names__of_every_form__default_and_plain_path),
        FIXTURE_TEST(compile__broken_text__says_what_and_at_which_column),
        FIXTURE_TEST(compile__unknown_field__nearest_and_column),
        FIXTURE_TEST(compile__failed__leaves_no_field_behind),
        FIXTURE_TEST(compile__too_long_or_deep__limit),
        FIXTURE_TEST(random_texts__compiled_and_run__never_crash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
