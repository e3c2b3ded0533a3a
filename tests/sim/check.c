/* tests/sim/check.c - see check.h. */
#include "tests/sim/check.h"

#include "runtime/base/alloc.h"
#include "tests/sim/describe.h"
#include "tests/sim/workers.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- sinks ---- */

static br_bytes last_value(const memory_topic *topic, const char *key)
{
    br_bytes found = BR_NO_BYTES;
    for (int32_t p = 0; p < topic->partition_count; p++) {
        const memory_partition *partition = &topic->partitions[p];
        for (size_t i = partition->count; i-- > 0 && !found.data;)
            if (br_bytes_equal(partition->records[i].key, br_str(key)))
                found = partition->records[i].value;
    }
    return found;
}

static memory_topic *sink_of(const world *w, size_t group_by)
{
    char name[32];
    (void)snprintf(name, sizeof(name), "out%zu", group_by);
    return memory_topic_find(&w->log, name);
}

/* In two stages a total never goes back, whoever dies: partials join by version, and stage two says
 * nothing before it has read what its predecessor had, unless it is short of memory. */
static void check_order(world *w, size_t group_by, scenario_total *total, br_bytes value)
{
    const char *count = memmem(value.data, value.len, "\"n\":", 4);
    BR_ASSERT(count);
    int64_t n = strtoll(count + 4, NULL, 10); /* ends before the object does */
    bool may_go_back = w->scenario.one_stage[group_by] || w->small_cache;
    if (n < total->sent && !may_go_back)
        world_fail(w, "out%zu, group %s: went back from %" PRId64 " to %" PRId64, group_by,
                   total->key, total->sent, n);
    if (n > total->sent) total->sent = n;
}

void check_sent(world *w, const char *topic, const memory_record *record)
{
    for (size_t g = 0; g < w->scenario.group_count; g++) {
        if (strcmp(sink_of(w, g)->name, topic) != 0) continue;
        scenario_total *total = scenario_find(&w->scenario, g, record->key);
        if (total)
            check_order(w, g, total, record->value);
        else
            world_fail(w, "%s was sent a group that is not in the input: %.*s", topic,
                       (int)record->key.len, record->key.data);
    }
}

void check_totals(world *w)
{
    for (size_t i = 0; i < w->scenario.total_count; i++) {
        const scenario_total *want = &w->scenario.totals[i];
        br_bytes got = last_value(sink_of(w, want->group_by), want->key);
        if (!br_bytes_equal(got, br_str(want->value)))
            world_fail(w, "out%zu, group %s: got %.*s, want %s", want->group_by, want->key,
                       got.data ? (int)got.len : 7, got.data ? got.data : "nothing", want->value);
    }
}

/* ---- stores ---- */

static br_status dump_row(void *arg, br_bytes key, br_bytes value, br_err *err)
{
    br_buf *out = arg;
    (void)err;
    br_buf_adds(out, "\n  ");
    describe_key(out, key);
    br_buf_adds(out, " = ");
    describe_row(out, value);
    return BR_OK;
}

/* All rows of a task that was closed by owner; one line each. */
static void dump(world *w, const place *at, const worker *owner, br_buf *out)
{
    br_buf dir = {0};
    br_env *env = NULL;
    br_err err;
    world_place_dir(w, at, owner, &dir);
    br_status st = br_env_peek(&env, br_buf_cstr(&dir), &err);
    for (size_t i = 0; st == BR_OK && i < at->stage->store_count; i++) {
        int store = br_env_store_index(env, at->stage->stores[i].id);
        br_buf_printf(out, "\n store %s", at->stage->stores[i].id);
        if (store >= 0) st = br_env_scan(env, (size_t)store, BR_NO_BYTES, dump_row, out, &err);
    }
    br_env_close(env, false);
    br_buf_dispose(&dir);
    if (st < 0) world_fail(w, "a store cannot be read: %s", err.message);
}

static void clean_all(world *w)
{
    for (size_t i = 0; i < w->log.topic_count; i++) {
        memory_topic *topic = w->log.topics[i];
        for (int32_t p = 0; topic->compacted && p < topic->partition_count; p++)
            (void)memory_compact(&topic->partitions[p], topic->partitions[p].count, true);
    }
}

void check_fresh_restore(world *w)
{
    const worker *owners[PLACES_MAX];
    br_buf live[PLACES_MAX] = {{0}};
    for (size_t i = 0; i < w->place_count; i++) owners[i] = w->places[i].owner;
    world_stop(w);
    for (size_t i = 0; i < w->place_count && !w->failed; i++)
        dump(w, &w->places[i], owners[i], &live[i]);
    clean_all(w);
    world_forget_disks(w);
    if (!w->failed) world_settle(w);
    for (size_t i = 0; i < w->place_count; i++) owners[i] = w->places[i].owner;
    if (!w->failed) world_stop(w);
    for (size_t i = 0; i < w->place_count; i++) {
        br_buf fresh = {0};
        if (!w->failed) dump(w, &w->places[i], owners[i], &fresh);
        if (!w->failed && !br_bytes_equal(br_buf_bytes(&live[i]), br_buf_bytes(&fresh)))
            world_fail(w, "%s-%" PRId32 ": its state was%s\nthe topics give%s",
                       w->places[i].at.topic, w->places[i].at.partition, br_buf_cstr(&live[i]),
                       br_buf_cstr(&fresh));
        br_buf_dispose(&fresh);
        br_buf_dispose(&live[i]);
    }
}
