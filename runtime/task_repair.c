/* runtime/task_repair.c - mends what a zombie wrote into this task's changelogs.
 * A worker that was stopped, lost its partitions and woke up may still have records in flight. Its
 * rows are older, or (it was ahead) newer than ours. DESIGN.md section 3: a gap in the offsets of
 * our own records shows it; what stands there is joined by version, and where it is the last record
 * of its key, ours is written again with this commit, before the cleaner may keep the zombie's
 * only.
 * Shape:     gap seen, or time to look -> read [expected, end) -> br_group_by_join
 * Thread:    the pipeline's. */
#include "runtime/task.h"

#include "operators/group_by.h"
#include "runtime/base/logger.h"
#include "runtime/base/rules.h"

#include <inttypes.h>

enum {
    LOOK_EVERY_MS = 3000, /* also when there is nothing to write: a zombie may come late */
    READ_MS = 100,
    READ_RECORDS = 10000,
    READ_TRIES = 100,
};

static br_op *operator_of_store(const br_task *task, size_t store)
{
    for (size_t i = 0; i < task->chain.op_count; i++)
        if (task->chain.ops[i]->store == store) return task->chain.ops[i];
    return NULL;
}

static br_status join_record(void *arg, void *user, const br_record *record, br_err *err)
{
    (void)user;
    if (!record->value.data || br_bytes_equal(record->key, BR_MARKER_KEY)) return BR_OK;
    br_status st = br_group_by_join(arg, record->key, record->value, err);
    if (st == BR_OK) return BR_OK;
    return br_wrap(err, "%s[%" PRId32 "]@%" PRId64, record->topic, record->partition,
                   record->offset);
}

static br_status read_gap(br_task *task, size_t store, br_tp at, int64_t end, br_err *err)
{
    br_reader *reader;
    br_op *op = operator_of_store(task, store);
    br_status st = br_reader_open(&reader, task->opts.log, at, task->changelog_next[store], err);
    if (st != BR_OK) return st;
    for (int i = 0; st >= 0 && br_reader_position(reader) < end && i < READ_TRIES; i++)
        st = br_reader_poll(reader, READ_MS, READ_RECORDS, join_record, op, err);
    if (st >= 0) task->changelog_next[store] = br_reader_position(reader);
    task->mark_again = true;
    br_reader_close(reader);
    return st < 0 ? st : BR_OK;
}

static br_status repair_store(br_task *task, size_t store, br_err *err)
{
    br_tp at = {task->opts.stage->stores[store].changelog, task->opts.at.partition};
    int64_t low, end;
    br_status st = br_log_offsets(task->opts.log, at.topic, at.partition, &low, &end, err);
    if (st != BR_OK || end <= task->changelog_next[store]) return st;
    br_log_line(BR_INFO, "foreign records in the changelog: joined",
                "topic=%s partition=%" PRId32 " from=%" PRId64 " to=%" PRId64, at.topic,
                at.partition, task->changelog_next[store], end);
    return read_gap(task, store, at, end, err);
}

br_status br_task_repair(br_task *task, br_err *err)
{
    int64_t now = br_mono_ms(task->opts.clock);
    bool look = task->foreign || now - task->looked_ms >= LOOK_EVERY_MS;
    br_status st = BR_OK;
    if (!look || task->opts.stage->kind != BR_STAGE_SOURCE || !BR_RULE(gap_repair)) return BR_OK;
    for (size_t s = 0; st == BR_OK && s < task->opts.stage->store_count; s++)
        if (task->opts.stage->stores[s].changelog) st = repair_store(task, s, err);
    task->looked_ms = now;
    task->foreign = false;
    return st;
}

void br_task_note_changelog(br_task *task, size_t store, int64_t last)
{
    int64_t expected = task->changelog_next[store] + (int64_t)task->changelog_sent[store] - 1;
    if (last == expected || !BR_RULE(gap_repair))
        task->changelog_next[store] = last + 1;
    else
        task->foreign = true; /* changelog_next stays: the next commit reads from there */
    task->changelog_sent[store] = 0;
}
