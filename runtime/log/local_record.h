/* runtime/log/local_record.h - a record's bytes in the embedded log's file.
 * timestamp, lengths of key and value, number of headers; per header its lengths, name and value;
 * key; value. Host byte order: LMDB files are the machine's own. */
#ifndef BR_RUNTIME_LOG_LOCAL_RECORD_H
#define BR_RUNTIME_LOG_LOCAL_RECORD_H

#include "operators/record.h"

typedef struct br_local_record {
    int64_t timestamp_ms;
    br_bytes key, value;
    size_t header_count;
    br_bytes headers; /* encoded */
} br_local_record;

/* Appends. Lengths are below 4 GiB. */
void br_local_record_encode(br_buf *out, int64_t timestamp_ms, br_bytes key, br_bytes value,
                            const br_header *headers, size_t header_count);
/* Borrows bytes. false: these are not a record's bytes. */
BR_MUST_USE bool br_local_record_decode(br_bytes bytes, br_local_record *out);
/* Fills out[0..header_count) of a decoded record. */
void br_local_record_headers(const br_local_record *record, br_header *out);

#endif
