/* operators/group_row.c - a group's accumulators: their life, their stored form, their results. */
#include "operators/group_row.h"
#include "operators/tuple.h"
#include "runtime/base/alloc.h"

static void *acc_at(const br_group_aggregate *aggregate, const void *payload)
{
    return (char *)(uintptr_t)payload + aggregate->offset;
}

void br_group_acc_init(const br_group_conf *conf, void *payload)
{
    for (size_t i = 0; i < conf->aggregate_count; i++) {
        conf->aggregates[i].fn->init(acc_at(&conf->aggregates[i], payload));
    }
}

void br_group_acc_dispose(const br_group_conf *conf, void *payload)
{
    for (size_t i = 0; i < conf->aggregate_count; i++) {
        const br_aggregate *fn = conf->aggregates[i].fn;
        if (fn->dispose) fn->dispose(acc_at(&conf->aggregates[i], payload));
    }
}

void br_group_acc_merge(const br_group_conf *conf, void *payload, const void *other)
{
    for (size_t i = 0; i < conf->aggregate_count; i++) {
        const br_group_aggregate *aggregate = &conf->aggregates[i];
        aggregate->fn->merge(acc_at(aggregate, payload), acc_at(aggregate, other));
    }
}

size_t br_group_acc_heap(const br_group_conf *conf, const void *payload)
{
    size_t bytes = 0;
    for (size_t i = 0; i < conf->aggregate_count; i++) {
        const br_aggregate *fn = conf->aggregates[i].fn;
        if (fn->heap) bytes += fn->heap(acc_at(&conf->aggregates[i], payload));
    }
    return bytes;
}

void br_group_acc_encode(const br_group_conf *conf, const void *payload, br_buf *out)
{
    for (size_t i = 0; i < conf->aggregate_count; i++) {
        Brine__State__Accumulator acc = BRINE__STATE__ACCUMULATOR__INIT;
        Brine__State__Value room = BRINE__STATE__VALUE__INIT;
        conf->aggregates[i].fn->encode(acc_at(&conf->aggregates[i], payload), &acc, &room);
        br_row_add_accumulator(out, &acc);
    }
}

static br_status decode_one(const br_group_conf *conf, size_t i, br_bytes bytes, void *payload,
                            br_err *err)
{
    const br_group_aggregate *aggregate = &conf->aggregates[i];
    br_stored_acc acc;
    br_status st = BR_OK;
    if (br_acc_read(bytes, &acc)) {
        st = aggregate->fn->decode(acc_at(aggregate, payload), &acc.message, err);
    } else {
        st = br_fail(err, BR_ERR_CORRUPT, "%zu bytes that are not an accumulator", bytes.len);
    }
    return st < 0 ? br_wrap(err, "aggregate %s of groupBy %s", aggregate->name, conf->id) : st;
}

br_status br_group_acc_decode(const br_group_conf *conf, void *payload, const br_row_parts *parts,
                              br_err *err)
{
    if (parts->accumulator_count != conf->aggregate_count) {
        return br_fail(err, BR_ERR_CORRUPT,
                       "row of %zu accumulators, groupBy %s has %zu aggregates",
                       parts->accumulator_count, conf->id, conf->aggregate_count);
    }
    br_bytes rest = parts->all, one;
    br_status st = BR_OK;
    for (size_t i = 0; st == BR_OK && br_row_next_accumulator(&rest, &one); i++) {
        st = decode_one(conf, i, one, payload, err);
    }
    return st;
}

static void init(const void *self, void *payload)
{
    br_group_acc_init(self, payload);
}

static void dispose(const void *self, void *payload)
{
    br_group_acc_dispose(self, payload);
}

static void encode(const void *self, const br_entry *entry, br_buf *out)
{
    br_row_add_version(out, entry->version);
    br_group_acc_encode(self, br_entry_payload(entry), out);
}

static br_status decode(const void *self, br_entry *entry, br_bytes bytes, br_err *err)
{
    const br_group_conf *conf = self;
    br_row_parts row;
    if (!br_row_read(bytes, &row) || !row.has_version) {
        return br_fail(err, BR_ERR_CORRUPT, "%zu bytes that are not a row of groupBy %s", bytes.len,
                       conf->id);
    }
    entry->version = row.version;
    return br_group_acc_decode(conf, br_entry_payload(entry), &row, err);
}

static size_t heap(const void *self, const void *payload)
{
    return br_group_acc_heap(self, payload);
}

br_row_type br_group_row_type(const br_group_conf *conf)
{
    return (br_row_type){
        .size = conf->payload_bytes,
        .self = conf,
        .init = init,
        .dispose = dispose,
        .encode = encode,
        .decode = decode,
        .heap = heap,
    };
}

br_status br_group_result(const br_group_conf *conf, br_bytes key, const void *payload,
                          br_arena *arena, br_value *slots, br_err *err)
{
    br_bytes rest = key;
    br_status st = BR_OK;
    for (size_t i = 0; st == BR_OK && i < conf->by_count; i++) {
        st = br_tuple_next(&rest, arena, &slots[i], err);
    }
    if (st < 0) return br_wrap(err, "group key of groupBy %s", conf->id);
    if (st != BR_OK || rest.len > 0) {
        return br_fail(err, BR_ERR_CORRUPT,
                       "group key of %zu bytes is not the %zu values of groupBy %s", key.len,
                       conf->by_count, conf->id);
    }
    for (size_t i = 0; i < conf->aggregate_count; i++) {
        const br_group_aggregate *aggregate = &conf->aggregates[i];
        aggregate->fn->result(acc_at(aggregate, payload), &slots[conf->by_count + i]);
    }
    return BR_OK;
}
