/* tests/unit/state/test_env_check.c - damaged files: discarded or right, never a signal. */
#include "unit/state/fixture.h"

#include "state/env_check.h"

enum { ROWS = 3000, PAGE = 4096 };

static br_bytes row_key(size_t i, char room[32])
{
    (void)snprintf(room, 32, "key %06zu", i * 7919 % 1000003);
    return br_str(room);
}

static br_bytes row_value(size_t i, char room[48])
{
    (void)snprintf(room, 48, "the value of row %zu", i);
    return br_str(room);
}

typedef struct row_range {
    size_t from, to, step;
} row_range;

static br_status put_range(void *arg, br_env_txn *txn, br_err *err)
{
    const row_range *range = arg;
    br_status status = BR_OK;
    for (size_t i = range->from; status == BR_OK && i < range->to; i += range->step) {
        char key[32], val[48];
        status = br_env_put(txn, i % 2, row_key(i, key), row_value(i, val), err);
    }
    return status;
}

static void write_range(fixture *f, row_range range)
{
    Brine__State__Checkpoint checkpoint = BRINE__STATE__CHECKPOINT__INIT;
    check_ok(f, br_env_write(f->env, put_range, &range, &checkpoint, &f->err));
}

/* Several transactions, so that the file has free pages, lists of them, and branches. */
static void make_rows(fixture *f)
{
    open_env(f);
    write_range(f, (row_range){0, ROWS, 1});
    for (size_t step = 2; step < 6; step++) write_range(f, (row_range){0, ROWS, step});
    close_env(f, true);
}

static void check_rows(fixture *f)
{
    for (size_t i = 0; i < ROWS; i++) {
        char key[32], val[48];
        check_row(f, i % 2, row_key(i, key), row_value(i, val));
    }
}

/* The state is either whole, or discarded and empty; and it can be written. */
static void check_whole_or_discarded(fixture *f)
{
    open_env(f);
    if (br_env_discarded(f->env)) {
        assert_int_equal(br_env_rows(f->env, 0) + br_env_rows(f->env, 1), 0);
        assert_null(br_env_checkpoint(f->env));
        assert_true(file_bytes(f, "data.mdb.damaged-1700000000000") >= 0);
    } else {
        check_rows(f);
    }
    write_range(f, (row_range){0, ROWS, 1});
    check_rows(f);
    close_env(f, true);
    open_env(f);
    assert_null(br_env_discarded(f->env));
    close_env(f, true);
}

static char *read_data(const fixture *f, size_t *len)
{
    char path[400];
    file_in(f, "data.mdb", path);
    *len = (size_t)file_bytes(f, "data.mdb");
    char *bytes = br_alloc(*len);
    int fd = open(path, O_RDONLY);
    assert_int_equal(pread(fd, bytes, *len, 0), *len);
    (void)close(fd);
    return bytes;
}

static void write_data(const fixture *f, const char *bytes, size_t len)
{
    char path[400];
    file_in(f, "data.mdb", path);
    int fd = open(path, O_WRONLY | O_TRUNC | O_CREAT, 0600);
    assert_int_equal(write(fd, bytes, len), len);
    (void)close(fd);
}

static void open__file_cut_anywhere__whole_or_discarded(void **state)
{
    /* `truncate -s 50%` and other cuts end in no SIGBUS. FAULTS 59. */
    fixture *f = *state;
    make_rows(f);
    size_t len;
    char *bytes = read_data(f, &len);
    const size_t cuts[] = {0,        1,       100,     PAGE,    PAGE + 100,
                           2 * PAGE, len / 2, len / 3, len - 1, len - PAGE};
    for (size_t i = 0; i < BR_COUNTOF(cuts); i++) {
        write_data(f, bytes, cuts[i]);
        check_whole_or_discarded(f);
    }
    br_free(bytes);
}

static void open__any_page_zeroed__whole_or_discarded(void **state)
{
    /* Every page in turn, meta pages too; what was not discarded is right. FAULTS 59. */
    fixture *f = *state;
    make_rows(f);
    size_t len, discarded = 0;
    char *bytes = read_data(f, &len), zeros[PAGE] = {0};
    for (size_t page = 0; page < len / PAGE; page++) {
        write_data(f, bytes, len);
        overwrite(f, (off_t)(page * PAGE), zeros, sizeof(zeros));
        open_env(f);
        discarded += br_env_discarded(f->env) != NULL;
        if (!br_env_discarded(f->env)) check_rows(f);
        close_env(f, true);
    }
    assert_true(discarded > 10);
    br_free(bytes);
}

static void open__meta_pages_replaced_or_lock_gone__whole_or_discarded(void **state)
{
    /* Both meta pages overwritten; lock.mdb removed or garbled. FAULTS 59. */
    fixture *f = *state;
    char garbage[2 * PAGE], path[400];
    memset(garbage, 0xa5, sizeof(garbage));
    make_rows(f);
    overwrite(f, 0, garbage, sizeof(garbage));
    check_whole_or_discarded(f);
    file_in(f, "lock.mdb", path);
    assert_int_equal(unlink(path), 0);
    open_env(f);
    assert_null(br_env_discarded(f->env));
    check_rows(f);
    close_env(f, true);
    int fd = open(path, O_WRONLY | O_TRUNC);
    assert_int_equal(write(fd, garbage, sizeof(garbage)), sizeof(garbage));
    (void)close(fd);
    check_whole_or_discarded(f);
}

static br_status see_row(void *arg, br_bytes key, br_bytes val, br_err *err)
{
    (void)err;
    uint64_t *sum = arg;
    for (size_t i = 0; i < key.len; i++) *sum += (unsigned char)key.data[i];
    for (size_t i = 0; i < val.len; i++) *sum += (unsigned char)val.data[i];
    return BR_OK;
}

static void open__random_bytes_anywhere__no_signal_and_writable(void **state)
{
    /* Whatever a few bytes of any page become, opening, reading and writing end normally. */
    fixture *f = *state;
    make_rows(f);
    br_rng rng = {new_seed(__func__)};
    size_t len;
    char *bytes = read_data(f, &len);
    for (int round = 0; round < 100; round++) {
        write_data(f, bytes, len);
        size_t page = br_rng_below(&rng, len / PAGE);
        for (uint64_t n = 1 + br_rng_below(&rng, 4); n > 0; n--) {
            /* The first bytes of a page hold its structure: hit them half of the time. */
            uint64_t at = br_rng_below(&rng, br_rng_below(&rng, 2) ? 64 : PAGE);
            uint64_t word = br_rng_next(&rng) >> br_rng_below(&rng, 64);
            size_t size = 1 + br_rng_below(&rng, 8);
            if (at + size <= PAGE) overwrite(f, (off_t)(page * PAGE + at), &word, size);
        }
        open_env(f);
        uint64_t sum = 0;
        for (size_t store = 0; store < 2; store++)
            check_ok(f, br_env_scan(f->env, store, BR_NO_BYTES, see_row, &sum, &f->err));
        write_range(f, (row_range){0, ROWS, 3});
        close_env(f, false);
    }
    br_free(bytes);
}

static void check__files_that_lmdb_wrote__found_whole(void **state)
{
    /* No false alarm: large values, long keys, deletions, many transactions of random size. */
    fixture *f = *state;
    br_rng rng = {new_seed(__func__)};
    static char big[60000];
    char path[400];
    file_in(f, "data.mdb", path);
    open_env(f);
    for (int round = 0; round < 40; round++) {
        br_bytes keys[200], vals[200];
        char *room = br_alloc(200 * 1000);
        for (size_t i = 0; i < 200; i++) {
            char *key = room + i * 1000;
            memset(key, 'k', 1000);
            (void)snprintf(key, 1000, "%llu", (unsigned long long)br_rng_below(&rng, 400));
            key[strlen(key)] = 'k';
            keys[i] = br_bytes_of(key, br_rng_below(&rng, 8) ? 8 : 900);
            size_t max = br_rng_below(&rng, 10) ? 100 : sizeof(big);
            vals[i] = br_bytes_of(big, br_rng_below(&rng, max));
        }
        put_list list = {.keys = keys, .vals = vals, .count = br_rng_below(&rng, 200)};
        Brine__State__Checkpoint checkpoint = BRINE__STATE__CHECKPOINT__INIT;
        check_ok(f, br_env_write(f->env, put_all, &list, &checkpoint, &f->err));
        br_env_file file;
        check_ok(f, br_env_check(path, 0, &file, &f->err));
        assert_true(file.txn_id > (uint64_t)round);
        br_free(room);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(open__file_cut_anywhere__whole_or_discarded),
        TEST(open__any_page_zeroed__whole_or_discarded),
        TEST(open__meta_pages_replaced_or_lock_gone__whole_or_discarded),
        TEST(open__random_bytes_anywhere__no_signal_and_writable),
        TEST(check__files_that_lmdb_wrote__found_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
