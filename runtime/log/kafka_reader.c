/* runtime/log/kafka_reader.c - one partition from an explicit offset, without a group.
 * Shape:     librdkafka's simple consumer on a client that no other reader uses meanwhile (it can
 *            read a partition once only); clients are kept for the next reader.
 * Invariant: position is behind all that was handed over, gaps included; nothing below it is handed
 *            over; an offset that is not there is an error, never another place (FAULTS 1, 5, 8).
 */
#include "runtime/log/kafka.h"

#include "runtime/base/alloc.h"

typedef struct reader {
    br_reader base;
    br_kafka_log *log;
    br_kafka_client *client;
    rd_kafka_topic_t *rkt;
    rd_kafka_queue_t *queue;
    int32_t partition;
    bool reading;
    int64_t position;
    br_kafka_headers headers;
    /* of the poll that runs */
    br_record_fn fn;
    void *arg;
    size_t max, count;
    bool over;
    br_status status;
    br_err *err;
} reader;

/* ---- clients ---- */

static const br_setting reader_settings[] = {
    {"isolation.level", "read_committed"}, {"enable.auto.commit", "false"},
    {"enable.auto.offset.store", "false"}, {"auto.offset.reset", "error"},
    {"enable.partition.eof", "true"},      {"allow.auto.create.topics", "false"},
    {"fetch.wait.max.ms", "100"},
};

static br_status take_client(br_kafka_log *log, br_kafka_client **out, br_err *err)
{
    const br_kafka_role role = {
        .type = RD_KAFKA_CONSUMER,
        .settings = reader_settings,
        .setting_count = BR_COUNTOF(reader_settings),
    };
    *out = NULL;
    pthread_mutex_lock(&log->lock);
    if (log->idle_count > 0) *out = log->idle[--log->idle_count];
    pthread_mutex_unlock(&log->lock);
    return *out ? BR_OK : br_kafka_client_open(out, log, &role, err);
}

static void give_back(br_kafka_log *log, br_kafka_client *client)
{
    bool kept = false;
    pthread_mutex_lock(&log->lock);
    if (log->idle_count < BR_KAFKA_IDLE_READERS_MAX) {
        log->idle[log->idle_count++] = client;
        kept = true;
    }
    pthread_mutex_unlock(&log->lock);
    if (!kept) br_kafka_client_close(client);
}

/* ---- open, close ---- */

static br_status check_start(br_log *log, br_tp at, int64_t from, int64_t *position, br_err *err)
{
    int64_t low = 0, end = 0;
    br_status status = br_kafka_offsets(log, at.topic, at.partition, &low, &end, err);
    if (status != BR_OK) return status;
    if (from >= 0 && from < low)
        return br_fail(
            err, BR_ERR_LIMIT,
            "%s[%d]: offset %lld is asked for, but the first that is still there is %lld", at.topic,
            at.partition, (long long)from, (long long)low);
    *position = from < 0 ? low : from;
    return BR_OK;
}

static br_status start(reader *r, br_tp at, int64_t from, br_err *err)
{
    r->rkt = rd_kafka_topic_new(r->client->rk, at.topic, NULL);
    if (!r->rkt)
        return br_kafka_fail(err, r->client, rd_kafka_last_error(), NULL, "topic %s", at.topic);
    r->queue = rd_kafka_queue_new(r->client->rk);
    int64_t offset = from < 0 ? RD_KAFKA_OFFSET_BEGINNING : from;
    if (rd_kafka_consume_start_queue(r->rkt, at.partition, offset, r->queue) != 0)
        return br_kafka_fail(err, r->client, rd_kafka_last_error(), NULL, "reading %s[%d]",
                             at.topic, at.partition);
    r->reading = true;
    return BR_OK;
}

br_status br_kafka_reader_open(br_reader **out, br_log *base, br_tp at, int64_t from, br_err *err)
{
    int64_t position = 0;
    br_status status = check_start(base, at, from, &position, err);
    if (status != BR_OK) return status;
    reader *r = BR_NEW(reader);
    r->base.vtable = base->vtable;
    r->log = (br_kafka_log *)base;
    r->partition = at.partition;
    r->position = position;
    status = take_client(r->log, &r->client, err);
    if (status == BR_OK) status = start(r, at, from, err);
    if (status != BR_OK) {
        br_kafka_reader_close(&r->base);
        return status;
    }
    *out = &r->base;
    return BR_OK;
}

void br_kafka_reader_close(br_reader *base)
{
    reader *r = (reader *)base;
    if (r->reading) rd_kafka_consume_stop(r->rkt, r->partition);
    if (r->queue) rd_kafka_queue_destroy(r->queue);
    if (r->rkt) rd_kafka_topic_destroy(r->rkt);
    if (r->client) give_back(r->log, r->client);
    br_free(r->headers.at);
    br_free(r);
}

/* ---- poll ---- */

static void finish(reader *r, br_status status)
{
    r->status = status;
    r->over = true;
    rd_kafka_yield(r->client->rk);
}

static void take_error(reader *r, const rd_kafka_message_t *message)
{
    if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
        if (message->offset > r->position) r->position = message->offset;
    } else if (!br_kafka_is_transient(message->err)) {
        finish(r, br_kafka_fail(r->err, r->client, message->err, rd_kafka_message_errstr(message),
                                "%s[%d] at offset %lld", rd_kafka_topic_name(r->rkt), r->partition,
                                (long long)r->position));
    }
}

static void take_message(rd_kafka_message_t *message, void *opaque)
{
    reader *r = opaque;
    BR_ASSERT(!r->over);
    if (message->err) {
        take_error(r, message);
        return;
    }
    if (message->offset < r->position) return;
    br_record record = br_kafka_record_of(message, rd_kafka_topic_name(r->rkt), &r->headers);
    br_status status = r->fn(r->arg, NULL, &record, r->err);
    if (status < 0) {
        finish(r, status);
        return;
    }
    r->position = message->offset + 1;
    r->count++;
    if (status == BR_END || r->count >= r->max) finish(r, BR_OK);
}

br_status br_kafka_reader_poll(br_reader *base, int timeout_ms, size_t max, br_record_fn fn,
                               void *arg, br_err *err)
{
    reader *r = (reader *)base;
    r->fn = fn;
    r->arg = arg;
    r->max = max;
    r->count = 0;
    r->over = false;
    r->status = BR_OK;
    r->err = err;
    rd_kafka_poll(r->client->rk, 0); /* the client's own events do not pile up */
    rd_kafka_consume_callback_queue(r->queue, timeout_ms, take_message, r);
    if (r->status < 0) return r->status;
    return r->count > 0 ? BR_OK : BR_EMPTY;
}

int64_t br_kafka_reader_position(const br_reader *base)
{
    return ((const reader *)base)->position;
}
