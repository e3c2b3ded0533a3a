/* tests/fuzz/fuzz_expr.c - an expression (up to the first newline) over a JSON record (the rest).
 * Claim: whatever compiles gives a value or a bad record, within the bounds of limits.h. */
#include "fuzz/fuzz.h"
#include "operators/expr.h"
#include "operators/source.h"
#include "runtime/base/arena.h"

typedef struct subject {
    br_layout *layout;
    br_expr *expr;
    br_source *source;
    br_batch *batch;
} subject;

static void evaluate(const subject *s, br_bytes json)
{
    br_err err = {0};
    br_row bad;
    br_record record = {.topic = "t",
                        .partition = 3,
                        .offset = 41,
                        .timestamp_ms = 1700000000000,
                        .key = BR_LITERAL("ad_7_3"),
                        .value = json};
    if (br_source_add(s->source, s->batch, &record, &bad, &err) != BR_OK) return;
    br_value value;
    br_status st = br_expr_eval(s->expr, s->batch->at[0], s->batch->arena, &value, &err);
    if (st == BR_OK) {
        br_buf out = {0};
        br_value_to_text(&value, &out);
        br_value_to_json(&value, &out);
        br_buf_dispose(&out);
    } else {
        BR_ASSERT(st == BR_ERR_BAD_RECORD && err.message[0] != '\0');
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *newline = size > 0 ? memchr(data, '\n', size) : NULL;
    if (!newline) return 0;
    size_t len = (size_t)(newline - data);
    br_err err = {0};
    subject s = {.layout = br_layout_create()};
    br_scope *scope = br_scope_of_record(s.layout);
    br_status st = br_expr_compile(&s.expr, br_bytes_of(data, len), scope, &err);
    if (st == BR_OK) {
        br_source_conf conf = {
            .id = "s", .layout = s.layout, .timestamp_slot = -1, .headers = true};
        s.source = br_source_create(&conf);
        s.batch = br_batch_create();
        evaluate(&s, br_bytes_of(newline + 1, size - len - 1));
        br_batch_destroy(s.batch);
        br_source_destroy(s.source);
    } else {
        BR_ASSERT(err.message[0] != '\0');
    }
    br_expr_destroy(s.expr);
    br_layout_destroy(s.layout);
    return 0;
}
