/* runtime/log/kafka_producer.c - an idempotent producer; the partition is always computed here.
 * Invariant: flush says BR_OK only when every record since the producer was opened is stored: each
 *            delivery report is counted, and flush waits for all of them.
 *            Records without headers and timestamp are gathered by topic (kafka_batch.h).
 * Thread:    delivery reports run inside send and flush, on the caller's thread. */
#include "runtime/log/kafka_producer.h"

#include "runtime/base/alloc.h"
#include "runtime/base/hash.h"

enum {
    /* Records without a key stay this long on one partition: they compress better together. */
    SPREAD_RECORDS = 256,
    /* Sends between two looks at delivery reports. */
    SERVE_EVERY = 512,
    FULL_WAIT_MS = 100,
    FLUSH_STEP_MS = 1000,
};

static const br_setting producer_settings[] = {
    {"enable.idempotence", "true"},
    {"acks", "all"},
    {"linger.ms", "20"},
    {"batch.size", "64000"},
    {"compression.codec", "lz4"},
    {"message.timeout.ms", "120000"},
    {"queue.buffering.max.messages", "1000000"},
    {"queue.buffering.max.kbytes", "262144"},
};

/* Later ones win. A broker ends a transaction that is open for longer than this; a delivery must be
 * over before. Transactions that follow each other closely wait for this backoff: 25 ms instead of
 * 80. */
static const br_setting transactional_settings[] = {
    {"transaction.timeout.ms", "60000"},
    {"message.timeout.ms", "50000"},
    {"retry.backoff.ms", "10"},
};

/* ---- delivery reports ---- */

static void take_failed(br_kafka_producer *p, const rd_kafka_message_t *message)
{
    if (p->failed++ > 0) return;
    p->failure = message->err;
    snprintf(p->failure_text, sizeof(p->failure_text), "a record for %s[%d] was not stored",
             rd_kafka_topic_name(message->rkt), message->partition);
}

static void take_report(rd_kafka_t *rk, const rd_kafka_message_t *message, void *opaque)
{
    (void)rk;
    br_kafka_client *client = opaque;
    br_kafka_topic_ref *topic = message->_private;
    if (message->err)
        take_failed(client->owner, message);
    else if (message->offset >= 0) /* -1: stored by an earlier attempt whose answer was lost */
        topic->base.last_offsets[message->partition] = message->offset;
}

/* ---- open, close ---- */

br_status br_kafka_producer_make(br_kafka_producer **out, br_log *base, const char *id, br_err *err)
{
    br_setting settings[BR_COUNTOF(producer_settings) + BR_COUNTOF(transactional_settings) + 1];
    size_t count = BR_COUNTOF(producer_settings);
    br_kafka_producer *p = BR_NEW(br_kafka_producer);
    memcpy(settings, producer_settings, sizeof(producer_settings));
    for (size_t i = 0; id && i < BR_COUNTOF(transactional_settings); i++)
        settings[count++] = transactional_settings[i];
    if (id) settings[count++] = (br_setting){"transactional.id", id};
    const br_kafka_role role = {
        .type = RD_KAFKA_PRODUCER,
        .settings = settings,
        .setting_count = count,
        .delivery = take_report,
        .owner = p,
    };
    p->base.vtable = base->vtable;
    p->log = (br_kafka_log *)base;
    br_status status = br_kafka_client_open(&p->client, p->log, &role, err);
    if (status != BR_OK) {
        br_free(p);
        return status;
    }
    *out = p;
    return BR_OK;
}

br_status br_kafka_producer_open(br_producer **out, br_log *base, br_err *err)
{
    br_kafka_producer *p;
    br_status status = br_kafka_producer_make(&p, base, NULL, err);
    if (status == BR_OK) *out = &p->base;
    return status;
}

static void free_topics(br_kafka_topic_ref *topic)
{
    while (topic) {
        br_kafka_topic_ref *next = topic->next;
        rd_kafka_topic_destroy(topic->rkt);
        br_kafka_batch_destroy(topic->batch);
        br_free((char *)(uintptr_t)topic->base.name);
        br_free(topic->base.last_offsets);
        br_free(topic);
        topic = next;
    }
}

void br_kafka_producer_close(br_producer *base)
{
    br_kafka_producer *p = (br_kafka_producer *)base;
    rd_kafka_purge(p->client->rk, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
    /* The reports of what was purged name the refs: serve them while these live. */
    while (rd_kafka_poll(p->client->rk, 0) > 0) continue;
    free_topics(p->topics);
    br_kafka_client_close(p->client);
    br_free(p);
}

/* ---- topics ---- */

static br_kafka_topic_ref *new_ref(rd_kafka_topic_t *rkt, const char *name, int32_t partitions)
{
    br_kafka_topic_ref *topic = BR_NEW(br_kafka_topic_ref);
    topic->base.name = br_strdup(name);
    topic->base.partitions = partitions;
    topic->base.last_offsets = br_alloc((size_t)partitions * sizeof(int64_t));
    for (int32_t i = 0; i < partitions; i++) topic->base.last_offsets[i] = -1;
    topic->rkt = rkt;
    return topic;
}

br_status br_kafka_producer_topic(br_producer *base, const char *name, br_topic_ref **out,
                                  br_err *err)
{
    br_kafka_producer *p = (br_kafka_producer *)base;
    for (br_kafka_topic_ref *at = p->topics; at; at = at->next) {
        if (strcmp(at->base.name, name) != 0) continue;
        *out = &at->base;
        return BR_OK;
    }
    /* Asked of the admin client first: a producer that asks for a topic makes it. */
    int32_t partitions = 0;
    br_status status = br_kafka_partitions(p->log, name, &partitions, err);
    if (status != BR_OK) return status;
    rd_kafka_topic_t *rkt = rd_kafka_topic_new(p->client->rk, name, NULL);
    if (!rkt) return br_kafka_fail(err, p->client, rd_kafka_last_error(), NULL, "topic %s", name);
    /* Known before the first record, or that one waits 700 ms for the next refresh. */
    const struct rd_kafka_metadata *found = NULL;
    rd_kafka_resp_err_t code =
        rd_kafka_metadata(p->client->rk, 0, rkt, &found, BR_KAFKA_TIMEOUT_MS);
    if (code) {
        rd_kafka_topic_destroy(rkt);
        return br_kafka_fail(err, p->client, code, NULL, "topic %s", name);
    }
    rd_kafka_metadata_destroy(found);
    br_kafka_topic_ref *topic = new_ref(rkt, name, partitions);
    topic->next = p->topics;
    p->topics = topic;
    *out = &topic->base;
    return BR_OK;
}

/* ---- send ---- */

static int32_t choose_partition(br_kafka_topic_ref *topic, const br_out_record *record)
{
    if (record->partition >= 0) return record->partition;
    if (record->key.data) return br_partition_of(record->key, topic->base.partitions);
    return (int32_t)(topic->base.spread++ / SPREAD_RECORDS % (uint32_t)topic->base.partitions);
}

/* librdkafka takes the list with the record. */
static rd_kafka_headers_t *make_headers(const br_out_record *record)
{
    if (record->header_count == 0) return NULL;
    rd_kafka_headers_t *list = rd_kafka_headers_new(record->header_count);
    for (size_t i = 0; i < record->header_count; i++) {
        const br_header *at = &record->headers[i];
        rd_kafka_header_add(list, at->name.data, (ssize_t)at->name.len, at->value.data,
                            (ssize_t)at->value.len);
    }
    return list;
}

static void *mutable(const char *data)
{
    return (void *)(uintptr_t)data;
}

static rd_kafka_resp_err_t produce(br_kafka_producer *p, br_kafka_topic_ref *topic,
                                   int32_t partition, const br_out_record *record,
                                   rd_kafka_headers_t *headers)
{
    /* librdkafka takes 0 for "now", so the first millisecond of 1970 goes out as the second. */
    int64_t timestamp_ms = record->timestamp_ms < 0 ? 0 : record->timestamp_ms;
    if (record->timestamp_ms == 0) timestamp_ms = 1;
    if (headers)
        return rd_kafka_producev(p->client->rk, RD_KAFKA_V_RKT(topic->rkt),
                                 RD_KAFKA_V_PARTITION(partition),
                                 RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
                                 RD_KAFKA_V_KEY(mutable(record->key.data), record->key.len),
                                 RD_KAFKA_V_VALUE(mutable(record->value.data), record->value.len),
                                 RD_KAFKA_V_TIMESTAMP(timestamp_ms), RD_KAFKA_V_HEADERS(headers),
                                 RD_KAFKA_V_OPAQUE(topic), RD_KAFKA_V_END);
    return rd_kafka_producev(
        p->client->rk, RD_KAFKA_V_RKT(topic->rkt), RD_KAFKA_V_PARTITION(partition),
        RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
        RD_KAFKA_V_KEY(mutable(record->key.data), record->key.len),
        RD_KAFKA_V_VALUE(mutable(record->value.data), record->value.len),
        RD_KAFKA_V_TIMESTAMP(timestamp_ms), RD_KAFKA_V_OPAQUE(topic), RD_KAFKA_V_END);
}

static br_status fail_delivery(br_kafka_producer *p, br_err *err)
{
    char fatal[256];
    rd_kafka_resp_err_t code = rd_kafka_fatal_error(p->client->rk, fatal, sizeof(fatal));
    if (code) return br_kafka_fail(err, p->client, code, fatal, "producer");
    if (p->failed == 1)
        return br_kafka_fail(err, p->client, p->failure, NULL, "%s", p->failure_text);
    return br_kafka_fail(err, p->client, p->failure, NULL, "%s (and %llu more)", p->failure_text,
                         (unsigned long long)(p->failed - 1));
}

/* Hands over what was gathered for a topic. A record that librdkafka does not take is one that is
 * not stored: then nothing is handed over any more. */
static br_status hand_over(br_kafka_producer *p, br_kafka_topic_ref *topic, br_err *err)
{
    br_kafka_refused refused;
    if (!topic->batch || br_kafka_batch_is_empty(topic->batch)) return BR_OK;
    rd_kafka_poll(p->client->rk, 0);
    if (p->failed > 0) return fail_delivery(p, err);
    /* Ends: each record in the queue is reported within message.timeout.ms, stored or not. */
    while ((refused = br_kafka_batch_hand_over(topic->batch)).code ==
               RD_KAFKA_RESP_ERR__QUEUE_FULL &&
           p->failed == 0)
        rd_kafka_poll(p->client->rk, FULL_WAIT_MS);
    if (!refused.code) return BR_OK;
    if (p->failed++ == 0) {
        p->failure = refused.code;
        snprintf(p->failure_text, sizeof(p->failure_text), "record of %zu bytes for %s[%d]",
                 refused.bytes, topic->base.name, refused.partition);
    }
    return fail_delivery(p, err);
}

br_status br_kafka_producer_hand_over(br_kafka_producer *p, br_err *err)
{
    br_status st = BR_OK;
    for (br_kafka_topic_ref *at = p->topics; st == BR_OK && at; at = at->next)
        st = hand_over(p, at, err);
    return st;
}

static br_status gather(br_kafka_producer *p, br_kafka_topic_ref *topic, int32_t partition,
                        const br_out_record *record, br_err *err)
{
    if (p->failed > 0) return fail_delivery(p, err);
    if (!topic->batch) topic->batch = br_kafka_batch_create(topic->rkt, topic);
    br_kafka_batch_add(topic->batch, partition, record);
    return br_kafka_batch_is_full(topic->batch) ? hand_over(p, topic, err) : BR_OK;
}

static br_status send_one(br_kafka_producer *p, br_kafka_topic_ref *topic, int32_t partition,
                          const br_out_record *record, br_err *err)
{
    br_status st = hand_over(p, topic, err); /* what was sent before it comes before it */
    if (st != BR_OK) return st;
    if (++p->sent % SERVE_EVERY == 0) rd_kafka_poll(p->client->rk, 0);
    rd_kafka_headers_t *headers = make_headers(record);
    rd_kafka_resp_err_t code;
    while ((code = produce(p, topic, partition, record, headers)) ==
               RD_KAFKA_RESP_ERR__QUEUE_FULL &&
           p->failed == 0)
        rd_kafka_poll(p->client->rk, FULL_WAIT_MS);
    if (!code) return BR_OK;
    if (headers) rd_kafka_headers_destroy(headers);
    if (p->failed > 0 || code == RD_KAFKA_RESP_ERR__FATAL) return fail_delivery(p, err);
    return br_kafka_fail(err, p->client, code, NULL, "record of %zu bytes for %s[%d]",
                         record->key.len + record->value.len, topic->base.name, partition);
}

br_status br_kafka_producer_send(br_producer *base, br_topic_ref *ref, const br_out_record *record,
                                 br_err *err)
{
    br_kafka_producer *p = (br_kafka_producer *)base;
    br_kafka_topic_ref *topic = (br_kafka_topic_ref *)ref;
    int32_t partition = choose_partition(topic, record);
    /* Also a bug of librdkafka below 2.12: it frees the headers twice for a missing partition. */
    if (partition >= ref->partitions)
        return br_fail(err, BR_ERR_CONFIG, "topic %s has no partition %d, only 0 to %d", ref->name,
                       partition, ref->partitions - 1);
    if (p->transactional && br_kafka_transaction_begin(p, err) != BR_OK) return err->status;
    return br_kafka_batch_can_take(record) ? gather(p, topic, partition, record, err)
                                           : send_one(p, topic, partition, record, err);
}

br_status br_kafka_producer_flush(br_producer *base, br_err *err)
{
    br_kafka_producer *p = (br_kafka_producer *)base;
    rd_kafka_resp_err_t code;
    br_status st = br_kafka_producer_hand_over(p, err);
    if (st != BR_OK) return st;
    do {
        code = rd_kafka_flush(p->client->rk, FLUSH_STEP_MS);
    } while (code == RD_KAFKA_RESP_ERR__TIMED_OUT && p->failed == 0);
    if (p->failed > 0 || rd_kafka_fatal_error(p->client->rk, NULL, 0)) return fail_delivery(p, err);
    return code ? br_kafka_fail(err, p->client, code, NULL, "waiting for deliveries") : BR_OK;
}
