/* runtime/log/kafka_consumer.c - a member of a consumer group: joins, hands over records, commits.
 * Shape:     main queue (rebalances, errors) and one shared queue of all started partitions, which
 *            is served by librdkafka's consume callback and cut by yield.
 * Invariant: no record is lost or handed over twice within an assignment. Below librdkafka 2.1 the
 *            batch call loses records at each rebalance, so it is not used. A commit is sent only
 *            while the group is steady: the broker answers one request after the other, so behind a
 *            JoinGroup it would block until all members have joined, and below 2.10 the whole
 *            assignment may be lost. */
#include "runtime/log/kafka_consumer.h"

#include "runtime/base/alloc.h"
#include "runtime/base/logger.h"

#include <strings.h>

enum {
    /* While a rebalance waits in the main queue, nothing is fetched for any partition. */
    MAIN_QUEUE_EVERY_MS = 50,
    COMMIT_WAIT_MS = 1000,
    /* Both together leave a worker time to end within the usual 10 s after a SIGTERM. */
    STEADY_WAIT_MS = 3000,
    LEAVE_WAIT_MS = 5000,
};

/* ---- open ---- */

static br_status check_topics(br_kafka_log *log, const br_consumer_opts *opts, br_err *err)
{
    for (size_t i = 0; i < opts->topic_count; i++) {
        int32_t partitions = 0;
        br_status status = br_kafka_partitions(log, opts->topics[i], &partitions, err);
        if (status == BR_NOT_FOUND)
            return br_fail(err, BR_ERR_CONFIG, "there is no topic %s; create it first",
                           opts->topics[i]);
        if (status != BR_OK) return status;
    }
    return BR_OK;
}

/* KIP-848: the broker assigns, and librdkafka refuses the settings of the older protocol. Both
 * protocols hand over only the partitions that move. */
static bool broker_assigns(const br_kafka_log *log)
{
    bool found = false;
    for (size_t i = 0; i < log->setting_count; i++)
        if (strcmp(log->settings[i].name, "group.protocol") == 0)
            found = strcasecmp(log->settings[i].value, "consumer") == 0;
    return found;
}

static br_status open_client(br_kafka_consumer *c, br_kafka_log *log, const br_consumer_opts *opts,
                             br_err *err)
{
    bool by_broker = broker_assigns(log);
    const br_setting settings[] = {
        {"group.id", opts->group},
        {"group.instance.id", opts->instance_id},
        {"partition.assignment.strategy", by_broker ? NULL : "cooperative-sticky"},
        /* How soon a member learns of a rebalance. */
        {"heartbeat.interval.ms", by_broker ? NULL : "1000"},
        {"enable.auto.commit", "false"},
        {"enable.auto.offset.store", "false"},
        {"auto.offset.reset", "error"},
        {"isolation.level", "read_committed"},
        {"enable.partition.eof", "true"},
        {"allow.auto.create.topics", "false"},
        {"fetch.wait.max.ms", "100"},
        {"topic.metadata.refresh.interval.ms", "10000"}, /* new partitions are seen soon */
        {"fetch.error.backoff.ms", "50"}, /* below 2.10 a leader change stalls 500 ms */
    };
    const br_kafka_role role = {
        .type = RD_KAFKA_CONSUMER,
        .settings = settings,
        .setting_count = BR_COUNTOF(settings),
        .rebalance = br_kafka_rebalance,
        .owner = c,
    };
    return br_kafka_client_open(&c->client, log, &role, err);
}

static br_status subscribe(br_kafka_consumer *c, const br_consumer_opts *opts, br_err *err)
{
    rd_kafka_topic_partition_list_t *list =
        rd_kafka_topic_partition_list_new((int)opts->topic_count);
    for (size_t i = 0; i < opts->topic_count; i++)
        rd_kafka_topic_partition_list_add(list, opts->topics[i], RD_KAFKA_PARTITION_UA);
    rd_kafka_resp_err_t code = rd_kafka_subscribe(c->client->rk, list);
    rd_kafka_topic_partition_list_destroy(list);
    return code ? br_kafka_fail(err, c->client, code, NULL, "joining group %s", c->group) : BR_OK;
}

static br_status open_topics(br_kafka_consumer *c, const br_consumer_opts *opts, br_err *err)
{
    c->topics = br_calloc(opts->topic_count, sizeof(*c->topics));
    for (size_t i = 0; i < opts->topic_count; i++) {
        br_kafka_subscribed *topic = &c->topics[c->topic_count++];
        topic->name = br_strdup(opts->topics[i]);
        topic->rkt = rd_kafka_topic_new(c->client->rk, topic->name, NULL);
        if (!topic->rkt)
            return br_kafka_fail(err, c->client, rd_kafka_last_error(), NULL, "topic %s",
                                 topic->name);
    }
    return BR_OK;
}

static void free_consumer(br_kafka_consumer *c)
{
    br_kafka_drop_slots(c);
    for (size_t i = 0; i < c->topic_count; i++) {
        if (c->topics[i].rkt) rd_kafka_topic_destroy(c->topics[i].rkt);
        br_free(c->topics[i].slots);
        br_free(c->topics[i].name);
    }
    if (c->shared) rd_kafka_queue_destroy(c->shared);
    br_kafka_client_close(c->client);
    br_free(c->topics);
    br_free(c->headers.at);
    br_free(c->group);
    br_free(c);
}

br_status br_kafka_consumer_open(br_consumer **out, br_log *base, const br_consumer_opts *opts,
                                 br_err *err)
{
    br_kafka_log *log = (br_kafka_log *)base;
    br_status status = check_topics(log, opts, err);
    if (status != BR_OK) return status;
    br_kafka_consumer *c = BR_NEW(br_kafka_consumer);
    c->base.vtable = base->vtable;
    c->log = base;
    c->listener = opts->listener;
    c->group = br_strdup(opts->group);
    status = open_client(c, log, opts, err);
    if (status == BR_OK) {
        rd_kafka_poll_set_consumer(c->client->rk);
        c->shared = rd_kafka_queue_new(c->client->rk);
        status = open_topics(c, opts, err);
    }
    if (status == BR_OK) status = subscribe(c, opts, err);
    if (status != BR_OK) {
        free_consumer(c);
        return status;
    }
    *out = &c->base;
    return BR_OK;
}

/* ---- poll ---- */

static void finish(br_kafka_consumer *c, br_status status)
{
    c->status = status;
    c->over = true;
    rd_kafka_yield(c->client->rk); /* what is left goes back to the queue's front */
}

/* NULL: taken away meanwhile, or not started. */
static br_kafka_slot *slot_of(br_kafka_consumer *c, const rd_kafka_message_t *message)
{
    if (message->rkt != c->last_rkt || message->partition != c->last_partition) {
        c->last_rkt = message->rkt;
        c->last_partition = message->partition;
        c->last_slot = br_kafka_find_slot(c, rd_kafka_topic_name(message->rkt), message->partition);
    }
    br_kafka_slot *slot = c->last_slot;
    return slot && slot->reading == BR_KAFKA_READING ? slot : NULL;
}

/* Behind a start, the first thing may be left over from the place before it; taken for a gap it
 * would skip every record up to there. A real gap (compaction, transaction markers) is there again
 * after another seek. */
static bool is_doubtful(br_kafka_consumer *c, br_kafka_slot *slot, int64_t offset)
{
    if (!slot->fresh) return false;
    if (offset == slot->next || offset == slot->doubtful) {
        slot->fresh = false;
        return false;
    }
    slot->doubtful = offset;
    slot->reading = BR_KAFKA_SEEKING;
    c->must_seek = true;
    rd_kafka_queue_forward(slot->queue, NULL);
    return true;
}

static void take_end(br_kafka_consumer *c, br_kafka_slot *slot, int64_t position)
{
    if (position < slot->next || is_doubtful(c, slot, position)) return;
    slot->next = position;
    if (c->listener.at_end) c->listener.at_end(c->listener.self, slot->user, position);
}

/* Retention or somebody deleted the records, or the topic was made anew. Looked up, so that the
 * message says what there is, and so that nothing that is there fails the job. */
static br_status fail_place(br_kafka_consumer *c, const br_kafka_slot *slot,
                            const rd_kafka_message_t *message)
{
    int64_t low = 0, end = 0;
    br_status status = br_kafka_offsets(c->log, slot->topic, slot->partition, &low, &end, c->err);
    if (status != BR_OK) return status;
    bool there = slot->next >= low && slot->next <= end;
    return br_fail(c->err, there ? BR_ERR_BROKER : BR_ERR_LIMIT,
                   "%s[%d]: offset %lld %s (%lld to %lld are there, librdkafka asked for %lld): %s",
                   slot->topic, slot->partition, (long long)slot->next,
                   there ? "could not be read" : "is not there", (long long)low, (long long)end,
                   (long long)message->offset, rd_kafka_message_errstr(message));
}

static void take_error(br_kafka_consumer *c, br_kafka_slot *slot, const rd_kafka_message_t *message)
{
    if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF)
        take_end(c, slot, message->offset);
    else if (message->err == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET)
        finish(c, fail_place(c, slot, message));
    else if (!br_kafka_is_transient(message->err))
        finish(c, br_kafka_fail(c->err, c->client, message->err, rd_kafka_message_errstr(message),
                                "%s[%d] at offset %lld", slot->topic, slot->partition,
                                (long long)slot->next));
}

static void take_message(rd_kafka_message_t *message, void *opaque)
{
    br_kafka_consumer *c = opaque;
    BR_ASSERT(!c->over);
    br_kafka_slot *slot = slot_of(c, message);
    if (!slot) return;
    if (message->err) {
        take_error(c, slot, message);
        return;
    }
    if (message->offset < slot->next) return; /* a rewind inside librdkafka */
    if (slot->fresh && is_doubtful(c, slot, message->offset)) return;
    br_record record = br_kafka_record_of(message, slot->topic, &c->headers);
    br_status status = c->fn(c->arg, slot->user, &record, c->err);
    if (status < 0) {
        finish(c, status);
        return;
    }
    slot->next = message->offset + 1;
    c->count++;
    if (status == BR_END || c->count >= c->max) finish(c, BR_OK);
}

/* An event of the group as a whole. Most pass by themselves: librdkafka goes on trying. */
static br_status take_group_error(br_kafka_consumer *c, const rd_kafka_message_t *message,
                                  br_err *err)
{
    if (!message->err)
        return br_fail(err, BR_ERR_BROKER,
                       "group %s: librdkafka handed over %s[%d]@%lld beside its queue", c->group,
                       rd_kafka_topic_name(message->rkt), message->partition,
                       (long long)message->offset);
    char fatal[256];
    rd_kafka_resp_err_t code = rd_kafka_fatal_error(c->client->rk, fatal, sizeof(fatal));
    if (code) return br_kafka_fail(err, c->client, code, fatal, "group %s", c->group);
    br_err seen = {0};
    br_kafka_fail(&seen, c->client, message->err, rd_kafka_message_errstr(message), "group %s",
                  c->group);
    if (seen.status == BR_ERR_CONFIG || seen.status == BR_ERR_FENCED) {
        *err = seen;
        return seen.status;
    }
    br_log_line(BR_WARN, "trouble with the group", "text=\"%s\"", seen.message);
    return BR_OK;
}

static br_status serve_main_queue(br_kafka_consumer *c, br_err *err)
{
    rd_kafka_message_t *message;
    br_status status = BR_OK;
    while (status == BR_OK && (message = rd_kafka_consumer_poll(c->client->rk, 0))) {
        status = take_group_error(c, message, err);
        rd_kafka_message_destroy(message);
    }
    if (status == BR_OK && c->broken.status != BR_OK) {
        *err = c->broken;
        status = c->broken.status;
    }
    return status == BR_OK ? br_kafka_seek_slots(c, err) : status;
}

br_status br_kafka_consumer_poll(br_consumer *base, int timeout_ms, size_t max, br_record_fn fn,
                                 void *arg, br_err *err)
{
    br_kafka_consumer *c = (br_kafka_consumer *)base;
    c->fn = fn;
    c->arg = arg;
    c->max = max;
    c->count = 0;
    c->over = false;
    c->status = BR_OK;
    c->err = err;
    int64_t until = br_mono_ms(&br_system_clock) + timeout_ms, left = timeout_ms;
    do {
        br_status status = serve_main_queue(c, err);
        if (status != BR_OK) return status;
        int64_t wait = left < MAIN_QUEUE_EVERY_MS ? left : MAIN_QUEUE_EVERY_MS;
        rd_kafka_consume_callback_queue(c->shared, (int)wait, take_message, c);
        if (c->status < 0) return c->status;
        left = until - br_mono_ms(&br_system_clock);
    } while (c->count == 0 && left > 0);
    return c->count > 0 ? BR_OK : BR_EMPTY;
}

br_status br_kafka_consumer_start(br_consumer *base, br_tp at, int64_t offset, void *user,
                                  br_err *err)
{
    br_kafka_consumer *c = (br_kafka_consumer *)base;
    br_kafka_slot *slot = br_kafka_find_slot(c, at.topic, at.partition);
    if (!slot || offset < 0)
        return br_fail(err, BR_ERR_CONFIG, "%s[%d] cannot be started at offset %lld: %s", at.topic,
                       at.partition, (long long)offset,
                       slot ? "it is no offset" : "it is not assigned to this member");
    if (!slot->queue)
        return br_fail(err, BR_ERR_BROKER, "%s[%d]: librdkafka has no queue for it", at.topic,
                       at.partition);
    /* Inside `assigned` it has not been assigned in librdkafka yet: it will be, at this offset. */
    bool now = c->assigning && slot->reading == BR_KAFKA_ASSIGNED;
    slot->reading = now ? BR_KAFKA_READING : BR_KAFKA_SEEKING;
    c->must_seek |= !now;
    slot->next = offset;
    slot->doubtful = -1;
    slot->user = user;
    return BR_OK;
}

/* ---- commits ---- */

static rd_kafka_topic_partition_list_t *list_of(const br_tp *at, const int64_t *offsets,
                                                size_t count)
{
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new((int)count);
    for (size_t i = 0; i < count; i++) {
        rd_kafka_topic_partition_t *elem =
            rd_kafka_topic_partition_list_add(list, at[i].topic, at[i].partition);
        elem->offset = offsets ? offsets[i] : RD_KAFKA_OFFSET_INVALID;
    }
    return list;
}

/* The first partition with an error, or NULL. */
static const rd_kafka_topic_partition_t *
failed_partition(const rd_kafka_topic_partition_list_t *list)
{
    for (int i = 0; i < list->cnt; i++)
        if (list->elems[i].err) return &list->elems[i];
    return NULL;
}

br_status br_kafka_consumer_committed(br_consumer *base, const br_tp *at, int64_t *offsets,
                                      size_t count, br_err *err)
{
    br_kafka_consumer *c = (br_kafka_consumer *)base;
    if (count == 0) return BR_OK;
    rd_kafka_topic_partition_list_t *list = list_of(at, NULL, count);
    rd_kafka_resp_err_t code = rd_kafka_committed(c->client->rk, list, BR_KAFKA_TIMEOUT_MS);
    const rd_kafka_topic_partition_t *failed = failed_partition(list);
    if (!code && failed) code = failed->err;
    for (size_t i = 0; i < count && !code; i++)
        offsets[i] = list->elems[i].offset < 0 ? -1 : list->elems[i].offset;
    br_status status = BR_OK;
    if (code)
        status =
            br_kafka_fail(err, c->client, code, NULL, "committed offsets of group %s", c->group);
    rd_kafka_topic_partition_list_destroy(list);
    return status;
}

/* Of KIP-848; 2.0.2's header has no name for it. */
enum { STALE_MEMBER_EPOCH = 113 };

static bool is_of_a_rebalance(rd_kafka_resp_err_t code)
{
    return (int)code == STALE_MEMBER_EPOCH || code == RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION ||
           code == RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID ||
           code == RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS;
}

/* Bounded, unlike rd_kafka_commit: behind a JoinGroup, or with no coordinator, the answer may be
 * long in coming. The broker may still take a commit that is no longer waited for; those after it
 * are behind it on the same connection. */
static rd_kafka_resp_err_t commit_list(br_kafka_consumer *c,
                                       const rd_kafka_topic_partition_list_t *list)
{
    rd_kafka_queue_t *answer = rd_kafka_queue_new(c->client->rk);
    rd_kafka_resp_err_t code = rd_kafka_commit_queue(c->client->rk, list, answer, NULL, NULL);
    rd_kafka_event_t *event = code ? NULL : rd_kafka_queue_poll(answer, COMMIT_WAIT_MS);
    if (!code) code = event ? rd_kafka_event_error(event) : RD_KAFKA_RESP_ERR__TIMED_OUT;
    if (event && !code) {
        const rd_kafka_topic_partition_t *failed =
            failed_partition(rd_kafka_event_topic_partition_list(event));
        if (failed) code = failed->err;
    }
    if (event) rd_kafka_event_destroy(event);
    rd_kafka_queue_destroy(answer);
    return code;
}

br_status br_kafka_consumer_commit(br_consumer *base, const br_tp *at, const int64_t *offsets,
                                   size_t count, br_err *err)
{
    br_kafka_consumer *c = (br_kafka_consumer *)base;
    if (count == 0) return BR_OK;
    /* While partitions are given back no JoinGroup is out: it waits for us. */
    if (!c->revoking && !atomic_load(&c->client->steady)) return BR_EMPTY;
    rd_kafka_topic_partition_list_t *list = list_of(at, offsets, count);
    rd_kafka_resp_err_t code = commit_list(c, list);
    rd_kafka_topic_partition_list_destroy(list);
    if (!code) return BR_OK;
    if (is_of_a_rebalance(code) || br_kafka_is_transient(code)) return BR_EMPTY;
    return br_kafka_fail(err, c->client, code, NULL, "committing offsets of group %s", c->group);
}

/* ---- close ---- */

/* A member that leaves while a rebalance is on its way may stay in the group until its session
 * times out, and below 2.3 leaving before the first assignment crashes. */
static void await_steady_group(br_kafka_consumer *c)
{
    int64_t until = br_mono_ms(&br_system_clock) + STEADY_WAIT_MS;
    rd_kafka_message_t *message;
    while (!(c->joined && atomic_load(&c->client->steady)) && br_mono_ms(&br_system_clock) < until)
        if ((message = rd_kafka_consumer_poll(c->client->rk, 20)))
            rd_kafka_message_destroy(message);
}

/* Bounded, unlike rd_kafka_consumer_close; rebalance callbacks run here, on the caller's thread. */
static void leave_group(br_kafka_consumer *c)
{
    rd_kafka_queue_t *events = rd_kafka_queue_new(c->client->rk);
    rd_kafka_error_t *error = rd_kafka_consumer_close_queue(c->client->rk, events);
    int64_t until = br_mono_ms(&br_system_clock) + LEAVE_WAIT_MS;
    while (!error && !rd_kafka_consumer_closed(c->client->rk)) {
        rd_kafka_queue_poll_callback(events, 20);
        if (br_mono_ms(&br_system_clock) < until) continue;
        br_log_line(BR_ERROR, "the group was not left in time", "group=%s wait_ms=%d", c->group,
                    LEAVE_WAIT_MS);
        break;
    }
    if (error) rd_kafka_error_destroy(error);
    rd_kafka_queue_destroy(events);
}

void br_kafka_consumer_close(br_consumer *base)
{
    br_kafka_consumer *c = (br_kafka_consumer *)base;
    await_steady_group(c);
    if (c->joined || rd_kafka_version() >= 0x02030000) leave_group(c);
    free_consumer(c);
}
