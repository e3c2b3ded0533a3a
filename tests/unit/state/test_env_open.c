/* tests/unit/state/test_env_open.c - who may open an environment, and what of it may be used. */
#include "unit/state/child.h"

/* Replaces every occurrence in data.mdb by bytes of the same length. */
static void patch(const fixture *f, br_bytes from, br_bytes to)
{
    char path[400];
    file_in(f, "data.mdb", path);
    off_t len = file_bytes(f, "data.mdb");
    int fd = open(path, O_RDWR);
    char *bytes = br_alloc((size_t)len);
    assert_int_equal(from.len, to.len);
    assert_int_equal(pread(fd, bytes, (size_t)len, 0), len);
    size_t found = 0;
    for (off_t at = 0; at + (off_t)from.len <= len; at++) {
        if (memcmp(bytes + at, from.data, from.len) != 0) continue;
        assert_int_equal(pwrite(fd, to.data, to.len, at), to.len);
        found++;
    }
    assert_true(found > 0);
    br_free(bytes);
    (void)close(fd);
}

/* As if the machine had been started again. */
static void patch_boot_id(const fixture *f)
{
    char now[37], other[37];
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY);
    assert_int_equal(read(fd, now, 36), 36);
    (void)close(fd);
    memcpy(other, now, 36);
    other[0] = now[0] == 'a' ? 'b' : 'a';
    patch(f, br_bytes_of(now, 36), br_bytes_of(other, 36));
}

/* ---- owners ---- */

static void open__twice_in_one_process__second_refused_by_any_path(void **state)
{
    /* LMDB must not be opened twice in a process: trailing slash, symlink, peek. FAULTS 14. */
    fixture *f = *state;
    open_env(f);
    check_ok(f, put_row(f, 0, BR_LITERAL("a"), BR_LITERAL("1")));
    char slash[400], link[400];
    (void)snprintf(slash, sizeof(slash), "%s//", f->dir);
    (void)snprintf(link, sizeof(link), "%s/link", f->root);
    assert_int_equal(symlink(f->dir, link), 0);
    const char *const paths[] = {f->dir, slash, link};
    for (size_t i = 0; i < BR_COUNTOF(paths); i++) {
        br_env_opts opts = opts_of(f);
        br_env *second = NULL;
        opts.dir = paths[i];
        assert_int_equal(br_env_open(&second, &opts, &f->err), BR_ERR_IN_USE);
        check_message(f, "this process");
        assert_int_equal(br_env_peek(&second, paths[i], &f->err), BR_ERR_IN_USE);
    }
    check_ok(f, put_row(f, 0, BR_LITERAL("b"), BR_LITERAL("2")));
    close_env(f, true);
    open_env(f);
    assert_int_equal(br_env_rows(f->env, 0), 2);
}

static int own_and_wait(fixture *f, int say)
{
    open_env(f);
    check_ok(f, put_row(f, 0, BR_LITERAL("a"), BR_LITERAL("1")));
    say_and_wait(say);
    return 0;
}

static void open__owned_by_other_process__in_use_until_it_is_killed(void **state)
{
    /* The refusal names pid and host; a killed owner's lock is not stale. FAULTS 14. */
    fixture *f = *state;
    child owner = child_start(f, own_and_wait);
    assert_true(child_heard(&owner));
    br_env_opts opts = opts_of(f);
    char link[400], pid[32], host[256] = "";
    (void)snprintf(link, sizeof(link), "%s/link", f->root);
    assert_int_equal(symlink(f->dir, link), 0);
    opts.dir = link;
    assert_int_equal(br_env_open(&f->env, &opts, &f->err), BR_ERR_IN_USE);
    (void)snprintf(pid, sizeof(pid), "pid %d ", (int)owner.pid);
    (void)gethostname(host, sizeof(host) - 1);
    check_message(f, pid);
    check_message(f, host);
    check_message(f, link);
    assert_int_equal(child_kill(&owner), -SIGKILL);
    open_env(f);
    assert_null(br_env_discarded(f->env));
    check_row(f, 0, BR_LITERAL("a"), BR_LITERAL("1"));
}

/* ---- peek ---- */

static void peek__nothing_there__not_found(void **state)
{
    /* No directory and a directory without data are both "not found". */
    fixture *f = *state;
    assert_int_equal(br_env_peek(&f->env, f->dir, &f->err), BR_NOT_FOUND);
    assert_int_equal(mkdir(f->dir, 0700), 0);
    assert_int_equal(br_env_peek(&f->env, f->dir, &f->err), BR_NOT_FOUND);
}

static int own_write_and_wait(fixture *f, int say)
{
    Brine__State__StoreCheckpoint store = BRINE__STATE__STORE_CHECKPOINT__INIT, *stores = &store;
    Brine__State__Checkpoint checkpoint = BRINE__STATE__CHECKPOINT__INIT;
    char id[] = "second", keys[2000][8];
    store.id = id;
    checkpoint.n_stores = 1;
    checkpoint.stores = &stores;
    br_env_opts opts = opts_of(f);
    opts.map_bytes = 1 << 20;
    check_ok(f, br_env_open(&f->env, &opts, &f->err));
    for (int round = 0;; round++) {
        char value[1000] = "value";
        br_bytes at[2000], vals[2000];
        for (size_t i = 0; i < 2000; i++) {
            (void)snprintf(keys[i], sizeof(keys[i]), "%zu", i);
            at[i] = br_str(keys[i]);
            vals[i] = br_bytes_of(value, sizeof(value));
        }
        put_list list = {.store = 1, .keys = at, .vals = vals, .count = 2000};
        check_ok(f, br_env_write(f->env, put_all, &list, &checkpoint, &f->err));
        if (round == 0 && write(say, "x", 1) != 1) return 1;
    }
}

static br_status count_row(void *arg, br_bytes key, br_bytes val, br_err *err)
{
    (void)key;
    (void)err;
    assert_int_equal(val.len, 1000);
    assert_memory_equal(val.data, "value", 5);
    (*(size_t *)arg)++;
    return BR_OK;
}

static void peek__beside_a_writer_that_grows_its_map__whole_rows(void **state)
{
    /* A reader in another process sees a whole commit, however much is written. FAULTS 56. */
    fixture *f = *state;
    child owner = child_start(f, own_write_and_wait);
    assert_true(child_heard(&owner));
    for (int i = 0; i < 20; i++) {
        check_ok(f, br_env_peek(&f->env, f->dir, &f->err));
        assert_int_equal(br_env_store_index(f->env, "second"), 0);
        assert_int_equal(br_env_store_index(f->env, "first"), -1);
        assert_string_equal(br_env_store_id(f->env, 0), "second");
        size_t rows = 0;
        check_ok(f, br_env_scan(f->env, 0, BR_NO_BYTES, count_row, &rows, &f->err));
        assert_int_equal(rows, 2000);
        assert_int_equal(br_env_rows(f->env, 0), 2000);
        close_env(f, false);
    }
    assert_int_equal(child_kill(&owner), -SIGKILL);
}

/* ---- what may be used ---- */

static void open__machine_started_again__discarded_unless_closed_cleanly(void **state)
{
    /* Another boot id: a clean close is believed, anything else is discarded with the reason. */
    fixture *f = *state;
    static const struct {
        bool clean, touched; /* touched: opened and written again after the clean close */
        bool kept;
    } cases[] = {{true, false, true}, {false, false, false}, {true, true, false}};
    for (size_t i = 0; i < BR_COUNTOF(cases); i++) {
        open_env(f);
        check_ok(f, put_row(f, 0, BR_LITERAL("a"), BR_LITERAL("1")));
        close_env(f, cases[i].clean);
        if (cases[i].touched) {
            open_env(f);
            check_ok(f, put_row(f, 0, BR_LITERAL("b"), BR_LITERAL("2")));
            close_env(f, false);
        }
        patch_boot_id(f);
        open_env(f);
        assert_int_equal(br_env_rows(f->env, 0), cases[i].kept);
        assert_int_equal(br_env_checkpoint(f->env) != NULL, cases[i].kept);
        assert_int_equal(br_env_discarded(f->env) == NULL, cases[i].kept);
        if (!cases[i].kept) assert_non_null(strstr(br_env_discarded(f->env), "boot id"));
        close_env(f, true);
        temp_dir_remove(f->dir);
    }
}

static void open__opened_and_closed_without_writing__mark_stays(void **state)
{
    /* A start that changes nothing leaves the mark, so a power loss then costs nothing. */
    fixture *f = *state;
    open_env(f);
    check_ok(f, put_row(f, 0, BR_LITERAL("a"), BR_LITERAL("1")));
    close_env(f, true);
    assert_true(file_bytes(f, "clean") > 0);
    open_env(f);
    assert_true(file_bytes(f, "clean") > 0);
    check_ok(f, put_row(f, 0, BR_LITERAL("a"), BR_LITERAL("2")));
    assert_int_equal(file_bytes(f, "clean"), -1);
}

static void open__mark_of_another_file__not_believed(void **state)
{
    /* A mark that names another transaction than the file's last says nothing. */
    fixture *f = *state;
    open_env(f);
    check_ok(f, put_row(f, 0, BR_LITERAL("a"), BR_LITERAL("1")));
    close_env(f, true);
    char path[400];
    file_in(f, "clean", path);
    int fd = open(path, O_WRONLY | O_TRUNC);
    assert_int_equal(write(fd, "99\n", 3), 3);
    (void)close(fd);
    patch_boot_id(f);
    open_env(f);
    assert_non_null(br_env_discarded(f->env));
    assert_int_equal(br_env_rows(f->env, 0), 0);
}

static void open__checkpoint_of_some_age__discarded_beyond_the_bound(void **state)
{
    /* Older than age_max_ms: discarded; exactly that old, or no bound: kept. */
    fixture *f = *state;
    static const struct {
        int64_t age, max;
        bool kept;
    } cases[] = {{1000, 0, true}, {1000, 1000, true}, {1001, 1000, false}, {-5, 1000, true}};
    for (size_t i = 0; i < BR_COUNTOF(cases); i++) {
        open_env(f);
        check_ok(f, put_row(f, 0, BR_LITERAL("a"), BR_LITERAL("1")));
        close_env(f, true);
        br_env_opts opts = opts_of(f);
        opts.now_ms = NOW_MS + cases[i].age;
        opts.age_max_ms = cases[i].max;
        check_ok(f, br_env_open(&f->env, &opts, &f->err));
        assert_int_equal(br_env_rows(f->env, 0), cases[i].kept);
        assert_int_equal(br_env_discarded(f->env) == NULL, cases[i].kept);
        close_env(f, true);
        temp_dir_remove(f->dir);
    }
}

static void open__checkpoint_of_unknown_format__set_aside(void **state)
{
    /* State of a newer brine is not used and not destroyed; nor is one that does not parse. */
    fixture *f = *state;
    static const struct {
        br_bytes patched;
    } cases[] = {{BR_LITERAL("checkpoint\x08\x63")}, {BR_LITERAL("checkpoint\x00\x01")}};
    for (size_t i = 0; i < BR_COUNTOF(cases); i++) {
        open_env(f);
        check_ok(f, put_row(f, 0, BR_LITERAL("a"), BR_LITERAL("1")));
        close_env(f, true);
        patch(f, BR_LITERAL("checkpoint\x08\x01"), cases[i].patched);
        open_env(f);
        assert_non_null(br_env_discarded(f->env));
        assert_int_equal(br_env_rows(f->env, 0), 0);
        assert_true(file_bytes(f, "data.mdb.damaged-1700000000000") > 0);
        check_ok(f, put_row(f, 0, BR_LITERAL("b"), BR_LITERAL("2")));
        close_env(f, true);
        temp_dir_remove(f->dir);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(open__twice_in_one_process__second_refused_by_any_path),
        TEST(open__owned_by_other_process__in_use_until_it_is_killed),
        TEST(peek__nothing_there__not_found),
        TEST(peek__beside_a_writer_that_grows_its_map__whole_rows),
        TEST(open__machine_started_again__discarded_unless_closed_cleanly),
        TEST(open__opened_and_closed_without_writing__mark_stays),
        TEST(open__mark_of_another_file__not_believed),
        TEST(open__checkpoint_of_some_age__discarded_beyond_the_bound),
        TEST(open__checkpoint_of_unknown_format__set_aside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
