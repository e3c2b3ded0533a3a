/* tests/fuzz/input.h - takes a fuzz input apart into byte strings: one byte of length (0xff: null),
 * then the bytes; the last one may be cut off. */
#ifndef BR_TESTS_FUZZ_INPUT_H
#define BR_TESTS_FUZZ_INPUT_H

#include "runtime/base/bytes.h"

static inline br_bytes input_take(br_bytes *rest)
{
    if (rest->len == 0) return BR_NO_BYTES;
    size_t len = (unsigned char)rest->data[0];
    *rest = br_bytes_of(rest->data + 1, rest->len - 1);
    if (len == 0xff) return BR_NO_BYTES;
    if (len > rest->len) len = rest->len;
    br_bytes taken = br_bytes_of(rest->data, len);
    *rest = br_bytes_of(rest->data + len, rest->len - len);
    return taken;
}

#endif
