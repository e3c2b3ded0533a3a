/* tests/unit/operators/test_tuple.c - tuples: injective, ordered, their exact bytes, and no trust
 * in bytes that brine did not write. */
#include "operators/tuple.h"

#include "runtime/base/rng.h"

#include <math.h>
#include <stdio.h>
#include <time.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static br_value text(const char *data, size_t len)
{
    return br_value_text(br_bytes_of(data, len));
}

static br_value big(const char *digits)
{
    br_i128 v = 0;
    assert_true(br_int128_parse(br_str(digits), &v));
    return br_value_i128(v);
}

static br_bytes encode(br_buf *out, const br_value *values, size_t count)
{
    br_buf_reset(out);
    for (size_t i = 0; i < count; i++) br_tuple_add(out, &values[i]);
    return br_buf_bytes(out);
}

static void encoding__each_kind__exactly_these_bytes(void **state)
{
    /* The bytes are stored in topics and LMDB: they must never change. */
    const struct {
        br_value v;
        const char *bytes;
        size_t len;
    } golden[] = {
        {br_value_null(), "\x00", 1},
        {{.kind = BR_MISSING}, "\x00", 1},
        {br_value_bool(false), "\x26", 1},
        {br_value_bool(true), "\x27", 1},
        {br_value_int(1), "\x14\x80\0\0\0\0\0\0\x01", 9},
        {br_value_int(-1), "\x14\x7f\xff\xff\xff\xff\xff\xff\xff", 9},
        {br_value_float(1.0), "\x14\x80\0\0\0\0\0\0\x01", 9},
        {br_value_float(-0.0), "\x14\x80\0\0\0\0\0\0\0", 9},
        {br_value_float(0.5), "\x21\xbf\xe0\0\0\0\0\0\0", 9},
        {br_value_float(-0.5), "\x21\x40\x1f\xff\xff\xff\xff\xff\xff", 9},
        {big("18446744073709551616"), "\x1d\x80\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\0", 17},
        {big("-9223372036854775809"),
         "\x0b\x7f\xff\xff\xff\xff\xff\xff\xff\x7f\xff\xff\xff\xff\xff\xff\xff", 17},
        {text("a\0b", 3),
         "\x02"
         "a\0\xff"
         "b\0\x01",
         7},
        {{.kind = BR_JSON, .s = {"[]", 2}}, "\x03[]\0\x01", 5},
    };
    br_buf out = {0};
    (void)state;
    for (size_t i = 0; i < BR_COUNTOF(golden); i++) {
        br_bytes bytes = encode(&out, &golden[i].v, 1);
        assert_int_equal(bytes.len, golden[i].len);
        assert_memory_equal(bytes.data, golden[i].bytes, bytes.len);
    }
    br_buf_dispose(&out);
}

static void compound_keys__any_separator__stay_apart(void **state)
{
    /* FAULTS 44: ("x|y","z") and ("x","y|z"), ("","q") and ("q",""), ("12","3") and ("1","23") are
     * six groups, for every separator; also 12 and "12", null and "". */
    static const char separators[] = {'#', '|', ':', '_', '\0', '\x01', '\xff', '\x02'};
    br_buf a = {0}, b = {0};
    (void)state;
    for (size_t i = 0; i < sizeof(separators); i++) {
        char left[3] = {'x', separators[i], 'y'}, right[3] = {'y', separators[i], 'z'};
        br_value pairs[][2] = {
            {text(left, 3), text("z", 1)},    {text("x", 1), text(right, 3)},
            {text("", 0), text("q", 1)},      {text("q", 1), text("", 0)},
            {text("12", 2), text("3", 1)},    {text("1", 1), text("23", 2)},
            {br_value_int(12), text("3", 1)}, {br_value_null(), text("q", 1)},
        };
        for (size_t j = 0; j < BR_COUNTOF(pairs); j++)
            for (size_t k = 0; k < BR_COUNTOF(pairs); k++)
                assert_int_equal(br_bytes_equal(encode(&a, pairs[j], 2), encode(&b, pairs[k], 2)),
                                 j == k);
    }
    br_buf_dispose(&a);
    br_buf_dispose(&b);
}

static void big_keys__above_2_53__four_groups(void **state)
{
    /* FAULTS 48: neighbours above 2^53 are different keys, and read back digit for digit. */
    static const int64_t ids[] = {9007199254740993, 9007199254740992, 1795292668348461057,
                                  228930314431312345};
    br_buf out = {0};
    br_arena *arena = br_arena_create(4096);
    br_value v;
    br_err err;
    (void)state;
    for (size_t i = 0; i < BR_COUNTOF(ids); i++) {
        v = br_value_int(ids[i]);
        br_bytes rest = encode(&out, &v, 1);
        assert_int_equal(br_tuple_next(&rest, arena, &v, &err), BR_OK);
        assert_int_equal(v.kind, BR_INT);
        assert_true(v.i == ids[i]);
    }
    br_arena_destroy(arena);
    br_buf_dispose(&out);
}

/* As the format is written down, a byte at a time. */
static void add_text_plainly(br_buf *out, br_bytes text_bytes)
{
    br_buf_addc(out, 0x02);
    for (size_t i = 0; i < text_bytes.len; i++) {
        br_buf_addc(out, text_bytes.data[i]);
        if (text_bytes.data[i] == '\0') br_buf_addc(out, (char)0xff);
    }
    br_buf_add(out, "\0\x01", 2);
}

static void encoding__random_texts__as_the_format_says(void **state)
{
    /* NULs anywhere, lengths around the growth of the buffer, and bytes already in it. */
    br_rng rng = {.state = (uint64_t)time(NULL)};
    br_buf fast = {0}, plain = {0};
    char room[70];
    (void)state;
    print_message("seed %llu\n", (unsigned long long)rng.state);
    for (int i = 0; i < 2000; i++) {
        size_t len = br_rng_below(&rng, sizeof(room));
        for (size_t k = 0; k < len; k++) room[k] = (char)br_rng_below(&rng, 3);
        if (br_rng_below(&rng, 20) == 0) br_buf_dispose(&fast);
        if (fast.len == 0) br_buf_reset(&plain);
        br_value v = text(room, len);
        br_tuple_add(&fast, &v);
        add_text_plainly(&plain, v.s);
        assert_true(br_bytes_equal(br_buf_bytes(&fast), br_buf_bytes(&plain)));
    }
    br_buf_dispose(&fast);
    br_buf_dispose(&plain);
}

static br_value random_value(br_rng *rng, char *room, size_t room_len)
{
    static const char bytes[] = {'\0', '\xff', '\x01', 'a', '#', '\x02'};
    size_t len = br_rng_below(rng, room_len);
    for (size_t i = 0; i < len; i++) room[i] = bytes[br_rng_below(rng, sizeof(bytes))];
    br_value v = text(room, len);
    br_int128 wide = {.lo = br_rng_next(rng), .hi = (int64_t)br_rng_next(rng)};
    switch (br_rng_below(rng, 8)) {
    case 0: return br_value_null();
    case 1: return br_value_bool(br_rng_below(rng, 2));
    case 2: return br_value_int((int64_t)br_rng_next(rng));
    case 3: return br_value_int((int64_t)br_rng_below(rng, 5) - 2);
    case 4: return br_value_i128(br_i128_of(wide));
    case 5: return br_value_float((br_rng_unit(rng) - 0.5) * 4);
    case 6: v.kind = BR_JSON; return v;
    default: return v;
    }
}

static bool same_kind(const br_value *a, const br_value *b)
{
    return a->kind == b->kind && br_value_compare(a, b) == 0;
}

static void random_tuples__read_back__the_same_and_in_order(void **state)
{
    /* Every tuple reads back as itself, and within a kind the order of bytes is that of values. */
    br_rng rng = {.state = (uint64_t)time(NULL)};
    br_buf out = {0}, other = {0};
    br_arena *arena = br_arena_create(4096);
    br_err err;
    (void)state;
    print_message("seed %llu\n", (unsigned long long)rng.state);
    for (int round = 0; round < 20000; round++) {
        char room[2][6];
        br_value v[2] = {random_value(&rng, room[0], 6), random_value(&rng, room[1], 6)}, back;
        br_bytes rest = encode(&out, v, 2);
        for (int i = 0; i < 2; i++) {
            assert_int_equal(br_tuple_next(&rest, arena, &back, &err), BR_OK);
            assert_true(same_kind(&back, &v[i]));
        }
        assert_int_equal(br_tuple_next(&rest, arena, &back, &err), BR_END);
        int values = br_value_compare(&v[0], &v[1]);
        int bytes = br_bytes_compare(encode(&out, &v[0], 1), encode(&other, &v[1], 1));
        assert_int_equal(values == 0, bytes == 0);
        if (v[0].kind == v[1].kind) assert_int_equal(values < 0, bytes < 0);
        br_arena_reset(arena);
    }
    br_arena_destroy(arena);
    br_buf_dispose(&out);
    br_buf_dispose(&other);
}

static void decoding__bytes_that_brine_does_not_write__corrupt(void **state)
{
    /* Cut off, unknown codes, a second form of a value: each is refused, none is read past. */
    static const br_bytes bad[] = {
        {"\x01", 1},
        {"\xff", 1},
        {"\x14\x80\0\0\0\0\0\0", 8},
        {"\x02", 1},
        {"\x02"
         "a",
         2},
        {"\x02"
         "a\0",
         3},
        {"\x02"
         "a\0\x02",
         4},
        {"\x02"
         "a\0\xff",
         4},
        {"\x21\x7f\xf0\0\0\0\0\0", 8},
        {"\x21\xff\xf0\0\0\0\0\0\0", 9},                  /* inf */
        {"\x21\xbf\xf0\0\0\0\0\0\0", 9},                  /* 1.0, not as an integer */
        {"\x1d\x80\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01", 17}, /* 1, not as 64 bits */
        {"\x0b\x80\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\0", 17}, /* above, said to be below */
    };
    br_arena *arena = br_arena_create(4096);
    br_value v;
    (void)state;
    for (size_t i = 0; i < BR_COUNTOF(bad); i++) {
        br_err err = {0};
        br_buf exact = {0}; /* so that ASan sees a read behind the end */
        br_buf_add(&exact, bad[i].data, bad[i].len);
        br_bytes rest = br_buf_bytes(&exact);
        assert_int_equal(br_tuple_next(&rest, arena, &v, &err), BR_ERR_CORRUPT);
        assert_int_equal(err.status, BR_ERR_CORRUPT);
        br_buf_dispose(&exact);
    }
    br_arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(encoding__each_kind__exactly_these_bytes),
        cmocka_unit_test(encoding__random_texts__as_the_format_says),
        cmocka_unit_test(compound_keys__any_separator__stay_apart),
        cmocka_unit_test(big_keys__above_2_53__four_groups),
        cmocka_unit_test(random_tuples__read_back__the_same_and_in_order),
        cmocka_unit_test(decoding__bytes_that_brine_does_not_write__corrupt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
