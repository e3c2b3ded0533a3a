/* tests/unit/operators/test_source.c - records become rows; what was copied, and what is refused.
 */
#include "operators/source.h"
#include "runtime/base/alloc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

typedef struct fixture {
    br_layout *layout;
    br_scope *scope;
    br_source_conf conf;
    br_source *source;
    br_batch *batch;
    br_row bad;
    br_err err;
    br_buf text;
} fixture;

static int setup(void **state)
{
    fixture *f = BR_NEW(fixture);
    f->layout = br_layout_create();
    f->scope = br_scope_of_record(f->layout);
    f->conf = (br_source_conf){.id = "in", .layout = f->layout, .timestamp_slot = -1};
    f->batch = br_batch_create();
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    fixture *f = *state;
    br_source_destroy(f->source);
    br_batch_destroy(f->batch);
    br_layout_destroy(f->layout);
    br_buf_dispose(&f->text);
    br_free(f);
    return 0;
}

static uint32_t field(fixture *f, const char *name)
{
    br_path path, rest;
    uint32_t slot;
    assert_int_equal(br_path_parse(&path, br_str(name), &f->err), BR_OK);
    assert_int_equal(br_scope_resolve(f->scope, &path, &slot, &rest, &f->err), BR_OK);
    br_path_dispose(&path);
    br_path_dispose(&rest);
    return slot;
}

static br_record record_of(const char *value)
{
    br_record record = {.topic = "t", .partition = 3, .offset = 7, .timestamp_ms = 1000};
    record.key = br_str("k");
    record.value = value ? br_str(value) : BR_NO_BYTES;
    return record;
}

static br_status add(fixture *f, const br_record *record)
{
    if (!f->source) f->source = br_source_create(&f->conf);
    return br_source_add(f->source, f->batch, record, &f->bad, &f->err);
}

static const char *slot_text(fixture *f, uint32_t slot)
{
    const br_row *row = &f->batch->rows[f->batch->count - 1];
    br_buf_reset(&f->text);
    br_buf_printf(&f->text, "%d ", (int)row->slots[slot].kind);
    br_value_to_text(&row->slots[slot], &f->text);
    return br_buf_cstr(&f->text);
}

static void add__json__copies_everything(void **state)
{
    /* The record's bytes may die at once: the row has its own. */
    fixture *f = *state;
    uint32_t ad = field(f, "ad"), gone = field(f, "gone.x");
    f->conf.headers = true;
    char topic[] = "clicks", key[] = "key", name[] = "h", head[] = "v";
    char value[] = "{\"ad\":\"a\"}";
    br_header headers[] = {{{name, 1}, {head, 1}}, {{name, 1}, BR_NO_BYTES}};
    br_record record = {.topic = topic,
                        .partition = 3,
                        .offset = 7,
                        .timestamp_ms = 1000,
                        .key = {key, 3},
                        .value = br_str(value),
                        .headers = headers,
                        .header_count = 2};
    assert_int_equal(add(f, &record), BR_OK);
    memset(topic, 'x', 6);
    memset(key, 'x', 3);
    memset(value, 'x', 10);
    memset(headers, 0, sizeof(headers));
    name[0] = head[0] = 'x';
    const br_row *row = f->batch->at[0];
    assert_string_equal(row->topic, "clicks");
    assert_int_equal(row->partition, 3);
    assert_int_equal(row->offset, 7);
    assert_int_equal(row->timestamp_ms, 1000);
    assert_int_equal(row->time_ms, 1000);
    assert_true(br_bytes_equal(row->key, BR_LITERAL("key")));
    assert_true(br_bytes_equal(row->value, BR_LITERAL("{\"ad\":\"a\"}")));
    assert_int_equal(row->header_count, 2);
    assert_true(br_bytes_equal(row->headers[0].name, BR_LITERAL("h")));
    assert_true(br_bytes_equal(row->headers[0].value, BR_LITERAL("v")));
    assert_null(row->headers[1].value.data);
    assert_string_equal(slot_text(f, ad), "6 a");
    assert_int_equal(row->slots[gone].kind, BR_MISSING);
}

static void add__headers_not_needed__not_copied(void **state)
{
    /* Without need of them headers cost nothing. */
    fixture *f = *state;
    br_header header = {BR_LITERAL("h"), BR_LITERAL("v")};
    br_record record = record_of("{}");
    record.headers = &header;
    record.header_count = 1;
    assert_int_equal(add(f, &record), BR_OK);
    assert_int_equal(f->batch->rows[0].header_count, 0);
    assert_null(f->batch->rows[0].headers);
}

typedef struct finder {
    br_header header;
    size_t asked;
} finder;

static br_headers find_headers(void *arg)
{
    finder *found = arg;
    found->asked++;
    return (br_headers){&found->header, 1};
}

static void add__headers_that_cost__asked_for_where_needed(void **state)
{
    /* They are looked for where rows need them, for bad records, and for large ones, whose group
     * key may be too long; never else. FAULTS 53. */
    fixture *f = *state;
    field(f, "a");
    char *large = br_alloc(64 * 1024);
    memset(large, ' ', 64 * 1024);
    memcpy(large, "{}", 2);
    const struct {
        br_bytes value;
        bool headers;
        size_t asked;
    } cases[] = {
        {BR_LITERAL("{}"), false, 0}, {BR_LITERAL("{}"), true, 1},    {BR_LITERAL("{"), false, 1},
        {BR_LITERAL("{"), true, 1},   {{large, 64 * 1024}, false, 1},
    };
    for (size_t i = 0; i < BR_COUNTOF(cases); i++) {
        br_source_destroy(f->source);
        f->conf.headers = cases[i].headers;
        f->source = NULL;
        finder found = {.header = {BR_LITERAL("h"), BR_LITERAL("v")}};
        br_record record = record_of("");
        record.value = cases[i].value;
        record.find_headers = find_headers;
        record.finder = &found;
        const br_row *row = &f->batch->rows[f->batch->count];
        if (add(f, &record) == BR_ERR_BAD_RECORD) row = &f->bad;
        assert_int_equal(found.asked, cases[i].asked);
        assert_int_equal(row->header_count, cases[i].asked);
        if (row->header_count > 0) assert_true(br_bytes_equal(row->headers[0].value, br_str("v")));
    }
    br_free(large);
}

static void add__computed_slots__missing_at_first(void **state)
{
    /* Every slot has a value before an operator writes it. */
    fixture *f = *state;
    uint32_t spend;
    assert_int_equal(br_scope_set(f->scope, "spend", &spend, &f->err), BR_OK);
    br_record record = record_of("{\"spend\":1}");
    assert_int_equal(add(f, &record), BR_OK);
    assert_int_equal(f->batch->rows[0].slots[spend].kind, BR_MISSING);
}

static void add__null_value__empty_or_normal(void **state)
{
    /* A null value is no record to decode, and none at all is a normal one for `none`. FAULTS 28.
     */
    fixture *f = *state;
    static const char *const columns[] = {"a"};
    static const struct {
        br_source_format format;
        br_status want;
    } cases[] = {
        {BR_SOURCE_JSON, BR_EMPTY},
        {BR_SOURCE_TEXT, BR_EMPTY},
        {BR_SOURCE_CSV, BR_EMPTY},
        {BR_SOURCE_NONE, BR_OK},
    };
    f->conf.columns = columns;
    f->conf.column_count = 1;
    for (size_t i = 0; i < BR_COUNTOF(cases); i++) {
        f->conf.format = cases[i].format;
        br_source_destroy(f->source);
        f->source = NULL;
        br_record record = record_of(NULL);
        record.key = BR_NO_BYTES;
        assert_int_equal(add(f, &record), cases[i].want);
        assert_int_equal(f->batch->count, cases[i].want == BR_OK);
    }
    assert_null(f->batch->rows[0].value.data);
    assert_null(f->batch->rows[0].key.data);
}

static void add__empty_value__bad_json_but_a_text(void **state)
{
    /* "" is no JSON and a text of length 0, and an empty key stays one. FAULTS 28, 53. */
    fixture *f = *state;
    uint32_t value = field(f, "value");
    br_record record = record_of("");
    record.key = br_str("");
    assert_int_equal(add(f, &record), BR_ERR_BAD_RECORD);
    assert_int_equal(f->batch->count, 0);
    br_source_destroy(f->source);
    f->source = NULL;
    f->conf.format = BR_SOURCE_TEXT;
    assert_int_equal(add(f, &record), BR_OK);
    assert_string_equal(slot_text(f, value), "6 ");
    assert_non_null(f->batch->rows[0].key.data);
    assert_int_equal(f->batch->rows[0].key.len, 0);
}

static void add__bad_record__handed_back_whole(void **state)
{
    /* A bad record is not a row, but all of it is there for the dead letter. FAULTS 53. */
    fixture *f = *state;
    field(f, "a");
    br_record good = record_of("{\"a\":1}"), cut = record_of("{\"a\":");
    assert_int_equal(add(f, &good), BR_OK);
    size_t bytes = f->batch->bytes;
    assert_int_equal(add(f, &cut), BR_ERR_BAD_RECORD);
    assert_int_equal(f->batch->count, 1);
    assert_true(f->batch->bytes > bytes); /* so that bad ones fill a batch too */
    assert_true(br_bytes_equal(f->bad.value, BR_LITERAL("{\"a\":")));
    assert_true(br_bytes_equal(f->bad.key, BR_LITERAL("k")));
    assert_int_equal(f->bad.offset, 7);
    assert_null(f->bad.slots);
    assert_true(br_bytes_equal(f->batch->rows[0].value, BR_LITERAL("{\"a\":1}")));
}

static void add__timestamp_field__event_time_or_bad(void **state)
{
    /* Whole milliseconds as a number, and nothing else, are an event time. */
    static const struct {
        const char *json;
        br_status want;
        int64_t time_ms;
    } cases[] = {
        {"{\"ts\":1709315512577}", BR_OK, 1709315512577},
        {"{\"ts\":1.709315512577e12}", BR_OK, 1709315512577},
        {"{\"ts\":0}", BR_OK, 0},
        {"{\"ts\":-5}", BR_OK, -5},
        {"{\"ts\":9223372036854775807}", BR_OK, INT64_MAX},
        {"{\"ts\":9223372036854775808}", BR_ERR_BAD_RECORD, 0},
        {"{\"ts\":-9223372036854775808}", BR_ERR_BAD_RECORD, 0},
        {"{\"ts\":1.5}", BR_ERR_BAD_RECORD, 0},
        {"{\"ts\":1e30}", BR_ERR_BAD_RECORD, 0},
        {"{\"ts\":\"1709315512577\"}", BR_ERR_BAD_RECORD, 0},
        {"{\"ts\":true}", BR_ERR_BAD_RECORD, 0},
        {"{\"ts\":[1]}", BR_ERR_BAD_RECORD, 0},
        {"{\"ts\":null}", BR_ERR_BAD_RECORD, 0},
        {"{}", BR_ERR_BAD_RECORD, 0},
    };
    fixture *f = *state;
    f->conf.timestamp_slot = (int)field(f, "ts");
    for (size_t i = 0; i < BR_COUNTOF(cases); i++) {
        br_batch_reset(f->batch);
        br_record record = record_of(cases[i].json);
        assert_int_equal(add(f, &record), cases[i].want);
        if (cases[i].want == BR_OK)
            assert_true(f->batch->rows[0].time_ms == cases[i].time_ms);
        else
            assert_non_null(strstr(f->err.message, "timestamp"));
    }
}

static void add__record_without_time__no_time(void **state)
{
    /* A record that has no timestamp gives a row that has none. */
    fixture *f = *state;
    br_record record = record_of("{}");
    record.timestamp_ms = -1;
    assert_int_equal(add(f, &record), BR_OK);
    assert_true(f->batch->rows[0].time_ms == BR_NO_TIME);
}

static void add__text__the_whole_value(void **state)
{
    /* A text record has one field, of any bytes; other names are missing. FAULTS 51. */
    fixture *f = *state;
    uint32_t value = field(f, "value"), other = field(f, "other"), deep = field(f, "value.x");
    f->conf.format = BR_SOURCE_TEXT;
    br_record record = record_of("");
    record.value = br_bytes_of("a\0\xff", 3);
    assert_int_equal(add(f, &record), BR_OK);
    const br_row *row = &f->batch->rows[0];
    assert_int_equal(row->slots[value].kind, BR_TEXT);
    assert_true(br_bytes_equal(row->slots[value].s, br_bytes_of("a\0\xff", 3)));
    assert_int_equal(row->slots[other].kind, BR_MISSING);
    assert_int_equal(row->slots[deep].kind, BR_MISSING);
}

static void add__csv__columns_by_name(void **state)
{
    /* Columns are found by name, and the whole record is an object of them. */
    fixture *f = *state;
    static const char *const columns[] = {"zip", "n", "name"};
    uint32_t name = field(f, "name"), n = field(f, "n"), other = field(f, "other");
    br_shape shape;
    uint32_t set;
    assert_int_equal(br_scope_set(f->scope, "set", &set, &f->err), BR_OK);
    assert_int_equal(br_scope_shape(f->scope, &shape, &f->err), BR_OK);
    f->conf.format = BR_SOURCE_CSV;
    f->conf.columns = columns;
    f->conf.column_count = 3;
    br_record record = record_of("007,2.5,\"a \"\"b\"\"\"\r\n");
    assert_int_equal(add(f, &record), BR_OK);
    assert_string_equal(slot_text(f, name), "6 a \"b\"");
    assert_string_equal(slot_text(f, n), "5 2.5");
    assert_string_equal(slot_text(f, other), "0 ");
    assert_string_equal(slot_text(f, shape.whole_slot),
                        "7 {\"zip\":\"007\",\"n\":2.5,\"name\":\"a \\\"b\\\"\"}");
    record = record_of("1,2");
    assert_int_equal(add(f, &record), BR_ERR_BAD_RECORD);
}

static void batch__full_and_reset__begins_anew(void **state)
{
    /* A batch ends at its rows or its bytes, and a reset makes it empty. */
    fixture *f = *state;
    br_record record = record_of("{}");
    while (!br_batch_full(f->batch)) assert_int_equal(add(f, &record), BR_OK);
    assert_int_equal(f->batch->count, BR_BATCH_ROWS_MAX);
    assert_ptr_equal(f->batch->at[BR_BATCH_ROWS_MAX - 1], &f->batch->rows[BR_BATCH_ROWS_MAX - 1]);
    br_batch_reset(f->batch);
    assert_false(br_batch_full(f->batch));
    assert_int_equal(f->batch->bytes, 0);
    char *big = br_calloc(1, BR_BATCH_BYTES_MAX);
    record.value = br_bytes_of(big, BR_BATCH_BYTES_MAX);
    assert_int_equal(add(f, &record), BR_ERR_BAD_RECORD); /* NUL bytes */
    assert_true(br_batch_full(f->batch));
    br_free(big);
}

static void destroy__null__nothing(void **state)
{
    /* Destroying nothing is fine. */
    (void)state;
    br_source_destroy(NULL);
    br_batch_destroy(NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(add__json__copies_everything),
        TEST(add__headers_not_needed__not_copied),
        TEST(add__headers_that_cost__asked_for_where_needed),
        TEST(add__computed_slots__missing_at_first),
        TEST(add__null_value__empty_or_normal),
        TEST(add__empty_value__bad_json_but_a_text),
        TEST(add__bad_record__handed_back_whole),
        TEST(add__timestamp_field__event_time_or_bad),
        TEST(add__record_without_time__no_time),
        TEST(add__text__the_whole_value),
        TEST(add__csv__columns_by_name),
        TEST(batch__full_and_reset__begins_anew),
        cmocka_unit_test(destroy__null__nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
