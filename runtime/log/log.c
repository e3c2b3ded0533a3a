/* runtime/log/log.c - dispatches log.h's calls to the implementation behind a handle. */
#include "runtime/log/vtable.h"

void br_log_close(br_log *log)
{
    if (log) log->vtable->close(log);
}

const char *br_log_describe(const br_log *log)
{
    return log->vtable->describe(log);
}

br_status br_log_topic(br_log *log, const char *name, br_topic_info *out, br_err *err)
{
    return log->vtable->topic(log, name, out, err);
}

br_status br_log_create_topic(br_log *log, const br_topic_spec *spec, br_err *err)
{
    return log->vtable->create_topic(log, spec, err);
}

br_status br_log_grow_topic(br_log *log, const char *name, int32_t partitions, br_err *err)
{
    return log->vtable->grow_topic(log, name, partitions, err);
}

br_status br_log_topics(br_log *log, br_topic_visit visit, void *arg, br_err *err)
{
    return log->vtable->topics(log, visit, arg, err);
}

br_status br_log_offsets(br_log *log, const char *topic, int32_t partition, int64_t *low,
                         int64_t *end, br_err *err)
{
    return log->vtable->offsets(log, topic, partition, low, end, err);
}

br_status br_log_offset_at(br_log *log, const char *topic, int32_t partition, int64_t ms,
                           int64_t *offset, br_err *err)
{
    return log->vtable->offset_at(log, topic, partition, ms, offset, err);
}

br_status br_consumer_open(br_consumer **out, br_log *log, const br_consumer_opts *opts,
                           br_err *err)
{
    return log->vtable->consumer_open(out, log, opts, err);
}

void br_consumer_close(br_consumer *consumer)
{
    if (consumer) consumer->vtable->consumer_close(consumer);
}

br_status br_consumer_poll(br_consumer *consumer, int timeout_ms, size_t max, br_record_fn fn,
                           void *arg, br_err *err)
{
    return consumer->vtable->consumer_poll(consumer, timeout_ms, max, fn, arg, err);
}

br_status br_consumer_start(br_consumer *consumer, br_tp at, int64_t offset, void *user,
                            br_err *err)
{
    return consumer->vtable->consumer_start(consumer, at, offset, user, err);
}

br_status br_consumer_committed(br_consumer *consumer, const br_tp *at, int64_t *offsets,
                                size_t count, br_err *err)
{
    return consumer->vtable->consumer_committed(consumer, at, offsets, count, err);
}

br_status br_consumer_commit(br_consumer *consumer, const br_tp *at, const int64_t *offsets,
                             size_t count, br_err *err)
{
    return consumer->vtable->consumer_commit(consumer, at, offsets, count, err);
}

br_status br_reader_open(br_reader **out, br_log *log, br_tp at, int64_t from, br_err *err)
{
    return log->vtable->reader_open(out, log, at, from, err);
}

void br_reader_close(br_reader *reader)
{
    if (reader) reader->vtable->reader_close(reader);
}

br_status br_reader_poll(br_reader *reader, int timeout_ms, size_t max, br_record_fn fn, void *arg,
                         br_err *err)
{
    return reader->vtable->reader_poll(reader, timeout_ms, max, fn, arg, err);
}

int64_t br_reader_position(const br_reader *reader)
{
    return reader->vtable->reader_position(reader);
}

br_status br_producer_open(br_producer **out, br_log *log, br_err *err)
{
    return log->vtable->producer_open(out, log, err);
}

br_status br_producer_open_transactional(br_producer **out, br_log *log, const char *id,
                                         br_err *err)
{
    return log->vtable->producer_open_transactional(out, log, id, err);
}

br_status br_producer_commit(br_producer *producer, br_consumer *consumer, const br_tp *at,
                             const int64_t *offsets, size_t count, br_err *err)
{
    return producer->vtable->producer_commit(producer, consumer, at, offsets, count, err);
}

void br_producer_close(br_producer *producer)
{
    if (producer) producer->vtable->producer_close(producer);
}

br_status br_producer_topic(br_producer *producer, const char *name, br_topic_ref **out,
                            br_err *err)
{
    return producer->vtable->producer_topic(producer, name, out, err);
}

int32_t br_topic_ref_partitions(const br_topic_ref *topic)
{
    return topic->partitions;
}

br_status br_producer_send(br_producer *producer, br_topic_ref *topic, const br_out_record *record,
                           br_err *err)
{
    return producer->vtable->producer_send(producer, topic, record, err);
}

br_status br_producer_flush(br_producer *producer, br_err *err)
{
    return producer->vtable->producer_flush(producer, err);
}

int64_t br_topic_ref_last_offset(const br_topic_ref *topic, int32_t partition)
{
    return topic->last_offsets[partition];
}
