/* runtime/log/kafka_producer.h - a producer's inside: kafka_producer.c sends, kafka_transaction.c
 * commits. Not for others.
 * Thread: the producer's one thread. */
#ifndef BR_RUNTIME_LOG_KAFKA_PRODUCER_H
#define BR_RUNTIME_LOG_KAFKA_PRODUCER_H

#include "runtime/log/kafka.h"
#include "runtime/log/kafka_batch.h"

typedef struct br_kafka_topic_ref {
    br_topic_ref base;
    rd_kafka_topic_t *rkt;
    br_kafka_batch *batch; /* NULL until there is a record for it */
    struct br_kafka_topic_ref *next;
} br_kafka_topic_ref;

typedef struct br_kafka_producer {
    br_producer base;
    br_kafka_log *log;
    br_kafka_client *client;
    br_kafka_topic_ref *topics;
    uint32_t sent;
    bool transactional;
    bool in_transaction; /* begun with the first record after a commit */
    /* The first delivery that failed, and how many did. */
    uint64_t failed;
    rd_kafka_resp_err_t failure;
    char failure_text[BR_KAFKA_WHAT_MAX];
} br_kafka_producer;

/* id: transactional.id, or NULL. */
BR_MUST_USE br_status br_kafka_producer_make(br_kafka_producer **out, br_log *base, const char *id,
                                             br_err *err);
/* Gives librdkafka all that was gathered: before it is flushed or the transaction committed. */
BR_MUST_USE br_status br_kafka_producer_hand_over(br_kafka_producer *p, br_err *err);
/* Begins the transaction where none is open. */
BR_MUST_USE br_status br_kafka_transaction_begin(br_kafka_producer *p, br_err *err);

#endif
