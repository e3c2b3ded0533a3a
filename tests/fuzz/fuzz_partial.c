/* tests/fuzz/fuzz_partial.c - any bytes as records of a repartition topic.
 * Claim: what stage two takes, it can flush and encode again; what it refuses is corrupt.
 * FAULTS 54. */
#include "fuzz/fuzz.h"
#include "fuzz/input.h"
#include "fuzz/temp_env.h"
#include "operators/merge.h"

static const char *by_names[] = {"ad_id"};

static br_group_conf *group(void)
{
    static br_group_aggregate aggregates[4];
    static br_group_conf conf;
    static const char *const functions[] = {"count", "sum", "max", "last"};
    if (conf.id) return &conf;
    size_t offset = 0;
    for (size_t i = 0; i < BR_COUNTOF(functions); i++) {
        const br_aggregate *fn = br_aggregate_find(br_str(functions[i]));
        BR_ASSERT(fn);
        aggregates[i] = (br_group_aggregate){.name = functions[i], .fn = fn, .offset = offset};
        offset += (fn->acc_size + 7) & ~(size_t)7;
    }
    conf = (br_group_conf){.id = "g",
                           .by_names = by_names,
                           .by_count = 1,
                           .aggregates = aggregates,
                           .aggregate_count = BR_COUNTOF(functions),
                           .payload_bytes = offset,
                           .two_stages = true,
                           .result_slots = 1 + BR_COUNTOF(functions)};
    return &conf;
}

static br_status take_repair(void *self, br_bytes key, br_bytes row, br_err *err)
{
    (void)self;
    (void)err;
    BR_ASSERT(key.len > 0 && row.data);
    return BR_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    br_err err = {0};
    br_budget budget = {.max = 64 << 20};
    br_arena *arena = br_arena_create(4096);
    const br_outlet outlet = {.repair = take_repair}; /* without children nothing else leaves */
    br_task_context context = {
        .outlet = &outlet, .arena = arena, .horizon = -1, .stop_offset = INT64_MAX};
    br_op *op = br_merge_create(group(), &context, temp_env(), &budget);
    br_bytes rest = br_bytes_of(data, size);
    br_status st = BR_OK;
    for (int64_t offset = 0; st == BR_OK && rest.len > 0; offset++) {
        br_bytes key = input_take(&rest), value = input_take(&rest);
        st = br_merge_apply(op, offset, key, value, &err);
    }
    BR_ASSERT(st == BR_OK || (st == BR_ERR_CORRUPT && err.message[0] != '\0'));
    if (st == BR_OK) st = op->class->flush(op, &err);
    BR_ASSERT(st == BR_OK || st == BR_ERR_CORRUPT);
    if (st == BR_OK)
        BR_ASSERT(br_env_write(temp_env_open, br_table_write, op->table, NULL, &err) == BR_OK);
    op->class->destroy(op);
    br_arena_destroy(arena);
    return 0;
}
