/* tests/unit/state/fixture.h - a temporary folder with an environment of two stores, and the rows
 * and checkpoints that tests put there. */
#ifndef BR_TESTS_UNIT_STATE_FIXTURE_H
#define BR_TESTS_UNIT_STATE_FIXTURE_H

#include "runtime/base/alloc.h"
#include "runtime/base/rng.h"
#include "state/env.h"
#include "state/version.h"
#include "unit/temp_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define NOW_MS 1700000000000
static const char *const store_ids[] = {"first", "second"};

typedef struct fixture {
    char root[256]; /* temporary; removed at the end */
    char dir[300];  /* the environment's */
    br_env *env;
    br_err err;
} fixture;

static inline int set_up(void **state)
{
    fixture *f = BR_NEW(fixture);
    temp_dir_make(f->root, sizeof(f->root), "state");
    (void)snprintf(f->dir, sizeof(f->dir), "%s/env", f->root);
    *state = f;
    return 0;
}

static inline int tear_down(void **state)
{
    fixture *f = *state;
    br_env_close(f->env, false);
    temp_dir_remove(f->root);
    br_free(f);
    return 0;
}

static inline br_env_opts opts_of(const fixture *f)
{
    return (br_env_opts){.dir = f->dir, .store_ids = store_ids, .store_count = 2, .now_ms = NOW_MS};
}

static inline void check_ok(const fixture *f, br_status status)
{
    if (status < 0) fail_msg("%s", f->err.message);
    assert_int_equal(status, BR_OK);
}

static inline void open_env(fixture *f)
{
    br_env_opts opts = opts_of(f);
    check_ok(f, br_env_open(&f->env, &opts, &f->err));
}

static inline void close_env(fixture *f, bool clean)
{
    br_env_close(f->env, clean);
    f->env = NULL;
}

static inline void check_message(const fixture *f, const char *part)
{
    if (!strstr(f->err.message, part)) fail_msg("no \"%s\" in: %s", part, f->err.message);
}

/* ---- rows ---- */

typedef struct put_list {
    size_t store;
    const br_bytes *keys, *vals;
    size_t count;
    unsigned calls;
} put_list;

static inline br_status put_all(void *arg, br_env_txn *txn, br_err *err)
{
    put_list *list = arg;
    list->calls++;
    br_status status = BR_OK;
    for (size_t i = 0; status == BR_OK && i < list->count; i++)
        status = br_env_put(txn, list->store, list->keys[i], list->vals[i], err);
    return status;
}

static inline br_status put_row(fixture *f, size_t store, br_bytes key, br_bytes val)
{
    Brine__State__Checkpoint checkpoint = BRINE__STATE__CHECKPOINT__INIT;
    put_list list = {.store = store, .keys = &key, .vals = &val, .count = 1};
    return br_env_write(f->env, put_all, &list, &checkpoint, &f->err);
}

static inline void check_row(fixture *f, size_t store, br_bytes key, br_bytes expected)
{
    br_bytes val;
    check_ok(f, br_env_get(f->env, store, key, &val, &f->err));
    assert_int_equal(val.len, expected.len);
    assert_memory_equal(val.data, expected.data, expected.len);
}

static inline void check_no_row(fixture *f, size_t store, br_bytes key)
{
    br_bytes val;
    assert_int_equal(br_env_get(f->env, store, key, &val, &f->err), BR_NOT_FOUND);
}

static inline uint64_t new_seed(const char *test)
{
    const char *given = getenv("BR_SEED");
    uint64_t seed = (uint64_t)time(NULL) ^ (uint64_t)getpid();
    if (given) seed = strtoull(given, NULL, 0);
    print_message("%s: BR_SEED=%llu\n", test, (unsigned long long)seed);
    return seed;
}

/* ---- files ---- */

static inline void file_in(const fixture *f, const char *name, char out[400])
{
    (void)snprintf(out, 400, "%s/%s", f->dir, name);
}

static inline off_t file_bytes(const fixture *f, const char *name)
{
    char path[400];
    struct stat at;
    file_in(f, name, path);
    return stat(path, &at) == 0 ? at.st_size : -1;
}

static inline void overwrite(const fixture *f, off_t at, const void *bytes, size_t len)
{
    char path[400];
    file_in(f, "data.mdb", path);
    int fd = open(path, O_WRONLY);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, bytes, len, at), len);
    (void)close(fd);
}

#endif
