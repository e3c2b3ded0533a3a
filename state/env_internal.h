/* state/env_internal.h - what env.c, env_open.c and env_write.c share; nobody else includes it.
 * Invariant: `reading` says whether the read transaction is live. It is reset while the environment
 *            is written (LMDB moves the map only with no transaction open) and renewed after it. */
#ifndef BR_STATE_ENV_INTERNAL_H
#define BR_STATE_ENV_INTERNAL_H

#include "state/env.h"
#include "state/env_dir.h"

#include <lmdb.h>

typedef struct br_env_store {
    char *id;
    MDB_dbi dbi;
    uint64_t rows;
} br_env_store;

struct br_env {
    br_env_dir dir;
    char *data_file;
    MDB_env *mdb; /* NULL only while it is opened, and after a wipe that failed */
    MDB_txn *read_txn;
    bool reading;
    bool read_only;
    br_env_store *stores;
    size_t store_count;
    MDB_dbi checkpoint_dbi;
    Brine__State__Checkpoint *checkpoint; /* NULL: none */
    char boot_id[BR_BOOT_ID_MAX];
    int64_t now_ms;
    int64_t age_max_ms;
    uint64_t map_bytes, map_bytes_max;
    bool marked_clean; /* as found at open */
    bool unmarked;     /* the mark is gone: this environment may be written */
    ino_t data_inode;
    char *discarded;
};

#define BR_ENV_CHECKPOINT_DB "@checkpoint" /* no operator id begins with @ */
#define BR_ENV_CHECKPOINT_KEY "checkpoint"

/* "<directory>: what: LMDB's or the system's words". */
br_status br_env_fail(const br_env *env, int rc, const char *what, br_err *err);
/* Makes the read transaction see the last commit, and counts rows again. */
BR_MUST_USE br_status br_env_refresh(br_env *env, br_err *err);
/* Before the first write: takes the clean-close mark away, durably. */
BR_MUST_USE br_status br_env_unmark(br_env *env, br_err *err);
/* Reads the checkpoint again. BR_ERR_CORRUPT: it is none. */
BR_MUST_USE br_status br_env_load_checkpoint(br_env *env, br_err *err);
/* val, as LMDB gave it for key, without the key in front of a long one. */
BR_MUST_USE br_status br_env_strip(const br_env *env, br_bytes key, MDB_val stored, br_bytes *val,
                                   br_err *err);

static inline MDB_val br_mdb_val(br_bytes bytes)
{
    return (MDB_val){.mv_size = bytes.len, .mv_data = (void *)(uintptr_t)bytes.data};
}

#endif
