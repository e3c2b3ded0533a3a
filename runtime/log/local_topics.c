/* runtime/log/local_topics.c - topics of the embedded log: made, listed, measured. See local.h. */
#include "runtime/log/local.h"

#include "runtime/base/alloc.h"
#include "runtime/base/limits.h"
#include "runtime/base/names.h"
#include "runtime/log/local_record.h"

#include <inttypes.h>
#include <stdio.h>

static MDB_val val_of(const void *data, size_t len)
{
    return (MDB_val){len, (void *)(uintptr_t)data};
}

void br_local_partition_key(char out[BR_LOCAL_PARTITION_KEY], uint32_t topic, int32_t partition)
{
    br_put_u64_be(out, (uint64_t)topic << 32 | (uint32_t)partition);
}

void br_local_record_key(char out[BR_LOCAL_RECORD_KEY], uint32_t topic, int32_t partition,
                         int64_t offset)
{
    br_local_partition_key(out, topic, partition);
    br_put_u64_be(out + BR_LOCAL_PARTITION_KEY, (uint64_t)offset);
}

int br_local_end(const br_local *log, MDB_txn *txn, uint32_t topic, int32_t partition, int64_t *end)
{
    char bytes[BR_LOCAL_PARTITION_KEY];
    br_local_partition_key(bytes, topic, partition);
    MDB_val key = val_of(bytes, sizeof(bytes)), val;
    *end = 0;
    int rc = mdb_get(txn, log->ends, &key, &val);
    if (rc == MDB_NOTFOUND) return 0; /* nothing was appended yet */
    if (rc == 0 && val.mv_size != 8) return MDB_CORRUPTED;
    if (rc == 0) *end = (int64_t)br_get_u64_be(val.mv_data);
    return rc;
}

/* LMDB code. */
static int get_topic(const br_local *log, MDB_txn *txn, const char *name, br_local_topic *out)
{
    MDB_val key = val_of(name, strlen(name)), val;
    if (key.mv_size == 0 || key.mv_size > BR_TOPIC_BYTES_MAX) return MDB_NOTFOUND;
    int rc = mdb_get(txn, log->topics, &key, &val);
    if (rc == 0 && val.mv_size != sizeof(*out)) return MDB_CORRUPTED;
    if (rc == 0) memcpy(out, val.mv_data, sizeof(*out));
    return rc;
}

br_status br_local_find_topic(br_local *log, const char *name, br_local_topic *out, br_err *err)
{
    MDB_txn *txn;
    *out = (br_local_topic){0};
    if (br_local_read_begin(log, &txn, err) != BR_OK) return err->status;
    int rc = get_topic(log, txn, name, out);
    br_local_read_end(log, txn);
    if (rc == MDB_NOTFOUND) return BR_NOT_FOUND;
    return rc == 0 ? BR_OK : br_local_fail(log, rc, "look up a topic", err);
}

br_status br_local_find_partition(br_local *log, br_tp at, br_local_topic *out, br_err *err)
{
    br_status st = br_local_find_topic(log, at.topic, out, err);
    if (st == BR_NOT_FOUND)
        return br_fail(err, BR_ERR_CONFIG, "no topic `%s` in %s: create it first", at.topic,
                       log->description);
    if (st == BR_OK && (at.partition < 0 || at.partition >= out->partitions))
        return br_fail(err, BR_ERR_CONFIG,
                       "topic `%s` has no partition %" PRId32 ": it has 0 to %" PRId32, at.topic,
                       at.partition, out->partitions - 1);
    return st;
}

br_status br_local_topic_info(br_log *base, const char *name, br_topic_info *out, br_err *err)
{
    br_local_topic topic;
    br_status st = br_local_find_topic((br_local *)base, name, &topic, err);
    if (st != BR_OK) return st;
    *out = (br_topic_info){.partitions = topic.partitions,
                           .retention_ms = -1,
                           .max_message_bytes = BR_LOCAL_VALUE_BYTES_MAX};
    (void)snprintf(out->cleanup_policy, sizeof(out->cleanup_policy), "%s%s",
                   topic.compacted ? "compact" : "delete",
                   topic.compacted && topic.deleting ? ",delete" : "");
    return BR_OK;
}

/* ---- creating ---- */

static br_status read_policy(const br_topic_spec *spec, br_local_topic *topic, br_err *err)
{
    const char *policy = "delete";
    for (size_t i = 0; i < spec->setting_count; i++)
        if (strcmp(spec->settings[i].name, "cleanup.policy") == 0) policy = spec->settings[i].value;
    bool both = strcmp(policy, "compact,delete") == 0 || strcmp(policy, "delete,compact") == 0;
    topic->deleting = both || strcmp(policy, "delete") == 0;
    topic->compacted = both || strcmp(policy, "compact") == 0;
    if (topic->deleting || topic->compacted) return BR_OK;
    return br_fail(err, BR_ERR_CONFIG,
                   "topic `%s`: cleanup.policy `%s` is not known: use delete, compact, or "
                   "compact,delete",
                   spec->name, policy);
}

typedef struct creation {
    const br_local *log;
    const char *name;
    br_local_topic topic;
} creation;

/* Ids count up and topics are never removed, so the next is the number of topics. */
static int put_topic(void *arg, MDB_txn *txn)
{
    creation *c = arg;
    MDB_stat stat;
    int rc = mdb_stat(txn, c->log->topics, &stat);
    if (rc != 0) return rc;
    c->topic.id = (uint32_t)stat.ms_entries;
    MDB_val key = val_of(c->name, strlen(c->name)), val = val_of(&c->topic, sizeof(c->topic));
    rc = mdb_put(txn, c->log->topics, &key, &val, MDB_NOOVERWRITE);
    return rc == MDB_KEYEXIST ? 0 : rc;
}

br_status br_local_create_topic(br_log *base, const br_topic_spec *spec, br_err *err)
{
    br_local *log = (br_local *)base;
    creation c = {.log = log, .name = spec->name, .topic = {.partitions = spec->partitions}};
    if (br_check_name("topic", br_str(spec->name), BR_TOPIC_BYTES_MAX, err) != BR_OK)
        return err->status;
    if (spec->partitions < 1 || spec->partitions > BR_PARTITIONS_MAX)
        return br_fail(err, BR_ERR_CONFIG,
                       "topic `%s`: %" PRId32 " partitions are not possible: 1 to %d are",
                       spec->name, spec->partitions, BR_PARTITIONS_MAX);
    if (read_policy(spec, &c.topic, err) != BR_OK) return err->status;
    return br_local_write(log, put_topic, &c, "create a topic", err);
}

static int grow(void *arg, MDB_txn *txn)
{
    creation *c = arg;
    br_local_topic topic;
    MDB_val key = val_of(c->name, strlen(c->name)), val;
    int rc = mdb_get(txn, c->log->topics, &key, &val);
    if (rc != 0) return rc;
    if (val.mv_size != sizeof(topic)) return MDB_CORRUPTED;
    memcpy(&topic, val.mv_data, sizeof(topic));
    if (topic.partitions >= c->topic.partitions) return 0;
    topic.partitions = c->topic.partitions;
    val = val_of(&topic, sizeof(topic));
    return mdb_put(txn, c->log->topics, &key, &val, 0);
}

br_status br_local_grow_topic(br_log *base, const char *name, int32_t partitions, br_err *err)
{
    br_local *log = (br_local *)base;
    creation c = {.log = log, .name = name, .topic = {.partitions = partitions}};
    return br_local_write(log, grow, &c, "add partitions to a topic", err);
}

/* ---- listing ---- */

typedef struct listing {
    br_buf names; /* NUL behind each */
    int32_t *partitions;
    size_t count, cap;
} listing;

static int list_topics(const br_local *log, MDB_txn *txn, listing *list)
{
    MDB_cursor *cursor;
    MDB_val key, val;
    br_local_topic topic;
    int rc = mdb_cursor_open(txn, log->topics, &cursor);
    if (rc != 0) return rc;
    while ((rc = mdb_cursor_get(cursor, &key, &val, MDB_NEXT)) == 0) {
        if (val.mv_size != sizeof(topic)) {
            rc = MDB_CORRUPTED;
            break;
        }
        memcpy(&topic, val.mv_data, sizeof(topic));
        br_buf_add(&list->names, key.mv_data, key.mv_size);
        br_buf_addc(&list->names, '\0');
        list->partitions =
            br_grow(list->partitions, &list->cap, list->count + 1, sizeof(*list->partitions));
        list->partitions[list->count++] = topic.partitions;
    }
    mdb_cursor_close(cursor);
    return rc == MDB_NOTFOUND ? 0 : rc;
}

br_status br_local_topics(br_log *base, br_topic_visit visit, void *arg, br_err *err)
{
    br_local *log = (br_local *)base;
    listing list = {0};
    MDB_txn *txn;
    if (br_local_read_begin(log, &txn, err) != BR_OK) return err->status;
    int rc = list_topics(log, txn, &list);
    br_local_read_end(log, txn);
    br_status st = rc == 0 ? BR_OK : br_local_fail(log, rc, "list its topics", err);
    const char *name = list.names.data;
    for (size_t i = 0; st == BR_OK && i < list.count; i++, name += strlen(name) + 1)
        st = visit(arg, name, list.partitions[i], err);
    br_buf_dispose(&list.names);
    br_free(list.partitions);
    return st;
}

/* ---- offsets ---- */

br_status br_local_offsets(br_log *base, const char *name, int32_t partition, int64_t *low,
                           int64_t *end, br_err *err)
{
    br_local *log = (br_local *)base;
    br_local_topic topic;
    MDB_txn *txn;
    if (br_local_find_partition(log, (br_tp){name, partition}, &topic, err) != BR_OK)
        return err->status;
    if (br_local_read_begin(log, &txn, err) != BR_OK) return err->status;
    int rc = br_local_end(log, txn, topic.id, partition, end);
    br_local_read_end(log, txn);
    *low = 0; /* as in Kafka, compaction does not move the beginning */
    return rc == 0 ? BR_OK : br_local_fail(log, rc, "read the end of a partition", err);
}

static int scan_for_time(const br_local *log, MDB_txn *txn, const char prefix[], int64_t ms,
                         int64_t *offset)
{
    MDB_cursor *cursor;
    int rc = mdb_cursor_open(txn, log->records, &cursor);
    if (rc != 0) return rc;
    char from[BR_LOCAL_RECORD_KEY] = {0};
    memcpy(from, prefix, BR_LOCAL_PARTITION_KEY);
    MDB_val key = val_of(from, sizeof(from)), val;
    for (rc = mdb_cursor_get(cursor, &key, &val, MDB_SET_RANGE); rc == 0;
         rc = mdb_cursor_get(cursor, &key, &val, MDB_NEXT)) {
        br_local_record record;
        if (key.mv_size != BR_LOCAL_RECORD_KEY) rc = MDB_CORRUPTED;
        if (rc != 0 || memcmp(key.mv_data, prefix, BR_LOCAL_PARTITION_KEY) != 0) break;
        if (!br_local_record_decode(br_bytes_of(val.mv_data, val.mv_size), &record)) {
            rc = MDB_CORRUPTED;
            break;
        }
        if (record.timestamp_ms < ms) continue;
        *offset = (int64_t)br_get_u64_be((char *)key.mv_data + BR_LOCAL_PARTITION_KEY);
        break;
    }
    mdb_cursor_close(cursor);
    return rc == MDB_NOTFOUND ? 0 : rc;
}

br_status br_local_offset_at(br_log *base, const char *name, int32_t partition, int64_t ms,
                             int64_t *offset, br_err *err)
{
    br_local *log = (br_local *)base;
    br_local_topic topic;
    MDB_txn *txn;
    if (br_local_find_partition(log, (br_tp){name, partition}, &topic, err) != BR_OK)
        return err->status;
    if (br_local_read_begin(log, &txn, err) != BR_OK) return err->status;
    char prefix[BR_LOCAL_PARTITION_KEY];
    br_local_partition_key(prefix, topic.id, partition);
    int rc = br_local_end(log, txn, topic.id, partition, offset);
    if (rc == 0) rc = scan_for_time(log, txn, prefix, ms, offset);
    br_local_read_end(log, txn);
    return rc == 0 ? BR_OK : br_local_fail(log, rc, "look for a timestamp", err);
}
