/* tests/unit/operators/test_exact_sum.c - sums lose nothing: against a plain big computation. */
#include "operators/aggregates/exact_sum.h"
#include "runtime/base/rng.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include <cmocka.h>

static void add_float(br_exact_sum *sum, double f)
{
    br_value v = br_value_float(f);
    br_err err;
    assert_int_equal(br_exact_sum_check(sum, "sum", &v, &err), BR_OK);
    br_exact_sum_add(sum, &v);
}

static void add_int(br_exact_sum *sum, br_i128 i)
{
    br_value v = br_value_i128(i);
    br_err err;
    assert_int_equal(br_exact_sum_check(sum, "sum", &v, &err), BR_OK);
    br_exact_sum_add(sum, &v);
}

static double float_of(const br_exact_sum *sum)
{
    br_value v;
    br_exact_sum_result(sum, &v);
    assert_int_equal(v.kind, BR_FLOAT);
    return v.f;
}

static uint64_t bits_of(double f)
{
    uint64_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

#define assert_float_equal_bits(a, b) assert_int_equal(bits_of(a), bits_of(b))

/* ---- the plain computation: a fixed-point number of 2,240 bits ---- */

enum { DIGITS = 72, LOWEST = -1126 }; /* digit i counts 2^(32 i + LOWEST) */

typedef struct wide {
    int64_t digits[DIGITS];
} wide;

static void wide_add(wide *sum, double f)
{
    int exponent;
    double fraction = frexp(f, &exponent);
    int64_t mantissa = (int64_t)ldexp(fraction, 53);
    int place = exponent - 53 - LOWEST;
    br_i128 shifted = (br_i128)mantissa * ((br_i128)1 << (place % 32));
    bool negative = shifted < 0;
    br_u128 size = negative ? -(br_u128)shifted : (br_u128)shifted;
    for (int i = place / 32; size != 0; i++, size >>= 32) {
        int64_t digit = (int64_t)(size & 0xffffffff);
        sum->digits[i] += negative ? -digit : digit;
    }
}

/* Carries, so that digits are in [0, 2^32). Returns what is left over: -1 if the sum is negative.
 */
static int64_t wide_carry(wide *sum)
{
    int64_t carry = 0;
    for (int i = 0; i < DIGITS; i++) {
        int64_t digit = sum->digits[i] + carry;
        carry = digit >> 32;
        sum->digits[i] = digit & 0xffffffff;
    }
    return carry;
}

/* Leaves the size; returns the sign. */
static int wide_normalize(wide *sum)
{
    wide size = {0};
    for (int i = 0; i < DIGITS; i++) size.digits[i] = -sum->digits[i];
    if (wide_carry(sum) >= 0) return 1;
    wide_carry(&size);
    *sum = size;
    return -1;
}

static bool wide_bit(const wide *sum, int bit)
{
    return bit >= 0 && (sum->digits[bit / 32] >> (bit % 32) & 1);
}

static double wide_round(wide sum)
{
    int sign = wide_normalize(&sum);
    int top = DIGITS * 32 - 1;
    while (top >= 0 && !wide_bit(&sum, top)) top--;
    if (top < 0) return 0;
    int lowest = top - 52;
    if (lowest < -1074 - LOWEST) lowest = -1074 - LOWEST;
    uint64_t mantissa = 0;
    for (int bit = top; bit >= lowest; bit--) mantissa = mantissa << 1 | wide_bit(&sum, bit);
    bool half = wide_bit(&sum, lowest - 1), more = false;
    for (int bit = lowest - 2; bit >= 0; bit--) more |= wide_bit(&sum, bit);
    if (half && (more || (mantissa & 1))) mantissa++;
    return sign * ldexp((double)mantissa, lowest + LOWEST);
}

/* ---- tests ---- */

static void exact_sum__known_hard_sums__correctly_rounded(void **state)
{
    /* Claim: cancellation and ties come out right (several of CPython's cases for fsum). */
    (void)state;
    static const struct {
        double in[5];
        double out;
    } cases[] = {
        {{1e100, 1, -1e100}, 1},
        {{0.1, 0.2, -0.3}, 0x1p-55},
        {{1e16, 1, 1e-16}, 10000000000000002.0},
        {{1e16 - 2, 1 - 0x1p-53, -(1e16 - 2), -(1 - 0x1p-53)}, 0},
        {{0x1p53, -0.5, -0x1p-54}, 0x1p53 - 1},
        {{0x1p53, 1, 0x1p-100}, 0x1p53 + 2},
        {{0x1p53 + 10, 1, 0x1p-100}, 0x1p53 + 12},
        {{0x1p53 - 4, 0.5, 0x1p-54}, 0x1p53 - 3},
        {{DBL_TRUE_MIN, 1e300, -1e300}, DBL_TRUE_MIN},
    };
    for (size_t i = 0; i < BR_COUNTOF(cases); i++) {
        br_exact_sum sum = {0};
        for (size_t k = 0; k < BR_COUNTOF(cases[i].in); k++) add_float(&sum, cases[i].in[k]);
        assert_float_equal_bits(float_of(&sum), cases[i].out);
        br_exact_sum_dispose(&sum);
    }
}

/* A value somewhere in the range that `spread` bits of exponents around 0 give. */
static double random_float(br_rng *rng, int spread)
{
    int exponent = (int)br_rng_below(rng, 2 * (uint64_t)spread) - spread;
    double f = ldexp(br_rng_unit(rng) + 0.5, exponent);
    return br_rng_below(rng, 2) ? f : -f;
}

static void pass_through_bytes(br_exact_sum *sum)
{
    Brine__State__Accumulator acc = BRINE__STATE__ACCUMULATOR__INIT;
    br_exact_sum_encode(sum, &acc);
    br_exact_sum copy = {0};
    br_err err;
    assert_int_equal(br_exact_sum_decode(&copy, &acc, &err), BR_OK);
    br_exact_sum_dispose(sum);
    *sum = copy;
}

static void check_random_sum(br_rng *rng, int spread)
{
    enum { VALUES = 300, PARTS = 4 };
    br_exact_sum sums[PARTS] = {0};
    wide plain = {0};
    double values[VALUES];
    for (size_t i = 0; i < VALUES; i++) {
        bool undo = i > 0 && br_rng_below(rng, 3) == 0; /* makes sums that cancel */
        values[i] = undo ? -values[br_rng_below(rng, i)] : random_float(rng, spread);
        wide_add(&plain, values[i]);
        br_exact_sum *sum = &sums[br_rng_below(rng, PARTS)];
        add_float(sum, values[i]);
        if (br_rng_below(rng, 50) == 0) pass_through_bytes(sum);
    }
    for (size_t i = 1; i < PARTS; i++) br_exact_sum_merge(&sums[0], &sums[i]);
    assert_true(sums[0].count <= 64);
    assert_float_equal_bits(float_of(&sums[0]), wide_round(plain));
    for (size_t i = 0; i < PARTS; i++) br_exact_sum_dispose(&sums[i]);
}

static void exact_sum__random_values_and_spread__equals_plain_computation(void **state)
{
    /* Claim: any floats, in any order, over any partitions, stored between: the nearest double. */
    (void)state;
    uint64_t seed = (uint64_t)time(NULL);
    print_message("seed %" PRIu64 "\n", seed);
    br_rng rng = {seed};
    static const int spreads[] = {1, 8, 60, 300, 990};
    for (int round = 0; round < 200; round++) {
        for (size_t i = 0; i < BR_COUNTOF(spreads); i++) check_random_sum(&rng, spreads[i]);
    }
}

static void exact_sum__parts_all_over_the_range__bounded(void **state)
{
    /* Claim: an expansion never takes more parts than the header says, and loses none of them. */
    (void)state;
    br_exact_sum sum = {0};
    wide plain = {0};
    for (int round = 0; round < 20; round++) {
        for (int exponent = -1070; exponent < 990; exponent += 7 + round) {
            double f = ldexp(round % 2 ? -1.25 : 1.75, exponent);
            add_float(&sum, f);
            wide_add(&plain, f);
        }
    }
    assert_non_null(sum.many);
    assert_true(sum.count <= 64);
    assert_float_equal_bits(float_of(&sum), wide_round(plain));
    br_exact_sum_dispose(&sum);
}

static void exact_sum__integers__stay_integers(void **state)
{
    /* Claim: no integer passes through a double (FAULTS 48), and 64 bits are no limit (FAULTS 49).
     */
    (void)state;
    static const struct {
        int64_t a, b;
        const char *sum;
    } cases[] = {
        {9007199254740993, 0, "9007199254740993"},
        {INT64_MAX, 1, "9223372036854775808"},
        {INT64_MIN, -1, "-9223372036854775809"},
        {5, -5, "0"},
    };
    for (size_t i = 0; i < BR_COUNTOF(cases); i++) {
        br_exact_sum sum = {0};
        add_int(&sum, cases[i].a);
        add_int(&sum, cases[i].b);
        pass_through_bytes(&sum);
        br_value v;
        br_exact_sum_result(&sum, &v);
        assert_true(br_value_is_integer(&v));
        char digits[BR_INT128_TEXT_MAX];
        br_int128_format(br_value_as_i128(&v), digits);
        assert_string_equal(digits, cases[i].sum);
    }
}

static void exact_sum__integers_and_floats__rounded_once(void **state)
{
    /* Claim: a mixed sum is the nearest double to the exact sum, not to two rounded halves. */
    (void)state;
    br_exact_sum sum = {0};
    add_int(&sum, 9007199254740993); /* 2^53 + 1 is no double */
    add_float(&sum, -0.5);
    assert_float_equal_bits(float_of(&sum), 9007199254740992.0);
    add_float(&sum, 1);
    add_int(&sum, -9007199254740992);
    assert_float_equal_bits(float_of(&sum), 1.5);
    add_int(&sum, (br_i128)1 << 105);
    add_int(&sum, -((br_i128)1 << 105));
    assert_float_equal_bits(float_of(&sum), 1.5);
}

static void exact_sum__floats_that_cancel__float_zero(void **state)
{
    /* Claim: a sum that had floats stays a float at 0, also through its stored form; -0.0 is 0. */
    (void)state;
    br_exact_sum sum = {0};
    add_float(&sum, -0.0);
    assert_float_equal_bits(float_of(&sum), 0.0);
    add_float(&sum, 1.5);
    add_float(&sum, -1.5);
    pass_through_bytes(&sum);
    assert_float_equal_bits(float_of(&sum), 0.0);
}

static void exact_sum__beyond_its_bounds__refused_and_kept(void **state)
{
    /* Claim: what would overflow is a bad record, and the sum stays as it was (FAULTS 49). */
    (void)state;
    br_exact_sum sum = {0};
    br_err err;
    br_i128 bound = (br_i128)1 << 106;
    add_int(&sum, bound);
    br_value one = br_value_int(1), huge = br_value_i128(-(br_i128)(((br_u128)1 << 127) - 1));
    assert_int_equal(br_exact_sum_check(&sum, "sum", &one, &err), BR_ERR_BAD_RECORD);
    assert_string_equal(err.message, "sum overflows with 1: integers may add up to 2^106 (8.1e31) "
                                     "either side of 0");
    assert_int_equal(br_exact_sum_check(&sum, "sum", &huge, &err), BR_ERR_BAD_RECORD);
    add_float(&sum, 0x1p1000);
    br_value f = br_value_float(0x1p960);
    assert_int_equal(br_exact_sum_check(&sum, "sum", &f, &err), BR_ERR_BAD_RECORD);
    br_value top = br_value_float(DBL_MAX);
    assert_int_equal(br_exact_sum_check(&sum, "sum", &top, &err), BR_ERR_BAD_RECORD);
    add_float(&sum, -0x1p1000);
    add_int(&sum, -bound + 7);
    pass_through_bytes(&sum);
    assert_float_equal_bits(float_of(&sum), 7.0);
}

static void exact_sum__not_a_number__refused(void **state)
{
    /* Claim: only numbers add up; the message names what was found. */
    (void)state;
    br_exact_sum sum = {0};
    br_err err;
    br_value text = br_value_text(BR_LITERAL("12")), yes = br_value_bool(true);
    assert_int_equal(br_exact_sum_check(&sum, "sum", &text, &err), BR_ERR_BAD_RECORD);
    assert_string_equal(err.message, "sum takes numbers, found text");
    assert_int_equal(br_exact_sum_check(&sum, "avg", &yes, &err), BR_ERR_BAD_RECORD);
    assert_string_equal(err.message, "avg takes numbers, found bool");
}

static void exact_sum__mean__nearest_double(void **state)
{
    /* Claim: integers divide to the nearest double, also where neither is one itself. */
    (void)state;
    static const struct {
        int64_t sum;
        uint64_t n;
        double mean;
    } cases[] = {
        {9, 3, 3},
        {1, 3, 1.0 / 3},
        {-1, 3, -1.0 / 3},
        {0, 7, 0},
        {9007199254740993, 1, 9007199254740992},
        {9007199254740995, 1, 9007199254740996},
        {INT64_MAX, UINT64_MAX, 0.5},
        {18014398509481985, 3, 6004799503160662},
    };
    for (size_t i = 0; i < BR_COUNTOF(cases); i++) {
        br_exact_sum sum = {0};
        add_int(&sum, cases[i].sum);
        br_value v;
        br_exact_sum_mean(&sum, cases[i].n, &v);
        assert_int_equal(v.kind, BR_FLOAT);
        assert_float_equal_bits(v.f, cases[i].mean);
    }
}

static void exact_sum__random_means__as_division_of_doubles(void **state)
{
    /* Claim: for dividends and divisors that a double holds, the mean is IEEE division. */
    (void)state;
    uint64_t seed = (uint64_t)time(NULL);
    print_message("seed %" PRIu64 "\n", seed);
    br_rng rng = {seed};
    for (int i = 0; i < 20000; i++) {
        int64_t total = (int64_t)(br_rng_next(&rng) >> (11 + br_rng_below(&rng, 50)));
        uint64_t n = 1 + (br_rng_next(&rng) >> (12 + br_rng_below(&rng, 50)));
        br_exact_sum sum = {0};
        add_int(&sum, -total);
        br_value v;
        br_exact_sum_mean(&sum, n, &v);
        assert_float_equal_bits(v.f + 0.0, -(double)total / (double)n + 0.0);
    }
}

static void exact_sum__mean_of_equal_floats__that_float(void **state)
{
    /* Claim: a mean loses nothing to the rounding of the sum. */
    (void)state;
    uint64_t seed = (uint64_t)time(NULL);
    print_message("seed %" PRIu64 "\n", seed);
    br_rng rng = {seed};
    for (int round = 0; round < 500; round++) {
        double f = round == 0 ? 0.1 : random_float(&rng, 900);
        uint64_t n = 1 + br_rng_below(&rng, 100);
        br_exact_sum sum = {0};
        for (uint64_t i = 0; i < n; i++) add_float(&sum, f);
        br_value v;
        br_exact_sum_mean(&sum, n, &v);
        assert_float_equal_bits(v.f, f);
        br_exact_sum_dispose(&sum);
    }
}

static void exact_sum__hostile_bytes__corrupt(void **state)
{
    /* Claim: stored sums that brine cannot have written are refused, never undefined. */
    (void)state;
    uint8_t bytes[16] = {0};
    bytes[15] = 0x7f;
    double bad[] = {1, NAN}, big[] = {INFINITY}, beyond[] = {0x1p1010};
    struct {
        Brine__State__Accumulator acc;
    } cases[6] = {0};
    for (size_t i = 0; i < BR_COUNTOF(cases); i++) brine__state__accumulator__init(&cases[i].acc);
    cases[0].acc.has_sum = cases[0].acc.has_sum_big = 1;
    cases[0].acc.sum_big = (ProtobufCBinaryData){16, bytes};
    cases[1].acc.has_sum_big = 1;
    cases[1].acc.sum_big = (ProtobufCBinaryData){15, bytes};
    cases[2].acc.has_sum_big = 1;
    cases[2].acc.sum_big = (ProtobufCBinaryData){16, bytes};
    cases[3].acc.n_sum_floats = 2;
    cases[3].acc.sum_floats = bad;
    cases[4].acc.n_sum_floats = 1;
    cases[4].acc.sum_floats = big;
    cases[5].acc.n_sum_floats = 1;
    cases[5].acc.sum_floats = beyond;
    for (size_t i = 0; i < BR_COUNTOF(cases); i++) {
        br_exact_sum sum = {0};
        br_err err;
        assert_int_equal(br_exact_sum_decode(&sum, &cases[i].acc, &err), BR_ERR_CORRUPT);
        br_exact_sum_dispose(&sum);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_sum__known_hard_sums__correctly_rounded),
        cmocka_unit_test(exact_sum__random_values_and_spread__equals_plain_computation),
        cmocka_unit_test(exact_sum__parts_all_over_the_range__bounded),
        cmocka_unit_test(exact_sum__integers__stay_integers),
        cmocka_unit_test(exact_sum__integers_and_floats__rounded_once),
        cmocka_unit_test(exact_sum__floats_that_cancel__float_zero),
        cmocka_unit_test(exact_sum__beyond_its_bounds__refused_and_kept),
        cmocka_unit_test(exact_sum__not_a_number__refused),
        cmocka_unit_test(exact_sum__mean__nearest_double),
        cmocka_unit_test(exact_sum__random_means__as_division_of_doubles),
        cmocka_unit_test(exact_sum__mean_of_equal_floats__that_float),
        cmocka_unit_test(exact_sum__hostile_bytes__corrupt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
