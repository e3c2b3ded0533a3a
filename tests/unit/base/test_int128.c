/* tests/unit/base/test_int128.c - 128-bit integers and their decimal text. */
#include "runtime/base/int128.h"
#include "runtime/base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static const char *const greatest = "170141183460469231731687303715884105727";
static const char *const least = "-170141183460469231731687303715884105728";

static void text__read_and_written__the_same_digits(void **state)
{
    /* Digits survive, also far beyond 2^53 and 64 bits. FAULTS 48. */
    const char *const cases[] = {"0",
                                 "-1",
                                 "9007199254740993",
                                 "1795292668348461057",
                                 "9223372036854775807",
                                 "-9223372036854775808",
                                 "18446744073709551615",
                                 greatest,
                                 least};
    (void)state;
    for (size_t i = 0; i < BR_COUNTOF(cases); i++) {
        br_i128 v;
        char out[BR_INT128_TEXT_MAX];
        assert_true(br_int128_parse(br_str(cases[i]), &v));
        assert_int_equal(br_int128_format(v, out), strlen(cases[i]));
        assert_string_equal(out, cases[i]);
    }
}

static void text__random_values__the_same_value(void **state)
{
    /* format and parse are inverse on the whole range. */
    br_rng rng = {20240229};
    (void)state;
    print_message("seed %llu\n", (unsigned long long)rng.state);
    for (int i = 0; i < 10000; i++) {
        br_int128 halves = {br_rng_next(&rng),
                            (int64_t)(br_rng_next(&rng) >> br_rng_below(&rng, 64))};
        br_i128 v = br_i128_of(halves), back;
        char out[BR_INT128_TEXT_MAX];
        size_t len = br_int128_format(i % 2 ? v : -v, out);
        assert_true(br_int128_parse(br_bytes_of(out, len), &back));
        assert_true(back == (i % 2 ? v : -v));
    }
}

static void text__not_an_integer_or_too_large__refused(void **state)
{
    /* Nothing but an optional minus and digits, and nothing beyond 128 bits. */
    static const char *const bad[] = {"",
                                      "-",
                                      "+1",
                                      "1.0",
                                      "1e3",
                                      " 1",
                                      "1 ",
                                      "--1",
                                      "0x1",
                                      "170141183460469231731687303715884105728",
                                      "-170141183460469231731687303715884105729",
                                      "999999999999999999999999999999999999999999"};
    (void)state;
    for (size_t i = 0; i < BR_COUNTOF(bad); i++) {
        br_i128 v;
        assert_false(br_int128_parse(br_str(bad[i]), &v));
    }
}

static void add__beyond_the_range__false_not_wrapped(void **state)
{
    /* Overflow is told, never wrapped; beyond 64 bits is no overflow. FAULTS 49. */
    br_i128 top, bottom, sum;
    (void)state;
    assert_true(br_int128_parse(br_str(greatest), &top));
    assert_true(br_int128_parse(br_str(least), &bottom));
    assert_false(br_int128_add(top, 1, &sum));
    assert_false(br_int128_add(bottom, -1, &sum));
    assert_true(br_int128_add(INT64_MAX, 1, &sum));
    char out[BR_INT128_TEXT_MAX];
    br_int128_format(sum, out);
    assert_string_equal(out, "9223372036854775808");
}

static void halves__of_any_value__give_it_back(void **state)
{
    /* The two halves are an exact representation, negative values included. */
    br_i128 values[4] = {0, -1, 0, 0};
    (void)state;
    assert_true(br_int128_parse(br_str(greatest), &values[2]));
    assert_true(br_int128_parse(br_str(least), &values[3]));
    for (size_t i = 0; i < BR_COUNTOF(values); i++)
        assert_true(br_i128_of(br_int128_of(values[i])) == values[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text__read_and_written__the_same_digits),
        cmocka_unit_test(text__random_values__the_same_value),
        cmocka_unit_test(text__not_an_integer_or_too_large__refused),
        cmocka_unit_test(add__beyond_the_range__false_not_wrapped),
        cmocka_unit_test(halves__of_any_value__give_it_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
