/* tests/unit/operators/test_sink.c - keys, values and times of records that leave. */
#include "operators/sink.h"
#include "operators/source.h"
#include "runtime/base/alloc.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

enum { SENT_MAX = 64 };

typedef struct sent {
    br_bytes key, value; /* copies in the batch's arena */
    int64_t timestamp_ms;
} sent;

typedef struct fixture {
    br_layout *layout;
    br_scope *scope; /* of the record, or of the group's fields */
    br_source *source;
    br_batch *batch;
    br_outlet outlet;
    br_task_context context;
    br_sink_conf conf;
    br_op *sink;
    sent sent[SENT_MAX];
    size_t count;
    br_buf bad;
    br_status fails; /* what the outlet answers */
    br_err err;
} fixture;

static br_status take(void *self, size_t sink, br_bytes key, br_bytes value, int64_t timestamp_ms,
                      br_err *err)
{
    fixture *f = self;
    if (f->fails != BR_OK) return br_fail(err, f->fails, "no broker");
    assert_int_equal(sink, 5);
    assert_true(f->count < SENT_MAX);
    f->sent[f->count++] = (sent){br_arena_copy(f->batch->arena, key, 0),
                                 br_arena_copy(f->batch->arena, value, 0), timestamp_ms};
    return BR_OK;
}

static br_status take_bad(void *self, const br_row *row, const char *id, const br_err *why,
                          br_err *err)
{
    (void)err;
    fixture *f = self;
    br_buf_printf(&f->bad, "%s %" PRId64 ": %s;", id, row->offset, why->message);
    return BR_OK;
}

static int setup(void **state)
{
    fixture *f = BR_NEW(fixture);
    f->layout = br_layout_create();
    f->batch = br_batch_create();
    f->outlet = (br_outlet){.self = f, .sink = take, .bad_record = take_bad};
    f->context =
        (br_task_context){.outlet = &f->outlet, .arena = f->batch->arena, .stop_offset = INT64_MAX};
    f->conf = (br_sink_conf){.id = "out", .sink = 5};
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    fixture *f = *state;
    if (f->sink) f->sink->class->destroy(f->sink);
    br_expr_destroy(f->conf.key);
    br_source_destroy(f->source);
    br_batch_destroy(f->batch);
    br_layout_destroy(f->layout);
    br_buf_dispose(&f->bad);
    br_free(f);
    return 0;
}

static void key_is(fixture *f, const char *text)
{
    if (br_expr_compile(&f->conf.key, br_str(text), f->scope, &f->err) != BR_OK)
        fail_msg("%s: %s", text, f->err.message);
}

/* The scope is complete: the sink is made. */
static void begin(fixture *f)
{
    assert_int_equal(br_scope_shape(f->scope, &f->conf.shape, &f->err), BR_OK);
    f->sink = br_sink_create(&f->conf, &f->context, 42);
}

static br_status send_records(fixture *f, const br_record *records, size_t count)
{
    br_source_conf conf = {.id = "in", .layout = f->layout, .timestamp_slot = -1};
    if (f->conf.shape.untouched) conf.format = BR_SOURCE_NONE;
    if (!f->source) f->source = br_source_create(&conf);
    br_row bad;
    for (size_t i = 0; i < count; i++)
        assert_int_equal(br_source_add(f->source, f->batch, &records[i], &bad, &f->err), BR_OK);
    return f->sink->class->process(f->sink, f->batch->at, f->batch->count, &f->err);
}

static br_status send_json(fixture *f, const char *json)
{
    br_record record = {
        .topic = "t", .timestamp_ms = 1234, .key = BR_LITERAL("k"), .value = br_str(json)};
    return send_records(f, &record, 1);
}

/* One row as a groupBy gives it: slots[0..] in the scope's order. */
static br_status send_group(fixture *f, br_value *slots)
{
    br_row row = {.topic = "",
                  .partition = -1,
                  .offset = -1,
                  .timestamp_ms = -1,
                  .time_ms = BR_NO_TIME,
                  .slots = slots};
    br_row *at = &row;
    return f->sink->class->process(f->sink, &at, 1, &f->err);
}

static void assert_sent(const fixture *f, size_t i, br_bytes key, br_bytes value)
{
    assert_true(i < f->count);
    const sent *s = &f->sent[i];
    assert_int_equal(!s->key.data, !key.data);
    assert_int_equal(!s->value.data, !value.data);
    if (!br_bytes_equal(s->key, key))
        fail_msg("key %.*s, not %.*s", (int)s->key.len, s->key.data, (int)key.len, key.data);
    if (!br_bytes_equal(s->value, value))
        fail_msg("value %.*s, not %.*s", (int)s->value.len, s->value.data, (int)value.len,
                 value.data);
}

static void send__untouched__byte_for_byte(void **state)
{
    /* Null stays null and "" stays empty, in key and value; bytes are not looked at. FAULTS 28, 51.
     */
    static const br_bytes cases[][2] = {
        {{NULL, 0}, {NULL, 0}},         {{"", 0}, {"", 0}},
        {{"k", 1}, {"null", 4}},        {{"a\0b", 3}, {" { \"a\" : 1.0 } ", 15}},
        {{"\xff\xfe", 2}, {"\xff", 1}},
    };
    fixture *f = *state;
    f->scope = br_scope_of_record(f->layout);
    begin(f);
    br_record records[BR_COUNTOF(cases)];
    for (size_t i = 0; i < BR_COUNTOF(cases); i++)
        records[i] =
            (br_record){.topic = "t", .timestamp_ms = 5, .key = cases[i][0], .value = cases[i][1]};
    assert_int_equal(send_records(f, records, BR_COUNTOF(cases)), BR_OK);
    for (size_t i = 0; i < BR_COUNTOF(cases); i++) assert_sent(f, i, cases[i][0], cases[i][1]);
    assert_int_equal(f->sent[0].timestamp_ms, 5);
}

static void send__set_and_drop__the_rest_unchanged(void **state)
{
    /* What is neither dropped nor set goes on with every digit, set names behind it. FAULTS 48. */
    fixture *f = *state;
    uint32_t slot;
    f->scope = br_scope_of_record(f->layout);
    const char *drop[] = {"secret"};
    assert_int_equal(br_scope_drop(f->scope, drop, 1, &f->err), BR_OK);
    assert_int_equal(br_scope_set(f->scope, "spend", &slot, &f->err), BR_OK);
    begin(f);
    assert_int_equal(send_json(f, "{\"id\":9007199254740993,\"secret\":1,\"spend\":2,"
                                  "\"n\":999999999999999999999999999999999999999999,"
                                  "\"t\":\"\\u00e9\\n\",\"o\":{\"a\": [1]},\"z\":null}"),
                     BR_OK);
    f->batch->rows[0].slots[slot] = br_value_float(0.5);
    f->count = 0;
    assert_int_equal(f->sink->class->process(f->sink, f->batch->at, 1, &f->err), BR_OK);
    assert_sent(f, 0, BR_LITERAL("k"),
                BR_LITERAL("{\"id\":9007199254740993,"
                           "\"n\":999999999999999999999999999999999999999999,"
                           "\"t\":\"\xc3\xa9\\n\",\"o\":{\"a\": [1]},\"z\":null,\"spend\":0.5}"));
}

static void send__keep__only_these_and_no_missing_ones(void **state)
{
    /* Kept fields go on under their names; null is written, what is missing is not. */
    fixture *f = *state;
    f->scope = br_scope_of_record(f->layout);
    const char *keep[] = {"b", "a", "gone"};
    assert_int_equal(br_scope_keep(f->scope, keep, 3, &f->err), BR_OK);
    begin(f);
    assert_int_equal(send_json(f, "{\"a\":null,\"b\":\"x\",\"c\":3}"), BR_OK);
    assert_sent(f, 0, BR_LITERAL("k"), BR_LITERAL("{\"b\":\"x\",\"a\":null}"));
}

static void send__one_group_field__plain_text_key(void **state)
{
    /* The key is the field's plain text, all bytes and digits of it. FAULTS 48, 51. */
    fixture *f = *state;
    const char *names[] = {"ad", "n"};
    f->scope = br_scope_of_fields(f->layout, names, 2, 1);
    begin(f);
    br_value rows[][2] = {
        {br_value_text(br_bytes_of("a\0b", 3)), br_value_int(2)},
        {br_value_int(9007199254740993), br_value_null()},
        {br_value_bool(true), br_value_int(1)},
        {br_value_text(BR_LITERAL("")), br_value_int(1)},
        {br_value_i128((br_i128)1 << 100), br_value_int(1)},
    };
    for (size_t i = 0; i < BR_COUNTOF(rows); i++) assert_int_equal(send_group(f, rows[i]), BR_OK);
    assert_sent(f, 0, br_bytes_of("a\0b", 3), BR_LITERAL("{\"ad\":\"a\\u0000b\",\"n\":2}"));
    assert_sent(f, 1, BR_LITERAL("9007199254740993"),
                BR_LITERAL("{\"ad\":9007199254740993,\"n\":null}"));
    assert_sent(f, 2, BR_LITERAL("true"), BR_LITERAL("{\"ad\":true,\"n\":1}"));
    assert_sent(f, 3, BR_LITERAL(""), BR_LITERAL("{\"ad\":\"\",\"n\":1}"));
    assert_sent(f, 4, BR_LITERAL("1267650600228229401496703205376"),
                BR_LITERAL("{\"ad\":1267650600228229401496703205376,\"n\":1}"));
    assert_int_equal(f->sent[0].timestamp_ms, -1);
}

static void send__several_group_fields__object_key(void **state)
{
    /* Several fields make a JSON object, so that no separator can confuse them. */
    fixture *f = *state;
    const char *names[] = {"ad", "region", "n"};
    f->scope = br_scope_of_fields(f->layout, names, 3, 2);
    begin(f);
    br_value slots[] = {br_value_text(BR_LITERAL("a:\"b")), br_value_int(7), br_value_int(1)};
    assert_int_equal(send_group(f, slots), BR_OK);
    assert_sent(f, 0, BR_LITERAL("{\"ad\":\"a:\\\"b\",\"region\":7}"),
                BR_LITERAL("{\"ad\":\"a:\\\"b\",\"region\":7,\"n\":1}"));
}

static void send__key_expression__its_text(void **state)
{
    /* `key:` wins; null gives no key; an object cannot be one. */
    fixture *f = *state;
    const char *names[] = {"ad", "n"};
    f->scope = br_scope_of_fields(f->layout, names, 2, 1);
    key_is(f, "n");
    begin(f);
    br_value object = {.kind = BR_JSON, .s = BR_LITERAL("{}")};
    br_value rows[][2] = {
        {br_value_text(BR_LITERAL("a")), br_value_int(7)},
        {br_value_text(BR_LITERAL("a")), br_value_null()},
        {br_value_text(BR_LITERAL("a")), object},
        {br_value_text(BR_LITERAL("a")), br_value_text(BR_LITERAL("x"))},
    };
    for (size_t i = 0; i < BR_COUNTOF(rows); i++) assert_int_equal(send_group(f, rows[i]), BR_OK);
    assert_int_equal(f->count, 3);
    assert_sent(f, 0, BR_LITERAL("7"), BR_LITERAL("{\"ad\":\"a\",\"n\":7}"));
    assert_sent(f, 1, BR_NO_BYTES, BR_LITERAL("{\"ad\":\"a\",\"n\":null}"));
    assert_sent(f, 2, BR_LITERAL("x"), BR_LITERAL("{\"ad\":\"a\",\"n\":\"x\"}"));
    assert_string_equal(br_buf_cstr(&f->bad),
                        "out -1: key `n`: found object or array; allowed: text, number, true, "
                        "false, null;");
}

static void send__key_of_a_map_behind_the_group__kept(void **state)
{
    /* A key that a map gave the result row is what goes out. */
    fixture *f = *state;
    const char *names[] = {"ad", "n"};
    f->scope = br_scope_of_fields(f->layout, names, 2, 1);
    begin(f);
    br_value slots[] = {br_value_text(BR_LITERAL("a")), br_value_int(1)};
    br_row row = {.time_ms = -5, .key = BR_LITERAL("mine"), .slots = slots};
    br_row *at = &row;
    assert_int_equal(f->sink->class->process(f->sink, &at, 1, &f->err), BR_OK);
    assert_sent(f, 0, BR_LITERAL("mine"), BR_LITERAL("{\"ad\":\"a\",\"n\":1}"));
    assert_int_equal(f->sent[0].timestamp_ms, -1); /* Kafka takes no time before 1970 */
}

static void send__key_expression_fails__bad_row(void **state)
{
    /* A key that cannot be computed makes the row a bad one; the others go on. */
    fixture *f = *state;
    const char *names[] = {"ad", "n"};
    f->scope = br_scope_of_fields(f->layout, names, 2, 1);
    key_is(f, "n + 1");
    begin(f);
    br_value slots[] = {br_value_text(BR_LITERAL("a")), br_value_text(BR_LITERAL("x"))};
    assert_int_equal(send_group(f, slots), BR_OK);
    assert_int_equal(f->count, 0);
    assert_memory_equal(br_buf_cstr(&f->bad), "out -1: key `n + 1`: ", 21);
}

static void send__salt__suffix_of_a_seeded_sequence(void **state)
{
    /* Every salt of 0 … N-1 comes, the same sequence for the same seed, and null stays null. */
    fixture *f = *state;
    f->conf.salt = 3;
    f->scope = br_scope_of_record(f->layout);
    begin(f);
    br_record record = {
        .topic = "t", .timestamp_ms = 1, .key = BR_LITERAL("ad"), .value = BR_LITERAL("{}")};
    br_record records[21];
    for (size_t i = 0; i < 20; i++) records[i] = record;
    records[20] = (br_record){.topic = "t", .value = BR_LITERAL("")};
    assert_int_equal(send_records(f, records, 21), BR_OK);
    unsigned seen = 0;
    for (size_t i = 0; i < 20; i++) {
        assert_int_equal(f->sent[i].key.len, 4);
        assert_memory_equal(f->sent[i].key.data, "ad_", 3);
        seen |= 1U << (f->sent[i].key.data[3] - '0');
    }
    assert_int_equal(seen, 7);
    assert_null(f->sent[20].key.data);
    br_op *again = br_sink_create(&f->conf, &f->context, 42);
    assert_int_equal(again->class->process(again, f->batch->at, 20, &f->err), BR_OK);
    for (size_t i = 0; i < 20; i++)
        assert_true(br_bytes_equal(f->sent[i].key, f->sent[21 + i].key));
    again->class->destroy(again);
}

static void send__salted_computed_key__suffix_behind_it(void **state)
{
    /* A key that the sink made itself is salted like any other. */
    fixture *f = *state;
    f->conf.salt = 1;
    const char *names[] = {"ad", "n"};
    f->scope = br_scope_of_fields(f->layout, names, 2, 1);
    begin(f);
    br_value number[] = {br_value_int(12), br_value_int(1)};
    br_value empty[] = {br_value_text(BR_LITERAL("")), br_value_int(1)};
    assert_int_equal(send_group(f, number), BR_OK);
    assert_int_equal(send_group(f, empty), BR_OK);
    assert_sent(f, 0, BR_LITERAL("12_0"), BR_LITERAL("{\"ad\":12,\"n\":1}"));
    assert_sent(f, 1, BR_LITERAL("_0"), BR_LITERAL("{\"ad\":\"\",\"n\":1}"));
}

static void send__text__the_only_field(void **state)
{
    /* The value is the plain text; a null field is a null value, not "". FAULTS 28. */
    fixture *f = *state;
    f->conf.text = true;
    const char *names[] = {"ad", "n"};
    f->scope = br_scope_of_fields(f->layout, names, 2, 1);
    begin(f);
    br_value rows[][2] = {
        {br_value_int(1), br_value_float(0.25)},
        {br_value_int(2), br_value_null()},
        {br_value_int(3), br_value_text(BR_LITERAL(""))},
        {br_value_int(4), {.kind = BR_JSON, .s = BR_LITERAL("[1]")}},
    };
    for (size_t i = 0; i < BR_COUNTOF(rows); i++) assert_int_equal(send_group(f, rows[i]), BR_OK);
    assert_sent(f, 0, BR_LITERAL("1"), BR_LITERAL("0.25"));
    assert_sent(f, 1, BR_LITERAL("2"), BR_NO_BYTES);
    assert_sent(f, 2, BR_LITERAL("3"), BR_LITERAL(""));
    assert_sent(f, 3, BR_LITERAL("4"), BR_LITERAL("[1]"));
}

static void send__outlet_fails__ends(void **state)
{
    /* A broker failure goes up as it is. */
    fixture *f = *state;
    f->scope = br_scope_of_record(f->layout);
    f->fails = BR_ERR_BROKER;
    begin(f);
    assert_int_equal(send_json(f, "{}"), BR_ERR_BROKER);
    assert_string_equal(f->err.message, "no broker");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(send__untouched__byte_for_byte),
        TEST(send__set_and_drop__the_rest_unchanged),
        TEST(send__keep__only_these_and_no_missing_ones),
        TEST(send__one_group_field__plain_text_key),
        TEST(send__several_group_fields__object_key),
        TEST(send__key_expression__its_text),
        TEST(send__key_of_a_map_behind_the_group__kept),
        TEST(send__key_expression_fails__bad_row),
        TEST(send__salt__suffix_of_a_seeded_sequence),
        TEST(send__salted_computed_key__suffix_behind_it),
        TEST(send__text__the_only_field),
        TEST(send__outlet_fails__ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
