/* tests/fuzz/fuzz_json_source.c - any bytes as a record's value, through source and expressions.
 * Claim: a record becomes a row or a bad record with a reason; integers never lose a digit on the
 * way through text. */
#include "fuzz/fuzz.h"
#include "operators/expr.h"
#include "operators/source.h"
#include "operators/tuple.h"
#include "runtime/base/arena.h"

static const char *const expressions[] = {"ad_id",
                                          "device.id",
                                          "tags[0]",
                                          "a.\"odd name\"",
                                          "cost_micros / 1000000",
                                          "v // 3 + 1",
                                          "unsalt(k)",
                                          "part(k, \":\", -1)",
                                          "concat(k, region)",
                                          "lower(k) == k and not (v < 3)",
                                          "@key",
                                          "nested",
                                          "deep.a.b.c.d"};

enum { COUNT = BR_COUNTOF(expressions) };

typedef struct subject {
    br_layout *layout;
    br_scope *scope;
    br_expr *exprs[COUNT];
    br_source *source;
    br_batch *batch;
} subject;

/* Compiled once: what is under test is the record. */
static subject *compile(void)
{
    static subject s;
    if (s.batch) return &s;
    br_err err = {0};
    s.layout = br_layout_create();
    s.scope = br_scope_of_record(s.layout);
    for (size_t i = 0; i < COUNT; i++) {
        br_status st = br_expr_compile(&s.exprs[i], br_str(expressions[i]), s.scope, &err);
        BR_ASSERT(st == BR_OK);
    }
    br_source_conf conf = {.id = "s", .layout = s.layout, .timestamp_slot = -1, .headers = true};
    s.source = br_source_create(&conf);
    s.batch = br_batch_create();
    return &s;
}

/* A value as a group key: what was coded must come back equal. */
static void through_tuple(const br_value *value, br_arena *arena)
{
    br_err err = {0};
    br_buf key = {0};
    br_value back;
    br_tuple_add(&key, value);
    br_bytes rest = br_buf_bytes(&key);
    br_status st = br_tuple_next(&rest, arena, &back, &err);
    BR_ASSERT(st == BR_OK && rest.len == 0);
    BR_ASSERT(value->kind == BR_MISSING || br_value_compare(value, &back) == 0);
    br_buf_dispose(&key);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    subject *s = compile();
    br_err err = {0};
    br_row bad;
    br_record record = {.topic = "t", .timestamp_ms = -1, .value = br_bytes_of(data, size)};
    br_batch_reset(s->batch);
    br_status st = br_source_add(s->source, s->batch, &record, &bad, &err);
    BR_ASSERT(st == BR_OK || (st == BR_ERR_BAD_RECORD && err.message[0] != '\0'));
    for (size_t i = 0; st == BR_OK && i < COUNT; i++) {
        br_value value;
        br_status got = br_expr_eval(s->exprs[i], s->batch->at[0], s->batch->arena, &value, &err);
        BR_ASSERT(got == BR_OK || got == BR_ERR_BAD_RECORD);
        if (got == BR_OK) through_tuple(&value, s->batch->arena);
    }
    return 0;
}
