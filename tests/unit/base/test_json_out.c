/* tests/unit/base/test_json_out.c - JSON text that is always valid, with every digit kept. */
#include "runtime/base/json_out.h"
#include "runtime/base/rng.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

static int setup(void **state)
{
    static br_buf buf;
    *state = &buf;
    return 0;
}

static int teardown(void **state)
{
    br_buf_dispose(*state);
    return 0;
}

static const char *quoted(br_buf *buf, br_bytes text)
{
    br_buf_reset(buf);
    br_json_out out = br_json_begin(buf);
    br_json_text(&out, text);
    return br_buf_cstr(buf);
}

static void text__with_special_characters__escaped(void **state)
{
    /* Quotes, backslashes and every control character are escaped, NUL too. FAULTS 51. */
    static const struct {
        br_bytes in;
        const char *out;
    } cases[] = {
        {{"", 0}, "\"\""},
        {{"plain", 5}, "\"plain\""},
        {{"a\"b\\c", 5}, "\"a\\\"b\\\\c\""},
        {{"a\0b", 3}, "\"a\\u0000b\""},
        {{"\n\r\t\x01\x1f", 5}, "\"\\n\\r\\t\\u0001\\u001f\""},
        {{"/\x7f", 2}, "\"/\x7f\""},
        {{"caf\xc3\xa9", 5}, "\"caf\xc3\xa9\""},
        {{"\xf0\x9f\x98\x80", 4}, "\"\xf0\x9f\x98\x80\""},
    };
    for (size_t i = 0; i < BR_COUNTOF(cases); i++)
        assert_string_equal(quoted(*state, cases[i].in), cases[i].out);
}

static void text__not_utf8__replaced_and_valid(void **state)
{
    /* Bytes that are no UTF-8 become U+FFFD, and what stands around them is kept. FAULTS 51. */
    static const struct {
        br_bytes in;
        const char *out;
    } cases[] = {
        {{"\xff", 1}, "\"\xef\xbf\xbd\""},
        {{"a\xff"
          "b",
          3},
         "\"a\xef\xbf\xbd"
         "b\""},
        {{"\xc3", 1}, "\"\xef\xbf\xbd\""},                                 /* cut off */
        {{"\xc0\x80", 2}, "\"\xef\xbf\xbd\xef\xbf\xbd\""},                 /* overlong NUL */
        {{"\xed\xa0\x80", 3}, "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""}, /* surrogate */
        {{"\xf4\x90\x80\x80", 4},                                          /* > U+10FFFF */
         "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
        {{"\xe2\x82\"", 3}, "\"\xef\xbf\xbd\xef\xbf\xbd\\\"\""}, /* quote inside */
    };
    for (size_t i = 0; i < BR_COUNTOF(cases); i++)
        assert_string_equal(quoted(*state, cases[i].in), cases[i].out);
}

static void containers__nested__commas_where_they_belong(void **state)
{
    /* The caller nests, the writer keeps the commas. */
    br_buf *buf = *state;
    br_buf_reset(buf);
    br_json_out out = br_json_begin(buf);
    br_json_open(&out, '{');
    br_json_put_text(&out, "a", "x");
    br_json_put_int(&out, "b", INT64_MIN);
    br_json_name(&out, BR_LITERAL("c"));
    br_json_open(&out, '[');
    br_json_uint(&out, UINT64_MAX);
    br_json_null(&out);
    br_json_bool(&out, false);
    br_json_open(&out, '{');
    br_json_close(&out, '}');
    br_json_close(&out, ']');
    br_json_put_bool(&out, "d", true);
    br_json_name(&out, BR_LITERAL("e\""));
    br_json_raw(&out, BR_LITERAL("[1]"));
    br_json_close(&out, '}');
    assert_string_equal(br_buf_cstr(buf),
                        "{\"a\":\"x\",\"b\":-9223372036854775808,\"c\":[18446744073709551615,null,"
                        "false,{}],\"d\":true,\"e\\\"\":[1]}");
}

static void number__finite__shortest_text_that_reads_back(void **state)
{
    /* No digit too many, none too few. */
    static const struct {
        double v;
        const char *out;
    } cases[] = {{0.1, "0.1"},     {1.5, "1.5"},    {3, "3"},
                 {-0.25, "-0.25"}, {1e21, "1e+21"}, {0.1 + 0.2, "0.30000000000000004"}};
    (void)state;
    for (size_t i = 0; i < BR_COUNTOF(cases); i++) {
        char out[32];
        assert_int_equal(br_float_format(cases[i].v, out), strlen(cases[i].out));
        assert_string_equal(out, cases[i].out);
    }
}

static void number__any_finite_double__reads_back_exactly(void **state)
{
    /* strtod of the text is the same double, over random bit patterns and the extremes. */
    double v[4] = {DBL_MAX, DBL_MIN, 4.9406564584124654e-324, DBL_EPSILON};
    br_rng rng = {7};
    (void)state;
    print_message("seed %llu\n", (unsigned long long)rng.state);
    for (int i = 0; i < 20000; i++) {
        uint64_t bits = br_rng_next(&rng);
        double d;
        memcpy(&d, &bits, sizeof(d));
        if (i < 4) d = v[i];
        if (!isfinite(d)) continue;
        char out[32];
        assert_in_range(br_float_format(d, out), 1, 31);
        double back = strtod(out, NULL);
        assert_memory_equal(&back, &d, sizeof(d));
    }
}

static void number__not_finite__null(void **state)
{
    /* JSON has no NaN: a reader would fail on it. */
    static const double values[] = {NAN, INFINITY, -INFINITY};
    br_buf *buf = *state;
    for (size_t i = 0; i < BR_COUNTOF(values); i++) {
        br_buf_reset(buf);
        br_json_out out = br_json_begin(buf);
        br_json_float(&out, values[i]);
        assert_string_equal(br_buf_cstr(buf), "null");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(text__with_special_characters__escaped, setup, teardown),
        cmocka_unit_test_setup_teardown(text__not_utf8__replaced_and_valid, setup, teardown),
        cmocka_unit_test_setup_teardown(containers__nested__commas_where_they_belong, setup,
                                        teardown),
        cmocka_unit_test(number__finite__shortest_text_that_reads_back),
        cmocka_unit_test(number__any_finite_double__reads_back_exactly),
        cmocka_unit_test_setup_teardown(number__not_finite__null, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
