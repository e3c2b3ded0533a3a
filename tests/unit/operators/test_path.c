/* tests/unit/operators/test_path.c - the text of paths, and the text of what is none. */
#include "operators/path.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static void parse__well_formed__steps_and_the_same_text_again(void **state)
{
    /* A path prints as a text that reads as the same path; odd spellings print in the plain one. */
    static const struct {
        const char *text, *printed;
        size_t steps;
    } cases[] = {
        {"ad_id", "ad_id", 1},
        {"device.id", "device.id", 2},
        {"tags[0]", "tags[0]", 2},
        {"a[1][2].b", "a[1][2].b", 4},
        {"a.\"odd name\"", "a.\"odd name\"", 2},
        {"a.\"plain\"", "a.plain", 2},
        {".\"user-id\".x", ".\"user-id\".x", 2},
        {"a.'it\\'s'", "a.\"it's\"", 2},
        {"a.\"\"", "a.\"\"", 2},
        {"a.\"\\u{1f600}\\x0a\"", "a.\"\xf0\x9f\x98\x80\\x0a\"", 2},
        {"_x9", "_x9", 1},
        {"a.and", "a.and", 2},
        {"a[9223372036854775807]", "a[9223372036854775807]", 2},
    };
    (void)state;
    for (size_t i = 0; i < BR_COUNTOF(cases); i++) {
        br_path path, again;
        br_err err;
        br_buf text = {0};
        assert_int_equal(br_path_parse(&path, br_str(cases[i].text), &err), BR_OK);
        assert_int_equal(path.count, cases[i].steps);
        br_path_print(&path, path.count, &text);
        assert_string_equal(br_buf_cstr(&text), cases[i].printed);
        assert_int_equal(br_path_parse(&again, br_buf_bytes(&text), &err), BR_OK);
        assert_true(br_path_equal(&path, &again));
        br_path_dispose(&path);
        br_path_dispose(&again);
        br_buf_dispose(&text);
    }
}

static void parse__broken__refused_with_the_column(void **state)
{
    /* Nothing is guessed: the message says at which column the path ends to be one. */
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"", "column 1"},
        {"9a", "column 1"},
        {"a.", "column 2"},
        {"a..b", "column 2"},
        {"a[", "column 2"},
        {"a[-1]", "column 2"},
        {"a[x]", "column 2"},
        {"a b", "column 2"},
        {"a.\"b", "closing"},
        {"a.\"\\q\"", "escape"},
        {"a.\"\\x00\"", "NUL"},
        {"user-id", "column 5"},
        {"[0]", "column 1"},
        {"\"a\"", "column 1"},
        {"a[9223372036854775808]", "column 2"},
        {"a.\"\\u{d800}\"", "escape"},
        {"a.\"\\u{110000}\"", "escape"},
    };
    (void)state;
    for (size_t i = 0; i < BR_COUNTOF(cases); i++) {
        br_path path;
        br_err err = {0};
        assert_int_equal(br_path_parse(&path, br_str(cases[i].text), &err), BR_ERR_CONFIG);
        assert_non_null(strstr(err.message, cases[i].says));
    }
}

static void copy__from_a_step__the_rest_of_the_path(void **state)
{
    /* A copy owns its names and begins where it is told. */
    br_path path, rest, wanted;
    br_err err;
    (void)state;
    assert_int_equal(br_path_parse(&path, br_str("a.b[2].c"), &err), BR_OK);
    assert_int_equal(br_path_parse(&wanted, br_str("b[2].c"), &err), BR_OK);
    rest = br_path_copy(&path, 1);
    br_path_dispose(&path);
    assert_true(br_path_equal(&rest, &wanted));
    br_path_dispose(&rest);
    rest = br_path_copy(&wanted, 3);
    assert_int_equal(rest.count, 0);
    assert_false(br_path_equal(&rest, &wanted));
    br_path_dispose(&wanted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parse__well_formed__steps_and_the_same_text_again),
        cmocka_unit_test(parse__broken__refused_with_the_column),
        cmocka_unit_test(copy__from_a_step__the_rest_of_the_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
