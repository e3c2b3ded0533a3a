/* jobs/graph.h - which operator of a job reads which.
 * Invariant: indices are places in Job.operators.
 * Thread:    values. */
#ifndef BR_JOBS_GRAPH_H
#define BR_JOBS_GRAPH_H

#include "jobs/spec.h"
#include "runtime/base/limits.h"

#include <stdbool.h>

typedef struct br_graph {
    size_t count;
    bool reads[BR_OPERATORS_MAX][BR_OPERATORS_MAX];   /* [a][b]: a reads b */
    bool reaches[BR_OPERATORS_MAX][BR_OPERATORS_MAX]; /* [a][b]: records of a come to b, perhaps
                                                         through others; [a][a]: a cycle */
} br_graph;

/* Every operator has an id, and every name in a `from` is one. */
void br_graph_init(br_graph *out, const Brine__Job__Job *job);
/* Index of the operator with this id; job->n_operators: none. */
size_t br_graph_find(const Brine__Job__Job *job, const char *id);
/* How many ways that pass no groupBy lead from an operator to each, counted up to 2. No cycles. */
void br_graph_ways(const br_graph *graph, const Brine__Job__Job *job, size_t from,
                   int ways[BR_OPERATORS_MAX]);

#endif
