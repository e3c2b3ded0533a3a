/* operators/merge_row.c - see merge_row.h. */
#include "operators/merge_row.h"
#include "operators/group_row.h"
#include "runtime/base/alloc.h"
#include "runtime/base/rules.h"

static void *accs_of(const br_partial *partial)
{
    return (char *)(uintptr_t)(partial + 1);
}

static br_bytes id_of(const br_group_conf *conf, const br_partial *partial)
{
    return br_bytes_of((const char *)(partial + 1) + conf->payload_bytes, partial->id_len);
}

static size_t heap_of(const br_group_conf *conf, const br_partial *partial)
{
    return sizeof *partial + conf->payload_bytes + partial->id_len +
           br_group_acc_heap(conf, accs_of(partial));
}

static br_partial *create_partial(const br_group_conf *conf, br_bytes id)
{
    br_partial *partial = br_calloc(1, sizeof *partial + conf->payload_bytes + id.len);
    partial->version = BR_VERSION_NONE;
    partial->id_len = id.len;
    br_group_acc_init(conf, accs_of(partial));
    if (id.len > 0) memcpy((char *)(partial + 1) + conf->payload_bytes, id.data, id.len);
    return partial;
}

static void destroy_partial(const br_group_conf *conf, br_partial *partial)
{
    br_group_acc_dispose(conf, accs_of(partial));
    br_free(partial);
}

static void drop_all(const br_group_conf *conf, br_partials *partials)
{
    for (size_t i = 0; i < partials->count; i++) destroy_partial(conf, partials->at[i]);
    partials->count = 0;
    partials->heap = partials->cap * sizeof(*partials->at);
}

/* Where id is, or would be. */
static size_t place_of(const br_group_conf *conf, const br_partials *partials, br_bytes id,
                       bool *found)
{
    size_t low = 0, high = partials->count;
    *found = false;
    while (low < high && !*found) {
        size_t middle = low + (high - low) / 2;
        int order = br_bytes_compare(id_of(conf, partials->at[middle]), id);
        *found = order == 0;
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return *found ? high : low;
}

static br_partial *insert(const br_group_conf *conf, br_partials *partials, size_t place,
                          br_bytes id)
{
    size_t cap = partials->cap;
    partials->at =
        br_grow(partials->at, &partials->cap, partials->count + 1, sizeof(*partials->at));
    partials->heap += (partials->cap - cap) * sizeof(*partials->at);
    memmove(partials->at + place + 1, partials->at + place,
            (partials->count - place) * sizeof(*partials->at));
    br_partial *partial = create_partial(conf, id);
    partials->at[place] = partial;
    partials->count++;
    partials->heap += heap_of(conf, partial);
    return partial;
}

/* Exchanges the accumulators of a partial and scratch, and empties scratch again. */
static void take_over(const br_group_conf *conf, br_partials *partials, br_partial *partial,
                      br_version version, char *scratch)
{
    partials->heap -= heap_of(conf, partial);
    char *accs = accs_of(partial);
    for (size_t i = 0; i < conf->payload_bytes; i++) {
        char old = accs[i];
        accs[i] = scratch[i];
        scratch[i] = old;
    }
    partial->version = version;
    partials->heap += heap_of(conf, partial);
}

static void empty(const br_group_conf *conf, void *accs)
{
    br_group_acc_dispose(conf, accs);
    memset(accs, 0, conf->payload_bytes);
    br_group_acc_init(conf, accs);
}

uint32_t br_partials_incarnation(const br_partials *partials)
{
    return partials->count > 0 ? partials->at[0]->version.incarnation : 0;
}

br_status br_partials_join(const br_group_conf *conf, br_partials *partials, br_bytes id,
                           const br_row_parts *in, void *scratch, br_err *err)
{
    br_version joined = in->version;
    bool found;
    size_t place = place_of(conf, partials, id, &found);
    if (joined.incarnation < br_partials_incarnation(partials)) return BR_EMPTY;
    int order = found ? br_version_compare(joined, partials->at[place]->version) : 1;
    if (order < 0) partials->at[place]->repair = true;
    if (order <= 0) return order < 0 ? BR_END : BR_EMPTY;
    br_status st = br_group_acc_decode(conf, scratch, in, err);
    if (st == BR_OK) {
        if (joined.incarnation > br_partials_incarnation(partials)) {
            drop_all(conf, partials);
            found = false;
            place = 0;
        }
        br_partial *partial = found ? partials->at[place] : insert(conf, partials, place, id);
        if (found && !BR_RULE(cumulative_partials))
            br_group_acc_merge(conf, scratch, accs_of(partial));
        take_over(conf, partials, partial, joined, scratch);
    }
    empty(conf, scratch);
    return st;
}

void br_partials_record(const br_group_conf *conf, const br_partials *partials, size_t i,
                        br_bytes group, br_buf *key, br_buf *row)
{
    const br_partial *partial = partials->at[i];
    br_partial_key(key, group, id_of(conf, partial));
    br_row_add_version(row, partial->version);
    br_group_acc_encode(conf, accs_of(partial), row);
}

/* ---- the row type ---- */

static void init(const void *self, void *payload)
{
    (void)self;
    *(br_partials *)payload = (br_partials){0};
}

static void dispose(const void *self, void *payload)
{
    br_partials *partials = payload;
    drop_all(self, partials);
    br_free(partials->at);
}

static void encode(const void *self, const br_entry *entry, br_buf *out)
{
    const br_group_conf *conf = self;
    const br_partials *partials = br_entry_payload(entry);
    for (size_t i = 0; i < partials->count; i++) {
        const br_partial *partial = partials->at[i];
        size_t begin = br_row_begin_partial(out, id_of(conf, partial), partial->version);
        br_group_acc_encode(conf, accs_of(partial), out);
        br_row_end_partial(out, begin);
    }
}

static br_status join_all(const br_group_conf *conf, br_partials *partials, br_bytes row,
                          br_err *err)
{
    void *scratch = br_calloc(1, conf->payload_bytes);
    br_group_acc_init(conf, scratch);
    br_status st = BR_OK;
    for (br_bytes one; st >= 0 && br_row_next_partial(&row, &one);) {
        br_row_parts in;
        st = br_partial_read(one, &in)
                 ? br_partials_join(conf, partials, in.key, &in, scratch, err)
                 : br_fail(err, BR_ERR_CORRUPT, "%zu bytes that are not a partial of groupBy %s",
                           one.len, conf->id);
    }
    br_group_acc_dispose(conf, scratch);
    br_free(scratch);
    return st < 0 ? st : BR_OK;
}

static br_status decode(const void *self, br_entry *entry, br_bytes bytes, br_err *err)
{
    const br_group_conf *conf = self;
    br_row_parts row;
    if (!br_row_read(bytes, &row) || row.partial_count == 0) {
        return br_fail(err, BR_ERR_CORRUPT, "%zu bytes that are not partials of groupBy %s",
                       bytes.len, conf->id);
    }
    return join_all(conf, br_entry_payload(entry), bytes, err);
}

static size_t heap(const void *self, const void *payload)
{
    (void)self;
    return ((const br_partials *)payload)->heap;
}

br_row_type br_merge_row_type(const br_group_conf *conf)
{
    return (br_row_type){
        .size = sizeof(br_partials),
        .self = conf,
        .init = init,
        .dispose = dispose,
        .encode = encode,
        .decode = decode,
        .heap = heap,
    };
}

void br_merge_total(const br_group_conf *conf, const void *payload, void *total)
{
    const br_partials *partials = payload;
    for (size_t i = 0; i < partials->count; i++) {
        br_group_acc_merge(conf, total, accs_of(partials->at[i]));
    }
}
