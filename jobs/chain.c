/* jobs/chain.c - see chain.h. */
#include "jobs/chain.h"

#include "runtime/base/alloc.h"

typedef struct builder {
    br_chain *chain;
    br_task_context *context;
    br_env *env;
    br_budget *budget;
    uint64_t seed;
    size_t linked; /* of chain->links */
} builder;

static size_t count_nodes(br_node *const *nodes, size_t count)
{
    size_t sum = count;
    for (size_t i = 0; i < count; i++)
        sum += count_nodes(nodes[i]->children, nodes[i]->child_count);
    return sum;
}

static br_op *create_op(const builder *b, const br_node *node)
{
    switch (node->kind) {
    case BR_NODE_MAP: return br_map_create(&node->map, b->context);
    case BR_NODE_GROUP_BY: return br_group_by_create(&node->group, b->context, b->env, b->budget);
    case BR_NODE_MERGE: return br_merge_create(&node->group, b->context, b->env, b->budget);
    case BR_NODE_SINK: break;
    }
    /* Another sequence for each sink, the same one at each start. */
    return br_sink_create(&node->sink, b->context, b->seed + b->chain->op_count);
}

static br_op *build_node(builder *b, const br_node *node)
{
    br_op *op = create_op(b, node);
    b->chain->ops[b->chain->op_count++] = op;
    op->children = b->chain->links + b->linked;
    op->child_count = node->child_count;
    b->linked += node->child_count;
    for (size_t i = 0; i < node->child_count; i++)
        op->children[i] = build_node(b, node->children[i]);
    return op;
}

void br_chain_build(br_chain *out, const br_stage *stage, br_task_context *context, br_env *env,
                    br_budget *budget, uint64_t seed)
{
    size_t count = count_nodes(stage->roots, stage->root_count);
    *out = (br_chain){.ops = br_calloc(count, sizeof(br_op *)),
                      .roots = br_calloc(stage->root_count, sizeof(br_op *)),
                      .root_count = stage->root_count,
                      .links = br_calloc(count, sizeof(br_op *))};
    builder b = {.chain = out, .context = context, .env = env, .budget = budget, .seed = seed};
    for (size_t i = 0; i < stage->root_count; i++) out->roots[i] = build_node(&b, stage->roots[i]);
}

void br_chain_dispose(br_chain *chain)
{
    for (size_t i = chain->op_count; i > 0; i--)
        chain->ops[i - 1]->class->destroy(chain->ops[i - 1]);
    br_free(chain->ops);
    br_free(chain->roots);
    br_free(chain->links);
    *chain = (br_chain){0};
}

br_status br_chain_process(br_chain *chain, br_task_context *context, br_row *const *rows,
                           size_t count, br_err *err)
{
    br_op source = {.context = context, .children = chain->roots, .child_count = chain->root_count};
    return br_op_forward(&source, rows, count, err);
}

br_status br_chain_flush(br_chain *chain, br_err *err)
{
    br_status status = BR_OK;
    for (size_t i = 0; status == BR_OK && i < chain->op_count; i++) {
        br_op *op = chain->ops[i];
        if (op->class->flush) status = op->class->flush(op, err);
    }
    return status;
}
