/* jobs/plan_walk.c - see plan_walk.h. */
#include "jobs/plan_walk.h"

#include <string.h>

static void visit_part(br_plan_visit visit, void *arg, const char *field, const char *name,
                       const char *text, const br_expr *expr)
{
    const char *runs = "";
    if (expr) runs = br_expr_is_native(expr) ? "native" : "lua";
    visit(arg, &(br_plan_part){field, name, text, runs});
}

static void map_parts(const br_map_conf *map, const Brine__Job__Map *spec, br_plan_visit visit,
                      void *arg)
{
    if (map->where) visit_part(visit, arg, "where", "", spec->where, map->where);
    if (map->explode) visit_part(visit, arg, "explode", "", spec->explode, map->explode);
    for (size_t i = 0; i < map->set_count; i++)
        visit_part(visit, arg, "set", spec->set[i]->name, spec->set[i]->expr, map->sets[i].expr);
    for (size_t i = 0; i < spec->n_keep; i++)
        visit_part(visit, arg, "keep", spec->keep[i], "", NULL);
    for (size_t i = 0; i < spec->n_drop; i++)
        visit_part(visit, arg, "drop", spec->drop[i], "", NULL);
    if (map->key) visit_part(visit, arg, "key", "", spec->key, map->key);
}

static void group_parts(const br_group_conf *group, const Brine__Job__GroupBy *spec,
                        br_plan_visit visit, void *arg)
{
    for (size_t i = 0; i < group->by_count; i++)
        visit_part(visit, arg, "by", group->by_names[i], spec->by[i]->expr,
                   group->by ? group->by[i] : NULL);
    for (size_t i = 0; i < group->aggregate_count; i++)
        visit_part(visit, arg, "aggregate", group->aggregates[i].name, spec->aggregate[i]->expr,
                   group->by ? group->aggregates[i].argument : NULL);
}

void br_plan_parts(const br_node *node, br_plan_visit visit, void *arg)
{
    switch (node->kind) {
    case BR_NODE_MAP: map_parts(&node->map, node->op->map, visit, arg); break;
    case BR_NODE_GROUP_BY:
    case BR_NODE_MERGE: group_parts(&node->group, node->op->groupby, visit, arg); break;
    case BR_NODE_SINK:
        if (node->sink.key) visit_part(visit, arg, "key", "", node->op->sink->key, node->sink.key);
        visit_part(visit, arg, "topic", node->op->sink->topic, "", NULL);
        break;
    }
}

const char *br_node_kind_name(br_node_kind kind)
{
    switch (kind) {
    case BR_NODE_MAP: return "map";
    case BR_NODE_GROUP_BY: return "groupBy";
    case BR_NODE_MERGE: return "merge";
    case BR_NODE_SINK: break;
    }
    return "sink";
}

int32_t br_plan_partitions(const br_plan_topic *topic, br_partitions_of partitions_of, void *arg)
{
    if (topic->partitions > 0) return topic->partitions;
    return partitions_of ? partitions_of(arg, topic->like ? topic->like : topic->name) : 0;
}
