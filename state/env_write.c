/* state/env_write.c - writing an environment: one transaction, repeated where the map must grow.
 * Order:     1. the clean-close mark goes, durably, before the first write
 *            2. the read transaction is reset: the map can only move with none open
 *            3. fill, checkpoint, commit; map full: abort, double the map, again from 3
 *            4. the read transaction is renewed */
#include "state/checkpoint.h"
#include "state/env_internal.h"
#include "state/long_key.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

struct br_env_txn {
    br_env *env;
    MDB_txn *mdb;
    bool map_full; /* whatever fill makes of it, the transaction is done again */
    /* Stands where the last row was put: rows come sorted, so most are on the same page or the
     * next, and need no walk from the root. */
    MDB_cursor *cursor;
    MDB_dbi cursor_dbi;
};

/* The directory may have been removed under us (a cleaner of /tmp): writing on would look fine and
 * keep nothing. */
static br_status check_still_there(const br_env *env, br_err *err)
{
    struct stat at;
    int failure = stat(env->data_file, &at) == 0 ? 0 : errno;
    if (failure == 0 && at.st_ino == env->data_inode) return BR_OK;
    return br_fail_errno(err, BR_ERR_IO, failure ? failure : ESTALE,
                         "%s was removed or replaced while in use; start again, its state is then "
                         "restored",
                         env->data_file);
}

br_status br_env_unmark(br_env *env, br_err *err)
{
    br_status status = env->unmarked ? BR_OK : br_env_dir_unmark(&env->dir, err);
    if (status == BR_OK) env->unmarked = true;
    return status;
}

static br_status begin_writing(br_env *env, br_err *err)
{
    BR_ASSERT(!env->read_only);
    if (!env->mdb)
        return br_fail(err, BR_ERR_IO, "%s is not open after an earlier failure", env->data_file);
    br_status status = check_still_there(env, err);
    if (status == BR_OK) status = br_env_unmark(env, err);
    if (status != BR_OK) return status;
    /* A reader that was killed must not keep old pages from being used again. */
    int rc = mdb_reader_check(env->mdb, NULL);
    return rc == 0 ? BR_OK : br_env_fail(env, rc, "cannot look at its readers", err);
}

static br_status fail_put(br_env_txn *txn, int rc, br_err *err)
{
    if (rc == MDB_MAP_FULL) txn->map_full = true;
    return br_env_fail(txn->env, rc, "cannot write", err);
}

static br_status put_checkpoint(br_env_txn *txn, const Brine__State__Checkpoint *checkpoint,
                                br_err *err)
{
    br_env *env = txn->env;
    br_buf packed = {0};
    br_checkpoint_pack(checkpoint, env->boot_id, env->now_ms, &packed);
    MDB_val key = br_mdb_val(BR_LITERAL(BR_ENV_CHECKPOINT_KEY));
    MDB_val val = br_mdb_val(br_buf_bytes(&packed));
    int rc = mdb_put(txn->mdb, env->checkpoint_dbi, &key, &val, 0);
    br_buf_dispose(&packed);
    return rc == 0 ? BR_OK : fail_put(txn, rc, err);
}

/* One try. *map_full: the map is to grow, and the status is not to be looked at. */
static br_status try_write(br_env *env, br_env_fill fill, void *arg,
                           const Brine__State__Checkpoint *checkpoint, bool *map_full, br_err *err)
{
    br_env_txn txn = {.env = env};
    *map_full = false;
    int rc = mdb_txn_begin(env->mdb, NULL, 0, &txn.mdb);
    if (rc != 0) return br_env_fail(env, rc, "cannot begin to write", err);
    br_status status = fill(arg, &txn, err);
    if (status == BR_OK && !txn.map_full && checkpoint)
        status = put_checkpoint(&txn, checkpoint, err);
    if (txn.cursor) mdb_cursor_close(txn.cursor);
    if (status != BR_OK || txn.map_full) {
        mdb_txn_abort(txn.mdb);
    } else {
        rc = mdb_txn_commit(txn.mdb);
        if (rc != 0) status = fail_put(&txn, rc, err);
    }
    *map_full = txn.map_full;
    return status;
}

static br_status grow_map(br_env *env, br_err *err)
{
    uint64_t grown = env->map_bytes * 2;
    if (env->map_bytes_max != 0 && grown > env->map_bytes_max) grown = env->map_bytes_max;
    if (grown <= env->map_bytes)
        return br_fail(err, BR_ERR_LIMIT,
                       "%s: state full: it needs more than the %llu bytes allowed; raise the bound "
                       "and start again",
                       env->data_file, (unsigned long long)env->map_bytes);
    int rc = mdb_env_set_mapsize(env->mdb, grown);
    if (rc == 0) {
        env->map_bytes = grown;
        return BR_OK;
    }
    br_status status = br_env_fail(env, rc, "cannot map more memory", err);
    /* LMDB has unmapped the file already; without a map the environment is closed to readers. */
    if (mdb_env_set_mapsize(env->mdb, env->map_bytes) != 0) {
        mdb_txn_abort(env->read_txn);
        env->read_txn = NULL;
        mdb_env_close(env->mdb);
        env->mdb = NULL;
    }
    return status;
}

br_status br_env_write(br_env *env, br_env_fill fill, void *arg,
                       const Brine__State__Checkpoint *checkpoint, br_err *err)
{
    br_status status = begin_writing(env, err);
    if (status != BR_OK) return status;
    if (env->reading) mdb_txn_reset(env->read_txn);
    env->reading = false;
    bool map_full;
    do {
        status = try_write(env, fill, arg, checkpoint, &map_full, err);
        if (map_full) status = grow_map(env, err);
    } while (map_full && status == BR_OK);
    if (!env->mdb) return status;
    br_err second;
    br_status renewed = br_env_refresh(env, &second);
    if (status == BR_OK && renewed == BR_OK && checkpoint)
        renewed = br_env_load_checkpoint(env, &second);
    if (status != BR_OK || renewed == BR_OK) return status;
    *err = second;
    return renewed;
}

/* ---- inside fill ---- */

static br_status txn_lookup(br_env_txn *txn, size_t store, br_bytes key, br_bytes *val, br_err *err)
{
    char room[BR_LONG_KEY_BYTES];
    MDB_val stored_key = br_mdb_val(br_stored_key(key, room)), stored;
    int rc = mdb_get(txn->mdb, txn->env->stores[store].dbi, &stored_key, &stored);
    if (rc == MDB_NOTFOUND) return BR_NOT_FOUND;
    if (rc != 0) return br_env_fail(txn->env, rc, "cannot read a row", err);
    return br_env_strip(txn->env, key, stored, val, err);
}

static int put_at_cursor(br_env_txn *txn, MDB_dbi dbi, MDB_val *key, MDB_val *data, unsigned flags)
{
    if (txn->cursor && txn->cursor_dbi != dbi) {
        mdb_cursor_close(txn->cursor);
        txn->cursor = NULL;
    }
    int rc = txn->cursor ? 0 : mdb_cursor_open(txn->mdb, dbi, &txn->cursor);
    txn->cursor_dbi = dbi;
    return rc == 0 ? mdb_cursor_put(txn->cursor, key, data, flags) : rc;
}

static br_status put_long(br_env_txn *txn, MDB_dbi dbi, MDB_val stored_key, br_bytes key,
                          br_bytes val, br_err *err)
{
    char prefix[BR_LONG_KEY_PREFIX_MAX];
    size_t prefix_len = br_long_key_prefix(key.len, prefix);
    MDB_val room = {.mv_size = prefix_len + key.len + val.len};
    int rc = put_at_cursor(txn, dbi, &stored_key, &room, MDB_RESERVE);
    if (rc != 0) return fail_put(txn, rc, err);
    char *at = room.mv_data;
    memcpy(at, prefix, prefix_len);
    if (key.len > 0) memcpy(at + prefix_len, key.data, key.len);
    if (val.len > 0) memcpy(at + prefix_len + key.len, val.data, val.len);
    return BR_OK;
}

/* Appends where the store was empty at first: rows come sorted then, and a page that is appended to
 * is never split. A row out of order is put as usual. */
static int put_plain(br_env_txn *txn, size_t store, MDB_val key, br_bytes val)
{
    const br_env_store *at = &txn->env->stores[store];
    MDB_val data = br_mdb_val(val);
    int rc = MDB_KEYEXIST;
    if (at->rows == 0) rc = put_at_cursor(txn, at->dbi, &key, &data, MDB_APPEND);
    if (rc == MDB_KEYEXIST) rc = put_at_cursor(txn, at->dbi, &key, &data, 0);
    return rc;
}

br_status br_env_put(br_env_txn *txn, size_t store, br_bytes key, br_bytes val, br_err *err)
{
    BR_ASSERT(store < txn->env->store_count);
    char room[BR_LONG_KEY_BYTES];
    MDB_val stored_key = br_mdb_val(br_stored_key(key, room));
    if (br_key_is_plain(key)) {
        int rc = put_plain(txn, store, stored_key, val);
        return rc == 0 ? BR_OK : fail_put(txn, rc, err);
    }
    br_bytes old;
    br_status status = txn_lookup(txn, store, key, &old, err); /* another key of the same hash? */
    if (status < 0) return status;
    return put_long(txn, txn->env->stores[store].dbi, stored_key, key, val, err);
}

br_status br_env_delete(br_env_txn *txn, size_t store, br_bytes key, br_err *err)
{
    BR_ASSERT(store < txn->env->store_count);
    br_bytes old;
    br_status status = txn_lookup(txn, store, key, &old, err);
    if (status != BR_OK) return status == BR_NOT_FOUND ? BR_OK : status;
    char room[BR_LONG_KEY_BYTES];
    MDB_val stored_key = br_mdb_val(br_stored_key(key, room));
    int rc = mdb_del(txn->mdb, txn->env->stores[store].dbi, &stored_key, NULL);
    return rc == 0 ? BR_OK : fail_put(txn, rc, err);
}

br_status br_env_txn_get(br_env_txn *txn, size_t store, br_bytes key, br_bytes *val, br_err *err)
{
    BR_ASSERT(store < txn->env->store_count);
    return txn_lookup(txn, store, key, val, err);
}
