/* state/env.c - reading an environment. See env.h. */
#include "state/env.h"

#include "state/checkpoint.h"
#include "state/env_internal.h"
#include "state/long_key.h"
#include "runtime/base/disk.h"

br_status br_env_fail(const br_env *env, int rc, const char *what, br_err *err)
{
    const char *path = env->data_file;
    rc = br_disk_error(rc, path);
    if (rc > 0) return br_fail_errno(err, BR_ERR_IO, rc, "%s: %s", path, what);
    br_status status = BR_ERR_CORRUPT;
    if (rc == MDB_MAP_FULL || rc == MDB_TXN_FULL || rc == MDB_READERS_FULL || rc == MDB_DBS_FULL)
        status = BR_ERR_LIMIT;
    (void)br_fail(err, status, "%s: %s: %s", path, what, mdb_strerror(rc));
    err->cause = rc;
    return status;
}

br_status br_env_refresh(br_env *env, br_err *err)
{
    if (env->reading) mdb_txn_reset(env->read_txn);
    env->reading = false;
    int rc = env->read_txn ? mdb_txn_renew(env->read_txn)
                           : mdb_txn_begin(env->mdb, NULL, MDB_RDONLY, &env->read_txn);
    if (rc != 0) return br_env_fail(env, rc, "cannot begin to read", err);
    env->reading = true;
    for (size_t i = 0; i < env->store_count; i++) {
        MDB_stat stat;
        rc = mdb_stat(env->read_txn, env->stores[i].dbi, &stat);
        if (rc != 0) return br_env_fail(env, rc, "cannot count rows", err);
        env->stores[i].rows = stat.ms_entries;
    }
    return BR_OK;
}

br_status br_env_load_checkpoint(br_env *env, br_err *err)
{
    MDB_val key = br_mdb_val(BR_LITERAL(BR_ENV_CHECKPOINT_KEY)), val;
    br_checkpoint_free(env->checkpoint);
    env->checkpoint = NULL;
    int rc = mdb_get(env->read_txn, env->checkpoint_dbi, &key, &val);
    if (rc == MDB_NOTFOUND) return BR_OK;
    if (rc != 0) return br_env_fail(env, rc, "cannot read the checkpoint", err);
    env->checkpoint = br_checkpoint_unpack(br_bytes_of(val.mv_data, val.mv_size));
    if (env->checkpoint) return BR_OK;
    return br_fail(err, BR_ERR_CORRUPT, "%s: its checkpoint cannot be read", env->data_file);
}

static br_status check_readable(const br_env *env, br_err *err)
{
    if (env->reading) return BR_OK;
    return br_fail(err, BR_ERR_IO, "%s cannot be read after an earlier failure; open it again",
                   env->dir.path);
}

br_status br_env_strip(const br_env *env, br_bytes key, MDB_val stored, br_bytes *val, br_err *err)
{
    *val = br_bytes_of(stored.mv_data, stored.mv_size);
    if (br_key_is_plain(key)) return BR_OK;
    br_bytes found;
    if (!br_long_key_split(*val, &found, val))
        return br_fail(err, BR_ERR_CORRUPT, "%s: a row under a key's hash does not say its key",
                       env->data_file);
    if (!br_bytes_equal(found, key))
        return br_fail(err, BR_ERR_CORRUPT,
                       "%s: two keys of %zu and %zu bytes have the same 128-bit hash",
                       env->data_file, key.len, found.len);
    return BR_OK;
}

br_status br_env_get(br_env *env, size_t store, br_bytes key, br_bytes *val, br_err *err)
{
    BR_ASSERT(store < env->store_count);
    br_status status = check_readable(env, err);
    if (status != BR_OK) return status;
    char room[BR_LONG_KEY_BYTES];
    MDB_val stored_key = br_mdb_val(br_stored_key(key, room)), stored;
    int rc = mdb_get(env->read_txn, env->stores[store].dbi, &stored_key, &stored);
    if (rc == MDB_NOTFOUND) return BR_NOT_FOUND;
    if (rc != 0) return br_env_fail(env, rc, "cannot read a row", err);
    return br_env_strip(env, key, stored, val, err);
}

uint64_t br_env_rows(br_env *env, size_t store)
{
    BR_ASSERT(store < env->store_count);
    return env->stores[store].rows;
}

static br_status visit_row(const br_env *env, MDB_val key, MDB_val val, br_env_visit visit,
                           void *arg, br_err *err)
{
    br_bytes k = br_bytes_of(key.mv_data, key.mv_size), v = br_bytes_of(val.mv_data, val.mv_size);
    if (br_stored_key_is_long(k) && !br_long_key_split(v, &k, &v))
        return br_fail(err, BR_ERR_CORRUPT, "%s: a row under a key's hash does not say its key",
                       env->data_file);
    return visit(arg, k, v, err);
}

br_status br_env_scan(br_env *env, size_t store, br_bytes from, br_env_visit visit, void *arg,
                      br_err *err)
{
    BR_ASSERT(store < env->store_count);
    br_status status = check_readable(env, err);
    if (status != BR_OK) return status;
    char room[BR_LONG_KEY_BYTES];
    MDB_val key = {0}, val;
    if (from.data) key = br_mdb_val(br_stored_key(from, room));
    MDB_cursor *cursor;
    int rc = mdb_cursor_open(env->read_txn, env->stores[store].dbi, &cursor);
    if (rc != 0) return br_env_fail(env, rc, "cannot begin to scan", err);
    rc = mdb_cursor_get(cursor, &key, &val, from.data ? MDB_SET_RANGE : MDB_FIRST);
    while (rc == 0 && status == BR_OK) {
        status = visit_row(env, key, val, visit, arg, err);
        if (status == BR_OK) rc = mdb_cursor_get(cursor, &key, &val, MDB_NEXT);
    }
    mdb_cursor_close(cursor);
    if (rc != 0 && rc != MDB_NOTFOUND) return br_env_fail(env, rc, "cannot go on scanning", err);
    return status == BR_END ? BR_OK : status;
}

const char *br_env_discarded(const br_env *env)
{
    return env->discarded;
}

const Brine__State__Checkpoint *br_env_checkpoint(const br_env *env)
{
    return env->checkpoint;
}

int br_env_store_index(const br_env *env, const char *id)
{
    for (size_t i = 0; i < env->store_count; i++)
        if (strcmp(env->stores[i].id, id) == 0) return (int)i;
    return -1;
}

const char *br_env_store_id(const br_env *env, size_t store)
{
    BR_ASSERT(store < env->store_count);
    return env->stores[store].id;
}
