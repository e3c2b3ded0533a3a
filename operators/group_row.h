/* operators/group_row.h - what both stages of a groupBy share: accumulators in stored rows, and
 * result rows for the children.
 * Thread: the task's. */
#ifndef BR_OPERATORS_GROUP_ROW_H
#define BR_OPERATORS_GROUP_ROW_H

#include "operators/group_by.h"
#include "runtime/base/limits.h"
#include "state/row_wire.h"

/* Appends the accumulators of a payload to a row or partial. */
void br_group_acc_encode(const br_group_conf *conf, const void *payload, br_buf *out);
/* Those of a row or partial into an initialised payload. BR_ERR_CORRUPT: not what this groupBy's
 * aggregates write; the payload may then hold some of them. */
BR_MUST_USE br_status br_group_acc_decode(const br_group_conf *conf, void *payload,
                                          const br_row_parts *parts, br_err *err);
/* Heap that the accumulators hold, for the budget. */
size_t br_group_acc_heap(const br_group_conf *conf, const void *payload);

/* Collects result rows and pushes them to an operator's children, a batch at a time. */
typedef struct br_results {
    const br_group_conf *conf;
    br_op *op;
    br_arena *arena; /* rows, slots and texts of the batch */
    br_row *rows[BR_BATCH_ROWS_MAX];
    size_t count;
} br_results;

br_results *br_results_create(const br_group_conf *conf, br_op *op);
void br_results_destroy(br_results *results); /* NULL is fine */
/* One group's row. payload may change or die afterwards, key must live until br_results_push. */
BR_MUST_USE br_status br_results_add(br_results *results, br_bytes key, const void *payload,
                                     br_err *err);
/* Pushes what was added since. */
BR_MUST_USE br_status br_results_push(br_results *results, br_err *err);

/* What the last flush sent, so that a second one in a row sends nothing new. The table does not say
 * when it was committed, but a mark that was not there before changes this. */
typedef struct br_sent {
    size_t dirty, emit; /* entries */
    uint64_t hashes;    /* of their keys, summed */
} br_sent;

br_sent br_sent_of(const br_table *table);
static inline bool br_sent_equal(br_sent a, br_sent b)
{
    return a.dirty == b.dirty && a.emit == b.emit && a.hashes == b.hashes;
}

#endif
