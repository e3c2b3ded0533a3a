/* tests/unit/state/test_env_crash.c - kill -9 and full disks. */
#include "unit/state/child.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>

enum { KEYS = 500 };

typedef struct generation {
    uint64_t number;
} generation;

static br_status put_generation(void *arg, br_env_txn *txn, br_err *err)
{
    const generation *now = arg;
    br_status status = BR_OK;
    for (uint64_t i = 0; status == BR_OK && i < KEYS; i++) {
        char key[8], val[8];
        br_put_u64_be(key, i);
        br_put_u64_be(val, now->number);
        status = br_env_put(txn, i % 2, br_bytes_of(key, 8), br_bytes_of(val, 8), err);
    }
    return status;
}

static br_status write_generation(fixture *f, uint64_t number)
{
    generation now = {number};
    Brine__State__Checkpoint checkpoint = BRINE__STATE__CHECKPOINT__INIT;
    checkpoint.has_next_offset = true;
    checkpoint.next_offset = (int64_t)number;
    return br_env_write(f->env, put_generation, &now, &checkpoint, &f->err);
}

/* All rows are of the generation that the checkpoint names; returns it. */
static uint64_t check_generation(fixture *f)
{
    const Brine__State__Checkpoint *checkpoint = br_env_checkpoint(f->env);
    uint64_t number = checkpoint ? (uint64_t)checkpoint->next_offset : 0;
    assert_int_equal(br_env_rows(f->env, 0) + br_env_rows(f->env, 1), checkpoint ? KEYS : 0);
    for (uint64_t i = 0; checkpoint && i < KEYS; i++) {
        char key[8], val[8];
        br_put_u64_be(key, i);
        br_put_u64_be(val, number);
        check_row(f, i % 2, br_bytes_of(key, 8), br_bytes_of(val, 8));
    }
    return number;
}

static int write_for_ever(fixture *f, int say)
{
    open_env(f);
    for (uint64_t number = check_generation(f) + 1;; number++) {
        check_ok(f, write_generation(f, number));
        if (write(say, "x", 1) != 1) return 1;
    }
}

static void env__killed_while_writing__rows_and_checkpoint_agree(void **state)
{
    /* After kill -9 anywhere, the rows are exactly those of the checkpoint. FAULTS 4. */
    fixture *f = *state;
    br_rng rng = {new_seed(__func__)};
    uint64_t reached = 0;
    for (int round = 0; round < 25; round++) {
        child writer = child_start(f, write_for_ever);
        uint64_t commits = br_rng_below(&rng, 20), heard = 0;
        while (heard < commits && child_heard(&writer)) heard++;
        assert_int_equal(heard, commits);
        /* Somewhere in the next commit: a busy wait of random length, no clock. */
        for (volatile uint64_t spin = br_rng_below(&rng, 1000000); spin > 0; spin--) continue;
        assert_int_equal(child_kill(&writer), -SIGKILL);
        open_env(f);
        assert_null(br_env_discarded(f->env));
        uint64_t now = check_generation(f);
        assert_true(now >= reached + commits);
        reached = now;
        close_env(f, false);
    }
}

enum { FULL_ROWS = 5000, CHILD_SKIPS = 77 };

static br_status put_wide_rows(void *arg, br_env_txn *txn, br_err *err)
{
    (void)arg;
    br_status status = BR_OK;
    char key[500];
    memset(key, 'k', sizeof(key));
    for (uint64_t i = 0; status == BR_OK && i < FULL_ROWS; i++) {
        br_put_u64_be(key, i);
        status = br_env_put(txn, 0, br_bytes_of(key, sizeof(key)), BR_LITERAL("1"), err);
    }
    return status;
}

/* In a child, on a disk that has room for less than the rows: fails whole, then works. */
static int fill_the_disk(fixture *f, int cause, void (*make_room)(fixture *))
{
    Brine__State__Checkpoint checkpoint = BRINE__STATE__CHECKPOINT__INIT;
    open_env(f);
    if (put_row(f, 1, BR_LITERAL("a"), BR_LITERAL("1")) != BR_OK) return 1;
    br_status status = br_env_write(f->env, put_wide_rows, NULL, &checkpoint, &f->err);
    if (status != BR_ERR_IO || (f->err.cause != cause && f->err.cause != EIO)) return 2;
    if (!strstr(f->err.message, f->dir)) return 3;
    if (br_env_rows(f->env, 0) != 0 || br_env_rows(f->env, 1) != 1) return 4;
    make_room(f);
    close_env(f, false);
    open_env(f);
    if (br_env_discarded(f->env) || br_env_rows(f->env, 1) != 1) return 5;
    if (br_env_write(f->env, put_wide_rows, NULL, &checkpoint, &f->err) != BR_OK) return 6;
    int result = br_env_rows(f->env, 0) == FULL_ROWS ? 0 : 7;
    close_env(f, true);
    return result;
}

static void lift_limit(fixture *f)
{
    (void)f;
    struct rlimit none = {RLIM_INFINITY, RLIM_INFINITY};
    if (setrlimit(RLIMIT_FSIZE, &none) != 0) _exit(8);
}

static int fill_limited_file(fixture *f, int say)
{
    (void)say;
    (void)signal(SIGXFSZ, SIG_IGN);
    struct rlimit limit = {1 << 20, RLIM_INFINITY};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 9;
    return fill_the_disk(f, EFBIG, lift_limit);
}

static void write__file_may_not_grow__io_error_and_nothing_lost(void **state)
{
    /* A write that the system cuts short fails whole with path and errno. FAULTS 57. */
    fixture *f = *state;
    child filler = child_start(f, fill_limited_file);
    assert_int_equal(child_end(&filler), 0);
}

static void enlarge_mount(fixture *f)
{
    if (mount("none", f->dir, "tmpfs", MS_REMOUNT, "size=64m") != 0) _exit(8);
}

static int fill_small_mount(fixture *f, int say)
{
    (void)say;
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mkdir(f->dir, 0700) != 0 || mount("none", f->dir, "tmpfs", 0, "size=1m") != 0)
        return CHILD_SKIPS;
    return fill_the_disk(f, ENOSPC, enlarge_mount);
}

static void write__disk_full__io_error_and_nothing_lost(void **state)
{
    /* On a full disk: no signal, path and ENOSPC in the message, all well after. FAULTS 57. */
    fixture *f = *state;
    child filler = child_start(f, fill_small_mount);
    int result = child_end(&filler);
    if (result == CHILD_SKIPS) skip(); /* mounting needs root */
    assert_int_equal(result, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(env__killed_while_writing__rows_and_checkpoint_agree),
        TEST(write__file_may_not_grow__io_error_and_nothing_lost),
        TEST(write__disk_full__io_error_and_nothing_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
