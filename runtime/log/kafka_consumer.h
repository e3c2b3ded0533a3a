/* runtime/log/kafka_consumer.h - a group member's inside: kafka_consumer.c reads and commits,
 * kafka_assignment.c takes and gives back partitions. Not for others.
 * Thread: the consumer's one thread; librdkafka's callbacks run inside its calls. */
#ifndef BR_RUNTIME_LOG_KAFKA_CONSUMER_H
#define BR_RUNTIME_LOG_KAFKA_CONSUMER_H

#include "runtime/log/kafka.h"

typedef enum br_kafka_reading {
    BR_KAFKA_ASSIGNED, /* ours, not started: its queue fills to its cap and waits */
    BR_KAFKA_SEEKING,  /* started at another place than librdkafka reads from: nothing counts */
    BR_KAFKA_READING,
} br_kafka_reading;

/* An assigned partition. */
typedef struct br_kafka_slot {
    const char *topic;
    rd_kafka_topic_t *rkt;
    int32_t partition;
    rd_kafka_queue_t *queue;
    br_kafka_reading reading;
    int64_t next; /* nothing below is handed over */
    /* Until the first record or end after a start came from where it should, or twice from the same
     * other place: see kafka_consumer.c, is_doubtful. */
    bool fresh;
    int64_t doubtful; /* where it came from the first time; -1: nothing came yet */
    void *user;
} br_kafka_slot;

/* A subscribed topic and our slots in it, by partition. */
typedef struct br_kafka_subscribed {
    char *name;
    rd_kafka_topic_t *rkt;
    br_kafka_slot **slots; /* NULL: not ours */
    size_t cap;
} br_kafka_subscribed;

typedef struct br_kafka_consumer {
    br_consumer base;
    br_log *log;
    br_kafka_client *client;
    br_consumer_listener listener;
    char *group;
    br_kafka_subscribed *topics;
    size_t topic_count;
    rd_kafka_queue_t *shared; /* the started partitions' queues are forwarded to it */
    bool must_seek;           /* some slot is BR_KAFKA_SEEKING */
    bool assigning, revoking; /* inside the listener's calls */
    bool joined;              /* an assignment came, if an empty one */
    br_err broken;            /* from a callback; the next poll returns it */
    br_kafka_headers headers;
    /* The slot of the last message, so that a run of one partition's finds it at once. */
    const rd_kafka_topic_t *last_rkt;
    int32_t last_partition;
    br_kafka_slot *last_slot;
    /* of the poll that runs */
    br_record_fn fn;
    void *arg;
    size_t max, count;
    bool over;
    br_status status;
    br_err *err;
} br_kafka_consumer;

/* rd_kafka_conf_set_rebalance_cb's callback. */
void br_kafka_rebalance(rd_kafka_t *rk, rd_kafka_resp_err_t what,
                        rd_kafka_topic_partition_list_t *list, void *client);
/* NULL: not assigned. */
br_kafka_slot *br_kafka_find_slot(br_kafka_consumer *c, const char *topic, int32_t partition);
/* Moves the slots that wait for a seek; those that cannot yet go on waiting. */
BR_MUST_USE br_status br_kafka_seek_slots(br_kafka_consumer *c, br_err *err);
/* Frees what is left of the assignment; no listener is called. */
void br_kafka_drop_slots(br_kafka_consumer *c);

#endif
