/* runtime/commit.c - see commit.h. */
#include "runtime/commit.h"

#include "runtime/base/alloc.h"
#include "runtime/base/failpoint.h"
#include "runtime/base/logger.h"
#include "runtime/base/rules.h"
#include "runtime/pipeline_internal.h"

#include <inttypes.h>

/* Takes part in this commit: running, or emitting before its start; and not a stage-two task that
 * has not yet read what was there when it started. */
static bool takes_part(const br_task *task)
{
    if (task->phase != BR_TASK_RUNNING && task->phase != BR_TASK_EMITTING) return false;
    return task->next_offset >= task->gate && br_task_changed(task);
}

static br_status flush_operators(br_pipeline *pipeline, br_err *err)
{
    for (size_t i = 0; i < pipeline->task_count; i++) {
        br_task *task = pipeline->tasks[i];
        if (!takes_part(task)) continue;
        br_status st = br_chain_flush(&task->chain, err);
        br_batch_reset(pipeline->batch);
        if (st != BR_OK)
            return br_wrap(err, "%s-%" PRId32, task->opts.at.topic, task->opts.at.partition);
    }
    return BR_OK;
}

/* The horizon that the task will have when this commit is done. */
static br_version horizon_after(const br_task *task)
{
    int64_t read = task->next_offset - 1;
    int64_t offset = read > task->context.horizon ? read : task->context.horizon;
    return (br_version){task->opts.incarnation, offset};
}

static br_status send_markers(br_pipeline *pipeline, br_err *err)
{
    br_buf marker = {0};
    br_status st = BR_OK;
    for (size_t i = 0; st == BR_OK && i < pipeline->task_count; i++) {
        br_task *task = pipeline->tasks[i];
        const br_stage_handles *handles = br_pipeline_handles(task);
        if (!takes_part(task)) continue;
        for (size_t s = 0; st == BR_OK && s < task->opts.stage->store_count; s++) {
            const br_plan_store *store = &task->opts.stage->stores[s];
            if (!store->changelog) continue;
            br_buf_reset(&marker);
            br_marker_encode(&marker, horizon_after(task), task->stream_time, store->spec);
            br_out_record record = {.partition = task->opts.at.partition,
                                    .key = BR_MARKER_KEY,
                                    .value = br_buf_bytes(&marker),
                                    .timestamp_ms = -1};
            task->changelog_sent[s]++;
            st = br_producer_send(pipeline->producer, handles->changelogs[s], &record, err);
        }
    }
    br_buf_dispose(&marker);
    return st;
}

/* The store's index is the place in the stage; every table of the task writes its own. */
static br_status write_tables(void *arg, br_env_txn *txn, br_err *err)
{
    br_task *task = arg;
    br_status st = BR_OK;
    for (size_t i = 0; st == BR_OK && i < task->chain.op_count; i++)
        if (task->chain.ops[i]->table) st = br_table_write(task->chain.ops[i]->table, txn, err);
    return st;
}

static br_status write_task(br_task *task, br_err *err)
{
    const br_stage *stage = task->opts.stage;
    Brine__State__StoreCheckpoint stores[BR_OPERATORS_MAX], *at[BR_OPERATORS_MAX];
    Brine__State__Version version = BRINE__STATE__VERSION__INIT;
    Brine__State__Checkpoint checkpoint = BRINE__STATE__CHECKPOINT__INIT;
    br_version horizon = horizon_after(task);
    for (size_t i = 0; i < stage->store_count; i++) {
        stores[i] = (Brine__State__StoreCheckpoint)BRINE__STATE__STORE_CHECKPOINT__INIT;
        stores[i].id = (char *)(uintptr_t)stage->stores[i].id;
        stores[i].has_changelog_next = task->changelog_next[i] >= 0;
        stores[i].changelog_next = task->changelog_next[i];
        stores[i].has_operator_ = true;
        stores[i].operator_.data = (uint8_t *)(uintptr_t)stage->stores[i].spec.data;
        stores[i].operator_.len = stage->stores[i].spec.len;
        at[i] = &stores[i];
    }
    version.has_incarnation = version.has_offset = true;
    version.incarnation = horizon.incarnation;
    version.offset = horizon.offset;
    if (stage->kind == BR_STAGE_SOURCE) checkpoint.version = &version;
    checkpoint.has_next_offset = true;
    checkpoint.next_offset = task->next_offset;
    checkpoint.has_stream_time = task->stream_time != BR_NO_TIME;
    checkpoint.stream_time = task->stream_time;
    checkpoint.has_wall_ms = true;
    checkpoint.wall_ms = br_wall_ms(task->opts.clock);
    checkpoint.has_last_hash = task->last_hash != 0;
    checkpoint.last_hash = task->last_hash;
    checkpoint.n_stores = stage->store_count;
    checkpoint.stores = at;
    return br_env_write(task->env, write_tables, task, &checkpoint, err);
}

br_status br_commit_rows(br_task *task, br_err *err)
{
    br_status st = write_task(task, err);
    if (st != BR_OK) return st;
    task->stored_next = task->next_offset;
    for (size_t i = 0; i < task->chain.op_count; i++)
        if (task->chain.ops[i]->table) br_table_stored(task->chain.ops[i]->table);
    return BR_OK;
}

static void tables_committed(br_task *task)
{
    for (size_t i = 0; i < task->chain.op_count; i++)
        if (task->chain.ops[i]->table) br_table_committed(task->chain.ops[i]->table);
}

/* Where the changelog stands now: our marker is its last record of this commit. With exactly_once
 * zombies are fenced, and transactions leave gaps of their own. */
static void note_changelogs(const br_stage_handles *handles, br_task *task)
{
    bool exactly_once = handles->pipeline->opts.plan->exactly_once;
    for (size_t s = 0; s < task->opts.stage->store_count; s++) {
        if (!handles->changelogs[s]) continue;
        int64_t last = br_topic_ref_last_offset(handles->changelogs[s], task->opts.at.partition);
        if (!exactly_once)
            br_task_note_changelog(task, s, last);
        else if (last >= task->changelog_next[s])
            task->changelog_next[s] = last + 1;
    }
}

static br_status store_tasks(br_pipeline *pipeline, br_err *err)
{
    for (size_t i = 0; i < pipeline->task_count; i++) {
        br_task *task = pipeline->tasks[i];
        if (!takes_part(task)) continue;
        note_changelogs(br_pipeline_handles(task), task);
        if (task->env) {
            br_status st = write_task(task, err);
            if (st != BR_OK)
                return br_wrap(err, "storing the state of %s-%" PRId32, task->opts.at.topic,
                               task->opts.at.partition);
        }
        task->context.horizon = horizon_after(task).offset;
        task->stored_next = task->next_offset;
        task->mark_again = false;
        tables_committed(task);
        BR_FAILPOINT("commit.task_stored");
    }
    return BR_OK;
}

/* What this commit commits to the group. */
typedef struct progress {
    br_tp *at;
    int64_t *offsets;
    size_t count;
} progress;

static bool commits_offset(const br_task *task)
{
    return task->phase == BR_TASK_RUNNING && task->next_offset >= task->gate;
}

static progress collect_offsets(const br_pipeline *pipeline)
{
    progress p = {.at = br_alloc(pipeline->task_count * sizeof(*p.at)),
                  .offsets = br_alloc(pipeline->task_count * sizeof(*p.offsets))};
    for (size_t i = 0; i < pipeline->task_count; i++) {
        const br_task *task = pipeline->tasks[i];
        if (!commits_offset(task) || task->committed == task->next_offset) continue;
        p.at[p.count] = task->opts.at;
        p.offsets[p.count++] = task->next_offset;
    }
    return p;
}

static void finish_offsets(br_pipeline *pipeline, progress *p, br_status st)
{
    for (size_t i = 0; st == BR_OK && i < pipeline->task_count; i++) {
        br_task *task = pipeline->tasks[i];
        if (commits_offset(task)) task->committed = task->next_offset;
    }
    br_free(p->at);
    br_free(p->offsets);
}

static br_status commit_offsets(br_pipeline *pipeline, br_err *err)
{
    progress p = collect_offsets(pipeline);
    br_status st = BR_OK;
    if (p.count > 0) st = br_consumer_commit(pipeline->consumer, p.at, p.offsets, p.count, err);
    finish_offsets(pipeline, &p, st);
    return st == BR_EMPTY ? BR_OK : st; /* the next commit makes up for it */
}

static br_status commit_transaction(br_pipeline *pipeline, br_err *err)
{
    progress p = collect_offsets(pipeline);
    br_status st =
        br_producer_commit(pipeline->producer, pipeline->consumer, p.at, p.offsets, p.count, err);
    finish_offsets(pipeline, &p, st);
    return st;
}

static br_status commit_in_steps(br_pipeline *pipeline, br_err *err)
{
    br_status st = BR_OK;
    if (BR_RULE(marker_after_acks)) st = br_producer_flush(pipeline->producer, err); /* 2 */
    BR_FAILPOINT("commit.acked");
    if (st == BR_OK) st = send_markers(pipeline, err); /* 3 */
    if (st == BR_OK) st = br_producer_flush(pipeline->producer, err);
    BR_FAILPOINT("commit.marked");
    if (st == BR_OK) st = store_tasks(pipeline, err); /* 4 */
    BR_FAILPOINT("commit.stored");
    return st == BR_OK ? commit_offsets(pipeline, err) : st; /* 5 */
}

static br_status commit_at_once(br_pipeline *pipeline, br_err *err)
{
    br_status st = send_markers(pipeline, err);
    BR_FAILPOINT("commit.marked");
    if (st == BR_OK) st = commit_transaction(pipeline, err); /* 3 and 5 */
    BR_FAILPOINT("commit.acked");
    if (st == BR_OK) st = store_tasks(pipeline, err); /* 4 */
    BR_FAILPOINT("commit.stored");
    return st;
}

br_status br_commit(br_pipeline *pipeline, br_err *err)
{
    int64_t began_ms = br_mono_ms(pipeline->opts.clock);
    br_status st = flush_operators(pipeline, err); /* 1 */
    BR_FAILPOINT("commit.flushed");
    if (st == BR_OK)
        st = pipeline->opts.plan->exactly_once ? commit_at_once(pipeline, err)
                                               : commit_in_steps(pipeline, err);
    BR_FAILPOINT("commit.done");
    if (st == BR_OK) br_count(&pipeline->opts.counters->commits, 1);
    pipeline->committed_at_ms = br_mono_ms(pipeline->opts.clock);
    pipeline->commit_took_ms[1] = pipeline->commit_took_ms[0];
    pipeline->commit_took_ms[0] = pipeline->committed_at_ms - began_ms;
    pipeline->sent_bytes = 0;
    return st;
}
