/* state/checkpoint.h - the checkpoint row: packed bytes and back.
 * Memory: unpacked messages are owned (br_checkpoint_free); hostile bytes never crash. */
#ifndef BR_STATE_CHECKPOINT_H
#define BR_STATE_CHECKPOINT_H

#include "runtime/base/bytes.h"

#include <proto/state.pb-c.h>

enum { BR_CHECKPOINT_FORMAT = 1 };

/* Appends `from` to out, with this format and boot_id; wall_ms where `from` has none. */
void br_checkpoint_pack(const Brine__State__Checkpoint *from, const char *boot_id, int64_t wall_ms,
                        br_buf *out);
/* NULL: not a checkpoint. */
Brine__State__Checkpoint *br_checkpoint_unpack(br_bytes bytes);
void br_checkpoint_free(Brine__State__Checkpoint *checkpoint); /* NULL is fine */

#endif
