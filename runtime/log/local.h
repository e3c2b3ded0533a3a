/* runtime/log/local.h - the parts of the embedded log, for local*.c and their tests only.
 * Shape:     one LMDB file, <dir>/topics.mdb, with the sub-databases
 *              meta     "format" -> version of this layout
 *              topics   name -> br_local_topic
 *              ends     topic, partition -> next offset
 *              records  topic, partition, offset -> record (local_record.h)
 *              keys     topic, partition, hash of the key -> offset; compacted topics only
 *              groups   group, topic, partition -> committed offset
 *            Numbers in keys are big endian: the order of bytes is the order of offsets.
 * Invariant: a compacted topic holds one record per key: an append removes the older one in the
 *            same transaction. Offsets are never used twice, so compaction leaves gaps.
 * Processes: LMDB lets several use the file at the same time, one writing. Within a process it must
 *            be open once: a second open is refused.
 * Thread:    a br_local is used by any; transactions hold `map_lock` for reading, growing the map
 *            holds it for writing (LMDB wants no transaction open then). No callback runs inside a
 *            transaction, so that it may use the log. */
#ifndef BR_RUNTIME_LOG_LOCAL_H
#define BR_RUNTIME_LOG_LOCAL_H

#include "runtime/log/vtable.h"

#include <lmdb.h>
#include <pthread.h>
#include <sys/stat.h>

enum {
    BR_LOCAL_FORMAT = 1,
    BR_LOCAL_VALUE_BYTES_MAX = 64 * 1024 * 1024,
    BR_LOCAL_GROUP_BYTES_MAX = 200, /* with topic and partition below LMDB's key limit of 511 */
    BR_LOCAL_PARTITION_KEY = 8,     /* bytes of topic id and partition */
    BR_LOCAL_RECORD_KEY = 16,       /* … and offset */
};

typedef struct br_local_opts {
    const char *dir;
    bool sync;
    size_t map_bytes; /* of a new file; 0: 256 MiB. It grows by doubling. */
} br_local_opts;

typedef struct br_local {
    br_log base;
    char *dir, *path, *description;
    MDB_env *env;
    MDB_dbi meta, topics, ends, records, keys, groups;
    pthread_rwlock_t map_lock;
    bool unmapped; /* growing failed half way: nothing works any more; under map_lock */
    struct stat file;
    struct br_local *next; /* open logs of this process */
} br_local;

/* ---- local_env.c ---- */

/* As br_log_open_local; fills all but base and description. */
BR_MUST_USE br_status br_local_env_open(br_local *log, const br_local_opts *opts, br_err *err);
void br_local_env_close(br_local *log); /* a half-opened one too */
/* Explains an LMDB or errno code; `what` could not be done. */
br_status br_local_fail(const br_local *log, int code, const char *what, br_err *err);

/* A read transaction; it ends with br_local_read_end, within the same function. */
BR_MUST_USE br_status br_local_read_begin(br_local *log, MDB_txn **txn, br_err *err);
void br_local_read_end(br_local *log, MDB_txn *txn);
/* A write transaction: calls fill and commits; where the map is full it is doubled and fill called
 * again, so fill must be repeatable. fill returns 0 or an LMDB code, which aborts. */
typedef int (*br_local_fill)(void *arg, MDB_txn *txn);
BR_MUST_USE br_status br_local_write(br_local *log, br_local_fill fill, void *arg, const char *what,
                                     br_err *err);
/* Grows with every commit of any process: unchanged means that there is nothing new to read. */
size_t br_local_commits(br_local *log);

/* ---- local_topics.c ---- */

typedef struct br_local_topic { /* as stored */
    uint32_t id;
    int32_t partitions;
    uint8_t compacted;
    uint8_t deleting; /* the policy's name is kept, but nothing is ever deleted by age */
    uint8_t reserved[2];
} br_local_topic;

br_status br_local_topic_info(br_log *log, const char *name, br_topic_info *out, br_err *err);
br_status br_local_create_topic(br_log *log, const br_topic_spec *spec, br_err *err);
br_status br_local_grow_topic(br_log *log, const char *name, int32_t partitions, br_err *err);
br_status br_local_topics(br_log *log, br_topic_visit visit, void *arg, br_err *err);
br_status br_local_offsets(br_log *log, const char *topic, int32_t partition, int64_t *low,
                           int64_t *end, br_err *err);
br_status br_local_offset_at(br_log *log, const char *topic, int32_t partition, int64_t ms,
                             int64_t *offset, br_err *err);

/* BR_OK, BR_NOT_FOUND. */
BR_MUST_USE br_status br_local_find_topic(br_local *log, const char *name, br_local_topic *out,
                                          br_err *err);
/* A missing topic and a partition that it has not are BR_ERR_CONFIG. */
BR_MUST_USE br_status br_local_find_partition(br_local *log, br_tp at, br_local_topic *out,
                                              br_err *err);
void br_local_partition_key(char out[BR_LOCAL_PARTITION_KEY], uint32_t topic, int32_t partition);
void br_local_record_key(char out[BR_LOCAL_RECORD_KEY], uint32_t topic, int32_t partition,
                         int64_t offset);
/* The next offset of a partition. LMDB code. */
int br_local_end(const br_local *log, MDB_txn *txn, uint32_t topic, int32_t partition,
                 int64_t *end);

/* ---- local_consumer.c, local_reader.c, local_producer.c ---- */

br_status br_local_consumer_open(br_consumer **out, br_log *log, const br_consumer_opts *opts,
                                 br_err *err);
void br_local_consumer_close(br_consumer *consumer);
br_status br_local_consumer_poll(br_consumer *consumer, int timeout_ms, size_t max, br_record_fn fn,
                                 void *arg, br_err *err);
br_status br_local_consumer_start(br_consumer *consumer, br_tp at, int64_t offset, void *user,
                                  br_err *err);
br_status br_local_consumer_committed(br_consumer *consumer, const br_tp *at, int64_t *offsets,
                                      size_t count, br_err *err);
br_status br_local_consumer_commit(br_consumer *consumer, const br_tp *at, const int64_t *offsets,
                                   size_t count, br_err *err);

/* Offsets to be stored by br_local_put_offsets, a br_local_fill. */
typedef struct br_local_offsets_arg {
    const br_consumer *consumer;
    const br_tp *at;
    const int64_t *offsets;
    size_t count;
} br_local_offsets_arg;
/* BR_ERR_FENCED: a partition that is not this member's. */
br_status br_local_check_offsets(const br_local_offsets_arg *arg, br_err *err);
int br_local_put_offsets(void *arg, MDB_txn *txn);

br_status br_local_reader_open(br_reader **out, br_log *log, br_tp at, int64_t from, br_err *err);
void br_local_reader_close(br_reader *reader);
br_status br_local_reader_poll(br_reader *reader, int timeout_ms, size_t max, br_record_fn fn,
                               void *arg, br_err *err);
int64_t br_local_reader_position(const br_reader *reader);

br_status br_local_producer_open(br_producer **out, br_log *log, br_err *err);
void br_local_producer_close(br_producer *producer);
br_status br_local_producer_topic(br_producer *producer, const char *name, br_topic_ref **out,
                                  br_err *err);
br_status br_local_producer_send(br_producer *producer, br_topic_ref *topic,
                                 const br_out_record *record, br_err *err);
br_status br_local_producer_flush(br_producer *producer, br_err *err);
br_status br_local_producer_open_transactional(br_producer **out, br_log *log, const char *id,
                                               br_err *err);
br_status br_local_producer_commit(br_producer *producer, br_consumer *consumer, const br_tp *at,
                                   const int64_t *offsets, size_t count, br_err *err);

/* ---- local.c ---- */

extern const br_log_vtable br_local_vtable;
/* br_log_open_local with a map of another size. */
BR_MUST_USE br_status br_local_open(br_log **out, const br_local_opts *opts, br_err *err);

#endif
