/* state/long_key.h - what stands in LMDB for a key, so that users never see LMDB's limit of 511
 * bytes (and its refusal of empty keys).
 * Shape:     plain: 1 to 480 bytes whose first is below 0xfe: stored as it is.
 *            long:  all others: 0xfe and the 128-bit hash of the key; the whole key stands in front
 *            of the value as field 1 of the Row, so the stored value still parses as a Row.
 * Invariant: plain keys come before long ones, and keep their order. */
#ifndef BR_STATE_LONG_KEY_H
#define BR_STATE_LONG_KEY_H

#include "runtime/base/bytes.h"

enum {
    BR_LONG_KEY_MARK = 0xfe,       /* begins no tuple (operators/tuple.h) */
    BR_LONG_KEY_BYTES = 1 + 16,    /* mark and hash */
    BR_PLAIN_KEY_BYTES_MAX = 480,  /* LMDB's 511, with room for later prefixes */
    BR_LONG_KEY_PREFIX_MAX = 1 + 5 /* tag and length in front of the whole key */
};

static inline bool br_key_is_plain(br_bytes key)
{
    return key.len > 0 && key.len <= BR_PLAIN_KEY_BYTES_MAX &&
           (unsigned char)key.data[0] < BR_LONG_KEY_MARK;
}

/* Of a key found in LMDB: whether it is the hash of a long one. */
static inline bool br_stored_key_is_long(br_bytes stored)
{
    return stored.len > 0 && (unsigned char)stored.data[0] >= BR_LONG_KEY_MARK;
}

/* What is looked up in LMDB: key itself or, for a long one, bytes written to room. */
br_bytes br_stored_key(br_bytes key, char room[BR_LONG_KEY_BYTES]);
/* Order of the stored keys: <0, 0, >0. */
int br_stored_key_compare(br_bytes a, br_bytes b);

/* Tag and length that stand in front of a long key; returns how many bytes. */
size_t br_long_key_prefix(size_t key_len, char out[BR_LONG_KEY_PREFIX_MAX]);
/* Takes a stored value of a long key apart; both borrow stored. false: it is not one. */
bool br_long_key_split(br_bytes stored, br_bytes *key, br_bytes *val);

#endif
