/* tests/unit/base/test_names.c - what may be a name, and the nearest one for an error message. */
#include "runtime/base/limits.h"
#include "runtime/base/names.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static void name__of_the_allowed_set__accepted(void **state)
{
    /* Names of topics and jobs use Kafka's own set of characters. FAULTS 65. */
    static const char *const good[] = {"a",   "0000002", "Ads", "ads", "a.b",
                                       "...", "a_b-c.9", "_",   "7"};
    (void)state;
    for (size_t i = 0; i < BR_COUNTOF(good); i++) {
        br_err err;
        br_status st = br_check_name("job name", br_str(good[i]), BR_NAME_BYTES_MAX, &err);
        assert_int_equal(st, BR_OK);
    }
}

static void name__hostile__refused_with_the_rule(void **state)
{
    /* Whatever could leave a folder, or end a C string, is refused. FAULTS 65. */
    static const br_bytes bad[] = {
        {"", 0},      {".", 1},   {"..", 2},           {"a/b", 3},  {"../../tmp/x", 11},
        {"a%2Fb", 5}, {"a b", 3}, {"\xe6\x97\xa5", 3}, {"a\0b", 3}, {"-x", 2},
        {"a\n", 2},   {NULL, 0},
    };
    (void)state;
    for (size_t i = 0; i < BR_COUNTOF(bad); i++) {
        br_err err = {0};
        br_status st = br_check_name("job name", bad[i], BR_NAME_BYTES_MAX, &err);
        assert_int_equal(st, BR_ERR_CONFIG);
        assert_memory_equal(err.message, "job name", strlen("job name"));
        assert_non_null(strstr(err.message, "A-Z a-z 0-9 . _ -"));
    }
}

static void name__at_the_length_limit__accepted_and_one_more_refused(void **state)
{
    /* The limit itself is allowed. */
    char text[BR_NAME_BYTES_MAX + 1];
    br_err err;
    (void)state;
    memset(text, 'a', sizeof(text));
    assert_int_equal(
        br_check_name("x", br_bytes_of(text, BR_NAME_BYTES_MAX), BR_NAME_BYTES_MAX, &err), BR_OK);
    assert_int_equal(br_check_name("x", br_bytes_of(text, sizeof(text)), BR_NAME_BYTES_MAX, &err),
                     BR_ERR_CONFIG);
}

static void id__of_an_operator__lower_case_without_hyphen(void **state)
{
    /* A hyphen in an operator id could make two jobs' internal topics collide. */
    static const char *const good[] = {"a", "per_ad", "a9",
                                       "abcdefghijklmnopqrstuvwxyz_0123456789_ab"};
    static const char *const bad[] = {
        "", "9a", "_a", "A", "per-ad", "a.b", "a b", "abcdefghijklmnopqrstuvwxyz_0123456789_abc"};
    (void)state;
    assert_int_equal(strlen(good[3]), BR_OPERATOR_ID_BYTES_MAX);
    for (size_t i = 0; i < BR_COUNTOF(good); i++) {
        br_err err;
        assert_int_equal(br_check_id(br_str(good[i]), &err), BR_OK);
    }
    for (size_t i = 0; i < BR_COUNTOF(bad); i++) {
        br_err err;
        assert_int_equal(br_check_id(br_str(bad[i]), &err), BR_ERR_CONFIG);
    }
}

static void nearest__typing_error__the_name_that_was_meant(void **state)
{
    /* One changed, missing, extra or swapped letter finds its name; another word finds none. */
    static const char *const names[] = {"aggregate", "by", "from", "id", "partitions", "stages"};
    static const struct {
        const char *given, *meant; /* NULL: none */
    } cases[] = {
        {"agregate", "aggregate"},
        {"aggregates", "aggregate"},
        {"aggreagte", "aggregate"},
        {"form", "from"},
        {"partition", "partitions"},
        {"stage", "stages"},
        {"by", "by"},
        {"window", NULL},
        {"", NULL},
        {"zzzzzzzzzz", NULL},
    };
    (void)state;
    for (size_t i = 0; i < BR_COUNTOF(cases); i++) {
        const char *found = br_nearest(br_str(cases[i].given), names, BR_COUNTOF(names));
        if (cases[i].meant)
            assert_string_equal(found, cases[i].meant);
        else
            assert_null(found);
    }
}

static void nearest__very_long_text__none(void **state)
{
    /* The work is bounded: a name beyond every valid one is not compared at all. */
    char text[1000];
    static const char *const names[] = {"aggregate"};
    (void)state;
    memset(text, 'a', sizeof(text));
    assert_null(br_nearest(br_bytes_of(text, sizeof(text)), names, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(name__of_the_allowed_set__accepted),
        cmocka_unit_test(name__hostile__refused_with_the_rule),
        cmocka_unit_test(name__at_the_length_limit__accepted_and_one_more_refused),
        cmocka_unit_test(id__of_an_operator__lower_case_without_hyphen),
        cmocka_unit_test(nearest__typing_error__the_name_that_was_meant),
        cmocka_unit_test(nearest__very_long_text__none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
