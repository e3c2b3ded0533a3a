/* jobs/chain.h - a stage's operators brought to life for one task.
 * The plan is read-only and shared by a thread's tasks; a chain holds one task's mutable state.
 * Thread: the task's. */
#ifndef BR_JOBS_CHAIN_H
#define BR_JOBS_CHAIN_H

#include "jobs/plan.h"

typedef struct br_chain {
    br_op **ops; /* parents before their children */
    size_t op_count;
    br_op **roots;
    size_t root_count;
    br_op **links; /* the memory behind all `children` */
} br_chain;

/* env: NULL where the stage has no stores. Borrows all. seed: for salts. */
void br_chain_build(br_chain *out, const br_stage *stage, br_task_context *context, br_env *env,
                    br_budget *budget, uint64_t seed);
void br_chain_dispose(br_chain *chain);

/* Pushes a batch's rows to the roots, as br_op_forward does. */
BR_MUST_USE br_status br_chain_process(br_chain *chain, br_task_context *context,
                                       br_row *const *rows, size_t count, br_err *err);
/* Commit step 1 for every operator. */
BR_MUST_USE br_status br_chain_flush(br_chain *chain, br_err *err);

#endif
