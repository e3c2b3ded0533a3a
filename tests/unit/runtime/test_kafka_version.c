/* tests/unit/runtime/test_kafka_version.c - which of librdkafka's faults are told for a version. */
#include "runtime/log/kafka_version.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static size_t count_faults(int version)
{
    size_t count = 0;
    while (br_kafka_fault(version, count)) count++;
    return count;
}

static void fault__versions__end_where_they_are_fixed(void **state)
{
    /* Claim: a version has the faults that are fixed in a later one, and no other. */
    static const struct {
        int version;
        size_t want;
        const char *last;
    } cases[] = {
        {0x020002ff, 7, "before 2.10.0"},
        {0x020100ff, 5, "before 2.10.0"},
        {0x020300ff, 3, "before 2.10.0"},
        {0x020600ff, 2, "before 2.10.0"},
        {0x020601ff, 1, "before 2.10.0"},
        {0x020903ff, 1, "before 2.10.0"},
        {0x020a00ff, 0, NULL},
        {0x020e02ff, 0, NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        size_t count = count_faults(cases[i].version);
        assert_int_equal(count, cases[i].want);
        if (count == 0) continue;
        const char *last = br_kafka_fault(cases[i].version, count - 1);
        assert_int_equal(strncmp(last, cases[i].last, strlen(cases[i].last)), 0);
    }
}

static void version__loaded__is_one_that_brine_supports(void **state)
{
    /* Claim: number and text are of the same, supported library. */
    (void)state;
    int number = br_kafka_version_number();
    char want[32];
    snprintf(want, sizeof(want), "%d.%d.%d", number >> 24, number >> 16 & 0xff, number >> 8 & 0xff);
    assert_int_equal(strncmp(br_kafka_version(), want, strlen(want)), 0);
    assert_true(number >= 0x020002ff);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fault__versions__end_where_they_are_fixed),
        cmocka_unit_test(version__loaded__is_one_that_brine_supports),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
