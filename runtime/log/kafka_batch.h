/* runtime/log/kafka_batch.h - records of one topic, gathered for one call of librdkafka: that takes
 * half of what a call for each costs (one lock and one look at the clock for all).
 * Invariant: records are handed over in the order in which they were added; the first that
 *            librdkafka's full queue does not take, and all behind it, stay.
 * Thread:    the producer's. */
#ifndef BR_RUNTIME_LOG_KAFKA_BATCH_H
#define BR_RUNTIME_LOG_KAFKA_BATCH_H

#include "runtime/log/log.h"

#include <librdkafka/rdkafka.h>

typedef struct br_kafka_batch br_kafka_batch;

/* opaque: for the delivery reports. */
br_kafka_batch *br_kafka_batch_create(rd_kafka_topic_t *topic, void *opaque);
/* Drops what was not handed over. NULL is fine. */
void br_kafka_batch_destroy(br_kafka_batch *batch);

/* librdkafka's call knows neither timestamps nor headers. */
static inline bool br_kafka_batch_can_take(const br_out_record *record)
{
    return record->timestamp_ms < 0 && record->header_count == 0;
}

/* Takes a copy; only after br_kafka_batch_can_take, and only while it is not full. */
void br_kafka_batch_add(br_kafka_batch *batch, int32_t partition, const br_out_record *record);
bool br_kafka_batch_is_full(const br_kafka_batch *batch);
bool br_kafka_batch_is_empty(const br_kafka_batch *batch);

/* The first record that was not taken, and why. */
typedef struct br_kafka_refused {
    rd_kafka_resp_err_t code; /* NO_ERROR: all were taken, the batch is empty */
    int32_t partition;
    size_t bytes;
} br_kafka_refused;

br_kafka_refused br_kafka_batch_hand_over(br_kafka_batch *batch);

#endif
