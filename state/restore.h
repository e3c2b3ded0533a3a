/* state/restore.h - rebuilds a store from its changelog, joining rows by version.
 * Shape:     begin -> add records in log order -> finish
 * Invariant: the result does not depend on where in the log a version stands (DESIGN.md section 3):
 *            a zombie's old row behind a newer one changes nothing. Progress is kept: every chunk
 *            is one transaction with the changelog offset up to which it is applied.
 *            That offset never passes a record whose key is to be mended, so that a restore that
 *            goes on after a crash or a pause finds it again: mending is forgotten only once the
 *            task has committed.
 * Memory:    one chunk (chunk_bytes), and the keys to mend.
 *            An empty store is filled in key order (MDB_APPEND).
 * Thread:    one; the environment must not be used by others meanwhile. */
#ifndef BR_STATE_RESTORE_H
#define BR_STATE_RESTORE_H

#include "state/env.h"
#include "state/version.h"

typedef struct br_restore br_restore;

/* The record key of a marker: begins no tuple (operators/tuple.h). */
#define BR_MARKER_KEY BR_LITERAL("\xff")
/* Packs a marker's value. operator: the groupBy as packed job.proto GroupBy. */
void br_marker_encode(br_buf *out, br_version version, int64_t stream_time, br_bytes operator_spec);

typedef struct br_restored {
    uint64_t records;       /* changelog records read */
    br_version marker;      /* the highest; BR_VERSION_NONE: none */
    int64_t stream_time;    /* of that marker */
    br_bytes operator_spec; /* of that marker; borrows the br_restore */
    /* Keys whose last record is older than what the join gave: the row must be written to the
     * changelog again with the first commit. Borrow the br_restore. */
    const br_bytes *mend;
    size_t mend_count;
} br_restored;

/* store: index in env. Borrows env. */
br_restore *br_restore_begin(br_env *env, size_t store, size_t chunk_bytes);
/* One changelog record; value NULL (tombstone) is passed over. BR_ERR_CORRUPT: not a Row or Marker;
 * the caller adds topic, partition and offset. */
BR_MUST_USE br_status br_restore_add(br_restore *restore, int64_t offset, br_bytes key,
                                     br_bytes value, br_err *err);
/* Writes what is left; `next` is the changelog position that was reached. */
BR_MUST_USE br_status br_restore_finish(br_restore *restore, int64_t next, br_restored *out,
                                        br_err *err);
/* Writes what is whole so far and remembers the position, for a restore that is given up half way.
 */
BR_MUST_USE br_status br_restore_pause(br_restore *restore, br_err *err);
void br_restore_destroy(br_restore *restore); /* NULL is fine */

#endif
