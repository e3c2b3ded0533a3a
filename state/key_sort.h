/* state/key_sort.h - sorts rows by their stored keys (long_key.h), the order in which LMDB wants
 * them.
 * Shape:     eight bytes of each key, behind what all keys begin with, are sorted by radix; whole
 *            keys are compared only where these are equal.
 * Thread:    any. */
#ifndef BR_STATE_KEY_SORT_H
#define BR_STATE_KEY_SORT_H

#include "runtime/base/bytes.h"

/* The key of a row. */
typedef br_bytes (*br_key_of)(const void *row);

/* rows: an array of count pointers to rows, of any type. */
void br_sort_by_key(void *rows, size_t count, br_key_of key_of);

#endif
