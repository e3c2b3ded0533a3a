/* operators/aggregates/exact_sum.h - a sum that loses nothing, so that no order of additions and no
 * spread over partitions changes a digit of its result.
 * Shape:     integers in 128 bits; floats as an expansion, non-overlapping doubles whose
 *            mathematical sum is the exact one (J. R. Shewchuk, "Adaptive precision floating-point
 *            arithmetic and fast robust geometric predicates", 1997; rounded as Python's fsum does)
 * Invariant: |integers| <= 2^106 and |floats| <= 2^1000 where records are added, so that a merge of
 *            2^20 partitions overflows neither 128 bits nor a double: a merge cannot refuse.
 * Memory:    four parts inline; more than that (a wide range of exponents) on the heap, at most 64
 *            of them (512 bytes), since 2,098 bits of range hold no more 53-bit parts. */
#ifndef BR_OPERATORS_AGGREGATES_EXACT_SUM_H
#define BR_OPERATORS_AGGREGATES_EXACT_SUM_H

#include "operators/value.h"

#include <proto/state.pb-c.h>

enum { BR_EXACT_SUM_INLINE = 4 };

/* All-zero is the empty sum. Its bytes may be moved. */
typedef struct br_exact_sum {
    br_int128 integers;
    double few[BR_EXACT_SUM_INLINE];
    double *many;         /* parts, where they are more than few[] holds; else NULL */
    uint32_t count, room; /* parts, smallest first; room: of many */
    bool has_integers;    /* floats were added where count > 0: a sum of 0.0 keeps the part 0.0 */
} br_exact_sum;

void br_exact_sum_dispose(br_exact_sum *sum);
/* BR_ERR_BAD_RECORD: not a number, or out of bounds; `name` begins the message. A null is fine. */
BR_MUST_USE br_status br_exact_sum_check(const br_exact_sum *sum, const char *name,
                                         const br_value *v, br_err *err);
/* v has passed the check; a null changes nothing. */
void br_exact_sum_add(br_exact_sum *sum, const br_value *v);
void br_exact_sum_merge(br_exact_sum *sum, const br_exact_sum *other);
/* Nothing added: null. Only integers: the integer. Else the nearest float, half to even. */
void br_exact_sum_result(const br_exact_sum *sum, br_value *out);
/* The sum divided by n > 0: the nearest float (with floats in it, next to a tie, one of the two
 * nearest). So the mean of equal values is that value. Nothing added: null. */
void br_exact_sum_mean(const br_exact_sum *sum, uint64_t n, br_value *out);
/* Borrows sum. */
void br_exact_sum_encode(const br_exact_sum *sum, Brine__State__Accumulator *out);
/* Into an empty sum. BR_ERR_CORRUPT. */
BR_MUST_USE br_status br_exact_sum_decode(br_exact_sum *sum, const Brine__State__Accumulator *in,
                                          br_err *err);

#endif
