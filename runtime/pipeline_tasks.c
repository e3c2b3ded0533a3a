/* runtime/pipeline_tasks.c - tasks come, start and go as the group gives and takes partitions.
 * Shape:     assigned -> restorer -> prepared -> [every row emitted] -> start offset committed ->
 *            runs revoked -> commit -> closed; lost -> dropped without a commit
 * Invariant: nothing is read from a partition before its start offset is committed. */
#include "runtime/pipeline_internal.h"

#include "runtime/base/alloc.h"
#include "runtime/base/logger.h"
#include "runtime/commit.h"

#include <inttypes.h>

/* ---- group events; called from inside br_consumer_poll ---- */

static br_stage_handles *handles_for(br_pipeline *pipeline, const char *topic)
{
    for (size_t i = 0; i < pipeline->opts.plan->stage_count; i++)
        if (strcmp(pipeline->stages[i].stage->topic, topic) == 0) return &pipeline->stages[i];
    return NULL;
}

/* A partition that came after this pipeline was opened has no place in the changelogs yet: the
 * pipeline is opened again, and the catalog then makes one or refuses. */
static bool has_grown(br_pipeline *pipeline, const br_stage_handles *handles, br_tp at)
{
    for (size_t i = 0; i < handles->stage->store_count; i++) {
        if (!handles->changelogs[i] ||
            at.partition < br_topic_ref_partitions(handles->changelogs[i]))
            continue;
        if (pipeline->event_status == BR_OK)
            pipeline->event_status =
                br_fail(&pipeline->event_err, BR_ERR_BROKER,
                        "topic `%s` has got a partition %" PRId32, at.topic, at.partition);
        return true;
    }
    return false;
}

static void assigned(void *self, const br_tp *at, size_t count)
{
    br_pipeline *pipeline = self;
    pipeline->joined = true;
    for (size_t i = 0; i < count; i++) {
        br_stage_handles *handles = handles_for(pipeline, at[i].topic);
        BR_ASSERT(handles && "the group assigns only topics that were subscribed to");
        if (has_grown(pipeline, handles, at[i])) continue;
        br_task_opts opts = {.stage = handles->stage,
                             .at = {handles->stage->topic, at[i].partition},
                             .job = pipeline->opts.plan->job,
                             .state_dir = pipeline->opts.state_dir,
                             .log = pipeline->opts.log,
                             .clock = pipeline->opts.clock,
                             .counters = pipeline->opts.counters,
                             .incarnation = pipeline->opts.incarnation};
        br_task *task = br_task_create(&opts);
        task->outlet = br_outlet_of(task);
        task->outlet_arg = handles;
        pipeline->tasks = br_grow(pipeline->tasks, &pipeline->task_cap, pipeline->task_count + 1,
                                  sizeof(br_task *));
        pipeline->tasks[pipeline->task_count++] = task;
        br_restorer_add(pipeline->restorer, task);
    }
}

static void drop_task(br_pipeline *pipeline, br_task *task, bool clean)
{
    bool restoring = task->phase == BR_TASK_RESTORING;
    if (pipeline->batch_task == task) {
        br_batch_reset(pipeline->batch);
        pipeline->batch_task = NULL;
    }
    if (restoring)
        br_restorer_abandon(pipeline->restorer, task);
    else
        br_task_destroy(task, clean);
}

static void drop(br_pipeline *pipeline, const br_tp *at, size_t count, bool clean)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t t = 0; t < pipeline->task_count; t++) {
            br_task *task = pipeline->tasks[t];
            if (task->opts.at.partition != at[i].partition ||
                strcmp(task->opts.at.topic, at[i].topic) != 0)
                continue;
            drop_task(pipeline, task, clean);
            pipeline->tasks[t] = pipeline->tasks[--pipeline->task_count];
            break;
        }
    }
}

static void revoked(void *self, const br_tp *at, size_t count)
{
    br_pipeline *pipeline = self;
    br_status st = BR_OK;
    if (!pipeline->closing && pipeline->event_status == BR_OK) {
        st = br_pipeline_commit(pipeline, &pipeline->event_err);
        pipeline->event_status = st < 0 ? st : BR_OK;
    }
    drop(pipeline, at, count, pipeline->event_status == BR_OK);
}

static void lost(void *self, const br_tp *at, size_t count)
{
    br_log_line(BR_WARN, "partitions lost: what was not committed is dropped", "count=%zu", count);
    drop(self, at, count, false);
}

static void at_end(void *self, void *user, int64_t position)
{
    br_task *task = user;
    (void)self;
    if (position > task->end) task->end = position;
    if (position > task->next_offset && position < task->context.stop_offset) {
        task->next_offset = position;
        task->last_hash = 0; /* a gap: no record stands right before it */
    }
}

br_consumer_listener br_pipeline_listener(br_pipeline *pipeline)
{
    return (br_consumer_listener){pipeline, assigned, revoked, lost, at_end};
}

void br_pipeline_drop_tasks(br_pipeline *pipeline, bool clean)
{
    while (pipeline->task_count > 0)
        drop_task(pipeline, pipeline->tasks[--pipeline->task_count], clean);
}

/* ---- starting ---- */

static br_status collect_restored(br_pipeline *pipeline, br_err *err)
{
    for (br_task *task; (task = br_restorer_take(pipeline->restorer)) != NULL;) {
        task->phase = BR_TASK_READY;
        if (task->restore_status < 0) {
            *err = task->restore_err;
            return task->restore_status;
        }
    }
    return BR_OK;
}

/* The tasks in this phase; the caller frees the array. */
static br_task **in_phase(const br_pipeline *pipeline, br_task_phase phase, size_t *count)
{
    br_task **tasks = br_alloc(pipeline->task_count * sizeof(*tasks));
    *count = 0;
    for (size_t i = 0; i < pipeline->task_count; i++)
        if (pipeline->tasks[i]->phase == phase) tasks[(*count)++] = pipeline->tasks[i];
    return tasks;
}

static br_status prepare_ready(br_pipeline *pipeline, br_task **tasks, size_t count, br_err *err)
{
    br_tp *at = br_alloc(count * sizeof(*at));
    int64_t *committed = br_alloc(count * sizeof(*committed));
    for (size_t i = 0; i < count; i++) at[i] = tasks[i]->opts.at;
    br_status st = br_consumer_committed(pipeline->consumer, at, committed, count, err);
    for (size_t i = 0; st == BR_OK && i < count; i++)
        st =
            br_task_prepare(tasks[i], committed[i], pipeline->batch->arena, &pipeline->budget, err);
    br_free(at);
    br_free(committed);
    return st;
}

static br_status mark_rows(const br_pipeline *pipeline, const br_task *task, bool *done,
                           br_err *err)
{
    uint64_t share = pipeline->budget.max / (8 * pipeline->task_count);
    br_status st = BR_OK;
    *done = true;
    for (size_t i = 0; st == BR_OK && i < task->chain.op_count; i++) {
        bool all = true;
        br_table *table = task->chain.ops[i]->table;
        if (table) st = br_table_mark_next(table, share, &all, err);
        *done = *done && all;
    }
    return st;
}

/* State but no committed offset: which results went out is not known, so all go out, a bounded part
 * with each commit, before the tasks' offsets are committed. */
static br_status emit_rows(br_pipeline *pipeline, br_task **tasks, size_t count, br_err *err)
{
    bool *done = br_calloc(count, sizeof(*done));
    br_status st = BR_OK;
    for (size_t i = 0; st == BR_OK && i < count; i++)
        st = mark_rows(pipeline, tasks[i], &done[i], err);
    if (st == BR_OK) st = br_commit(pipeline, err);
    for (size_t i = 0; st == BR_OK && i < count; i++)
        if (done[i]) tasks[i]->phase = BR_TASK_STARTING;
    br_free(done);
    return st;
}

/* Commits the start offsets, then begins to read. BR_EMPTY: the group rebalances; later. */
static br_status start_reading(br_pipeline *pipeline, br_task **tasks, size_t count, br_err *err)
{
    br_tp *at = br_alloc(count * sizeof(*at));
    int64_t *offsets = br_alloc(count * sizeof(*offsets));
    size_t behind = 0;
    br_status st = BR_OK;
    for (size_t i = 0; i < count; i++) {
        if (tasks[i]->committed >= 0 && tasks[i]->committed >= tasks[i]->next_offset) continue;
        at[behind] = tasks[i]->opts.at;
        offsets[behind++] = tasks[i]->next_offset;
    }
    if (behind > 0) st = br_consumer_commit(pipeline->consumer, at, offsets, behind, err);
    for (size_t i = 0; st == BR_OK && i < count; i++) {
        br_task *task = tasks[i];
        if (task->committed < task->next_offset) task->committed = task->next_offset;
        st = br_consumer_start(pipeline->consumer, task->opts.at, task->next_offset, task, err);
        if (st == BR_OK) task->phase = BR_TASK_RUNNING;
    }
    br_free(at);
    br_free(offsets);
    return st;
}

br_status br_pipeline_start_tasks(br_pipeline *pipeline, br_err *err)
{
    size_t count;
    br_status st = collect_restored(pipeline, err);
    br_task **tasks = in_phase(pipeline, BR_TASK_READY, &count);
    if (st == BR_OK && count > 0) st = prepare_ready(pipeline, tasks, count, err);
    br_free(tasks);
    tasks = in_phase(pipeline, BR_TASK_EMITTING, &count);
    if (st == BR_OK && count > 0) st = emit_rows(pipeline, tasks, count, err);
    br_free(tasks);
    tasks = in_phase(pipeline, BR_TASK_STARTING, &count);
    if (st == BR_OK && count > 0) st = start_reading(pipeline, tasks, count, err);
    br_free(tasks);
    return st;
}
