/* state/env_check.h - whether a data.mdb is whole, before LMDB maps it.
 * LMDB trusts its pages: a file that was cut ends a process that maps it with SIGBUS, a garbled
 * page with SIGABRT or SIGSEGV, again at every start. So every page that can be reached is read
 * with pread and its structure checked: page numbers, node bounds, key order, the list of free
 * pages, no page used twice. Costs about a microsecond a page; contents of values are not looked
 * at.
 * Format:    LMDB data version 1 (0.9.x), 64-bit. */
#ifndef BR_STATE_ENV_CHECK_H
#define BR_STATE_ENV_CHECK_H

#include "runtime/base/bytes.h"

typedef struct br_env_file {
    uint64_t txn_id;    /* last transaction */
    uint64_t map_bytes; /* map size that the file remembers */
} br_env_file;

/* txn_id: whose tree to check (a reader's, while it holds that transaction); 0: the last one, and
 * nobody may be writing. BR_NOT_FOUND: no file, or that transaction is not among the last two any
 * more. BR_ERR_CORRUPT: damaged, with what and where. BR_ERR_IO. */
BR_MUST_USE br_status br_env_check(const char *path, uint64_t txn_id, br_env_file *out,
                                   br_err *err);

#endif
