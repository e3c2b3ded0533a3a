/* tests/unit/jobs/test_plan_print.c - the examples, and what `brine plan` shows of a job. */
#include "jobs/plan.h"
#include "operators/json.h"
#include "runtime/base/alloc.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static const struct {
    const char *name;
    size_t stages;
} examples[] = {
    {"ad-clicks.yaml", 2},   {"compound-keys.yaml", 3}, {"dropped-keys.yaml", 2},
    {"salted-keys.yaml", 2}, {"telemetry.yaml", 1},
};

/* The folder of the examples, found from where this file was compiled. */
static void example_path(br_buf *out, const char *name)
{
    const char *here = __FILE__, *end = strstr(here, "tests/unit/jobs/");
    assert_non_null(end);
    br_buf_add(out, here, (size_t)(end - here));
    br_buf_printf(out, "jobs/examples/%s", name);
}

typedef struct example {
    br_job *job;
    br_plan *plan;
} example;

static example compile_example(const char *name)
{
    example out = {0};
    br_job_errors errors;
    br_buf path = {0}, text = {0};
    example_path(&path, name);
    br_status status = br_job_read(&out.job, br_buf_cstr(&path), &errors);
    if (status == BR_OK) status = br_plan_compile(&out.plan, out.job, &errors);
    br_job_errors_print(&errors, &text);
    if (status != BR_OK) fail_msg("%s", br_buf_cstr(&text));
    br_buf_dispose(&path);
    br_buf_dispose(&text);
    br_job_errors_dispose(&errors);
    return out;
}

static void discard(example *e)
{
    br_plan_destroy(e->plan);
    br_job_destroy(e->job);
}

static void examples__all__compile_to_the_stages_they_promise(void **state)
{
    /* Every file of the folder is in the table above, and compiles. */
    br_buf path = {0};
    size_t found = 0;
    (void)state;
    example_path(&path, "");
    DIR *dir = opendir(br_buf_cstr(&path));
    assert_non_null(dir);
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;)
        found += strstr(entry->d_name, ".yaml") != NULL;
    closedir(dir);
    assert_int_equal(found, BR_COUNTOF(examples));
    for (size_t i = 0; i < BR_COUNTOF(examples); i++) {
        example e = compile_example(examples[i].name);
        assert_int_equal(e.plan->stage_count, examples[i].stages);
        discard(&e);
    }
    br_buf_dispose(&path);
}

static int32_t twelve(void *arg, const char *topic)
{
    (void)arg;
    return strcmp(topic, "ad-clicks") == 0 ? 12 : 0;
}

static void print__ad_clicks__shows_stages_topics_and_how_expressions_run(void **state)
{
    /* Everything that a job will do can be read before it does it. */
    static const char *const wanted[] = {
        "job ad-clicks: commits every 1.0 s, keeps up to 64.0 MiB of rows in memory\n",
        "stage clicks: reads ad-clicks (json), at first from its earliest record\n",
        "  decodes      ts, cost_micros, ad_id\n",
        "  bad records  to dead letters\n",
        "  map1      map      where      ",
        "cost_micros / 1000000  native\n",
        "partials   ad-clicks-per_ad-repartition\n",
        "stage per_ad: merges the partials in ad-clicks-per_ad-repartition\n",
        "    sink1   sink   topic      clicks-per-ad\n",
        "ad-clicks                     source        12          must exist",
        "ad-clicks-per_ad-changelog    changelog     12          cleanup.policy=compact\n",
    };
    example e = compile_example("ad-clicks.yaml");
    br_buf text = {0};
    (void)state;
    br_plan_print(e.plan, twelve, NULL, &text);
    for (size_t i = 0; i < BR_COUNTOF(wanted); i++)
        if (!strstr(br_buf_cstr(&text), wanted[i]))
            fail_msg("no `%s` in\n%s", wanted[i], br_buf_cstr(&text));
    assert_null(strstr(br_buf_cstr(&text), " \n"));
    br_buf_reset(&text);
    br_plan_print(e.plan, NULL, NULL, &text);
    assert_non_null(strstr(br_buf_cstr(&text), "changelog     as ad-clicks  cleanup"));
    discard(&e);
    e = compile_example("telemetry.yaml");
    br_buf_reset(&text);
    br_plan_print(e.plan, NULL, NULL, &text);
    assert_non_null(strstr(br_buf_cstr(&text), "  lua\n"));
    assert_non_null(strstr(br_buf_cstr(&text), "stages     one\n"));
    br_buf_dispose(&text);
    discard(&e);
}

static br_status count_field(void *arg, br_bytes name, const br_value *value, br_err *err)
{
    (void)name;
    (void)value;
    (void)err;
    ++*(size_t *)arg;
    return BR_OK;
}

static void print_json__every_example__is_json(void **state)
{
    /* Programs read the plan as one JSON object. */
    (void)state;
    for (size_t i = 0; i < BR_COUNTOF(examples); i++) {
        example e = compile_example(examples[i].name);
        br_arena *arena = br_arena_create(4096);
        br_buf text = {0};
        br_err err;
        size_t fields = 0;
        br_plan_print_json(e.plan, twelve, NULL, &text);
        assert_int_equal(br_json_fields(br_buf_bytes(&text), arena, count_field, &fields, &err),
                         BR_OK);
        assert_int_equal(fields, 5);
        br_buf_dispose(&text);
        br_arena_destroy(arena);
        discard(&e);
    }
    example e = compile_example("ad-clicks.yaml");
    br_buf text = {0};
    br_plan_print_json(e.plan, twelve, NULL, &text);
    assert_non_null(strstr(br_buf_cstr(&text),
                           "{\"name\":\"ad-clicks-per_ad-repartition\",\"role\":\"repartition\","
                           "\"partitions\":12,\"like\":\"ad-clicks\",\"partitions_fixed\":false}"));
    assert_non_null(strstr(br_buf_cstr(&text), "\"fields\":[\"ts\",\"cost_micros\",\"ad_id\"]"));
    assert_non_null(strstr(br_buf_cstr(&text), "{\"field\":\"where\",\"expression\":\"cost_micros "
                                               "> 0\",\"runs\":\"native\"}"));
    br_buf_dispose(&text);
    discard(&e);
}

static void print_dot__ad_clicks__draws_stages_between_topics(void **state)
{
    /* Each edge joins two nodes that are declared. */
    static const char *const wanted[] = {
        "digraph \"ad-clicks\" {\n",
        "  \"ad-clicks\" [shape=cylinder, label=\"ad-clicks\\nsource\"];\n",
        "  subgraph \"cluster_0\" {\n    label=\"stage clicks\";\n",
        "    \"0.0\" [label=\"map\\nmap1\"];\n",
        "  \"ad-clicks\" -> \"0.0\";\n",
        "  \"0.0\" -> \"0.1\";\n",
        "  \"0.1\" -> \"ad-clicks-per_ad-repartition\";\n",
        "  \"0.1\" -> \"ad-clicks-per_ad-changelog\" [style=dashed];\n",
        "  \"ad-clicks-per_ad-repartition\" -> \"1.0\";\n",
        "  \"1.1\" -> \"clicks-per-ad\";\n",
    };
    example e = compile_example("ad-clicks.yaml");
    br_buf text = {0};
    (void)state;
    br_plan_print_dot(e.plan, &text);
    for (size_t i = 0; i < BR_COUNTOF(wanted); i++)
        if (!strstr(br_buf_cstr(&text), wanted[i]))
            fail_msg("no `%s` in\n%s", wanted[i], br_buf_cstr(&text));
    br_buf_dispose(&text);
    discard(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(examples__all__compile_to_the_stages_they_promise),
        cmocka_unit_test(print__ad_clicks__shows_stages_topics_and_how_expressions_run),
        cmocka_unit_test(print_json__every_example__is_json),
        cmocka_unit_test(print_dot__ad_clicks__draws_stages_between_topics),
    };
    return cmocka_run_group_tests_name("jobs/plan_print", tests, NULL, NULL);
}
