/* tests/unit/state/test_table.c - the cache of decoded rows. */
#include "unit/state/fixture.h"

#include "runtime/base/hash.h"
#include "state/table.h"

/* A row with a counter and a text that it owns. */
typedef struct counter {
    int64_t count;
    char *text; /* NULL: none */
} counter;

static int64_t counters_alive;

static void init_counter(const void *self, void *payload)
{
    (void)self;
    const counter *c = payload;
    assert_int_equal(c->count, 0);
    assert_int_equal((uintptr_t)payload % 8, 0);
    counters_alive++;
}

static void dispose_counter(const void *self, void *payload)
{
    (void)self;
    counter *c = payload;
    br_free(c->text);
    counters_alive--;
}

static void encode_counter(const void *self, const br_entry *entry, br_buf *out)
{
    (void)self;
    const counter *c = br_entry_payload(entry);
    char bytes[8];
    br_put_u64_be(bytes, (uint64_t)entry->version.offset);
    br_buf_add(out, bytes, 8);
    br_put_u64_be(bytes, (uint64_t)c->count);
    br_buf_add(out, bytes, 8);
    if (c->text) br_buf_adds(out, c->text);
}

static br_status decode_counter(const void *self, br_entry *entry, br_bytes row, br_err *err)
{
    (void)self;
    counter *c = br_entry_payload(entry);
    if (row.len < 16) return br_fail(err, BR_ERR_CORRUPT, "a counter of %zu bytes", row.len);
    entry->version = (br_version){1, (int64_t)br_get_u64_be(row.data)};
    c->count = (int64_t)br_get_u64_be(row.data + 8);
    if (row.len > 16) c->text = br_strndup(row.data + 16, row.len - 16);
    return BR_OK;
}

static size_t heap_of_counter(const void *self, const void *payload)
{
    (void)self;
    const counter *c = payload;
    return c->text ? strlen(c->text) + 1 : 0;
}

static const br_row_type counter_type = {.size = sizeof(counter),
                                         .init = init_counter,
                                         .dispose = dispose_counter,
                                         .encode = encode_counter,
                                         .decode = decode_counter,
                                         .heap = heap_of_counter};

static br_entry *obtain(fixture *f, br_table *table, br_bytes key)
{
    br_entry *entry = NULL;
    check_ok(f, br_table_obtain(table, key, br_hash64(key), &entry, &f->err));
    assert_true(br_bytes_equal(br_entry_key(entry), key));
    return entry;
}

static void add(fixture *f, br_table *table, br_bytes key, int64_t n)
{
    br_entry *entry = obtain(f, table, key);
    counter *c = br_entry_payload(entry);
    c->count += n;
    entry->version = (br_version){1, c->count};
    br_table_mark_dirty(table, entry);
    br_table_mark_emit(table, entry);
}

static void commit(fixture *f, br_table *table)
{
    Brine__State__Checkpoint checkpoint = BRINE__STATE__CHECKPOINT__INIT;
    check_ok(f, br_env_write(f->env, br_table_write, table, &checkpoint, &f->err));
    br_table_committed(table);
}

static int64_t count_of(fixture *f, br_table *table, br_bytes key)
{
    br_entry *entry;
    br_status status = br_table_find(table, key, br_hash64(key), &entry, &f->err);
    if (status == BR_NOT_FOUND) return -1;
    check_ok(f, status);
    return ((const counter *)br_entry_payload(entry))->count;
}

static br_bytes number_key(uint64_t i, char room[32])
{
    (void)snprintf(room, 32, "key %llu", (unsigned long long)i);
    return br_str(room);
}

static void table__random_use_under_a_small_budget__equals_a_plain_array(void **state)
{
    /* Whatever is evicted and loaded again, every row is what was added to it; nothing leaks. */
    fixture *f = *state;
    enum { KEYS = 2000 };
    static int64_t expected[KEYS];
    memset(expected, 0, sizeof(expected));
    br_rng rng = {new_seed(__func__)};
    br_budget budget = {.max = 60000};
    open_env(f);
    br_table *table = br_table_create(f->env, 0, &counter_type, &budget);
    for (int round = 0; round < 60; round++) {
        for (int i = 0; i < 300; i++) {
            char room[32];
            uint64_t k = br_rng_below(&rng, 1 + br_rng_below(&rng, KEYS));
            br_bytes key = number_key(k, room);
            br_table_prefetch(table, br_hash64(key));
            br_table_prefetch_entry(table, br_hash64(key));
            if (br_rng_below(&rng, 3) == 0) {
                assert_int_equal(count_of(f, table, key), expected[k] ? expected[k] : -1);
            } else {
                add(f, table, key, 1);
                expected[k]++;
            }
        }
        commit(f, table);
        assert_true(budget.used <= budget.max);
        if (round % 20 != 19) continue;
        br_table_destroy(table); /* as a restart: only what was written is left */
        assert_int_equal(budget.used, 0);
        assert_int_equal(counters_alive, 0);
        table = br_table_create(f->env, 0, &counter_type, &budget);
    }
    for (uint64_t k = 0; k < KEYS; k++) {
        char room[32];
        assert_int_equal(count_of(f, table, number_key(k, room)), expected[k] ? expected[k] : -1);
    }
    br_table_destroy(table);
    assert_int_equal(budget.used, 0);
}

static void table__marks__each_once_and_gone_after_commit(void **state)
{
    /* Dirty and emit list an entry once; a commit clears both and keeps the row in memory. */
    fixture *f = *state;
    br_budget budget = {.max = 1 << 20};
    size_t dirty, emit;
    open_env(f);
    br_table *table = br_table_create(f->env, 0, &counter_type, &budget);
    for (int i = 0; i < 3; i++) {
        add(f, table, BR_LITERAL("a"), 1);
        add(f, table, BR_LITERAL("b"), 1);
    }
    br_table_mark_emit(table, obtain(f, table, BR_LITERAL("c")));
    (void)br_table_dirty(table, &dirty);
    br_entry *const *marked = br_table_emit(table, &emit);
    assert_int_equal(dirty, 2);
    assert_int_equal(emit, 3);
    assert_int_equal(marked[2]->seen, -1);
    assert_int_equal(br_version_compare(marked[2]->version, BR_VERSION_NONE), 0);
    commit(f, table);
    (void)br_table_dirty(table, &dirty);
    (void)br_table_emit(table, &emit);
    assert_int_equal(dirty + emit, 0);
    assert_int_equal(br_table_rows_cached(table), 3);
    assert_int_equal(br_env_rows(f->env, 0), 2); /* c was never changed */
    add(f, table, BR_LITERAL("c"), 7);
    commit(f, table);
    assert_int_equal(br_env_rows(f->env, 0), 3);
    br_table_destroy(table);
}

static void commit__budget_spent__oldest_clean_rows_go_first(void **state)
{
    /* Rows used in the latest interval stay where they fit; marked ones always do. */
    fixture *f = *state;
    br_budget budget = {.max = 40000};
    char room[32];
    open_env(f);
    br_table *table = br_table_create(f->env, 0, &counter_type, &budget);
    for (uint64_t i = 0; i < 100; i++) add(f, table, number_key(i, room), 1);
    commit(f, table);
    for (uint64_t i = 100; i < 350; i++) add(f, table, number_key(i, room), 1);
    add(f, table, number_key(7, room), 1);
    assert_int_equal(br_table_rows_cached(table), 350);
    commit(f, table);
    assert_false(br_budget_spent(&budget));
    assert_true(budget.used <= 30000 + 64 * 16);
    uint64_t cached = br_table_rows_cached(table);
    assert_true(cached < 350);
    for (uint64_t i = 0; i < 350; i++)
        assert_int_equal(count_of(f, table, number_key(i, room)), i == 7 ? 2 : 1);
    br_table_destroy(table);
    assert_int_equal(budget.used, 0);
}

static void account__payload_that_owns_memory__budget_returns_to_zero(void **state)
{
    /* What a payload owns is counted when it grows, loads and goes. */
    fixture *f = *state;
    br_budget budget = {.max = 1 << 20};
    open_env(f);
    for (int pass = 0; pass < 2; pass++) {
        br_table *table = br_table_create(f->env, 0, &counter_type, &budget);
        br_entry *entry = obtain(f, table, BR_LITERAL("a"));
        counter *c = br_entry_payload(entry);
        if (pass == 0) {
            c->text = br_strdup("a text of its own");
            br_table_account(table, (int64_t)heap_of_counter(NULL, c));
            br_table_mark_dirty(table, entry);
            commit(f, table);
        }
        assert_string_equal(c->text, "a text of its own");
        uint64_t with_text = budget.used;
        budget.max = 0; /* everything clean goes */
        commit(f, table);
        budget.max = 1 << 20;
        assert_int_equal(br_table_rows_cached(table), 0);
        assert_true(with_text - budget.used >= strlen("a text of its own") + 1);
        br_table_destroy(table);
        assert_int_equal(budget.used, 0);
    }
}

static void find__row_that_does_not_decode__corrupt(void **state)
{
    /* A stored row that the type refuses is an error with the reason, not an empty row. */
    fixture *f = *state;
    br_budget budget = {.max = 1 << 20};
    br_entry *entry;
    open_env(f);
    check_ok(f, put_row(f, 0, BR_LITERAL("a"), BR_LITERAL("short")));
    br_table *table = br_table_create(f->env, 0, &counter_type, &budget);
    br_bytes key = BR_LITERAL("a");
    assert_int_equal(br_table_obtain(table, key, br_hash64(key), &entry, &f->err), BR_ERR_CORRUPT);
    check_message(f, "a counter of 5 bytes");
    bool done;
    assert_int_equal(br_table_mark_next(table, 100, &done, &f->err), BR_ERR_CORRUPT);
    assert_int_equal(br_table_rows_cached(table), 0);
    br_table_destroy(table);
    assert_int_equal(counters_alive, 0);
}

static void mark_next__in_steps__every_stored_row_once(void **state)
{
    /* Steps of any size, commits between them: each row is marked in exactly one step. */
    fixture *f = *state;
    enum { ROWS = 500 };
    static const uint64_t steps[] = {1, 1000, 100000000};
    static char longer[700], room[32];
    br_budget budget = {.max = 20000};
    open_env(f);
    br_table *table = br_table_create(f->env, 1, &counter_type, &budget);
    for (uint64_t i = 0; i < ROWS; i++) add(f, table, number_key(i, room), 1);
    add(f, table, BR_LITERAL(""), 1);
    add(f, table, br_bytes_of(longer, sizeof(longer)), 1);
    commit(f, table);
    br_table_destroy(table);
    for (size_t s = 0; s < BR_COUNTOF(steps); s++) {
        size_t marked = 0, count;
        bool done = false;
        table = br_table_create(f->env, 1, &counter_type, &budget);
        for (size_t calls = 0; !done; calls++) {
            assert_true(calls <= ROWS + 3);
            check_ok(f, br_table_mark_next(table, steps[s], &done, &f->err));
            (void)br_table_emit(table, &count);
            assert_true(done || count > 0);
            marked += count;
            commit(f, table);
        }
        assert_int_equal(marked, ROWS + 2);
        br_table_destroy(table);
    }
}

static void write__transaction_repeated__same_rows(void **state)
{
    /* A write that is done again because the map grew puts the same rows. FAULTS 56. */
    fixture *f = *state;
    br_env_opts opts = opts_of(f);
    opts.map_bytes = 1 << 18;
    check_ok(f, br_env_open(&f->env, &opts, &f->err));
    br_budget budget = {.max = 1 << 26};
    char room[32];
    br_table *table = br_table_create(f->env, 0, &counter_type, &budget);
    for (uint64_t i = 0; i < 20000; i++) add(f, table, number_key(i, room), (int64_t)i + 1);
    commit(f, table);
    br_table_destroy(table);
    table = br_table_create(f->env, 0, &counter_type, &budget);
    for (uint64_t i = 0; i < 20000; i++)
        assert_int_equal(count_of(f, table, number_key(i, room)), i + 1);
    br_table_destroy(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(table__random_use_under_a_small_budget__equals_a_plain_array),
        TEST(table__marks__each_once_and_gone_after_commit),
        TEST(commit__budget_spent__oldest_clean_rows_go_first),
        TEST(account__payload_that_owns_memory__budget_returns_to_zero),
        TEST(find__row_that_does_not_decode__corrupt),
        TEST(mark_next__in_steps__every_stored_row_once),
        TEST(write__transaction_repeated__same_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
