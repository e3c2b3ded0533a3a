/* runtime/base/int128.c - see int128.h. */
#include "runtime/base/int128.h"

size_t br_int128_format(br_i128 v, char out[BR_INT128_TEXT_MAX])
{
    char digits[BR_INT128_TEXT_MAX];
    size_t n = 0, len = 0;
    br_u128 rest = v < 0 ? -(br_u128)v : (br_u128)v;
    do {
        digits[n++] = (char)('0' + (int)(rest % 10));
        rest /= 10;
    } while (rest > 0);
    if (v < 0) out[len++] = '-';
    while (n > 0) out[len++] = digits[--n];
    out[len] = '\0';
    return len;
}

bool br_int128_parse(br_bytes text, br_i128 *out)
{
    bool negative = text.len > 0 && text.data[0] == '-';
    br_i128 v = 0;
    if (text.len == (size_t)negative) return false;
    for (size_t i = negative; i < text.len; i++) {
        int digit = text.data[i] - '0';
        if (digit < 0 || digit > 9 || __builtin_mul_overflow(v, (br_i128)10, &v) ||
            __builtin_add_overflow(v, (br_i128)(negative ? -digit : digit), &v))
            return false;
    }
    *out = v;
    return true;
}
