/* jobs/plan_group.c - a groupBy in a source's stage: its fields, its accumulators, and the only
 * place that decides how many stages it takes.
 * One stage is right only where all records of a group come to one task: the topic is keyed by
 * fields of the record that are all part of the group, and no other topic feeds it. */
#include "jobs/plan_build.h"

#include <stdio.h>

static void add_error(const br_plan_place *place, const char *field, const char *fmt, ...)
    BR_PRINTF(3, 4);
static void add_error(const br_plan_place *place, const char *field, const char *fmt, ...)
{
    char message[BR_ERR_MESSAGE_MAX];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(message, sizeof(message), fmt, args);
    va_end(args);
    br_job_operator_error(place->build->job, place->build->errors, place->index, field, "%s",
                          message);
}

static const Brine__Job__GroupBy *group_spec(const br_plan_place *place)
{
    return place->build->spec->operators[place->index]->groupby;
}

/* Names */

static void check_name(const br_plan_place *place, const br_group_conf *conf, const char *name,
                       size_t aggregates, const char *field)
{
    size_t same = 0;
    for (size_t i = 0; i < conf->by_count; i++)
        same += conf->by_names[i] && strcmp(conf->by_names[i], name) == 0;
    for (size_t i = 0; i < aggregates; i++)
        same += conf->aggregates[i].name && strcmp(conf->aggregates[i].name, name) == 0;
    if (same > 0)
        add_error(place, field, "a field `%s` is there already: write `name: expression`", name);
}

static void compile_by(const br_plan_place *place, br_group_conf *conf)
{
    const Brine__Job__GroupBy *spec = group_spec(place);
    br_plan_memory *memory = place->build->memory;
    conf->by = br_plan_alloc(memory, spec->n_by, sizeof(br_expr *));
    conf->by_names = br_plan_alloc(memory, spec->n_by, sizeof(const char *));
    for (size_t i = 0; i < spec->n_by; i++) {
        char field[32];
        (void)snprintf(field, sizeof(field), "by[%zu]", i);
        br_expr *expr = br_plan_expr(place, place->scope, field, spec->by[i]->expr);
        const char *name = spec->by[i]->name;
        if (!name && expr) name = br_expr_default_name(expr);
        if (name)
            check_name(place, conf, name, 0, field);
        else if (expr)
            add_error(place, field, "this expression needs a name: write `name: expression`");
        conf->by[conf->by_count] = expr;
        conf->by_names[conf->by_count++] = name;
    }
}

/* count; sum_spend */
static const char *default_name(const br_plan_place *place, const br_group_aggregate *aggregate)
{
    const char *argument = aggregate->argument ? br_expr_default_name(aggregate->argument) : NULL;
    if (!aggregate->fn->takes_argument) return aggregate->fn->name;
    return argument ? br_plan_text(place->build->memory, "%s_%s", aggregate->fn->name, argument)
                    : NULL;
}

static void compile_aggregate(const br_plan_place *place, const Brine__Job__Named *named,
                              br_group_aggregate *out, const char *field)
{
    br_bytes argument;
    br_err err;
    out->name = named->name;
    if (br_aggregate_parse(br_str(named->expr), &out->fn, &argument, &err) != BR_OK) {
        add_error(place, field, "%s", err.message);
        return;
    }
    if (argument.data) {
        const char *text =
            br_plan_text(place->build->memory, "%.*s", (int)argument.len, argument.data);
        out->argument = br_plan_expr(place, place->scope, field, text);
        if (!out->argument) return;
    }
    if (!out->name) out->name = default_name(place, out);
    if (!out->name)
        add_error(place, field, "this aggregate needs a name: write `name: %s`", named->expr);
}

static void compile_aggregates(const br_plan_place *place, br_group_conf *conf)
{
    const Brine__Job__GroupBy *spec = group_spec(place);
    conf->aggregates =
        br_plan_alloc(place->build->memory, spec->n_aggregate, sizeof(*conf->aggregates));
    for (size_t i = 0; i < spec->n_aggregate; i++) {
        char field[32];
        br_group_aggregate *aggregate = &conf->aggregates[i];
        (void)snprintf(field, sizeof(field), "aggregate[%zu]", i);
        compile_aggregate(place, spec->aggregate[i], aggregate, field);
        if (aggregate->name) check_name(place, conf, aggregate->name, i, field);
        aggregate->offset = conf->payload_bytes;
        if (aggregate->fn) conf->payload_bytes += (aggregate->fn->acc_size + 7) / 8 * 8;
        conf->aggregate_count++;
    }
}

static bool is_complete(const br_group_conf *conf)
{
    for (size_t i = 0; i < conf->by_count; i++)
        if (!conf->by[i] || !conf->by_names[i]) return false;
    for (size_t i = 0; i < conf->aggregate_count; i++)
        if (!conf->aggregates[i].fn || !conf->aggregates[i].name) return false;
    return true;
}

/* Stages */

size_t br_plan_source_count(const br_plan_build *build, size_t index)
{
    size_t count = 0;
    for (size_t i = 0; i < build->graph.count; i++)
        count += br_operator_is(build->spec->operators[i], BR_KIND_SOURCE) &&
                 build->graph.reaches[i][index];
    return count;
}

/* Whether a path means the same at the groupBy as in the record: nothing has set it anew. */
static bool is_own_field(const br_plan_place *place, const br_path *path)
{
    uint32_t here = 0, there = 1;
    br_path rest_here = {0}, rest_there = {0};
    br_err err;
    br_scope *record = br_scope_of_record(place->stage->layout);
    bool same = br_scope_resolve(place->scope, path, &here, &rest_here, &err) == BR_OK &&
                br_scope_resolve(record, path, &there, &rest_there, &err) == BR_OK &&
                here == there && rest_here.count == rest_there.count;
    br_path_dispose(&rest_here);
    br_path_dispose(&rest_there);
    return same;
}

static bool groups_by(const br_plan_place *place, const br_group_conf *conf, const char *field)
{
    br_path wanted = {0}, found = {0};
    br_err err;
    bool good = false;
    if (br_path_parse(&wanted, br_str(field), &err) != BR_OK) return false;
    for (size_t i = 0; i < conf->by_count && !good; i++) {
        const char *text = br_expr_plain_path(conf->by[i]);
        if (!text || br_path_parse(&found, br_str(text), &err) != BR_OK) continue;
        good = br_path_equal(&wanted, &found) && is_own_field(place, &found);
        br_path_dispose(&found);
    }
    br_path_dispose(&wanted);
    return good;
}

/* NULL: one stage is enough. Else why not. */
static const char *need_of_two(const br_plan_place *place, const br_group_conf *conf)
{
    const br_plan_build *build = place->build;
    const Brine__Job__Source *source = build->spec->operators[place->source]->source;
    if (br_plan_source_count(build, place->index) > 1)
        return "it reads several topics, whose partitions different tasks read";
    if (source->n_partitioned_by == 0)
        return br_plan_text(build->memory,
                            "source `%s` does not say by which fields its topic is keyed: add "
                            "`partitioned_by`, if it is keyed by a field of the group",
                            source->id);
    for (size_t i = 0; i < source->n_partitioned_by; i++)
        if (!groups_by(place, conf, source->partitioned_by[i]))
            return br_plan_text(build->memory,
                                "the topic is keyed by `%s`, which `by` does not hold as the "
                                "record has it: records of one group come to several tasks",
                                source->partitioned_by[i]);
    return NULL;
}

static bool has_two_stages(const br_plan_place *place, const br_group_conf *conf)
{
    const Brine__Job__GroupBy *spec = group_spec(place);
    if (spec->stages == BRINE__JOB__STAGES__TWO) return true;
    const char *need = need_of_two(place, conf);
    if (need && spec->stages == BRINE__JOB__STAGES__ONE)
        add_error(place, "stages", "one stage would give wrong totals: %s; or leave `stages` out",
                  need);
    return need && spec->stages != BRINE__JOB__STAGES__ONE;
}

/* What the rows mean, as bytes that are compared at a restart: the group's fields and the
 * aggregates, nothing that only says where rows come from or go to. */
static br_bytes pack_spec(br_plan_build *build, const br_group_conf *conf,
                          const Brine__Job__GroupBy *spec)
{
    size_t n = conf->by_count + conf->aggregate_count;
    Brine__Job__Named *named = br_plan_alloc(build->memory, n, sizeof(*named));
    Brine__Job__Named **at = br_plan_alloc(build->memory, n, sizeof(Brine__Job__Named *));
    for (size_t i = 0; i < n; i++) {
        bool by = i < conf->by_count;
        size_t k = by ? i : i - conf->by_count;
        brine__job__named__init(&named[i]);
        named[i].name = (char *)(uintptr_t)(by ? conf->by_names[k] : conf->aggregates[k].name);
        named[i].expr = by ? spec->by[k]->expr : spec->aggregate[k]->expr;
        at[i] = &named[i];
    }
    Brine__Job__GroupBy group = BRINE__JOB__GROUP_BY__INIT;
    group.id = spec->id;
    group.n_by = conf->by_count;
    group.by = at;
    group.n_aggregate = conf->aggregate_count;
    group.aggregate = at + conf->by_count;
    size_t len = brine__job__group_by__get_packed_size(&group);
    uint8_t *bytes = br_plan_alloc(build->memory, 1, len);
    brine__job__group_by__pack(&group, bytes);
    return br_bytes_of(bytes, len);
}

br_scope *br_plan_result_scope(br_plan_build *build, const br_group_conf *conf, br_layout *layout)
{
    size_t n = conf->by_count + conf->aggregate_count;
    const char **names = br_plan_alloc(build->memory, n, sizeof(const char *));
    for (size_t i = 0; i < n; i++)
        names[i] =
            i < conf->by_count ? conf->by_names[i] : conf->aggregates[i - conf->by_count].name;
    return br_scope_of_fields(layout, names, n, conf->by_count);
}

static void add_store(const br_plan_place *place, br_group_conf *conf)
{
    br_plan_build *build = place->build;
    br_stage *stage = place->stage;
    conf->store = stage->store_count;
    stage->stores[stage->store_count++] =
        (br_plan_store){.id = conf->id,
                        .changelog = br_plan_changelog_name(build, place->source, place->index),
                        .spec = build->specs[place->index]};
    if (!conf->two_stages) return;
    if (!build->topics[place->index])
        build->topics[place->index] = br_plan_repartition_name(build, place->index);
    conf->output = stage->repartition_count;
    stage->repartitions[stage->repartition_count++] = build->topics[place->index];
}

br_node *br_plan_group_node(const br_plan_place *place)
{
    br_plan_build *build = place->build;
    br_node *node = br_plan_alloc(build->memory, 1, sizeof(*node));
    *node = (br_node){.kind = BR_NODE_GROUP_BY,
                      .op = build->spec->operators[place->index],
                      .layout = place->layout};
    br_group_conf *conf = &node->group;
    node->id = conf->id = node->op->groupby->id;
    compile_by(place, conf);
    compile_aggregates(place, conf);
    if (!is_complete(conf)) return node;
    conf->two_stages = has_two_stages(place, conf);
    build->specs[place->index] = pack_spec(build, conf, node->op->groupby);
    if (!build->groups[place->index]) build->groups[place->index] = conf;
    add_store(place, conf);
    if (conf->two_stages) return node;
    br_plan_place below = *place;
    below.layout = node->results = br_plan_layout(build->memory);
    below.scope = br_plan_result_scope(build, conf, node->results);
    br_plan_children(&below, place->index, &node->children, &node->child_count);
    return node;
}
