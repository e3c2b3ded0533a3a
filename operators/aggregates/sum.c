/* operators/aggregates/sum.c - sum(x): exact; see exact_sum.h for its bounds and its result. */
#include "operators/aggregates/exact_sum.h"
#include "operators/aggregates/functions.h"

static void init(void *acc)
{
    *(br_exact_sum *)acc = (br_exact_sum){0};
}

static void dispose(void *acc)
{
    br_exact_sum_dispose(acc);
}

static br_status check(const void *acc, const br_value *v, const br_origin *origin, br_err *err)
{
    (void)origin;
    return br_exact_sum_check(acc, "sum", v, err);
}

static void add(void *acc, const br_value *v, const br_origin *origin)
{
    (void)origin;
    br_exact_sum_add(acc, v);
}

static void merge(void *acc, const void *other)
{
    br_exact_sum_merge(acc, other);
}

static void result(const void *acc, br_value *out)
{
    br_exact_sum_result(acc, out);
}

static void encode(const void *acc, Brine__State__Accumulator *out, Brine__State__Value *room)
{
    (void)room;
    br_exact_sum_encode(acc, out);
}

static br_status decode(void *acc, const Brine__State__Accumulator *in, br_err *err)
{
    return br_exact_sum_decode(acc, in, err);
}

const br_aggregate br_aggregate_sum = {
    .name = "sum",
    .acc_size = sizeof(br_exact_sum),
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
