/* runtime/log/local_env.c - the embedded log's LMDB file: opening, transactions, growing.
 * Durability: with sync every commit is on disk; without, a kill loses nothing, a power loss may
 *            tear the file. See local.h. */
#include "runtime/log/local.h"

#include "runtime/base/alloc.h"
#include "runtime/base/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

enum {
    DATABASES = 6,
    READERS_MAX = 1024,
};

static const size_t map_bytes_default = (size_t)256 * 1024 * 1024;

static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;
static br_local *open_logs; /* under open_lock */

/* ---- errors ---- */

br_status br_local_fail(const br_local *log, int code, const char *what, br_err *err)
{
    code = br_disk_error(code, log->dir);
    if (code > 0)
        return br_fail_errno(err, BR_ERR_IO, code, "embedded log %s: cannot %s", log->path, what);
    bool damaged = code == MDB_CORRUPTED || code == MDB_PAGE_NOTFOUND || code == MDB_INVALID ||
                   code == MDB_VERSION_MISMATCH;
    br_fail(err, damaged ? BR_ERR_CORRUPT : BR_ERR_IO, "embedded log %s: cannot %s: %s%s",
            log->path, what, mdb_strerror(code),
            damaged ? "; the file is damaged or is not brine's: put back a copy, or move it away "
                      "to begin with an empty log"
                    : "");
    err->cause = code;
    return err->status;
}

/* LMDB found its pages broken in the middle of an operation, and ends the process after this. */
static void on_assert(MDB_env *env, const char *message)
{
    const char *path = "";
    (void)mdb_env_get_path(env, &path);
    fprintf(stderr, "brine: embedded log %s is damaged (%s): put back a copy, or move it away\n",
            path, message);
}

/* ---- opening ---- */

static br_status make_dirs(const char *dir, br_err *err)
{
    char *path = br_strdup(dir);
    int failed = 0;
    for (char *c = path + 1; c > path && failed == 0; c++) {
        char was = *c;
        if (was != '/' && was != '\0') continue;
        *c = '\0';
        if (mkdir(path, 0777) != 0 && errno != EEXIST) failed = errno;
        *c = was;
        if (was == '\0') break;
    }
    br_free(path);
    if (failed)
        return br_fail_errno(err, BR_ERR_IO, failed,
                             "cannot make the folder %s of the embedded log", dir);
    return BR_OK;
}

/* Adds log to the open ones. The file is made here, so that it has an identity. */
static br_status claim(br_local *log, br_err *err)
{
    int fd = open(log->path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0) return br_local_fail(log, errno, "open it", err);
    int failed = fstat(fd, &log->file) != 0 ? errno : 0;
    br_local *same = open_logs;
    while (same && (same->file.st_dev != log->file.st_dev || same->file.st_ino != log->file.st_ino))
        same = same->next;
    /* Closing would drop the locks that this process holds on the file; LMDB's are on another. */
    (void)close(fd);
    if (failed) return br_local_fail(log, failed, "look at it", err);
    if (same)
        return br_fail(err, BR_ERR_IN_USE,
                       "embedded log %s is open already in this process: use that one", log->path);
    log->next = open_logs;
    open_logs = log;
    return BR_OK;
}

static void disclaim(br_local *log)
{
    (void)pthread_mutex_lock(&open_lock);
    for (br_local **at = &open_logs; *at; at = &(*at)->next) {
        if (*at != log) continue;
        *at = log->next;
        break;
    }
    (void)pthread_mutex_unlock(&open_lock);
}

static int open_environment(br_local *log, const br_local_opts *opts)
{
    unsigned flags = MDB_NOSUBDIR | MDB_NOTLS | (opts->sync ? 0 : MDB_NOSYNC);
    int rc = mdb_env_create(&log->env);
    if (rc == 0) rc = mdb_env_set_assert(log->env, on_assert);
    if (rc == 0) rc = mdb_env_set_maxdbs(log->env, DATABASES);
    if (rc == 0) rc = mdb_env_set_maxreaders(log->env, READERS_MAX);
    if (rc == 0 && log->file.st_size == 0) /* an older file knows its size */
        rc = mdb_env_set_mapsize(log->env, opts->map_bytes ? opts->map_bytes : map_bytes_default);
    if (rc == 0) rc = mdb_env_open(log->env, log->path, flags, 0666);
    int dead;
    if (rc == 0) rc = mdb_reader_check(log->env, &dead); /* slots of killed processes */
    return rc;
}

/* Pages that the file does not have would end the process by SIGBUS when they are read. */
static br_status check_size(br_local *log, br_err *err)
{
    MDB_envinfo info;
    MDB_stat stat;
    struct stat file;
    int rc = mdb_env_info(log->env, &info);
    if (rc == 0) rc = mdb_env_stat(log->env, &stat);
    if (rc == 0 && lstat(log->path, &file) != 0) rc = errno;
    if (rc != 0) return br_local_fail(log, rc, "look at it", err);
    uint64_t need = ((uint64_t)info.me_last_pgno + 1) * stat.ms_psize;
    if (info.me_last_txnid == 0 || (uint64_t)file.st_size >= need) return BR_OK;
    return br_fail(err, BR_ERR_CORRUPT,
                   "embedded log %s is cut off: it has %lld bytes and should have %llu; put back a "
                   "copy, or move it away to begin with an empty log",
                   log->path, (long long)file.st_size, (unsigned long long)need);
}

typedef struct opening {
    br_local *log;
    bool foreign;   /* an LMDB file that brine did not make */
    uint32_t found; /* version of the layout */
} opening;

static int check_format(opening *o, MDB_txn *txn)
{
    MDB_val key = {6, (void *)(uintptr_t) "format"}, val;
    MDB_stat stat;
    MDB_dbi names; /* the unnamed database lists the others */
    int rc = mdb_dbi_open(txn, NULL, 0, &names);
    if (rc == 0) rc = mdb_stat(txn, names, &stat);
    if (rc != 0) return rc;
    bool empty = stat.ms_entries == 0;
    rc = mdb_dbi_open(txn, "meta", empty ? MDB_CREATE : 0, &o->log->meta);
    if (rc == 0) rc = mdb_get(txn, o->log->meta, &key, &val);
    if (rc == 0 && val.mv_size == sizeof(o->found))
        memcpy(&o->found, val.mv_data, sizeof(o->found));
    o->foreign = !empty && o->found == 0;
    if (o->foreign && (rc == 0 || rc == MDB_NOTFOUND || rc == MDB_INCOMPATIBLE)) return 0;
    if (rc != MDB_NOTFOUND) return rc;
    o->found = BR_LOCAL_FORMAT;
    val = (MDB_val){sizeof(o->found), &o->found};
    return mdb_put(txn, o->log->meta, &key, &val, 0);
}

static int open_databases(void *arg, MDB_txn *txn)
{
    opening *o = arg;
    *o = (opening){.log = o->log};
    int rc = check_format(o, txn);
    if (rc != 0 || o->foreign || o->found != BR_LOCAL_FORMAT) return rc;
    const struct {
        const char *name;
        MDB_dbi *dbi;
    } all[] = {{"topics", &o->log->topics},
               {"ends", &o->log->ends},
               {"records", &o->log->records},
               {"keys", &o->log->keys},
               {"groups", &o->log->groups}};
    for (size_t i = 0; i < BR_COUNTOF(all) && rc == 0; i++)
        rc = mdb_dbi_open(txn, all[i].name, MDB_CREATE, all[i].dbi);
    return rc;
}

static br_status open_layout(br_local *log, br_err *err)
{
    opening o = {.log = log};
    if (br_local_write(log, open_databases, &o, "read its layout", err) != BR_OK)
        return err->status;
    if (o.foreign)
        return br_fail(err, BR_ERR_CORRUPT,
                       "%s is an LMDB file of another program, not an embedded log: choose another "
                       "folder",
                       log->path);
    if (o.found != BR_LOCAL_FORMAT)
        return br_fail(err, BR_ERR_CONFIG,
                       "embedded log %s has format %u, this brine (%s) knows format %d: use the "
                       "brine that wrote it, or a newer one",
                       log->path, o.found, BR_VERSION, BR_LOCAL_FORMAT);
    return BR_OK;
}

br_status br_local_env_open(br_local *log, const br_local_opts *opts, br_err *err)
{
    br_buf path = {0};
    br_buf_printf(&path, "%s/topics.mdb", opts->dir);
    log->path = br_strdup(br_buf_cstr(&path));
    log->dir = br_strdup(opts->dir);
    br_buf_dispose(&path);
    BR_ASSERT(pthread_rwlock_init(&log->map_lock, NULL) == 0);
    if (make_dirs(opts->dir, err) != BR_OK) return err->status;

    (void)pthread_mutex_lock(&open_lock);
    br_status st = claim(log, err);
    if (st == BR_OK) {
        int rc = open_environment(log, opts);
        if (rc != 0) st = br_local_fail(log, rc, "open it", err);
    }
    (void)pthread_mutex_unlock(&open_lock);
    if (st == BR_OK) st = check_size(log, err);
    if (st == BR_OK) st = open_layout(log, err);
    return st;
}

void br_local_env_close(br_local *log)
{
    if (log->env) mdb_env_close(log->env);
    disclaim(log);
    (void)pthread_rwlock_destroy(&log->map_lock);
    br_free(log->dir);
    br_free(log->path);
}

/* ---- transactions ---- */

/* bytes: 0 takes over what another process made of it. seen: grows only while the map is still that
 * big; another thread may have been first. */
static int resize(br_local *log, size_t bytes, size_t seen)
{
    MDB_envinfo info;
    (void)pthread_rwlock_wrlock(&log->map_lock);
    int rc = log->unmapped ? ENOMEM : mdb_env_info(log->env, &info);
    if (rc == 0 && (bytes == 0 || info.me_mapsize == seen)) {
        rc = mdb_env_set_mapsize(log->env, bytes);
        log->unmapped = rc != 0;
    }
    (void)pthread_rwlock_unlock(&log->map_lock);
    return rc;
}

/* BR_OK: the transaction is open and map_lock is held. */
static br_status begin(br_local *log, unsigned flags, MDB_txn **txn, br_err *err)
{
    for (;;) {
        (void)pthread_rwlock_rdlock(&log->map_lock);
        int rc = log->unmapped ? ENOMEM : mdb_txn_begin(log->env, NULL, flags, txn);
        if (rc == 0) return BR_OK;
        (void)pthread_rwlock_unlock(&log->map_lock);
        if (rc == MDB_MAP_RESIZED) rc = resize(log, 0, 0);
        if (rc != 0) return br_local_fail(log, rc, "begin a transaction", err);
    }
}

br_status br_local_read_begin(br_local *log, MDB_txn **txn, br_err *err)
{
    return begin(log, MDB_RDONLY, txn, err);
}

void br_local_read_end(br_local *log, MDB_txn *txn)
{
    mdb_txn_abort(txn);
    (void)pthread_rwlock_unlock(&log->map_lock);
}

br_status br_local_write(br_local *log, br_local_fill fill, void *arg, const char *what,
                         br_err *err)
{
    for (;;) {
        MDB_txn *txn;
        MDB_envinfo info;
        if (begin(log, 0, &txn, err) != BR_OK) return err->status;
        int rc = mdb_env_info(log->env, &info);
        if (rc == 0) rc = fill(arg, txn);
        if (rc == 0)
            rc = mdb_txn_commit(txn);
        else
            mdb_txn_abort(txn);
        (void)pthread_rwlock_unlock(&log->map_lock);
        if (rc == MDB_MAP_FULL) {
            rc = resize(log, info.me_mapsize * 2, info.me_mapsize);
            if (rc == 0) continue;
        }
        return rc == 0 ? BR_OK : br_local_fail(log, rc, what, err);
    }
}

size_t br_local_commits(br_local *log)
{
    MDB_envinfo info = {0};
    (void)pthread_rwlock_rdlock(&log->map_lock);
    if (!log->unmapped) (void)mdb_env_info(log->env, &info);
    (void)pthread_rwlock_unlock(&log->map_lock);
    return info.me_last_txnid;
}
