/* state/row_wire.h - rows as bytes: writes and reads brine.state.Row without making messages of it.
 * A commit packs every changed row and stage two unpacks every partial; through protobuf-c's
 * descriptors, with an allocation for each part, that was what a commit cost most.
 * Invariant: writes the bytes that protobuf-c packs, and takes what protobuf-c unpacks, unknown
 *            fields included (test_row_wire.c holds it against protobuf-c). One exception: an
 *            accumulator of more floats than a sum can have is refused.
 * Thread:    any; reading borrows the bytes and allocates nothing. */
#ifndef BR_STATE_ROW_WIRE_H
#define BR_STATE_ROW_WIRE_H

#include "runtime/base/bytes.h"
#include "state/version.h"

#include <proto/state.pb-c.h>

enum { BR_SUM_FLOATS_MAX = 64 }; /* parts of an exact sum; fewer than 40 cover all doubles */

/* ---- writing: each appends one field of a Row ---- */

void br_row_add_version(br_buf *out, br_version version);
void br_row_add_accumulator(br_buf *out, const Brine__State__Accumulator *acc);
/* A partial: begin, its accumulators, end with what begin returned. */
size_t br_row_begin_partial(br_buf *out, br_bytes id, br_version version);
void br_row_end_partial(br_buf *out, size_t begin);

/* ---- reading ---- */

/* A Row, or a Partial: that has its id, version and accumulators where a Row has its key, version
 * and accumulators. */
typedef struct br_row_parts {
    br_bytes all; /* what was read */
    br_bytes key; /* or id; data NULL: none */
    bool has_version, has_offset;
    br_version version; /* without has_offset: its offset is 0 */
    size_t accumulator_count, partial_count;
} br_row_parts;

/* false: not a Row. Its accumulators and partials are not looked into. */
BR_MUST_USE bool br_row_read(br_bytes bytes, br_row_parts *out);
/* The same for a Partial; it always has an id and a version. */
BR_MUST_USE bool br_partial_read(br_bytes bytes, br_row_parts *out);

/* One accumulator; its bytes and texts borrow what was read. */
typedef struct br_stored_acc {
    Brine__State__Accumulator message; /* borrows value and floats: do not move it */
    Brine__State__Value value;
    double floats[BR_SUM_FLOATS_MAX];
} br_stored_acc;

BR_MUST_USE bool br_acc_read(br_bytes bytes, br_stored_acc *out);

/* Walks the accumulators or the partials of what was read: *rest is parts.all at first. false: no
 * more of them. */
bool br_row_next_accumulator(br_bytes *rest, br_bytes *out);
bool br_row_next_partial(br_bytes *rest, br_bytes *out);

/* Reads a Row with all that is in it. */
BR_MUST_USE bool br_row_read_whole(br_bytes bytes, br_row_parts *out);

#endif
