/* tests/unit/operators/test_json.c - which fields of which texts are read, and what is refused. */
#include "operators/json.h"
#include "runtime/base/alloc.h"
#include "runtime/base/rng.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

enum { PATHS_MAX = 8 };

typedef struct fixture {
    br_arena *arena;
    br_value out[PATHS_MAX];
    br_buf text;
    br_err err;
} fixture;

static int setup(void **state)
{
    fixture *f = BR_NEW(fixture);
    f->arena = br_arena_create(4096);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    fixture *f = *state;
    br_arena_destroy(f->arena);
    br_buf_dispose(&f->text);
    br_free(f);
    return 0;
}

/* A block of its own for each text, so that a read behind the padding is found by ASan. */
static br_bytes padded(br_bytes text)
{
    char *copy = br_alloc(text.len + BR_JSON_PADDING);
    if (text.len > 0) memcpy(copy, text.data, text.len);
    memset(copy + text.len, '}', BR_JSON_PADDING); /* the worst that may stand there */
    return br_bytes_of(copy, text.len);
}

static br_json_reader *reader_of(const char *const *names, size_t count)
{
    br_path paths[PATHS_MAX] = {0};
    br_err err;
    for (size_t i = 0; i < count; i++) {
        if (names[i][0] == '\0')
            paths[i] = (br_path){0};
        else
            assert_int_equal(br_path_parse(&paths[i], br_str(names[i]), &err), BR_OK);
    }
    br_json_reader *reader = br_json_reader_create(paths, count);
    for (size_t i = 0; i < count; i++) br_path_dispose(&paths[i]);
    return reader;
}

/* Kind and value as one line: `int 12`, `text "a"`; borrows f. */
static const char *shown(fixture *f, const br_value *v)
{
    static const char *const kinds[] = {"missing", "null",  "bool", "int",
                                        "big",     "float", "text", "json"};
    br_buf_reset(&f->text);
    br_buf_adds(&f->text, kinds[v->kind]);
    if (!br_value_is_null(v)) {
        br_buf_addc(&f->text, ' ');
        br_value_to_text(v, &f->text);
    }
    return br_buf_cstr(&f->text);
}

/* Reads the paths `names` (one per line) of text; the outcome as one line. */
static const char *read_all(fixture *f, const char *names, br_bytes text)
{
    char *list = br_strdup(names);
    const char *each[PATHS_MAX];
    size_t count = 0;
    for (char *rest = list; rest;) each[count++] = strsep(&rest, "\n");
    br_json_reader *reader = reader_of(each, count);
    br_bytes json = padded(text);
    br_status st = br_json_read(reader, json, f->arena, f->out, &f->err);
    br_buf line = {0};
    for (size_t i = 0; st == BR_OK && i < count; i++) {
        if (i > 0) br_buf_adds(&line, " | ");
        br_buf_adds(&line, shown(f, &f->out[i]));
    }
    if (st != BR_OK) br_buf_printf(&line, "%s", br_status_name(st));
    br_buf_reset(&f->text);
    br_buf_adds(&f->text, br_buf_cstr(&line));
    br_buf_dispose(&line);
    br_free((void *)(uintptr_t)json.data);
    br_json_reader_destroy(reader);
    br_free(list);
    return br_buf_cstr(&f->text);
}

static void read__valid_documents__values_with_their_types(void **state)
{
    /* Each value keeps its type and every digit; what is not there is missing. FAULTS 48, 51. */
    static const struct {
        const char *paths, *json, *want;
    } cases[] = {
        {"a", "{\"a\":1}", "int 1"},
        {"a", " {\n\"a\" :\t1 } \r\n", "int 1"},
        {"a", "{}", "missing"},
        {"a", "{\"b\":1}", "missing"},
        {"a", "{\"a\":null}", "null"},
        {"a\nb", "{\"b\":true,\"a\":false}", "bool false | bool true"},
        {"a\nab", "{\"ab\":1,\"abc\":2,\"a\":3}", "int 3 | int 1"},
        {"id", "{\"id\":9007199254740993}", "int 9007199254740993"},
        {"id", "{\"id\":-9223372036854775808}", "int -9223372036854775808"},
        {"id", "{\"id\":9223372036854775808}", "big 9223372036854775808"},
        {"id", "{\"id\":18446744073709551616}", "big 18446744073709551616"},
        {"id", "{\"id\":-170141183460469231731687303715884105728}",
         "big -170141183460469231731687303715884105728"},
        {"f", "{\"f\":-0}", "int 0"},
        {"f", "{\"f\":1.5e3}", "float 1500"},
        {"f", "{\"f\":0.1}", "float 0.1"},
        {"f", "{\"f\":1E-2 }", "float 0.01"},
        {"f", "{\"f\":1e-400}", "float 0"},
        {"t", "{\"t\":\"\"}", "text "},
        {"t", "{\"t\":\"caf\\u00e9\"}", "text caf\xc3\xa9"},
        {"t", "{\"t\":\"\\ud83d\\ude00\"}", "text \xf0\x9f\x98\x80"},
        {"t", "{\"t\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"}", "text \"\\/\b\f\n\r\t"},
        {"t", "{\"t\":\"a\\\\\"}", "text a\\"},
        {"t", "{\"x\":\"\\\\\",\"t\":\"plain\"}", "text plain"},
        {"o", "{\"o\": {\"x\":[1, 2]} }", "json {\"x\":[1, 2]}"},
        {"o", "{\"o\":[]}", "json []"},
        {"o", "{\"o\":{\"n\":123456789012345678901234567890123456789012345}}",
         "json {\"n\":123456789012345678901234567890123456789012345}"},
        {"o.x", "{\"o\":{\"x\":1}}", "int 1"},
        {"o.x\no.y", "{\"o\":{\"y\":1,\"x\":2}}", "int 2 | int 1"},
        {"o.x\na\no", "{\"o\":{\"y\":1,\"x\":2},\"a\":3}",
         "int 2 | int 3 | json {\"y\":1,\"x\":2}"},
        {"o.x.y", "{\"o\":{\"x\":5}}", "missing"},
        {"o.x", "{\"o\":[1]}", "missing"},
        {"o[0]", "{\"o\":{\"0\":1}}", "missing"},
        {"o[0]", "{\"o\":[7,8]}", "int 7"},
        {"o[2]\no[1]", "{\"o\":[7,8]}", "missing | int 8"},
        {"o[1].x", "{\"o\":[7,{\"x\":[]}]}", "json []"},
        {"a\na", "{\"a\":1}", "int 1 | int 1"},
        {"", " {\"a\": 1} ", "json {\"a\": 1}"},
        {"\na", "{\"b\":{},\"a\":\"x\"}", "json {\"b\":{},\"a\":\"x\"} | text x"},
        {"", "{}", "json {}"},
    };
    for (size_t i = 0; i < BR_COUNTOF(cases); i++)
        assert_string_equal(read_all(*state, cases[i].paths, br_str(cases[i].json)), cases[i].want);
}

static void read__equal_names__the_first_wins(void **state)
{
    /* The first of equal names counts, whatever else is asked for, and escapes do not matter. */
    static const struct {
        const char *paths, *json, *want;
    } cases[] = {
        {"a", "{\"a\":1,\"a\":2}", "int 1"},
        {"b\na", "{\"a\":1,\"b\":3,\"a\":2}", "int 3 | int 1"},
        {"d.x\nd.y", "{\"d\":{\"x\":1},\"d\":{\"y\":2}}", "int 1 | missing"},
        {"a", "{\"\\u0061\":1,\"a\":2}", "int 1"},
        {"a", "{\"x\\\"\":0,\"a\":2}", "int 2"},
        {"o.\"x\\\"y\"", "{\"o\":{\"x\\\"y\":4}}", "int 4"},
        {"o.\"x\\\"\"", "{\"o\":{\"x\":\"\"}}", "missing"},
    };
    for (size_t i = 0; i < BR_COUNTOF(cases); i++)
        assert_string_equal(read_all(*state, cases[i].paths, br_str(cases[i].json)), cases[i].want);
}

/* Each of cases is a bad record, with a reason. */
static void assert_bad(fixture *f, const char *const *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *got = read_all(f, "a", br_str(cases[i]));
        if (strcmp(got, br_status_name(BR_ERR_BAD_RECORD)) != 0) fail_msg("%s: %s", cases[i], got);
        assert_non_null(strstr(f->err.message, "JSON value"));
    }
}

static void read__broken_structure__bad_record(void **state)
{
    /* Cut off, not an object, two in one, or with brackets and commas that are wrong. FAULTS 53. */
    static const char *const cases[] = {
        "",
        " ",
        "null",
        "1",
        "\"a\"",
        "[1]",
        "[{\"a\":1}]",
        "{",
        "}",
        "{\"a\":",
        "{\"a\":1",
        "{\"a\":1,",
        "{\"a\":1]",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\" 1}",
        "{a:1}",
        "{\"b\":2 \"a\":1}",
        "{\"a\":1}}",
        "{\"a\":1}{\"a\":2}",
        "{\"a\":1} x",
        "{\"a\":1,\"b\":[}",
        "{\"a\":{\"x\":}}",
        "{\"a\":[1,]}",
        "{\"a\":[1 2]}",
        "{\"a\":{\"x\" 1}}",
        "{\"a\":[nul]}",
        "{\"a\":[01]}",
        "{\"a\":\"x}",
    };
    assert_bad(*state, cases, BR_COUNTOF(cases));
    const char *got = read_all(*state, "a", br_bytes_of("{\"a\":1}\0", 8));
    assert_string_equal(got, br_status_name(BR_ERR_BAD_RECORD));
}

static void read__broken_scalars__bad_record(void **state)
{
    /* Bad escapes, half surrogates, bad UTF-8, and numbers that are none or too large. FAULTS 51.
     */
    static const char *const cases[] = {
        "{\"a\":[\"\\q\"]}",
        "{\"a\":{\"\\ud800\":1}}",
        "{\"a\":\"\\ud800\"}",
        "{\"a\":\"\\udc00\"}",
        "{\"a\":\"\\ud83d\\u0041\"}",
        "{\"a\":\"\\uX000\"}",
        "{\"a\":\"\\u00\"}",
        "{\"a\":\"\\x\"}",
        "{\"a\":\"\n\"}",
        "{\"a\":\"\xff\"}",
        "{\"a\":\"\xc3\"}",
        "{\"a\":\"\xed\xa0\x80\"}",
        "{\"a\":1,\"b\":\"\xff\"}",
        "{\"a\":01}",
        "{\"a\":-}",
        "{\"a\":+1}",
        "{\"a\":.5}",
        "{\"a\":1.}",
        "{\"a\":1e}",
        "{\"a\":1.5.2}",
        "{\"a\":12x}",
        "{\"a\":0x10}",
        "{\"a\":NaN}",
        "{\"a\":Infinity}",
        "{\"a\":1e400}",
        "{\"a\":170141183460469231731687303715884105728}",
        "{\"a\":tru}",
        "{\"a\":truex}",
        "{\"a\":nullx}",
        "{\"a\":nul}",
        "{\"\\q\":1}",
    };
    assert_bad(*state, cases, BR_COUNTOF(cases));
    const char *got = read_all(*state, "a", br_bytes_of("{\"a\":\"\0\"}", 9));
    assert_string_equal(got, br_status_name(BR_ERR_BAD_RECORD));
}

static void read__nul_in_text__kept_by_length(void **state)
{
    /* An escaped NUL is a character like any other. FAULTS 51. */
    fixture *f = *state;
    read_all(f, "k", br_str("{\"k\":\"a\\u0000b\"}"));
    assert_int_equal(f->out[0].kind, BR_TEXT);
    assert_int_equal(f->out[0].s.len, 3);
    assert_memory_equal(f->out[0].s.data, "a\0b", 3);
}

static void read__text_without_escapes__borrows_the_input(void **state)
{
    /* The common text costs no copy. */
    fixture *f = *state;
    const char *names[] = {"k"};
    br_json_reader *reader = reader_of(names, 1);
    br_bytes json = padded(BR_LITERAL("{\"k\":\"plain\"}"));
    assert_int_equal(br_json_read(reader, json, f->arena, f->out, &f->err), BR_OK);
    assert_ptr_equal(f->out[0].s.data, json.data + 6);
    br_free((void *)(uintptr_t)json.data);
    br_json_reader_destroy(reader);
}

/* `before` times n, then middle, then `after` times n. */
static br_bytes nested(br_buf *buf, const char *before, const char *middle, const char *after,
                       size_t n)
{
    br_buf_reset(buf);
    for (size_t i = 0; i < n; i++) br_buf_adds(buf, before);
    br_buf_adds(buf, middle);
    for (size_t i = 0; i < n; i++) br_buf_adds(buf, after);
    return br_buf_bytes(buf);
}

static void read__huge_and_deep__bad_record_without_overflow(void **state)
{
    /* 1 MB of spaces, 100,000 brackets, and as deep a wanted value are refused. FAULTS 53. */
    fixture *f = *state;
    br_buf buf = {0};
    const char *bad = br_status_name(BR_ERR_BAD_RECORD);
    assert_string_equal(read_all(f, "a", nested(&buf, " ", "", "", 1000000)), bad);
    assert_string_equal(read_all(f, "a", nested(&buf, "[", "", "", 100000)), bad);
    assert_string_equal(read_all(f, "a", nested(&buf, "[", "", "]", 100000)), bad);
    assert_string_equal(read_all(f, "a", nested(&buf, "{\"a\":", "1", "}", 100000)), bad);
    assert_string_equal(read_all(f, "a", nested(&buf, "{\"a\":", "", "", 100000)), bad);
    nested(&buf, "{\"a\":", "1", "}", BR_JSON_DEPTH_MAX + 2);
    assert_string_equal(read_all(f, "a", br_buf_bytes(&buf)), bad);
    assert_non_null(strstr(f->err.message, "too deep"));
    nested(&buf, "{\"a\":", "1", "}", BR_JSON_DEPTH_MAX + 1);
    assert_memory_equal(read_all(f, "a", br_buf_bytes(&buf)), "json", 4);
    nested(&buf, "{\"b\":", "1", "}", 100000);
    assert_string_equal(read_all(f, "a", br_buf_bytes(&buf)), "missing");
    br_buf_dispose(&buf);
}

static void read__errors__say_where(void **state)
{
    /* The message gives the place and the size of what was read. */
    fixture *f = *state;
    read_all(f, "a", br_str("{\"b\":1,\"a\":\"\\q\"}"));
    assert_string_equal(f->err.message,
                        "JSON value, at byte 12 of 16: a text has an invalid escape or half a "
                        "surrogate pair");
    read_all(f, "a", br_str("{\"b\":1,\"a\":tru}"));
    assert_string_equal(f->err.message, "JSON value, at byte 11 of 15: neither true nor false");
    read_all(f, "a", br_str("{\"b\":1 \"a\":2}"));
    assert_string_equal(f->err.message, "JSON value of 13 bytes: not JSON: a comma, colon, bracket "
                                        "or value is wrong");
    read_all(f, "a", br_str("{\"a\":1}{}"));
    assert_non_null(strstr(f->err.message, "at byte 7 of 9"));
}

static void read__mutated_documents__never_beyond_the_bytes(void **state)
{
    /* Whatever happens to the bytes, the outcome is values or a bad record (ASan watches). */
    static const char seed_text[] =
        "{\"ad\":\"ad_7\\u00e9\",\"cost\":-12.5e2,\"d\":{\"os\":[1,{\"x\":null},\"\\\\\"],\"id\":"
        "18446744073709551616},\"t\":true,\"f\":false,\"n\":null,\"big\":1234567890123}";
    static const char alphabet[] = "{}[]\",:\\u0d8e-+.1 \n\xff\xc3tfn";
    static const char *const names[] = {"ad", "cost", "d.os[1].x", "d.id", "d", "t", "", "big"};
    fixture *f = *state;
    uint64_t seed = 20240117;
    print_message("seed %" PRIu64 "\n", seed);
    br_rng rng = {seed};
    br_json_reader *reader = reader_of(names, BR_COUNTOF(names));
    size_t good = 0, bad = 0;
    for (int round = 0; round < 20000; round++) {
        char text[sizeof(seed_text)];
        memcpy(text, seed_text, sizeof(text));
        size_t len = sizeof(text) - 1;
        if (br_rng_below(&rng, 4) == 0) len = (size_t)br_rng_below(&rng, len);
        for (uint64_t n = br_rng_below(&rng, 4); n > 0 && len > 0; n--)
            text[br_rng_below(&rng, len)] = alphabet[br_rng_below(&rng, sizeof(alphabet) - 1)];
        br_bytes json = padded(br_bytes_of(text, len));
        br_status st = br_json_read(reader, json, f->arena, f->out, &f->err);
        assert_true(st == BR_OK || st == BR_ERR_BAD_RECORD);
        for (size_t i = 0; st == BR_OK && i < BR_COUNTOF(names); i++) shown(f, &f->out[i]);
        good += st == BR_OK;
        bad += st != BR_OK;
        br_free((void *)(uintptr_t)json.data);
        br_arena_reset(f->arena);
    }
    br_json_reader_destroy(reader);
    assert_true(good > 1000 && bad > 1000);
}

static void get__paths_into_a_value__found_or_missing(void **state)
{
    /* One path of a computed value, whether object or array. */
    static const struct {
        const char *path, *json, *want;
    } cases[] = {
        {"a.b", "{\"a\":{\"b\":\"\\u0041\"}}", "text A"},
        {"a[1]", "{\"a\":[1,2.5]}", "float 2.5"},
        {"a", "[1]", "missing"},
        {"a", "{}", "missing"},
    };
    fixture *f = *state;
    for (size_t i = 0; i < BR_COUNTOF(cases); i++) {
        br_path path;
        br_value v;
        assert_int_equal(br_path_parse(&path, br_str(cases[i].path), &f->err), BR_OK);
        assert_int_equal(br_json_get(br_str(cases[i].json), &path, f->arena, &v, &f->err), BR_OK);
        assert_string_equal(shown(f, &v), cases[i].want);
        br_path_dispose(&path);
    }
    br_step element = {.name = NULL, .index = 1};
    br_path path = {&element, 1};
    br_value v;
    assert_int_equal(br_json_get(br_str("[1,[2]]"), &path, f->arena, &v, &f->err), BR_OK);
    assert_string_equal(shown(f, &v), "json [2]");
    path.count = 0;
    assert_int_equal(br_json_get(br_str("[1]"), &path, f->arena, &v, &f->err), BR_OK);
    assert_string_equal(shown(f, &v), "json [1]");
    assert_int_equal(br_json_get(br_str("[1"), &path, f->arena, &v, &f->err), BR_ERR_BAD_RECORD);
    assert_int_equal(br_json_get(br_str("7"), &path, f->arena, &v, &f->err), BR_ERR_BAD_RECORD);
    assert_int_equal(br_json_get(BR_NO_BYTES, &path, f->arena, &v, &f->err), BR_ERR_BAD_RECORD);
}

typedef struct listing {
    fixture *f;
    br_buf lines;
    size_t stop_after; /* 0: never */
} listing;

static br_status list(void *arg, br_bytes name, const br_value *value, br_err *err)
{
    (void)err;
    listing *l = arg;
    br_path whole = {0};
    br_value again;
    if (value->kind == BR_JSON && value->s.data[0] == '{') /* visitors may read JSON themselves */
        assert_int_equal(br_json_get(value->s, &whole, l->f->arena, &again, &l->f->err), BR_OK);
    br_buf_addb(&l->lines, name);
    br_buf_addc(&l->lines, '=');
    br_buf_adds(&l->lines, shown(l->f, value));
    br_buf_addc(&l->lines, ';');
    return l->stop_after > 0 && --l->stop_after == 0 ? BR_END : BR_OK;
}

static void each__arrays__elements_in_order(void **state)
{
    /* Every element in order; visit's own status ends it; not an array: bad record. */
    fixture *f = *state;
    listing l = {.f = f};
    br_bytes json = br_str(" [1, \"\\n\", {\"a\":[]}, [2 ], null] ");
    assert_int_equal(br_json_each(json, f->arena, list, &l, &f->err), BR_OK);
    assert_string_equal(br_buf_cstr(&l.lines),
                        "=int 1;=text \n;=json {\"a\":[]};=json [2 ];=null;");
    br_buf_reset(&l.lines);
    assert_int_equal(br_json_each(br_str("[]"), f->arena, list, &l, &f->err), BR_OK);
    assert_int_equal(l.lines.len, 0);
    l.stop_after = 2;
    assert_int_equal(br_json_each(json, f->arena, list, &l, &f->err), BR_END);
    assert_string_equal(br_buf_cstr(&l.lines), "=int 1;=text \n;");
    br_buf_reset(&l.lines);
    static const char *const bad[] = {"",    "{}",   "1",     "[",    "[1",
                                      "[1}", "[1]]", "[1] 2", "[1,]", "[1 2]"};
    for (size_t i = 0; i < BR_COUNTOF(bad); i++)
        assert_int_equal(br_json_each(br_str(bad[i]), f->arena, list, &l, &f->err),
                         BR_ERR_BAD_RECORD);
    assert_int_equal(l.lines.len, 0);
    br_buf_dispose(&l.lines);
}

static void fields__objects__names_unescaped_and_numbers_unchanged(void **state)
{
    /* Every field in order; a number beyond 128 bits goes on as its text. FAULTS 48. */
    fixture *f = *state;
    listing l = {.f = f};
    br_bytes json =
        br_str("{\"\\u0061\":1,\"a\":2,\"n\":999999999999999999999999999999999999999999,"
               "\"e\":1e999,\"o\":{\"x\":1}}");
    assert_int_equal(br_json_fields(json, f->arena, list, &l, &f->err), BR_OK);
    assert_string_equal(br_buf_cstr(&l.lines),
                        "a=int 1;a=int 2;n=json 999999999999999999999999999999999999999999;"
                        "e=json 1e999;o=json {\"x\":1};");
    br_buf_reset(&l.lines);
    static const char *const bad[] = {"",           "[]",          "{",      "{\"a\":1",
                                      "{\"a\":1}}", "{\"a\":tru}", "{\"a\"}"};
    for (size_t i = 0; i < BR_COUNTOF(bad); i++)
        assert_int_equal(br_json_fields(br_str(bad[i]), f->arena, list, &l, &f->err),
                         BR_ERR_BAD_RECORD);
    assert_int_equal(l.lines.len, 0);
    br_buf_dispose(&l.lines);
}

static void lone_reads__mutated_values__values_or_bad_record(void **state)
{
    /* Arrays and objects with broken bytes never crash a visit (ASan watches). */
    static const char arrays[] = "[1,\"\\u00e9\",{\"a\":[2,3]},[],-1.5e3,[[true],null]]";
    static const char objects[] =
        "{\"a\":1,\"\\u00e9\":{\"a\":[2,3]},\"b\":[],\"c\":[[true],null]}";
    static const char alphabet[] = "{}[]\",:\\ud-.1 tn";
    fixture *f = *state;
    uint64_t seed = 77;
    print_message("seed %" PRIu64 "\n", seed);
    br_rng rng = {seed};
    listing l = {.f = f};
    size_t good = 0;
    for (int round = 0; round < 20000; round++) {
        bool array = round % 2 == 0;
        char text[128];
        size_t len = array ? sizeof(arrays) - 1 : sizeof(objects) - 1;
        memcpy(text, array ? arrays : objects, len);
        for (uint64_t n = br_rng_below(&rng, 4); n > 0; n--)
            text[br_rng_below(&rng, len)] = alphabet[br_rng_below(&rng, sizeof(alphabet) - 1)];
        br_buf_reset(&l.lines);
        br_bytes json = br_bytes_of(text, len);
        br_status st = array ? br_json_each(json, f->arena, list, &l, &f->err)
                             : br_json_fields(json, f->arena, list, &l, &f->err);
        assert_true(st == BR_OK || st == BR_ERR_BAD_RECORD);
        good += st == BR_OK;
        br_arena_reset(f->arena);
    }
    assert_true(good > 1000);
    br_buf_dispose(&l.lines);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(read__valid_documents__values_with_their_types, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(read__equal_names__the_first_wins, setup, teardown),
        cmocka_unit_test_setup_teardown(read__broken_structure__bad_record, setup, teardown),
        cmocka_unit_test_setup_teardown(read__broken_scalars__bad_record, setup, teardown),
        cmocka_unit_test_setup_teardown(read__nul_in_text__kept_by_length, setup, teardown),
        cmocka_unit_test_setup_teardown(read__text_without_escapes__borrows_the_input, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(read__huge_and_deep__bad_record_without_overflow, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(read__errors__say_where, setup, teardown),
        cmocka_unit_test_setup_teardown(read__mutated_documents__never_beyond_the_bytes, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(get__paths_into_a_value__found_or_missing, setup, teardown),
        cmocka_unit_test_setup_teardown(each__arrays__elements_in_order, setup, teardown),
        cmocka_unit_test_setup_teardown(fields__objects__names_unescaped_and_numbers_unchanged,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(lone_reads__mutated_values__values_or_bad_record, setup,
                                        teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
