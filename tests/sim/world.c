/* tests/sim/world.c - see world.h. What happens when; workers.c has the processes. */
#include "tests/sim/world.h"

#include "jobs/plan.h"
#include "runtime/base/alloc.h"
#include "runtime/base/hash.h"
#include "runtime/catalog.h"
#include "tests/sim/check.h"
#include "tests/sim/describe.h"
#include "tests/sim/workers.h"

#include <inttypes.h>
#include <stdio.h>

#define START_MS INT64_C(1700001000000)
#define DAY_MS INT64_C(86400000)

enum { SETTLE_ROUNDS_MAX = 600, QUIET_ROUNDS = 4, ARRIVE_MAX = 10 };

bool world_chance(world *w, uint32_t percent)
{
    return br_rng_below(&w->rng, 100) < percent;
}

/* ---- transcript ---- */

static void fold(world *w, uint64_t what)
{
    w->hash = (w->hash ^ what) * UINT64_C(0x9e3779b97f4a7c15);
    w->hash ^= w->hash >> 32;
}

void world_say(world *w, const char *fmt, ...)
{
    char text[1500];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    fold(w, br_hash64(br_bytes_of(text, strlen(text))));
    if (w->opts.print && n > 0) puts(text);
}

void world_fail(world *w, const char *fmt, ...)
{
    va_list args;
    if (w->failed) return;
    w->failed = true;
    w->err.status = BR_ERR_CORRUPT;
    va_start(args, fmt);
    (void)vsnprintf(w->err.message, sizeof(w->err.message), fmt, args);
    va_end(args);
    world_say(w, "WRONG: %s", w->err.message);
}

static void watch(void *arg, const char *what, br_tp at, int64_t offset,
                  const memory_record *record)
{
    world *w = arg;
    fold(w, br_hash64(br_str(at.topic)) + (uint64_t)at.partition);
    fold(w, (uint64_t)offset);
    if (record) fold(w, br_hash64(record->key));
    if (record && record->value.data) fold(w, br_hash64(record->value));
    if (record && strncmp(at.topic, "out", 3) == 0) check_sent(w, at.topic, record);
    if (!w->opts.print) return;
    br_buf text = {0};
    if (record) describe_record(&text, record);
    printf("    %s %s[%" PRId32 "]@%" PRId64 " %s\n", what, at.topic, at.partition, offset,
           br_buf_cstr(&text));
    br_buf_dispose(&text);
}

/* ---- life ---- */

static int64_t wall_ms(void *self)
{
    return ((const world *)self)->wall_ms;
}

static int64_t mono_ns(void *self)
{
    return ((const world *)self)->mono_ms * 1000000;
}

static void compile(world *w)
{
    br_job_errors errors;
    br_status st = br_job_parse(&w->job, br_str(w->scenario.job), "job.yaml", &errors);
    if (st == BR_OK) st = br_plan_compile(&w->plan, w->job, &errors);
    if (st != BR_OK) {
        br_buf text = {0};
        br_job_errors_print(&errors, &text);
        fprintf(stderr, "%s%s", w->scenario.job, br_buf_cstr(&text));
        BR_ASSERT(st == BR_OK && "the scenario's job is right");
    }
    br_job_errors_dispose(&errors);
    /* A small one commits early and reads rows from LMDB again. */
    static const uint64_t caches[] = {64 << 20, 64 << 10, 4 << 10};
    size_t cache = br_rng_below(&w->rng, BR_COUNTOF(caches));
    w->plan->cache_bytes = caches[cache];
    w->small_cache = cache > 0;
}

static void make_topics(world *w)
{
    int32_t partitions[64];
    memory_client client;
    br_err err;
    char name[32];
    for (size_t i = 0; i < w->scenario.source_count; i++) {
        (void)snprintf(name, sizeof(name), "in%zu", i);
        (void)memory_topic_add(&w->log, name, w->scenario.partitions[i], false);
    }
    memory_client_init(&client, &w->log);
    BR_ASSERT(w->plan->topic_count <= BR_COUNTOF(partitions));
    br_status st = br_catalog_prepare(&client.base, w->plan, partitions, &err);
    BR_ASSERT(st == BR_OK);
}

static void make_places(world *w)
{
    for (size_t s = 0; s < w->plan->stage_count; s++) {
        const br_stage *stage = &w->plan->stages[s];
        const memory_topic *topic = memory_topic_find(&w->log, stage->topic);
        for (int32_t p = 0; p < topic->partition_count; p++) {
            BR_ASSERT(w->place_count < PLACES_MAX);
            place *at = &w->places[w->place_count++];
            at->stage = stage;
            at->at = (br_tp){stage->topic, p};
            at->owner = NULL;
            at->disk_count = 0; /* the buffers stay, from seed to seed */
        }
    }
}

void world_open(world *w, const world_opts *opts)
{
    w->opts = *opts;
    w->rng = (br_rng){opts->seed};
    w->wall_ms = START_MS;
    w->mono_ms = 1000;
    w->clock = (br_clock){wall_ms, mono_ns, w};
    w->hash = opts->seed;
    w->arrived = w->place_count = 0;
    w->calm = w->stalled = w->failed = false;
    scenario_make(&w->scenario, &w->rng);
    if (!w->log.arena) memory_log_init(&w->log, &w->rng);
    w->log.watch = watch;
    w->log.watch_arg = w;
    compile(w);
    world_say(w, "seed %" PRIu64 "\n%s", opts->seed, w->scenario.job);
    make_topics(w);
    make_places(w);
    w->worker_count = 1 + br_rng_below(&w->rng, WORKERS_MAX);
    for (size_t i = 0; i < w->worker_count; i++) {
        worker *each = &w->workers[i];
        *each = (worker){.world = w, .index = i};
        (void)snprintf(each->state_dir, sizeof(each->state_dir), "%s/%zu", opts->dir, i);
    }
}

void world_close(world *w)
{
    for (size_t i = 0; i < w->worker_count; i++) worker_kill(&w->workers[i]);
    memory_log_reset(&w->log);
    br_plan_destroy(w->plan);
    br_job_destroy(w->job);
    w->plan = NULL;
    w->job = NULL;
}

void world_dispose(world *w)
{
    memory_log_dispose(&w->log);
    for (size_t i = 0; i < PLACES_MAX; i++)
        for (size_t d = 0; d < DISKS_MAX; d++) disk_dispose(&w->places[i].disks[d]);
}

void world_forget_disks(world *w)
{
    for (size_t i = 0; i < w->place_count; i++) w->places[i].disk_count = 0;
}

/* ---- what happens ---- */

static void arrive(world *w, size_t count)
{
    for (; count > 0 && w->arrived < w->scenario.record_count; count--) {
        const scenario_record *next = &w->scenario.records[w->arrived++];
        char name[32];
        (void)snprintf(name, sizeof(name), "in%zu", next->source);
        br_bytes value = next->value[0] ? br_str(next->value) : BR_NO_BYTES;
        memory_append(&w->log, memory_topic_find(&w->log, name), next->partition, br_str(next->key),
                      value, next->timestamp_ms);
    }
}

void world_arrive_all(world *w)
{
    arrive(w, w->scenario.record_count);
}

/* Tombstones are gone after delete.retention.ms: a day has passed then for everybody. */
static void clean(world *w)
{
    memory_topic *topic = w->log.topics[br_rng_below(&w->rng, w->log.topic_count)];
    size_t p = br_rng_below(&w->rng, (uint64_t)topic->partition_count);
    memory_partition *partition = &topic->partitions[p];
    size_t end = br_rng_below(&w->rng, partition->count + 1);
    if (!topic->compacted) return;
    bool purge = world_chance(w, 5);
    size_t removed = memory_compact(partition, end, purge);
    if (purge) w->wall_ms += DAY_MS;
    world_say(w, "compaction: %s[%zu] below %zu: %zu removed%s", topic->name, p, end, removed,
              purge ? ", tombstones too" : "");
}

/* The group is forgotten where nobody was a member for too long. */
static void expire_offsets(world *w)
{
    for (size_t i = 0; i < w->worker_count; i++)
        if (w->workers[i].pipeline) return;
    world_say(w, "the group's offsets expire");
    for (size_t i = 0; i < w->place_count; i++)
        memory_partition_at(&w->log, w->places[i].at)->committed = -1;
}

static void start_or_stop(world *w)
{
    worker *one = &w->workers[br_rng_below(&w->rng, w->worker_count)];
    if (!one->pipeline)
        worker_start(one);
    else if (world_chance(w, 20))
        worker_stop(one);
    if (world_chance(w, 3)) expire_offsets(w);
}

static void give_all(world *w, uint32_t percent)
{
    for (size_t i = 0; i < w->place_count; i++) {
        worker *to = &w->workers[br_rng_below(&w->rng, w->worker_count)];
        if (!w->places[i].owner && to->pipeline && world_chance(w, percent))
            worker_give(to, &w->places[i]);
    }
}

static void move_one(world *w)
{
    place *at = &w->places[br_rng_below(&w->rng, w->place_count)];
    if (at->owner) worker_take_away(at, world_chance(w, 30));
}

/* A frozen owner sends all that it has left, and its successor dies before it has seen that. */
static void wake_and_kill(world *w)
{
    while (w->log.late_count > 0) memory_wake(&w->log);
    for (size_t i = 0; i < w->worker_count; i++)
        if (world_chance(w, 70)) worker_kill(&w->workers[i]);
}

static void work(world *w)
{
    worker *one = &w->workers[br_rng_below(&w->rng, w->worker_count)];
    w->mono_ms += world_chance(w, 40) ? 1000 : 1;
    w->wall_ms++;
    if (one->pipeline) worker_step(one);
}

void world_tick(world *w)
{
    uint64_t luck = br_rng_below(&w->rng, 100);
    while (w->log.late_count > 0 && world_chance(w, 25)) memory_wake(&w->log);
    give_all(w, 50);
    if (luck < 8)
        arrive(w, 1 + br_rng_below(&w->rng, ARRIVE_MAX));
    else if (luck < 20)
        clean(w);
    else if (luck < 35)
        start_or_stop(w);
    else if (luck < 40)
        move_one(w);
    else if (luck < 46 && w->log.late_count > 0)
        wake_and_kill(w);
    else if (luck < 41 || (w->stalled && w->log.late_count == 0 && luck < 48))
        world_settle(w); /* another owner may freeze then */
    else
        work(w);
}

/* ---- settling ---- */

/* Whether its tasks are where their inputs end: a stage-two task that reads what is committed
 * already tells nobody else. */
static bool has_read_all(world *w, const worker *one)
{
    int64_t ends[PLACES_MAX];
    for (size_t s = 0; s < w->plan->stage_count; s++) {
        const memory_topic *topic = memory_topic_find(&w->log, w->plan->stages[s].topic);
        for (int32_t p = 0; p < topic->partition_count; p++)
            ends[p] = (int64_t)topic->partitions[p].count;
        if (!br_pipeline_read_to(one->pipeline, topic->name, ends, topic->partition_count))
            return false;
    }
    return true;
}

static bool is_quiet(world *w)
{
    if (w->log.late_count > 0) return false;
    for (size_t i = 0; i < w->place_count; i++) {
        const memory_partition *input = memory_partition_at(&w->log, w->places[i].at);
        if (!w->places[i].owner || input->committed != (int64_t)input->count) return false;
    }
    for (size_t i = 0; i < w->worker_count; i++) {
        br_pipeline_status status;
        br_pipeline_look(w->workers[i].pipeline, &status);
        bool behind = status.tasks > 0 && !has_read_all(w, &w->workers[i]);
        if (status.uncommitted || status.restoring > 0 || behind) return false;
    }
    return true;
}

static void settle_round(world *w)
{
    if (w->log.late_count > 0 && world_chance(w, 50)) memory_wake(&w->log);
    give_all(w, 100);
    for (size_t i = 0; i < w->worker_count; i++) {
        w->mono_ms += 1000;
        if (!w->workers[i].pipeline) worker_start(&w->workers[i]);
        worker_step(&w->workers[i]);
    }
}

void world_settle(world *w)
{
    bool was_calm = w->calm;
    w->calm = true;
    world_say(w, "everything settles");
    int quiet = 0;
    for (int round = 0; !w->failed && quiet < QUIET_ROUNDS; round++) {
        settle_round(w);
        quiet = !w->failed && is_quiet(w) ? quiet + 1 : 0;
        if (round == SETTLE_ROUNDS_MAX) world_fail(w, "the job comes to no end");
    }
    /* Every owner has seen and mended what frozen ones wrote. */
    for (size_t i = 0; i < w->log.topic_count; i++)
        for (int32_t p = 0; p < w->log.topics[i]->partition_count; p++)
            w->log.topics[i]->partitions[p].hold = SIZE_MAX;
    w->stalled = false;
    w->calm = was_calm;
}

void world_stop(world *w)
{
    for (size_t i = 0; i < w->worker_count; i++)
        if (w->workers[i].pipeline) worker_stop(&w->workers[i]);
}
