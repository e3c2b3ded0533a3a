/* tests/unit/operators/aggregate_fixture.h - an aggregate by its call, and accumulators of it. */
#ifndef BR_TESTS_AGGREGATE_FIXTURE_H
#define BR_TESTS_AGGREGATE_FIXTURE_H

#include "operators/aggregate.h"
#include "runtime/base/alloc.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static inline const br_aggregate *function(const char *call)
{
    const br_aggregate *fn;
    br_bytes argument;
    br_err err;
    assert_int_equal(br_aggregate_parse(br_str(call), &fn, &argument, &err), BR_OK);
    return fn;
}

static inline void *create(const br_aggregate *fn)
{
    void *acc = br_calloc(1, fn->acc_size);
    fn->init(acc);
    return acc;
}

static inline void destroy(const br_aggregate *fn, void *acc)
{
    if (fn->dispose) fn->dispose(acc);
    br_free(acc);
}

#endif
