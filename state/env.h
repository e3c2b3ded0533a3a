/* state/env.h - one task's LMDB environment: its stores, and the checkpoint written with them.
 * Shape:     <dir>/data.mdb holds a sub-database per store and one for the checkpoint.
 * Invariant: rows and the checkpoint that covers them change in one transaction, or not at all.
 * Durability: no fsync (MDB_NOSYNC); the changelog topic is the durable copy. kill -9 keeps the
 *            file whole. After a power loss it may be torn, so an environment whose boot id is not
 *            the machine's and that was not closed cleanly is discarded (DESIGN.md section 4).
 * Thread:    one at a time; another process may read at the same time (br_env_peek).
 * Errors:    a message names the directory, what was found and what to do. */
#ifndef BR_STATE_ENV_H
#define BR_STATE_ENV_H

#include "runtime/base/bytes.h"

#include <proto/state.pb-c.h>

typedef struct br_env br_env;
typedef struct br_env_txn br_env_txn;

typedef struct br_env_opts {
    const char *dir;              /* made with its parents, mode 0700; files 0600 */
    const char *const *store_ids; /* operator ids; a store's index is its place here */
    size_t store_count;
    uint64_t map_bytes;     /* initial map; 0: 1 GiB. Grows by doubling when full. */
    uint64_t map_bytes_max; /* 0: no bound; else BR_ERR_LIMIT "state full" at the bound */
    int64_t now_ms;         /* wall clock */
    int64_t age_max_ms;     /* a checkpoint older than this is discarded; 0: never */
} br_env_opts;

/* Opens or creates. BR_OK: the caller owns *out (br_env_close). BR_ERR_IN_USE: another process has
 * it, named by pid and host. BR_ERR_IO: directory or disk, with path and errno. A damaged file is
 * renamed to data.mdb.damaged-<ms>, reported through br_env_discarded, and a new one begun. */
BR_MUST_USE br_status br_env_open(br_env **out, const br_env_opts *opts, br_err *err);
/* clean: syncs to disk and leaves the clean-close mark. NULL is fine. */
void br_env_close(br_env *env, bool clean);
/* Why what was on disk was not used (a sentence), or NULL. Borrows until close. */
const char *br_env_discarded(const br_env *env);
/* Throws all rows and the checkpoint away (the changelog no longer reaches back to it). */
BR_MUST_USE br_status br_env_wipe(br_env *env, br_err *err);

/* The checkpoint as it is stored: borrows until the next br_env_write or close; NULL: none yet. */
const Brine__State__Checkpoint *br_env_checkpoint(const br_env *env);

/* BR_OK: *val borrows until the next br_env_write or close. BR_NOT_FOUND: err untouched. Keys of
 * any length up to BR_GROUP_KEY_BYTES_MAX plus a window: those beyond LMDB's limit are stored under
 * a hash with the whole key in Row.key, which this layer adds and takes away. */
BR_MUST_USE br_status br_env_get(br_env *env, size_t store, br_bytes key, br_bytes *val,
                                 br_err *err);
/* Rows in a store. */
uint64_t br_env_rows(br_env *env, size_t store);

/* One write transaction: begins, calls fill, commits. Where the map is full it is doubled and fill
 * called again, so fill must be repeatable. fill's failure aborts. checkpoint: written with it,
 * with this format and boot id, and the open's wall time where it has none; NULL: the stored one
 * stays. Inside fill, br_env_get and br_env_scan do not work: br_env_txn_get does.
 * BR_ERR_LIMIT: the map's bound. BR_ERR_IO: disk full and the like, with path and errno. */
typedef br_status (*br_env_fill)(void *arg, br_env_txn *txn, br_err *err);
BR_MUST_USE br_status br_env_write(br_env *env, br_env_fill fill, void *arg,
                                   const Brine__State__Checkpoint *checkpoint, br_err *err);
/* Inside fill. An internal status (map full) may come back: return it unchanged. */
BR_MUST_USE br_status br_env_put(br_env_txn *txn, size_t store, br_bytes key, br_bytes val,
                                 br_err *err);
BR_MUST_USE br_status br_env_delete(br_env_txn *txn, size_t store, br_bytes key, br_err *err);
/* Inside fill: reads what the transaction sees; *val borrows until its next put or delete. */
BR_MUST_USE br_status br_env_txn_get(br_env_txn *txn, size_t store, br_bytes key, br_bytes *val,
                                     br_err *err);

/* Visits rows in the order of their stored keys from the first whose key is >= from (BR_NO_BYTES:
 * all); long keys come at the end, in the order of their hashes. visit returns BR_END to stop (the
 * scan then returns BR_OK), or a failure. key and val borrow until visit returns; visit must not
 * write. */
typedef br_status (*br_env_visit)(void *arg, br_bytes key, br_bytes val, br_err *err);
BR_MUST_USE br_status br_env_scan(br_env *env, size_t store, br_bytes from, br_env_visit visit,
                                  void *arg, br_err *err);

/* Opens an environment for reading beside a running worker: no lock, no discarding, stores by the
 * names found in its checkpoint. BR_NOT_FOUND: no environment there. Sees the last commit as of the
 * open. Close with br_env_close(env, false). */
BR_MUST_USE br_status br_env_peek(br_env **out, const char *dir, br_err *err);
/* Index of the store with this operator id, or -1. */
int br_env_store_index(const br_env *env, const char *id);
/* Its opposite; borrows env. */
const char *br_env_store_id(const br_env *env, size_t store);

#endif
