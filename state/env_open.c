/* state/env_open.c - an environment's life: open, discard what cannot be trusted, wipe, close.
 * Shape:     own the directory -> check the file -> LMDB -> judge the checkpoint -> stores
 * Invariant: LMDB never maps a file that env_check.h has not found whole. */
#include "runtime/base/alloc.h"
#include "runtime/base/logger.h"
#include "state/checkpoint.h"
#include "state/env_check.h"
#include "state/env_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PEEK_TRIES = 100 };
#define MAP_BYTES_DEFAULT ((uint64_t)1 << 30)

static uint64_t whole_pages(uint64_t bytes)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    return bytes / page * page;
}

static void say_discarded(br_env *env, const char *why)
{
    br_buf text = {0};
    br_buf_printf(&text, "the state in %s was not used: %s", env->dir.path, why);
    br_free(env->discarded);
    env->discarded = br_strdup(br_buf_cstr(&text));
    br_buf_dispose(&text);
}

/* ---- LMDB ---- */

static void report_assert(MDB_env *mdb, const char *message)
{
    br_log_line(BR_ERROR, "LMDB found its own state broken and ends the process", " dir=%s what=%s",
                (const char *)mdb_env_get_userctx(mdb), message);
}

static void close_mdb(br_env *env)
{
    if (env->read_txn) mdb_txn_abort(env->read_txn);
    if (env->mdb) mdb_env_close(env->mdb);
    env->read_txn = NULL;
    env->mdb = NULL;
    env->reading = false;
    br_checkpoint_free(env->checkpoint);
    env->checkpoint = NULL;
}

static br_status open_mdb(br_env *env, unsigned stores, unsigned flags, br_err *err)
{
    int rc = mdb_env_create(&env->mdb);
    if (rc == 0) rc = mdb_env_set_maxdbs(env->mdb, stores + 1);
    if (rc == 0) rc = mdb_env_set_userctx(env->mdb, env->dir.path);
    if (rc == 0) rc = mdb_env_set_assert(env->mdb, report_assert);
    if (rc == 0 && env->map_bytes > 0) rc = mdb_env_set_mapsize(env->mdb, env->map_bytes);
    if (rc == 0) rc = mdb_env_open(env->mdb, env->dir.path, flags | MDB_NOTLS, 0600);
    if (rc != 0) return br_env_fail(env, rc, "cannot open", err);
    struct stat at;
    if (stat(env->data_file, &at) != 0) return br_env_fail(env, errno, "cannot open", err);
    env->data_inode = at.st_ino;
    MDB_envinfo info;
    rc = mdb_env_info(env->mdb, &info);
    env->map_bytes = info.me_mapsize;
    return rc == 0 ? BR_OK : br_env_fail(env, rc, "cannot open", err);
}

/* Opens the sub-databases; flags MDB_CREATE needs a write transaction. */
static int open_stores(br_env *env, MDB_txn *txn, unsigned flags)
{
    int rc = mdb_dbi_open(txn, BR_ENV_CHECKPOINT_DB, flags, &env->checkpoint_dbi);
    for (size_t i = 0; rc == 0 && i < env->store_count; i++)
        rc = mdb_dbi_open(txn, env->stores[i].id, flags, &env->stores[i].dbi);
    return rc;
}

static int open_stores_in_txn(br_env *env, unsigned txn_flags, unsigned flags)
{
    MDB_txn *txn;
    int rc = mdb_txn_begin(env->mdb, NULL, txn_flags, &txn);
    if (rc != 0) return rc;
    rc = open_stores(env, txn, flags);
    if (rc == 0) return mdb_txn_commit(txn); /* keeps the handles */
    mdb_txn_abort(txn);
    return rc;
}

/* Makes what is missing; a start that changes nothing leaves the clean-close mark alone. */
static br_status attach_stores(br_env *env, br_err *err)
{
    int rc = open_stores_in_txn(env, MDB_RDONLY, 0);
    if (rc == MDB_NOTFOUND) {
        br_status status = br_env_unmark(env, err);
        if (status != BR_OK) return status;
        rc = open_stores_in_txn(env, 0, MDB_CREATE);
    }
    if (rc != 0) return br_env_fail(env, rc, "cannot open its stores", err);
    br_status status = br_env_refresh(env, err);
    return status == BR_OK ? br_env_load_checkpoint(env, err) : status;
}

/* ---- what is on disk ---- */

static br_status remove_file(const br_env *env, const char *name, br_err *err)
{
    char *path = br_env_dir_file(&env->dir, name);
    br_status status = BR_OK;
    if (unlink(path) != 0 && errno != ENOENT)
        status = br_fail_errno(err, BR_ERR_IO, errno, "cannot remove %s", path);
    br_free(path);
    return status;
}

static br_status set_aside(br_env *env, br_err *err)
{
    br_buf path = {0};
    br_buf_printf(&path, "%s.damaged-%" PRId64, env->data_file, env->now_ms);
    br_status status = BR_OK;
    if (rename(env->data_file, br_buf_cstr(&path)) != 0)
        status = br_fail_errno(err, BR_ERR_IO, errno, "cannot rename %s to %s", env->data_file,
                               br_buf_cstr(&path));
    br_buf_dispose(&path);
    return status;
}

/* The mark goes first, so that it can't be taken for one of the new file. */
static br_status discard_files(br_env *env, bool keep_aside, br_err *err)
{
    close_mdb(env);
    br_status status = br_env_unmark(env, err);
    if (status == BR_OK && keep_aside) status = set_aside(env, err);
    if (status == BR_OK) status = remove_file(env, "data.mdb", err);
    return status == BR_OK ? remove_file(env, "lock.mdb", err) : status;
}

static br_status discard_damaged(br_env *env, const br_err *why, br_err *err)
{
    say_discarded(env, why->message);
    return discard_files(env, true, err);
}

/* Finds the file whole, or puts it aside. */
static br_status check_data(br_env *env, br_err *err)
{
    br_env_file file;
    br_status status = br_env_check(env->data_file, 0, &file, err);
    if (status == BR_OK) {
        if (file.map_bytes > env->map_bytes) env->map_bytes = whole_pages(file.map_bytes);
        env->marked_clean = br_env_dir_is_clean(&env->dir, file.txn_id);
        return BR_OK;
    }
    if (status == BR_ERR_CORRUPT) {
        br_err why = *err;
        return discard_damaged(env, &why, err);
    }
    return status == BR_NOT_FOUND ? BR_OK : status;
}

static bool has_rows(const br_env *env)
{
    for (size_t i = 0; i < env->store_count; i++)
        if (env->stores[i].rows > 0) return true;
    return false;
}

/* Whether what the checkpoint covers may be used; *why gets the reason if not. */
static bool is_trusted(const br_env *env, br_buf *why)
{
    const Brine__State__Checkpoint *row = env->checkpoint;
    const char *boot = row && row->boot_id ? row->boot_id : "unknown";
    if (!row && !has_rows(env)) return true;
    if (row && (!row->has_format || row->format != BR_CHECKPOINT_FORMAT))
        br_buf_printf(why, "its checkpoint has format %" PRIu32 ", this brine knows %d",
                      row->format, BR_CHECKPOINT_FORMAT);
    else if (!env->marked_clean && strcmp(boot, env->boot_id) != 0)
        br_buf_printf(why,
                      "it was not closed cleanly and the machine has been started again since "
                      "(boot id %s, now %s), so it may be torn",
                      boot, env->boot_id);
    else if (row && env->age_max_ms > 0 && env->now_ms - row->wall_ms > env->age_max_ms)
        br_buf_printf(why,
                      "its checkpoint is %" PRId64 " ms old; beyond %" PRId64
                      " ms the changelog may have dropped deletions that it never saw",
                      env->now_ms - row->wall_ms, env->age_max_ms);
    return why->len == 0;
}

static br_status begin_anew(br_env *env, br_err *err)
{
    br_status status = open_mdb(env, (unsigned)env->store_count, MDB_NOSYNC, err);
    if (status == BR_OK) status = attach_stores(env, err);
    if (status != BR_OK) close_mdb(env); /* nothing half open may be read or written */
    return status;
}

static br_status open_checked(br_env *env, br_err *err)
{
    br_status status = check_data(env, err);
    if (status == BR_OK) status = begin_anew(env, err);
    if (status == BR_ERR_CORRUPT) {
        br_err why = *err;
        status = discard_damaged(env, &why, err);
        return status == BR_OK ? begin_anew(env, err) : status;
    }
    if (status != BR_OK) return status;
    br_buf why = {0};
    if (!is_trusted(env, &why)) {
        bool newer = env->checkpoint && env->checkpoint->format > BR_CHECKPOINT_FORMAT;
        say_discarded(env, br_buf_cstr(&why));
        status = discard_files(env, newer, err);
        if (status == BR_OK) status = begin_anew(env, err);
    }
    br_buf_dispose(&why);
    return status;
}

/* ---- life cycle ---- */

static void dispose(br_env *env)
{
    close_mdb(env);
    for (size_t i = 0; i < env->store_count; i++) br_free(env->stores[i].id);
    br_free(env->stores);
    br_free(env->data_file);
    br_free(env->discarded);
    br_env_dir_release(&env->dir);
    br_free(env);
}

static void add_store(br_env *env, const char *id)
{
    env->stores[env->store_count++] = (br_env_store){.id = br_strdup(id)};
}

static void set_options(br_env *env, const br_env_opts *opts)
{
    env->data_file = br_env_dir_file(&env->dir, "data.mdb");
    env->now_ms = opts->now_ms;
    env->age_max_ms = opts->age_max_ms;
    env->map_bytes_max = whole_pages(opts->map_bytes_max);
    env->map_bytes = whole_pages(opts->map_bytes ? opts->map_bytes : MAP_BYTES_DEFAULT);
    if (env->map_bytes_max != 0 && env->map_bytes > env->map_bytes_max)
        env->map_bytes = env->map_bytes_max;
    env->stores = br_calloc(opts->store_count, sizeof(*env->stores));
    for (size_t i = 0; i < opts->store_count; i++) add_store(env, opts->store_ids[i]);
}

br_status br_env_open(br_env **out, const br_env_opts *opts, br_err *err)
{
    br_env *env = BR_NEW(br_env);
    br_status status = br_env_dir_own(&env->dir, opts->dir, err);
    if (status == BR_OK) {
        set_options(env, opts);
        status = br_boot_id(env->boot_id, err);
    }
    if (status == BR_OK) status = open_checked(env, err);
    if (status == BR_OK)
        *out = env;
    else
        dispose(env);
    return status;
}

br_status br_env_wipe(br_env *env, br_err *err)
{
    BR_ASSERT(!env->read_only);
    br_status status = discard_files(env, false, err);
    return status == BR_OK ? begin_anew(env, err) : status;
}

static br_status leave_mark(br_env *env, br_err *err)
{
    if (env->marked_clean && !env->unmarked) return BR_OK;
    int rc = mdb_env_sync(env->mdb, 1);
    MDB_envinfo info;
    if (rc == 0) rc = mdb_env_info(env->mdb, &info);
    if (rc != 0) return br_env_fail(env, rc, "cannot sync", err);
    return br_env_dir_mark_clean(&env->dir, info.me_last_txnid, err);
}

void br_env_close(br_env *env, bool clean)
{
    if (!env) return;
    br_err err;
    if (clean && env->mdb && !env->read_only && leave_mark(env, &err) != BR_OK)
        br_log_line(BR_WARN, "state was not closed cleanly", " dir=%s error=\"%s\"", env->dir.path,
                    err.message);
    dispose(env);
}

/* ---- beside a running worker ---- */

/* Begins to read, and checks what is then read; the writer may move on meanwhile. */
static br_status begin_peek(br_env *env, br_err *err)
{
    for (int i = 0; i < PEEK_TRIES; i++) {
        br_status status = br_env_refresh(env, err);
        if (status == BR_ERR_CORRUPT && err->cause == MDB_MAP_RESIZED) {
            int rc = mdb_env_set_mapsize(env->mdb, 0);
            if (rc != 0) return br_env_fail(env, rc, "cannot map it", err);
            continue;
        }
        if (status != BR_OK) return status;
        br_env_file file;
        uint64_t txn_id = mdb_txn_id(env->read_txn);
        if (txn_id == 0) return BR_NOT_FOUND; /* made, but nothing is in it yet */
        status = br_env_check(env->data_file, txn_id, &file, err);
        if (status != BR_NOT_FOUND) return status;
    }
    return br_fail(err, BR_ERR_IO, "%s changes faster than it can be read; try again",
                   env->data_file);
}

static br_status peek_stores(br_env *env, br_err *err)
{
    int rc = mdb_dbi_open(env->read_txn, BR_ENV_CHECKPOINT_DB, 0, &env->checkpoint_dbi);
    if (rc == MDB_NOTFOUND) return BR_NOT_FOUND;
    if (rc != 0) return br_env_fail(env, rc, "cannot open its checkpoint", err);
    br_status status = br_env_load_checkpoint(env, err);
    if (status != BR_OK || !env->checkpoint) return status;
    env->stores = br_calloc(env->checkpoint->n_stores, sizeof(*env->stores));
    for (size_t i = 0; i < env->checkpoint->n_stores; i++) {
        add_store(env, env->checkpoint->stores[i]->id);
        br_env_store *store = &env->stores[i];
        MDB_stat stat;
        rc = mdb_dbi_open(env->read_txn, store->id, 0, &store->dbi);
        if (rc == 0) rc = mdb_stat(env->read_txn, store->dbi, &stat);
        if (rc != 0) return br_env_fail(env, rc, "cannot open a store that it names", err);
        store->rows = stat.ms_entries;
    }
    return BR_OK;
}

static br_status peek(br_env *env, br_err *err)
{
    enum { STORES_MAX = 128 }; /* BR_OPERATORS_MAX: a handle costs a few bytes */
    struct stat at;
    env->data_file = br_env_dir_file(&env->dir, "data.mdb");
    if (stat(env->data_file, &at) != 0)
        return errno == ENOENT ? BR_NOT_FOUND : br_env_fail(env, errno, "cannot open", err);
    env->read_only = true;
    br_status status = open_mdb(env, STORES_MAX, MDB_RDONLY, err);
    if (status == BR_OK) status = begin_peek(env, err);
    return status == BR_OK ? peek_stores(env, err) : status;
}

br_status br_env_peek(br_env **out, const char *dir, br_err *err)
{
    br_env *env = BR_NEW(br_env);
    br_status status = br_env_dir_visit(&env->dir, dir, err);
    if (status == BR_OK) status = peek(env, err);
    if (status == BR_OK)
        *out = env;
    else
        dispose(env);
    return status;
}
