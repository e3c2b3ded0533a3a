/* tests/unit/base/test_units.c - durations, sizes and whole numbers as people write them. */
#include "runtime/base/units.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static void duration__whole_number_and_unit__milliseconds(void **state)
{
    /* A duration is a whole number with one of five units. FAULTS 70. */
    static const struct {
        const char *text;
        int64_t ms;
    } cases[] = {
        {"0ms", 0},
        {"250ms", 250},
        {"10s", 10000},
        {"5m", 300000},
        {"2h", 7200000},
        {"1d", 86400000},
        {"007s", 7000},
        {"0d", 0},
        {"1000000d", INT64_C(86400000000000)},
        {"9223372036854775807ms", INT64_MAX},
    };
    (void)state;
    for (size_t i = 0; i < BR_COUNTOF(cases); i++) {
        int64_t ms = -1;
        br_err err;
        assert_int_equal(br_parse_duration(br_str(cases[i].text), &ms, &err), BR_OK);
        assert_true(ms == cases[i].ms);
    }
}

static void duration__anything_else__refused_with_what_was_found(void **state)
{
    /* A bare number, a fraction, a sign, an unknown unit or an overflow is an error. FAULTS 70. */
    static const char *const bad[] = {
        "",
        "60",
        "s",
        "1.5m",
        "-5s",
        "+5s",
        " 5s",
        "5 s",
        "5s ",
        "5S",
        "5sec",
        "0x10s",
        "1_000ms",
        "1e3ms",
        "5mm",
        "9223372036854775808ms",
        "99999999999999999999s",
        "106751991168d",
    };
    (void)state;
    for (size_t i = 0; i < BR_COUNTOF(bad); i++) {
        int64_t ms = 0;
        br_err err = {0};
        assert_int_equal(br_parse_duration(br_str(bad[i]), &ms, &err), BR_ERR_CONFIG);
        assert_non_null(strstr(err.message, bad[i]));
        assert_non_null(strstr(err.message, "ms, s, m, h, d"));
    }
}

static void size__whole_number_and_unit__bytes(void **state)
{
    /* A size is a whole number with a binary unit; the largest still fits a signed offset. */
    static const struct {
        const char *text;
        uint64_t bytes;
    } cases[] = {
        {"512B", 512},           {"64KiB", 65536},
        {"16MiB", 16777216},     {"1GiB", 1073741824},
        {"2TiB", 2199023255552}, {"8388607TiB", UINT64_C(9223370937343148032)},
    };
    (void)state;
    for (size_t i = 0; i < BR_COUNTOF(cases); i++) {
        uint64_t bytes = 0;
        br_err err;
        assert_int_equal(br_parse_size(br_str(cases[i].text), &bytes, &err), BR_OK);
        assert_true(bytes == cases[i].bytes);
    }
}

static void size__anything_else__refused(void **state)
{
    /* Decimal and lower-case units would be guesses: they are refused. */
    static const char *const bad[] = {"",     "64",  "64KB",   "64kib",
                                      "64MB", "-1B", "1.5GiB", "8388608TiB"};
    (void)state;
    for (size_t i = 0; i < BR_COUNTOF(bad); i++) {
        uint64_t bytes = 0;
        br_err err = {0};
        assert_int_equal(br_parse_size(br_str(bad[i]), &bytes, &err), BR_ERR_CONFIG);
        assert_non_null(strstr(err.message, "not a size"));
    }
}

static void integer__within_bounds__exact(void **state)
{
    /* Whole numbers come out exactly, to both ends of 64 bits. */
    static const struct {
        const char *text;
        int64_t n;
    } cases[] = {{"0", 0},
                 {"12", 12},
                 {"-7", -7},
                 {"9223372036854775807", INT64_MAX},
                 {"-9223372036854775808", INT64_MIN}};
    (void)state;
    for (size_t i = 0; i < BR_COUNTOF(cases); i++) {
        int64_t n = 1;
        br_err err;
        br_status st = br_parse_int(br_str(cases[i].text), INT64_MIN, INT64_MAX, &n, &err);
        assert_int_equal(st, BR_OK);
        assert_true(n == cases[i].n);
    }
}

static void integer__not_one_or_out_of_bounds__refused(void **state)
{
    /* Octal, hexadecimal, separators, exponents and overflow never pass as another number.
     * FAULTS 70. */
    static const char *const bad[] = {"",    "-",   "08", "-01", "0x10", "1_000",
                                      "1e3", "1.0", " 1", "1 ",  "+1",   "99999999999999999999",
                                      "101", "-1"};
    (void)state;
    for (size_t i = 0; i < BR_COUNTOF(bad); i++) {
        int64_t n = 0;
        br_err err = {0};
        assert_int_equal(br_parse_int(br_str(bad[i]), 0, 100, &n, &err), BR_ERR_CONFIG);
        assert_non_null(strstr(err.message, "from 0 to 100"));
    }
}

static void format__for_tables__short_and_readable(void **state)
{
    /* Tables show three kinds of number, each with a unit that keeps it short. */
    char out[32];
    (void)state;
    assert_string_equal(br_format_duration(out, 999), "999 ms");
    assert_string_equal(br_format_duration(out, 1500), "1.5 s");
    assert_string_equal(br_format_duration(out, 120000), "2.0 min");
    assert_string_equal(br_format_duration(out, 7200000), "2.0 h");
    assert_string_equal(br_format_size(out, 0), "0 B");
    assert_string_equal(br_format_size(out, 1023), "1023 B");
    assert_string_equal(br_format_size(out, 67108864), "64.0 MiB");
    assert_string_equal(br_format_size(out, UINT64_MAX), "16777216.0 TiB");
    assert_string_equal(br_format_count(out, 0), "0");
    assert_string_equal(br_format_count(out, 999), "999");
    assert_string_equal(br_format_count(out, 1000), "1,000");
    assert_string_equal(br_format_count(out, UINT64_MAX), "18,446,744,073,709,551,615");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(duration__whole_number_and_unit__milliseconds),
        cmocka_unit_test(duration__anything_else__refused_with_what_was_found),
        cmocka_unit_test(size__whole_number_and_unit__bytes),
        cmocka_unit_test(size__anything_else__refused),
        cmocka_unit_test(integer__within_bounds__exact),
        cmocka_unit_test(integer__not_one_or_out_of_bounds__refused),
        cmocka_unit_test(format__for_tables__short_and_readable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
