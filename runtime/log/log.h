/* runtime/log/log.h - all that the pipeline knows of topics. Kafka (kafka*.c) or embedded
 * (local*.c).
 * Shape:     br_log makes consumers (a member of a group), readers (one partition, no group) and
 *            producers. All three are used by one thread each; a br_log's own calls by any.
 * Invariant: a record is handed over in offset order within a partition, and never after its
 *            partition was taken away.
 * Errors:    BR_ERR_BROKER with the log's own words; BR_ERR_CONFIG for topics and settings;
 *            BR_ERR_FENCED where another owner took over. */
#ifndef BR_RUNTIME_LOG_LOG_H
#define BR_RUNTIME_LOG_LOG_H

#include "operators/record.h"
#include "runtime/base/clock.h"

typedef struct br_log br_log;
typedef struct br_consumer br_consumer;
typedef struct br_reader br_reader;
typedef struct br_producer br_producer;

typedef struct br_setting {
    const char *name, *value;
} br_setting;

/* Kafka: settings are librdkafka properties, checked here (an unknown one is BR_ERR_CONFIG with its
 * name); no connection is made yet. */
BR_MUST_USE br_status br_log_open_kafka(br_log **out, const char *brokers,
                                        const br_setting *settings, size_t count, br_err *err);
/* Embedded: topics in an LMDB file in dir, made if need be. sync: fsync at each flush (durable
 * against power loss; without it only against a kill). */
BR_MUST_USE br_status br_log_open_local(br_log **out, const char *dir, bool sync, br_err *err);
/* After all that it made is closed. NULL is fine. */
void br_log_close(br_log *log);
/* "Apache Kafka at localhost:9092 (librdkafka 2.0.2)", "the embedded log in ./brine-data". */
const char *br_log_describe(const br_log *log);

/* ---- topics ---- */

typedef struct br_topic_info {
    int32_t partitions;
    char cleanup_policy[32]; /* "delete", "compact", "compact,delete" */
    int64_t retention_ms;    /* -1: for ever */
    int64_t max_message_bytes;
} br_topic_info;

typedef struct br_topic_spec {
    const char *name;
    int32_t partitions;
    int32_t replication;        /* 0: the broker's default */
    const br_setting *settings; /* cleanup.policy, … ; the embedded log knows cleanup.policy only */
    size_t setting_count;
} br_topic_spec;

/* BR_NOT_FOUND: no such topic. */
BR_MUST_USE br_status br_log_topic(br_log *log, const char *name, br_topic_info *out, br_err *err);
/* BR_OK also where it exists already (look at it with br_log_topic). Returns when it can be used.
 */
BR_MUST_USE br_status br_log_create_topic(br_log *log, const br_topic_spec *spec, br_err *err);
/* Gives a topic more partitions; BR_OK also where it has as many. Returns when they can be used. */
BR_MUST_USE br_status br_log_grow_topic(br_log *log, const char *name, int32_t partitions,
                                        br_err *err);
/* Every topic by name, in order. */
typedef br_status (*br_topic_visit)(void *arg, const char *name, int32_t partitions, br_err *err);
BR_MUST_USE br_status br_log_topics(br_log *log, br_topic_visit visit, void *arg, br_err *err);
/* First offset that is still there, and the offset that the next record will get (behind all
 * committed transactions: what a reader can reach). */
BR_MUST_USE br_status br_log_offsets(br_log *log, const char *topic, int32_t partition,
                                     int64_t *low, int64_t *end, br_err *err);
/* First offset whose timestamp is >= ms; the end where there is none. */
BR_MUST_USE br_status br_log_offset_at(br_log *log, const char *topic, int32_t partition,
                                       int64_t ms, int64_t *offset, br_err *err);

/* ---- a member of a consumer group ---- */

typedef struct br_tp {
    const char *topic;
    int32_t partition;
} br_tp;

/* Called from inside br_consumer_poll and br_consumer_close. */
typedef struct br_consumer_listener {
    void *self;
    /* The partitions are ours from now on; nothing is read from one before br_consumer_start. */
    void (*assigned)(void *self, const br_tp *at, size_t count);
    /* Commit them now (br_consumer_commit works here) and forget them. */
    void (*revoked)(void *self, const br_tp *at, size_t count);
    /* They have another owner already: forget them without committing. */
    void (*lost)(void *self, const br_tp *at, size_t count);
    /* The partition's end was reached: position is the offset behind the last record, also where
     * that is a gap (compaction, transaction markers). user: as given to br_consumer_start. */
    void (*at_end)(void *self, void *user, int64_t position);
} br_consumer_listener;

typedef struct br_consumer_opts {
    const char *group;
    const char *const *topics;
    size_t topic_count;
    const char *instance_id; /* static membership; [optional] */
    /* The embedded log has no group protocol: member `member` of `members` (0: one) in this process
     * gets the partitions whose number leaves this remainder. Kafka asks its group. */
    int32_t member, members;
    br_consumer_listener listener;
} br_consumer_opts;

/* What to do with a record. user: as given to br_consumer_start. BR_OK: go on. BR_END: stop handing
 * over after this one (the rest comes with the next poll). A failure ends the poll and is returned.
 */
typedef br_status (*br_record_fn)(void *arg, void *user, const br_record *record, br_err *err);

/* Copies opts. Topics must exist. */
BR_MUST_USE br_status br_consumer_open(br_consumer **out, br_log *log, const br_consumer_opts *opts,
                                       br_err *err);
/* Gives back all partitions (revoked is called) and leaves the group. */
void br_consumer_close(br_consumer *consumer); /* NULL is fine */
/* Serves group events, then hands over what is there, at most `max` records, waiting up to
 * timeout_ms for the first. Must be called at least every few seconds. BR_OK or BR_EMPTY. */
BR_MUST_USE br_status br_consumer_poll(br_consumer *consumer, int timeout_ms, size_t max,
                                       br_record_fn fn, void *arg, br_err *err);
/* Begins to hand over an assigned partition's records, from offset on. */
BR_MUST_USE br_status br_consumer_start(br_consumer *consumer, br_tp at, int64_t offset, void *user,
                                        br_err *err);
/* The group's committed offsets; -1 where there is none. Works for any partition. */
BR_MUST_USE br_status br_consumer_committed(br_consumer *consumer, const br_tp *at,
                                            int64_t *offsets, size_t count, br_err *err);
/* Commits. BR_EMPTY: not possible just now (the group rebalances), offsets stay as they were:
 * harmless, the next commit makes up for it. */
BR_MUST_USE br_status br_consumer_commit(br_consumer *consumer, const br_tp *at,
                                         const int64_t *offsets, size_t count, br_err *err);

/* ---- one partition, no group: restore, consume, checks ---- */

/* from: an offset; -1: the first there is. An offset below the first there is: BR_ERR_LIMIT. Reads
 * committed records only, and never from another place than asked. */
BR_MUST_USE br_status br_reader_open(br_reader **out, br_log *log, br_tp at, int64_t from,
                                     br_err *err);
void br_reader_close(br_reader *reader); /* NULL is fine */
/* Hands over up to max records, waiting up to timeout_ms for the first. BR_OK, BR_EMPTY. user is
 * NULL. */
BR_MUST_USE br_status br_reader_poll(br_reader *reader, int timeout_ms, size_t max, br_record_fn fn,
                                     void *arg, br_err *err);
/* The offset behind all that was read, gaps included: the end is reached when it is >= the end of
 * br_log_offsets. */
int64_t br_reader_position(const br_reader *reader);

/* ---- producer ---- */

typedef struct br_out_record {
    int32_t partition; /* -1: by murmur2 of the key; null key: spread evenly */
    br_bytes key, value;
    int64_t timestamp_ms; /* -1: now; such a record may stay here until the next flush */
    const br_header *headers;
    size_t header_count;
} br_out_record;

typedef struct br_topic_ref
    br_topic_ref; /* a topic opened for producing; belongs to the producer */

BR_MUST_USE br_status br_producer_open(br_producer **out, br_log *log, br_err *err);
/* Transactional (KIP-98, KIP-447). id: the same for every start of one worker's slot, no two slots
 * the same: opening ends the transaction that an earlier owner of the id left open, and fences it.
 * What is sent is seen by readers of committed records only after br_producer_commit. */
BR_MUST_USE br_status br_producer_open_transactional(br_producer **out, br_log *log, const char *id,
                                                     br_err *err);
/* Of a transactional producer: all that was sent since its last commit, and these offsets of
 * consumer's group, become visible together, or none of it. BR_OK: stored. BR_ERR_FENCED: another
 * owner of the id came up. BR_ERR_BROKER: nothing of it is stored; the producer must be closed. */
BR_MUST_USE br_status br_producer_commit(br_producer *producer, br_consumer *consumer,
                                         const br_tp *at, const int64_t *offsets, size_t count,
                                         br_err *err);
/* Drops what was not acknowledged. NULL is fine. */
void br_producer_close(br_producer *producer);
/* The same name gives the same ref. BR_NOT_FOUND: no such topic. */
BR_MUST_USE br_status br_producer_topic(br_producer *producer, const char *name, br_topic_ref **out,
                                        br_err *err);
int32_t br_topic_ref_partitions(const br_topic_ref *topic);
/* Takes a copy. Where the queue is full it waits for room. Failures of delivery show in flush. */
BR_MUST_USE br_status br_producer_send(br_producer *producer, br_topic_ref *topic,
                                       const br_out_record *record, br_err *err);
/* Waits until everything sent is acknowledged. BR_OK: all of it is stored. Otherwise at least one
 * record since the last flush is not (the message names topic, partition and reason), and the
 * producer must be closed: what came after a hole may have gone through. */
BR_MUST_USE br_status br_producer_flush(br_producer *producer, br_err *err);
/* Offset that the last acknowledged record of this topic and partition got; -1: none yet. After a
 * flush. */
int64_t br_topic_ref_last_offset(const br_topic_ref *topic, int32_t partition);

#endif
