/* runtime/worker.c - see worker.h. */
#include "runtime/worker.h"

#include "runtime/base/alloc.h"
#include "runtime/base/logger.h"
#include "runtime/catalog.h"
#include "runtime/goal.h"

#include <time.h>

enum {
    STEP_MS = 100, /* how long a step waits for records: how soon a stop is noticed */
    BACKOFF_FIRST_MS = 500,
    BACKOFF_MAX_MS = 30000,
};

static atomic_bool stopping;

void br_worker_stop(void)
{
    atomic_store(&stopping, true);
}

static br_status open_pipeline(const br_worker_opts *opts, br_pipeline **out, br_err *err)
{
    br_pipeline_opts pipeline = {.plan = opts->plan,
                                 .log = opts->log,
                                 .state_dir = opts->state_dir,
                                 .clock = opts->clock,
                                 .counters = opts->counters,
                                 .instance_id = opts->instance_id,
                                 .print = opts->print,
                                 .print_arg = opts->print_arg};
    return br_pipeline_open(out, &pipeline, err);
}

static void show_progress(const br_worker_opts *opts, const br_pipeline *pipeline, int64_t *last_ms)
{
    int64_t now = br_mono_ms(opts->clock);
    br_pipeline_status status;
    if (!opts->progress || now - *last_ms < opts->progress_ms) return;
    *last_ms = now;
    br_pipeline_look(pipeline, &status);
    opts->progress(opts->progress_arg, &status);
}

/* BR_END: the goal is reached. */
static br_status run_pipeline(const br_worker_opts *opts, br_pipeline *pipeline, br_goal *goal,
                              br_err *err)
{
    int64_t progress_ms = br_mono_ms(opts->clock);
    br_status st = BR_OK;
    while (st >= 0 && !atomic_load(&stopping)) {
        bool reached = false;
        st = br_pipeline_step(pipeline, STEP_MS, err);
        if (st >= 0 && goal) st = br_goal_check(goal, pipeline, &reached, err);
        if (reached) return BR_END;
        show_progress(opts, pipeline, &progress_ms);
    }
    return st < 0 ? st : BR_OK;
}

static void back_off(int64_t ms)
{
    struct timespec step = {.tv_nsec = 50 * 1000000};
    for (int64_t waited = 0; waited < ms && !atomic_load(&stopping); waited += 50)
        (void)nanosleep(&step, NULL);
}

/* One pipeline from its opening to its end. */
static br_status run_once(const br_worker_opts *opts, br_goal *goal, br_err *err)
{
    br_pipeline *pipeline;
    br_err closing;
    br_status st = open_pipeline(opts, &pipeline, err);
    if (st != BR_OK) return st;
    st = run_pipeline(opts, pipeline, goal, err);
    br_status closed = br_pipeline_close(pipeline, st >= 0, &closing);
    if (st < 0 || closed >= 0) return st;
    *err = closing;
    return closed;
}

br_status br_worker_run(const br_worker_opts *opts, bool *started, br_err *err)
{
    int32_t *partitions = br_calloc(opts->plan->topic_count, sizeof(*partitions));
    br_goal *goal = NULL;
    br_status st = br_catalog_prepare(opts->log, opts->plan, partitions, err);
    *started = false;
    if (st == BR_OK && opts->until_end) st = br_goal_create(&goal, opts->log, opts->plan, err);
    for (int64_t wait_ms = BACKOFF_FIRST_MS; st == BR_OK;) {
        uint64_t commits = br_counted(&opts->counters->commits);
        *started = true;
        st = run_once(opts, goal, err);
        if (st != BR_ERR_BROKER || atomic_load(&stopping)) break;
        if (br_counted(&opts->counters->commits) > commits) wait_ms = BACKOFF_FIRST_MS;
        br_log_line(BR_WARN, "the log failed; going back to the last commit",
                    "retry_in_ms=%lld reason=\"%s\"", (long long)wait_ms, err->message);
        back_off(wait_ms);
        wait_ms = wait_ms * 2 > BACKOFF_MAX_MS ? BACKOFF_MAX_MS : wait_ms * 2;
        st = BR_OK;
    }
    br_goal_destroy(goal);
    br_free(partitions);
    return st == BR_END ? BR_OK : st;
}
