/* jobs/plan_print_dot.c - a plan as a Graphviz graph: a cluster per stage, topics between them.
 * Ids and topic names hold no character that a quoted Graphviz name would have to escape. */
#include "jobs/plan_walk.h"

/* The nodes of a stage: each is its stage's number and its own. */
typedef struct dot_printer {
    br_buf *out;
    const br_stage *stage;
    size_t stage_index;
    size_t next;
    br_buf edges; /* they stand outside the clusters */
} dot_printer;

static void topic_edges(dot_printer *d, const br_node *node, size_t self)
{
    const br_stage *stage = d->stage;
    if (node->kind == BR_NODE_SINK)
        br_buf_printf(&d->edges, "  \"%zu.%zu\" -> \"%s\";\n", d->stage_index, self,
                      stage->sinks[node->sink.sink]);
    if (node->kind != BR_NODE_GROUP_BY) return;
    br_buf_printf(&d->edges, "  \"%zu.%zu\" -> \"%s\" [style=dashed];\n", d->stage_index, self,
                  stage->stores[node->group.store].changelog);
    if (node->group.two_stages)
        br_buf_printf(&d->edges, "  \"%zu.%zu\" -> \"%s\";\n", d->stage_index, self,
                      stage->repartitions[node->group.output]);
}

/* parent: a node's name, quoted where it must be. */
static void print_nodes(dot_printer *d, const char *parent, br_node *const *nodes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t self = d->next++;
        br_buf name = {0};
        br_buf_printf(&name, "%zu.%zu", d->stage_index, self);
        br_buf_printf(d->out, "    \"%s\" [label=\"%s\\n%s\"];\n", br_buf_cstr(&name),
                      br_node_kind_name(nodes[i]->kind), nodes[i]->id);
        br_buf_printf(&d->edges, "  \"%s\" -> \"%s\";\n", parent, br_buf_cstr(&name));
        topic_edges(d, nodes[i], self);
        print_nodes(d, br_buf_cstr(&name), nodes[i]->children, nodes[i]->child_count);
        br_buf_dispose(&name);
    }
}

void br_plan_print_dot(const br_plan *plan, br_buf *out)
{
    br_buf_printf(out, "digraph \"%s\" {\n  rankdir=LR;\n  node [shape=box];\n", plan->job);
    for (size_t i = 0; i < plan->topic_count; i++)
        br_buf_printf(out, "  \"%s\" [shape=cylinder, label=\"%s\\n%s\"];\n", plan->topics[i].name,
                      plan->topics[i].name, br_topic_role_name(plan->topics[i].role));
    dot_printer d = {.out = out};
    for (size_t i = 0; i < plan->stage_count; i++) {
        d.stage = &plan->stages[i];
        d.stage_index = i;
        d.next = 0;
        br_buf_printf(out, "  subgraph \"cluster_%zu\" {\n    label=\"stage %s\";\n", i,
                      d.stage->id);
        print_nodes(&d, d.stage->topic, d.stage->roots, d.stage->root_count);
        br_buf_adds(out, "  }\n");
    }
    br_buf_addb(out, br_buf_bytes(&d.edges));
    br_buf_adds(out, "}\n");
    br_buf_dispose(&d.edges);
}
