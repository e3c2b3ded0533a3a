/* jobs/plan_stage.c - a stage: the tree of operators between its input and the next topics.
 * A tree, since each operator is compiled once for each way to it; check_graph.c lets no source
 * come to an operator on two ways, so it stays small. Recursion is bounded by BR_OPERATORS_MAX. */
#include "jobs/plan_build.h"

#include "runtime/base/units.h"

#include <stdio.h>

/* Expressions */

/* A source that is not JSON has only the fields that its format names. */
static bool has_field(const Brine__Job__Source *source, const br_path *path)
{
    if (source->format == BRINE__JOB__FORMAT__JSON || path->count == 0) return true;
    if (path->count > 1 || source->format == BRINE__JOB__FORMAT__NONE) return false;
    if (source->format == BRINE__JOB__FORMAT__TEXT)
        return strcmp(path->steps[0].name, "value") == 0;
    for (size_t i = 0; i < source->n_columns; i++)
        if (strcmp(path->steps[0].name, source->columns[i]) == 0) return true;
    return false;
}

static const char *fields_hint(const Brine__Job__Source *source)
{
    switch ((int)source->format) {
    case BRINE__JOB__FORMAT__TEXT: return "`format: text` gives the field `value` alone";
    case BRINE__JOB__FORMAT__CSV: return "`columns` has no such name";
    default:
        return "`format: none` does not look at the value: use @key, @header.NAME and the like";
    }
}

static size_t field_count(const br_layout *layout)
{
    const br_path *paths;
    const char *const *names;
    const uint32_t *slots;
    return br_layout_fields(layout, &paths, &names, &slots);
}

/* Fields of the record that the layout has gained since there were `before`. */
static void check_new_fields(const br_plan_place *place, size_t before, const char *field)
{
    const br_path *paths;
    const char *const *names;
    const uint32_t *slots;
    if (place->stage->kind != BR_STAGE_SOURCE || place->layout != place->stage->layout) return;
    size_t count = br_layout_fields(place->layout, &paths, &names, &slots);
    const br_plan_build *build = place->build;
    const Brine__Job__Source *source = build->spec->operators[place->source]->source;
    for (size_t i = before; i < count; i++)
        if (!has_field(source, &paths[i]))
            br_job_operator_error(build->job, build->errors, place->index, field,
                                  "source `%s` has no field `%s`: %s", source->id, names[i],
                                  fields_hint(source));
}

br_expr *br_plan_expr(const br_plan_place *place, br_scope *scope, const char *field,
                      const char *text)
{
    br_expr *expr = NULL;
    br_err err;
    if (!text) return NULL;
    size_t before = field_count(place->layout);
    if (br_expr_compile(&expr, br_str(text), scope, &err) != BR_OK) {
        br_job_operator_error(place->build->job, place->build->errors, place->index, field, "%s",
                              err.message);
        return NULL;
    }
    check_new_fields(place, before, field);
    /* Also where it stands in a text: headers that nobody reads cost little, a missing one much. */
    if (strstr(text, "@header")) place->stage->source.headers = true;
    return br_plan_keep_expr(place->build->memory, expr);
}

static void add_error(const br_plan_place *place, const char *field, const br_err *err)
{
    br_job_operator_error(place->build->job, place->build->errors, place->index, field, "%s",
                          err->message);
}

/* map */

static void set_explode(const br_plan_place *place, br_scope *scope, const char *name,
                        br_map_conf *conf)
{
    br_err err;
    conf->explode = br_plan_expr(place, scope, "explode", name);
    if (!conf->explode) return;
    br_path path = {0};
    bool whole = br_path_parse(&path, br_str(name), &err) == BR_OK && path.count == 1;
    const char *field = whole ? br_plan_text(place->build->memory, "%s", path.steps[0].name) : NULL;
    br_path_dispose(&path);
    if (!field)
        br_job_operator_error(place->build->job, place->build->errors, place->index, "explode",
                              "`%s` is not the name of a field: give the array a name with `set` "
                              "in a map above",
                              name);
    else if (br_scope_set(scope, field, &conf->explode_slot, &err) != BR_OK)
        add_error(place, "explode", &err);
}

static void set_fields(const br_plan_place *place, br_scope *scope, const Brine__Job__Map *map,
                       br_map_conf *conf)
{
    br_err err;
    conf->sets = br_plan_alloc(place->build->memory, map->n_set, sizeof(*conf->sets));
    for (size_t i = 0; i < map->n_set; i++) {
        char field[32];
        br_map_set *set = &conf->sets[conf->set_count++];
        (void)snprintf(field, sizeof(field), "set[%zu]", i);
        set->expr = br_plan_expr(place, scope, field, map->set[i]->expr);
        if (br_scope_set(scope, map->set[i]->name, &set->slot, &err) != BR_OK)
            add_error(place, field, &err);
    }
}

/* In the order in which map.h runs them. Returns the scope below. */
static br_scope *compile_map(const br_plan_place *place, br_map_conf *conf)
{
    const Brine__Job__Map *map = place->build->spec->operators[place->index]->map;
    br_scope *scope = br_scope_derive(place->scope);
    br_err err;
    conf->id = map->id;
    conf->where = br_plan_expr(place, scope, "where", map->where);
    if (map->explode) set_explode(place, scope, map->explode, conf);
    set_fields(place, scope, map, conf);
    if (map->n_keep > 0 &&
        br_scope_keep(scope, (const char *const *)map->keep, map->n_keep, &err) != BR_OK)
        add_error(place, "keep", &err);
    if (map->n_drop > 0 &&
        br_scope_drop(scope, (const char *const *)map->drop, map->n_drop, &err) != BR_OK)
        add_error(place, "drop", &err);
    conf->key = br_plan_expr(place, scope, "key", map->key);
    return scope;
}

/* sink */

static size_t sink_index(br_stage *stage, const char *topic)
{
    for (size_t i = 0; i < stage->sink_count; i++)
        if (strcmp(stage->sinks[i], topic) == 0) return i;
    stage->sinks[stage->sink_count] = topic;
    return stage->sink_count++;
}

/* With a scope of its own: a shape borrows what its scope lends out once. */
static void compile_sink(const br_plan_place *place, br_sink_conf *conf)
{
    br_scope *scope = br_scope_derive(place->scope);
    const Brine__Job__Sink *sink = place->build->spec->operators[place->index]->sink;
    br_err err;
    *conf = (br_sink_conf){.id = sink->id,
                           .sink = sink_index(place->stage, sink->topic),
                           .text = sink->format == BRINE__JOB__FORMAT__TEXT,
                           .key = br_plan_expr(place, scope, "key", sink->key),
                           .salt = (uint32_t)sink->salt};
    size_t before = field_count(place->layout);
    if (br_scope_shape(scope, &conf->shape, &err) != BR_OK) {
        add_error(place, "format", &err);
        return;
    }
    check_new_fields(place, before, "");
    size_t fields = conf->shape.count - conf->shape.group_count;
    if (conf->text && !conf->shape.untouched && (conf->shape.whole || fields != 1))
        br_job_operator_error(
            place->build->job, place->build->errors, place->index, "format",
            "text writes one field (besides the group), but here there are %s%zu: "
            "use `keep` in a map above, or json",
            conf->shape.whole ? "those of the record and " : "", fields);
}

/* The tree */

static br_node *build_node(const br_plan_place *place)
{
    br_plan_build *build = place->build;
    const br_operator *op = build->spec->operators[place->index];
    br_node *node = br_plan_alloc(build->memory, 1, sizeof(*node));
    node->op = op;
    node->id = *br_operator_id(op);
    node->layout = place->layout;
    if (br_operator_is(op, BR_KIND_SINK)) {
        node->kind = BR_NODE_SINK;
        compile_sink(place, &node->sink);
    } else {
        br_plan_place below = *place;
        node->kind = BR_NODE_MAP;
        below.scope = compile_map(place, &node->map);
        br_plan_children(&below, place->index, &node->children, &node->child_count);
    }
    return node;
}

void br_plan_children(const br_plan_place *place, size_t parent, br_node ***out, size_t *count)
{
    const br_plan_build *build = place->build;
    *out = br_plan_alloc(build->memory, build->graph.count, sizeof(br_node *));
    *count = 0;
    for (size_t i = 0; i < build->graph.count; i++) {
        if (!build->graph.reads[i][parent]) continue;
        br_plan_place child = *place;
        child.index = i;
        bool group = br_operator_is(build->spec->operators[i], BR_KIND_GROUP_BY);
        (*out)[(*count)++] = group ? br_plan_group_node(&child) : build_node(&child);
    }
}

/* Slots are counted when all expressions of the stage are compiled. */
static void set_slot_counts(br_node *const *nodes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        br_node *node = nodes[i];
        if (node->kind == BR_NODE_MAP) node->map.slot_count = br_layout_slots(node->layout);
        if ((node->kind == BR_NODE_GROUP_BY || node->kind == BR_NODE_MERGE) && node->results)
            node->group.result_slots = br_layout_slots(node->results);
        set_slot_counts(node->children, node->child_count);
    }
}

static void init_stage(br_plan_build *build, br_stage *stage, br_stage_kind kind, const char *id)
{
    size_t n = build->graph.count;
    *stage = (br_stage){.kind = kind, .id = id, .layout = br_plan_layout(build->memory)};
    stage->stores = br_plan_alloc(build->memory, n, sizeof(*stage->stores));
    stage->repartitions = br_plan_alloc(build->memory, n, sizeof(const char *));
    stage->sinks = br_plan_alloc(build->memory, n, sizeof(const char *));
}

/* Whether the operators may refuse a row that was read: its dead letter then has the record's
 * headers, which costs as much for each record as all else of its way from librdkafka to us. */
static bool may_refuse(const br_node *node)
{
    if (node->kind != BR_NODE_GROUP_BY) return true;
    const br_group_conf *group = &node->group;
    for (size_t i = 0; i < group->by_count; i++)
        if (!group->by[i] || br_expr_can_fail(group->by[i])) return true;
    for (size_t i = 0; i < group->aggregate_count; i++) {
        const br_group_aggregate *aggregate = &group->aggregates[i];
        if (!aggregate->fn || !aggregate->fn->takes_any) return true;
        if (aggregate->argument && br_expr_can_fail(aggregate->argument)) return true;
    }
    return false;
}

static void set_headers(br_stage *stage)
{
    for (size_t i = 0; i < stage->root_count && stage->errors == BR_ERRORS_DEAD_LETTER; i++)
        if (may_refuse(stage->roots[i])) stage->source.headers = true;
}

static void finish_stage(br_stage *stage)
{
    stage->slot_count = br_layout_slots(stage->layout);
    set_slot_counts(stage->roots, stage->root_count);
}

static void set_timestamp(const br_plan_place *place, const char *text)
{
    br_path path = {0}, rest = {0};
    br_err err;
    uint32_t slot = 0;
    size_t before = field_count(place->layout);
    if (br_path_parse(&path, br_str(text), &err) != BR_OK ||
        br_scope_resolve(place->scope, &path, &slot, &rest, &err) != BR_OK)
        add_error(place, "timestamp", &err);
    check_new_fields(place, before, "timestamp");
    place->stage->source.timestamp_slot = (int)slot;
    br_path_dispose(&path);
    br_path_dispose(&rest);
}

static void set_start(br_stage *stage, const char *start)
{
    br_err err;
    stage->start = BR_START_EARLIEST;
    if (!start || strcmp(start, "earliest") == 0) return;
    stage->start = strcmp(start, "latest") == 0 ? BR_START_LATEST : BR_START_TIME;
    if (stage->start == BR_START_TIME)
        BR_ASSERT(br_parse_int(br_str(start), 0, INT64_MAX, &stage->start_ms, &err) == BR_OK);
}

void br_plan_source_stage(br_plan_build *build, br_stage *stage, size_t source)
{
    const Brine__Job__Source *spec = build->spec->operators[source]->source;
    init_stage(build, stage, BR_STAGE_SOURCE, spec->id);
    stage->topic = spec->topic;
    stage->errors = (br_error_policy)spec->errors;
    set_start(stage, spec->start);
    stage->source = (br_source_conf){.id = spec->id,
                                     .format = (br_source_format)spec->format,
                                     .columns = (const char *const *)spec->columns,
                                     .column_count = spec->n_columns,
                                     .layout = stage->layout,
                                     .timestamp_slot = -1};
    br_plan_place place = {.build = build,
                           .stage = stage,
                           .source = source,
                           .index = source,
                           .layout = stage->layout,
                           .scope = br_scope_of_record(stage->layout)};
    if (spec->timestamp) set_timestamp(&place, spec->timestamp);
    br_plan_children(&place, source, &stage->roots, &stage->root_count);
    set_headers(stage);
    finish_stage(stage);
}

void br_plan_merge_stage(br_plan_build *build, br_stage *stage, size_t group)
{
    const br_operator *op = build->spec->operators[group];
    br_node *node = br_plan_alloc(build->memory, 1, sizeof(*node));
    init_stage(build, stage, BR_STAGE_MERGE, op->groupby->id);
    stage->topic = build->topics[group];
    *node = (br_node){.kind = BR_NODE_MERGE, .id = stage->id, .op = op, .results = stage->layout};
    node->group = *build->groups[group];
    node->group.by = NULL;
    node->group.two_stages = false;
    node->group.output = 0;
    node->group.store = 0;
    stage->stores[stage->store_count++] =
        (br_plan_store){.id = stage->id, .spec = build->specs[group]};
    stage->roots = br_plan_alloc(build->memory, 1, sizeof(br_node *));
    stage->roots[stage->root_count++] = node;
    br_plan_place place = {.build = build,
                           .stage = stage,
                           .source = group,
                           .index = group,
                           .layout = stage->layout,
                           .scope = br_plan_result_scope(build, &node->group, stage->layout)};
    br_plan_children(&place, group, &node->children, &node->child_count);
    finish_stage(stage);
}

_Static_assert((int)BR_ERRORS_DEAD_LETTER == (int)BRINE__JOB__ERRORS__DEAD_LETTER &&
                   (int)BR_ERRORS_SKIP == (int)BRINE__JOB__ERRORS__SKIP &&
                   (int)BR_ERRORS_FAIL == (int)BRINE__JOB__ERRORS__FAIL,
               "br_error_policy is cast from the message's enum");
_Static_assert((int)BR_SOURCE_JSON == (int)BRINE__JOB__FORMAT__JSON &&
                   (int)BR_SOURCE_TEXT == (int)BRINE__JOB__FORMAT__TEXT &&
                   (int)BR_SOURCE_CSV == (int)BRINE__JOB__FORMAT__CSV &&
                   (int)BR_SOURCE_NONE == (int)BRINE__JOB__FORMAT__NONE,
               "br_source_format is cast from the message's enum");
