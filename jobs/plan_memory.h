/* jobs/plan_memory.h - everything that a plan points to; dies with it.
 * Thread: the plan's. */
#ifndef BR_JOBS_PLAN_MEMORY_H
#define BR_JOBS_PLAN_MEMORY_H

#include "operators/expr.h"
#include "runtime/base/arena.h"

typedef struct br_plan_memory br_plan_memory;

br_plan_memory *br_plan_memory_create(void);
void br_plan_memory_destroy(br_plan_memory *memory); /* NULL is fine */
/* Zeroed. */
void *br_plan_alloc(br_plan_memory *memory, size_t count, size_t size);
const char *br_plan_text(br_plan_memory *memory, const char *fmt, ...) BR_PRINTF(2, 3);
br_layout *br_plan_layout(br_plan_memory *memory);
/* Takes expr. */
br_expr *br_plan_keep_expr(br_plan_memory *memory, br_expr *expr);

#endif
