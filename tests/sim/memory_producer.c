/* tests/sim/memory_producer.c - records reach the log at flush, in a random interleaving of the
 * partitions: a crash keeps any prefix of each, a failed delivery leaves a hole, a frozen owner
 * sends the rest later. */
#include "runtime/base/alloc.h"
#include "runtime/base/hash.h"
#include "tests/sim/memory_log.h"

typedef struct topic_ref {
    br_topic_ref base; /* first */
    struct topic_ref *next;
    memory_topic *topic;
} topic_ref;

typedef struct memory_producer {
    br_producer base;
    memory_client *client;
    topic_ref *topics;
    memory_queue *queues;
    size_t count, cap;
    uint32_t owner, flushes; /* while frozen */
} memory_producer;

br_status memory_producer_open(br_producer **out, br_log *log, br_err *err)
{
    memory_client *client = (memory_client *)log;
    *out = NULL;
    if (!memory_client_tick(client, "producer")) return memory_client_gone(err);
    memory_producer *p = BR_NEW(memory_producer);
    p->base.vtable = &memory_vtable;
    p->client = client;
    *out = &p->base;
    return BR_OK;
}

void memory_producer_close(br_producer *base)
{
    memory_producer *p = (memory_producer *)base;
    for (topic_ref *ref = p->topics; ref;) {
        topic_ref *next = ref->next;
        br_free(ref->base.last_offsets);
        br_free(ref);
        ref = next;
    }
    for (size_t i = 0; i < p->count; i++) br_free(p->queues[i].records);
    br_free(p->queues);
    br_free(p);
}

br_status memory_producer_topic(br_producer *base, const char *name, br_topic_ref **out,
                                br_err *err)
{
    memory_producer *p = (memory_producer *)base;
    if (!memory_client_tick(p->client, "producer topic")) return memory_client_gone(err);
    topic_ref *ref = p->topics;
    while (ref && strcmp(ref->base.name, name) != 0) ref = ref->next;
    if (!ref) {
        memory_topic *topic = memory_topic_find(p->client->log, name);
        if (!topic) return BR_NOT_FOUND;
        size_t partitions = (size_t)topic->partition_count;
        ref = BR_NEW(topic_ref);
        ref->base = (br_topic_ref){topic->name, topic->partition_count,
                                   br_calloc(partitions, sizeof(int64_t)), 0};
        for (size_t i = 0; i < partitions; i++) ref->base.last_offsets[i] = -1;
        ref->topic = topic;
        ref->next = p->topics;
        p->topics = ref;
    }
    *out = &ref->base;
    return BR_OK;
}

static memory_queue *queue_for(memory_producer *p, memory_topic *topic, int32_t partition)
{
    for (size_t i = 0; i < p->count; i++)
        if (p->queues[i].topic == topic && p->queues[i].partition == partition)
            return &p->queues[i];
    p->queues = br_grow(p->queues, &p->cap, p->count + 1, sizeof(*p->queues));
    p->queues[p->count] = (memory_queue){.topic = topic, .partition = partition};
    return &p->queues[p->count++];
}

br_status memory_producer_send(br_producer *base, br_topic_ref *topic, const br_out_record *record,
                               br_err *err)
{
    memory_producer *p = (memory_producer *)base;
    topic_ref *ref = (topic_ref *)topic;
    if (p->client->state == MEMORY_DEAD) return memory_client_gone(err);
    BR_ASSERT(record->key.data && record->header_count == 0); /* as this simulator's jobs are */
    br_arena *arena = p->client->log->arena;
    int32_t partition = record->partition;
    if (partition < 0) partition = br_partition_of(record->key, topic->partitions);
    memory_queue *queue = queue_for(p, ref->topic, partition);
    queue->records =
        br_grow(queue->records, &queue->cap, queue->count + 1, sizeof(*queue->records));
    queue->records[queue->count] = (memory_record){.key = br_arena_copy(arena, record->key, 0),
                                                   .timestamp_ms = record->timestamp_ms};
    if (record->value.data)
        queue->records[queue->count].value = br_arena_copy(arena, record->value, 0);
    queue->count++;
    return BR_OK;
}

/* ---- flush ---- */

static size_t left_of(const memory_queue *queue)
{
    return queue->count - queue->next;
}

/* A random queue that is not empty; NULL: all are. */
static memory_queue *choose(memory_producer *p)
{
    size_t first = p->count > 0 ? br_rng_below(p->client->log->rng, p->count) : 0;
    for (size_t i = 0; i < p->count; i++) {
        memory_queue *queue = &p->queues[(first + i) % p->count];
        if (left_of(queue) > 0) return queue;
    }
    return NULL;
}

/* Takes some records in a row out of one partition's, as a delivery that timed out. */
static void lose_some(memory_producer *p)
{
    br_rng *rng = p->client->log->rng;
    memory_queue *queue = choose(p);
    size_t lost = 1 + br_rng_below(rng, queue->count);
    size_t at = br_rng_below(rng, queue->count - lost + 1);
    memmove(queue->records + at, queue->records + at + lost,
            (queue->count - at - lost) * sizeof(*queue->records));
    queue->count -= lost;
}

/* A sink record of a frozen owner may land behind its successor's, which at_least_once cannot
 * mend (DESIGN.md section 5): no owner freezes while it sends some. */
static bool may_freeze(const memory_producer *p)
{
    for (size_t i = 0; i < p->count; i++)
        if (left_of(&p->queues[i]) > 0 && !p->queues[i].topic->compacted) return false;
    return true;
}

/* All that is left comes later. */
static void put_off(memory_producer *p)
{
    memory_log *log = p->client->log;
    for (size_t i = 0; i < p->count; i++) {
        memory_queue *queue = &p->queues[i];
        if (left_of(queue) == 0) continue;
        log->late = br_grow(log->late, &log->late_cap, log->late_count + 1, sizeof(*log->late));
        log->late[log->late_count++] = (memory_late){p->owner, p->flushes, *queue};
        *queue = (memory_queue){.topic = queue->topic, .partition = queue->partition};
    }
    p->flushes++;
}

/* The owner is stopped here, and loses its partitions meanwhile. When it goes on it sends the rest;
 * half of the time it is then ended, else it goes on to its markers first. */
static br_status freeze(memory_producer *p, br_err *err)
{
    memory_client *client = p->client;
    bool goes_on = br_rng_below(client->log->rng, 2) == 0;
    p->owner = client->log->frozen++;
    put_off(p);
    memory_client_end(client, goes_on ? MEMORY_FROZEN : MEMORY_DEAD);
    return goes_on ? BR_OK : memory_client_gone(err);
}

static void append(memory_producer *p, memory_queue *queue)
{
    memory_log *log = p->client->log;
    memory_append_record(log, queue->topic, queue->partition, &queue->records[queue->next++]);
    for (topic_ref *ref = p->topics; ref; ref = ref->next)
        if (ref->topic == queue->topic)
            ref->base.last_offsets[queue->partition] =
                (int64_t)queue->topic->partitions[queue->partition].count - 1;
}

static br_status append_all(memory_producer *p, br_err *err)
{
    memory_client *client = p->client;
    for (memory_queue *queue; (queue = choose(p)) != NULL;) {
        if (client->stall == 0 && may_freeze(p)) return freeze(p, err);
        if (client->stall > 0) client->stall--;
        if (!memory_client_tick(client, "append")) return memory_client_gone(err);
        append(p, queue);
    }
    return BR_OK;
}

br_status memory_producer_flush(br_producer *base, br_err *err)
{
    memory_producer *p = (memory_producer *)base;
    memory_client *client = p->client;
    bool hole = client->loses_records && choose(p) != NULL;
    if (client->state == MEMORY_DEAD) return memory_client_gone(err);
    if (client->state == MEMORY_FROZEN) {
        put_off(p);
        return BR_OK;
    }
    if (hole) {
        client->loses_records = false;
        lose_some(p);
    }
    br_status st = append_all(p, err);
    for (size_t i = 0; i < p->count; i++) p->queues[i].next = p->queues[i].count = 0;
    if (st == BR_OK && hole) return br_fail(err, BR_ERR_BROKER, "a delivery timed out");
    return st;
}
