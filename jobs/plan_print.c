/* jobs/plan_print.c - a plan as a text for people. */
#include "jobs/plan_walk.h"

#include "jobs/text_table.h"
#include "runtime/base/units.h"

static const char *const formats[] = {"json", "text", "csv", "none"};
static const char *const policies[] = {"to dead letters", "skipped", "the job stops"};

static void print_fields(const br_layout *layout, br_buf *out)
{
    const br_path *paths;
    const char *const *names;
    const uint32_t *slots;
    size_t count = br_layout_fields(layout, &paths, &names, &slots);
    for (size_t i = 0; i < count; i++)
        br_buf_printf(out, "%s%s", i > 0 ? ", " : "",
                      paths[i].count > 0 ? names[i] : "the whole record");
    br_buf_adds(out, count > 0 ? "\n" : "none\n");
}

static void print_start(const br_stage *stage, br_buf *out)
{
    static const char *const names[] = {"its earliest record", "its latest record"};
    if (stage->start == BR_START_TIME)
        br_buf_printf(out, "%lld ms after 1970", (long long)stage->start_ms);
    else
        br_buf_adds(out, names[stage->start]);
}

static void print_input(const br_stage *stage, br_buf *out)
{
    if (stage->kind == BR_STAGE_MERGE) {
        br_buf_printf(out, "stage %s: merges the partials in %s\n", stage->id, stage->topic);
        return;
    }
    br_buf_printf(out, "stage %s: reads %s (%s), at first from ", stage->id, stage->topic,
                  formats[stage->source.format]);
    print_start(stage, out);
    br_buf_adds(out, "\n  decodes      ");
    print_fields(stage->layout, out);
    br_buf_printf(out, "  bad records  %s\n", policies[stage->errors]);
}

/* One row per part; the operator's id and kind stand in the first. */
typedef struct part_printer {
    br_text_table table;
    const br_node *node;
    int depth;
    bool begun;
} part_printer;

static void begin_row(part_printer *p)
{
    br_text_table_add(&p->table, "%*s%s", p->begun ? 0 : p->depth * 2, "",
                      p->begun ? "" : p->node->id);
    br_text_table_add(&p->table, "%s", p->begun ? "" : br_node_kind_name(p->node->kind));
    p->begun = true;
}

static void print_part(void *arg, const br_plan_part *part)
{
    part_printer *p = arg;
    begin_row(p);
    br_text_table_add(&p->table, "%s", part->field);
    br_text_table_add(&p->table, "%s", part->name);
    br_text_table_add(&p->table, "%s", part->text);
    br_text_table_add(&p->table, "%s", part->runs);
}

/* Where a groupBy's rows are kept, and where its partials go. */
static void print_topics_of(part_printer *p, const br_stage *stage)
{
    const br_node *node = p->node;
    if (node->kind != BR_NODE_GROUP_BY) return;
    print_part(p, &(br_plan_part){"rows", stage->stores[node->group.store].changelog, "", ""});
    if (node->group.two_stages)
        print_part(p, &(br_plan_part){"partials", stage->repartitions[node->group.output], "", ""});
    else
        print_part(p, &(br_plan_part){"stages", "one", "", ""});
}

static void print_nodes(part_printer *p, const br_stage *stage, br_node *const *nodes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        p->node = nodes[i];
        p->begun = false;
        br_plan_parts(nodes[i], print_part, p);
        p->node = nodes[i];
        print_topics_of(p, stage);
        if (!p->begun) print_part(p, &(br_plan_part){"", "", "", ""});
        p->depth++;
        print_nodes(p, stage, nodes[i]->children, nodes[i]->child_count);
        p->depth--;
    }
}

static void print_stage(const br_stage *stage, br_buf *out)
{
    static const char *const titles[] = {"OPERATOR", "KIND", "FIELD", "NAME", "EXPRESSION", "RUNS"};
    part_printer p = {.table = {.columns = BR_COUNTOF(titles)}};
    print_input(stage, out);
    for (size_t i = 0; i < BR_COUNTOF(titles); i++) br_text_table_add(&p.table, "%s", titles[i]);
    print_nodes(&p, stage, stage->roots, stage->root_count);
    br_text_table_write(&p.table, "  ", out);
    br_buf_addc(out, '\n');
}

static const char *topic_settings(br_topic_role role)
{
    bool internal = role == BR_TOPIC_CHANGELOG || role == BR_TOPIC_REPARTITION;
    if (role == BR_TOPIC_SOURCE) return "must exist, is left as it is";
    return internal ? "cleanup.policy=compact" : "the broker's defaults";
}

static void print_topics(const br_plan *plan, br_partitions_of partitions_of, void *arg,
                         br_buf *out)
{
    static const char *const titles[] = {"TOPIC", "ROLE", "PARTITIONS", "MADE WITH"};
    br_text_table table = {.columns = BR_COUNTOF(titles)};
    for (size_t i = 0; i < BR_COUNTOF(titles); i++) br_text_table_add(&table, "%s", titles[i]);
    for (size_t i = 0; i < plan->topic_count; i++) {
        const br_plan_topic *topic = &plan->topics[i];
        int32_t partitions = br_plan_partitions(topic, partitions_of, arg);
        br_text_table_add(&table, "%s", topic->name);
        br_text_table_add(&table, "%s", br_topic_role_name(topic->role));
        if (partitions > 0)
            br_text_table_add(&table, "%d", partitions);
        else
            br_text_table_add(&table, "%s%s", topic->like ? "as " : "?",
                              topic->like ? topic->like : "");
        br_text_table_add(&table, "%s", topic_settings(topic->role));
    }
    br_text_table_write(&table, "", out);
}

void br_plan_print(const br_plan *plan, br_partitions_of partitions_of, void *arg, br_buf *out)
{
    char interval[32], cache[32];
    br_buf_printf(out, "job %s: commits every %s, keeps up to %s of rows in memory\n\n", plan->job,
                  br_format_duration(interval, plan->commit_interval_ms),
                  br_format_size(cache, plan->cache_bytes));
    for (size_t i = 0; i < plan->stage_count; i++) print_stage(&plan->stages[i], out);
    print_topics(plan, partitions_of, arg, out);
}
