/* runtime/goal.h - `--until-end`: has the job read every source up to its end as it was at the
 * start, and are all partials merged? Shape:     sources (ends taken before the job starts) ->
 * repartition topics (ends taken when the group has committed all sources: no more partials come)
 * -> reached Judged by the group's committed offsets, so it holds for any number of workers.
 * Thread:    the pipeline's. */
#ifndef BR_RUNTIME_GOAL_H
#define BR_RUNTIME_GOAL_H

#include "runtime/pipeline.h"

typedef struct br_goal br_goal;

/* Takes the source topics' ends. Borrows plan and log. */
BR_MUST_USE br_status br_goal_create(br_goal **out, br_log *log, const br_plan *plan, br_err *err);
void br_goal_destroy(br_goal *goal); /* NULL is fine */
/* After a step: commits at once where all that is owned has been read, then looks. */
BR_MUST_USE br_status br_goal_check(br_goal *goal, br_pipeline *pipeline, bool *reached,
                                    br_err *err);

#endif
