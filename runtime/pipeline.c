/* runtime/pipeline.c - see pipeline.h. Records through operators; pipeline_tasks.c has the coming
 * and going of tasks. */
#include "runtime/pipeline_internal.h"

#include "runtime/base/alloc.h"
#include "runtime/base/logger.h"
#include "runtime/commit.h"

#include <inttypes.h>

enum {
    POLL_RECORDS = 50000, /* one step: bounded, some 30 ms of work */
    /* What may be on its way before it is committed: a job without a groupBy sends all the time. */
    SENT_BYTES_MAX = 64 * 1024 * 1024,
    COMMIT_PAUSE = 9, /* times what the last commit took */
    COMMIT_PAUSE_MAX_MS = 10000,
    LOOK_EVERY_RECORDS = 1024, /* how often the clock is read between commits */
};

/* ---- records ---- */

static void stop_at(br_pipeline *pipeline, br_task *task, int64_t offset, const br_err *why)
{
    task->context.stop_offset = offset;
    pipeline->stopped = true;
    pipeline->stop_err = *why;
}

/* After a stop, the task has read up to the record that stopped it. */
static void note_read(br_task *task, int64_t next)
{
    int64_t stop = task->context.stop_offset;
    task->next_offset = next < stop ? next : stop;
}

static void note_time(br_task *task, const br_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++)
        if (batch->rows[i].time_ms > task->stream_time) task->stream_time = batch->rows[i].time_ms;
}

/* For the check that a topic was not made again: task_restore.c. */
static void note_last(br_task *task, const br_row *row)
{
    if (row->offset == task->next_offset - 1)
        task->last_hash = br_task_record_hash(row->key, row->value, row->timestamp_ms);
}

br_status br_pipeline_run_batch(br_pipeline *pipeline, br_err *err)
{
    br_task *task = pipeline->batch_task;
    br_batch *batch = pipeline->batch;
    br_status st = BR_OK;
    if (!task || batch->count == 0) {
        br_batch_reset(batch); /* it may be full of bad records' bytes */
        return BR_OK;
    }
    note_time(task, batch);
    st = br_chain_process(&task->chain, &task->context, batch->at, batch->count, err);
    if (st == BR_ERR_BAD_RECORD) {
        stop_at(pipeline, task, task->context.stop_offset, err);
        note_read(task, task->next_offset);
        st = BR_OK;
    }
    note_last(task, &batch->rows[batch->count - 1]);
    br_batch_reset(batch);
    return st < 0 ? br_wrap(err, "%s-%" PRId32, task->opts.at.topic, task->opts.at.partition) : st;
}

static br_status take_bad(br_pipeline *pipeline, br_task *task, const br_row *bad, br_err *why)
{
    br_err stop;
    br_status st = br_outlet_bad_record(task, bad, task->opts.stage->id, why, &stop);
    if (st == BR_OK) return BR_OK;
    *why = stop;
    if (st != BR_ERR_BAD_RECORD) return st;
    stop_at(pipeline, task, bad->offset, &stop);
    return BR_OK;
}

static br_status take_source(br_pipeline *pipeline, br_task *task, const br_record *record,
                             br_err *err)
{
    br_row bad;
    if (pipeline->batch_task != task || br_batch_full(pipeline->batch)) {
        br_status st = br_pipeline_run_batch(pipeline, err);
        if (st != BR_OK) return st;
        pipeline->batch_task = task;
        if (pipeline->stopped) return BR_OK;
    }
    br_source *source = br_pipeline_handles(task)->source;
    br_status added = br_source_add(source, pipeline->batch, record, &bad, err);
    br_status st = added == BR_EMPTY ? BR_OK : added;
    if (added == BR_EMPTY) br_count(&pipeline->opts.counters->null_values, 1);
    if (st == BR_ERR_BAD_RECORD) st = take_bad(pipeline, task, &bad, err);
    if (added != BR_OK)
        task->last_hash = br_task_record_hash(record->key, record->value, record->timestamp_ms);
    pipeline->records++;
    pipeline->bytes += record->key.len + record->value.len;
    note_read(task, record->offset + 1);
    return st;
}

static br_status take_partial(br_pipeline *pipeline, br_task *task, const br_record *record,
                              br_err *err)
{
    br_status st =
        br_merge_apply(task->chain.roots[0], record->offset, record->key, record->value, err);
    pipeline->merged++;
    note_read(task, record->offset + 1);
    if (st < 0)
        return br_wrap(err, "%s[%" PRId32 "]@%" PRId64, record->topic, record->partition,
                       record->offset);
    return BR_OK;
}

/* The interval, or longer where commits take long: with a million groups on a backlog, at most a
 * tenth of the time goes into them. */
static int64_t commit_in_ms(const br_pipeline *pipeline)
{
    const int64_t *took = pipeline->commit_took_ms; /* one slow commit alone changes nothing */
    int64_t pause = (took[0] < took[1] ? took[0] : took[1]) * COMMIT_PAUSE;
    if (pause > COMMIT_PAUSE_MAX_MS) pause = COMMIT_PAUSE_MAX_MS;
    int64_t interval = pipeline->opts.plan->commit_interval_ms;
    return pipeline->committed_at_ms + (pause > interval ? pause : interval) -
           br_mono_ms(pipeline->opts.clock);
}

static bool commit_due(const br_pipeline *pipeline)
{
    return br_budget_spent(&pipeline->budget) || pipeline->sent_bytes >= SENT_BYTES_MAX ||
           commit_in_ms(pipeline) <= 0;
}

static br_status take(void *arg, void *user, const br_record *record, br_err *err)
{
    br_pipeline *pipeline = arg;
    br_task *task = user;
    br_status st = task->opts.stage->kind == BR_STAGE_SOURCE
                       ? take_source(pipeline, task, record, err)
                       : take_partial(pipeline, task, record, err);
    if (st != BR_OK) {
        pipeline->take_failed = true;
        return st;
    }
    if (pipeline->stopped) return BR_END;
    if (++pipeline->since_look < LOOK_EVERY_RECORDS) return BR_OK;
    pipeline->since_look = 0;
    return commit_due(pipeline) ? BR_END : BR_OK;
}

/* ---- steps ---- */

/* Atomics are too dear for every record. */
static void count_records(br_pipeline *pipeline)
{
    br_count(&pipeline->opts.counters->records, pipeline->records);
    br_count(&pipeline->opts.counters->bytes, pipeline->bytes);
    br_count(&pipeline->opts.counters->merged, pipeline->merged);
    pipeline->records = pipeline->bytes = pipeline->merged = 0;
}

static bool anything_changed(const br_pipeline *pipeline)
{
    for (size_t i = 0; i < pipeline->task_count; i++) {
        const br_task *task = pipeline->tasks[i];
        bool alive = task->phase == BR_TASK_RUNNING || task->phase == BR_TASK_EMITTING;
        if (alive && task->next_offset >= task->gate && br_task_changed(task)) return true;
    }
    return false;
}

static br_status repair_tasks(br_pipeline *pipeline, br_err *err)
{
    br_status st = BR_OK;
    if (pipeline->opts.plan->exactly_once) return BR_OK;
    for (size_t i = 0; st == BR_OK && i < pipeline->task_count; i++)
        if (pipeline->tasks[i]->phase == BR_TASK_RUNNING)
            st = br_task_repair(pipeline->tasks[i], err);
    return st;
}

/* Memory is short while stage two reads what was there when it started. Its rows go to LMDB; if
 * that is not enough, because of groups that wait for emission, it emits before it is at the end:
 * totals that grow are better than a worker that dies. */
static br_status relieve(br_pipeline *pipeline, br_err *err)
{
    br_status st = BR_OK;
    for (size_t i = 0; st == BR_OK && i < pipeline->task_count; i++) {
        br_task *task = pipeline->tasks[i];
        if (!br_budget_spent(&pipeline->budget)) break;
        if (task->phase != BR_TASK_RUNNING || task->next_offset >= task->gate) continue;
        st = br_commit_rows(task, err);
        if (br_budget_spent(&pipeline->budget)) task->gate = 0;
    }
    return st;
}

static int wait_ms(const br_pipeline *pipeline, int timeout_ms)
{
    if (!anything_changed(pipeline)) return timeout_ms;
    int64_t left = commit_in_ms(pipeline);
    return left < 0 ? 0 : left < timeout_ms ? (int)left : timeout_ms;
}

static br_status finish_stop(br_pipeline *pipeline, br_err *err)
{
    br_status st = br_commit(pipeline, err);
    if (st != BR_OK) return st;
    *err = pipeline->stop_err;
    return BR_ERR_BAD_RECORD;
}

br_status br_pipeline_step(br_pipeline *pipeline, int timeout_ms, br_err *err)
{
    br_status st = br_pipeline_start_tasks(pipeline, err);
    if (st < 0) return st;
    br_status polled = br_consumer_poll(pipeline->consumer, wait_ms(pipeline, timeout_ms),
                                        POLL_RECORDS, take, pipeline, err);
    if (polled >= 0) st = br_pipeline_run_batch(pipeline, err);
    count_records(pipeline);
    /* The log no longer has the place that a task reads: retention was faster. A new start finds
     * the first that is there, and says what is lost. */
    if (polled == BR_ERR_LIMIT && !pipeline->take_failed) return BR_ERR_BROKER;
    if (polled < 0 || st < 0) return polled < 0 ? polled : st;
    pipeline->batch_task = NULL;
    if (pipeline->event_status < 0) {
        *err = pipeline->event_err;
        return pipeline->event_status;
    }
    if (pipeline->stopped) return finish_stop(pipeline, err);
    st = repair_tasks(pipeline, err);
    if (st == BR_OK && br_budget_spent(&pipeline->budget)) st = relieve(pipeline, err);
    if (st == BR_OK && commit_due(pipeline) && anything_changed(pipeline))
        st = br_commit(pipeline, err);
    return st < 0 ? st : polled;
}

br_status br_pipeline_commit(br_pipeline *pipeline, br_err *err)
{
    return anything_changed(pipeline) ? br_commit(pipeline, err) : BR_OK;
}

/* ---- what is left ---- */

void br_pipeline_look(const br_pipeline *pipeline, br_pipeline_status *out)
{
    *out = (br_pipeline_status){.tasks = pipeline->task_count,
                                .uncommitted = anything_changed(pipeline)};
    for (size_t i = 0; i < pipeline->task_count; i++) {
        const br_task *task = pipeline->tasks[i];
        if (task->phase == BR_TASK_RESTORING)
            out->restoring++;
        else if (task->opts.stage->kind == BR_STAGE_SOURCE && task->end > task->next_offset)
            out->lag += (uint64_t)(task->end - task->next_offset);
    }
}

bool br_pipeline_read_to(const br_pipeline *pipeline, const char *topic, const int64_t *offsets,
                         int32_t count)
{
    if (!pipeline->joined) return false;
    for (size_t i = 0; i < pipeline->task_count; i++) {
        const br_task *task = pipeline->tasks[i];
        if (strcmp(task->opts.at.topic, topic) != 0 || task->opts.at.partition >= count) continue;
        if (task->phase != BR_TASK_RUNNING || task->next_offset < offsets[task->opts.at.partition])
            return false;
    }
    return true;
}

br_status br_pipeline_reached(br_pipeline *pipeline, const char *topic, const int64_t *offsets,
                              int32_t count, bool *reached, br_err *err)
{
    br_tp *at = br_alloc((size_t)count * sizeof(*at));
    int64_t *committed = br_alloc((size_t)count * sizeof(*committed));
    for (int32_t i = 0; i < count; i++) at[i] = (br_tp){topic, i};
    br_status st = br_consumer_committed(pipeline->consumer, at, committed, (size_t)count, err);
    *reached = st == BR_OK;
    for (int32_t i = 0; st == BR_OK && i < count; i++)
        if (committed[i] < offsets[i]) *reached = false;
    br_free(at);
    br_free(committed);
    return st;
}
