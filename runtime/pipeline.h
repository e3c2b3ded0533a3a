/* runtime/pipeline.h - one thread's work on a job: a member of its group, and the tasks it was
 * given.
 * Shape:     step: group events -> restored tasks start -> a bounded batch of records through the
 *            operators -> commit where it is due (commit.h)
 * Invariant: a record of a partition that is not owned never touches state, offsets or changelog.
 * Thread:    one, but for counters and br_pipeline_status. Clock, log and (through the job)
 *            randomness come from outside, and one step is one bounded unit of work, so that a
 *            simulator can drive it. */
#ifndef BR_RUNTIME_PIPELINE_H
#define BR_RUNTIME_PIPELINE_H

#include "runtime/restorer.h"

typedef struct br_pipeline br_pipeline;

/* Called for every record that goes to a sink (`--print`). */
typedef void (*br_print_fn)(void *arg, const char *topic, br_bytes key, br_bytes value);

typedef struct br_pipeline_opts {
    const br_plan *plan;
    br_log *log;
    const char *state_dir;
    const br_clock *clock;
    br_counters *counters;
    const char *instance_id; /* [optional] static membership */
    int32_t member, members; /* which of the worker's pipelines this is */
    uint32_t incarnation;
    bool inline_restore; /* restore within a step, not on a thread of its own */
    br_print_fn print;   /* [optional] */
    void *print_arg;
} br_pipeline_opts;

/* Joins the group. The topics must be prepared (catalog.h). Borrows what opts points to. */
BR_MUST_USE br_status br_pipeline_open(br_pipeline **out, const br_pipeline_opts *opts,
                                       br_err *err);
/* One bounded unit of work, waiting up to timeout_ms for records. BR_OK, BR_EMPTY where there was
 * nothing to do. BR_ERR_BROKER: a commit or the log failed; close without commit and open again (as
 * after a crash). BR_ERR_BAD_RECORD: `errors: fail` met a bad record; everything before it is
 * committed. Any other failure: the job cannot go on. */
BR_MUST_USE br_status br_pipeline_step(br_pipeline *pipeline, int timeout_ms, br_err *err);
/* Commits now. */
BR_MUST_USE br_status br_pipeline_commit(br_pipeline *pipeline, br_err *err);
/* commit: commits what is done and leaves the group, stores marked as cleanly closed; otherwise
 * drops everything uncommitted. The status is that of the last commit. */
br_status br_pipeline_close(br_pipeline *pipeline, bool commit, br_err *err);

/* What is left to do. */
typedef struct br_pipeline_status {
    size_t tasks, restoring;
    uint64_t lag;     /* source records between the tasks and their inputs' ends as last seen */
    bool uncommitted; /* something was done since the last commit */
} br_pipeline_status;

void br_pipeline_look(const br_pipeline *pipeline, br_pipeline_status *out);
/* Whether the group has committed at least these offsets (one per partition of topic, 0…count-1).
 */
BR_MUST_USE br_status br_pipeline_reached(br_pipeline *pipeline, const char *topic,
                                          const int64_t *offsets, int32_t count, bool *reached,
                                          br_err *err);
/* Whether every owned task of this topic has read up to these offsets (a hint to commit at once).
 */
bool br_pipeline_read_to(const br_pipeline *pipeline, const char *topic, const int64_t *offsets,
                         int32_t count);

#endif
