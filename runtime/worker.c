/* runtime/worker.c - see worker.h. */
#include "runtime/worker.h"

#include "runtime/base/alloc.h"
#include "runtime/base/logger.h"
#include "runtime/catalog.h"
#include "runtime/goal.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

enum {
    STEP_MS = 100, /* how long a step waits for records: how soon a stop is noticed */
    BACKOFF_FIRST_MS = 500,
    BACKOFF_MAX_MS = 30000,
    FENCED_AGAIN_MS = 60000,
};

static atomic_bool stopping;

void br_worker_stop(void)
{
    atomic_store(&stopping, true);
}

/* One thread of the worker. */
typedef struct member {
    const br_worker_opts *opts;
    int32_t index;
    pthread_t thread;
    br_plan *own_plan; /* NULL: the first member uses the worker's */
    const br_plan *plan;
    br_goal *goal;     /* NULL: runs until it is stopped */
    bool started;      /* a pipeline was opened */
    int64_t fenced_ms; /* when it last was; 0: never */
    br_status status;
    br_err err;
} member;

/* Each time: topics may have changed since the last. */
static br_status prepare_topics(const member *m, br_err *err)
{
    int32_t *partitions = br_calloc(m->plan->topic_count, sizeof(*partitions));
    br_status st = br_catalog_prepare(m->opts->log, m->plan, partitions, err);
    br_free(partitions);
    return st;
}

static br_status open_pipeline(const member *m, br_pipeline **out, br_err *err)
{
    const br_worker_opts *opts = m->opts;
    char instance[BR_NAME_BYTES_MAX + 16];
    br_pipeline_opts pipeline = {.plan = m->plan,
                                 .log = opts->log,
                                 .state_dir = opts->state_dir,
                                 .clock = opts->clock,
                                 .counters = opts->counters,
                                 .member = m->index,
                                 .members = opts->plan->threads,
                                 .print = opts->print,
                                 .print_arg = opts->print_arg};
    if (opts->instance_id) {
        (void)snprintf(instance, sizeof(instance), "%s-%" PRId32, opts->instance_id, m->index);
        pipeline.instance_id = instance;
    }
    return br_pipeline_open(out, &pipeline, err);
}

static void show_progress(const member *m, const br_pipeline *pipeline, int64_t *last_ms)
{
    const br_worker_opts *opts = m->opts;
    int64_t now = br_mono_ms(opts->clock);
    br_pipeline_status status;
    if (!opts->progress || m->index > 0 || now - *last_ms < opts->progress_ms) return;
    *last_ms = now;
    br_pipeline_look(pipeline, &status);
    opts->progress(opts->progress_arg, &status);
}

/* BR_END: the goal is reached. */
static br_status run_pipeline(const member *m, br_pipeline *pipeline, br_err *err)
{
    int64_t progress_ms = br_mono_ms(m->opts->clock);
    br_status st = BR_OK;
    while (st >= 0 && !atomic_load(&stopping)) {
        bool reached = false;
        st = br_pipeline_step(pipeline, STEP_MS, err);
        if (st >= 0 && m->goal) st = br_goal_check(m->goal, pipeline, &reached, err);
        if (reached) return BR_END;
        show_progress(m, pipeline, &progress_ms);
    }
    return st < 0 ? st : BR_OK;
}

static void back_off(int64_t ms)
{
    struct timespec step = {.tv_nsec = 50 * 1000000L};
    for (int64_t waited = 0; waited < ms && !atomic_load(&stopping); waited += 50)
        (void)nanosleep(&step, NULL);
}

/* One pipeline from its opening to its end. */
static br_status run_once(member *m, br_err *err)
{
    br_pipeline *pipeline;
    br_err closing;
    br_status st = prepare_topics(m, err);
    if (st == BR_OK) st = open_pipeline(m, &pipeline, err);
    if (st != BR_OK) return st;
    m->started = true;
    st = run_pipeline(m, pipeline, err);
    br_status closed = br_pipeline_close(pipeline, st >= 0, &closing);
    if (st < 0 || closed >= 0) return st;
    *err = closing;
    return closed;
}

/* A transaction that its broker gave up (this process stood still) looks like one that another
 * owner of the id took over. The first is over with a new start; the second comes again. */
static bool may_go_on(member *m)
{
    if (m->status == BR_ERR_BROKER) return true;
    if (m->status != BR_ERR_FENCED) return false;
    int64_t now = br_mono_ms(m->opts->clock), last = m->fenced_ms;
    m->fenced_ms = now;
    return last == 0 || now - last > FENCED_AGAIN_MS;
}

/* A failure of the log leads back to the last commit, after a pause; any other ends all threads. */
static void *run_member(void *arg)
{
    member *m = arg;
    const br_counters *counters = m->opts->counters;
    for (int64_t wait_ms = BACKOFF_FIRST_MS;;) {
        uint64_t commits = br_counted(&counters->commits);
        m->status = run_once(m, &m->err);
        if (!may_go_on(m) || atomic_load(&stopping)) break;
        if (br_counted(&counters->commits) > commits) wait_ms = BACKOFF_FIRST_MS;
        br_log_line(BR_WARN, "the log failed; going back to the last commit",
                    "retry_in_ms=%" PRId64 " reason=\"%s\"", wait_ms, m->err.message);
        back_off(wait_ms);
        wait_ms = wait_ms * 2 > BACKOFF_MAX_MS ? BACKOFF_MAX_MS : wait_ms * 2;
    }
    if (m->status < 0) br_worker_stop();
    return NULL;
}

/* Expressions belong to a thread, so each compiles a plan of its own. */
static br_status prepare_member(member *m, const br_worker_opts *opts, int32_t index, br_err *err)
{
    br_job_errors errors = {0};
    *m = (member){.opts = opts, .index = index, .plan = opts->plan};
    if (index > 0) {
        br_status compiled = br_plan_compile(&m->own_plan, opts->job, &errors);
        br_job_errors_dispose(&errors);
        BR_ASSERT(compiled == BR_OK && "it compiled before");
        m->plan = m->own_plan;
    }
    return opts->until_end ? br_goal_create(&m->goal, opts->log, m->plan, err) : BR_OK;
}

static br_status run_members(member *members, int32_t count, br_err *err)
{
    int32_t running = 1;
    for (; running < count; running++)
        if (pthread_create(&members[running].thread, NULL, run_member, &members[running]) != 0)
            break;
    BR_ASSERT(running == count && "threads can be made at start");
    (void)run_member(&members[0]);
    for (int32_t i = 1; i < count; i++) pthread_join(members[i].thread, NULL);
    for (int32_t i = 0; i < count; i++) {
        if (members[i].status >= 0) continue;
        *err = members[i].err;
        return members[i].status;
    }
    return BR_OK;
}

br_status br_worker_run(const br_worker_opts *opts, bool *started, br_err *err)
{
    int32_t count = opts->plan->threads, prepared = 0;
    member *members = br_calloc((size_t)count, sizeof(*members));
    members[0] = (member){.opts = opts, .plan = opts->plan};
    br_status st = prepare_topics(&members[0], err);
    while (st == BR_OK && prepared < count) {
        st = prepare_member(&members[prepared], opts, prepared, err);
        prepared++;
    }
    if (st == BR_OK) st = run_members(members, count, err);
    *started = false;
    for (int32_t i = 0; i < prepared; i++) *started = *started || members[i].started;
    for (int32_t i = 0; i < prepared; i++) {
        br_goal_destroy(members[i].goal);
        br_plan_destroy(members[i].own_plan);
    }
    br_free(members);
    return st;
}
