/* jobs/graph.c - see graph.h. Recursion is bounded by BR_OPERATORS_MAX. */
#include "jobs/graph.h"

#include <string.h>

size_t br_graph_find(const Brine__Job__Job *job, const char *id)
{
    for (size_t i = 0; i < job->n_operators; i++) {
        const br_operator *op = job->operators[i];
        if (br_operator_is(op, BR_KIND_NONE)) continue;
        const char *other = *br_operator_id(op);
        if (other && strcmp(other, id) == 0) return i;
    }
    return job->n_operators;
}

/* Everything that `at` reaches is added to `seen`, so each operator is looked at once. */
static void reach(const br_graph *graph, size_t at, bool *seen)
{
    for (size_t i = 0; i < graph->count; i++) {
        if (!graph->reads[i][at] || seen[i]) continue;
        seen[i] = true;
        reach(graph, i, seen);
    }
}

void br_graph_init(br_graph *out, const Brine__Job__Job *job)
{
    memset(out, 0, sizeof(*out));
    out->count = job->n_operators;
    for (size_t i = 0; i < out->count; i++) {
        size_t *count = NULL;
        char ***from = br_operator_from(job->operators[i], &count);
        for (size_t j = 0; from && j < *count; j++)
            out->reads[i][br_graph_find(job, (*from)[j])] = true;
    }
    for (size_t i = 0; i < out->count; i++) reach(out, i, out->reaches[i]);
}

enum { NOT_KNOWN = -1 };

static int count_ways(const br_graph *graph, const Brine__Job__Job *job, size_t from, size_t to,
                      int *ways)
{
    if (ways[to] != NOT_KNOWN) return ways[to];
    int sum = 0;
    for (size_t i = 0; i < graph->count && sum < 2; i++) {
        if (!graph->reads[to][i]) continue;
        if (i == from)
            sum++;
        else if (!br_operator_is(job->operators[i], BR_KIND_GROUP_BY))
            sum += count_ways(graph, job, from, i, ways);
    }
    return ways[to] = sum < 2 ? sum : 2;
}

void br_graph_ways(const br_graph *graph, const Brine__Job__Job *job, size_t from,
                   int ways[BR_OPERATORS_MAX])
{
    for (size_t i = 0; i < graph->count; i++) ways[i] = NOT_KNOWN;
    for (size_t i = 0; i < graph->count; i++) (void)count_ways(graph, job, from, i, ways);
}
