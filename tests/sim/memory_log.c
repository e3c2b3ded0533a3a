/* tests/sim/memory_log.c - see memory_log.h. Topics, readers, the cleaner, the end of processes. */
#include "tests/sim/memory_log.h"

#include "runtime/base/alloc.h"
#include "runtime/base/hash.h"

#include <inttypes.h>

enum { ARENA_BLOCK_BYTES = 64 * 1024, READER_POLL_RECORDS = 16 };

/* ---- what survives ---- */

void memory_log_init(memory_log *log, br_rng *rng)
{
    *log = (memory_log){.rng = rng, .arena = br_arena_create(ARENA_BLOCK_BYTES)};
}

void memory_log_reset(memory_log *log)
{
    for (size_t i = 0; i < log->topic_count; i++) {
        memory_topic *topic = log->topics[i];
        for (int32_t p = 0; p < topic->partition_count; p++) br_free(topic->partitions[p].records);
        br_free(topic->partitions);
        br_free(topic->name);
        br_free(topic);
    }
    for (size_t i = 0; i < log->late_count; i++) br_free(log->late[i].queue.records);
    log->topic_count = log->late_count = 0;
    br_arena_reset(log->arena);
}

void memory_log_dispose(memory_log *log)
{
    memory_log_reset(log);
    br_arena_destroy(log->arena);
    br_free(log->topics);
    br_free(log->late);
}

memory_topic *memory_topic_add(memory_log *log, const char *name, int32_t partitions,
                               bool compacted)
{
    memory_topic *topic = BR_NEW(memory_topic);
    topic->name = br_strdup(name);
    topic->compacted = compacted;
    topic->partition_count = partitions;
    topic->partitions = br_calloc((size_t)partitions, sizeof(*topic->partitions));
    for (int32_t p = 0; p < partitions; p++)
        topic->partitions[p] = (memory_partition){.committed = -1, .hold = SIZE_MAX};
    log->topics = br_grow(log->topics, &log->topic_cap, log->topic_count + 1, sizeof(*log->topics));
    log->topics[log->topic_count++] = topic;
    return topic;
}

memory_topic *memory_topic_find(const memory_log *log, const char *name)
{
    for (size_t i = 0; i < log->topic_count; i++)
        if (strcmp(log->topics[i]->name, name) == 0) return log->topics[i];
    return NULL;
}

memory_partition *memory_partition_at(const memory_log *log, br_tp at)
{
    memory_topic *topic = memory_topic_find(log, at.topic);
    BR_ASSERT(topic && at.partition >= 0 && at.partition < topic->partition_count);
    return &topic->partitions[at.partition];
}

void memory_append_record(memory_log *log, memory_topic *topic, int32_t partition,
                          const memory_record *record)
{
    memory_partition *to = &topic->partitions[partition];
    to->records = br_grow(to->records, &to->cap, to->count + 1, sizeof(*to->records));
    to->records[to->count++] = *record;
    if (log->watch)
        log->watch(log->watch_arg, "append", (br_tp){topic->name, partition},
                   (int64_t)to->count - 1, record);
}

void memory_append(memory_log *log, memory_topic *topic, int32_t partition, br_bytes key,
                   br_bytes value, int64_t timestamp_ms)
{
    memory_record record = {.key = br_arena_copy(log->arena, key, 0),
                            .value = br_arena_copy(log->arena, value, 0),
                            .timestamp_ms = timestamp_ms};
    memory_append_record(log, topic, partition, &record);
}

/* ---- the cleaner ---- */

static bool is_among(const memory_record *records, const size_t *places, size_t count, br_bytes key)
{
    for (size_t i = 0; i < count; i++)
        if (br_bytes_equal(records[places[i]].key, key)) return true;
    return false;
}

size_t memory_compact(memory_partition *partition, size_t end, bool purge)
{
    memory_record *records = partition->records;
    if (end > partition->hold) end = partition->hold;
    size_t *last = br_calloc(end, sizeof(*last)), keys = 0, removed = 0;
    for (size_t i = end; i-- > 0;) {
        if (records[i].removed) continue;
        bool newer = is_among(records, last, keys, records[i].key);
        if (!newer) last[keys++] = i;
        records[i].removed = newer || (purge && !records[i].value.data);
        removed += records[i].removed;
    }
    br_free(last);
    return removed;
}

/* ---- frozen owners ---- */

static bool waits_for_earlier_flush(const memory_log *log, const memory_late *late)
{
    for (size_t i = 0; i < log->late_count; i++)
        if (log->late[i].owner == late->owner && log->late[i].flush < late->flush) return true;
    return false;
}

void memory_wake(memory_log *log)
{
    size_t at = br_rng_below(log->rng, log->late_count);
    while (waits_for_earlier_flush(log, &log->late[at])) at = (at + 1) % log->late_count;
    memory_queue *queue = &log->late[at].queue;
    memory_append_record(log, queue->topic, queue->partition, &queue->records[queue->next++]);
    if (queue->next < queue->count) return;
    br_free(queue->records);
    log->late[at] = log->late[--log->late_count];
}

/* ---- processes ---- */

void memory_client_init(memory_client *client, memory_log *log)
{
    *client = (memory_client){
        .base = {&memory_vtable}, .log = log, .fuse = -1, .stall = -1, .poll_max = SIZE_MAX};
}

void memory_client_end(memory_client *client, memory_state state)
{
    bool first = client->state == MEMORY_ALIVE;
    client->state = state;
    if (first && client->ended) client->ended(client->ended_arg);
}

bool memory_client_tick(memory_client *client, const char *point)
{
    if (client->state != MEMORY_ALIVE) return false;
    client->last_point = point;
    if (client->fuse >= 0 && client->fuse-- == 0) memory_client_end(client, MEMORY_DEAD);
    return client->state == MEMORY_ALIVE;
}

br_status memory_client_gone(br_err *err)
{
    return br_fail(err, BR_ERR_BROKER, "this process is dead, it only does not know it yet");
}

/* ---- topics, as the process sees them ---- */

static void log_close(br_log *base)
{
    (void)base; /* the simulator's */
}

static const char *log_describe(const br_log *base)
{
    (void)base;
    return "the simulator's log";
}

static br_status log_topic(br_log *base, const char *name, br_topic_info *out, br_err *err)
{
    memory_client *client = (memory_client *)base;
    if (!memory_client_tick(client, "topic")) return memory_client_gone(err);
    const memory_topic *topic = memory_topic_find(client->log, name);
    if (!topic) return BR_NOT_FOUND;
    *out = (br_topic_info){
        .partitions = topic->partition_count, .retention_ms = -1, .max_message_bytes = 1 << 20};
    const char *policy = topic->compacted ? "compact" : "delete";
    memcpy(out->cleanup_policy, policy, strlen(policy));
    return BR_OK;
}

static br_status log_create_topic(br_log *base, const br_topic_spec *spec, br_err *err)
{
    memory_client *client = (memory_client *)base;
    bool compacted = false;
    if (!memory_client_tick(client, "create topic")) return memory_client_gone(err);
    for (size_t i = 0; i < spec->setting_count; i++)
        if (strcmp(spec->settings[i].name, "cleanup.policy") == 0)
            compacted = strcmp(spec->settings[i].value, "compact") == 0;
    if (!memory_topic_find(client->log, spec->name))
        (void)memory_topic_add(client->log, spec->name, spec->partitions, compacted);
    return BR_OK;
}

static br_status log_offsets(br_log *base, const char *topic, int32_t partition, int64_t *low,
                             int64_t *end, br_err *err)
{
    memory_client *client = (memory_client *)base;
    if (!memory_client_tick(client, "offsets")) return memory_client_gone(err);
    *low = 0; /* compaction leaves gaps, but never moves the start */
    *end = (int64_t)memory_partition_at(client->log, (br_tp){topic, partition})->count;
    return BR_OK;
}

/* ---- readers ---- */

typedef struct memory_reader {
    br_reader base;
    memory_client *client;
    const memory_partition *partition;
    char *topic;
    int32_t number;
    int64_t position;
} memory_reader;

bool memory_skip_gaps(const memory_partition *partition, int64_t *position)
{
    int64_t end = (int64_t)partition->count;
    while (*position < end && partition->records[*position].removed) (*position)++;
    return *position < end;
}

br_status memory_deliver(const memory_partition *partition, br_tp at, int64_t *position,
                         br_record_fn fn, void *arg, void *user, br_err *err)
{
    const memory_record *found = &partition->records[*position];
    br_record record = {.topic = at.topic,
                        .partition = at.partition,
                        .offset = (*position)++,
                        .timestamp_ms = found->timestamp_ms,
                        .key = found->key,
                        .value = found->value};
    return fn(arg, user, &record, err);
}

static br_status reader_open(br_reader **out, br_log *base, br_tp at, int64_t from, br_err *err)
{
    memory_client *client = (memory_client *)base;
    *out = NULL;
    if (!memory_client_tick(client, "reader open")) return memory_client_gone(err);
    memory_reader *reader = BR_NEW(memory_reader);
    reader->base.vtable = &memory_vtable;
    reader->client = client;
    reader->partition = memory_partition_at(client->log, at);
    reader->topic = br_strdup(at.topic);
    reader->number = at.partition;
    reader->position = from < 0 ? 0 : from;
    *out = &reader->base;
    return BR_OK;
}

static void reader_close(br_reader *base)
{
    memory_reader *reader = (memory_reader *)base;
    br_free(reader->topic);
    br_free(reader);
}

static br_status reader_poll(br_reader *base, int timeout_ms, size_t max, br_record_fn fn,
                             void *arg, br_err *err)
{
    memory_reader *reader = (memory_reader *)base;
    br_tp at = {reader->topic, reader->number};
    br_status st = BR_OK;
    size_t taken = 0;
    (void)timeout_ms;
    if (!memory_client_tick(reader->client, "reader poll")) return memory_client_gone(err);
    if (max > READER_POLL_RECORDS) max = READER_POLL_RECORDS;
    for (; st == BR_OK && taken < max; taken++) {
        if (!memory_skip_gaps(reader->partition, &reader->position)) break;
        st = memory_deliver(reader->partition, at, &reader->position, fn, arg, NULL, err);
    }
    if (st < 0) return st;
    return taken > 0 ? BR_OK : BR_EMPTY;
}

static int64_t reader_position(const br_reader *base)
{
    return ((const memory_reader *)base)->position;
}

/* Transactions and the start at a time are not simulated yet. */
const br_log_vtable memory_vtable = {
    .close = log_close,
    .describe = log_describe,
    .topic = log_topic,
    .create_topic = log_create_topic,
    .offsets = log_offsets,
    .consumer_open = memory_consumer_open,
    .consumer_close = memory_consumer_close,
    .consumer_poll = memory_consumer_poll,
    .consumer_start = memory_consumer_start,
    .consumer_committed = memory_consumer_committed,
    .consumer_commit = memory_consumer_commit,
    .reader_open = reader_open,
    .reader_close = reader_close,
    .reader_poll = reader_poll,
    .reader_position = reader_position,
    .producer_open = memory_producer_open,
    .producer_close = memory_producer_close,
    .producer_topic = memory_producer_topic,
    .producer_send = memory_producer_send,
    .producer_flush = memory_producer_flush,
};
