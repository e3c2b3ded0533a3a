/* operators/aggregates/first_last.c - first(x), last(x): the value of the earliest or latest event.
 * Ordered by (event time, source offset, value): a total order, so that a merge is commutative even
 * where times are equal and where one record gave several rows. */
#include "operators/aggregates/functions.h"
#include "operators/aggregates/stored_value.h"
#include "operators/record.h"

typedef struct event {
    br_kept kept;
    br_origin origin;
} event;

static void init(void *acc)
{
    *(event *)acc = (event){0};
}

static void dispose(void *acc)
{
    br_kept_dispose(&((event *)acc)->kept);
}

static br_status check(const void *acc, const br_value *v, const br_origin *origin, br_err *err)
{
    (void)acc;
    if (origin->time_ms != BR_NO_TIME || br_value_is_null(v)) return BR_OK;
    return br_fail(err, BR_ERR_BAD_RECORD,
                   "first and last need an event time, and this record has none: give the source "
                   "a `timestamp` field that every record has");
}

static int order(const br_value *a, const br_origin *at, const event *b)
{
    if (at->time_ms != b->origin.time_ms) return at->time_ms < b->origin.time_ms ? -1 : 1;
    if (at->offset != b->origin.offset) return at->offset < b->origin.offset ? -1 : 1;
    return br_kept_order(a, &b->kept.v);
}

/* sign 1 keeps the first, -1 the last. */
static void keep(event *self, const br_value *v, const br_origin *origin, int sign)
{
    if (br_value_is_null(v)) return;
    if (!br_value_is_null(&self->kept.v) && sign * order(v, origin, self) >= 0) return;
    br_kept_set(&self->kept, v);
    self->origin = *origin;
}

static void first_add(void *acc, const br_value *v, const br_origin *origin)
{
    keep(acc, v, origin, 1);
}

static void last_add(void *acc, const br_value *v, const br_origin *origin)
{
    keep(acc, v, origin, -1);
}

static void first_merge(void *acc, const void *other)
{
    const event *more = other;
    keep(acc, &more->kept.v, &more->origin, 1);
}

static void last_merge(void *acc, const void *other)
{
    const event *more = other;
    keep(acc, &more->kept.v, &more->origin, -1);
}

static size_t heap(const void *acc)
{
    return ((const event *)acc)->kept.room_bytes;
}

static void result(const void *acc, br_value *out)
{
    const event *self = acc;
    *out = br_value_is_null(&self->kept.v) ? br_value_null() : self->kept.v;
}

static void encode(const void *acc, Brine__State__Accumulator *out, Brine__State__Value *room)
{
    const event *self = acc;
    if (br_value_is_null(&self->kept.v)) return;
    br_value_encode(&self->kept.v, room);
    out->value = room;
    out->has_time = out->has_offset = 1;
    out->time = self->origin.time_ms;
    out->offset = self->origin.offset;
}

static br_status decode(void *acc, const Brine__State__Accumulator *in, br_err *err)
{
    event *self = acc;
    if (!in->value) return BR_OK;
    br_value v;
    br_status st = br_value_decode(&v, in->value, err);
    if (st < 0) return st;
    if (v.kind == BR_NULL || !in->has_time || !in->has_offset) {
        return br_fail(err, BR_ERR_CORRUPT, "stored first or last without value, time or offset");
    }
    br_kept_set(&self->kept, &v);
    self->origin = (br_origin){.time_ms = in->time, .offset = in->offset};
    return BR_OK;
}

const br_aggregate br_aggregate_first = {
    .name = "first",
    .acc_size = sizeof(event),
    .takes_argument = true,
    .needs_time = true,
    .init = init,
    .dispose = dispose,
    .check = check,
    .add = first_add,
    .merge = first_merge,
    .heap = heap,
    .result = result,
    .encode = encode,
    .decode = decode,
};

const br_aggregate br_aggregate_last = {
    .name = "last",
    .acc_size = sizeof(event),
    .takes_argument = true,
    .needs_time = true,
    .init = init,
    .dispose = dispose,
    .check = check,
    .add = last_add,
    .merge = last_merge,
    .heap = heap,
    .result = result,
    .encode = encode,
    .decode = decode,
};
