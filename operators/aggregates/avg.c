/* operators/aggregates/avg.c - avg(x): the exact sum over the count of numbers, as a float.
 * Both are kept and merged, never averages: an average of averages would weigh partitions. */
#include "operators/aggregates/exact_sum.h"
#include "operators/aggregates/functions.h"

typedef struct avg {
    br_exact_sum sum;
    uint64_t count;
} avg;

static void init(void *acc)
{
    *(avg *)acc = (avg){0};
}

static void dispose(void *acc)
{
    br_exact_sum_dispose(&((avg *)acc)->sum);
}

static br_status check(const void *acc, const br_value *v, const br_origin *origin, br_err *err)
{
    (void)origin;
    return br_exact_sum_check(&((const avg *)acc)->sum, "avg", v, err);
}

static void add(void *acc, const br_value *v, const br_origin *origin)
{
    (void)origin;
    avg *self = acc;
    br_exact_sum_add(&self->sum, v);
    if (!br_value_is_null(v)) self->count++;
}

static void merge(void *acc, const void *other)
{
    avg *self = acc;
    const avg *more = other;
    br_exact_sum_merge(&self->sum, &more->sum);
    self->count += more->count;
}

static void result(const void *acc, br_value *out)
{
    const avg *self = acc;
    *out = br_value_null();
    if (self->count > 0) br_exact_sum_mean(&self->sum, self->count, out);
}

static void encode(const void *acc, Brine__State__Accumulator *out, Brine__State__Value *room)
{
    (void)room;
    const avg *self = acc;
    out->has_count = 1;
    out->count = self->count;
    br_exact_sum_encode(&self->sum, out);
}

static br_status decode(void *acc, const Brine__State__Accumulator *in, br_err *err)
{
    avg *self = acc;
    bool numbers = in->has_sum || in->has_sum_big || in->n_sum_floats > 0;
    if (!in->has_count || numbers != (in->count > 0)) {
        return br_fail(err, BR_ERR_CORRUPT, "stored avg has a sum without a count, or the reverse");
    }
    self->count = in->count;
    return br_exact_sum_decode(&self->sum, in, err);
}

const br_aggregate br_aggregate_avg = {
    .name = "avg",
    .acc_size = sizeof(avg),
    .takes_argument = true,
    .init = init,
    .dispose = dispose,
    .check = check,
    .add = add,
    .merge = merge,
    .result = result,
    .encode = encode,
    .decode = decode,
};
