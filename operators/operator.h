/* operators/operator.h - the contract of operators, and what a task gives them.
 * Shape:     a task's operators are a tree; process pushes rows from an operator to its children,
 *            a batch at a time (one virtual call per batch, not per record).
 * Invariant: no operator allocates per row; rows die when the root's process returns.
 * Thread:    the task's. */
#ifndef BR_OPERATORS_OPERATOR_H
#define BR_OPERATORS_OPERATOR_H

#include "operators/record.h"
#include "state/table.h"

typedef struct br_op br_op;

/* What leaves a task; filled by the runtime, replaced by arrays in tests. Every call copies what it
 * is given. They fail only for good (BR_ERR_BROKER…): waiting for room is inside. */
typedef struct br_outlet {
    void *self;
    /* sink: index in the stage's sinks. key.data NULL: no key, spread evenly. timestamp_ms -1: now.
     */
    br_status (*sink)(void *self, size_t sink, br_bytes key, br_bytes value, int64_t timestamp_ms,
                      br_err *err);
    /* store: index in the stage's stores. */
    br_status (*changelog)(void *self, size_t store, br_bytes key, br_bytes row, br_err *err);
    /* output: index in the stage's repartition topics. group: what chooses the partition. */
    br_status (*partial)(void *self, size_t output, br_bytes group, br_bytes key, br_bytes row,
                         br_err *err);
    /* A row that operator `id` cannot take. BR_OK: dealt with, leave it out and go on.
     * BR_ERR_BAD_RECORD: the job stops at this record (`errors: fail`). */
    br_status (*bad_record)(void *self, const br_row *row, const char *id, const br_err *why,
                            br_err *err);
    /* Stage two: says again, in the task's own input partition, what it holds of a partial whose
     * last record there is older (DESIGN.md section 3). */
    br_status (*repair)(void *self, br_bytes key, br_bytes row, br_err *err);
    /* A row whose group key is null or missing was left out. */
    void (*null_key)(void *self, const br_row *row);
} br_outlet;

/* Shared by a task's operators. */
typedef struct br_task_context {
    const br_outlet *outlet;
    br_arena *arena;      /* the batch's */
    uint32_t incarnation; /* of the job */
    int64_t horizon;      /* source records up to this offset are in every store; -1 at first */
    br_bytes partial_id;  /* stage one: tuple (source operator, topic, partition) */
    /* Records from this offset on are not to be processed: one before them stopped the job. */
    int64_t stop_offset; /* INT64_MAX */
    int64_t emit_from;   /* stage two: records below it change rows but mark nothing for emission */
} br_task_context;

typedef struct br_op_class {
    const char *kind; /* as in job files */
    /* Borrows rows until it returns; they are in offset order. BR_ERR_BAD_RECORD:
     * context->stop_offset is set, rows before it were processed. */
    br_status (*process)(br_op *op, br_row *const *rows, size_t count, br_err *err);
    /* [optional] Commit step 1: sends what changed. A second call in a row sends nothing new. */
    br_status (*flush)(br_op *op, br_err *err);
    void (*destroy)(br_op *op); /* frees op; children are not its own */
} br_op_class;

struct br_op {
    const br_op_class *class;
    const char *id; /* borrows the plan */
    br_task_context *context;
    br_op **children; /* borrows the chain */
    size_t child_count;
    size_t store;    /* index of its store, or SIZE_MAX */
    br_table *table; /* its store's, or NULL; belongs to the operator */
};

/* Pushes rows to every child. The first failure other than BR_ERR_BAD_RECORD ends it; after a
 * BR_ERR_BAD_RECORD the other children still get the rows below stop_offset, then it is returned.
 */
BR_MUST_USE br_status br_op_forward(br_op *op, br_row *const *rows, size_t count, br_err *err);
/* How many of rows (in offset order) lie below stop_offset. */
size_t br_rows_allowed(const br_task_context *context, br_row *const *rows, size_t count);
/* Hands a row to outlet.bad_record and, where that stops the job, sets stop_offset. */
BR_MUST_USE br_status br_op_bad_row(br_op *op, const br_row *row, const br_err *why, br_err *err);

#endif
