/* runtime/log/kafka.h - what the files of the Kafka log share. Not for others: log.h is the door.
 * Shape:  br_kafka_log (settings, one admin client, idle reader clients) makes br_kafka_clients; a
 *         consumer, a reader and a producer each work through one.
 * Thread: a br_kafka_client belongs to its user's thread, apart from what librdkafka's own threads
 *         tell it (last_failure under its lock, steady as an atomic). */
#ifndef BR_RUNTIME_LOG_KAFKA_H
#define BR_RUNTIME_LOG_KAFKA_H

#include "runtime/log/vtable.h"

#include <librdkafka/rdkafka.h>

#include <pthread.h>
#include <stdatomic.h>

enum {
    /* How long a question to the brokers may take before it is an error. */
    BR_KAFKA_TIMEOUT_MS = 10000,
    /* Readers come and go by the thousand, a few at a time; a kept client saves each a connect. */
    BR_KAFKA_IDLE_READERS_MAX = 4,
    BR_KAFKA_WHAT_MAX = 512,
};

typedef struct br_kafka_client {
    rd_kafka_t *rk;
    char *brokers;
    void *owner; /* the consumer or producer that callbacks belong to; [optional] */
    bool user_debug;
    atomic_bool steady; /* the group's join state; see br_kafka_consumer_commit */
    pthread_mutex_t lock;
    char last_failure[256]; /* of a connection, in librdkafka's words; under lock */
} br_kafka_client;

typedef struct br_kafka_log {
    br_log base;
    char *brokers;
    char *described;
    br_setting *settings;
    size_t setting_count;
    pthread_mutex_t lock; /* of all below */
    br_kafka_client *admin;
    br_kafka_client *idle[BR_KAFKA_IDLE_READERS_MAX];
    size_t idle_count;
    char **made; /* topics that this log has made: not every broker may know them yet */
    size_t made_count, made_cap;
} br_kafka_log;

/* What one kind of client adds to the common settings. The user's settings come after these. */
typedef struct br_kafka_role {
    rd_kafka_type_t type;
    const br_setting *settings;
    size_t setting_count;
    void (*rebalance)(rd_kafka_t *rk, rd_kafka_resp_err_t what,
                      rd_kafka_topic_partition_list_t *list, void *client);
    void (*delivery)(rd_kafka_t *rk, const rd_kafka_message_t *message, void *client);
    void *owner;
} br_kafka_role;

/* ---- kafka_client.c ---- */

BR_MUST_USE br_status br_kafka_client_open(br_kafka_client **out, const br_kafka_log *log,
                                           const br_kafka_role *role, br_err *err);
/* Waits at most BR_KAFKA_TIMEOUT_MS; a client that still hangs is left behind, with a log line.
 * NULL is fine. */
void br_kafka_client_close(br_kafka_client *client);
/* For conf: sets one property, or BR_ERR_CONFIG in librdkafka's words. */
BR_MUST_USE br_status br_kafka_set(rd_kafka_conf_t *conf, const br_setting *setting, br_err *err);

/* ---- kafka_error.c ---- */

/* "<what>: <reason>". The status is chosen by code; where no broker can be reached, the message
 * says where and why. reason: [optional], librdkafka's text of code by default. */
br_status br_kafka_fail(br_err *err, br_kafka_client *client, rd_kafka_resp_err_t code,
                        const char *reason, const char *what, ...) BR_PRINTF(5, 6);
/* It will pass without anybody's help: librdkafka goes on trying. */
bool br_kafka_is_transient(rd_kafka_resp_err_t code);

/* ---- kafka_admin.c ---- */

br_status br_kafka_topic(br_log *base, const char *name, br_topic_info *out, br_err *err);
br_status br_kafka_create_topic(br_log *base, const br_topic_spec *spec, br_err *err);
br_status br_kafka_grow_topic(br_log *base, const char *name, int32_t partitions, br_err *err);
br_status br_kafka_topics(br_log *base, br_topic_visit visit, void *arg, br_err *err);
br_status br_kafka_offsets(br_log *base, const char *topic, int32_t partition, int64_t *low,
                           int64_t *end, br_err *err);
br_status br_kafka_offset_at(br_log *base, const char *topic, int32_t partition, int64_t ms,
                             int64_t *offset, br_err *err);
/* BR_NOT_FOUND: no such topic. Never makes one, whatever the broker's auto-creation says. */
BR_MUST_USE br_status br_kafka_partitions(br_kafka_log *log, const char *topic, int32_t *partitions,
                                          br_err *err);

/* ---- kafka_record.c ---- */

/* Finds the headers of the record in hand; grows to the largest number seen, freed with its owner.
 */
typedef struct br_kafka_headers {
    const rd_kafka_message_t *message;
    br_header *at;
    size_t cap;
} br_kafka_headers;

/* A view of message, which is of `topic`; borrows from it and from headers. */
br_record br_kafka_record_of(const rd_kafka_message_t *message, const char *topic,
                             br_kafka_headers *headers);

/* ---- kafka_consumer.c, kafka_reader.c, kafka_producer.c: as in vtable.h ---- */

br_status br_kafka_consumer_open(br_consumer **out, br_log *base, const br_consumer_opts *opts,
                                 br_err *err);
void br_kafka_consumer_close(br_consumer *base);
br_status br_kafka_consumer_poll(br_consumer *base, int timeout_ms, size_t max, br_record_fn fn,
                                 void *arg, br_err *err);
br_status br_kafka_consumer_start(br_consumer *base, br_tp at, int64_t offset, void *user,
                                  br_err *err);
br_status br_kafka_consumer_committed(br_consumer *base, const br_tp *at, int64_t *offsets,
                                      size_t count, br_err *err);
br_status br_kafka_consumer_commit(br_consumer *base, const br_tp *at, const int64_t *offsets,
                                   size_t count, br_err *err);

br_status br_kafka_reader_open(br_reader **out, br_log *base, br_tp at, int64_t from, br_err *err);
void br_kafka_reader_close(br_reader *base);
br_status br_kafka_reader_poll(br_reader *base, int timeout_ms, size_t max, br_record_fn fn,
                               void *arg, br_err *err);
int64_t br_kafka_reader_position(const br_reader *base);

br_status br_kafka_producer_open(br_producer **out, br_log *base, br_err *err);
void br_kafka_producer_close(br_producer *base);
br_status br_kafka_producer_topic(br_producer *base, const char *name, br_topic_ref **out,
                                  br_err *err);
br_status br_kafka_producer_send(br_producer *base, br_topic_ref *topic,
                                 const br_out_record *record, br_err *err);
br_status br_kafka_producer_flush(br_producer *base, br_err *err);

/* ---- kafka_transaction.c ---- */

br_status br_kafka_producer_open_transactional(br_producer **out, br_log *base, const char *id,
                                               br_err *err);
br_status br_kafka_producer_commit(br_producer *base, br_consumer *consumer, const br_tp *at,
                                   const int64_t *offsets, size_t count, br_err *err);

#endif
