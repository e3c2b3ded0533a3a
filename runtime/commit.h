/* runtime/commit.h - the commit: offsets only after state (DESIGN.md section 5).
 * The order is the contract. A crash between two steps may replay records, which rows and versions
 * then recognise; it never skips one and never counts one twice.
 *   1 flush operators: changed rows to changelogs; changed groups as partials or sink records
 *   2 wait until every record of 1 is acknowledged
 *   3 markers into the changelogs; wait for these too: a delivery that times out leaves a hole
 * while later records go through, and a marker must never stand behind a hole 4 one LMDB
 * transaction per task: dirty rows and the checkpoint 5 commit the input offsets to the group A
 * failure abandons the commit; the pipeline is then closed and opened again, as after a crash. */
#ifndef BR_RUNTIME_COMMIT_H
#define BR_RUNTIME_COMMIT_H

#include "runtime/pipeline.h"

/* BR_OK, also where there was nothing to commit. */
BR_MUST_USE br_status br_commit(br_pipeline *pipeline, br_err *err);
/* For a stage-two task that must not emit yet (it reads what was there when it started): moves its
 * rows from memory to LMDB, and commits nothing to the group. A start after a crash reads on from
 * there. */
BR_MUST_USE br_status br_commit_rows(br_task *task, br_err *err);
#endif
