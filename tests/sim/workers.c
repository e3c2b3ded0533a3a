/* tests/sim/workers.c - see workers.h. */
#include "tests/sim/workers.h"

#include "runtime/base/failpoint.h"

#include <inttypes.h>

enum { FUSE_MAX = 40, STALL_MAX = 8, POLL_MAX = 12 };

/* ---- state folders ---- */

void world_place_dir(const world *w, const place *at, const worker *owner, br_buf *out)
{
    br_buf_printf(out, "%s/%s/%s-%" PRId32, owner->state_dir, w->plan->job, at->at.topic,
                  at->at.partition);
}

/* What the owner leaves behind becomes the newest disk; where there is no room an old one goes. */
static void keep_disk(place *at)
{
    world *w = at->owner->world;
    br_buf dir = {0};
    size_t slot =
        at->disk_count < DISKS_MAX ? at->disk_count++ : 1 + br_rng_below(&w->rng, DISKS_MAX - 1);
    disk reused = at->disks[slot];
    memmove(at->disks + 1, at->disks, slot * sizeof(*at->disks));
    at->disks[0] = reused;
    world_place_dir(w, at, at->owner, &dir);
    disk_read(&at->disks[0], br_buf_cstr(&dir));
    br_buf_dispose(&dir);
}

static void lay_disk(place *at)
{
    static const disk none;
    world *w = at->owner->world;
    br_buf dir = {0};
    uint64_t luck = br_rng_below(&w->rng, 100);
    size_t index = luck < 50 ? 0 : luck < 70 ? SIZE_MAX : br_rng_below(&w->rng, DISKS_MAX);
    bool there = index < at->disk_count && at->disks[index].data.len > 0;
    world_place_dir(w, at, at->owner, &dir);
    disk_make_dirs(br_buf_cstr(&dir));
    disk_write(there ? &at->disks[index] : &none, br_buf_cstr(&dir));
    world_say(w, "worker %zu gets %s-%" PRId32 " with %s", at->owner->index, at->at.topic,
              at->at.partition,
              !there       ? "no state"
              : index == 0 ? "its last state"
                           : "an old state");
    br_buf_dispose(&dir);
}

static void keep_all_disks(worker *one)
{
    world *w = one->world;
    for (size_t i = 0; i < w->place_count; i++)
        if (w->places[i].owner == one) keep_disk(&w->places[i]);
}

static void give_up_all(worker *one)
{
    world *w = one->world;
    for (size_t i = 0; i < w->place_count; i++)
        if (w->places[i].owner == one) w->places[i].owner = NULL;
}

/* ---- mishaps ---- */

/* From here on the cleaner stays below what is there now, until all is mended
 * (min.compaction.lag.ms). */
static void hold_cleaner(world *w)
{
    for (size_t i = 0; i < w->log.topic_count; i++)
        for (int32_t p = 0; p < w->log.topics[i]->partition_count; p++) {
            memory_partition *partition = &w->log.topics[i]->partitions[p];
            if (partition->count < partition->hold) partition->hold = partition->count;
        }
}

/* From here on nothing that the process does counts. */
static void ended(void *arg)
{
    worker *one = arg;
    world *w = one->world;
    world_say(w, "worker %zu %s at: %s", one->index,
              one->client.state == MEMORY_DEAD ? "dies" : "freezes", one->client.last_point);
    keep_all_disks(one);
    if (w->log.late_count == 0 || w->stalled) return;
    w->stalled = true;
    world_say(w, "what it had still to send comes later");
    hold_cleaner(w);
}

static worker *current; /* whose code runs */

static void at_failpoint(const char *name)
{
    if (current) (void)memory_client_tick(&current->client, name);
}

/* Below max, and rather small: most steps are short. */
static int soon(world *w, uint64_t max)
{
    return (int)br_rng_below(&w->rng, 1 + br_rng_below(&w->rng, max));
}

/* What may go wrong in the next call. */
static void arm(worker *one)
{
    world *w = one->world;
    memory_client *client = &one->client;
    client->fuse = client->stall = -1;
    client->calm = w->calm;
    client->poll_max = 1 + br_rng_below(&w->rng, POLL_MAX);
    client->loses_records = !w->calm && world_chance(w, 3);
    if (!w->calm && world_chance(w, 25)) client->fuse = soon(w, FUSE_MAX);
    if (!w->calm && w->opts.stalls && !w->stalled && world_chance(w, 25))
        client->stall = soon(w, STALL_MAX);
    br_failpoint_hook = at_failpoint;
    current = one;
}

static br_status close_pipeline(worker *one, bool commit, br_err *err)
{
    br_status st = br_pipeline_close(one->pipeline, commit, err);
    one->pipeline = NULL;
    if (one->client.state == MEMORY_ALIVE) {
        keep_all_disks(one);
        world_say(one->world, "worker %zu ends%s", one->index, commit && st >= 0 ? " cleanly" : "");
    }
    give_up_all(one);
    return st;
}

/* After a call: a failure that the log's mishaps explain ends the process, any other the run. */
static void judge(worker *one, br_status st, const br_err *err)
{
    bool alive = one->client.state == MEMORY_ALIVE;
    br_err closing;
    current = NULL;
    if (st >= 0 && alive) return;
    if (alive) world_say(one->world, "worker %zu fails: %s", one->index, err->message);
    if (alive && st != BR_ERR_BROKER)
        world_fail(one->world, "a failure that nothing explains: %s", err->message);
    if (one->pipeline) (void)close_pipeline(one, false, &closing);
}

/* ---- processes ---- */

void worker_start(worker *one)
{
    world *w = one->world;
    br_err err;
    memory_client_init(&one->client, &w->log);
    one->client.ended = ended;
    one->client.ended_arg = one;
    br_pipeline_opts opts = {.plan = w->plan,
                             .log = &one->client.base,
                             .state_dir = one->state_dir,
                             .clock = &w->clock,
                             .counters = &w->counters,
                             .members = 1,
                             .inline_restore = true};
    arm(one);
    world_say(w, "worker %zu starts", one->index);
    br_status st = br_pipeline_open(&one->pipeline, &opts, &err);
    judge(one, st, &err);
}

void worker_step(worker *one)
{
    br_err err;
    if (!one->pipeline) return;
    arm(one);
    world_say(one->world, "worker %zu steps", one->index);
    br_status st = br_pipeline_step(one->pipeline, 0, &err);
    judge(one, st, &err);
}

void worker_stop(worker *one)
{
    br_err err;
    arm(one);
    br_status st = close_pipeline(one, true, &err);
    judge(one, st, &err);
}

void worker_kill(worker *one)
{
    br_err err;
    if (!one->pipeline) return;
    memory_client_end(&one->client, MEMORY_DEAD);
    (void)close_pipeline(one, false, &err);
}

void worker_give(worker *one, place *at)
{
    at->owner = one;
    lay_disk(at);
    memory_assign(&one->client, at->at);
}

void worker_take_away(place *at, bool lost)
{
    worker *one = at->owner;
    world_say(one->world, "worker %zu %s %s-%" PRId32, one->index, lost ? "loses" : "hands over",
              at->at.topic, at->at.partition);
    memory_take_away(&one->client, at->at, lost);
    worker_step(one);
    if (!at->owner) return; /* it ended on the way */
    keep_disk(at);
    at->owner = NULL;
}
