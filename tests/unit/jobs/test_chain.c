/* tests/unit/jobs/test_chain.c - a plan's stages, run: records in, partials and results out. */
#include "jobs/chain.h"
#include "operators/tuple.h"
#include "runtime/base/alloc.h"
#include "unit/temp_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

enum { SENT_MAX = 16 };

typedef struct sent {
    char kind; /* s: sink, c: changelog, p: partial, b: bad record */
    size_t index;
    char *key, *value;
    size_t key_len, value_len;
} sent;

/* The outlet as an array, and all that a stage's chain needs. */
typedef struct fixture {
    br_job *job;
    br_plan *plan;
    sent sent[SENT_MAX];
    size_t count;
    br_outlet outlet;
    br_task_context context;
    br_budget budget;
    char dir[256];
} fixture;

static void keep(fixture *f, char kind, size_t index, br_bytes key, br_bytes value)
{
    assert_true(f->count < SENT_MAX);
    f->sent[f->count++] = (sent){kind,
                                 index,
                                 br_strndup(key.data ? key.data : "", key.len),
                                 br_strndup(value.data ? value.data : "", value.len),
                                 key.len,
                                 value.len};
}

static br_status fake_sink(void *self, size_t sink, br_bytes key, br_bytes value, int64_t time_ms,
                           br_err *err)
{
    (void)time_ms;
    (void)err;
    keep(self, 's', sink, key, value);
    return BR_OK;
}

static br_status fake_changelog(void *self, size_t store, br_bytes key, br_bytes row, br_err *err)
{
    (void)err;
    keep(self, 'c', store, key, row);
    return BR_OK;
}

static br_status fake_partial(void *self, size_t output, br_bytes group, br_bytes key, br_bytes row,
                              br_err *err)
{
    (void)group;
    (void)err;
    keep(self, 'p', output, key, row);
    return BR_OK;
}

static br_status fake_bad_record(void *self, const br_row *row, const char *id, const br_err *why,
                                 br_err *err)
{
    (void)row;
    (void)why;
    (void)err;
    keep(self, 'b', 0, br_str(id), BR_NO_BYTES);
    return BR_OK;
}

static void fake_null_key(void *self, const br_row *row)
{
    (void)self;
    (void)row;
}

static void setup(fixture *f, const char *text)
{
    br_job_errors errors;
    *f = (fixture){.budget = {.max = 1 << 20}};
    assert_int_equal(br_job_parse(&f->job, br_str(text), "job.yaml", &errors), BR_OK);
    assert_int_equal(br_plan_compile(&f->plan, f->job, &errors), BR_OK);
    br_job_errors_dispose(&errors);
    temp_dir_make(f->dir, sizeof(f->dir), "chain");
    f->outlet = (br_outlet){.self = f,
                            .sink = fake_sink,
                            .changelog = fake_changelog,
                            .partial = fake_partial,
                            .bad_record = fake_bad_record,
                            .null_key = fake_null_key};
    f->context = (br_task_context){.outlet = &f->outlet,
                                   .arena = br_arena_create(4096),
                                   .incarnation = 1,
                                   .horizon = -1,
                                   .partial_id = BR_LITERAL("\x02p\x00\x01"),
                                   .stop_offset = INT64_MAX};
}

static void teardown(fixture *f)
{
    for (size_t i = 0; i < f->count; i++) {
        br_free(f->sent[i].key);
        br_free(f->sent[i].value);
    }
    br_arena_destroy(f->context.arena);
    br_plan_destroy(f->plan);
    br_job_destroy(f->job);
    temp_dir_remove(f->dir);
}

static br_env *open_env(const fixture *f, const br_stage *stage, const char *name)
{
    const char *ids[8];
    char dir[320];
    br_env *env = NULL;
    br_err err;
    (void)snprintf(dir, sizeof(dir), "%s/%s", f->dir, name);
    for (size_t i = 0; i < stage->store_count; i++) ids[i] = stage->stores[i].id;
    br_env_opts opts = {.dir = dir, .store_ids = ids, .store_count = stage->store_count};
    if (br_env_open(&env, &opts, &err) != BR_OK) fail_msg("%s", err.message);
    return env;
}

/* Sends JSON texts through a source stage; offsets count from 0. */
static void run_source(fixture *f, br_chain *chain, const br_stage *stage, const char *const *texts,
                       size_t count)
{
    br_err err;
    br_source *source = br_source_create(&stage->source);
    br_batch *batch = br_batch_create();
    for (size_t i = 0; i < count; i++) {
        br_row bad;
        br_record record = {.topic = stage->topic,
                            .offset = (int64_t)i,
                            .timestamp_ms = 1000 + (int64_t)i,
                            .value = br_str(texts[i])};
        if (br_source_add(source, batch, &record, &bad, &err) != BR_OK) fail_msg("%s", err.message);
    }
    br_arena *own = f->context.arena;
    f->context.arena = batch->arena;
    if (br_chain_process(chain, &f->context, batch->at, batch->count, &err) != BR_OK)
        fail_msg("%s", err.message);
    f->context.arena = own;
    br_batch_destroy(batch);
    br_source_destroy(source);
}

static const sent *find_sent(const fixture *f, char kind, const char *key)
{
    for (size_t i = 0; i < f->count; i++)
        if (f->sent[i].kind == kind && strcmp(f->sent[i].key, key) == 0) return &f->sent[i];
    fail_msg("nothing of kind %c under %s", kind, key);
    return NULL;
}

static const char *const clicks[] = {"{\"ad\":\"x\",\"cost\":5}", "{\"ad\":\"y\",\"cost\":7}",
                                     "{\"ad\":\"x\",\"cost\":0}", "{\"ad\":\"x\",\"cost\":6}"};

static void chain__map_and_sinks__pass_rows_on(void **state)
{
    /* Parents before children: where, set and two sinks, without any store. */
    fixture f;
    br_chain chain;
    br_err err;
    (void)state;
    setup(&f, "name: j\noperators:\n  - source: {id: s, topic: in}\n"
              "  - map: {id: m, where: cost > 5, set: {twice: cost * 2}, key: ad}\n"
              "  - sink: {topic: out}\n  - sink: {topic: raw, from: s, key: cost}\n");
    const br_stage *stage = &f.plan->stages[0];
    br_chain_build(&chain, stage, &f.context, NULL, &f.budget, 1);
    assert_int_equal(chain.op_count, 3);
    assert_int_equal(chain.root_count, 2);
    assert_int_equal(chain.ops[0]->child_count, 1);
    assert_ptr_equal(chain.ops[0]->children[0], chain.ops[1]);
    run_source(&f, &chain, stage, clicks, BR_COUNTOF(clicks));
    assert_int_equal(br_chain_flush(&chain, &err), BR_OK);
    assert_int_equal(f.count, 6);
    assert_string_equal(find_sent(&f, 's', "y")->value, "{\"ad\":\"y\",\"cost\":7,\"twice\":14}");
    assert_string_equal(find_sent(&f, 's', "x")->value, "{\"ad\":\"x\",\"cost\":6,\"twice\":12}");
    assert_string_equal(find_sent(&f, 's', "0")->value, clicks[2]);
    br_chain_dispose(&chain);
    assert_int_equal(chain.op_count, 0);
    teardown(&f);
}

static void chain__two_stages__give_the_totals_of_the_records(void **state)
{
    /* Stage one's partials, applied to stage two, come out as one result per group. */
    fixture f;
    br_chain one, two;
    br_err err;
    (void)state;
    setup(&f, "name: j\noperators:\n  - source: {id: s, topic: in}\n"
              "  - groupBy: {id: g, by: [ad], aggregate: {n: count(), cost: sum(cost)}}\n"
              "  - map: {set: {mean: cost / n}}\n  - sink: {topic: out}\n");
    br_env *first = open_env(&f, &f.plan->stages[0], "one");
    br_env *second = open_env(&f, &f.plan->stages[1], "two");
    br_chain_build(&one, &f.plan->stages[0], &f.context, first, &f.budget, 1);
    br_chain_build(&two, &f.plan->stages[1], &f.context, second, &f.budget, 1);
    run_source(&f, &one, &f.plan->stages[0], clicks, BR_COUNTOF(clicks));
    assert_int_equal(f.count, 0);
    if (br_chain_flush(&one, &err) != BR_OK) fail_msg("%s", err.message);
    assert_int_equal(f.count, 4); /* two groups: a changelog record and a partial each */
    for (size_t i = 0, n = f.count; i < n; i++) {
        const sent *at = &f.sent[i];
        if (at->kind != 'p') continue;
        if (br_merge_apply(two.roots[0], (int64_t)i, br_bytes_of(at->key, at->key_len),
                           br_bytes_of(at->value, at->value_len), &err) != BR_OK)
            fail_msg("%s", err.message);
    }
    if (br_chain_flush(&two, &err) != BR_OK) fail_msg("%s", err.message);
    assert_int_equal(f.count, 6);
    assert_string_equal(find_sent(&f, 's', "y")->value,
                        "{\"ad\":\"y\",\"n\":1,\"cost\":7,\"mean\":7}");
    assert_non_null(strstr(find_sent(&f, 's', "x")->value, "\"n\":3,\"cost\":11,\"mean\":3.6"));
    br_chain_dispose(&one);
    br_chain_dispose(&two);
    br_env_close(first, true);
    br_env_close(second, true);
    teardown(&f);
}

static void chain__one_stage__gives_results_at_the_flush(void **state)
{
    /* A keyed topic needs no partials; what is set below the groupBy has room in its rows. */
    fixture f;
    br_chain chain;
    br_err err;
    (void)state;
    setup(&f, "name: j\noperators:\n  - source: {id: s, topic: in, partitioned_by: ad}\n"
              "  - groupBy: {id: g, by: [ad], aggregate: {n: count()}}\n"
              "  - map: {set: {a: n + 1, b: n + 2, c: n + 3}}\n  - sink: {topic: out}\n");
    br_env *env = open_env(&f, &f.plan->stages[0], "one");
    br_chain_build(&chain, &f.plan->stages[0], &f.context, env, &f.budget, 1);
    run_source(&f, &chain, &f.plan->stages[0], clicks, BR_COUNTOF(clicks));
    if (br_chain_flush(&chain, &err) != BR_OK) fail_msg("%s", err.message);
    assert_string_equal(find_sent(&f, 's', "x")->value,
                        "{\"ad\":\"x\",\"n\":3,\"a\":4,\"b\":5,\"c\":6}");
    assert_int_equal(f.count, 4);
    br_chain_dispose(&chain);
    br_env_close(env, true);
    teardown(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chain__map_and_sinks__pass_rows_on),
        cmocka_unit_test(chain__two_stages__give_the_totals_of_the_records),
        cmocka_unit_test(chain__one_stage__gives_results_at_the_flush),
    };
    return cmocka_run_group_tests_name("jobs/chain", tests, NULL, NULL);
}
