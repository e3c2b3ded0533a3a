/* jobs/plan_build.h - what the parts of the plan's compiler share; for jobs/plan*.c alone.
 * Shape:     plan.c       a stage per source (plan_stage.c), then one per groupBy of two stages,
 *                         then the topics (plan_topics.c)
 *            plan_stage.c a stage's tree of operators (map, sink)
 *            plan_group.c a groupBy: one stage or two, its fields and accumulators
 * Errors are added and compiling goes on, so that all of them are found; what could not be compiled
 * is NULL or left out, and the plan is thrown away at the end.
 * Thread:    the plan's. */
#ifndef BR_JOBS_PLAN_BUILD_H
#define BR_JOBS_PLAN_BUILD_H

#include "jobs/graph.h"
#include "jobs/plan.h"
#include "jobs/plan_memory.h"

typedef struct br_plan_build {
    br_plan *plan;
    br_plan_memory *memory;
    const br_job *job;
    const Brine__Job__Job *spec;
    br_job_errors *errors;
    br_graph graph;
    /* by operator; a groupBy's as compiled for its first source; NULL: not compiled (yet) */
    const br_group_conf *groups[BR_OPERATORS_MAX];
    br_bytes specs[BR_OPERATORS_MAX];     /* what its rows mean */
    const char *topics[BR_OPERATORS_MAX]; /* its repartition topic; NULL: it has one stage */
} br_plan_build;

/* Where an operator of a stage is compiled. */
typedef struct br_plan_place {
    br_plan_build *build;
    br_stage *stage;
    size_t source; /* operator index; SOURCE only */
    size_t index;  /* of the operator at hand */
    br_layout *layout;
    br_scope *scope;
} br_plan_place;

/* plan_stage.c */
void br_plan_source_stage(br_plan_build *build, br_stage *stage, size_t source);
void br_plan_merge_stage(br_plan_build *build, br_stage *stage, size_t group);
/* The nodes of all that read operator `parent`, whose rows the place's layout and scope describe.
 */
void br_plan_children(const br_plan_place *place, size_t parent, br_node ***out, size_t *count);
/* NULL: an error was added at the operator's field. A NULL text gives NULL. */
br_expr *br_plan_expr(const br_plan_place *place, br_scope *scope, const char *field,
                      const char *text);

/* plan_group.c */
br_node *br_plan_group_node(const br_plan_place *place);
/* How many sources feed the operator. */
size_t br_plan_source_count(const br_plan_build *build, size_t index);
/* Scope of the groupBy's result rows, in a layout of their own. */
br_scope *br_plan_result_scope(br_plan_build *build, const br_group_conf *conf, br_layout *layout);

/* plan_topics.c */
const char *br_plan_changelog_name(br_plan_build *build, size_t source, size_t group);
const char *br_plan_repartition_name(br_plan_build *build, size_t group);
void br_plan_topics(br_plan_build *build);

#endif
