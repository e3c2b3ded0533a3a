/* operators/group_row.c - a group's accumulators: their life, their stored form, their results. */
#include "operators/group_row.h"
#include "operators/aggregates/unpack.h"
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

void br_group_acc_pack(const br_group_conf *conf, const void *payload, br_packed_accs *out)
{
    for (size_t i = 0; i < conf->aggregate_count; i++) {
        brine__state__accumulator__init(&out->accs[i]);
        brine__state__value__init(&out->rooms[i]);
        conf->aggregates[i].fn->encode(acc_at(&conf->aggregates[i], payload), &out->accs[i],
                                       &out->rooms[i]);
        out->at[i] = &out->accs[i];
    }
}

br_status br_group_acc_unpack(const br_group_conf *conf, void *payload,
                              Brine__State__Accumulator *const *accs, size_t count, br_err *err)
{
    if (count != conf->aggregate_count) {
        return br_fail(err, BR_ERR_CORRUPT,
                       "row of %zu accumulators, groupBy %s has %zu aggregates", count, conf->id,
                       conf->aggregate_count);
    }
    for (size_t i = 0; i < count; i++) {
        const br_group_aggregate *aggregate = &conf->aggregates[i];
        br_status st = aggregate->fn->decode(acc_at(aggregate, payload), accs[i], err);
        if (st < 0) return br_wrap(err, "aggregate %s of groupBy %s", aggregate->name, conf->id);
    }
    return BR_OK;
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
    const br_group_conf *conf = self;
    br_packed_accs packed;
    br_group_acc_pack(conf, br_entry_payload(entry), &packed);
    Brine__State__Version version = BRINE__STATE__VERSION__INIT;
    version.has_incarnation = version.has_offset = 1;
    version.incarnation = entry->version.incarnation;
    version.offset = entry->version.offset;
    Brine__State__Row row = BRINE__STATE__ROW__INIT;
    row.version = &version;
    row.n_accumulators = conf->aggregate_count;
    row.accumulators = packed.at;
    br_buf_reserve(out, brine__state__row__get_packed_size(&row));
    out->len += brine__state__row__pack(&row, (uint8_t *)out->data + out->len);
}

static br_status decode(const void *self, br_entry *entry, br_bytes bytes, br_err *err)
{
    const br_group_conf *conf = self;
    br_unpack_memory mem;
    ProtobufCAllocator *allocator = br_unpack_begin(&mem);
    Brine__State__Row *row =
        brine__state__row__unpack(allocator, bytes.len, (const uint8_t *)bytes.data);
    if (!row || !row->version) {
        brine__state__row__free_unpacked(row, allocator);
        return br_fail(err, BR_ERR_CORRUPT, "%zu bytes that are not a row of groupBy %s", bytes.len,
                       conf->id);
    }
    entry->version = (br_version){row->version->incarnation, row->version->offset};
    br_status st = br_group_acc_unpack(conf, br_entry_payload(entry), row->accumulators,
                                       row->n_accumulators, err);
    brine__state__row__free_unpacked(row, allocator);
    return st;
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
