/* state/changelog.h - what a restore needs of a changelog record's value: is it whole, which
 * version is it. The accumulators stay packed.
 * Memory: a row is read where it stands. A marker is unpacked into an arena whose size is bounded,
 *         so that hostile bytes (a megabyte of unknown fields) are refused and not expanded. */
#ifndef BR_STATE_CHANGELOG_H
#define BR_STATE_CHANGELOG_H

#include "runtime/base/arena.h"
#include "state/version.h"

#include <proto/state.pb-c.h>

typedef struct br_changelog_decoder {
    br_arena *arena;
    size_t used;
    ProtobufCAllocator allocator;
} br_changelog_decoder;

/* decoder must not move afterwards. */
void br_changelog_decoder_init(br_changelog_decoder *decoder);
void br_changelog_decoder_dispose(br_changelog_decoder *decoder);

/* BR_ERR_CORRUPT: not a whole Row, or one without a version. */
BR_MUST_USE br_status br_changelog_row_version(br_bytes value, br_version *out, br_err *err);
/* *out borrows the decoder until its next call. BR_ERR_CORRUPT: not a Marker with a version. */
BR_MUST_USE br_status br_changelog_marker(br_changelog_decoder *decoder, br_bytes value,
                                          const Brine__State__Marker **out, br_err *err);

#endif
