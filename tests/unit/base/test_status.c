/* tests/unit/base/test_status.c - the error object: what failed, wrapped by who knows where. */
#include "runtime/base/status.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static void fail__with_a_cause__message_and_errno_text(void **state)
{
    /* An I/O failure ends with the system's own words; other failures do not. */
    br_err err;
    (void)state;
    assert_int_equal(br_fail_errno(&err, BR_ERR_IO, ENOSPC, "writing %s", "x.mdb"), BR_ERR_IO);
    assert_string_equal(err.message, "writing x.mdb: No space left on device");
    assert_int_equal(err.cause, ENOSPC);
    assert_int_equal(br_fail_errno(&err, BR_ERR_CORRUPT, 5, "row %d", 7), BR_ERR_CORRUPT);
    assert_string_equal(err.message, "row 7");
    assert_int_equal(err.cause, 5);
    assert_int_equal(br_fail(&err, BR_ERR_LIMIT, "full"), BR_ERR_LIMIT);
    assert_int_equal(err.cause, 0);
}

static void wrap__twice__outermost_first_and_status_kept(void **state)
{
    /* Callers add context in front; status and cause stay the callee's. */
    br_err err;
    (void)state;
    (void)br_fail_errno(&err, BR_ERR_IO, EACCES, "open data.mdb");
    assert_int_equal(br_wrap(&err, "store %s", "clicks"), BR_ERR_IO);
    assert_int_equal(br_wrap(&err, "task %s[%d]", "ads", 3), BR_ERR_IO);
    assert_string_equal(err.message, "task ads[3]: store clicks: open data.mdb: Permission denied");
    assert_int_equal(err.cause, EACCES);
}

static void message__too_long__cut_at_the_end(void **state)
{
    /* A message that does not fit is cut, and still ends with a NUL. */
    char text[3 * BR_ERR_MESSAGE_MAX];
    br_err err;
    (void)state;
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    (void)br_fail(&err, BR_ERR_CONFIG, "%s", text);
    assert_int_equal(strlen(err.message), BR_ERR_MESSAGE_MAX - 1);
    (void)br_fail_errno(&err, BR_ERR_IO, EIO, "%s", text);
    assert_int_equal(strlen(err.message), BR_ERR_MESSAGE_MAX - 1);
}

static void wrap__of_any_lengths__begins_with_context_and_fits(void **state)
{
    /* However long both are, the start of each survives and nothing is written past the end. */
    char text[2 * BR_ERR_MESSAGE_MAX];
    static const size_t lengths[] = {0,    1,    510,  511,  512,  513,  1018,
                                     1019, 1020, 1021, 1022, 1023, 1024, 2047};
    (void)state;
    for (size_t i = 0; i < BR_COUNTOF(lengths); i++)
        for (size_t j = 0; j < BR_COUNTOF(lengths); j++) {
            struct {
                br_err err;
                char guard[16];
            } box;
            memset(box.guard, 'g', sizeof(box.guard));
            memset(text, 'c', sizeof(text));
            (void)br_fail(&box.err, BR_ERR_IO, "%.*s", (int)lengths[i], text);
            memset(text, 'w', sizeof(text));
            assert_int_equal(br_wrap(&box.err, "%.*s", (int)lengths[j], text), BR_ERR_IO);
            size_t context = lengths[j] < 512 ? lengths[j] : 512;
            assert_in_range(strlen(box.err.message), context + 2, BR_ERR_MESSAGE_MAX - 1);
            assert_int_equal(strspn(box.err.message, "w"), context);
            assert_memory_equal(box.err.message + context, ": ", 2);
            size_t room = BR_ERR_MESSAGE_MAX - 1 - context - 2;
            size_t kept = strspn(box.err.message + context + 2, "c");
            size_t had = lengths[i] < BR_ERR_MESSAGE_MAX - 1 ? lengths[i] : BR_ERR_MESSAGE_MAX - 1;
            assert_int_equal(kept, had < room ? had : room);
            assert_memory_equal(box.guard, "gggggggggggggggg", sizeof(box.guard));
        }
}

static void name__of_every_status__a_word(void **state)
{
    /* Every status has a name of its own, for logs. */
    (void)state;
    for (int i = BR_ERR_IN_USE; i <= BR_END; i++)
        for (int j = BR_ERR_IN_USE; j < i; j++)
            assert_string_not_equal(br_status_name((br_status)i), br_status_name((br_status)j));
    assert_string_equal(br_status_name(BR_ERR_CORRUPT), "corrupt");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fail__with_a_cause__message_and_errno_text),
        cmocka_unit_test(wrap__twice__outermost_first_and_status_kept),
        cmocka_unit_test(message__too_long__cut_at_the_end),
        cmocka_unit_test(wrap__of_any_lengths__begins_with_context_and_fits),
        cmocka_unit_test(name__of_every_status__a_word),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
