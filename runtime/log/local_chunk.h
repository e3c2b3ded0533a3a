/* runtime/log/local_chunk.h - some records of one partition, copied out of one read transaction.
 * Copied, so that whoever gets them may write to the log: growing the map must wait for all
 * transactions of the process, and would wait for ever for one of the same thread.
 * Lifetime:  memory is kept from read to read, unless a huge record made it large. */
#ifndef BR_RUNTIME_LOG_LOCAL_CHUNK_H
#define BR_RUNTIME_LOG_LOCAL_CHUNK_H

#include "runtime/log/local.h"

typedef struct br_local_place {
    int64_t offset;
    size_t start, len;
} br_local_place;

typedef struct br_local_chunk { /* all-zero: empty */
    br_buf bytes;
    br_local_place *places;
    size_t count, cap;
    int64_t end;  /* of the partition */
    int64_t next; /* behind the last record, and at the end also behind a gap */
    br_header *headers;
    size_t header_cap;
} br_local_chunk;

/* Where a chunk's records go, and how far they went. */
typedef struct br_local_delivery {
    br_tp at;
    br_record_fn fn;
    void *arg, *user;
    int64_t position; /* in: from where; out: behind the last record that was taken */
    size_t count;     /* out: records that were taken */
} br_local_delivery;

/* Reads up to max records from offset `from` on. An offset behind the end is BR_ERR_BROKER. */
BR_MUST_USE br_status br_local_chunk_read(br_local_chunk *chunk, br_local *log, uint32_t topic,
                                          br_tp at, int64_t from, size_t max, br_err *err);
/* BR_OK: all; BR_END: fn asked to stop; fn's failure. */
BR_MUST_USE br_status br_local_chunk_deliver(br_local_chunk *chunk, br_local_delivery *delivery,
                                             br_err *err);
void br_local_chunk_dispose(br_local_chunk *chunk);

/* Sleeps a little, until deadline_ns of the monotonic clock or until something was committed since
 * `commits` was read. false: the deadline has passed. */
bool br_local_wait(br_local *log, size_t commits, int64_t deadline_ns);

#endif
