/* operators/aggregates/min_max.c - min(x), max(x) over numbers, texts or bools.
 * Should kinds mix, br_value_compare orders them, so that a merge stays commutative. */
#include "operators/aggregates/functions.h"
#include "operators/aggregates/stored_value.h"

static void init(void *acc)
{
    *(br_kept *)acc = (br_kept){0};
}

static void dispose(void *acc)
{
    br_kept_dispose(acc);
}

static br_status check(const char *name, const br_value *v, br_err *err)
{
    if (v->kind != BR_JSON) return BR_OK;
    return br_fail(err, BR_ERR_BAD_RECORD, "%s takes numbers, text or bool, found %s", name,
                   br_kind_name(v->kind));
}

static br_status min_check(const void *acc, const br_value *v, const br_origin *origin, br_err *err)
{
    (void)acc, (void)origin;
    return check("min", v, err);
}

static br_status max_check(const void *acc, const br_value *v, const br_origin *origin, br_err *err)
{
    (void)acc, (void)origin;
    return check("max", v, err);
}

/* sign 1 keeps the smallest, -1 the largest. */
static void keep(br_kept *kept, const br_value *v, int sign)
{
    if (br_value_is_null(v)) return;
    if (br_value_is_null(&kept->v) || sign * br_kept_order(v, &kept->v) < 0) br_kept_set(kept, v);
}

static void min_add(void *acc, const br_value *v, const br_origin *origin)
{
    (void)origin;
    keep(acc, v, 1);
}

static void max_add(void *acc, const br_value *v, const br_origin *origin)
{
    (void)origin;
    keep(acc, v, -1);
}

static void min_merge(void *acc, const void *other)
{
    keep(acc, &((const br_kept *)other)->v, 1);
}

static void max_merge(void *acc, const void *other)
{
    keep(acc, &((const br_kept *)other)->v, -1);
}

static size_t heap(const void *acc)
{
    return ((const br_kept *)acc)->room_bytes;
}

static void result(const void *acc, br_value *out)
{
    const br_kept *kept = acc;
    *out = br_value_is_null(&kept->v) ? br_value_null() : kept->v;
}

static void encode(const void *acc, Brine__State__Accumulator *out, Brine__State__Value *room)
{
    const br_kept *kept = acc;
    if (br_value_is_null(&kept->v)) return;
    br_value_encode(&kept->v, room);
    out->value = room;
}

static br_status decode(void *acc, const Brine__State__Accumulator *in, br_err *err)
{
    if (!in->value) return BR_OK;
    br_value v;
    br_status st = br_value_decode(&v, in->value, err);
    if (st < 0) return st;
    if (v.kind == BR_JSON || v.kind == BR_NULL) {
        return br_fail(err, BR_ERR_CORRUPT, "stored min or max is %s", br_kind_name(v.kind));
    }
    br_kept_set(acc, &v);
    return BR_OK;
}

const br_aggregate br_aggregate_min = {
    .name = "min",
    .acc_size = sizeof(br_kept),
    .takes_argument = true,
    .init = init,
    .dispose = dispose,
    .check = min_check,
    .add = min_add,
    .merge = min_merge,
    .heap = heap,
    .result = result,
    .encode = encode,
    .decode = decode,
};

const br_aggregate br_aggregate_max = {
    .name = "max",
    .acc_size = sizeof(br_kept),
    .takes_argument = true,
    .init = init,
    .dispose = dispose,
    .check = max_check,
    .add = max_add,
    .merge = max_merge,
    .heap = heap,
    .result = result,
    .encode = encode,
    .decode = decode,
};
