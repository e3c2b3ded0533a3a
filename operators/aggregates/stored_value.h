/* operators/aggregates/stored_value.h - a br_value as a Brine__State__Value and back, and a value
 * that an accumulator keeps.
 * Invariant: what comes out is what went in, with its type and its bits.
 * Thread:    values; a br_kept belongs to its accumulator. */
#ifndef BR_OPERATORS_AGGREGATES_STORED_VALUE_H
#define BR_OPERATORS_AGGREGATES_STORED_VALUE_H

#include "operators/value.h"

#include <proto/state.pb-c.h>

/* Sets fields of *out, an initialised message; it borrows v and what v borrows. */
void br_value_encode(const br_value *v, Brine__State__Value *out);
/* Text borrows in. BR_ERR_CORRUPT: not exactly one kind, or not as br_value_encode writes it. */
BR_MUST_USE br_status br_value_decode(br_value *out, const Brine__State__Value *in, br_err *err);

/* 128 bits as Value.big: 16 bytes, two's complement, little endian. Borrows v. */
ProtobufCBinaryData br_int128_encode(const br_int128 *v);
BR_MUST_USE br_status br_int128_decode(br_int128 *out, ProtobufCBinaryData in, br_err *err);

/* An accumulator's own copy of a value; all-zero holds none (BR_MISSING). Text moves to `room`,
 * which is used again, so replacing a value allocates only where a longer text comes. */
typedef struct br_kept {
    br_value v; /* its text borrows room */
    char *room;
    size_t room_bytes;
} br_kept;

void br_kept_set(br_kept *kept, const br_value *v);
void br_kept_dispose(br_kept *kept);
/* br_value_compare, with an order between values that are equal but not the same (1 and 1.0, 0.0
 * and -0.0), so that which of them is kept does not depend on which came first. */
int br_kept_order(const br_value *a, const br_value *b);

#endif
