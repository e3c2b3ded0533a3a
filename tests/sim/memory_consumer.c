/* tests/sim/memory_consumer.c - a member of the group; who owns what is the simulator's choice.
 * Records of the assigned partitions are handed over one by one, in a random interleaving. */
#include "runtime/base/alloc.h"
#include "tests/sim/memory_log.h"

typedef enum event { ASSIGN, REVOKE, LOSE } event;

typedef struct assigned {
    br_tp at; /* the topic's name is the topic's */
    memory_partition *partition;
    void *user;
    bool started;
    int64_t position;
    int64_t told_end; /* what at_end was called with; -1: not yet */
} assigned;

typedef struct queued {
    br_tp at;
    event what;
} queued;

typedef struct memory_consumer {
    br_consumer base;
    memory_client *client;
    br_consumer_listener listener;
    assigned *parts;
    size_t count, cap;
    queued *events;
    size_t event_count, event_cap;
} memory_consumer;

static assigned *find(memory_consumer *c, br_tp at)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->parts[i].at.partition == at.partition && strcmp(c->parts[i].at.topic, at.topic) == 0)
            return &c->parts[i];
    return NULL;
}

static void queue_event(memory_client *client, br_tp at, event what)
{
    memory_consumer *c = client->consumer;
    at.topic = memory_topic_find(client->log, at.topic)->name;
    c->events = br_grow(c->events, &c->event_cap, c->event_count + 1, sizeof(*c->events));
    c->events[c->event_count++] = (queued){at, what};
}

void memory_assign(memory_client *client, br_tp at)
{
    queue_event(client, at, ASSIGN);
}

void memory_take_away(memory_client *client, br_tp at, bool lost)
{
    queue_event(client, at, lost ? LOSE : REVOKE);
}

/* ---- life ---- */

br_status memory_consumer_open(br_consumer **out, br_log *log, const br_consumer_opts *opts,
                               br_err *err)
{
    memory_client *client = (memory_client *)log;
    *out = NULL;
    if (!memory_client_tick(client, "join")) return memory_client_gone(err);
    memory_consumer *c = BR_NEW(memory_consumer);
    c->base.vtable = &memory_vtable;
    c->client = client;
    c->listener = opts->listener;
    client->consumer = c;
    *out = &c->base;
    return BR_OK;
}

void memory_consumer_close(br_consumer *base)
{
    memory_consumer *c = (memory_consumer *)base;
    for (size_t i = 0; i < c->count; i++) c->listener.revoked(c->listener.self, &c->parts[i].at, 1);
    c->client->consumer = NULL;
    br_free(c->parts);
    br_free(c->events);
    br_free(c);
}

/* ---- polling ---- */

static void serve_event(memory_consumer *c, const queued *next)
{
    const br_consumer_listener *listener = &c->listener;
    assigned *part = find(c, next->at);
    if (next->what == ASSIGN) {
        BR_ASSERT(!part);
        c->parts = br_grow(c->parts, &c->cap, c->count + 1, sizeof(*c->parts));
        c->parts[c->count++] =
            (assigned){.at = next->at,
                       .partition = memory_partition_at(c->client->log, next->at),
                       .told_end = -1};
        listener->assigned(listener->self, &next->at, 1);
        return;
    }
    if (next->what == REVOKE)
        listener->revoked(listener->self, &next->at, 1);
    else
        listener->lost(listener->self, &next->at, 1);
    *part = c->parts[--c->count];
}

/* A started partition that has a record, from a random one on; NULL: there is none. */
static assigned *choose(memory_consumer *c)
{
    size_t first = c->count > 0 ? br_rng_below(c->client->log->rng, c->count) : 0;
    for (size_t i = 0; i < c->count; i++) {
        assigned *part = &c->parts[(first + i) % c->count];
        if (part->started && memory_skip_gaps(part->partition, &part->position)) return part;
    }
    return NULL;
}

static void tell_ends(memory_consumer *c)
{
    for (size_t i = 0; i < c->count; i++) {
        assigned *part = &c->parts[i];
        if (!part->started || memory_skip_gaps(part->partition, &part->position)) continue;
        if (part->told_end == part->position) continue;
        part->told_end = part->position;
        c->listener.at_end(c->listener.self, part->user, part->position);
    }
}

br_status memory_consumer_poll(br_consumer *base, int timeout_ms, size_t max, br_record_fn fn,
                               void *arg, br_err *err)
{
    memory_consumer *c = (memory_consumer *)base;
    br_status st = BR_OK;
    size_t taken = 0, events = c->event_count;
    (void)timeout_ms;
    if (!memory_client_tick(c->client, "poll")) return memory_client_gone(err);
    for (size_t i = 0; i < events; i++) serve_event(c, &c->events[i]);
    c->event_count = 0;
    if (max > c->client->poll_max) max = c->client->poll_max;
    for (assigned *part; st == BR_OK && taken < max && (part = choose(c)) != NULL; taken++)
        st = memory_deliver(part->partition, part->at, &part->position, fn, arg, part->user, err);
    if (st < 0) return st;
    tell_ends(c);
    return taken > 0 ? BR_OK : BR_EMPTY;
}

br_status memory_consumer_start(br_consumer *base, br_tp at, int64_t offset, void *user,
                                br_err *err)
{
    memory_consumer *c = (memory_consumer *)base;
    assigned *part = find(c, at);
    if (!memory_client_tick(c->client, "start")) return memory_client_gone(err);
    BR_ASSERT(part && offset >= 0 && offset <= (int64_t)part->partition->count);
    part->started = true;
    part->user = user;
    part->position = offset;
    part->told_end = -1;
    return BR_OK;
}

/* ---- committed offsets ---- */

br_status memory_consumer_committed(br_consumer *base, const br_tp *at, int64_t *offsets,
                                    size_t count, br_err *err)
{
    memory_consumer *c = (memory_consumer *)base;
    if (!memory_client_tick(c->client, "committed")) return memory_client_gone(err);
    for (size_t i = 0; i < count; i++)
        offsets[i] = memory_partition_at(c->client->log, at[i])->committed;
    return BR_OK;
}

/* Of a hundred commits, so many are put off by a rebalance, and so many fail, half of them after
 * they were stored. */
enum { PUT_OFF = 20, FAILED = 4 };

br_status memory_consumer_commit(br_consumer *base, const br_tp *at, const int64_t *offsets,
                                 size_t count, br_err *err)
{
    memory_consumer *c = (memory_consumer *)base;
    memory_client *client = c->client;
    memory_log *log = client->log;
    if (!memory_client_tick(client, "offset commit")) return memory_client_gone(err);
    uint64_t luck = client->calm ? 100 : br_rng_below(log->rng, 100);
    if (luck < PUT_OFF) return BR_EMPTY;
    if (luck >= PUT_OFF + FAILED / 2) {
        for (size_t i = 0; i < count; i++) {
            BR_ASSERT(find(c, at[i]));
            memory_partition_at(log, at[i])->committed = offsets[i];
            if (log->watch) log->watch(log->watch_arg, "commit", at[i], offsets[i], NULL);
        }
    }
    if (luck < PUT_OFF + FAILED) return br_fail(err, BR_ERR_BROKER, "the offset commit timed out");
    return memory_client_tick(client, "offsets committed") ? BR_OK : memory_client_gone(err);
}
