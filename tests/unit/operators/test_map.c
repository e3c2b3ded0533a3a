/* tests/unit/operators/test_map.c - where, explode, set and key, and what happens to bad rows. */
#include "operators/map.h"
#include "operators/source.h"
#include "runtime/base/alloc.h"
#include "runtime/base/limits.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

enum { SHOWN_MAX = 4, SETS_MAX = 4 };

/* A child that writes its rows down: `offset[key] slot slot;`. */
typedef struct fake_child {
    br_op op;
    br_buf lines;
    uint32_t shown[SHOWN_MAX];
    size_t shown_count;
    size_t rows, calls, calls_max; /* calls_max: the longest call */
    const br_row *last;
    br_status fails; /* BR_OK: no */
} fake_child;

typedef struct fixture {
    br_layout *layout;
    br_scope *scope;
    br_source *source;
    br_batch *batch;
    br_outlet outlet;
    br_task_context context;
    br_map_conf conf;
    br_map_set sets[SETS_MAX];
    br_op *map;
    fake_child child;
    br_op *links[1];
    br_buf bad; /* messages of bad rows */
    bool fail;  /* errors: fail */
    br_err err;
} fixture;

static br_status child_process(br_op *op, br_row *const *rows, size_t count, br_err *err)
{
    fake_child *child = (fake_child *)op;
    if (child->fails != BR_OK) return br_fail(err, child->fails, "child failed");
    child->calls++;
    if (count > child->calls_max) child->calls_max = count;
    for (size_t i = 0; i < count; i++) {
        br_buf_printf(&child->lines, "%" PRId64, rows[i]->offset);
        if (rows[i]->key.data)
            br_buf_printf(&child->lines, "[%.*s]", (int)rows[i]->key.len, rows[i]->key.data);
        for (size_t j = 0; j < child->shown_count; j++) {
            br_buf_addc(&child->lines, ' ');
            br_value_to_json(&rows[i]->slots[child->shown[j]], &child->lines);
        }
        br_buf_addc(&child->lines, ';');
        child->last = rows[i];
    }
    child->rows += count;
    return BR_OK;
}

static const br_op_class child_class = {.kind = "fake", .process = child_process};

static br_status take_bad(void *self, const br_row *row, const char *id, const br_err *why,
                          br_err *err)
{
    fixture *f = self;
    assert_string_equal(id, "m");
    br_buf_printf(&f->bad, "%" PRId64 ": %s;", row->offset, why->message);
    return f->fail ? br_fail(err, BR_ERR_BAD_RECORD, "stopped at %" PRId64, row->offset) : BR_OK;
}

static int setup(void **state)
{
    fixture *f = BR_NEW(fixture);
    f->layout = br_layout_create();
    f->scope = br_scope_of_record(f->layout);
    f->batch = br_batch_create();
    f->outlet = (br_outlet){.self = f, .bad_record = take_bad};
    f->context =
        (br_task_context){.outlet = &f->outlet, .arena = f->batch->arena, .stop_offset = INT64_MAX};
    f->conf = (br_map_conf){.id = "m", .sets = f->sets};
    f->child.op = (br_op){.class = &child_class, .id = "child", .context = &f->context};
    f->links[0] = &f->child.op;
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    fixture *f = *state;
    if (f->map) f->map->class->destroy(f->map);
    br_expr_destroy(f->conf.where);
    br_expr_destroy(f->conf.explode);
    br_expr_destroy(f->conf.key);
    for (size_t i = 0; i < f->conf.set_count; i++) br_expr_destroy(f->sets[i].expr);
    br_source_destroy(f->source);
    br_batch_destroy(f->batch);
    br_layout_destroy(f->layout);
    br_buf_dispose(&f->child.lines);
    br_buf_dispose(&f->bad);
    br_free(f);
    return 0;
}

static br_expr *compiled(fixture *f, const char *text)
{
    br_expr *expr;
    if (br_expr_compile(&expr, br_str(text), f->scope, &f->err) != BR_OK)
        fail_msg("%s: %s", text, f->err.message);
    return expr;
}

static void add_set(fixture *f, const char *name, const char *text)
{
    br_map_set *set = &f->sets[f->conf.set_count++];
    set->expr = compiled(f, text);
    assert_int_equal(br_scope_set(f->scope, name, &set->slot, &f->err), BR_OK);
    f->child.shown[f->child.shown_count++] = set->slot;
}

static void explode(fixture *f, const char *text, const char *name)
{
    f->conf.explode = compiled(f, text);
    assert_int_equal(br_scope_set(f->scope, name, &f->conf.explode_slot, &f->err), BR_OK);
    f->child.shown[f->child.shown_count++] = f->conf.explode_slot;
}

/* Adds a record with the next offset (from 0 on) to the batch. */
static void add_record(fixture *f, br_bytes json)
{
    if (!f->source) {
        br_source_conf conf = {.id = "in", .layout = f->layout, .timestamp_slot = -1};
        f->source = br_source_create(&conf);
        f->conf.slot_count = br_layout_slots(f->layout);
        f->map = br_map_create(&f->conf, &f->context);
        f->map->children = f->links;
        f->map->child_count = 1;
    }
    br_row bad;
    br_record record = {.topic = "t",
                        .offset = (int64_t)f->batch->count,
                        .timestamp_ms = -1,
                        .key = BR_LITERAL("k"),
                        .value = json};
    assert_int_equal(br_source_add(f->source, f->batch, &record, &bad, &f->err), BR_OK);
}

static br_status process(fixture *f)
{
    return f->map->class->process(f->map, f->batch->at, f->batch->count, &f->err);
}

/* The records, one per line, through the map. */
static br_status run(fixture *f, const char *records)
{
    char *list = br_strdup(records);
    for (char *rest = list; rest;) add_record(f, br_str(strsep(&rest, "\n")));
    br_status st = process(f);
    br_free(list);
    return st;
}

static void assert_lines(fixture *f, const char *want, const char *bad)
{
    assert_string_equal(br_buf_cstr(&f->child.lines), want);
    assert_string_equal(br_buf_cstr(&f->bad), bad);
}

static void where__true_false_null__only_true_passes(void **state)
{
    /* Rows go on where it is true; null counts as false. */
    fixture *f = *state;
    f->conf.where = compiled(f, "n > 1");
    assert_int_equal(run(f, "{\"n\":2}\n{\"n\":1}\n{\"n\":null}\n{}\n{\"n\":9}"), BR_OK);
    assert_lines(f, "0[k];4[k];", "");
}

static void where__no_rows_left__children_not_called(void **state)
{
    /* An empty batch is no call. */
    fixture *f = *state;
    f->conf.where = compiled(f, "n > 1");
    assert_int_equal(run(f, "{\"n\":1}"), BR_OK);
    assert_int_equal(f->child.calls, 0);
}

static void where__not_a_boolean__bad_row(void **state)
{
    /* A value that is neither true nor false is not guessed at. */
    fixture *f = *state;
    f->conf.where = compiled(f, "n");
    assert_int_equal(run(f, "{\"n\":true}\n{\"n\":1}\n{\"n\":\"true\"}"), BR_OK);
    assert_lines(f, "0[k];",
                 "1: where `n`: found integer; allowed: true, false, null;"
                 "2: where `n`: found text; allowed: true, false, null;");
}

static void set__in_order__later_ones_see_earlier(void **state)
{
    /* A set sees the fields that were set before it. */
    fixture *f = *state;
    add_set(f, "a", "n + 1");
    add_set(f, "b", "a * 2");
    assert_int_equal(run(f, "{\"n\":1}\n{\"n\":null}"), BR_OK);
    assert_lines(f, "0[k] 2 4;1[k] null null;", "");
}

static void set__fails__row_is_bad_and_others_go_on(void **state)
{
    /* A row for which an expression fails is handed out; the batch goes on. */
    fixture *f = *state;
    add_set(f, "a", "n + 1");
    assert_int_equal(run(f, "{\"n\":1}\n{\"n\":\"x\"}\n{\"n\":3}"), BR_OK);
    assert_string_equal(br_buf_cstr(&f->child.lines), "0[k] 2;2[k] 4;");
    assert_non_null(strstr(br_buf_cstr(&f->bad), "1: set `n + 1`: "));
}

static void set__fails_and_stops__rows_before_go_on(void **state)
{
    /* Where the job stops at a record, those before it are done and those behind are not. */
    fixture *f = *state;
    f->fail = true;
    add_set(f, "a", "n + 1");
    assert_int_equal(run(f, "{\"n\":1}\n{\"n\":2}\n{\"n\":\"x\"}\n{\"n\":3}"), BR_ERR_BAD_RECORD);
    assert_string_equal(br_buf_cstr(&f->child.lines), "0[k] 2;1[k] 3;");
    assert_int_equal(f->context.stop_offset, 2);
    assert_string_equal(f->err.message, "stopped at 2");
}

static void key__any_scalar__its_text_in_a_copy_of_the_row(void **state)
{
    /* The key is the text of the value; the row that branches share keeps its own. FAULTS 51. */
    fixture *f = *state;
    f->conf.key = compiled(f, "id");
    assert_int_equal(run(f, "{\"id\":\"a\\u0000\"}\n{\"id\":9007199254740993}\n{\"id\":true}\n"
                            "{\"id\":\"\"}\n{\"id\":null}\n{\"id\":[1]}"),
                     BR_OK);
    assert_memory_equal(f->child.lines.data, "0[a", 3);
    assert_non_null(strstr(br_buf_cstr(&f->bad), "5: key `id`: found object or array"));
    br_buf_reset(&f->bad);
    br_buf_reset(&f->child.lines);
    assert_int_equal(f->map->class->process(f->map, f->batch->at + 1, 4, &f->err), BR_OK);
    assert_lines(f, "1[9007199254740993];2[true];3[];4;", "");
    for (size_t i = 0; i < f->batch->count; i++)
        assert_true(br_bytes_equal(f->batch->rows[i].key, BR_LITERAL("k")));
    assert_ptr_equal(f->child.last->slots, f->batch->rows[4].slots);
}

static void explode__array__a_row_per_element(void **state)
{
    /* One row per element, with the record's other fields; nothing for [] and null. */
    fixture *f = *state;
    explode(f, "tags", "tag");
    add_set(f, "n2", "n * 2");
    assert_int_equal(run(f, "{\"n\":1,\"tags\":[\"a\",{\"x\":1},null]}\n{\"n\":2,\"tags\":[]}\n"
                            "{\"n\":3,\"tags\":null}\n{\"n\":4}\n{\"n\":5,\"tags\":[6]}"),
                     BR_OK);
    assert_lines(f, "0[k] \"a\" 2;0[k] {\"x\":1} 2;0[k] null 2;4[k] 6 10;", "");
    assert_int_equal(f->child.calls, 1);
}

static void explode__not_an_array__bad_row(void **state)
{
    /* Only arrays explode. */
    fixture *f = *state;
    explode(f, "tags", "tag");
    assert_int_equal(run(f, "{\"tags\":{}}\n{\"tags\":1}\n{\"tags\":[1]}"), BR_OK);
    assert_lines(f, "2[k] 1;",
                 "0: explode `tags`: found an object; allowed: array, null;"
                 "1: explode `tags`: found integer; allowed: array, null;");
}

static void explode__one_row_fails__none_goes_on(void **state)
{
    /* A record is counted whole or is a dead letter whole, which can then be sent again. */
    fixture *f = *state;
    explode(f, "tags", "tag");
    add_set(f, "n", "tag + 1");
    assert_int_equal(run(f, "{\"tags\":[1]}\n{\"tags\":[2,\"x\",3]}\n{\"tags\":[4]}"), BR_OK);
    assert_string_equal(br_buf_cstr(&f->child.lines), "0[k] 1 2;2[k] 4 5;");
    assert_memory_equal(br_buf_cstr(&f->bad), "1: set `tag + 1`: ", 18);
}

/* {"tags":[1,1,…]} with n elements. */
static void add_long(fixture *f, size_t n)
{
    br_buf json = {0};
    br_buf_adds(&json, "{\"tags\":[");
    for (size_t i = 0; i < n; i++) br_buf_adds(&json, i > 0 ? ",1" : "1");
    br_buf_adds(&json, "]}");
    add_record(f, br_buf_bytes(&json));
    br_buf_dispose(&json);
}

static void explode__many_rows__bounded_calls_that_keep_records_together(void **state)
{
    /* No call has more rows than a batch, and a record is split only where it is longer. */
    fixture *f = *state;
    explode(f, "tags", "tag");
    add_long(f, 1000);
    add_long(f, 1000);
    assert_int_equal(process(f), BR_OK);
    assert_int_equal(f->child.calls, 2);
    assert_int_equal(f->child.calls_max, 1000);
    add_long(f, BR_EXPLODE_ROWS_MAX);
    assert_int_equal(process(f), BR_OK);
    assert_int_equal(f->child.rows, 4000 + BR_EXPLODE_ROWS_MAX);
    assert_int_equal(f->child.calls_max, BR_BATCH_ROWS_MAX);
}

static void explode__too_many_rows__bad_row(void **state)
{
    /* More rows than the bound are refused, and leave nothing behind. */
    fixture *f = *state;
    explode(f, "tags", "tag");
    add_long(f, BR_EXPLODE_ROWS_MAX + 1);
    assert_int_equal(process(f), BR_OK);
    assert_lines(f, "", "0: explode `tags`: more than 100000 elements;");
}

static void process__child_fails__ends(void **state)
{
    /* A failure below goes up, and nothing of the batch stays for the next one. */
    fixture *f = *state;
    explode(f, "tags", "tag");
    f->child.fails = BR_ERR_BROKER;
    add_long(f, 3000);
    add_long(f, 1);
    assert_int_equal(process(f), BR_ERR_BROKER);
    f->child.fails = BR_OK;
    assert_int_equal(f->map->class->process(f->map, f->batch->at + 1, 1, &f->err), BR_OK);
    assert_lines(f, "1[k] 1;", "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(where__true_false_null__only_true_passes),
        TEST(where__no_rows_left__children_not_called),
        TEST(where__not_a_boolean__bad_row),
        TEST(set__in_order__later_ones_see_earlier),
        TEST(set__fails__row_is_bad_and_others_go_on),
        TEST(set__fails_and_stops__rows_before_go_on),
        TEST(key__any_scalar__its_text_in_a_copy_of_the_row),
        TEST(explode__array__a_row_per_element),
        TEST(explode__not_an_array__bad_row),
        TEST(explode__one_row_fails__none_goes_on),
        TEST(explode__many_rows__bounded_calls_that_keep_records_together),
        TEST(explode__too_many_rows__bad_row),
        TEST(process__child_fails__ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
