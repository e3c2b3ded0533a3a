/* jobs/plan_walk.h - what an operator of a plan computes, part by part, for those who print it.
 * Thread: the plan's. */
#ifndef BR_JOBS_PLAN_WALK_H
#define BR_JOBS_PLAN_WALK_H

#include "jobs/plan.h"

typedef struct br_plan_part {
    const char *field; /* of the job file: where, set, by, … */
    const char *name;  /* of what it computes; "" where there is none */
    const char *text;  /* as in the job file */
    const char *runs;  /* "native", "lua"; "" where there is no expression */
} br_plan_part;

typedef void (*br_plan_visit)(void *arg, const br_plan_part *part);
/* In the order in which they run. A merge has the groupBy's aggregates. */
void br_plan_parts(const br_node *node, br_plan_visit visit, void *arg);
const char *br_node_kind_name(br_node_kind kind);
/* Partitions of one of the plan's topics; 0: not known. partitions_of may be NULL. */
int32_t br_plan_partitions(const br_plan_topic *topic, br_partitions_of partitions_of, void *arg);

#endif
