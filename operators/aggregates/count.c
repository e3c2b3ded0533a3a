/* operators/aggregates/count.c - count() counts records, count(x) those where x is not null. */
#include "operators/aggregates/functions.h"

static void init(void *acc)
{
    *(uint64_t *)acc = 0;
}

/* 2^64 records take longer than any job runs; only stored bytes could bring a count there. */
static br_status check(const void *acc, const br_value *v, const br_origin *origin, br_err *err)
{
    (void)v, (void)origin;
    if (*(const uint64_t *)acc < UINT64_MAX) return BR_OK;
    return br_fail(err, BR_ERR_BAD_RECORD, "count overflows 64 bits");
}

static void add(void *acc, const br_value *v, const br_origin *origin)
{
    (void)v, (void)origin;
    ++*(uint64_t *)acc;
}

static void add_present(void *acc, const br_value *v, const br_origin *origin)
{
    (void)origin;
    if (!br_value_is_null(v)) ++*(uint64_t *)acc;
}

static void merge(void *acc, const void *other)
{
    *(uint64_t *)acc += *(const uint64_t *)other;
}

static void result(const void *acc, br_value *out)
{
    *out = br_value_i128(*(const uint64_t *)acc);
}

static void encode(const void *acc, Brine__State__Accumulator *out, Brine__State__Value *room)
{
    (void)room;
    out->has_count = 1;
    out->count = *(const uint64_t *)acc;
}

static br_status decode(void *acc, const Brine__State__Accumulator *in, br_err *err)
{
    if (!in->has_count) return br_fail(err, BR_ERR_CORRUPT, "stored count has no count");
    *(uint64_t *)acc = in->count;
    return BR_OK;
}

const br_aggregate br_aggregate_count = {
    .name = "count",
    .acc_size = sizeof(uint64_t),
    .takes_any = true,
    .init = init,
    .check = check,
    .add = add,
    .merge = merge,
    .result = result,
    .encode = encode,
    .decode = decode,
};

const br_aggregate br_aggregate_count_of = {
    .name = "count",
    .acc_size = sizeof(uint64_t),
    .takes_any = true,
    .takes_argument = true,
    .init = init,
    .check = check,
    .add = add_present,
    .merge = merge,
    .result = result,
    .encode = encode,
    .decode = decode,
};
