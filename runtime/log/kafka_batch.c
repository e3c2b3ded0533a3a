/* runtime/log/kafka_batch.c - see kafka_batch.h. */
#include "runtime/log/kafka_batch.h"

#include "runtime/base/alloc.h"
#include "runtime/base/arena.h"

enum {
    RECORDS_MAX = 1000,
    BYTES_MAX = 256 * 1024, /* with more, the batch is full; one record may be larger */
};

struct br_kafka_batch {
    rd_kafka_topic_t *topic;
    void *opaque;
    br_arena *arena; /* keys and values */
    size_t bytes;    /* of them */
    size_t begin, end;
    rd_kafka_message_t records[RECORDS_MAX]; /* from begin to end: not handed over yet */
};

br_kafka_batch *br_kafka_batch_create(rd_kafka_topic_t *topic, void *opaque)
{
    br_kafka_batch *batch = BR_NEW(br_kafka_batch);
    batch->topic = topic;
    batch->opaque = opaque;
    batch->arena = br_arena_create(BYTES_MAX);
    return batch;
}

void br_kafka_batch_destroy(br_kafka_batch *batch)
{
    if (!batch) return;
    br_arena_destroy(batch->arena);
    br_free(batch);
}

/* NULL stays NULL: no key, or a tombstone. */
static void *copy(br_kafka_batch *batch, br_bytes bytes)
{
    if (!bytes.data) return NULL;
    batch->bytes += bytes.len;
    return (void *)(uintptr_t)br_arena_copy(batch->arena, bytes, 0).data;
}

bool br_kafka_batch_is_full(const br_kafka_batch *batch)
{
    return batch->end == RECORDS_MAX || batch->bytes >= BYTES_MAX;
}

bool br_kafka_batch_is_empty(const br_kafka_batch *batch)
{
    return batch->begin == batch->end;
}

void br_kafka_batch_add(br_kafka_batch *batch, int32_t partition, const br_out_record *record)
{
    BR_ASSERT(batch->end < RECORDS_MAX);
    batch->records[batch->end++] = (rd_kafka_message_t){
        .partition = partition,
        .key = copy(batch, record->key),
        .key_len = record->key.len,
        .payload = copy(batch, record->value),
        .len = record->value.len,
        ._private = batch->opaque,
    };
}

br_kafka_refused br_kafka_batch_hand_over(br_kafka_batch *batch)
{
    rd_kafka_message_t *at = &batch->records[batch->begin];
    size_t left = batch->end - batch->begin;
    /* A record that still carried the error of an earlier call would be queued and freed. */
    for (size_t i = 0; i < left; i++) at[i].err = RD_KAFKA_RESP_ERR_NO_ERROR;
    (void)rd_kafka_produce_batch(batch->topic, RD_KAFKA_PARTITION_UA,
                                 RD_KAFKA_MSG_F_COPY | RD_KAFKA_MSG_F_PARTITION, at, (int)left);
    for (; left > 0 && !at->err; at++, left--) batch->begin++;
    if (left > 0) return (br_kafka_refused){at->err, at->partition, at->key_len + at->len};
    batch->begin = batch->end = batch->bytes = 0;
    br_arena_reset(batch->arena);
    return (br_kafka_refused){.code = RD_KAFKA_RESP_ERR_NO_ERROR};
}
