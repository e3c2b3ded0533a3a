/* operators/group_results.c - result rows of groups, pushed to the children in batches. */
#include "operators/group_row.h"
#include "runtime/base/alloc.h"

enum { ARENA_BLOCK_BYTES = 64 * 1024 };

br_results *br_results_create(const br_group_conf *conf, br_op *op)
{
    BR_ASSERT(conf->result_slots >= conf->by_count + conf->aggregate_count);
    br_results *results = BR_NEW(br_results);
    results->conf = conf;
    results->op = op;
    results->arena = br_arena_create(ARENA_BLOCK_BYTES);
    return results;
}

void br_results_destroy(br_results *results)
{
    if (!results) return;
    br_arena_destroy(results->arena);
    br_free(results);
}

/* Results' texts borrow the accumulators, which may be gone before the batch is pushed. */
static void own_texts(br_results *results, br_value *slots)
{
    for (size_t i = 0; i < results->conf->aggregate_count; i++) {
        br_value *v = &slots[results->conf->by_count + i];
        if (v->kind == BR_TEXT || v->kind == BR_JSON) v->s = br_arena_copy(results->arena, v->s, 0);
    }
}

br_status br_results_add(br_results *results, br_bytes key, const void *payload, br_err *err)
{
    size_t slot_count = results->conf->result_slots;
    br_value *slots = br_arena_alloc(results->arena, slot_count * sizeof *slots);
    memset(slots, 0, slot_count * sizeof *slots); /* BR_MISSING */
    br_status st = br_group_result(results->conf, key, payload, results->arena, slots, err);
    if (st < 0) return st;
    own_texts(results, slots);
    br_row *row = br_arena_alloc(results->arena, sizeof *row);
    *row = (br_row){
        .topic = "",
        .partition = -1,
        .offset = -1,
        .timestamp_ms = -1,
        .time_ms = BR_NO_TIME,
        .slots = slots,
    };
    results->rows[results->count++] = row;
    return results->count < BR_BATCH_ROWS_MAX ? BR_OK : br_results_push(results, err);
}

br_status br_results_push(br_results *results, br_err *err)
{
    size_t count = results->count;
    results->count = 0;
    br_status st = count > 0 ? br_op_forward(results->op, results->rows, count, err) : BR_OK;
    br_arena_reset(results->arena);
    return st;
}

static uint64_t sum_of_hashes(br_entry *const *entries, size_t count)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) sum += entries[i]->hash;
    return sum;
}

br_sent br_sent_of(const br_table *table)
{
    br_sent sent;
    br_entry *const *dirty = br_table_dirty(table, &sent.dirty);
    br_entry *const *emit = br_table_emit(table, &sent.emit);
    /* The factor keeps a key that moves from one list to the other from going unnoticed. */
    sent.hashes = 3 * sum_of_hashes(dirty, sent.dirty) + sum_of_hashes(emit, sent.emit);
    return sent;
}
