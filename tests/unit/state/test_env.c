/* tests/unit/state/test_env.c - rows, checkpoint, scans, growth. */
#include "unit/state/fixture.h"

static void env__new_directory__private_and_empty(void **state)
{
    /* Parents are made; directories are 0700 and files 0600 under any umask. FAULTS 73. */
    fixture *f = *state;
    mode_t before = umask(0);
    (void)snprintf(f->dir, sizeof(f->dir), "%s/a/b/env", f->root);
    open_env(f);
    (void)umask(before);
    static const char *const names[] = {".", "..", "data.mdb", "lock.mdb", "lock"};
    for (size_t i = 0; i < BR_COUNTOF(names); i++) {
        char path[400];
        struct stat at;
        file_in(f, names[i], path);
        assert_int_equal(stat(path, &at), 0);
        assert_int_equal(at.st_mode & 0777, S_ISDIR(at.st_mode) ? 0700 : 0600);
    }
    assert_null(br_env_checkpoint(f->env));
    assert_null(br_env_discarded(f->env));
    assert_int_equal(br_env_rows(f->env, 0), 0);
    check_no_row(f, 0, BR_LITERAL("a"));
}

static void env__directory_that_cannot_be__io_error_with_path_and_errno(void **state)
{
    /* A file in the way or a name too long is said with path and errno. FAULTS 73. */
    fixture *f = *state;
    char path[400], deep[400];
    (void)snprintf(path, sizeof(path), "%s/file", f->root);
    (void)close(open(path, O_CREAT | O_WRONLY, 0600));
    br_env_opts opts = opts_of(f);
    opts.dir = path;
    assert_int_equal(br_env_open(&f->env, &opts, &f->err), BR_ERR_IO);
    assert_int_equal(f->err.cause, ENOTDIR);
    check_message(f, path);
    (void)snprintf(path, sizeof(path), "%s/file/below", f->root);
    assert_int_equal(br_env_open(&f->env, &opts, &f->err), BR_ERR_IO);
    check_message(f, "file");
    memset(deep, 'x', sizeof(deep) - 1);
    deep[sizeof(deep) - 1] = '\0';
    opts.dir = deep;
    assert_int_equal(br_env_open(&f->env, &opts, &f->err), BR_ERR_IO);
    assert_int_equal(f->err.cause, ENAMETOOLONG);
}

static void env__keys_of_all_lengths__kept_apart_and_found_again(void **state)
{
    /* No length is refused, cut or merged, also after reopening. FAULTS 55. */
    fixture *f = *state;
    static const size_t lens[] = {0, 1, 480, 481, 495, 500, 511, 512, 600, 601, 100000};
    enum { N = BR_COUNTOF(lens) };
    br_bytes keys[N + 1], vals[N + 1];
    char names[N + 1][16];
    for (size_t i = 0; i <= N; i++) {
        size_t len = i < N ? lens[i] : 600; /* two of 600 that differ in the last byte */
        char *key = br_alloc(len);
        memset(key, 'k', len);
        if (i == N) key[len - 1] = 'z';
        keys[i] = br_bytes_of(key, len);
        (void)snprintf(names[i], sizeof(names[i]), "value %zu", i);
        vals[i] = br_str(names[i]);
    }
    open_env(f);
    put_list list = {.keys = keys, .vals = vals, .count = N + 1};
    Brine__State__Checkpoint checkpoint = BRINE__STATE__CHECKPOINT__INIT;
    for (int twice = 0; twice < 2; twice++)
        check_ok(f, br_env_write(f->env, put_all, &list, &checkpoint, &f->err));
    assert_int_equal(br_env_rows(f->env, 0), N + 1);
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i <= N; i++) check_row(f, 0, keys[i], vals[i]);
        close_env(f, pass == 0);
        open_env(f);
    }
    for (size_t i = 0; i <= N; i++) br_free((void *)(uintptr_t)keys[i].data);
}

typedef struct txn_steps {
    fixture *f;
    br_status fail_with;
} txn_steps;

static br_status change_in_txn(void *arg, br_env_txn *txn, br_err *err)
{
    txn_steps *steps = arg;
    char longer[600] = "long";
    br_bytes big = br_bytes_of(longer, sizeof(longer)), val;
    check_ok(steps->f, br_env_put(txn, 0, BR_LITERAL("new"), BR_LITERAL("n"), err));
    check_ok(steps->f, br_env_put(txn, 0, big, BR_LITERAL("b"), err));
    check_ok(steps->f, br_env_txn_get(txn, 0, big, &val, err));
    assert_true(br_bytes_equal(val, BR_LITERAL("b")));
    check_ok(steps->f, br_env_delete(txn, 0, BR_LITERAL("old"), err));
    check_ok(steps->f, br_env_delete(txn, 0, BR_LITERAL("never there"), err));
    assert_int_equal(br_env_txn_get(txn, 0, BR_LITERAL("old"), &val, err), BR_NOT_FOUND);
    return steps->fail_with ? br_fail(err, steps->fail_with, "as asked") : BR_OK;
}

static void write__fill_fails_or_not__all_or_nothing(void **state)
{
    /* Rows and checkpoint change together; a failure of fill leaves both as they were. */
    fixture *f = *state;
    open_env(f);
    check_ok(f, put_row(f, 0, BR_LITERAL("old"), BR_LITERAL("o")));
    txn_steps steps = {.f = f, .fail_with = BR_ERR_LIMIT};
    Brine__State__Checkpoint checkpoint = BRINE__STATE__CHECKPOINT__INIT;
    checkpoint.has_next_offset = true;
    checkpoint.next_offset = 42;
    assert_int_equal(br_env_write(f->env, change_in_txn, &steps, &checkpoint, &f->err),
                     BR_ERR_LIMIT);
    check_row(f, 0, BR_LITERAL("old"), BR_LITERAL("o"));
    check_no_row(f, 0, BR_LITERAL("new"));
    assert_false(br_env_checkpoint(f->env)->has_next_offset);
    steps.fail_with = BR_OK;
    check_ok(f, br_env_write(f->env, change_in_txn, &steps, &checkpoint, &f->err));
    check_no_row(f, 0, BR_LITERAL("old"));
    check_row(f, 0, BR_LITERAL("new"), BR_LITERAL("n"));
    check_no_row(f, 1, BR_LITERAL("new"));
    assert_int_equal(br_env_checkpoint(f->env)->next_offset, 42);
    assert_int_equal(br_env_rows(f->env, 0), 2);
}

static void checkpoint__written__comes_back_with_format_boot_and_time(void **state)
{
    /* What the caller gives is kept; format, boot id and a missing wall time are filled in. */
    fixture *f = *state;
    Brine__State__StoreCheckpoint store = BRINE__STATE__STORE_CHECKPOINT__INIT, *stores = &store;
    Brine__State__Checkpoint checkpoint = BRINE__STATE__CHECKPOINT__INIT;
    char id[] = "second";
    store.id = id;
    store.has_changelog_next = true;
    store.changelog_next = 7;
    checkpoint.n_stores = 1;
    checkpoint.stores = &stores;
    checkpoint.has_stream_time = true;
    checkpoint.stream_time = -5;
    put_list none = {0};
    open_env(f);
    check_ok(f, br_env_write(f->env, put_all, &none, &checkpoint, &f->err));
    close_env(f, true);
    open_env(f);
    const Brine__State__Checkpoint *back = br_env_checkpoint(f->env);
    assert_non_null(back);
    assert_int_equal(back->format, 1);
    assert_int_equal(strlen(back->boot_id), 36);
    assert_int_equal(back->wall_ms, NOW_MS);
    assert_int_equal(back->stream_time, -5);
    assert_int_equal(back->n_stores, 1);
    assert_string_equal(back->stores[0]->id, "second");
    assert_int_equal(back->stores[0]->changelog_next, 7);
}

typedef struct seen_keys {
    char text[256];
    size_t stop_after;
    br_status fail_with;
} seen_keys;

static br_status see_key(void *arg, br_bytes key, br_bytes val, br_err *err)
{
    seen_keys *seen = arg;
    size_t used = strlen(seen->text);
    (void)snprintf(seen->text + used, sizeof(seen->text) - used, "%.*s=%.*s ",
                   key.len < 9 ? (int)key.len : 4, key.data, (int)val.len, val.data);
    if (seen->fail_with) return br_fail(err, seen->fail_with, "as asked");
    return seen->stop_after > 0 && --seen->stop_after == 0 ? BR_END : BR_OK;
}

static void scan__from_and_stop__rows_in_order_long_ones_last(void **state)
{
    /* A scan begins at the first key >= from, ends where visit says, and shows whole keys. */
    fixture *f = *state;
    char longer[600] = "long";
    br_bytes big = br_bytes_of(longer, sizeof(longer));
    open_env(f);
    check_ok(f, put_row(f, 0, BR_LITERAL("b"), BR_LITERAL("2")));
    check_ok(f, put_row(f, 0, big, BR_LITERAL("4")));
    check_ok(f, put_row(f, 0, BR_LITERAL("a"), BR_LITERAL("1")));
    check_ok(f, put_row(f, 0, BR_LITERAL("c"), BR_LITERAL("3")));
    check_ok(f, put_row(f, 1, BR_LITERAL("other"), BR_LITERAL("0")));
    const struct {
        br_bytes from;
        size_t stop_after;
        const char *expected;
    } cases[] = {
        {BR_NO_BYTES, 0, "a=1 b=2 c=3 long=4 "},
        {BR_LITERAL("aa"), 0, "b=2 c=3 long=4 "},
        {BR_LITERAL("b"), 1, "b=2 "},
        {big, 0, "long=4 "},
        {BR_LITERAL("d"), 1, "long=4 "},
    };
    for (size_t i = 0; i < BR_COUNTOF(cases); i++) {
        seen_keys seen = {.stop_after = cases[i].stop_after};
        check_ok(f, br_env_scan(f->env, 0, cases[i].from, see_key, &seen, &f->err));
        assert_string_equal(seen.text, cases[i].expected);
    }
    seen_keys failing = {.fail_with = BR_ERR_CORRUPT};
    assert_int_equal(br_env_scan(f->env, 0, BR_NO_BYTES, see_key, &failing, &f->err),
                     BR_ERR_CORRUPT);
}

enum { BIG_ROWS = 2000, BIG_VALUE = 1000 };

typedef struct big_rows {
    char names[BIG_ROWS][16];
    char value[BIG_VALUE];
    br_bytes keys[BIG_ROWS], vals[BIG_ROWS];
    put_list list;
} big_rows;

static big_rows *big_rows_create(void)
{
    big_rows *rows = BR_NEW(big_rows);
    memset(rows->value, 'v', sizeof(rows->value));
    for (size_t i = 0; i < BIG_ROWS; i++) {
        (void)snprintf(rows->names[i], sizeof(rows->names[i]), "key %05zu", i);
        rows->keys[i] = br_str(rows->names[i]);
        rows->vals[i] = br_bytes_of(rows->value, sizeof(rows->value));
    }
    rows->list = (put_list){.keys = rows->keys, .vals = rows->vals, .count = BIG_ROWS};
    return rows;
}

static void write__batch_larger_than_map__grows_and_all_rows_are_there(void **state)
{
    /* The map is doubled until a batch fits, and a later start knows the size. FAULTS 56. */
    fixture *f = *state;
    big_rows *rows = big_rows_create();
    br_env_opts opts = opts_of(f);
    opts.map_bytes = 1 << 20;
    check_ok(f, br_env_open(&f->env, &opts, &f->err));
    check_ok(f, put_row(f, 0, BR_LITERAL("before"), BR_LITERAL("b")));
    Brine__State__Checkpoint checkpoint = BRINE__STATE__CHECKPOINT__INIT;
    check_ok(f, br_env_write(f->env, put_all, &rows->list, &checkpoint, &f->err));
    assert_true(rows->list.calls > 1);
    assert_int_equal(br_env_rows(f->env, 0), BIG_ROWS + 1);
    close_env(f, false);
    rows->list.calls = 0;
    check_ok(f, br_env_open(&f->env, &opts, &f->err));
    assert_null(br_env_discarded(f->env));
    for (size_t i = 0; i < BIG_ROWS; i++) check_row(f, 0, rows->keys[i], rows->vals[i]);
    rows->list.store = 1; /* the same again fits in what is remembered but for one doubling */
    check_ok(f, br_env_write(f->env, put_all, &rows->list, &checkpoint, &f->err));
    assert_true(rows->list.calls <= 2);
    br_free(rows);
}

static void write__map_at_its_bound__state_full_and_a_larger_bound_goes_on(void **state)
{
    /* At the bound the write fails whole, reads go on, and a larger bound continues. FAULTS 56. */
    fixture *f = *state;
    big_rows *rows = big_rows_create();
    br_env_opts opts = opts_of(f);
    opts.map_bytes = 1 << 18;
    opts.map_bytes_max = 1 << 20;
    check_ok(f, br_env_open(&f->env, &opts, &f->err));
    check_ok(f, put_row(f, 0, BR_LITERAL("before"), BR_LITERAL("b")));
    Brine__State__Checkpoint checkpoint = BRINE__STATE__CHECKPOINT__INIT;
    assert_int_equal(br_env_write(f->env, put_all, &rows->list, &checkpoint, &f->err),
                     BR_ERR_LIMIT);
    check_message(f, "state full");
    check_row(f, 0, BR_LITERAL("before"), BR_LITERAL("b"));
    assert_int_equal(br_env_rows(f->env, 0), 1);
    check_ok(f, put_row(f, 0, BR_LITERAL("after"), BR_LITERAL("a")));
    close_env(f, false);
    opts.map_bytes_max = 1 << 24;
    check_ok(f, br_env_open(&f->env, &opts, &f->err));
    check_ok(f, br_env_write(f->env, put_all, &rows->list, &checkpoint, &f->err));
    assert_int_equal(br_env_rows(f->env, 0), BIG_ROWS + 2);
    br_free(rows);
}

static br_status delete_all(void *arg, br_env_txn *txn, br_err *err)
{
    put_list *list = arg;
    br_status status = BR_OK;
    for (size_t i = 0; status == BR_OK && i < list->count; i++)
        status = br_env_delete(txn, list->store, list->keys[i], err);
    return status;
}

static void env__rows_come_and_go__file_does_not_grow(void **state)
{
    /* Pages of deleted rows are used again: the file is flat after the second cycle. FAULTS 64. */
    fixture *f = *state;
    big_rows *rows = big_rows_create();
    Brine__State__Checkpoint checkpoint = BRINE__STATE__CHECKPOINT__INIT;
    off_t first = 0;
    open_env(f);
    for (int cycle = 0; cycle < 20; cycle++) {
        check_ok(f, br_env_write(f->env, put_all, &rows->list, &checkpoint, &f->err));
        check_ok(f, br_env_write(f->env, delete_all, &rows->list, &checkpoint, &f->err));
        if (cycle == 0) first = file_bytes(f, "data.mdb");
    }
    assert_true(file_bytes(f, "data.mdb") <= 3 * first);
    assert_int_equal(br_env_rows(f->env, 0), 0);
    close_env(f, false);
    open_env(f);
    assert_null(br_env_discarded(f->env));
    br_free(rows);
}

static void wipe__rows_and_checkpoint__empty_and_usable(void **state)
{
    /* Nothing is left after a wipe, also after a restart, and the environment goes on working. */
    fixture *f = *state;
    open_env(f);
    check_ok(f, put_row(f, 1, BR_LITERAL("a"), BR_LITERAL("1")));
    check_ok(f, br_env_wipe(f->env, &f->err));
    assert_null(br_env_checkpoint(f->env));
    assert_int_equal(br_env_rows(f->env, 1), 0);
    check_no_row(f, 1, BR_LITERAL("a"));
    check_ok(f, put_row(f, 1, BR_LITERAL("b"), BR_LITERAL("2")));
    close_env(f, true);
    open_env(f);
    assert_int_equal(br_env_rows(f->env, 1), 1);
    check_row(f, 1, BR_LITERAL("b"), BR_LITERAL("2"));
}

static void env__many_stores__all_open_again(void **state)
{
    /* As many stores as a job may have operators, also when opened again. FAULTS 61. */
    fixture *f = *state;
    enum { STORES = 128 };
    char names[STORES][8];
    const char *ids[STORES];
    for (size_t i = 0; i < STORES; i++) {
        (void)snprintf(names[i], sizeof(names[i]), "s%zu", i);
        ids[i] = names[i];
    }
    br_env_opts opts = opts_of(f);
    opts.store_ids = ids;
    opts.store_count = STORES;
    for (int pass = 0; pass < 2; pass++) {
        check_ok(f, br_env_open(&f->env, &opts, &f->err));
        assert_int_equal(br_env_rows(f->env, STORES - 1), pass);
        check_ok(f, put_row(f, STORES - 1, BR_LITERAL("k"), BR_LITERAL("v")));
        close_env(f, true);
    }
}

static void write__directory_removed_while_open__io_error(void **state)
{
    /* A directory that a cleaner removed is noticed at the next write. FAULTS 73. */
    fixture *f = *state;
    open_env(f);
    check_ok(f, put_row(f, 0, BR_LITERAL("a"), BR_LITERAL("1")));
    temp_dir_remove(f->dir);
    assert_int_equal(put_row(f, 0, BR_LITERAL("b"), BR_LITERAL("2")), BR_ERR_IO);
    check_message(f, f->dir);
    check_message(f, "removed");
}

enum { MODEL_KEYS = 300, MODEL_KEY_BYTES = 600, MODEL_VALUE_BYTES = 3000 };

/* What both stores should hold: of each key the length and the one byte of its value. */
typedef struct model {
    br_rng rng;
    size_t lens[2][MODEL_KEYS]; /* 0: no row */
    char bytes[2][MODEL_KEYS];
} model;

/* Every seventh key is stored under its hash. */
static br_bytes model_key(size_t i, char room[MODEL_KEY_BYTES])
{
    memset(room, 'x', MODEL_KEY_BYTES);
    int len = snprintf(room, MODEL_KEY_BYTES, "key %03zu", i);
    return br_bytes_of(room, i % 7 == 0 ? MODEL_KEY_BYTES : (size_t)len);
}

static br_bytes model_value(const model *m, size_t store, size_t i, char room[MODEL_VALUE_BYTES])
{
    memset(room, m->bytes[store][i], m->lens[store][i]);
    return br_bytes_of(room, m->lens[store][i]);
}

/* Runs of rising keys, as a table writes them, and jumps; now and then the other store. */
static br_status change_model(void *arg, br_env_txn *txn, br_err *err)
{
    model *m = arg;
    char key_room[MODEL_KEY_BYTES], room[MODEL_VALUE_BYTES];
    size_t store = 0, i = 0;
    br_status status = BR_OK;
    for (int step = 0; status == BR_OK && step < 500; step++) {
        i = br_rng_below(&m->rng, 8) ? (i + 1) % MODEL_KEYS : br_rng_below(&m->rng, MODEL_KEYS);
        if (br_rng_below(&m->rng, 20) == 0) store = 1 - store;
        size_t max = br_rng_below(&m->rng, 10) ? 60 : MODEL_VALUE_BYTES - 1;
        bool gone = br_rng_below(&m->rng, 4) == 0;
        m->lens[store][i] = gone ? 0 : 1 + br_rng_below(&m->rng, max);
        m->bytes[store][i] = (char)br_rng_next(&m->rng);
        br_bytes key = model_key(i, key_room);
        status = gone ? br_env_delete(txn, store, key, err)
                      : br_env_put(txn, store, key, model_value(m, store, i, room), err);
    }
    return status;
}

static void check_model(fixture *f, const model *m, size_t store)
{
    char key_room[MODEL_KEY_BYTES], room[MODEL_VALUE_BYTES];
    uint64_t rows = 0;
    for (size_t i = 0; i < MODEL_KEYS; i++) {
        br_bytes key = model_key(i, key_room);
        if (m->lens[store][i] == 0) {
            check_no_row(f, store, key);
            continue;
        }
        check_row(f, store, key, model_value(m, store, i, room));
        rows++;
    }
    assert_int_equal(br_env_rows(f->env, store), rows);
}

static void write__puts_and_deletes_in_both_stores__equals_the_model(void **state)
{
    /* Rows go where they should, whatever a transaction did before them and wherever its cursor
     * stands: pages that split, empty or move to the other store. */
    fixture *f = *state;
    model *m = BR_NEW(model);
    m->rng = (br_rng){new_seed(__func__)};
    open_env(f);
    for (int round = 0; round < 40; round++) {
        check_ok(f, br_env_write(f->env, change_model, m, NULL, &f->err));
        for (size_t store = 0; store < 2; store++) check_model(f, m, store);
    }
    br_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(env__new_directory__private_and_empty),
        TEST(env__directory_that_cannot_be__io_error_with_path_and_errno),
        TEST(env__keys_of_all_lengths__kept_apart_and_found_again),
        TEST(write__fill_fails_or_not__all_or_nothing),
        TEST(checkpoint__written__comes_back_with_format_boot_and_time),
        TEST(scan__from_and_stop__rows_in_order_long_ones_last),
        TEST(write__batch_larger_than_map__grows_and_all_rows_are_there),
        TEST(write__map_at_its_bound__state_full_and_a_larger_bound_goes_on),
        TEST(env__rows_come_and_go__file_does_not_grow),
        TEST(wipe__rows_and_checkpoint__empty_and_usable),
        TEST(env__many_stores__all_open_again),
        TEST(write__directory_removed_while_open__io_error),
        TEST(write__puts_and_deletes_in_both_stores__equals_the_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
