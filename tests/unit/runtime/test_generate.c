/* tests/unit/runtime/test_generate.c - sample records: the same bytes, the right shares. */
#include "runtime/base/bytes.h"
#include "runtime/cli/generator.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static br_generator clicks(uint64_t seed, uint64_t ids, double hot)
{
    return (br_generator){
        .sample = BR_SAMPLE_AD_CLICKS, .ids = ids, .hot = hot, .rng = {.state = seed}};
}

static void lines_of(br_generator generator, int count, br_buf *out)
{
    char line[BR_GENERATOR_LINE_MAX];
    for (int i = 0; i < count; i++) br_buf_add(out, line, br_generator_line(&generator, line));
}

static void generator__first_lines__are_fixed_for_ever(void **state)
{
    /* Golden: what seed 1 gives must not change, tests and readers of the README rely on it. */
    (void)state;
    br_buf got = {0};
    lines_of(clicks(1, 10000, 0.5), 2, &got);
    br_generator telemetry = {.sample = BR_SAMPLE_TELEMETRY, .ids = 1000, .rng = {.state = 1}};
    lines_of(telemetry, 1, &got);
    assert_string_equal(br_buf_cstr(&got),
                        "{\"event_id\":\"910a2dec89025cc1\",\"ad_id\":\"ad_9710\",\""
                        "region\":\"eu-north\",\"user_id\":\"u_444264\",\"cost_micr"
                        "os\":76290,\"ts\":1700000000877}\n"
                        "{\"event_id\":\"85e7bb0f12278575\",\"ad_id\":\"ad_7\",\"reg"
                        "ion\":\"sa-east\",\"user_id\":\"u_404142\",\"cost_micros\":"
                        "60543,\"ts\":1700000000455}\n"
                        "{\"device_id\":\"device_566\",\"region\":\"ap-east\",\"temp"
                        "erature\":38.6,\"battery\":44,\"ts\":1700000000444}\n");
    br_buf_dispose(&got);
}

static void generator__same_seed__gives_the_same_bytes(void **state)
{
    /* Two runs with a seed are equal; another seed differs. */
    (void)state;
    br_buf a = {0}, b = {0}, c = {0};
    lines_of(clicks(7, 100, 0.3), 1000, &a);
    lines_of(clicks(7, 100, 0.3), 1000, &b);
    lines_of(clicks(8, 100, 0.3), 1000, &c);
    assert_true(br_bytes_equal(br_buf_bytes(&a), br_buf_bytes(&b)));
    assert_false(br_bytes_equal(br_buf_bytes(&a), br_buf_bytes(&c)));
    br_buf_dispose(&a);
    br_buf_dispose(&b);
    br_buf_dispose(&c);
}

enum { RECORDS = 100000 };

/* How many of RECORDS lines go to the ad with this index. */
static int count_of(br_generator generator, int ad)
{
    char line[BR_GENERATOR_LINE_MAX + 1], wanted[32];
    int n = 0;
    (void)snprintf(wanted, sizeof(wanted), "\"ad_id\":\"ad_%d\"", ad);
    for (int i = 0; i < RECORDS; i++) {
        line[br_generator_line(&generator, line)] = '\0';
        n += strstr(line, wanted) != NULL;
    }
    return n;
}

static void generator__hot_share__goes_to_one_ad(void **state)
{
    /* Within a percent of the records; the other ads get the rest, each alike. */
    (void)state;
    static const struct {
        uint64_t ids;
        double hot;
        int ad, percent;
    } cases[] = {{10000, 0.5, 7, 50}, {10000, 0.1, 7, 10}, {10000, 1, 7, 100}, {10, 0.5, 3, 6},
                 {3, 0.5, 2, 50},     {1, 0.5, 0, 100},    {10, 0, 7, 10},     {10, 0, 0, 10},
                 {10, 0, 9, 10},      {10, 0, 10, 0}};
    for (size_t i = 0; i < BR_COUNTOF(cases); i++) {
        int n = count_of(clicks(1, cases[i].ids, cases[i].hot), cases[i].ad);
        assert_in_range(n + RECORDS, RECORDS + cases[i].percent * (RECORDS / 100) - RECORDS / 100,
                        RECORDS + cases[i].percent * (RECORDS / 100) + RECORDS / 100);
    }
}

static void generator__every_line__fits_and_ends(void **state)
{
    /* The largest ids stay within BR_GENERATOR_LINE_MAX; a line has one line end, its last byte. */
    (void)state;
    char line[BR_GENERATOR_LINE_MAX];
    br_generator generators[] = {clicks(1, INT32_MAX, 0),
                                 {.sample = BR_SAMPLE_TELEMETRY, .ids = INT32_MAX}};
    for (size_t g = 0; g < BR_COUNTOF(generators); g++) {
        for (int i = 0; i < 10000; i++) {
            size_t len = br_generator_line(&generators[g], line);
            assert_true(len <= BR_GENERATOR_LINE_MAX - 64);
            assert_ptr_equal(memchr(line, '\n', len), line + len - 1);
            assert_true(line[0] == '{' && line[len - 2] == '}');
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(generator__first_lines__are_fixed_for_ever),
        cmocka_unit_test(generator__same_seed__gives_the_same_bytes),
        cmocka_unit_test(generator__hot_share__goes_to_one_ad),
        cmocka_unit_test(generator__every_line__fits_and_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
