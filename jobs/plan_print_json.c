/* jobs/plan_print_json.c - a plan as JSON for programs. */
#include "jobs/plan_walk.h"

#include "runtime/base/json_out.h"

static void put_list(br_json_out *out, const char *name, const char *const *texts, size_t count)
{
    br_json_name(out, br_str(name));
    br_json_open(out, '[');
    for (size_t i = 0; i < count; i++) br_json_text(out, br_str(texts[i]));
    br_json_close(out, ']');
}

static void put_part(void *arg, const br_plan_part *part)
{
    br_json_out *out = arg;
    br_json_open(out, '{');
    br_json_put_text(out, "field", part->field);
    if (part->name[0]) br_json_put_text(out, "name", part->name);
    if (part->text[0]) br_json_put_text(out, "expression", part->text);
    if (part->runs[0]) br_json_put_text(out, "runs", part->runs);
    br_json_close(out, '}');
}

static void put_nodes(br_json_out *out, const char *name, br_node *const *nodes, size_t count)
{
    br_json_name(out, br_str(name));
    br_json_open(out, '[');
    for (size_t i = 0; i < count; i++) {
        const br_node *node = nodes[i];
        br_json_open(out, '{');
        br_json_put_text(out, "id", node->id);
        br_json_put_text(out, "kind", br_node_kind_name(node->kind));
        if (node->kind == BR_NODE_GROUP_BY)
            br_json_put_int(out, "stages", node->group.two_stages ? 2 : 1);
        br_json_name(out, BR_LITERAL("parts"));
        br_json_open(out, '[');
        br_plan_parts(node, put_part, out);
        br_json_close(out, ']');
        put_nodes(out, "read_by", node->children, node->child_count);
        br_json_close(out, '}');
    }
    br_json_close(out, ']');
}

static void put_fields(br_json_out *out, const br_layout *layout)
{
    const br_path *paths;
    const char *const *names;
    const uint32_t *slots;
    bool whole = false;
    size_t count = br_layout_fields(layout, &paths, &names, &slots);
    br_json_name(out, BR_LITERAL("fields"));
    br_json_open(out, '[');
    for (size_t i = 0; i < count; i++) {
        whole = whole || paths[i].count == 0;
        if (paths[i].count > 0) br_json_text(out, br_str(names[i]));
    }
    br_json_close(out, ']');
    br_json_put_bool(out, "whole_record", whole);
}

static void put_stage(br_json_out *out, const br_stage *stage)
{
    bool source = stage->kind == BR_STAGE_SOURCE;
    br_json_open(out, '{');
    br_json_put_text(out, "id", stage->id);
    br_json_put_text(out, "kind", source ? "source" : "merge");
    br_json_put_text(out, "topic", stage->topic);
    if (source) put_fields(out, stage->layout);
    br_json_name(out, BR_LITERAL("changelogs"));
    br_json_open(out, '[');
    for (size_t i = 0; source && i < stage->store_count; i++)
        br_json_text(out, br_str(stage->stores[i].changelog));
    br_json_close(out, ']');
    put_list(out, "repartitions", stage->repartitions, stage->repartition_count);
    put_list(out, "sinks", stage->sinks, stage->sink_count);
    put_nodes(out, "operators", stage->roots, stage->root_count);
    br_json_close(out, '}');
}

static void put_topic(br_json_out *out, const br_plan_topic *topic, int32_t partitions)
{
    br_json_open(out, '{');
    br_json_put_text(out, "name", topic->name);
    br_json_put_text(out, "role", br_topic_role_name(topic->role));
    br_json_name(out, BR_LITERAL("partitions"));
    if (partitions > 0)
        br_json_int(out, partitions);
    else
        br_json_null(out);
    if (topic->like) br_json_put_text(out, "like", topic->like);
    br_json_put_bool(out, "partitions_fixed", topic->partitions_fixed);
    br_json_close(out, '}');
}

void br_plan_print_json(const br_plan *plan, br_partitions_of partitions_of, void *arg, br_buf *buf)
{
    br_json_out out = br_json_begin(buf);
    br_json_open(&out, '{');
    br_json_put_text(&out, "job", plan->job);
    br_json_put_int(&out, "commit_interval_ms", plan->commit_interval_ms);
    br_json_name(&out, BR_LITERAL("cache_bytes"));
    br_json_uint(&out, plan->cache_bytes);
    br_json_name(&out, BR_LITERAL("stages"));
    br_json_open(&out, '[');
    for (size_t i = 0; i < plan->stage_count; i++) put_stage(&out, &plan->stages[i]);
    br_json_close(&out, ']');
    br_json_name(&out, BR_LITERAL("topics"));
    br_json_open(&out, '[');
    for (size_t i = 0; i < plan->topic_count; i++)
        put_topic(&out, &plan->topics[i], br_plan_partitions(&plan->topics[i], partitions_of, arg));
    br_json_close(&out, ']');
    br_json_close(&out, '}');
}
