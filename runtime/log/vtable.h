/* runtime/log/vtable.h - what a log implementation provides; log.c dispatches log.h's calls to it.
 * Every call has the meaning of its namesake in log.h. A handle's first member is its base struct.
 */
#ifndef BR_RUNTIME_LOG_VTABLE_H
#define BR_RUNTIME_LOG_VTABLE_H

#include "runtime/log/log.h"

typedef struct br_log_vtable {
    void (*close)(br_log *log);
    const char *(*describe)(const br_log *log);
    br_status (*topic)(br_log *log, const char *name, br_topic_info *out, br_err *err);
    br_status (*create_topic)(br_log *log, const br_topic_spec *spec, br_err *err);
    br_status (*grow_topic)(br_log *log, const char *name, int32_t partitions, br_err *err);
    br_status (*topics)(br_log *log, br_topic_visit visit, void *arg, br_err *err);
    br_status (*offsets)(br_log *log, const char *topic, int32_t partition, int64_t *low,
                         int64_t *end, br_err *err);
    br_status (*offset_at)(br_log *log, const char *topic, int32_t partition, int64_t ms,
                           int64_t *offset, br_err *err);

    br_status (*consumer_open)(br_consumer **out, br_log *log, const br_consumer_opts *opts,
                               br_err *err);
    void (*consumer_close)(br_consumer *consumer);
    br_status (*consumer_poll)(br_consumer *consumer, int timeout_ms, size_t max, br_record_fn fn,
                               void *arg, br_err *err);
    br_status (*consumer_start)(br_consumer *consumer, br_tp at, int64_t offset, void *user,
                                br_err *err);
    br_status (*consumer_committed)(br_consumer *consumer, const br_tp *at, int64_t *offsets,
                                    size_t count, br_err *err);
    br_status (*consumer_commit)(br_consumer *consumer, const br_tp *at, const int64_t *offsets,
                                 size_t count, br_err *err);

    br_status (*reader_open)(br_reader **out, br_log *log, br_tp at, int64_t from, br_err *err);
    void (*reader_close)(br_reader *reader);
    br_status (*reader_poll)(br_reader *reader, int timeout_ms, size_t max, br_record_fn fn,
                             void *arg, br_err *err);
    int64_t (*reader_position)(const br_reader *reader);

    br_status (*producer_open)(br_producer **out, br_log *log, br_err *err);
    void (*producer_close)(br_producer *producer);
    br_status (*producer_topic)(br_producer *producer, const char *name, br_topic_ref **out,
                                br_err *err);
    br_status (*producer_send)(br_producer *producer, br_topic_ref *topic,
                               const br_out_record *record, br_err *err);
    br_status (*producer_open_transactional)(br_producer **out, br_log *log, const char *id,
                                             br_err *err);
    br_status (*producer_commit)(br_producer *producer, br_consumer *consumer, const br_tp *at,
                                 const int64_t *offsets, size_t count, br_err *err);
    br_status (*producer_flush)(br_producer *producer, br_err *err);
} br_log_vtable;

struct br_log {
    const br_log_vtable *vtable;
};
struct br_consumer {
    const br_log_vtable *vtable;
};
struct br_reader {
    const br_log_vtable *vtable;
};
struct br_producer {
    const br_log_vtable *vtable;
};
/* Filled by the implementation and kept up to date at flush; read by log.c. */
struct br_topic_ref {
    const char *name;
    int32_t partitions;
    int64_t *last_offsets; /* one per partition; -1: none */
    uint32_t spread;       /* where the next record without a key goes */
};

#endif
