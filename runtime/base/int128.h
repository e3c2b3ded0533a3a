/* runtime/base/int128.h - 128-bit integers as two halves, so that no struct needs 16-byte
 * alignment, with their decimal text. */
#ifndef BR_BASE_INT128_H
#define BR_BASE_INT128_H

#include "runtime/base/bytes.h"

__extension__ typedef __int128 br_i128;
__extension__ typedef unsigned __int128 br_u128;

typedef struct br_int128 {
    uint64_t lo;
    int64_t hi;
} br_int128;

static inline br_i128 br_i128_of(br_int128 v)
{
    return (br_i128)((br_u128)(uint64_t)v.hi << 64 | v.lo);
}

static inline br_int128 br_int128_of(br_i128 v)
{
    return (br_int128){(uint64_t)v, (int64_t)(v >> 64)};
}

/* false: the sum is out of range and *out is undefined. */
static inline bool br_int128_add(br_i128 a, br_i128 b, br_i128 *out)
{
    return !__builtin_add_overflow(a, b, out);
}

enum { BR_INT128_TEXT_MAX = 41 }; /* sign, 39 digits, NUL */
/* Writes the decimal digits and a NUL; returns the length. */
size_t br_int128_format(br_i128 v, char out[BR_INT128_TEXT_MAX]);
/* The whole text is `-?[0-9]+` and fits: true. */
bool br_int128_parse(br_bytes text, br_i128 *out);

#endif
