/* operators/source.h - turns records into rows: decodes the fields that the stage needs.
 * Shape:     add records -> batch of rows -> (run the operators) -> reset
 * Lifetime:  topic, key, value, headers and slots are copied into the batch's arena; the record's
 *            own bytes may die at once (librdkafka's consume callback).
 * Thread:    the pipeline's; one batch serves all its tasks in turn. */
#ifndef BR_OPERATORS_SOURCE_H
#define BR_OPERATORS_SOURCE_H

#include "operators/record.h"
#include "operators/scope.h"
#include "runtime/base/limits.h"

typedef enum br_source_format {
    BR_SOURCE_JSON,
    BR_SOURCE_TEXT,
    BR_SOURCE_CSV,
    BR_SOURCE_NONE
} br_source_format;

typedef struct br_source_conf {
    const char *id;
    br_source_format format;
    const char *const *columns; /* csv */
    size_t column_count;
    const br_layout *layout; /* complete: every expression of the stage is compiled */
    int timestamp_slot;      /* slot with the event time, or -1: the record's own */
    bool headers; /* rows have headers: an expression, or a dead letter of an operator needs them */
} br_source_conf;

/* Fields of a text record: `value`; of a CSV record: the columns. The whole record (the path
 * without steps) is for both an object of these. NONE has no fields: the value is not looked at. */
typedef struct br_source br_source;

/* conf is copied, what it points to is borrowed. */
br_source *br_source_create(const br_source_conf *conf);
void br_source_destroy(br_source *source);

typedef struct br_batch {
    br_arena *arena;
    br_row *rows; /* BR_BATCH_ROWS_MAX */
    br_row **at;  /* pointers to them, for br_op_class.process */
    size_t count;
    size_t bytes;      /* taken from the arena by records, bad ones too */
    const char *topic; /* of its records, in the arena; NULL at first */
} br_batch;

br_batch *br_batch_create(void);
void br_batch_destroy(br_batch *batch);
void br_batch_reset(br_batch *batch); /* forgets all rows and their bytes */
static inline bool br_batch_full(const br_batch *batch)
{
    return batch->count == BR_BATCH_ROWS_MAX || batch->bytes >= BR_BATCH_BYTES_MAX;
}

/* Adds one record as a row. The batch is not full, and its records are of one topic.
 * BR_ERR_BAD_RECORD: it was not added; *bad is the record as a row without slots (bytes in the
 * arena), for the dead letter. A null value is BR_EMPTY: not added, counted apart by the caller. */
BR_MUST_USE br_status br_source_add(br_source *source, br_batch *batch, const br_record *record,
                                    br_row *bad, br_err *err);

#endif
