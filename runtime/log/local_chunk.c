/* runtime/log/local_chunk.c - see local_chunk.h. */
#include "runtime/log/local_chunk.h"

#include "runtime/base/alloc.h"
#include "runtime/log/local_record.h"

#include <inttypes.h>
#include <time.h>

enum {
    CHUNK_RECORDS_MAX = 1024,
    CHUNK_BYTES_MAX = 1024 * 1024,     /* ends a chunk early */
    KEPT_BYTES_MAX = 16 * 1024 * 1024, /* a larger buffer is given back */
    WAIT_STEP_NS = 2 * 1000 * 1000,
};

static void add_place(br_local_chunk *chunk, int64_t offset, const MDB_val *val)
{
    chunk->places = br_grow(chunk->places, &chunk->cap, chunk->count + 1, sizeof(*chunk->places));
    chunk->places[chunk->count++] = (br_local_place){offset, chunk->bytes.len, val->mv_size};
    br_buf_add(&chunk->bytes, val->mv_data, val->mv_size);
}

/* LMDB code. */
static int copy_records(br_local_chunk *chunk, MDB_cursor *cursor, const char first[], size_t max)
{
    MDB_val key = {BR_LOCAL_RECORD_KEY, (void *)(uintptr_t)first}, val;
    int rc = mdb_cursor_get(cursor, &key, &val, MDB_SET_RANGE);
    while (rc == 0) {
        if (key.mv_size != BR_LOCAL_RECORD_KEY) return MDB_CORRUPTED;
        if (memcmp(key.mv_data, first, BR_LOCAL_PARTITION_KEY) != 0) break;
        if (chunk->count == max || chunk->bytes.len >= CHUNK_BYTES_MAX) return 0;
        int64_t offset = (int64_t)br_get_u64_be((char *)key.mv_data + BR_LOCAL_PARTITION_KEY);
        add_place(chunk, offset, &val);
        chunk->next = offset + 1;
        rc = mdb_cursor_get(cursor, &key, &val, MDB_NEXT);
    }
    chunk->next = chunk->end; /* nothing behind but, maybe, a gap */
    return rc == MDB_NOTFOUND ? 0 : rc;
}

static int read_partition(br_local_chunk *chunk, const br_local *log, MDB_txn *txn,
                          const char first[], size_t max)
{
    MDB_cursor *cursor;
    int rc = mdb_cursor_open(txn, log->records, &cursor);
    if (rc != 0) return rc;
    rc = copy_records(chunk, cursor, first, max);
    mdb_cursor_close(cursor);
    return rc;
}

br_status br_local_chunk_read(br_local_chunk *chunk, br_local *log, uint32_t topic, br_tp at,
                              int64_t from, size_t max, br_err *err)
{
    MDB_txn *txn;
    char first[BR_LOCAL_RECORD_KEY];
    br_local_record_key(first, topic, at.partition, from);
    if (chunk->bytes.cap > KEPT_BYTES_MAX) br_buf_dispose(&chunk->bytes);
    br_buf_reset(&chunk->bytes);
    chunk->count = 0;
    chunk->next = from;
    if (br_local_read_begin(log, &txn, err) != BR_OK) return err->status;
    int rc = br_local_end(log, txn, topic, at.partition, &chunk->end);
    if (rc == 0 && from < chunk->end)
        rc = read_partition(chunk, log, txn, first,
                            max < CHUNK_RECORDS_MAX ? max : CHUNK_RECORDS_MAX);
    br_local_read_end(log, txn);
    if (rc != 0) return br_local_fail(log, rc, "read records", err);
    if (from > chunk->end)
        return br_fail(err, BR_ERR_BROKER,
                       "%s[%" PRId32 "]: offset %" PRId64 " is behind the end, %" PRId64
                       ": the log was made again, or its file was put back from a copy",
                       at.topic, at.partition, from, chunk->end);
    return BR_OK;
}

static br_status decode(br_local_chunk *chunk, const br_local_place *place,
                        br_local_delivery *delivery, br_record *out, br_err *err)
{
    br_local_record record;
    br_bytes bytes = br_bytes_of(chunk->bytes.data + place->start, place->len);
    if (!br_local_record_decode(bytes, &record))
        return br_fail(err, BR_ERR_CORRUPT,
                       "%s[%" PRId32 "]@%" PRId64 ": the embedded log holds bytes that are not a "
                       "record: its file is damaged, put back a copy",
                       delivery->at.topic, delivery->at.partition, place->offset);
    chunk->headers =
        br_grow(chunk->headers, &chunk->header_cap, record.header_count, sizeof(*chunk->headers));
    br_local_record_headers(&record, chunk->headers);
    *out = (br_record){.topic = delivery->at.topic,
                       .partition = delivery->at.partition,
                       .offset = place->offset,
                       .timestamp_ms = record.timestamp_ms,
                       .key = record.key,
                       .value = record.value,
                       .headers = chunk->headers,
                       .header_count = record.header_count};
    return BR_OK;
}

br_status br_local_chunk_deliver(br_local_chunk *chunk, br_local_delivery *delivery, br_err *err)
{
    delivery->count = 0;
    for (size_t i = 0; i < chunk->count; i++) {
        br_record record;
        if (decode(chunk, &chunk->places[i], delivery, &record, err) != BR_OK) return err->status;
        br_status st = delivery->fn(delivery->arg, delivery->user, &record, err);
        if (st < 0) return st;
        delivery->count++;
        delivery->position = record.offset + 1;
        if (st == BR_END) return BR_END;
    }
    delivery->position = chunk->next;
    return BR_OK;
}

void br_local_chunk_dispose(br_local_chunk *chunk)
{
    br_buf_dispose(&chunk->bytes);
    br_free(chunk->places);
    br_free(chunk->headers);
    *chunk = (br_local_chunk){0};
}

bool br_local_wait(br_local *log, size_t commits, int64_t deadline_ns)
{
    for (;;) {
        if (br_local_commits(log) != commits) return true;
        int64_t left = deadline_ns - br_mono_ns(&br_system_clock);
        if (left <= 0) return false;
        struct timespec step = {0, left < WAIT_STEP_NS ? left : WAIT_STEP_NS};
        (void)nanosleep(&step, NULL); /* a signal only ends the step early */
    }
}
