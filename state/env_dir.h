/* state/env_dir.h - an environment's directory: made, locked, and marked as cleanly closed.
 * Files:     lock   held (flock) by the owner for life; says pid and host
 *            clean  there while data.mdb is synced and unchanged since; says its last
 *                         transaction, so that the mark of another file is not believed
 * Invariant: one owner per directory, whatever path it is reached by, also within one process; a
 *            killed owner's lock is gone with it.
 * Thread:    any; the list of open environments is shared by a mutex. */
#ifndef BR_STATE_ENV_DIR_H
#define BR_STATE_ENV_DIR_H

#include "runtime/base/bytes.h"

#include <sys/types.h>

/* An environment that this process has open. LMDB must never open one twice in a process: closing
 * the second would drop the first one's file locks. */
typedef struct br_env_claim {
    struct br_env_claim *next;
    dev_t device;
    ino_t inode;
    bool held;
} br_env_claim;

typedef struct br_env_dir {
    char *path;
    br_env_claim claim;
    int lock_fd; /* -1: not the owner */
} br_env_dir;

enum { BR_BOOT_ID_MAX = 64 };

/* Makes the directory and its parents (0700) and takes its lock. BR_ERR_IN_USE, BR_ERR_IO. */
BR_MUST_USE br_status br_env_dir_own(br_env_dir *dir, const char *path, br_err *err);
/* For reading beside an owner in another process. BR_NOT_FOUND: no such directory. */
BR_MUST_USE br_status br_env_dir_visit(br_env_dir *dir, const char *path, br_err *err);
/* Frees, and gives the lock back. After LMDB has closed its files. */
void br_env_dir_release(br_env_dir *dir);
/* `name` inside the directory; owned by the caller. */
char *br_env_dir_file(const br_env_dir *dir, const char *name);

/* Whether the mark is there and names this transaction. */
bool br_env_dir_is_clean(const br_env_dir *dir, uint64_t txn_id);
/* Durable when it returns. */
BR_MUST_USE br_status br_env_dir_mark_clean(const br_env_dir *dir, uint64_t txn_id, br_err *err);
/* Durable when it returns; fine where there is no mark. */
BR_MUST_USE br_status br_env_dir_unmark(const br_env_dir *dir, br_err *err);

/* The machine's boot id: another one means that the page cache did not survive. */
BR_MUST_USE br_status br_boot_id(char out[BR_BOOT_ID_MAX], br_err *err);

#endif
