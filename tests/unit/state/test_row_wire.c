/* tests/unit/state/test_row_wire.c - rows as bytes, held against protobuf-c. FAULTS 54. */
#include "state/row_wire.h"

#include "runtime/base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

enum { ROUNDS = 3000, LIST_MAX = 4, BYTES_MAX = 300 };

/* A random message and the memory of all that it points to. */
typedef struct sample {
    br_rng rng;
    uint8_t bytes[BYTES_MAX];
    Brine__State__Row row;
    Brine__State__Version version;
    Brine__State__Accumulator accs[LIST_MAX], *acc_at[LIST_MAX];
    Brine__State__Value values[LIST_MAX];
    double floats[BR_SUM_FLOATS_MAX];
    Brine__State__Partial partials[LIST_MAX], *partial_at[LIST_MAX];
} sample;

static uint64_t up_to(sample *s, uint64_t max)
{
    return br_rng_next(&s->rng) % (max + 1);
}

/* All lengths of varints come up. */
static uint64_t number(sample *s)
{
    return br_rng_next(&s->rng) >> up_to(s, 63);
}

static ProtobufCBinaryData some_bytes(sample *s)
{
    size_t max = up_to(s, 3) == 0 ? BYTES_MAX : 20;
    return (ProtobufCBinaryData){up_to(s, max), s->bytes};
}

static void make_value(sample *s, Brine__State__Value *v)
{
    brine__state__value__init(v);
    if ((v->has_bool_ = !up_to(s, 3))) v->bool_ = (int)up_to(s, 1);
    if ((v->has_int_ = !up_to(s, 3))) v->int_ = (int64_t)number(s);
    if ((v->has_big = !up_to(s, 3))) v->big = (ProtobufCBinaryData){16, s->bytes};
    if ((v->has_float_ = !up_to(s, 3))) v->float_ = (double)number(s) / 3;
    if ((v->has_text = !up_to(s, 3))) v->text = some_bytes(s);
    if ((v->has_json = !up_to(s, 3))) v->json = some_bytes(s);
    if ((v->has_null = !up_to(s, 3))) v->null = 1;
}

static void make_accumulator(sample *s, Brine__State__Accumulator *acc, Brine__State__Value *v)
{
    brine__state__accumulator__init(acc);
    if ((acc->has_count = !up_to(s, 1))) acc->count = number(s);
    if ((acc->has_sum = !up_to(s, 1))) acc->sum = (int64_t)number(s);
    if ((acc->has_sum_big = !up_to(s, 3))) acc->sum_big = (ProtobufCBinaryData){16, s->bytes};
    acc->n_sum_floats = up_to(s, 1) ? 0 : up_to(s, up_to(s, 3) ? 3 : BR_SUM_FLOATS_MAX);
    acc->sum_floats = s->floats;
    make_value(s, v);
    if (up_to(s, 1)) acc->value = v;
    if ((acc->has_time = !up_to(s, 2))) acc->time = (int64_t)number(s);
    if ((acc->has_offset = !up_to(s, 2))) acc->offset = (int64_t)number(s);
}

static void make_row(sample *s)
{
    brine__state__row__init(&s->row);
    brine__state__version__init(&s->version);
    s->version.has_incarnation = s->version.has_offset = 1;
    s->version.incarnation = (uint32_t)number(s);
    s->version.offset = (int64_t)number(s);
    s->row.n_accumulators = up_to(s, LIST_MAX);
    s->row.accumulators = s->acc_at;
    s->row.partials = s->partial_at;
    for (size_t i = 0; i < LIST_MAX; i++) {
        make_accumulator(s, s->acc_at[i] = &s->accs[i], &s->values[i]);
        brine__state__partial__init(s->partial_at[i] = &s->partials[i]);
        s->partials[i].id = some_bytes(s);
        s->partials[i].version = &s->version;
        s->partials[i].n_accumulators = up_to(s, LIST_MAX);
        s->partials[i].accumulators = s->acc_at;
    }
    /* A stage-one row has a version and accumulators, one of stage two has partials. */
    if (up_to(s, 1)) {
        s->row.version = &s->version;
    } else {
        s->row.n_accumulators = 0;
        s->row.n_partials = up_to(s, LIST_MAX);
    }
}

static sample *sample_create(void)
{
    sample *s = calloc(1, sizeof(*s));
    assert_non_null(s);
    uint64_t seed = (uint64_t)time(NULL);
    print_message("seed %llu\n", (unsigned long long)seed);
    s->rng = (br_rng){seed};
    for (size_t i = 0; i < BYTES_MAX; i++) s->bytes[i] = (uint8_t)up_to(s, 255);
    for (size_t i = 0; i < BR_SUM_FLOATS_MAX; i++) s->floats[i] = (double)number(s) / 7;
    return s;
}

static void pack_by_protobuf(const Brine__State__Row *row, br_buf *out)
{
    br_buf_reset(out);
    br_buf_reserve(out, brine__state__row__get_packed_size(row) + 1);
    out->len = brine__state__row__pack(row, (uint8_t *)out->data);
}

static void add_accumulators(br_buf *out, Brine__State__Accumulator **accs, size_t count)
{
    for (size_t i = 0; i < count; i++) br_row_add_accumulator(out, accs[i]);
}

static void pack_by_hand(const sample *s, br_buf *out)
{
    br_version version = {s->version.incarnation, s->version.offset};
    br_buf_reset(out);
    if (s->row.version) br_row_add_version(out, version);
    add_accumulators(out, s->row.accumulators, s->row.n_accumulators);
    for (size_t i = 0; i < s->row.n_partials; i++) {
        const Brine__State__Partial *partial = s->row.partials[i];
        br_bytes id = br_bytes_of(partial->id.data, partial->id.len);
        size_t begin = br_row_begin_partial(out, id, version);
        add_accumulators(out, partial->accumulators, partial->n_accumulators);
        br_row_end_partial(out, begin);
    }
}

static void row__random__packed_like_protobuf_c(void **state)
{
    /* Claim: what is written is, byte for byte, what protobuf-c packs. */
    (void)state;
    sample *s = sample_create();
    br_buf theirs = {0}, ours = {0};
    for (int i = 0; i < ROUNDS; i++) {
        make_row(s);
        pack_by_protobuf(&s->row, &theirs);
        pack_by_hand(s, &ours);
        assert_int_equal(ours.len, theirs.len);
        if (ours.len > 0) assert_memory_equal(ours.data, theirs.data, ours.len);
    }
    br_buf_dispose(&theirs);
    br_buf_dispose(&ours);
    free(s);
}

/* ---- reading ---- */

static void check_accumulators(const br_row_parts *parts, Brine__State__Accumulator **accs,
                               size_t count)
{
    br_buf theirs = {0}, ours = {0};
    br_bytes rest = parts->all, one;
    assert_int_equal(parts->accumulator_count, count);
    add_accumulators(&theirs, accs, count);
    while (br_row_next_accumulator(&rest, &one)) {
        br_stored_acc acc;
        assert_true(br_acc_read(one, &acc));
        br_row_add_accumulator(&ours, &acc.message);
    }
    assert_true(br_bytes_equal(br_buf_bytes(&ours), br_buf_bytes(&theirs)));
    br_buf_dispose(&theirs);
    br_buf_dispose(&ours);
}

static void check_version(const br_row_parts *parts, const Brine__State__Version *version)
{
    assert_int_equal(parts->has_version, version != NULL);
    assert_int_equal(parts->has_offset, version && version->has_offset);
    if (!version) return;
    assert_int_equal(parts->version.incarnation, version->incarnation);
    assert_int_equal(parts->version.offset, version->offset);
}

static void check_row(const br_row_parts *parts, const Brine__State__Row *row)
{
    br_bytes rest = parts->all, one;
    check_version(parts, row->version);
    check_accumulators(parts, row->accumulators, row->n_accumulators);
    assert_int_equal(parts->key.data != NULL, row->has_key);
    assert_true(br_bytes_equal(parts->key, br_bytes_of(row->key.data, row->key.len)));
    assert_int_equal(parts->partial_count, row->n_partials);
    for (size_t i = 0; br_row_next_partial(&rest, &one); i++) {
        const Brine__State__Partial *partial = row->partials[i];
        br_row_parts in;
        assert_true(br_partial_read(one, &in));
        assert_true(br_bytes_equal(in.key, br_bytes_of(partial->id.data, partial->id.len)));
        check_version(&in, partial->version);
        check_accumulators(&in, partial->accumulators, partial->n_accumulators);
    }
}

/* The two that row_wire.h names. protobuf-c does not say how a bool was written, so here any may be
 * one that is no number. */
static bool may_be_refused(Brine__State__Accumulator **accs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const Brine__State__Value *v = accs[i]->value;
        if (accs[i]->n_sum_floats > BR_SUM_FLOATS_MAX) return true;
        if (v && (v->has_bool_ || v->has_null)) return true;
    }
    return false;
}

static bool row_may_be_refused(const Brine__State__Row *row)
{
    for (size_t i = 0; i < row->n_partials; i++)
        if (may_be_refused(row->partials[i]->accumulators, row->partials[i]->n_accumulators))
            return true;
    return may_be_refused(row->accumulators, row->n_accumulators);
}

/* Reads a copy without a byte to spare, so that the sanitizer sees a read beyond it. */
static bool check_read(br_bytes bytes)
{
    char *exact = malloc(bytes.len + (bytes.len == 0));
    assert_non_null(exact);
    if (bytes.len > 0) memcpy(exact, bytes.data, bytes.len);
    Brine__State__Row *row = brine__state__row__unpack(NULL, bytes.len, (const uint8_t *)exact);
    br_row_parts parts;
    bool taken = br_row_read_whole(br_bytes_of(exact, bytes.len), &parts);
    if (taken != (row != NULL)) assert_true(row && row_may_be_refused(row));
    if (taken) check_row(&parts, row);
    brine__state__row__free_unpacked(row, NULL);
    free(exact);
    return taken;
}

static void row__random__read_like_protobuf_c(void **state)
{
    /* Claim: what protobuf-c packs is read as it was. */
    (void)state;
    sample *s = sample_create();
    br_buf packed = {0};
    for (int i = 0; i < ROUNDS; i++) {
        make_row(s);
        if ((s->row.has_key = !up_to(s, 3))) s->row.key = some_bytes(s);
        pack_by_protobuf(&s->row, &packed);
        assert_true(check_read(br_buf_bytes(&packed)));
    }
    br_buf_dispose(&packed);
    free(s);
}

/* Changes, cuts, doubles or extends. */
static void damage(sample *s, br_buf *bytes)
{
    if (bytes->len == 0) return;
    switch (up_to(s, 4)) {
    case 0: bytes->len = up_to(s, bytes->len); break;
    case 1: bytes->data[up_to(s, bytes->len - 1)] = (char)br_rng_next(&s->rng); break;
    case 2: bytes->data[up_to(s, bytes->len - 1)] ^= (char)(1 << up_to(s, 7)); break;
    case 3: {
        br_buf_reserve(bytes, bytes->len);
        memcpy(bytes->data + bytes->len, bytes->data, bytes->len);
        bytes->len *= 2;
        break;
    }
    default: br_buf_add(bytes, s->bytes + up_to(s, BYTES_MAX - 8), up_to(s, 8)); break;
    }
}

static void row__damaged__refused_where_protobuf_c_refuses(void **state)
{
    /* Claim: hostile bytes are refused where protobuf-c refuses them, and read as it reads them
     * where it takes them (FAULTS 54). */
    (void)state;
    sample *s = sample_create();
    br_buf packed = {0};
    size_t taken = 0;
    for (int i = 0; i < 20 * ROUNDS; i++) {
        make_row(s);
        pack_by_protobuf(&s->row, &packed);
        for (uint64_t n = 1 + up_to(s, 2); n > 0; n--) damage(s, &packed);
        taken += check_read(br_buf_bytes(&packed));
    }
    assert_in_range(taken, ROUNDS, 19 * ROUNDS);
    br_buf_dispose(&packed);
    free(s);
}

#define CASE(text, good)                                                                           \
    {                                                                                              \
        text, sizeof(text) - 1, good                                                               \
    }

static void row__by_hand__taken_or_refused(void **state)
{
    /* Claim: each rule of the wire format, one by one, is the one that protobuf-c keeps. */
    (void)state;
    static const struct {
        const char *bytes;
        size_t len;
        bool good;
    } cases[] = {
        CASE("", true),
        CASE("\x0a\x00", true),                      /* an empty key is a key */
        CASE("\x0a\x01", false),                     /* shorter than it says */
        CASE("\x08\x01", false),                     /* a key that is a number */
        CASE("\x0b", false),                         /* groups are no longer known */
        CASE("\x00\x01", false),                     /* field 0 … */
        CASE("\x80\x00\x01", true),                  /* … unless written long */
        CASE("\xf8\x07\x01", true),                  /* an unknown number */
        CASE("\x2d\x01\x02\x03\x04", true),          /* unknown, four bytes */
        CASE("\x2d\x01\x02\x03", false),             /* three */
        CASE("\x80\x80\x80\x80\x80\x01\x01", false), /* a tag of six bytes */
        CASE("\x28\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", true),
        CASE("\x28\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", false),
        CASE("\x0a\x80\x80\x80\x80\x00", true),                     /* a length in five bytes */
        CASE("\x0a\x80\x80\x80\x80\x80\x00", false),                /* in six */
        CASE("\x0a\xff\xff\xff\xff\x0f", false),                    /* of 4 GiB */
        CASE("\x12\x02\x08\x01", true),                             /* a version without offset */
        CASE("\x12\x02\x10\x02\x12\x02\x08\x01", true),             /* in two parts */
        CASE("\x12\x02\x0a\x00", false),                            /* its incarnation as bytes */
        CASE("\x1a\x00", true),                                     /* an accumulator of nothing */
        CASE("\x1a\x02\x0a\x00", false),                            /* its count as bytes */
        CASE("\x1a\x02\x18\x00", false),                            /* its big sum as a number */
        CASE("\x1a\x09\x21\x00\x00\x00\x00\x00\x00\xf8\x3f", true), /* one float, not packed */
        CASE("\x1a\x06\x22\x04\x00\x00\x00\x00", false),            /* half a float */
        CASE("\x1a\x02\x20\x01", false),                            /* a float as a number */
        CASE("\x1a\x02\x2a\x00", true),                             /* an empty value */
        CASE("\x1a\x02\x28\x01", false),                            /* a value that is a number */
        CASE("\x1a\x04\x2a\x02\x0a\x00", false),                    /* its bool as bytes */
        CASE("\x1a\x04\x2a\x02\x28\x00", false),                    /* its text as a number */
        CASE("\x1a\x06\x2a\x04\x80\x00\x80\x00", true),             /* its field 0, long */
        CASE("\x1a\x08\x2a\x02\x08\x01\x2a\x02\x38\x01", true),     /* in two parts */
        CASE("\x22\x06\x0a\x00\x12\x02\x08\x01", true),             /* a partial */
        CASE("\x22\x02\x0a\x00", false),                            /* without version */
        CASE("\x22\x04\x12\x02\x08\x01", false),                    /* without id */
        CASE("\x22\x08\x0a\x00\x12\x02\x08\x01\x20\x01", true),     /* its field 4 is unknown */
    };
    for (size_t i = 0; i < BR_COUNTOF(cases); i++) {
        bool taken = check_read(br_bytes_of(cases[i].bytes, cases[i].len));
        if (taken != cases[i].good) fail_msg("case %zu: taken %d", i, taken);
    }
}

static void row__more_floats_than_a_sum_has__refused(void **state)
{
    /* Claim: an accumulator cannot make a reader take more floats than it has room for. */
    (void)state;
    char bytes[3 + 9 * (BR_SUM_FLOATS_MAX + 1)] = {0};
    for (size_t count = BR_SUM_FLOATS_MAX; count <= BR_SUM_FLOATS_MAX + 1; count++) {
        size_t len = 9 * count;
        bytes[0] = 0x1a;
        bytes[1] = (char)(len | 0x80);
        bytes[2] = (char)(len >> 7);
        for (size_t i = 0; i < count; i++) bytes[3 + 9 * i] = 0x21;
        bool taken = check_read(br_bytes_of(bytes, 3 + len));
        assert_int_equal(taken, count == BR_SUM_FLOATS_MAX);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(row__random__packed_like_protobuf_c),
        cmocka_unit_test(row__random__read_like_protobuf_c),
        cmocka_unit_test(row__damaged__refused_where_protobuf_c_refuses),
        cmocka_unit_test(row__by_hand__taken_or_refused),
        cmocka_unit_test(row__more_floats_than_a_sum_has__refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
