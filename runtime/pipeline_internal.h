/* runtime/pipeline_internal.h - the pipeline's parts, shared by pipeline*.c, outlet.c and commit.c.
 */
#ifndef BR_RUNTIME_PIPELINE_INTERNAL_H
#define BR_RUNTIME_PIPELINE_INTERNAL_H

#include "runtime/base/hash.h"
#include "runtime/pipeline.h"

/* A stage's handles, shared by its tasks. */
typedef struct br_stage_handles {
    const br_stage *stage;
    br_source *source;                                  /* decoder; SOURCE stages */
    br_topic_ref **sinks, **changelogs, **repartitions; /* by the stage's indices */
    br_topic_ref *input; /* MERGE stages: where partials are written again */
    struct br_pipeline *pipeline;
} br_stage_handles;

struct br_pipeline {
    br_pipeline_opts opts;
    br_consumer *consumer;
    br_producer *producer;
    br_topic_ref *dead_letters; /* NULL: no source sends any */
    br_restorer *restorer;
    br_stage_handles *stages;
    br_batch *batch;
    br_task *batch_task; /* whose rows are in batch; NULL: none */
    br_budget budget;
    br_task **tasks; /* all that are owned, also those in the restorer's hands */
    size_t task_count, task_cap;
    int64_t committed_at_ms;   /* monotonic: end of the last commit */
    int64_t commit_took_ms[2]; /* … and how long it and the one before it took */
    uint64_t sent_bytes;       /* since then */
    bool take_failed;          /* a record's handling failed, not the log */
    bool joined;               /* the group has assigned once */
    bool closing;
    uint32_t since_look;             /* records since the clock was read */
    uint64_t records, bytes, merged; /* not yet in the counters */
    /* A step's failure that came up inside a group event. */
    br_status event_status;
    br_err event_err;
    /* `errors: fail` met this record. */
    bool stopped;
    br_err stop_err;
};

/* What leaves task (outlet.c); task->outlet_arg is its stage's handles. */
br_outlet br_outlet_of(br_task *task);
/* A record that could not be decoded or whose expression failed; row: its raw bytes. Counts, and
 * sends it where the stage's policy says. BR_ERR_BAD_RECORD: the job stops here. */
BR_MUST_USE br_status br_outlet_bad_record(br_task *task, const br_row *row, const char *id,
                                           const br_err *why, br_err *err);
/* Runs the batch's rows through its task's operators. */
BR_MUST_USE br_status br_pipeline_run_batch(br_pipeline *pipeline, br_err *err);
/* Group events (pipeline_tasks.c). */
br_consumer_listener br_pipeline_listener(br_pipeline *pipeline);
/* Takes tasks from the restorer and lets them run as far as they are ready. */
BR_MUST_USE br_status br_pipeline_start_tasks(br_pipeline *pipeline, br_err *err);
void br_pipeline_drop_tasks(br_pipeline *pipeline, bool clean);

static inline br_stage_handles *br_pipeline_handles(const br_task *task)
{
    return task->outlet_arg;
}

#endif
