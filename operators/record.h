/* operators/record.h - a record as the log hands it over, and a row as operators see it.
 * Lifetime:  a br_record's bytes die when the call that handed it over returns; a row's bytes live
 *            in the batch's arena until the batch is done.
 * Thread:    values. */
#ifndef BR_OPERATORS_RECORD_H
#define BR_OPERATORS_RECORD_H

#include "operators/value.h"
#include "runtime/base/arena.h"

typedef struct br_header {
    br_bytes name, value; /* value.data NULL: null */
} br_header;

typedef struct br_headers {
    const br_header *at;
    size_t count;
} br_headers;

typedef struct br_record {
    const char *topic;
    int32_t partition;
    int64_t offset;
    int64_t timestamp_ms; /* of the record; -1: none */
    br_bytes key, value;  /* data NULL: null */
    const br_header *headers;
    size_t header_count;
    /* [optional] Instead of headers and header_count, where it costs something to find them. */
    br_headers (*find_headers)(void *finder);
    void *finder;
} br_record;

/* Borrows as the record does, until headers are asked for again. */
static inline br_headers br_record_headers(const br_record *record)
{
    if (record->find_headers) return record->find_headers(record->finder);
    return (br_headers){record->headers, record->header_count};
}

/* One row of a batch: a record's content as the stage's slots. `explode` makes several of one
 * record; they share the offset. */
typedef struct br_row {
    const char *topic;
    int32_t partition;
    int64_t offset;
    int64_t timestamp_ms; /* the record's own; -1: none */
    int64_t time_ms;      /* event time; BR_NO_TIME where there is none */
    br_bytes key;         /* the record's, or what `map: key:` made of it */
    br_bytes value;       /* as it came */
    const br_header *headers;
    size_t header_count;
    br_value *slots;
} br_row;

#define BR_NO_TIME INT64_MIN

#endif
