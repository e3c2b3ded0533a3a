/* runtime/log/local_reader.c - one partition of the embedded log, without a group. See local.h. */
#include "runtime/base/alloc.h"
#include "runtime/log/local_chunk.h"

#include <inttypes.h>

typedef struct reader {
    br_reader base;
    br_local *log;
    char *topic;
    uint32_t topic_id;
    int32_t partition;
    int64_t position;
    br_local_chunk chunk;
} reader;

br_status br_local_reader_open(br_reader **out, br_log *base, br_tp at, int64_t from, br_err *err)
{
    br_local *log = (br_local *)base;
    br_local_topic topic;
    int64_t low, end;
    *out = NULL;
    if (br_local_find_partition(log, at, &topic, err) != BR_OK) return err->status;
    if (br_local_offsets(base, at.topic, at.partition, &low, &end, err) != BR_OK)
        return err->status;
    if (from < -1 || from > end)
        return br_fail(err, from < low ? BR_ERR_LIMIT : BR_ERR_BROKER,
                       "%s[%" PRId32 "]: no offset %" PRId64 ": it has %" PRId64 " to %" PRId64,
                       at.topic, at.partition, from, low, end);
    reader *r = BR_NEW(reader);
    r->base.vtable = &br_local_vtable;
    r->log = log;
    r->topic = br_strdup(at.topic);
    r->topic_id = topic.id;
    r->partition = at.partition;
    r->position = from < 0 ? low : from;
    *out = &r->base;
    return BR_OK;
}

void br_local_reader_close(br_reader *base)
{
    reader *r = (reader *)base;
    br_local_chunk_dispose(&r->chunk);
    br_free(r->topic);
    br_free(r);
}

/* Hands over until max records, the partition's end or BR_END. */
static br_status serve(reader *r, size_t max, br_local_delivery *delivery, size_t *taken,
                       br_err *err)
{
    for (;;) {
        if (br_local_chunk_read(&r->chunk, r->log, r->topic_id, delivery->at, r->position,
                                max - *taken, err) != BR_OK)
            return err->status;
        br_status st = br_local_chunk_deliver(&r->chunk, delivery, err);
        r->position = delivery->position;
        *taken += delivery->count;
        if (st != BR_OK) return st;
        if (*taken == max || r->position == r->chunk.end) return BR_OK;
    }
}

br_status br_local_reader_poll(br_reader *base, int timeout_ms, size_t max, br_record_fn fn,
                               void *arg, br_err *err)
{
    reader *r = (reader *)base;
    int64_t deadline = br_mono_ns(&br_system_clock) + (int64_t)timeout_ms * 1000000;
    br_local_delivery delivery = {
        .at = {r->topic, r->partition}, .fn = fn, .arg = arg, .position = r->position};
    for (;;) {
        size_t commits = br_local_commits(r->log), taken = 0;
        int64_t before = r->position;
        br_status st = serve(r, max, &delivery, &taken, err);
        if (st < 0) return st;
        if (taken > 0) return BR_OK;
        if (r->position != before || !br_local_wait(r->log, commits, deadline)) return BR_EMPTY;
    }
}

int64_t br_local_reader_position(const br_reader *base)
{
    return ((const reader *)base)->position;
}
