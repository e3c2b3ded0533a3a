/* tests/unit/jobs/test_plan.c - what a job compiles to: stages, topics, layouts, stores. */
#include "jobs/plan.h"
#include "runtime/base/alloc.h"
#include "runtime/base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include <cmocka.h>

#define HEAD "name: j\noperators:\n"
#define SOURCE "  - source: {id: s, topic: in}\n"
#define KEYED "  - source: {id: s, topic: in, partitioned_by: [a]}\n"
#define SINK "  - sink: {topic: out}\n"

typedef struct compiled {
    br_job *job;
    br_plan *plan;
} compiled;

static br_status compile(compiled *out, const char *text, br_job_errors *errors)
{
    br_status status = br_job_parse(&out->job, br_str(text), "job.yaml", errors);
    out->plan = NULL;
    if (status == BR_OK) status = br_plan_compile(&out->plan, out->job, errors);
    return status;
}

static void discard(compiled *c)
{
    br_plan_destroy(c->plan);
    br_job_destroy(c->job);
}

static compiled compile_good(const char *text)
{
    compiled out;
    br_job_errors errors;
    br_buf found = {0};
    br_status status = compile(&out, text, &errors);
    br_job_errors_print(&errors, &found);
    if (status != BR_OK) fail_msg("refused:\n%s\nof\n%s", br_buf_cstr(&found), text);
    br_buf_dispose(&found);
    br_job_errors_dispose(&errors);
    return out;
}

static const br_stage *find_stage(const br_plan *plan, const char *id)
{
    for (size_t i = 0; i < plan->stage_count; i++)
        if (strcmp(plan->stages[i].id, id) == 0) return &plan->stages[i];
    fail_msg("no stage %s", id);
    return NULL;
}

static const br_plan_topic *find_topic(const br_plan *plan, const char *name)
{
    for (size_t i = 0; i < plan->topic_count; i++)
        if (strcmp(plan->topics[i].name, name) == 0) return &plan->topics[i];
    return NULL;
}

static void plan__salted_clicks__take_two_stages(void **state)
{
    /* Without partitioned_by a groupBy sends partials to its repartition topic and merges them. */
    compiled c = compile_good(HEAD "  - source: {id: s, topic: in, timestamp: ts}\n"
                                   "  - map: {where: cost > 0, set: {spend: cost / 1000}}\n"
                                   "  - groupBy: {id: g, by: [ad_id], partitions: 5,\n"
                                   "      aggregate: {clicks: count(), spend: sum(spend)}}\n" SINK);
    (void)state;
    assert_int_equal(c.plan->stage_count, 2);
    const br_stage *one = &c.plan->stages[0], *two = &c.plan->stages[1];
    assert_int_equal(one->kind, BR_STAGE_SOURCE);
    assert_string_equal(one->topic, "in");
    assert_int_equal(one->root_count, 1);
    const br_node *map = one->roots[0], *group = map->children[0];
    assert_int_equal(map->kind, BR_NODE_MAP);
    assert_int_equal(map->map.slot_count, one->slot_count);
    assert_int_equal(group->kind, BR_NODE_GROUP_BY);
    assert_true(group->group.two_stages);
    assert_int_equal(group->child_count, 0);
    assert_string_equal(one->stores[group->group.store].changelog, "j-g-changelog");
    assert_string_equal(one->repartitions[group->group.output], "j-g-repartition");
    assert_int_equal(one->sink_count, 0);
    assert_int_equal(two->kind, BR_STAGE_MERGE);
    assert_string_equal(two->topic, "j-g-repartition");
    assert_null(two->stores[0].changelog);
    assert_true(br_bytes_equal(two->stores[0].spec, one->stores[0].spec));
    const br_node *merge = two->roots[0];
    assert_int_equal(merge->kind, BR_NODE_MERGE);
    assert_null(merge->group.by);
    assert_int_equal(merge->group.by_count, 1);
    assert_string_equal(merge->group.by_names[0], "ad_id");
    assert_int_equal(merge->group.result_slots, 3);
    assert_int_equal(merge->group.payload_bytes, group->group.payload_bytes);
    for (size_t i = 0; i < group->group.aggregate_count; i++)
        assert_int_equal(group->group.aggregates[i].offset % 8, 0);
    assert_true(group->group.aggregates[1].offset >= group->group.aggregates[0].fn->acc_size);
    const br_shape *shape = &merge->children[0]->sink.shape;
    assert_int_equal(shape->count, 3);
    assert_int_equal(shape->group_count, 1);
    for (uint32_t i = 0; i < 3; i++) assert_int_equal(shape->slots[i], i);
    assert_string_equal(two->sinks[0], "out");
    discard(&c);
}

static void plan__topics__have_roles_counts_and_models(void **state)
{
    /* FAULTS 12, 13: each topic once and in its role; a changelog has exactly its source's count.
     */
    compiled c =
        compile_good(HEAD SOURCE "  - groupBy: {id: g, by: a, aggregate: count(), partitions: 5}\n"
                                 "  - sink: {topic: out, partitions: 3}\n"
                                 "  - sink: {topic: raw, from: s}\n"
                                 "  - sink: {topic: raw, from: g}\n");
    static const br_plan_topic wanted[] = {
        {"in", BR_TOPIC_SOURCE, 0, NULL, false, false},
        {"j-g-changelog", BR_TOPIC_CHANGELOG, 0, "in", true, true},
        {"j-g-repartition", BR_TOPIC_REPARTITION, 5, "in", false, false},
        {"out", BR_TOPIC_SINK, 3, "in", false, false},
        {"raw", BR_TOPIC_SINK, 0, "in", false, false},
        {"j-dead-letters", BR_TOPIC_DEAD_LETTERS, 0, "in", false, false},
    };
    (void)state;
    assert_int_equal(c.plan->topic_count, BR_COUNTOF(wanted));
    for (size_t i = 0; i < BR_COUNTOF(wanted); i++) {
        const br_plan_topic *topic = &c.plan->topics[i];
        assert_string_equal(topic->name, wanted[i].name);
        assert_int_equal(topic->role, wanted[i].role);
        assert_int_equal(topic->partitions, wanted[i].partitions);
        assert_true(wanted[i].like ? strcmp(topic->like, wanted[i].like) == 0 : !topic->like);
        assert_int_equal(topic->partitions_fixed, wanted[i].partitions_fixed);
        assert_int_equal(topic->grows, wanted[i].grows);
    }
    discard(&c);
}

static void plan__stages__follow_from_how_the_topic_is_keyed(void **state)
{
    /* One stage only where the record's own partitioned_by fields are all part of the group. */
    static const struct {
        const char *source, *group;
        size_t stages;
    } cases[] = {
        {SOURCE, "{id: g, by: [a], aggregate: count()}", 2},
        {KEYED, "{id: g, by: [a], aggregate: count()}", 1},
        {KEYED, "{id: g, by: [b, a], aggregate: count()}", 1},
        {KEYED, "{id: g, by: [x: a], aggregate: count()}", 1},
        {KEYED, "{id: g, by: [b], aggregate: count()}", 2},
        {KEYED, "{id: g, by: [a.b], aggregate: count()}", 2},
        {KEYED, "{id: g, by: [lower(a)], aggregate: count()}", 2},
        {KEYED, "{id: g, by: ['@key'], aggregate: count()}", 2},
        {KEYED, "{id: g, by: [a], stages: two, aggregate: count()}", 2},
        {KEYED, "{id: g, by: [a], stages: one, aggregate: count()}", 1},
        {KEYED "  - map: {set: {b: 1}}\n", "{id: g, by: [a], aggregate: count()}", 1},
        {KEYED "  - map: {set: {a: 1}}\n", "{id: g, by: [a], aggregate: count()}", 2},
        {KEYED "  - map: {set: {b: a}}\n", "{id: g, by: [b], aggregate: count()}", 2},
        {KEYED "  - map: {explode: a}\n", "{id: g, by: [a], aggregate: count()}", 2},
        {KEYED "  - map: {explode: b}\n", "{id: g, by: [a], aggregate: count()}", 1},
        {KEYED "  - map: {keep: [a]}\n", "{id: g, by: [a], aggregate: count()}", 1},
        {"  - source: {id: s, topic: in, partitioned_by: [a, b]}\n",
         "{id: g, by: [a], aggregate: count()}", 2},
        {"  - source: {id: s, topic: in, partitioned_by: [a, b]}\n",
         "{id: g, by: [a, c, b], aggregate: count()}", 1},
        {"  - source: {id: s, topic: in, partitioned_by: [d.id]}\n",
         "{id: g, by: [d.id], aggregate: last(x)}", 1},
    };
    (void)state;
    for (size_t i = 0; i < BR_COUNTOF(cases); i++) {
        char text[512];
        (void)snprintf(text, sizeof(text), HEAD "%s  - groupBy: %s\n" SINK, cases[i].source,
                       cases[i].group);
        compiled c = compile_good(text);
        if (c.plan->stage_count != cases[i].stages)
            fail_msg("case %zu: %zu stages, wanted %zu:\n%s", i, c.plan->stage_count,
                     cases[i].stages, text);
        assert_int_equal(find_topic(c.plan, "j-g-repartition") != NULL, cases[i].stages == 2);
        assert_non_null(find_topic(c.plan, "j-g-changelog"));
        discard(&c);
    }
}

static void plan__one_stage__result_rows_have_their_own_layout(void **state)
{
    /* Below a groupBy of one stage, slots are counted anew: group, results, then what is set. */
    compiled c =
        compile_good(HEAD KEYED "  - groupBy: {id: g, by: [a], aggregate: {n: sum(x + y)}}\n"
                                "  - map: {set: {m: n + 1, k: n * 2}}\n" SINK);
    const br_stage *stage = &c.plan->stages[0];
    const br_node *group = stage->roots[0], *map = group->children[0], *sink = map->children[0];
    (void)state;
    assert_int_equal(c.plan->stage_count, 1);
    assert_int_equal(stage->slot_count, 3); /* a, x, y */
    assert_int_equal(group->group.result_slots, 4);
    assert_int_equal(map->map.slot_count, 4);
    assert_int_equal(map->map.sets[0].slot, 2);
    assert_int_equal(map->map.sets[1].slot, 3);
    assert_int_equal(sink->sink.shape.count, 4);
    assert_int_equal(sink->sink.shape.group_count, 1);
    assert_false(group->group.two_stages);
    discard(&c);
}

static void plan__union__has_a_changelog_per_source_and_one_repartition(void **state)
{
    /* Offsets of two topics cannot be compared, so their rows stay apart until they are merged. */
    compiled c = compile_good(
        HEAD "  - source: {id: s, topic: in, partitioned_by: [a]}\n"
             "  - source: {id: t, topic: in2, partitioned_by: [a], errors: skip}\n"
             "  - groupBy: {id: g, from: [s, t], by: [a], aggregate: {n: count()}}\n" SINK);
    (void)state;
    assert_int_equal(c.plan->stage_count, 3);
    assert_string_equal(find_stage(c.plan, "s")->stores[0].changelog, "j-g-s-changelog");
    assert_string_equal(find_stage(c.plan, "t")->stores[0].changelog, "j-g-t-changelog");
    assert_string_equal(find_topic(c.plan, "j-g-s-changelog")->like, "in");
    assert_string_equal(find_topic(c.plan, "j-g-t-changelog")->like, "in2");
    assert_string_equal(find_topic(c.plan, "j-g-repartition")->like, "in");
    assert_string_equal(find_stage(c.plan, "s")->repartitions[0],
                        find_stage(c.plan, "t")->repartitions[0]);
    assert_int_equal(c.plan->topic_count, 7);
    assert_int_equal(find_stage(c.plan, "g")->sink_count, 1);
    discard(&c);
}

static void plan__branches__share_the_source(void **state)
{
    /* Two sinks below one scope keep shapes of their own; branches do not see each other's fields.
     */
    compiled c =
        compile_good(HEAD SOURCE "  - map: {id: m, set: {x: a + 1}}\n  - sink: {topic: o1}\n"
                                 "  - sink: {topic: o2, from: m}\n"
                                 "  - map: {id: n, from: s, keep: [a]}\n  - sink: {topic: o3}\n"
                                 "  - sink: {topic: o4, from: s}\n");
    const br_stage *stage = &c.plan->stages[0];
    (void)state;
    assert_int_equal(stage->root_count, 3);
    const br_node *m = stage->roots[0], *n = stage->roots[1], *raw = stage->roots[2];
    assert_int_equal(m->child_count, 2);
    assert_ptr_not_equal(m->children[0]->sink.shape.names, m->children[1]->sink.shape.names);
    assert_string_equal(m->children[0]->sink.shape.names[0], "x");
    assert_string_equal(m->children[1]->sink.shape.names[0], "x");
    assert_string_equal(n->children[0]->sink.shape.names[0], "a");
    assert_true(raw->sink.shape.untouched);
    assert_int_equal(stage->sink_count, 4);
    assert_string_equal(stage->sinks[raw->sink.sink], "o4");
    discard(&c);
}

static void plan__source_settings__reach_the_stage(void **state)
{
    /* Time, start, errors and headers of a source are what the job file says. */
    compiled c = compile_good(
        HEAD "  - source: {id: s, topic: in, timestamp: t.ms, start: 1700000000000, errors: fail}\n"
             "  - sink: {topic: out}\n"
             "  - source: {id: h, topic: in2, errors: skip, start: latest}\n"
             "  - map: {set: {x: '@header.trace'}}\n  - sink: {topic: out2}\n"
             "  - source: {id: d, topic: in3}\n  - sink: {topic: out3}\n"
             "settings: {commit_interval: 2s, cache: 2MiB}\n");
    const br_stage *s = find_stage(c.plan, "s"), *h = find_stage(c.plan, "h");
    const br_path *paths;
    const char *const *names;
    const uint32_t *slots;
    (void)state;
    assert_int_equal(br_layout_fields(s->layout, &paths, &names, &slots), 1);
    assert_string_equal(names[0], "t.ms");
    assert_int_equal(s->source.timestamp_slot, slots[0]);
    assert_int_equal(s->start, BR_START_TIME);
    assert_int_equal(s->start_ms, 1700000000000);
    assert_int_equal(s->errors, BR_ERRORS_FAIL);
    assert_false(s->source.headers);
    assert_int_equal(h->source.timestamp_slot, -1);
    assert_int_equal(h->start, BR_START_LATEST);
    assert_true(h->source.headers);
    assert_true(find_stage(c.plan, "d")->source.headers);
    assert_string_equal(find_topic(c.plan, "j-dead-letters")->like, "in3");
    assert_int_equal(c.plan->commit_interval_ms, 2000);
    assert_int_equal(c.plan->cache_bytes, 2 << 20);
    discard(&c);
}

static void plan__dead_letters__headers_where_rows_may_be_refused(void **state)
{
    /* Rows have their record's headers only where an operator may send a dead letter. */
    static const struct {
        const char *operators;
        bool headers;
    } cases[] = {
        {"  - groupBy: {id: g, by: [a, '@key', b.c], aggregate: {n: count(), m: count(x)}}\n",
         false},
        {"  - groupBy: {id: g, by: [unsalt(@key)], aggregate: {n: count()}}\n", false},
        {"  - groupBy: {id: g, by: [unsalt(a)], aggregate: {n: count()}}\n", true},
        {"  - groupBy: {id: g, by: [a], aggregate: {n: count(x + 1)}}\n", true},
        {"  - groupBy: {id: g, by: [a], aggregate: {n: count(), s: sum(x)}}\n", true},
        {"  - groupBy: {id: g, by: ['@header.h'], aggregate: {n: count()}}\n", true},
        {"  - map: {set: {x: 1}}\n  - groupBy: {id: g, by: [a], aggregate: {n: count()}}\n", true},
    };
    (void)state;
    for (size_t i = 0; i < BR_COUNTOF(cases); i++) {
        br_buf text = {0};
        br_buf_printf(&text, HEAD SOURCE "%s" SINK, cases[i].operators);
        compiled c = compile_good(br_buf_cstr(&text));
        if (find_stage(c.plan, "s")->source.headers != cases[i].headers)
            fail_msg("%s", cases[i].operators);
        discard(&c);
        br_buf_dispose(&text);
    }
}

static br_bytes spec_of(const compiled *c)
{
    return c->plan->stages[0].stores[0].spec;
}

static void spec__what_rows_mean__decides(void **state)
{
    /* FAULTS 15: another aggregate, group field or name is noticed; a moved operator is not. */
    static const struct {
        const char *source, *group;
        bool same;
    } cases[] = {
        {SOURCE, "{id: g, by: [a], aggregate: {n: sum(x)}}", true},
        {SOURCE, "{id: g, by: [a: a], aggregate: {n: sum(x)}}", true},
        {SOURCE, "{id: g, by: a, aggregate: {n: sum(x)}, partitions: 4, stages: two}", true},
        {KEYED, "{id: g, by: [a], aggregate: {n: sum(x)}}", true},
        {SOURCE "  - map: {where: x > 1}\n", "{id: g, by: [a], aggregate: {n: sum(x)}}", true},
        {SOURCE, "{id: g, by: [a], aggregate: {n: count()}}", false},
        {SOURCE, "{id: g, by: [a], aggregate: {n: sum(y)}}", false},
        {SOURCE, "{id: g, by: [a], aggregate: {m: sum(x)}}", false},
        {SOURCE, "{id: g, by: [b], aggregate: {n: sum(x)}}", false},
        {SOURCE, "{id: g, by: [a, b], aggregate: {n: sum(x)}}", false},
        {SOURCE, "{id: h, by: [a], aggregate: {n: sum(x)}}", false},
    };
    compiled first =
        compile_good(HEAD SOURCE "  - groupBy: {id: g, by: [a], aggregate: {n: sum(x)}}\n" SINK);
    (void)state;
    for (size_t i = 0; i < BR_COUNTOF(cases); i++) {
        char text[512];
        (void)snprintf(text, sizeof(text), HEAD "%s  - groupBy: %s\n" SINK, cases[i].source,
                       cases[i].group);
        compiled c = compile_good(text);
        if (br_bytes_equal(spec_of(&c), spec_of(&first)) != cases[i].same)
            fail_msg("case %zu: %s", i, text);
        discard(&c);
    }
    br_bytes spec = spec_of(&first);
    Brine__Job__GroupBy *group =
        brine__job__group_by__unpack(NULL, spec.len, (const uint8_t *)spec.data);
    assert_non_null(group);
    assert_string_equal(group->by[0]->name, "a");
    assert_string_equal(group->aggregate[0]->expr, "sum(x)");
    assert_int_equal(group->n_from, 0);
    brine__job__group_by__free_unpacked(group, NULL);
    discard(&first);
}

static void plan__names_of_results__are_given_or_follow_from_the_expression(void **state)
{
    /* Defaults: a field's own name, the word behind @, the function and its argument. */
    compiled c =
        compile_good(HEAD SOURCE "  - groupBy: {by: [unsalt(@key), d.id, x: a + 1],\n"
                                 "      aggregate: [count(), sum(spend), top: max(a)]}\n" SINK);
    const br_group_conf *conf = &c.plan->stages[0].roots[0]->group;
    (void)state;
    assert_string_equal(conf->by_names[0], "key");
    assert_string_equal(conf->by_names[1], "d.id");
    assert_string_equal(conf->by_names[2], "x");
    assert_string_equal(conf->aggregates[0].name, "count");
    assert_string_equal(conf->aggregates[1].name, "sum_spend");
    assert_string_equal(conf->aggregates[2].name, "top");
    discard(&c);
}

typedef struct refusal {
    const char *text;
    int line, column;
    const char *path, *message;
} refusal;

static void assert_refused(const refusal *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        compiled c;
        br_job_errors errors;
        br_buf text = {0};
        bool found = false;
        assert_int_equal(compile(&c, cases[i].text, &errors), BR_ERR_CONFIG);
        assert_null(c.plan);
        br_job_errors_print(&errors, &text);
        for (size_t e = 0; e < errors.count; e++)
            found = found ||
                    (errors.at[e].line == cases[i].line && errors.at[e].column == cases[i].column &&
                     strcmp(errors.at[e].path, cases[i].path) == 0 &&
                     strstr(errors.at[e].message, cases[i].message));
        if (!found)
            fail_msg("case %zu: no error %d:%d %s `%s` in\n%s\nof\n%s", i, cases[i].line,
                     cases[i].column, cases[i].path, cases[i].message, br_buf_cstr(&text),
                     cases[i].text);
        br_buf_dispose(&text);
        br_job_errors_dispose(&errors);
        discard(&c);
    }
}

static void plan__names_and_expressions_without_a_meaning__are_refused_at_their_field(void **state)
{
    /* Errors of compiling point into the job file like all others. */
    static const refusal cases[] = {
        {HEAD SOURCE "  - map: {where: 'a +'}\n" SINK, 4, 18, "operators[1].map.where", ""},
        {HEAD SOURCE "  - map: {keep: [a]}\n  - map: {set: {x: b}}\n" SINK, 5, 20,
         "operators[2].map.set[0]", "`b`"},
        {HEAD SOURCE "  - map: {drop: [b]}\n  - map: {key: b}\n" SINK, 5, 16,
         "operators[2].map.key", "`b` was dropped above"},
        {HEAD SOURCE "  - map: {keep: [a]}\n  - map: {drop: [b]}\n" SINK, 5, 17,
         "operators[2].map.drop", "`b`"},
        {HEAD SOURCE "  - map: {explode: a.b}\n" SINK, 4, 20, "operators[1].map.explode",
         "not the name of a field"},
        {HEAD SOURCE "  - groupBy: {id: g, by: a, aggregate: {n: cuont()}}\n" SINK, 4, 44,
         "operators[1].groupBy.aggregate[0]", "count"},
        {HEAD SOURCE "  - groupBy: {id: g, by: a, aggregate: {n: sum()}}\n" SINK, 4, 44,
         "operators[1].groupBy.aggregate[0]", "sum"},
        {HEAD SOURCE "  - groupBy: {id: g, by: [a, b: c], aggregate: {b: count()}}\n" SINK, 4, 52,
         "operators[1].groupBy.aggregate[0]", "`b` is there already"},
        {HEAD SOURCE "  - groupBy: {id: g, by: [a, a: c], aggregate: {n: count()}}\n" SINK, 4, 30,
         "operators[1].groupBy.by[1]", "`a` is there already"},
        {HEAD SOURCE "  - groupBy: {id: g, by: [1 + 1], aggregate: {n: count()}}\n" SINK, 4, 27,
         "operators[1].groupBy.by[0]", "needs a name"},
        {HEAD SOURCE "  - groupBy: {id: g, by: a, aggregate: [sum(1)]}\n" SINK, 4, 41,
         "operators[1].groupBy.aggregate[0]", "needs a name"},
    };
    (void)state;
    assert_refused(cases, BR_COUNTOF(cases));
}

static void plan__stages_formats_and_topics_that_cannot_be__are_refused(void **state)
{
    /* The reason is told, not only the rule. */
    static const refusal cases[] = {
        {HEAD SOURCE "  - groupBy: {id: g, by: a, stages: one, aggregate: count()}\n" SINK, 4, 37,
         "operators[1].groupBy.stages", "does not say by which fields its topic is keyed"},
        {HEAD KEYED "  - groupBy: {id: g, by: b, stages: one, aggregate: count()}\n" SINK, 4, 37,
         "operators[1].groupBy.stages", "keyed by `a`, which `by` does not hold"},
        {HEAD KEYED "  - source: {id: t, topic: in2, partitioned_by: a}\n"
                    "  - groupBy: {from: [s, t], by: a, stages: one, aggregate: count()}\n" SINK,
         5, 44, "operators[2].groupBy.stages", "it reads several topics"},
        {HEAD "  - source: {id: s, topic: in, format: none}\n"
              "  - groupBy: {id: g, by: a, aggregate: count()}\n" SINK,
         4, 26, "operators[1].groupBy.by[0]", "`format: none` does not look at the value"},
        {HEAD "  - source: {id: s, topic: in, format: text, timestamp: ts}\n" SINK, 3, 57,
         "operators[0].source.timestamp", "gives the field `value` alone"},
        {HEAD "  - source: {id: s, topic: in, format: csv, columns: [a]}\n"
              "  - map: {set: {x: b}}\n" SINK,
         4, 20, "operators[1].map.set[0]", "`columns` has no such name"},
        {HEAD SOURCE "  - groupBy: {id: g, by: a, aggregate: {n: count(), m: max(b)}}\n"
                     "  - sink: {topic: out, format: text}\n",
         5, 32, "operators[2].sink.format", "text writes one field"},
        {HEAD "  - source: {id: s, topic: j-g-changelog}\n"
              "  - groupBy: {id: g, by: a, aggregate: {n: count()}}\n" SINK,
         4, 14, "operators[1].groupBy", "would be both a source topic and a changelog topic"},
        {HEAD SOURCE "  - sink: {topic: j-dead-letters}\n", 3, 13, "operators[0].source",
         "would be both a sink topic and a dead letters topic"},
    };
    (void)state;
    assert_refused(cases, BR_COUNTOF(cases));
}

static void plan__an_error_in_a_shared_operator__is_reported_once(void **state)
{
    /* An operator that two sources feed is compiled twice; its mistake is one mistake. */
    compiled c;
    br_job_errors errors;
    (void)state;
    assert_int_equal(compile(&c,
                             HEAD "  - source: {id: s, topic: a}\n  - source: {id: t, topic: b}\n"
                                  "  - map: {from: [s, t], where: 'a +'}\n" SINK,
                             &errors),
                     BR_ERR_CONFIG);
    assert_int_equal(errors.count, 1);
    br_job_errors_dispose(&errors);
    discard(&c);
}

static const char whole[] =
    "name: j\noperators:\n"
    "  - source: {id: s, topic: in, format: csv, columns: [a, b], timestamp: b, start: latest,\n"
    "             errors: skip, partitioned_by: a}\n"
    "  - map: {id: m, where: a > 1, set: {c: a + 1}, drop: [b], key: c}\n"
    "  - groupBy: {id: g, by: [a, x: c], aggregate: {n: count()}, stages: two, partitions: 7}\n"
    "  - sink: {id: o, topic: out, format: text, key: a, salt: 4, partitions: 3}\n"
    "  - groupBy: {id: h, from: [m], by: 'part(@key, \":\", 0)', aggregate: [sum(c), max(a)]}\n"
    "  - sink: {topic: out2}\n"
    "settings: {commit_interval: 250ms, cache: 8MiB, brokers: 'h:1', kafka: {linger.ms: 5}}\n";

static void plan__mutated_files__are_compiled_or_refused(void **state)
{
    /* FAULTS 70: no file, however broken, does more than to be refused with a reason. */
    static const char bytes[] = "{}[]:,-#&*!|>'\"%@`\n\t \\~?<=0a$.";
    br_rng rng = {(uint64_t)time(NULL)};
    (void)state;
    print_message("seed %llu\n", (unsigned long long)rng.state);
    size_t compiled_well = 0;
    for (int round = 0; round < 3000; round++) {
        char *text = br_strdup(whole);
        for (uint64_t n = br_rng_below(&rng, 4); n > 0; n--)
            text[br_rng_below(&rng, sizeof(whole) - 1)] =
                bytes[br_rng_below(&rng, sizeof(bytes) - 1)];
        compiled c;
        br_job_errors errors;
        br_status status = compile(&c, text, &errors);
        assert_true(status == BR_OK ? c.plan && errors.count == 0 : !c.plan && errors.count > 0);
        compiled_well += status == BR_OK;
        br_job_errors_dispose(&errors);
        discard(&c);
        br_free(text);
    }
    assert_true(compiled_well > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plan__salted_clicks__take_two_stages),
        cmocka_unit_test(plan__topics__have_roles_counts_and_models),
        cmocka_unit_test(plan__stages__follow_from_how_the_topic_is_keyed),
        cmocka_unit_test(plan__one_stage__result_rows_have_their_own_layout),
        cmocka_unit_test(plan__union__has_a_changelog_per_source_and_one_repartition),
        cmocka_unit_test(plan__branches__share_the_source),
        cmocka_unit_test(plan__source_settings__reach_the_stage),
        cmocka_unit_test(plan__dead_letters__headers_where_rows_may_be_refused),
        cmocka_unit_test(spec__what_rows_mean__decides),
        cmocka_unit_test(plan__names_of_results__are_given_or_follow_from_the_expression),
        cmocka_unit_test(plan__names_and_expressions_without_a_meaning__are_refused_at_their_field),
        cmocka_unit_test(plan__stages_formats_and_topics_that_cannot_be__are_refused),
        cmocka_unit_test(plan__an_error_in_a_shared_operator__is_reported_once),
        cmocka_unit_test(plan__mutated_files__are_compiled_or_refused),
    };
    return cmocka_run_group_tests_name("jobs/plan", tests, NULL, NULL);
}
