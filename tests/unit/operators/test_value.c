/* tests/unit/operators/test_value.c - the order of values, and their text. */
#include "operators/value.h"

#include <float.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static br_value big(const char *digits)
{
    br_i128 v = 0;
    assert_true(br_int128_parse(br_str(digits), &v));
    return br_value_i128(v);
}

static br_value json(const char *text)
{
    return (br_value){.kind = BR_JSON, .s = br_str(text)};
}

static int sign(int n)
{
    return (n > 0) - (n < 0);
}

static void compare__all_kinds__one_total_order(void **state)
{
    /* The list ascends strictly. Integers and floats compare by exact value: no integer is rounded
     * to a double (FAULTS 48: 2^53 + 1 against 2^53). */
    const br_value ascending[] = {
        br_value_null(),
        br_value_bool(false),
        br_value_bool(true),
        br_value_float(-DBL_MAX),
        big("-170141183460469231731687303715884105728"),
        big("-9223372036854775809"),
        br_value_int(INT64_MIN),
        br_value_float(-1.5),
        br_value_int(-1),
        br_value_float(-0.5),
        br_value_int(0),
        br_value_float(DBL_TRUE_MIN),
        br_value_float(0.5),
        br_value_int(1),
        br_value_float(9007199254740992.0),
        br_value_int(9007199254740993),
        br_value_float(9007199254740994.0),
        br_value_int(INT64_MAX),
        br_value_float(0x1p63),
        big("9223372036854775809"),
        big("170141183460469231731687303715884105727"),
        br_value_float(0x1p127),
        br_value_text(br_bytes_of("", 0)),
        br_value_text(br_bytes_of("a", 1)),
        br_value_text(br_bytes_of("a\0", 2)),
        br_value_text(br_bytes_of("\xff", 1)),
        json("[1]"),
        json("{}"),
    };
    (void)state;
    for (int i = 0; i < (int)BR_COUNTOF(ascending); i++)
        for (int j = 0; j < (int)BR_COUNTOF(ascending); j++)
            assert_int_equal(sign(br_value_compare(&ascending[i], &ascending[j])), sign(i - j));
}

static void compare__equal_in_other_clothes__zero(void **state)
{
    /* Equal numbers are equal whatever their type, and a missing field is null. */
    const br_value pairs[][2] = {
        {br_value_int(3), br_value_float(3.0)},
        {br_value_int(0), br_value_float(-0.0)},
        {big("18446744073709551616"), br_value_float(0x1p64)},
        {br_value_int(INT64_MIN), br_value_float(-0x1p63)},
        {br_value_null(), {.kind = BR_MISSING}},
    };
    (void)state;
    for (size_t i = 0; i < BR_COUNTOF(pairs); i++) {
        assert_int_equal(br_value_compare(&pairs[i][0], &pairs[i][1]), 0);
        assert_int_equal(br_value_compare(&pairs[i][1], &pairs[i][0]), 0);
    }
}

static void i128__at_the_edges_of_64_bits__big_only_beyond(void **state)
{
    /* BR_BIG is never within 64 bits, or equal integers would have two forms. */
    (void)state;
    assert_int_equal(big("9223372036854775807").kind, BR_INT);
    assert_int_equal(big("9223372036854775808").kind, BR_BIG);
    assert_int_equal(big("-9223372036854775808").kind, BR_INT);
    assert_int_equal(big("-9223372036854775809").kind, BR_BIG);
    br_value v = big("-9223372036854775809");
    assert_true(br_value_as_i128(&v) == (br_i128)INT64_MIN - 1);
    assert_true(br_value_as_double(&v) == -0x1p63);
}

static void text__every_kind__as_people_and_json_write_it(void **state)
{
    /* Integers keep every digit (FAULTS 48); a whole float prints as the integer that it equals. */
    const struct {
        br_value v;
        const char *text, *json;
    } cases[] = {
        {br_value_null(), "", "null"},
        {{.kind = BR_MISSING}, "", "null"},
        {br_value_bool(true), "true", "true"},
        {br_value_bool(false), "false", "false"},
        {br_value_int(1795292668348461057), "1795292668348461057", "1795292668348461057"},
        {br_value_int(INT64_MIN), "-9223372036854775808", "-9223372036854775808"},
        {big("18446744073709551615"), "18446744073709551615", "18446744073709551615"},
        {br_value_float(3.0), "3", "3"},
        {br_value_float(-0.0), "0", "0"},
        {br_value_float(1e15), "1000000000000000", "1000000000000000"},
        {br_value_float(0.1), "0.1", "0.1"},
        {br_value_float(0.1 + 0.2), "0.30000000000000004", "0.30000000000000004"},
        {br_value_float(1e300), "1e+300", "1e+300"},
        {br_value_text(br_str("a\"b\n")), "a\"b\n", "\"a\\\"b\\n\""},
        {json("{\"a\": 1}"), "{\"a\": 1}", "{\"a\": 1}"},
    };
    br_buf out = {0};
    (void)state;
    for (size_t i = 0; i < BR_COUNTOF(cases); i++) {
        br_buf_reset(&out);
        br_value_to_text(&cases[i].v, &out);
        assert_string_equal(br_buf_cstr(&out), cases[i].text);
        br_buf_reset(&out);
        br_value_to_json(&cases[i].v, &out);
        assert_string_equal(br_buf_cstr(&out), cases[i].json);
    }
    br_buf_dispose(&out);
}

static void text__with_nul__kept_by_length(void **state)
{
    /* FAULTS 51: bytes 61 00 62 stay three bytes. */
    br_value v = br_value_text(br_bytes_of("a\0b", 3));
    br_buf out = {0};
    (void)state;
    br_value_to_text(&v, &out);
    assert_int_equal(out.len, 3);
    assert_memory_equal(out.data, "a\0b", 3);
    br_buf_dispose(&out);
}

static void kind_name__every_kind__a_word_for_messages(void **state)
{
    /* Messages name types, and both integer kinds alike. */
    (void)state;
    assert_string_equal(br_kind_name(BR_MISSING), "null");
    assert_string_equal(br_kind_name(BR_BOOL), "bool");
    assert_string_equal(br_kind_name(BR_BIG), br_kind_name(BR_INT));
    assert_string_equal(br_kind_name(BR_FLOAT), "float");
    assert_string_equal(br_kind_name(BR_TEXT), "text");
    assert_string_equal(br_kind_name(BR_JSON), "object or array");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compare__all_kinds__one_total_order),
        cmocka_unit_test(compare__equal_in_other_clothes__zero),
        cmocka_unit_test(i128__at_the_edges_of_64_bits__big_only_beyond),
        cmocka_unit_test(text__every_kind__as_people_and_json_write_it),
        cmocka_unit_test(text__with_nul__kept_by_length),
        cmocka_unit_test(kind_name__every_kind__a_word_for_messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
