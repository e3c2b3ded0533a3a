/* runtime/worker.h - runs one job in this process until it is told to stop, fails or is done.
 * Shape:     prepare topics -> a pipeline on each of plan->threads threads: step, step, … -> close
 * After a failure of the log it opens the pipeline again with backoff, as after a crash.
 * Thread:    the caller's; br_worker_stop from anywhere, also a signal handler. */
#ifndef BR_RUNTIME_WORKER_H
#define BR_RUNTIME_WORKER_H

#include "runtime/pipeline.h"

typedef struct br_worker_opts {
    const br_job *job;
    const br_plan *plan; /* of job; each further thread compiles its own */
    br_log *log;
    const char *state_dir;
    const br_clock *clock;
    br_counters *counters;
    const char *instance_id; /* [optional] */
    bool until_end;
    br_print_fn print; /* [optional] */
    void *print_arg;
    /* [optional] From the first thread; from any for print. Called about every progress_ms between
     * steps. */
    void (*progress)(void *arg, const br_pipeline_status *status);
    void *progress_arg;
    int64_t progress_ms;
} br_worker_opts;

/* BR_OK: stopped or done, all committed. BR_ERR_CONFIG and others before anything was read:
 * *started is false. */
BR_MUST_USE br_status br_worker_run(const br_worker_opts *opts, bool *started, br_err *err);
/* Ends every br_worker_run of this process soon, committed. Safe in a signal handler. */
void br_worker_stop(void);

#endif
