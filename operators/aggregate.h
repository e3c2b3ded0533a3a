/* operators/aggregate.h - what a groupBy computes: mergeable accumulators.
 * Stage one adds records; stage two decodes partials and merges them. merge is associative and
 * commutative with init as its identity, and for integers and decimals exact, so the order of
 * records, partitions and crashes changes no digit (tests: test_aggregate_laws.c).
 * Nulls are passed over by every aggregate but count(). */
#ifndef BR_OPERATORS_AGGREGATE_H
#define BR_OPERATORS_AGGREGATE_H

#include "operators/value.h"

#include <proto/state.pb-c.h>

/* Where an added value came from. */
typedef struct br_origin {
    int64_t time_ms; /* event time; BR_NO_TIME: none */
    int64_t offset;
} br_origin;

/* One per aggregate function; const. `acc` has acc_size bytes, 8-byte aligned, zeroed before init.
 */
typedef struct br_aggregate {
    const char *name; /* as written in job files */
    size_t acc_size;
    bool takes_argument; /* count() and count(x) are two aggregates of one name */
    bool takes_any;      /* there is no value that check refuses */
    bool needs_time;
    void (*init)(void *acc);
    void (*dispose)(void *acc); /* [optional] */
    /* Whether add would take it; says why not (BR_ERR_BAD_RECORD). Changes nothing: a groupBy
     * checks all its aggregates before it adds to any. */
    br_status (*check)(const void *acc, const br_value *v, const br_origin *origin, br_err *err);
    /* v has passed check; without argument v is a null. */
    void (*add)(void *acc, const br_value *v, const br_origin *origin);
    void (*merge)(void *acc, const void *other);
    /* [optional] Bytes of the heap that acc holds, where there is no small bound: for the budget.
     */
    size_t (*heap)(const void *acc);
    /* The result; text borrows acc. Nothing added: null (count: 0). */
    void (*result)(const void *acc, br_value *out);
    /* Sets fields of a message that was initialised; what they point to borrows acc, or room, an
     * initialised message for Accumulator.value. */
    void (*encode)(const void *acc, Brine__State__Accumulator *out, Brine__State__Value *room);
    /* Into an initialised acc. BR_ERR_CORRUPT. */
    br_status (*decode)(void *acc, const Brine__State__Accumulator *in, br_err *err);
} br_aggregate;

/* NULL: no such function. */
const br_aggregate *br_aggregate_find(br_bytes name);
/* All of them, for messages and help; ends with NULL. */
extern const br_aggregate *const br_aggregates[];

/* Parses `name(argument)`: *fn, and *argument (BR_NO_BYTES for an empty list) borrowing text.
 * BR_ERR_CONFIG: not a call, no such function (with the nearest), argument missing or too many. */
BR_MUST_USE br_status br_aggregate_parse(br_bytes text, const br_aggregate **fn, br_bytes *argument,
                                         br_err *err);

#endif
