/* runtime/restorer.h - restores tasks on a thread of its own, so that other tasks go on meanwhile
 * and the group is served, however long a restore takes.
 * Shape:     add (pipeline) -> br_task_restore (restorer's thread) -> take (pipeline)
 * Invariant: a task belongs to the restorer from add until take gives it back. One thread, in
 *            order: a folder that a given-up task still holds is free before the next task opens
 *            it. */
#ifndef BR_RUNTIME_RESTORER_H
#define BR_RUNTIME_RESTORER_H

#include "runtime/task.h"

typedef struct br_restorer br_restorer;

/* inline_restore: no thread; br_restorer_take restores what waits (for the simulator). */
br_restorer *br_restorer_create(bool inline_restore);
/* Abandons what is queued or under way, waits for it, and frees those tasks. NULL is fine. */
void br_restorer_destroy(br_restorer *restorer);
void br_restorer_add(br_restorer *restorer, br_task *task);
/* The partition was taken away: the restore stops soon, keeping its progress, and the task is
 * freed. */
void br_restorer_abandon(br_restorer *restorer, br_task *task);
/* A restored task (restore_status says how it went), or NULL. */
br_task *br_restorer_take(br_restorer *restorer);

#endif
