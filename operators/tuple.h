/* operators/tuple.h - several values as one byte string, made to be a key.
 * Injective: different tuples never give the same bytes, whatever separators the texts contain.
 * After the tuple layer of FoundationDB (its design/tuple.md), with codes of our own; the first
 * byte of a tuple is never 0xfe or 0xff.
 *   null 00 | text 02, json 03 + bytes with 00 written as 00 ff + 00 01 at the end
 *   integer of 64 bits 14 + 8 bytes big endian, sign bit flipped
 *   integer below that 0b, above it 1d + 16 bytes big endian, sign bit flipped
 *   float 21 + 8 bytes big endian (IEEE 754; all bits flipped if negative, else the sign bit)
 *   false 26, true 27
 * A float that is a whole number within 64 bits is coded as that integer (1.0 groups with 1).
 * Byte order is: null < text < json < integers < other floats < bool, each by value. */
#ifndef BR_OPERATORS_TUPLE_H
#define BR_OPERATORS_TUPLE_H

#include "operators/value.h"
#include "runtime/base/arena.h"

/* Appends one value. BR_MISSING is coded as null. */
void br_tuple_add(br_buf *out, const br_value *v);
/* Takes the next value from *rest and moves it on. Text is unescaped into arena where it must be,
 * else borrows *rest. BR_ERR_CORRUPT: not a tuple. At the end: BR_END. */
BR_MUST_USE br_status br_tuple_next(br_bytes *rest, br_arena *arena, br_value *out, br_err *err);

#endif
