/* runtime/log/kafka_transaction.c - a producer whose records and offsets become visible together.
 * Source:    KIP-98 (transactions), KIP-447 (offsets fenced by the group's generation).
 * Shape:     open: init_transactions ends what an earlier owner left, and fences it -> the first
 *            send begins -> commit: offsets, then commit
 * Invariant: a commit that is not known to have succeeded is never repeated: the producer is
 *            closed, and the next one finds out from the committed offsets.
 * librdkafka speaks the first version of the protocol only (no KIP-890), so a producer is not used
 * again after a commit whose answer was lost. */
#include "runtime/log/kafka_consumer.h"
#include "runtime/log/kafka_producer.h"

enum {
    INIT_TIMEOUT_MS = 60000, /* waits for the end of an earlier owner's transaction */
    WITHOUT_LIMIT = -1,      /* else librdkafka's and the broker's state may part */
};

/* Takes error. */
static br_status fail_transaction(br_kafka_producer *p, rd_kafka_error_t *error, const char *what,
                                  br_err *err)
{
    br_status st = br_kafka_fail(err, p->client, rd_kafka_error_code(error),
                                 rd_kafka_error_string(error), "%s", what);
    /* A member whose group moved on may try again as a new member; only a lost id is the end. */
    if (st != BR_ERR_FENCED || !rd_kafka_error_is_fatal(error)) err->status = st = BR_ERR_BROKER;
    rd_kafka_error_destroy(error);
    return st;
}

br_status br_kafka_producer_open_transactional(br_producer **out, br_log *base, const char *id,
                                               br_err *err)
{
    br_kafka_producer *p;
    *out = NULL;
    br_status st = br_kafka_producer_make(&p, base, id, err);
    if (st != BR_OK) return st;
    rd_kafka_error_t *error = rd_kafka_init_transactions(p->client->rk, INIT_TIMEOUT_MS);
    if (error) {
        st = fail_transaction(p, error, "beginning as the owner of a transactional id", err);
        br_kafka_producer_close(&p->base);
        return st;
    }
    p->transactional = true;
    *out = &p->base;
    return BR_OK;
}

br_status br_kafka_transaction_begin(br_kafka_producer *p, br_err *err)
{
    if (p->in_transaction) return BR_OK;
    rd_kafka_error_t *error = rd_kafka_begin_transaction(p->client->rk);
    if (error) return fail_transaction(p, error, "beginning a transaction", err);
    p->in_transaction = true;
    return BR_OK;
}

static br_status send_offsets(br_kafka_producer *p, const br_kafka_consumer *consumer,
                              const br_tp *at, const int64_t *offsets, size_t count, br_err *err)
{
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new((int)count);
    for (size_t i = 0; i < count; i++)
        rd_kafka_topic_partition_list_add(list, at[i].topic, at[i].partition)->offset = offsets[i];
    rd_kafka_consumer_group_metadata_t *group =
        rd_kafka_consumer_group_metadata(consumer->client->rk);
    rd_kafka_error_t *error =
        rd_kafka_send_offsets_to_transaction(p->client->rk, list, group, WITHOUT_LIMIT);
    rd_kafka_consumer_group_metadata_destroy(group);
    rd_kafka_topic_partition_list_destroy(list);
    return error ? fail_transaction(p, error, "putting offsets into the transaction", err) : BR_OK;
}

/* What was sent is not stored; err stays that of the cause. */
static void abort_transaction(br_kafka_producer *p)
{
    rd_kafka_error_t *error = rd_kafka_abort_transaction(p->client->rk, INIT_TIMEOUT_MS);
    if (error) rd_kafka_error_destroy(error); /* the next owner of the id ends it */
    p->in_transaction = false;
}

br_status br_kafka_producer_commit(br_producer *base, br_consumer *consumer, const br_tp *at,
                                   const int64_t *offsets, size_t count, br_err *err)
{
    br_kafka_producer *p = (br_kafka_producer *)base;
    if (count == 0 && !p->in_transaction) return BR_OK;
    br_status st = br_kafka_transaction_begin(p, err);
    if (st == BR_OK) st = br_kafka_producer_hand_over(p, err);
    if (st == BR_OK && count > 0)
        st = send_offsets(p, (const br_kafka_consumer *)consumer, at, offsets, count, err);
    if (st == BR_OK) {
        rd_kafka_error_t *error = rd_kafka_commit_transaction(p->client->rk, WITHOUT_LIMIT);
        if (error) st = fail_transaction(p, error, "committing the transaction", err);
    }
    if (st != BR_OK) abort_transaction(p);
    p->in_transaction = false;
    return st;
}
