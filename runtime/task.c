/* runtime/task.c - see task.h. Life and start of a task; its restore is in task_restore.c. */
#include "runtime/task.h"

#include "operators/tuple.h"
#include "runtime/base/alloc.h"
#include "runtime/base/hash.h"
#include "runtime/base/logger.h"
#include "runtime/base/rules.h"

#include <inttypes.h>
#include <stdio.h>

/* The stage-one task's name in partials: (source operator, topic, partition). */
static void make_partial_id(br_task *task)
{
    br_value id[] = {br_value_text(br_str(task->opts.stage->id)),
                     br_value_text(br_str(task->opts.at.topic)),
                     br_value_int(task->opts.at.partition)};
    for (size_t i = 0; i < BR_COUNTOF(id); i++) br_tuple_add(&task->partial_id, &id[i]);
    task->context.partial_id = br_buf_bytes(&task->partial_id);
}

uint64_t br_task_record_hash(br_bytes key, br_bytes value, int64_t timestamp_ms)
{
    uint64_t parts[] = {key.data ? br_hash64(key) : 0, value.data ? br_hash64(value) : 0,
                        (uint64_t)timestamp_ms};
    return br_hash64(br_bytes_of(parts, sizeof(parts)));
}

br_task *br_task_create(const br_task_opts *opts)
{
    br_task *task = BR_NEW(br_task);
    size_t stores = opts->stage->store_count;
    br_buf dir = {0};
    task->opts = *opts;
    br_buf_printf(&dir, "%s/%s/%s-%" PRId32, opts->state_dir, opts->job, opts->at.topic,
                  opts->at.partition);
    task->dir = br_strdup(br_buf_cstr(&dir));
    br_buf_dispose(&dir);
    task->restores = br_calloc(stores, sizeof(*task->restores));
    task->found = br_calloc(stores, sizeof(*task->found));
    task->changelog_next = br_calloc(stores, sizeof(*task->changelog_next));
    task->changelog_sent = br_calloc(stores, sizeof(*task->changelog_sent));
    task->stored_next = task->committed = -1;
    task->stream_time = BR_NO_TIME;
    task->context = (br_task_context){.outlet = &task->outlet,
                                      .incarnation = opts->incarnation,
                                      .horizon = -1,
                                      .stop_offset = INT64_MAX};
    make_partial_id(task);
    return task;
}

static void forget_restores(br_task *task)
{
    for (size_t i = 0; i < task->opts.stage->store_count; i++) {
        br_restore_destroy(task->restores[i]);
        task->restores[i] = NULL;
        task->found[i] = (br_restored){0};
    }
}

void br_task_destroy(br_task *task, bool clean)
{
    if (!task) return;
    br_chain_dispose(&task->chain);
    forget_restores(task);
    br_env_close(task->env, clean);
    br_free(task->restores);
    br_free(task->found);
    br_free(task->changelog_next);
    br_free(task->changelog_sent);
    br_free(task->dir);
    br_buf_dispose(&task->partial_id);
    br_free(task);
}

/* Rows whose last changelog record is a zombie's must be said again. */
static br_status mend(br_task *task, br_err *err)
{
    br_status st = BR_OK;
    for (size_t i = 0; st == BR_OK && i < task->chain.op_count; i++) {
        br_op *op = task->chain.ops[i];
        if (op->store == SIZE_MAX || !task->restores[op->store]) continue;
        const br_restored *found = &task->found[op->store];
        if (found->mend_count > 0 && BR_RULE(restore_mends))
            st = br_group_by_mend(op, found->mend, found->mend_count, err);
    }
    return st;
}

static br_status first_offset(const br_task *task, int64_t *start, br_err *err)
{
    const br_stage *stage = task->opts.stage;
    *start = task->low;
    if (stage->start == BR_START_LATEST) *start = task->end;
    if (stage->start != BR_START_TIME) return BR_OK;
    return br_log_offset_at(task->opts.log, task->opts.at.topic, task->opts.at.partition,
                            stage->start_ms, start, err);
}

/* Records that retention took before they were read: said loudly, never passed over in silence. */
static void report_lost(br_task *task, int64_t start)
{
    int64_t first = start > task->context.horizon + 1 ? start : task->context.horizon + 1;
    if (task->low <= first) return;
    br_count(&task->opts.counters->lost, (uint64_t)(task->low - first));
    br_log_line(BR_ERROR, "source records lost: deleted before they were read",
                "topic=%s partition=%" PRId32 " lost=%" PRId64 " offsets=[%" PRId64 ",%" PRId64 ")",
                task->opts.at.topic, task->opts.at.partition, task->low - first, first, task->low);
}

/* Wherever an offset above 0 is committed, a marker stands in a changelog: BR_TASK_EMITTING writes
 * the first one before the first offset is committed. */
static br_status check_state_is_there(const br_task *task, br_err *err)
{
    const br_stage *stage = task->opts.stage;
    if (task->committed <= 0 || task->context.horizon >= 0 || stage->store_count == 0) return BR_OK;
    return br_fail(err, BR_ERR_CONFIG,
                   "the group has read `%s` partition %" PRId32 " up to offset %" PRId64
                   ", but topic `%s` holds no state of it: the topic was deleted, or the operator "
                   "reads other sources than before, and totals would begin anew. Give the job "
                   "another name to count everything again",
                   task->opts.at.topic, task->opts.at.partition, task->committed,
                   stage->stores[0].changelog);
}

static br_status input_made_again(const br_task *task, int64_t read, br_err *err)
{
    return br_fail(err, BR_ERR_CONFIG,
                   "topic `%s` partition %" PRId32 " ends at offset %" PRId64
                   ", but the job has read it up to %" PRId64
                   ": the topic was deleted and made again. Give the job another name, or delete "
                   "its state folder and its internal topics",
                   task->opts.at.topic, task->opts.at.partition, task->end, read);
}

static br_status prepare_source(br_task *task, br_err *err)
{
    int64_t start = task->committed;
    if (!BR_RULE(start_at_committed) && start >= 0 && start <= task->context.horizon)
        start = task->context.horizon + 1;
    br_status st = check_state_is_there(task, err);
    task->phase = start < 0 && task->env ? BR_TASK_EMITTING : BR_TASK_STARTING;
    if (st == BR_OK && start < 0 && task->context.horizon >= 0)
        start = task->context.horizon + 1;
    else if (st == BR_OK && start < 0)
        st = first_offset(task, &start, err);
    if (st != BR_OK) return st;
    if (task->end < start) return input_made_again(task, start, err);
    report_lost(task, start);
    task->next_offset = start < task->low ? task->low : start;
    /* The checkpoint's is of another record then, and must not be stored with this offset. */
    if (task->next_offset != task->stored_next) task->last_hash = 0;
    return BR_OK;
}

/* Stage two starts at the lower of its checkpoint and the committed offset, and emits nothing until
 * it has read to the end that its partition has now: totals on the way there are old. */
static br_status prepare_merge(br_task *task, br_err *err)
{
    if (task->committed > task->end) return input_made_again(task, task->committed, err);
    int64_t stored = task->stored_next < 0 ? 0 : task->stored_next;
    int64_t acked = task->committed < 0 ? 0 : task->committed;
    int64_t start = stored < acked || !BR_RULE(start_at_committed) ? stored : acked;
    task->next_offset = start < task->low ? task->low : start;
    task->context.emit_from = acked;
    task->gate = BR_RULE(nothing_before_end) ? task->end : 0;
    task->phase = BR_TASK_STARTING;
    return BR_OK;
}

br_status br_task_prepare(br_task *task, int64_t committed, br_arena *arena, br_budget *budget,
                          br_err *err)
{
    const br_stage *stage = task->opts.stage;
    task->committed = committed;
    task->context.arena = arena;
    uint64_t seed = (uint64_t)task->opts.at.partition + 1;
    br_chain_build(&task->chain, stage, &task->context, task->env, budget, seed);
    br_status st = mend(task, err);
    forget_restores(task);
    if (st != BR_OK) return st;
    return stage->kind == BR_STAGE_MERGE ? prepare_merge(task, err) : prepare_source(task, err);
}

bool br_task_dirty(const br_task *task)
{
    for (size_t i = 0; i < task->chain.op_count; i++) {
        const br_op *op = task->chain.ops[i];
        size_t dirty, emit;
        if (!op->table) continue;
        (void)br_table_dirty(op->table, &dirty);
        (void)br_table_emit(op->table, &emit);
        if (dirty + emit > 0) return true;
    }
    return false;
}

bool br_task_changed(const br_task *task)
{
    return task->next_offset != task->committed || task->next_offset != task->stored_next ||
           task->mark_again || br_task_dirty(task);
}
