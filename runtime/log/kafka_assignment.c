/* runtime/log/kafka_assignment.c - takes partitions from the group and gives them back.
 * Shape:     assigned: queue taken, listener told, assigned at its start offset, queue forwarded.
 *            A partition that is started later is assigned at its end and sought when it is; at
 *            the end's number, as a seek that meets librdkafka's own search for the end is undone
 *            by it half a second later (all versions up to 2.14 at least).
 * Invariant: a partition's queue is never served by librdkafka's own main queue, and not by ours
 *            before it was started. No pause, no resume: below 2.4 a stray resume rewinds. */
#include "runtime/log/kafka_consumer.h"

#include "runtime/base/alloc.h"
#include "runtime/base/logger.h"

#include <time.h>

enum { SEEK_TIMEOUT_MS = 1000, ENDS_STEP_MS = 20 };

/* ---- slots ---- */

static br_kafka_subscribed *find_topic(br_kafka_consumer *c, const char *name)
{
    for (size_t i = 0; i < c->topic_count; i++)
        if (strcmp(c->topics[i].name, name) == 0) return &c->topics[i];
    return NULL;
}

br_kafka_slot *br_kafka_find_slot(br_kafka_consumer *c, const char *topic, int32_t partition)
{
    br_kafka_subscribed *found = find_topic(c, topic);
    if (!found || partition < 0 || (size_t)partition >= found->cap) return NULL;
    return found->slots[partition];
}

static void make_room(br_kafka_subscribed *topic, size_t need)
{
    size_t old = topic->cap;
    topic->slots = br_grow(topic->slots, &topic->cap, need, sizeof(*topic->slots));
    for (size_t i = old; i < topic->cap; i++) topic->slots[i] = NULL;
}

static void free_slot(br_kafka_slot *slot)
{
    if (!slot) return;
    if (slot->queue) {
        rd_kafka_queue_forward(slot->queue, NULL);
        rd_kafka_queue_destroy(slot->queue);
    }
    br_free(slot);
}

static void add_slot(br_kafka_consumer *c, const rd_kafka_topic_partition_t *at)
{
    br_kafka_subscribed *topic = find_topic(c, at->topic);
    BR_ASSERT(topic && at->partition >= 0);
    make_room(topic, (size_t)at->partition + 1);
    free_slot(topic->slots[at->partition]);
    br_kafka_slot *slot = BR_NEW(br_kafka_slot);
    slot->topic = topic->name;
    slot->rkt = topic->rkt;
    slot->partition = at->partition;
    /* Taken out of the main queue's reach before anything is fetched. */
    slot->queue = rd_kafka_queue_get_partition(c->client->rk, at->topic, at->partition);
    if (slot->queue) rd_kafka_queue_forward(slot->queue, NULL);
    topic->slots[at->partition] = slot;
}

static void drop_slot(br_kafka_consumer *c, const rd_kafka_topic_partition_t *at)
{
    br_kafka_slot *slot = br_kafka_find_slot(c, at->topic, at->partition);
    if (!slot) return;
    find_topic(c, at->topic)->slots[at->partition] = NULL;
    c->last_rkt = NULL;
    free_slot(slot);
}

void br_kafka_drop_slots(br_kafka_consumer *c)
{
    for (size_t t = 0; t < c->topic_count; t++) {
        for (size_t i = 0; i < c->topics[t].cap; i++) {
            free_slot(c->topics[t].slots[i]);
            c->topics[t].slots[i] = NULL;
        }
    }
    c->last_rkt = NULL;
}

/* ---- seeks ---- */

static void begin_reading(br_kafka_consumer *c, br_kafka_slot *slot)
{
    slot->reading = BR_KAFKA_READING;
    slot->fresh = true;
    rd_kafka_queue_forward(slot->queue, c->shared);
}

static br_status seek_slot(br_kafka_consumer *c, br_kafka_slot *slot, br_err *err)
{
    rd_kafka_resp_err_t code =
        rd_kafka_seek(slot->rkt, slot->partition, slot->next, SEEK_TIMEOUT_MS);
    switch ((int)code) {
    case RD_KAFKA_RESP_ERR_NO_ERROR: begin_reading(c, slot); return BR_OK;
    case RD_KAFKA_RESP_ERR__STATE: /* its fetcher has not begun yet */
    case RD_KAFKA_RESP_ERR__PREV_IN_PROGRESS:
    case RD_KAFKA_RESP_ERR__TIMED_OUT: c->must_seek = true; return BR_OK;
    default:
        return br_kafka_fail(err, c->client, code, NULL, "%s[%d]: going to offset %lld",
                             slot->topic, slot->partition, (long long)slot->next);
    }
}

br_status br_kafka_seek_slots(br_kafka_consumer *c, br_err *err)
{
    br_status status = BR_OK;
    if (!c->must_seek) return BR_OK;
    c->must_seek = false;
    for (size_t t = 0; t < c->topic_count; t++) {
        for (size_t i = 0; i < c->topics[t].cap && status == BR_OK; i++) {
            br_kafka_slot *slot = c->topics[t].slots[i];
            if (slot && slot->reading == BR_KAFKA_SEEKING) status = seek_slot(c, slot, err);
        }
    }
    return status;
}

/* ---- rebalances ---- */

static br_tp *partitions_of(const rd_kafka_topic_partition_list_t *list)
{
    br_tp *at = br_alloc((size_t)list->cnt * sizeof(*at));
    for (int i = 0; i < list->cnt; i++)
        at[i] = (br_tp){list->elems[i].topic, list->elems[i].partition};
    return at;
}

static void tell(br_kafka_consumer *c, void (*what)(void *, const br_tp *, size_t),
                 const rd_kafka_topic_partition_list_t *list)
{
    if (list->cnt == 0) return;
    br_tp *at = partitions_of(list);
    what(c->listener.self, at, (size_t)list->cnt);
    br_free(at);
}

static bool is_cooperative(rd_kafka_t *rk)
{
    return strcmp(rd_kafka_rebalance_protocol(rk), "COOPERATIVE") == 0;
}

static void note_error(br_kafka_consumer *c, rd_kafka_error_t *error, const char *what)
{
    if (!error) return;
    if (c->broken.status == BR_OK)
        br_kafka_fail(&c->broken, c->client, rd_kafka_error_code(error),
                      rd_kafka_error_string(error), "group %s: %s", c->group, what);
    rd_kafka_error_destroy(error);
}

static void tell_librdkafka(br_kafka_consumer *c, rd_kafka_topic_partition_list_t *list, bool add)
{
    rd_kafka_t *rk = c->client->rk;
    if (is_cooperative(rk)) {
        note_error(c,
                   add ? rd_kafka_incremental_assign(rk, list)
                       : rd_kafka_incremental_unassign(rk, list),
                   add ? "taking partitions" : "giving partitions back");
        return;
    }
    rd_kafka_resp_err_t code = rd_kafka_assign(rk, add ? list : NULL);
    if (code && c->broken.status == BR_OK)
        br_kafka_fail(&c->broken, c->client, code, NULL, "group %s: assignment", c->group);
}

/* Puts the end's offset where OFFSET_END stands; it stays where the answer is an error, of which
 * the last is returned. */
static rd_kafka_resp_err_t ask_ends(br_kafka_consumer *c, rd_kafka_topic_partition_list_t *list)
{
    rd_kafka_topic_partition_list_t *ends = rd_kafka_topic_partition_list_new(list->cnt);
    for (int i = 0; i < list->cnt; i++)
        if (list->elems[i].offset == RD_KAFKA_OFFSET_END)
            rd_kafka_topic_partition_list_add(ends, list->elems[i].topic, list->elems[i].partition)
                ->offset = RD_KAFKA_OFFSET_END; /* as a time: the latest */
    rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR_NO_ERROR, failure = RD_KAFKA_RESP_ERR_NO_ERROR;
    if (ends->cnt > 0) code = rd_kafka_offsets_for_times(c->client->rk, ends, BR_KAFKA_TIMEOUT_MS);
    for (int i = 0; i < ends->cnt && !code; i++) {
        const rd_kafka_topic_partition_t *end = &ends->elems[i];
        if (end->err)
            failure = end->err;
        else
            rd_kafka_topic_partition_list_find(list, end->topic, end->partition)->offset =
                end->offset;
    }
    rd_kafka_topic_partition_list_destroy(ends);
    return code ? code : failure;
}

/* A leader that is not known yet, of a topic just made or of a broker just lost, is waited for. */
static br_status find_ends(br_kafka_consumer *c, rd_kafka_topic_partition_list_t *list, br_err *err)
{
    int64_t until = br_mono_ms(&br_system_clock) + BR_KAFKA_TIMEOUT_MS;
    rd_kafka_resp_err_t code;
    while (br_kafka_is_transient(code = ask_ends(c, list)) && br_mono_ms(&br_system_clock) < until)
        nanosleep(&(struct timespec){.tv_nsec = ENDS_STEP_MS * 1000000L}, NULL);
    if (!code) return BR_OK;
    return br_kafka_fail(err, c->client, code, NULL, "group %s: where partitions end", c->group);
}

static void take(br_kafka_consumer *c, rd_kafka_topic_partition_list_t *list)
{
    br_err err;
    c->joined = true;
    for (int i = 0; i < list->cnt; i++) add_slot(c, &list->elems[i]);
    c->assigning = true;
    tell(c, c->listener.assigned, list);
    c->assigning = false;
    for (int i = 0; i < list->cnt; i++) {
        const br_kafka_slot *slot =
            br_kafka_find_slot(c, list->elems[i].topic, list->elems[i].partition);
        list->elems[i].offset =
            slot->reading == BR_KAFKA_READING ? slot->next : RD_KAFKA_OFFSET_END;
    }
    if (find_ends(c, list, &err) != BR_OK && c->broken.status == BR_OK) c->broken = err;
    tell_librdkafka(c, list, true);
    for (int i = 0; i < list->cnt; i++) {
        br_kafka_slot *slot = br_kafka_find_slot(c, list->elems[i].topic, list->elems[i].partition);
        if (slot->reading == BR_KAFKA_READING) begin_reading(c, slot);
    }
}

static void give(br_kafka_consumer *c, rd_kafka_topic_partition_list_t *list)
{
    /* Asked before unassign, which clears it. */
    bool lost = rd_kafka_assignment_lost(c->client->rk) != 0;
    c->revoking = !lost;
    tell(c, lost ? c->listener.lost : c->listener.revoked, list);
    c->revoking = false;
    for (int i = 0; i < list->cnt; i++) drop_slot(c, &list->elems[i]);
    tell_librdkafka(c, list, false);
}

void br_kafka_rebalance(rd_kafka_t *rk, rd_kafka_resp_err_t what,
                        rd_kafka_topic_partition_list_t *list, void *client)
{
    br_kafka_consumer *c = ((br_kafka_client *)client)->owner;
    if (what == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS) {
        take(c, list);
    } else if (what == RD_KAFKA_RESP_ERR__REVOKE_PARTITIONS) {
        give(c, list);
    } else {
        br_log_line(BR_WARN, "the group's assignment failed", "group=%s reason=\"%s\"", c->group,
                    rd_kafka_err2str(what));
        rd_kafka_assign(rk, NULL);
    }
}
