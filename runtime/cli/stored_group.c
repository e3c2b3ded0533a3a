/* runtime/cli/stored_group.c - see stored_group.h. */
#include "runtime/cli/stored_group.h"

#include "operators/tuple.h"
#include "runtime/base/alloc.h"
#include "runtime/base/limits.h"

#include <proto/job.pb-c.h>

enum { ARENA_BLOCK_BYTES = 64 * 1024 };

struct br_stored_group {
    Brine__Job__GroupBy *spec; /* owns the names */
    br_group_conf conf;
    bool partials;
    br_row_type type;
    br_entry *entry; /* of the row in hand, its payload behind it */
    void *total;     /* stage two: its partials, merged */
    bool loaded;     /* both are initialised */
    br_arena *arena;
    br_value *slots;
    const char **names;
};

/* ---- opening ---- */

static br_status make_aggregates(br_stored_group *group, br_err *err)
{
    br_group_conf *conf = &group->conf;
    conf->aggregates = br_calloc(group->spec->n_aggregate, sizeof(*conf->aggregates));
    for (size_t i = 0; i < group->spec->n_aggregate; i++) {
        br_group_aggregate *aggregate = &conf->aggregates[conf->aggregate_count++];
        br_bytes argument;
        if (br_aggregate_parse(br_str(group->spec->aggregate[i]->expr), &aggregate->fn, &argument,
                               err) != BR_OK)
            return err->status;
        aggregate->name = group->names[conf->by_count + i];
        aggregate->offset = conf->payload_bytes;
        conf->payload_bytes += (aggregate->fn->acc_size + 7) / 8 * 8;
    }
    return BR_OK;
}

static br_status make_conf(br_stored_group *group, br_err *err)
{
    const Brine__Job__GroupBy *spec = group->spec;
    if (spec->n_by > BR_GROUP_FIELDS_MAX || spec->n_aggregate > BR_AGGREGATES_MAX)
        return br_fail(err, BR_ERR_CORRUPT, "a group of %zu fields and %zu aggregates", spec->n_by,
                       spec->n_aggregate);
    group->names = br_calloc(spec->n_by + spec->n_aggregate, sizeof(*group->names));
    for (size_t i = 0; i < spec->n_by + spec->n_aggregate; i++) {
        bool by = i < spec->n_by;
        const Brine__Job__Named *named = by ? spec->by[i] : spec->aggregate[i - spec->n_by];
        if (!named->name) return br_fail(err, BR_ERR_CORRUPT, "a field without a name");
        group->names[i] = named->name;
    }
    group->conf.id = spec->id ? spec->id : "";
    group->conf.by_names = group->names;
    group->conf.by_count = spec->n_by;
    group->conf.result_slots = spec->n_by + spec->n_aggregate;
    return make_aggregates(group, err);
}

br_status br_stored_group_open(br_stored_group **out, br_bytes spec, bool partials, br_err *err)
{
    br_stored_group *group = BR_NEW(br_stored_group);
    *out = NULL;
    group->spec = brine__job__group_by__unpack(NULL, spec.len, (const uint8_t *)spec.data);
    br_status st = group->spec
                       ? make_conf(group, err)
                       : br_fail(err, BR_ERR_CORRUPT, "%zu bytes that are no groupBy", spec.len);
    if (st != BR_OK) {
        br_stored_group_close(group);
        err->status = BR_ERR_CORRUPT;
        return br_wrap(err, "what the rows mean cannot be read");
    }
    group->partials = partials;
    group->type = partials ? br_merge_row_type(&group->conf) : br_group_row_type(&group->conf);
    group->entry = br_calloc(1, sizeof(*group->entry) + group->type.size);
    group->entry->payload_len = (uint32_t)group->type.size;
    group->total = br_calloc(1, group->conf.payload_bytes);
    group->slots = br_calloc(group->conf.result_slots, sizeof(*group->slots));
    group->arena = br_arena_create(ARENA_BLOCK_BYTES);
    *out = group;
    return BR_OK;
}

static void unload(br_stored_group *group)
{
    if (!group->loaded) return;
    group->type.dispose(group->type.self, br_entry_payload(group->entry));
    br_group_acc_dispose(&group->conf, group->total);
    group->loaded = false;
}

void br_stored_group_close(br_stored_group *group)
{
    if (!group) return;
    unload(group);
    if (group->arena) br_arena_destroy(group->arena);
    if (group->spec) brine__job__group_by__free_unpacked(group->spec, NULL);
    br_free(group->conf.aggregates);
    br_free(group->names);
    br_free(group->entry);
    br_free(group->total);
    br_free(group->slots);
    br_free(group);
}

size_t br_stored_group_by_count(const br_stored_group *group)
{
    return group->conf.by_count;
}

const char *const *br_stored_group_names(const br_stored_group *group, size_t *count)
{
    *count = group->conf.result_slots;
    return group->names;
}

/* ---- reading ---- */

br_status br_stored_group_key(br_stored_group *group, br_bytes key, const br_value **slots,
                              br_err *err)
{
    br_bytes rest = key;
    br_arena_reset(group->arena);
    memset(group->slots, 0, group->conf.result_slots * sizeof(*group->slots));
    for (size_t i = 0; i < group->conf.by_count; i++) {
        br_status st = br_tuple_next(&rest, group->arena, &group->slots[i], err);
        if (st < 0) return st;
        if (st == BR_END)
            return br_fail(err, BR_ERR_CORRUPT, "a key of %zu fields, a group has %zu", i,
                           group->conf.by_count);
    }
    *slots = group->slots;
    return BR_OK;
}

static void load(br_stored_group *group)
{
    void *payload = br_entry_payload(group->entry);
    memset(payload, 0, group->type.size);
    memset(group->total, 0, group->conf.payload_bytes);
    group->type.init(group->type.self, payload);
    br_group_acc_init(&group->conf, group->total);
    group->loaded = true;
}

br_status br_stored_group_row(br_stored_group *group, br_bytes key, br_bytes row,
                              const br_value **slots, br_err *err)
{
    const void *payload = br_entry_payload(group->entry);
    unload(group);
    load(group);
    br_arena_reset(group->arena);
    br_status st = group->type.decode(group->type.self, group->entry, row, err);
    if (st == BR_OK && group->partials) {
        br_merge_total(&group->conf, payload, group->total);
        payload = group->total;
    }
    if (st == BR_OK)
        st = br_group_result(&group->conf, key, payload, group->arena, group->slots, err);
    *slots = group->slots;
    return st;
}
