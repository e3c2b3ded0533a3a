/* runtime/log/local_producer.c - appends to the embedded log. See local.h.
 * Shape:     send encodes into one buffer -> flush, or a full buffer, writes all in one
 *            transaction; a transactional producer keeps everything until its commit
 * Invariant: a transaction is stored whole or not at all, and in the order of send per partition.
 * Memory:    PENDING_BYTES_MAX and one record; transactional: what the caller sends in between. */
#include "runtime/base/alloc.h"
#include "runtime/base/hash.h"
#include "runtime/log/local.h"
#include "runtime/log/local_record.h"

#include <inttypes.h>

enum {
    PENDING_BYTES_MAX = 8 * 1024 * 1024,
    /* LMDB 0.9.24 gets slow, and leaks, beyond 131,071 changed pages in a transaction. An append
     * changes a page at most; compaction may change one in each of three sub-databases. */
    PENDING_PAGES_MAX = 50000,
    COMPACTED_PAGES = 3,
    KEPT_BYTES_MAX = 2 * PENDING_BYTES_MAX,
    EXTRA_BYTES_MAX = 4 * 1024 * 1024, /* key and headers of a record */
    KEY_HASH = 16,
};

static const uint32_t nothing = UINT32_MAX;

typedef struct pending {
    size_t start, len;
    uint32_t next; /* of the same partition, in order */
} pending;

typedef struct queue {
    uint32_t first, last;
    int64_t next_offset; /* as of the transaction that runs */
} queue;

typedef struct topic_ref {
    br_topic_ref base;
    struct topic_ref *next;
    br_local_topic topic;
    queue *queues; /* one per partition */
} topic_ref;

typedef struct producer {
    br_producer base;
    br_local *log;
    bool transactional;
    topic_ref *topics;
    br_buf bytes;
    pending *pending;
    size_t count, cap;
    size_t pages;  /* that writing them may change */
    br_err broken; /* status BR_OK: not broken */
} producer;

br_status br_local_producer_open(br_producer **out, br_log *log, br_err *err)
{
    (void)err;
    producer *p = BR_NEW(producer);
    p->base.vtable = &br_local_vtable;
    p->log = (br_local *)log;
    *out = &p->base;
    return BR_OK;
}

/* The group's lock fences: one process at a time has the job. */
br_status br_local_producer_open_transactional(br_producer **out, br_log *log, const char *id,
                                               br_err *err)
{
    (void)id;
    br_status st = br_local_producer_open(out, log, err);
    if (st == BR_OK) ((producer *)*out)->transactional = true;
    return st;
}

void br_local_producer_close(br_producer *base)
{
    producer *p = (producer *)base;
    for (topic_ref *ref = p->topics; ref;) {
        topic_ref *next = ref->next;
        br_free((void *)(uintptr_t)ref->base.name);
        br_free(ref->base.last_offsets);
        br_free(ref->queues);
        br_free(ref);
        ref = next;
    }
    br_buf_dispose(&p->bytes);
    br_free(p->pending);
    br_free(p);
}

static void empty_queues(topic_ref *ref)
{
    for (int32_t i = 0; i < ref->base.partitions; i++)
        ref->queues[i].first = ref->queues[i].last = nothing;
}

br_status br_local_producer_topic(br_producer *base, const char *name, br_topic_ref **out,
                                  br_err *err)
{
    producer *p = (producer *)base;
    br_local_topic topic;
    for (topic_ref *ref = p->topics; ref; ref = ref->next) {
        if (strcmp(ref->base.name, name) != 0) continue;
        *out = &ref->base;
        return BR_OK;
    }
    br_status st = br_local_find_topic(p->log, name, &topic, err);
    if (st != BR_OK) return st;
    size_t partitions = (size_t)topic.partitions;
    topic_ref *ref = BR_NEW(topic_ref);
    ref->topic = topic;
    ref->base.name = br_strdup(name);
    ref->base.partitions = topic.partitions;
    ref->base.last_offsets = br_calloc(partitions, sizeof(*ref->base.last_offsets));
    for (size_t i = 0; i < partitions; i++) ref->base.last_offsets[i] = -1;
    ref->queues = br_calloc(partitions, sizeof(*ref->queues));
    empty_queues(ref);
    ref->next = p->topics;
    p->topics = ref;
    *out = &ref->base;
    return BR_OK;
}

/* ---- writing ---- */

typedef struct writing {
    const br_local *log;
    const producer *p;
    MDB_cursor *records;
    MDB_txn *txn;
} writing;

static MDB_val val_of(const void *data, size_t len)
{
    return (MDB_val){len, (void *)(uintptr_t)data};
}

/* Removes the record at offset if it has this key: another one of the same hash stays. */
static int remove_older(const writing *w, const char key_bytes[], br_bytes key)
{
    MDB_val at = val_of(key_bytes, BR_LOCAL_RECORD_KEY), val;
    br_local_record older;
    int rc = mdb_cursor_get(w->records, &at, &val, MDB_SET_KEY);
    if (rc == MDB_NOTFOUND) return MDB_CORRUPTED;
    if (rc != 0) return rc;
    if (!br_local_record_decode(br_bytes_of(val.mv_data, val.mv_size), &older))
        return MDB_CORRUPTED;
    return br_bytes_equal(older.key, key) ? mdb_cursor_del(w->records, 0) : 0;
}

/* Before the record of key is appended at offset: the older one goes, the index points to this. */
static int compact(const writing *w, const topic_ref *ref, int32_t partition, int64_t offset,
                   br_bytes key)
{
    char index_key[BR_LOCAL_PARTITION_KEY + KEY_HASH], record_key[BR_LOCAL_RECORD_KEY], number[8];
    br_local_partition_key(index_key, ref->topic.id, partition);
    br_hash128(key, index_key + BR_LOCAL_PARTITION_KEY);
    MDB_val at = val_of(index_key, sizeof(index_key)), val;
    int rc = mdb_get(w->txn, w->log->keys, &at, &val);
    if (rc == 0 && val.mv_size != 8) return MDB_CORRUPTED;
    if (rc == 0) {
        br_local_record_key(record_key, ref->topic.id, partition,
                            (int64_t)br_get_u64_be(val.mv_data));
        rc = remove_older(w, record_key, key);
    } else if (rc == MDB_NOTFOUND) {
        rc = 0;
    }
    br_put_u64_be(number, (uint64_t)offset);
    val = val_of(number, sizeof(number));
    return rc == 0 ? mdb_put(w->txn, w->log->keys, &at, &val, 0) : rc;
}

static int append(const writing *w, const topic_ref *ref, int32_t partition, int64_t offset,
                  const pending *record)
{
    const char *bytes = w->p->bytes.data + record->start;
    char record_key[BR_LOCAL_RECORD_KEY];
    int rc = 0;
    if (ref->topic.compacted) {
        br_local_record decoded;
        bool whole = br_local_record_decode(br_bytes_of(bytes, record->len), &decoded);
        BR_ASSERT(whole); /* send made it */
        rc = compact(w, ref, partition, offset, decoded.key);
    }
    br_local_record_key(record_key, ref->topic.id, partition, offset);
    MDB_val key = val_of(record_key, sizeof(record_key)), val = val_of(bytes, record->len);
    return rc == 0 ? mdb_cursor_put(w->records, &key, &val, MDB_NOOVERWRITE) : rc;
}

static int write_partition(const writing *w, const topic_ref *ref, int32_t partition)
{
    queue *q = &ref->queues[partition];
    char end_key[BR_LOCAL_PARTITION_KEY], number[8];
    int rc = br_local_end(w->log, w->txn, ref->topic.id, partition, &q->next_offset);
    for (uint32_t i = q->first; rc == 0 && i != nothing; i = w->p->pending[i].next)
        rc = append(w, ref, partition, q->next_offset++, &w->p->pending[i]);
    br_local_partition_key(end_key, ref->topic.id, partition);
    br_put_u64_be(number, (uint64_t)q->next_offset);
    MDB_val key = val_of(end_key, sizeof(end_key)), val = val_of(number, sizeof(number));
    return rc == 0 ? mdb_put(w->txn, w->log->ends, &key, &val, 0) : rc;
}

static int write_all(void *arg, MDB_txn *txn)
{
    const producer *p = arg;
    writing w = {.log = p->log, .p = p, .txn = txn};
    int rc = mdb_cursor_open(txn, p->log->records, &w.records);
    if (rc != 0) return rc;
    for (const topic_ref *ref = p->topics; ref; ref = ref->next)
        for (int32_t i = 0; rc == 0 && i < ref->base.partitions; i++)
            if (ref->queues[i].first != nothing) rc = write_partition(&w, ref, i);
    mdb_cursor_close(w.records);
    return rc;
}

static void acknowledge(producer *p)
{
    for (topic_ref *ref = p->topics; ref; ref = ref->next) {
        for (int32_t i = 0; i < ref->base.partitions; i++)
            if (ref->queues[i].first != nothing)
                ref->base.last_offsets[i] = ref->queues[i].next_offset - 1;
        empty_queues(ref);
    }
    p->count = p->pages = 0;
    br_buf_reset(&p->bytes);
    if (p->bytes.cap > KEPT_BYTES_MAX) br_buf_dispose(&p->bytes);
}

/* fill writes at least all that is pending. */
static br_status write_pending(producer *p, br_local_fill fill, void *arg, br_err *err)
{
    if (p->broken.status != BR_OK) {
        *err = p->broken;
        return err->status;
    }
    if (br_local_write(p->log, fill, arg, "append records", err) != BR_OK) {
        p->broken = *err;
        return err->status;
    }
    acknowledge(p);
    return BR_OK;
}

br_status br_local_producer_flush(br_producer *base, br_err *err)
{
    producer *p = (producer *)base;
    if (p->broken.status == BR_OK && (p->count == 0 || p->transactional)) return BR_OK;
    return write_pending(p, write_all, p, err);
}

typedef struct commit {
    producer *p;
    br_local_offsets_arg offsets;
} commit;

static int write_commit(void *arg, MDB_txn *txn)
{
    commit *c = arg;
    int rc = write_all(c->p, txn);
    return rc == 0 ? br_local_put_offsets(&c->offsets, txn) : rc;
}

br_status br_local_producer_commit(br_producer *base, br_consumer *consumer, const br_tp *at,
                                   const int64_t *offsets, size_t count, br_err *err)
{
    commit c = {(producer *)base, {consumer, at, offsets, count}};
    if (c.p->count == 0 && count == 0) return BR_OK;
    if (br_local_check_offsets(&c.offsets, err) != BR_OK) return err->status;
    return write_pending(c.p, write_commit, &c, err);
}

/* ---- sending ---- */

static br_status check_record(const topic_ref *ref, const br_out_record *record, br_err *err)
{
    size_t extra = record->key.len;
    for (size_t i = 0; i < record->header_count; i++)
        extra += record->headers[i].name.len + record->headers[i].value.len;
    if (record->value.len > BR_LOCAL_VALUE_BYTES_MAX || extra > EXTRA_BYTES_MAX)
        return br_fail(err, BR_ERR_BROKER,
                       "topic `%s`: a record with a value of %zu bytes, key and headers of %zu, is "
                       "too large for the embedded log: %d and %d are allowed",
                       ref->base.name, record->value.len, extra, BR_LOCAL_VALUE_BYTES_MAX,
                       EXTRA_BYTES_MAX);
    if (record->partition < -1 || record->partition >= ref->base.partitions)
        return br_fail(err, BR_ERR_BROKER,
                       "topic `%s` has no partition %" PRId32 ": it has 0 to %" PRId32,
                       ref->base.name, record->partition, ref->base.partitions - 1);
    if (ref->topic.compacted && !record->key.data)
        return br_fail(err, BR_ERR_BROKER,
                       "topic `%s` is compacted: a record without a key cannot be stored",
                       ref->base.name);
    return BR_OK;
}

static int32_t choose_partition(br_topic_ref *ref, const br_out_record *record)
{
    if (record->partition >= 0) return record->partition;
    if (record->key.data) return br_partition_of(record->key, ref->partitions);
    return (int32_t)(ref->spread++ % (uint32_t)ref->partitions);
}

static void enqueue(producer *p, queue *q, size_t start)
{
    uint32_t index = (uint32_t)p->count;
    p->pending = br_grow(p->pending, &p->cap, p->count + 1, sizeof(*p->pending));
    p->pending[p->count++] = (pending){start, p->bytes.len - start, nothing};
    if (q->first == nothing)
        q->first = index;
    else
        p->pending[q->last].next = index;
    q->last = index;
}

br_status br_local_producer_send(br_producer *base, br_topic_ref *topic,
                                 const br_out_record *record, br_err *err)
{
    producer *p = (producer *)base;
    topic_ref *ref = (topic_ref *)topic;
    if (p->broken.status != BR_OK) {
        *err = p->broken;
        return err->status;
    }
    if (check_record(ref, record, err) != BR_OK) {
        p->broken = *err; /* a hole: what follows must not be taken for stored */
        return err->status;
    }
    int64_t timestamp = record->timestamp_ms;
    if (timestamp == -1) timestamp = br_wall_ms(&br_system_clock);
    size_t start = p->bytes.len;
    br_local_record_encode(&p->bytes, timestamp, record->key, record->value, record->headers,
                           record->header_count);
    enqueue(p, &ref->queues[choose_partition(topic, record)], start);
    p->pages += ref->topic.compacted ? COMPACTED_PAGES : 1;
    if (p->transactional || (p->pages < PENDING_PAGES_MAX && p->bytes.len < PENDING_BYTES_MAX))
        return BR_OK;
    return br_local_producer_flush(base, err);
}
