/* runtime/task_restore.c - brings a task's stores up to the end of their changelogs.
 * Shape:     environment -> is its state this job's? -> changelog from the checkpoint on -> input's
 *            ends
 * Thread:    the restorer's; the pipeline goes on with other tasks meanwhile. Whatever the job's
 *            `start` says, a changelog is read from its checkpoint or its first record. */
#include "runtime/task.h"

#include "runtime/base/failpoint.h"
#include "runtime/base/logger.h"
#include "runtime/base/rules.h"

#include <inttypes.h>

enum {
    /* One LMDB transaction. A store that fits into one is appended to, in order; with more, rows
     * are looked up and put one by one, at twice the cost. */
    RESTORE_CHUNK_BYTES = 128 * 1024 * 1024,
    RESTORE_POLL_MS = 200, /* how soon an abandoned task is noticed */
    RESTORE_POLL_RECORDS = 10000,
    /* delete.retention.ms of changelogs is 24 h; tombstones older than that may be gone. */
    CHECKPOINT_AGE_MAX_MS = 23 * 3600 * 1000,
};

static void describe_spec(br_bytes spec, br_buf *out)
{
    Brine__Job__GroupBy *group =
        brine__job__group_by__unpack(NULL, spec.len, (const uint8_t *)spec.data);
    if (!group) {
        br_buf_adds(out, "something unreadable");
        return;
    }
    br_buf_adds(out, "by [");
    for (size_t i = 0; i < group->n_by; i++)
        br_buf_printf(out, "%s%s: %s", i ? ", " : "", group->by[i]->name, group->by[i]->expr);
    br_buf_adds(out, "] aggregate {");
    for (size_t i = 0; i < group->n_aggregate; i++)
        br_buf_printf(out, "%s%s: %s", i ? ", " : "", group->aggregate[i]->name,
                      group->aggregate[i]->expr);
    br_buf_adds(out, "}");
    brine__job__group_by__free_unpacked(group, NULL);
}

/* The state must mean what the job says now, or old bytes would be read as something else. */
static br_status check_spec(const br_task *task, size_t store, br_bytes found, const char *where,
                            br_err *err)
{
    const br_plan_store *wanted = &task->opts.stage->stores[store];
    if (found.len == 0 || br_bytes_equal(found, wanted->spec)) return BR_OK;
    br_buf was = {0}, is = {0};
    describe_spec(found, &was);
    describe_spec(wanted->spec, &is);
    (void)br_fail(
        err, BR_ERR_CONFIG,
        "operator `%s` was changed, but its state (%s) was written by the old one. Written "
        "by: %s. Now: %s. Give the job or the operator another name, or undo the change",
        wanted->id, where, br_buf_cstr(&was), br_buf_cstr(&is));
    br_buf_dispose(&was);
    br_buf_dispose(&is);
    return BR_ERR_CONFIG;
}

static const Brine__State__StoreCheckpoint *find_store(const Brine__State__Checkpoint *checkpoint,
                                                       const char *id)
{
    for (size_t i = 0; checkpoint && i < checkpoint->n_stores; i++)
        if (strcmp(checkpoint->stores[i]->id, id) == 0) return checkpoint->stores[i];
    return NULL;
}

static void raise_horizon(br_task *task, br_version version, int64_t stream_time)
{
    if (version.incarnation != task->opts.incarnation || version.offset < task->context.horizon)
        return;
    task->context.horizon = version.offset;
    task->stream_time = stream_time;
}

/* Takes over what the environment's checkpoint says. */
static br_status read_checkpoint(br_task *task, br_err *err)
{
    const Brine__State__Checkpoint *checkpoint = br_env_checkpoint(task->env);
    br_status st = BR_OK;
    for (size_t i = 0; i < task->opts.stage->store_count; i++) task->changelog_next[i] = -1;
    if (!checkpoint) return BR_OK;
    for (size_t i = 0; st == BR_OK && i < task->opts.stage->store_count; i++) {
        const Brine__State__StoreCheckpoint *store =
            find_store(checkpoint, task->opts.stage->stores[i].id);
        if (!store) continue;
        if (store->has_changelog_next) task->changelog_next[i] = store->changelog_next;
        if (store->has_operator_)
            st = check_spec(task, i, br_bytes_of(store->operator_.data, store->operator_.len),
                            task->dir, err);
    }
    if (checkpoint->has_next_offset) task->stored_next = checkpoint->next_offset;
    if (checkpoint->has_last_hash) task->last_hash = checkpoint->last_hash;
    if (checkpoint->version)
        raise_horizon(task,
                      (br_version){checkpoint->version->incarnation, checkpoint->version->offset},
                      checkpoint->has_stream_time ? checkpoint->stream_time : BR_NO_TIME);
    return st;
}

static br_status open_env(br_task *task, br_err *err)
{
    const br_stage *stage = task->opts.stage;
    const char *ids[BR_OPERATORS_MAX];
    BR_ASSERT(stage->store_count <= BR_OPERATORS_MAX);
    for (size_t i = 0; i < stage->store_count; i++) ids[i] = stage->stores[i].id;
    br_env_opts opts = {.dir = task->dir,
                        .store_ids = ids,
                        .store_count = stage->store_count,
                        .now_ms = br_wall_ms(task->opts.clock),
                        .age_max_ms = CHECKPOINT_AGE_MAX_MS};
    br_status st = br_env_open(&task->env, &opts, err);
    if (st != BR_OK) return st;
    if (br_env_discarded(task->env))
        br_log_line(BR_WARN, "local state discarded, restoring from the changelog",
                    "dir=%s reason=\"%s\"", task->dir, br_env_discarded(task->env));
    return read_checkpoint(task, err);
}

/* Where a changelog's records go. */
typedef struct replay {
    br_restore *restore;
    uint64_t records; /* not yet in the counters */
} replay;

static br_status add_record(void *arg, void *user, const br_record *record, br_err *err)
{
    replay *to = arg;
    (void)user;
    to->records++;
    BR_FAILPOINT("restore.record");
    br_status st = br_restore_add(to->restore, record->offset, record->key, record->value, err);
    if (st >= 0) return st;
    return br_wrap(err, "%s[%" PRId32 "]@%" PRId64, record->topic, record->partition,
                   record->offset);
}

/* Reads until the position (gaps at the end included) reaches the end that the changelog had. */
static br_status read_changelog(br_task *task, br_reader *reader, br_restore *restore, int64_t end,
                                br_err *err)
{
    br_status st = BR_OK;
    while (st >= 0 && br_reader_position(reader) < end && !atomic_load(&task->abandoned)) {
        replay to = {.restore = restore};
        st = br_reader_poll(reader, RESTORE_POLL_MS, RESTORE_POLL_RECORDS, add_record, &to, err);
        br_count(&task->opts.counters->restored, to.records);
    }
    return st < 0 ? st : BR_OK;
}

static br_status changelog_made_again(const char *topic, int32_t partition, int64_t end,
                                      int64_t have, br_err *err)
{
    return br_fail(err, BR_ERR_CONFIG,
                   "changelog topic `%s` partition %" PRId32 " ends at offset %" PRId64
                   ", but the local state holds it up to %" PRId64
                   ": the topic was deleted and made again, and the state has no durable copy any "
                   "more. Give the job another name to begin anew",
                   topic, partition, end, have);
}

/* BR_ERR_LIMIT: the changelog no longer reaches back to the checkpoint. */
static br_status restore_store(br_task *task, size_t store, br_err *err)
{
    const char *topic = task->opts.stage->stores[store].changelog;
    br_tp at = {topic, task->opts.at.partition};
    int64_t low, end, from = task->changelog_next[store];
    br_reader *reader = NULL;
    br_status st = br_log_offsets(task->opts.log, at.topic, at.partition, &low, &end, err);
    if (st != BR_OK) return st;
    if (from > end) return changelog_made_again(topic, at.partition, end, from, err);
    if (from >= 0 && from < low) return br_fail(err, BR_ERR_LIMIT, "checkpoint %" PRId64, from);
    br_restore *restore = br_restore_begin(task->env, store, RESTORE_CHUNK_BYTES);
    task->restores[store] = restore;
    int64_t next = from < 0 ? low : from;
    if (next < end) {
        st = br_reader_open(&reader, task->opts.log, at, next, err);
        if (st == BR_OK) st = read_changelog(task, reader, restore, end, err);
        if (st == BR_OK) next = br_reader_position(reader);
        br_reader_close(reader);
    }
    if (st < 0)
        return br_wrap(err, "restoring from topic `%s` partition %" PRId32, topic, at.partition);
    if (next < end) return br_restore_pause(restore, err); /* abandoned */
    br_restored *found = &task->found[store];
    st = br_restore_finish(restore, next, found, err);
    if (st != BR_OK) return st;
    task->changelog_next[store] = next;
    if (found->records > 0) task->mark_again = true;
    if (store == 0 || BR_RULE(highest_marker))
        raise_horizon(task, found->marker, found->stream_time);
    return check_spec(task, store, found->operator_spec, topic, err);
}

static br_status restore_stores(br_task *task, br_err *err)
{
    br_status st = BR_OK;
    for (size_t i = 0; st == BR_OK && i < task->opts.stage->store_count; i++) {
        if (!task->opts.stage->stores[i].changelog) continue;
        st = restore_store(task, i, err);
    }
    return st;
}

/* The log no longer has what follows the checkpoint: what is local is worth nothing. */
static br_status restore_anew(br_task *task, br_err *err)
{
    br_log_line(BR_WARN,
                "changelog records were deleted before they were restored: groups that the rest "
                "does not hold begin anew",
                "dir=%s", task->dir);
    for (size_t i = 0; i < task->opts.stage->store_count; i++) {
        br_restore_destroy(task->restores[i]);
        task->restores[i] = NULL;
        task->changelog_next[i] = -1;
    }
    task->context.horizon = task->stored_next = -1;
    task->stream_time = BR_NO_TIME;
    task->last_hash = 0;
    br_status st = br_env_wipe(task->env, err);
    return st == BR_OK ? restore_stores(task, err) : st;
}

typedef struct one_record {
    int64_t offset;
    uint64_t hash;
} one_record;

static br_status hash_record(void *arg, void *user, const br_record *record, br_err *err)
{
    one_record *one = arg;
    (void)user;
    (void)err;
    *one = (one_record){record->offset,
                        br_task_record_hash(record->key, record->value, record->timestamp_ms)};
    return BR_END;
}

/* Versions are source offsets: a topic that was deleted and made again must be noticed, or its new
 * records would be passed over as old. */
static br_status check_last_record(br_task *task, br_err *err)
{
    int64_t last = task->stored_next - 1;
    br_reader *reader = NULL;
    one_record one = {-1, 0};
    if (task->last_hash == 0 || last < task->low || last >= task->end) return BR_OK;
    br_status st = br_reader_open(&reader, task->opts.log, task->opts.at, last, err);
    for (int tries = 0; st >= 0 && one.offset < 0 && tries < 25; tries++) {
        st = br_reader_poll(reader, RESTORE_POLL_MS, 1, hash_record, &one, err);
        if (br_reader_position(reader) > last) break;
    }
    br_reader_close(reader);
    if (st < 0) return st;
    if (one.offset != last || one.hash == task->last_hash) return BR_OK;
    return br_fail(err, BR_ERR_CONFIG,
                   "topic `%s` partition %" PRId32 " holds another record at offset %" PRId64
                   " than the one that the job has read there: the topic was deleted and made "
                   "again. Give the job another name, or delete its state folder and its internal "
                   "topics",
                   task->opts.at.topic, task->opts.at.partition, last);
}

br_status br_task_restore(br_task *task, br_err *err)
{
    const br_stage *stage = task->opts.stage;
    br_status st = BR_OK;
    if (stage->store_count > 0) {
        st = open_env(task, err);
        if (st == BR_OK) st = restore_stores(task, err);
        if (st == BR_ERR_LIMIT) st = restore_anew(task, err);
    }
    if (st == BR_OK && !atomic_load(&task->abandoned))
        st = br_log_offsets(task->opts.log, task->opts.at.topic, task->opts.at.partition,
                            &task->low, &task->end, err);
    if (st == BR_OK && stage->kind == BR_STAGE_SOURCE) st = check_last_record(task, err);
    if (st == BR_OK && stage->kind == BR_STAGE_MERGE && task->stored_next > task->end)
        st = changelog_made_again(task->opts.at.topic, task->opts.at.partition, task->end,
                                  task->stored_next, err);
    return st;
}
