/* operators/aggregates/exact_sum.c - see exact_sum.h. */
#include "operators/aggregates/exact_sum.h"
#include "operators/aggregates/stored_value.h"
#include "runtime/base/alloc.h"

#include <float.h>
#include <math.h>

/* Wider intermediates would round twice and break two_sum. */
_Static_assert(FLT_EVAL_METHOD == 0 && DBL_MANT_DIG == 53, "double arithmetic as IEEE 754 has it");

enum { PARTS_MAX = 64, INTEGER_BITS_MAX = 106 };
#define FLOAT_MAX 0x1p1000

static const double *parts_of(const br_exact_sum *sum)
{
    return sum->many ? sum->many : sum->few;
}

/* *high + *low is exactly a + b, and *high the nearest double to it (Knuth; Shewchuk, theorem 7).
 */
static inline void two_sum(double a, double b, double *high, double *low)
{
    double sum = a + b;
    double b_used = sum - a;
    double a_used = sum - b_used;
    *low = (a - a_used) + (b - b_used);
    *high = sum;
}

/* Makes the parts as few as they can be (Shewchuk's Compress, its downward pass): each is then
 * beyond the last digit of the next. */
static void compress(br_exact_sum *sum, double *parts)
{
    uint32_t bottom = sum->count - 1;
    double high = parts[bottom];
    for (uint32_t i = bottom; i-- > 0;) {
        double low;
        two_sum(high, parts[i], &high, &low);
        if (low == 0) continue;
        parts[bottom--] = high;
        high = low;
    }
    parts[bottom] = high;
    sum->count -= bottom;
    memmove(parts, parts + bottom, sum->count * sizeof *parts);
}

/* Parts with room for one more. */
static double *make_room(br_exact_sum *sum)
{
    uint32_t room = sum->many ? sum->room : BR_EXACT_SUM_INLINE;
    double *parts = sum->many ? sum->many : sum->few;
    if (sum->count < room) return parts;
    compress(sum, parts);
    if (sum->count < room) return parts;
    BR_ASSERT(room < PARTS_MAX);
    double *grown = br_realloc(sum->many, 2 * room * sizeof *grown);
    if (!sum->many) memcpy(grown, sum->few, sizeof sum->few);
    sum->many = grown;
    sum->room = 2 * room;
    return grown;
}

/* Shewchuk's Grow-Expansion, which leaves out parts that became 0. */
static void add_float(br_exact_sum *sum, double v)
{
    double *parts = make_room(sum);
    double high = v + 0.0; /* -0.0 becomes 0.0 */
    uint32_t kept = 0;
    for (uint32_t i = 0; i < sum->count; i++) {
        double low;
        two_sum(high, parts[i], &high, &low);
        if (low != 0) parts[kept++] = low;
    }
    if (high != 0 || kept == 0) parts[kept++] = high;
    sum->count = kept;
}

void br_exact_sum_dispose(br_exact_sum *sum)
{
    br_free(sum->many);
}

static bool integer_in_bounds(br_i128 v)
{
    br_i128 bound = (br_i128)1 << INTEGER_BITS_MAX;
    return -bound <= v && v <= bound;
}

static br_status check_integer(const br_exact_sum *sum, const char *name, const br_value *v,
                               br_err *err)
{
    br_i128 total;
    if (br_int128_add(br_i128_of(sum->integers), br_value_as_i128(v), &total) &&
        integer_in_bounds(total)) {
        return BR_OK;
    }
    char digits[BR_INT128_TEXT_MAX];
    br_int128_format(br_value_as_i128(v), digits);
    return br_fail(err, BR_ERR_BAD_RECORD,
                   "%s overflows with %s: integers may add up to 2^106 (8.1e31) either side of 0",
                   name, digits);
}

static br_status check_float(const br_exact_sum *sum, const char *name, double v, br_err *err)
{
    double top = sum->count > 0 ? parts_of(sum)[sum->count - 1] : 0;
    if (fabs(top + v) <= FLOAT_MAX) return BR_OK;
    return br_fail(err, BR_ERR_BAD_RECORD,
                   "%s overflows with %g: floats may add up to 2^1000 (1.07e301) either side of 0",
                   name, v);
}

br_status br_exact_sum_check(const br_exact_sum *sum, const char *name, const br_value *v,
                             br_err *err)
{
    if (br_value_is_integer(v)) return check_integer(sum, name, v, err);
    if (v->kind == BR_FLOAT) return check_float(sum, name, v->f, err);
    if (br_value_is_null(v)) return BR_OK;
    return br_fail(err, BR_ERR_BAD_RECORD, "%s takes numbers, found %s", name,
                   br_kind_name(v->kind));
}

/* Wraps, which the bound of the header keeps from happening to what brine itself wrote. */
static void add_integer(br_exact_sum *sum, br_i128 v)
{
    sum->integers = br_int128_of((br_i128)((br_u128)br_i128_of(sum->integers) + (br_u128)v));
    sum->has_integers = true;
}

void br_exact_sum_add(br_exact_sum *sum, const br_value *v)
{
    if (br_value_is_integer(v)) add_integer(sum, br_value_as_i128(v));
    if (v->kind == BR_FLOAT) add_float(sum, v->f);
}

void br_exact_sum_merge(br_exact_sum *sum, const br_exact_sum *other)
{
    if (other->has_integers) add_integer(sum, br_i128_of(other->integers));
    const double *parts = parts_of(other);
    for (uint32_t i = 0; i < other->count; i++) add_float(sum, parts[i]);
}

/* As CPython's math.fsum: adds from the top until a sum is not exact; what is below decides only
 * where that remainder is exactly half a unit. */
static double round_parts(const double *parts, uint32_t count)
{
    double high = parts[--count], low = 0;
    while (count > 0 && low == 0) two_sum(high, parts[--count], &high, &low);
    if (count == 0 || !((low < 0 && parts[count - 1] < 0) || (low > 0 && parts[count - 1] > 0))) {
        return high;
    }
    double away = high + low * 2;
    return away - high == low * 2 ? away : high;
}

/* Adds an integer to the floats without loss: 128 bits are three doubles of at most 43 bits. */
static void add_as_floats(br_exact_sum *sum, br_i128 v)
{
    br_u128 size = v < 0 ? -(br_u128)v : (br_u128)v;
    double sign = v < 0 ? -1 : 1;
    for (int shift = 0; shift < 128; shift += 43) {
        uint64_t chunk = (uint64_t)(size >> shift) & ((UINT64_C(1) << 43) - 1);
        if (chunk != 0) add_float(sum, ldexp(sign * (double)chunk, shift));
    }
}

/* A copy with the integers among the floats, of which there are some. */
static br_exact_sum all_as_floats(const br_exact_sum *sum)
{
    br_exact_sum all = {0};
    const double *parts = parts_of(sum);
    for (uint32_t i = 0; i < sum->count; i++) add_float(&all, parts[i]);
    if (sum->has_integers) add_as_floats(&all, br_i128_of(sum->integers));
    return all;
}

static double rounded(const br_exact_sum *sum)
{
    br_exact_sum all = all_as_floats(sum);
    double nearest = round_parts(parts_of(&all), all.count);
    br_exact_sum_dispose(&all);
    return nearest;
}

void br_exact_sum_result(const br_exact_sum *sum, br_value *out)
{
    *out = br_value_null();
    if (sum->count > 0) {
        *out = br_value_float(rounded(sum));
    } else if (sum->has_integers) {
        *out = br_value_i128(br_i128_of(sum->integers));
    }
}

/* The nearest double to v / n. The dividend is shifted up as far as it goes, so the quotient has at
 * least 64 bits; its last bit is set where a remainder was left, so the one rounding to 53 bits,
 * half to even, sees it. */
static double divide(br_i128 v, uint64_t n)
{
    if (v == 0) return 0;
    br_u128 size = v < 0 ? -(br_u128)v : (br_u128)v;
    int shift =
        size >> 64 ? __builtin_clzll((uint64_t)(size >> 64)) : 64 + __builtin_clzll((uint64_t)size);
    size <<= shift;
    br_u128 quotient = size / n | (size % n != 0);
    return ldexp(v < 0 ? -(double)quotient : (double)quotient, -shift);
}

/* Takes f * n away without loss: a product of doubles is its rounding and, by fma, the rest. */
static void subtract_product(br_exact_sum *sum, double f, uint64_t n)
{
    const double factors[] = {(double)(n >> 32) * 0x1p32, (double)(n & UINT32_MAX)};
    for (size_t i = 0; i < BR_COUNTOF(factors); i++) {
        double product = f * factors[i];
        add_float(sum, -product);
        add_float(sum, -fma(f, factors[i], -product));
    }
}

/* The sum is rounded, then divided; what these two roundings left over is divided as well. */
static double divide_floats(const br_exact_sum *sum, uint64_t n)
{
    br_exact_sum rest = all_as_floats(sum);
    double mean = round_parts(parts_of(&rest), rest.count) / (double)n;
    subtract_product(&rest, mean, n);
    mean += round_parts(parts_of(&rest), rest.count) / (double)n;
    br_exact_sum_dispose(&rest);
    return mean;
}

void br_exact_sum_mean(const br_exact_sum *sum, uint64_t n, br_value *out)
{
    *out = br_value_null();
    if (sum->count > 0) {
        *out = br_value_float(divide_floats(sum, n));
    } else if (sum->has_integers) {
        *out = br_value_float(divide(br_i128_of(sum->integers), n));
    }
}

void br_exact_sum_encode(const br_exact_sum *sum, Brine__State__Accumulator *out)
{
    br_i128 integers = br_i128_of(sum->integers);
    if (sum->has_integers && (int64_t)integers == integers) {
        out->has_sum = 1;
        out->sum = (int64_t)integers;
    } else if (sum->has_integers) {
        out->has_sum_big = 1;
        out->sum_big = br_int128_encode(&sum->integers);
    }
    out->n_sum_floats = sum->count;
    out->sum_floats = (double *)(uintptr_t)parts_of(sum);
}

static br_status decode_integers(br_exact_sum *sum, const Brine__State__Accumulator *in,
                                 br_err *err)
{
    if (in->has_sum && in->has_sum_big) {
        return br_fail(err, BR_ERR_CORRUPT, "stored sum has both sum and sum_big");
    }
    sum->has_integers = in->has_sum || in->has_sum_big;
    sum->integers = br_int128_of(in->sum);
    if (!in->has_sum_big) return BR_OK;
    br_status st = br_int128_decode(&sum->integers, in->sum_big, err);
    if (st < 0 || integer_in_bounds(br_i128_of(sum->integers))) return st;
    return br_fail(err, BR_ERR_CORRUPT, "stored sum_big is beyond 2^106");
}

br_status br_exact_sum_decode(br_exact_sum *sum, const Brine__State__Accumulator *in, br_err *err)
{
    br_status st = decode_integers(sum, in, err);
    for (size_t i = 0; st == BR_OK && i < in->n_sum_floats; i++) {
        /* Twice the bound: the parts of a sum near it round up. !(<=) refuses NaN as well. */
        if (!(fabs(in->sum_floats[i]) <= 2 * FLOAT_MAX)) {
            return br_fail(err, BR_ERR_CORRUPT, "stored sum_floats has a part beyond 2^1000");
        }
        add_float(sum, in->sum_floats[i]);
    }
    return st;
}
