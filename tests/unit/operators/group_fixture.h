/* tests/unit/operators/group_fixture.h - a groupBy of one task in a temporary folder, with outlets
 * and a child that remember what they are given. Rows have the fields k, v and w. */
#ifndef BR_TESTS_GROUP_FIXTURE_H
#define BR_TESTS_GROUP_FIXTURE_H

#include "operators/group_by.h"
#include "operators/merge.h"
#include "operators/tuple.h"
#include "runtime/base/alloc.h"
#include "runtime/base/hash.h"
#include "unit/temp_dir.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

enum { SENT_MAX = 4096, FIELDS = 3 };

typedef struct sent_record {
    char *key, *row;
    size_t key_len, row_len;
} sent_record;

typedef struct sent_records {
    sent_record at[SENT_MAX];
    size_t count;
} sent_records;

typedef struct fixture {
    char dir[256];
    br_layout *layout;
    br_expr *by[4], *arguments[8];
    const char *by_names[4];
    br_group_aggregate aggregates[8];
    br_group_conf conf;
    br_env *env;
    br_budget budget;
    br_arena *arena;
    br_outlet outlet;
    br_task_context context;
    br_op *op, child, *children[1];
    sent_records changelog, partials, repairs;
    br_buf results; /* `a|3;` for each result row */
    size_t result_count, bad_count, null_count;
    bool stop_at_bad;
    char bad[BR_ERR_MESSAGE_MAX];
} fixture;

typedef struct input {
    int64_t offset;
    br_value fields[FIELDS];
} input;

static inline br_value text(const char *s)
{
    return br_value_text(br_str(s));
}

/* ---- what leaves the operator ---- */

static inline char *copy_bytes(br_bytes bytes)
{
    return br_strndup(bytes.data ? bytes.data : "", bytes.len);
}

static inline void remember(sent_records *records, br_bytes key, br_bytes row)
{
    assert_true(records->count < SENT_MAX);
    records->at[records->count++] =
        (sent_record){copy_bytes(key), copy_bytes(row), key.len, row.len};
}

static inline void forget(sent_records *records)
{
    for (size_t i = 0; i < records->count; i++) {
        br_free(records->at[i].key);
        br_free(records->at[i].row);
    }
    records->count = 0;
}

static inline br_status on_changelog(void *self, size_t store, br_bytes key, br_bytes row,
                                     br_err *err)
{
    (void)err;
    assert_int_equal(store, 0);
    remember(&((fixture *)self)->changelog, key, row);
    return BR_OK;
}

static inline br_status on_partial(void *self, size_t output, br_bytes group, br_bytes key,
                                   br_bytes row, br_err *err)
{
    (void)err;
    assert_int_equal(output, 3);
    assert_true(group.len < key.len && memcmp(group.data, key.data, group.len) == 0);
    remember(&((fixture *)self)->partials, key, row);
    return BR_OK;
}

static inline br_status on_repair(void *self, br_bytes key, br_bytes row, br_err *err)
{
    (void)err;
    remember(&((fixture *)self)->repairs, key, row);
    return BR_OK;
}

static inline br_status on_bad_record(void *self, const br_row *row, const char *id,
                                      const br_err *why, br_err *err)
{
    fixture *f = self;
    (void)row;
    assert_string_equal(id, "per_k");
    f->bad_count++;
    snprintf(f->bad, sizeof f->bad, "%s", why->message);
    return f->stop_at_bad ? br_fail(err, BR_ERR_BAD_RECORD, "stopped") : BR_OK;
}

static inline void on_null_key(void *self, const br_row *row)
{
    (void)row;
    ((fixture *)self)->null_count++;
}

static inline br_status on_results(br_op *op, br_row *const *rows, size_t count, br_err *err)
{
    fixture *f = (fixture *)((char *)op - offsetof(fixture, child));
    (void)err;
    assert_true(count > 0 && count <= 1024);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(rows[i]->offset, -1);
        assert_true(rows[i]->time_ms == BR_NO_TIME);
        for (size_t s = 0; s < f->conf.by_count + f->conf.aggregate_count; s++) {
            if (s > 0) br_buf_addc(&f->results, '|');
            br_value_to_text(&rows[i]->slots[s], &f->results);
        }
        br_buf_addc(&f->results, ';');
        assert_int_equal(rows[i]->slots[f->conf.result_slots - 1].kind, BR_MISSING);
    }
    f->result_count += count;
    return BR_OK;
}

static const br_op_class child_class = {.kind = "child", .process = on_results};

/* ---- life ---- */

static inline br_expr *compile(br_scope *scope, const char *expression)
{
    br_expr *expr;
    br_err err;
    if (br_expr_compile(&expr, br_str(expression), scope, &err) != BR_OK)
        fail_msg("%s", err.message);
    return expr;
}

static inline void add_aggregate(fixture *f, br_scope *scope, const char *call)
{
    br_group_aggregate *aggregate = &f->aggregates[f->conf.aggregate_count];
    br_bytes argument;
    br_err err;
    assert_int_equal(br_aggregate_parse(br_str(call), &aggregate->fn, &argument, &err), BR_OK);
    aggregate->name = call;
    aggregate->offset = f->conf.payload_bytes;
    if (argument.data) {
        char *expression = br_strndup(argument.data, argument.len);
        aggregate->argument = f->arguments[f->conf.aggregate_count] = compile(scope, expression);
        br_free(expression);
    }
    f->conf.payload_bytes += (aggregate->fn->acc_size + 7) / 8 * 8;
    f->conf.aggregate_count++;
}

/* by and calls end with NULL. */
static inline fixture *fixture_create(const char *const *by, const char *const *calls,
                                      bool two_stages)
{
    static const char *const fields[FIELDS] = {"k", "v", "w"};
    fixture *f = BR_NEW(fixture);
    temp_dir_make(f->dir, sizeof(f->dir), "group");
    f->layout = br_layout_create();
    br_scope *scope = br_scope_of_fields(f->layout, fields, FIELDS, 0);
    f->conf = (br_group_conf){.id = "per_k", .by = f->by, .by_names = f->by_names};
    f->conf.aggregates = f->aggregates;
    f->conf.two_stages = two_stages;
    f->conf.output = 3;
    for (; by[f->conf.by_count]; f->conf.by_count++) {
        f->by_names[f->conf.by_count] = by[f->conf.by_count];
        f->by[f->conf.by_count] = compile(scope, by[f->conf.by_count]);
    }
    for (size_t i = 0; calls[i]; i++) add_aggregate(f, scope, calls[i]);
    f->conf.result_slots = f->conf.by_count + f->conf.aggregate_count + 1;
    f->arena = br_arena_create(4096);
    f->budget.max = 1 << 20;
    f->outlet = (br_outlet){.self = f,
                            .changelog = on_changelog,
                            .partial = on_partial,
                            .bad_record = on_bad_record,
                            .repair = on_repair,
                            .null_key = on_null_key};
    f->context = (br_task_context){.outlet = &f->outlet,
                                   .arena = f->arena,
                                   .incarnation = 1,
                                   .horizon = -1,
                                   .stop_offset = INT64_MAX};
    f->child = (br_op){.class = &child_class, .id = "child", .context = &f->context};
    f->children[0] = &f->child;
    return f;
}

/* stage: br_group_by_create or br_merge_create. */
static inline void fixture_open(fixture *f,
                                br_op *(*stage)(const br_group_conf *, br_task_context *, br_env *,
                                                br_budget *))
{
    static const char *const stores[] = {"per_k"};
    br_env_opts opts = {.dir = f->dir, .store_ids = stores, .store_count = 1, .now_ms = 1};
    opts.map_bytes = 1 << 20;
    br_err err;
    if (br_env_open(&f->env, &opts, &err) != BR_OK) fail_msg("%s", err.message);
    f->op = stage(&f->conf, &f->context, f->env, &f->budget);
    f->op->children = f->children;
    f->op->child_count = 1;
}

/* As after a crash: what was not committed is gone. */
static inline void fixture_close(fixture *f)
{
    f->op->class->destroy(f->op);
    br_env_close(f->env, false);
    assert_int_equal(f->budget.used, 0);
}

static inline void fixture_destroy(fixture *f)
{
    fixture_close(f);
    forget(&f->changelog);
    forget(&f->partials);
    forget(&f->repairs);
    for (size_t i = 0; i < 4; i++) br_expr_destroy(f->by[i]);
    for (size_t i = 0; i < 8; i++) br_expr_destroy(f->arguments[i]);
    br_layout_destroy(f->layout);
    br_arena_destroy(f->arena);
    br_buf_dispose(&f->results);
    temp_dir_remove(f->dir);
    br_free(f);
}

/* ---- what a task does ---- */

/* One batch. */
static inline br_status feed(fixture *f, const input *in, size_t count)
{
    br_row *rows = br_calloc(count, sizeof *rows), **at = br_calloc(count, sizeof(*at));
    for (size_t i = 0; i < count; i++) {
        rows[i] = (br_row){.topic = "clicks",
                           .offset = in[i].offset,
                           .time_ms = in[i].offset * 10,
                           .slots = (br_value *)(uintptr_t)in[i].fields};
        at[i] = &rows[i];
    }
    br_err err;
    br_status st = f->op->class->process(f->op, at, count, &err);
    br_arena_reset(f->arena);
    br_free(rows);
    br_free(at);
    return st;
}

#define FEED(f, ...)                                                                               \
    feed(f, (const input[]){__VA_ARGS__}, sizeof((const input[]){__VA_ARGS__}) / sizeof(input))

static inline void flush(fixture *f)
{
    br_err err;
    forget(&f->changelog);
    forget(&f->partials);
    br_buf_reset(&f->results);
    f->result_count = 0;
    if (f->op->class->flush(f->op, &err) != BR_OK) fail_msg("%s", err.message);
}

static inline void commit(fixture *f, int64_t offset)
{
    Brine__State__Version version = BRINE__STATE__VERSION__INIT;
    version.has_incarnation = version.has_offset = 1;
    version.incarnation = f->context.incarnation;
    version.offset = offset;
    Brine__State__Checkpoint checkpoint = BRINE__STATE__CHECKPOINT__INIT;
    checkpoint.version = &version;
    checkpoint.has_next_offset = 1;
    checkpoint.next_offset = offset + 1;
    br_err err;
    if (br_env_write(f->env, br_table_write, f->op->table, &checkpoint, &err) != BR_OK) {
        fail_msg("%s", err.message);
    }
    br_table_committed(f->op->table);
}

static int compare_results(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The rows that the child got with the last flush, in the order of their text. */
static inline void assert_results(fixture *f, const char *expected)
{
    char *copy = br_strdup(br_buf_cstr(&f->results)), *rest = NULL, *at[64];
    size_t count = 0;
    for (char *row = strtok_r(copy, ";", &rest); row; row = strtok_r(NULL, ";", &rest)) {
        assert_true(count < BR_COUNTOF(at));
        at[count++] = row;
    }
    qsort(at, count, sizeof(*at), compare_results);
    br_buf sorted = {0};
    for (size_t i = 0; i < count; i++) br_buf_printf(&sorted, "%s;", at[i]);
    assert_string_equal(br_buf_cstr(&sorted), expected);
    br_buf_dispose(&sorted);
    br_free(copy);
}

static inline br_bytes tuple_of(br_buf *room, const char *k)
{
    br_value v = text(k);
    br_buf_reset(room);
    br_tuple_add(room, &v);
    return br_buf_bytes(room);
}

/* The number of rows that the store itself holds. */
static inline size_t stored_rows(const fixture *f)
{
    return br_env_rows(f->env, 0);
}

#endif
