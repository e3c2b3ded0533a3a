/* tests/sim/memory_log.h - the third log: topics in memory, where everything can go wrong.
 * Shape:     memory_log   what survives a crash: records, committed offsets, and what frozen owners
 *                         have still to send
 *            memory_client  one process's view of it (a br_log), which can die or freeze
 * Invariant: nothing that a process does after its death reaches the log, and it is told so: every
 *            call fails. All choices come from the one generator.
 * Crash points: each call of the log, each record's append, each failpoint (memory_client_tick).
 * Memory:    records live in one arena until memory_log_reset. */
#ifndef BR_TESTS_SIM_MEMORY_LOG_H
#define BR_TESTS_SIM_MEMORY_LOG_H

#include "runtime/base/rng.h"
#include "runtime/log/vtable.h"

typedef struct memory_record {
    br_bytes key, value;
    int64_t timestamp_ms;
    bool removed; /* by the cleaner: a gap */
} memory_record;

typedef struct memory_partition {
    memory_record *records; /* a record's offset is its place */
    size_t count, cap;
    int64_t committed; /* the group's offset; -1: none */
    size_t hold;       /* the cleaner stays below (min.compaction.lag.ms); SIZE_MAX: no bound */
} memory_partition;

typedef struct memory_topic {
    char *name;
    bool compacted;
    int32_t partition_count;
    memory_partition *partitions;
} memory_topic;

/* Records of one partition, in order. */
typedef struct memory_queue {
    memory_topic *topic;
    int32_t partition;
    memory_record *records;
    size_t next, count, cap;
} memory_queue;

/* What a frozen owner has still to send: its queues of one flush after the other. */
typedef struct memory_late {
    uint32_t owner, flush;
    memory_queue queue;
} memory_late;

typedef struct memory_log {
    br_rng *rng;
    br_arena *arena;
    memory_topic **topics;
    size_t topic_count, topic_cap;
    memory_late *late;
    size_t late_count, late_cap;
    uint32_t frozen; /* owners so far */
    /* Is told of every append and committed offset. */
    void (*watch)(void *arg, const char *what, br_tp at, int64_t offset,
                  const memory_record *record);
    void *watch_arg;
} memory_log;

typedef enum memory_state {
    MEMORY_ALIVE,
    MEMORY_FROZEN, /* lost its partitions; what it sends comes later, nothing else works */
    MEMORY_DEAD,
} memory_state;

typedef struct memory_client {
    br_log base; /* first: a br_log */
    memory_log *log;
    struct memory_consumer *consumer; /* its pipeline's; NULL: not open */
    memory_state state;
    int fuse;           /* crash points until it dies; -1: it does not */
    int stall;          /* appends until it freezes, as soon as it may; -1: it does not */
    bool loses_records; /* the next flush leaves a hole */
    size_t poll_max;    /* records of one poll */
    bool calm;          /* offset commits never fail */
    /* It died or froze: the state folder as it is now is what is left of it. */
    void (*ended)(void *arg);
    void *ended_arg;
    const char *last_point; /* the crash point that was reached last */
} memory_client;

void memory_log_init(memory_log *log, br_rng *rng);
void memory_log_reset(memory_log *log); /* empty, without topics; clients are gone */
void memory_log_dispose(memory_log *log);
memory_topic *memory_topic_add(memory_log *log, const char *name, int32_t partitions,
                               bool compacted);
memory_topic *memory_topic_find(const memory_log *log, const char *name); /* NULL: there is none */
/* Copies key and value. */
void memory_append(memory_log *log, memory_topic *topic, int32_t partition, br_bytes key,
                   br_bytes value, int64_t timestamp_ms);
/* Takes over a record whose bytes live in the log's arena. */
void memory_append_record(memory_log *log, memory_topic *topic, int32_t partition,
                          const memory_record *record);
/* Keeps the last record of each key below `end`, which is cut to the partition's hold. purge:
 * tombstones go too. Returns how many records it removed. */
size_t memory_compact(memory_partition *partition, size_t end, bool purge);
/* One more record of a frozen owner arrives among those of its successor. There is one. */
void memory_wake(memory_log *log);

void memory_client_init(memory_client *client, memory_log *log);
/* A crash point. false: the process is dead (or frozen, where only producing works). */
bool memory_client_tick(memory_client *client, const char *point);
void memory_client_end(memory_client *client, memory_state state);
br_status memory_client_gone(br_err *err);

/* The group: takes effect with the client's next poll. */
void memory_assign(memory_client *client, br_tp at);
void memory_take_away(memory_client *client, br_tp at, bool lost);

/* ---- for the vtable: memory_consumer.c, memory_producer.c ---- */

br_status memory_consumer_open(br_consumer **out, br_log *log, const br_consumer_opts *opts,
                               br_err *err);
void memory_consumer_close(br_consumer *consumer);
br_status memory_consumer_poll(br_consumer *consumer, int timeout_ms, size_t max, br_record_fn fn,
                               void *arg, br_err *err);
br_status memory_consumer_start(br_consumer *consumer, br_tp at, int64_t offset, void *user,
                                br_err *err);
br_status memory_consumer_committed(br_consumer *consumer, const br_tp *at, int64_t *offsets,
                                    size_t count, br_err *err);
br_status memory_consumer_commit(br_consumer *consumer, const br_tp *at, const int64_t *offsets,
                                 size_t count, br_err *err);

br_status memory_producer_open(br_producer **out, br_log *log, br_err *err);
void memory_producer_close(br_producer *producer);
br_status memory_producer_topic(br_producer *producer, const char *name, br_topic_ref **out,
                                br_err *err);
br_status memory_producer_send(br_producer *producer, br_topic_ref *topic,
                               const br_out_record *record, br_err *err);
br_status memory_producer_flush(br_producer *producer, br_err *err);

extern const br_log_vtable memory_vtable;

/* Hands over the record at *position or the next one that is there; moves *position behind it. The
 * caller has seen that there is one. */
br_status memory_deliver(const memory_partition *partition, br_tp at, int64_t *position,
                         br_record_fn fn, void *arg, void *user, br_err *err);
/* Moves *position over gaps; false: the end is reached. */
bool memory_skip_gaps(const memory_partition *partition, int64_t *position);
memory_partition *memory_partition_at(const memory_log *log, br_tp at);

#endif
