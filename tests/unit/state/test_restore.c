/* tests/unit/state/test_restore.c - changelogs back into stores. */
#include "unit/state/fixture.h"

#include "state/restore.h"

/* A packed Row of this version; its content follows from key and version. Borrows out. */
static br_bytes row_of(br_version version, uint64_t content, br_buf *out)
{
    Brine__State__Version packed = BRINE__STATE__VERSION__INIT;
    Brine__State__Accumulator acc = BRINE__STATE__ACCUMULATOR__INIT, *accs = &acc;
    Brine__State__Row row = BRINE__STATE__ROW__INIT;
    packed.has_incarnation = packed.has_offset = true;
    packed.incarnation = version.incarnation;
    packed.offset = version.offset;
    acc.has_count = true;
    acc.count = content;
    row.version = &packed;
    row.n_accumulators = 1;
    row.accumulators = &accs;
    br_buf_reset(out);
    br_buf_reserve(out, 256);
    out->len = brine__state__row__pack(&row, (uint8_t *)out->data);
    return br_buf_bytes(out);
}

static int64_t changelog_next(const fixture *f, const char *id)
{
    const Brine__State__Checkpoint *checkpoint = br_env_checkpoint(f->env);
    for (size_t i = 0; checkpoint && i < checkpoint->n_stores; i++)
        if (strcmp(checkpoint->stores[i]->id, id) == 0)
            return checkpoint->stores[i]->changelog_next;
    return -1;
}

/* ---- random logs against a naive model ---- */

enum { LOG_MAX = 600, LOG_KEYS = 40 };

typedef struct log_record {
    uint64_t key;
    br_version version;
    bool tombstone;
} log_record;

typedef struct random_log {
    log_record at[LOG_MAX];
    size_t len;
} random_log;

/* Mostly growing versions per key, with records of zombies between. */
static void make_log(br_rng *rng, random_log *log)
{
    int64_t now[LOG_KEYS] = {0};
    log->len = 1 + br_rng_below(rng, LOG_MAX);
    for (size_t i = 0; i < log->len; i++) {
        uint64_t key = br_rng_below(rng, LOG_KEYS);
        now[key] += (int64_t)br_rng_below(rng, 3);
        int64_t back = br_rng_below(rng, 6) == 0 ? (int64_t)br_rng_below(rng, 5) : 0;
        log->at[i] = (log_record){.key = key,
                                  .version = {1 + (uint32_t)(i * 3 / log->len), now[key] - back},
                                  .tombstone = br_rng_below(rng, 50) == 0};
        if (br_rng_below(rng, 20) == 0) log->at[i].version.incarnation = 1;
    }
}

/* Every tenth key is a long one. */
static br_bytes log_key(uint64_t i, char room[700])
{
    memset(room, 'x', 700);
    (void)snprintf(room, 700, "key %llu", (unsigned long long)i);
    return br_bytes_of(room, i % 10 == 0 ? 700 : strlen(room));
}

static void add_records(fixture *f, br_restore *restore, const random_log *log, size_t from,
                        size_t to)
{
    br_buf row = {0};
    for (size_t i = from; i < to; i++) {
        const log_record *at = &log->at[i];
        char room[700];
        br_bytes value = row_of(at->version, at->key, &row);
        if (at->tombstone) value = BR_NO_BYTES;
        check_ok(f, br_restore_add(restore, (int64_t)i, log_key(at->key, room), value, &f->err));
    }
    br_buf_dispose(&row);
}

static bool is_mended(const br_restored *restored, br_bytes key)
{
    size_t found = 0;
    for (size_t i = 0; i < restored->mend_count; i++)
        found += br_bytes_equal(restored->mend[i], key);
    assert_true(found <= 1);
    return found == 1;
}

/* The store and the list of what is to be mended are what the log says, looked at naively. */
static void check_against_log(fixture *f, const random_log *log, const br_restored *restored)
{
    uint64_t rows = 0;
    br_buf row = {0};
    for (uint64_t key = 0; key < LOG_KEYS; key++) {
        br_version best = BR_VERSION_NONE, last = BR_VERSION_NONE;
        bool any = false;
        for (size_t i = 0; i < log->len; i++) {
            if (log->at[i].key != key || log->at[i].tombstone) continue;
            any = true;
            last = log->at[i].version;
            if (br_version_compare(last, best) > 0) best = last;
        }
        char room[700];
        br_bytes k = log_key(key, room);
        if (any)
            check_row(f, 0, k, row_of(best, key, &row));
        else
            check_no_row(f, 0, k);
        rows += any;
        assert_int_equal(is_mended(restored, k), any && br_version_compare(last, best) < 0);
    }
    assert_int_equal(br_env_rows(f->env, 0), rows);
    br_buf_dispose(&row);
}

static void restore__random_logs_and_chunks__equals_the_model(void **state)
{
    /* Highest version per key wins wherever it stands; whose last record is older is mended. */
    fixture *f = *state;
    br_rng rng = {new_seed(__func__)};
    static random_log log;
    open_env(f);
    for (int round = 0; round < 25; round++) {
        make_log(&rng, &log);
        check_ok(f, br_env_wipe(f->env, &f->err));
        br_restore *restore = br_restore_begin(f->env, 0, 1 + br_rng_below(&rng, 40000));
        br_restored restored;
        add_records(f, restore, &log, 0, log.len);
        check_ok(f, br_restore_finish(restore, (int64_t)log.len + 2, &restored, &f->err));
        assert_int_equal(restored.records, log.len);
        check_against_log(f, &log, &restored);
        if (restored.mend_count == 0) assert_int_equal(changelog_next(f, "first"), log.len + 2);
        br_restore_destroy(restore);
    }
}

static void restore__given_up_anywhere_and_gone_on__equals_the_model(void **state)
{
    /* Paused or dropped half way, it goes on at the stored position: nothing is lost, and what is
     * to be mended is found again. FAULTS 3. */
    fixture *f = *state;
    br_rng rng = {new_seed(__func__)};
    static random_log log;
    open_env(f);
    for (int round = 0; round < 25; round++) {
        make_log(&rng, &log);
        check_ok(f, br_env_wipe(f->env, &f->err));
        br_restored restored = {0};
        bool finished = false;
        for (int tries = 0; !finished; tries++) {
            int64_t stored = changelog_next(f, "first");
            size_t from = stored < 0 ? 0 : (size_t)stored, to = log.len;
            if (tries < 5) to = from + br_rng_below(&rng, log.len - from + 1);
            br_restore *restore = br_restore_begin(f->env, 0, 1 + br_rng_below(&rng, 20000));
            add_records(f, restore, &log, from, to);
            finished = tries >= 5;
            if (finished) {
                check_ok(f, br_restore_finish(restore, (int64_t)to, &restored, &f->err));
                check_against_log(f, &log, &restored);
            } else if (br_rng_below(&rng, 2)) {
                check_ok(f, br_restore_pause(restore, &f->err));
                assert_true(changelog_next(f, "first") <= (int64_t)to);
            }
            br_restore_destroy(restore);
            if (br_rng_below(&rng, 4) != 0) continue;
            close_env(f, br_rng_below(&rng, 2));
            open_env(f);
        }
    }
}

/* ---- positions ---- */

static void pause__after_some_records__next_start_goes_on_there(void **state)
{
    /* The position is behind the last record added, not the end; other stores keep theirs, and the
     * checkpoint its other fields. FAULTS 3. */
    fixture *f = *state;
    Brine__State__StoreCheckpoint second = BRINE__STATE__STORE_CHECKPOINT__INIT, *stores = &second;
    Brine__State__Checkpoint checkpoint = BRINE__STATE__CHECKPOINT__INIT;
    char id[] = "second";
    second.id = id;
    second.has_changelog_next = true;
    second.changelog_next = 5;
    checkpoint.n_stores = 1;
    checkpoint.stores = &stores;
    checkpoint.has_next_offset = true;
    checkpoint.next_offset = 31;
    put_list none = {0};
    br_buf row = {0};
    open_env(f);
    check_ok(f, br_env_write(f->env, put_all, &none, &checkpoint, &f->err));
    br_restore *restore = br_restore_begin(f->env, 0, 1 << 20);
    check_ok(f, br_restore_pause(restore, &f->err));
    assert_int_equal(changelog_next(f, "first"), -1);
    for (int64_t i = 0; i < 200; i++) {
        char key[32];
        (void)snprintf(key, sizeof(key), "k%lld", (long long)i);
        check_ok(f, br_restore_add(restore, i * 2, br_str(key), row_of((br_version){1, i}, 0, &row),
                                   &f->err));
    }
    check_ok(f, br_restore_pause(restore, &f->err));
    br_restore_destroy(restore);
    close_env(f, false);
    open_env(f);
    assert_int_equal(changelog_next(f, "first"), 399);
    assert_int_equal(changelog_next(f, "second"), 5);
    assert_int_equal(br_env_checkpoint(f->env)->next_offset, 31);
    assert_int_equal(br_env_rows(f->env, 0), 200);
    br_buf_dispose(&row);
}

static void finish__nothing_new__mark_of_the_clean_close_stays(void **state)
{
    /* A restore that restores nothing writes nothing. FAULTS 8: the end is a position. */
    fixture *f = *state;
    br_restored restored;
    open_env(f);
    for (int pass = 0; pass < 2; pass++) {
        br_restore *restore = br_restore_begin(f->env, 0, 1 << 20);
        check_ok(f, br_restore_finish(restore, 17, &restored, &f->err));
        assert_int_equal(restored.records, 0);
        assert_int_equal(br_version_compare(restored.marker, BR_VERSION_NONE), 0);
        assert_int_equal(changelog_next(f, "first"), 17);
        br_restore_destroy(restore);
        assert_int_equal(file_bytes(f, "clean") > 0, pass == 1);
        close_env(f, true);
        open_env(f);
    }
}

/* ---- markers ---- */

static void restore__several_markers__highest_counts(void **state)
{
    /* Markers are joined by version too: a zombie's older one behind changes nothing. */
    fixture *f = *state;
    static const struct {
        br_version version;
        int64_t time;
        const char *spec;
    } markers[] = {{{1, 90}, 1000, "old"},
                   {{2, 50}, -7, "new"},
                   {{2, 40}, 9000, "zombie"},
                   {{1, 99}, 9000, "older job"}};
    br_restored restored;
    open_env(f);
    br_restore *restore = br_restore_begin(f->env, 0, 1 << 20);
    for (size_t i = 0; i < BR_COUNTOF(markers); i++) {
        br_buf value = {0};
        br_marker_encode(&value, markers[i].version, markers[i].time, br_str(markers[i].spec));
        check_ok(f,
                 br_restore_add(restore, (int64_t)i, BR_MARKER_KEY, br_buf_bytes(&value), &f->err));
        br_buf_dispose(&value);
    }
    check_ok(f, br_restore_finish(restore, 4, &restored, &f->err));
    assert_int_equal(br_version_compare(restored.marker, (br_version){2, 50}), 0);
    assert_int_equal(restored.stream_time, -7);
    assert_true(br_bytes_equal(restored.operator_spec, BR_LITERAL("new")));
    assert_int_equal(br_env_rows(f->env, 0), 0);
    br_restore_destroy(restore);
    /* After a crash before the task's first commit the next restore begins behind the markers. */
    close_env(f, false);
    open_env(f);
    const Brine__State__Checkpoint *stored = br_env_checkpoint(f->env);
    assert_int_equal(changelog_next(f, "first"), 4);
    assert_int_equal(stored->version->incarnation, 2);
    assert_int_equal(stored->version->offset, 50);
    assert_int_equal(stored->stream_time, -7);
}

/* ---- hostile bytes ---- */

static void add__bytes_that_are_no_row_or_marker__corrupt(void **state)
{
    /* Empty, cut, oversized and versionless values are refused; unknown fields are not. FAULTS 54.
     */
    fixture *f = *state;
    static const struct {
        br_bytes key, value;
        br_status expected;
    } cases[] = {
        {BR_LITERAL("a"), BR_LITERAL(""), BR_ERR_CORRUPT},
        {BR_LITERAL("a"), BR_LITERAL("\x04\x22\x4d"), BR_ERR_CORRUPT},
        {BR_LITERAL("a"), BR_LITERAL("\x0a\xff\xff\xff\xff"), BR_ERR_CORRUPT},
        {BR_LITERAL("a"), BR_LITERAL("\x12\x00"), BR_ERR_CORRUPT},         /* empty version */
        {BR_LITERAL("a"), BR_LITERAL("\x12\x02\x08\x01"), BR_ERR_CORRUPT}, /* no offset */
        {BR_LITERAL("a"), BR_LITERAL("\x12\x02\x10\x06\x7a\x01z"), BR_OK}, /* and a field 15 */
        {BR_LITERAL("a"), {NULL, 0}, BR_OK},                               /* tombstone */
        {{NULL, 0}, BR_LITERAL("\x12\x02\x10\x06"), BR_ERR_CORRUPT},
        {BR_LITERAL("\xff"), BR_LITERAL(""), BR_ERR_CORRUPT},
        {BR_LITERAL("\xff"), BR_LITERAL("\x0a\x05\x08"), BR_ERR_CORRUPT},
        {BR_LITERAL("\xff"), BR_LITERAL("\x0a\x02\x10\x06"), BR_OK},
    };
    open_env(f);
    for (size_t i = 0; i < BR_COUNTOF(cases); i++) {
        br_restore *restore = br_restore_begin(f->env, 0, 1 << 20);
        br_status status = br_restore_add(restore, 0, cases[i].key, cases[i].value, &f->err);
        if (status != cases[i].expected) fail_msg("case %zu: %s", i, br_status_name(status));
        br_restore_destroy(restore);
    }
}

static void add__marker_of_many_fields__refused_not_expanded(void **state)
{
    /* A marker of two bytes that unpack into a hundred, a million times: refused at a bound. FAULTS
     * 54. */
    fixture *f = *state;
    enum { COUNT = 1000000 };
    br_buf value = {0};
    br_buf_adds(&value, "\x0a\x02\x10\x06");
    for (size_t i = 0; i < COUNT; i++) br_buf_add(&value, "\x2a\x00", 2);
    open_env(f);
    br_restore *restore = br_restore_begin(f->env, 0, 1 << 20);
    assert_int_equal(br_restore_add(restore, 0, BR_MARKER_KEY, br_buf_bytes(&value), &f->err),
                     BR_ERR_CORRUPT);
    br_restore_destroy(restore);
    br_buf_dispose(&value);
}

static void add__random_bytes__row_or_corrupt(void **state)
{
    /* No bytes do anything but join or be refused. FAULTS 54. */
    fixture *f = *state;
    br_rng rng = {new_seed(__func__)};
    br_buf row = {0};
    open_env(f);
    br_restore *restore = br_restore_begin(f->env, 0, 2000);
    for (int i = 0; i < 20000; i++) {
        char bytes[256];
        br_bytes packed = row_of((br_version){1, i}, (uint64_t)i, &row);
        memcpy(bytes, packed.data, packed.len);
        for (uint64_t n = br_rng_below(&rng, 4); n > 0; n--)
            bytes[br_rng_below(&rng, packed.len)] = (char)br_rng_next(&rng);
        br_bytes value = br_bytes_of(bytes, br_rng_below(&rng, packed.len + 1));
        br_bytes key = br_rng_below(&rng, 5) ? br_bytes_of(bytes, 1) : BR_MARKER_KEY;
        br_status status = br_restore_add(restore, i, key, value, &f->err);
        assert_true(status == BR_OK || status == BR_ERR_CORRUPT);
    }
    br_restored restored;
    check_ok(f, br_restore_finish(restore, 20000, &restored, &f->err));
    br_restore_destroy(restore);
    br_buf_dispose(&row);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(restore__random_logs_and_chunks__equals_the_model),
        TEST(restore__given_up_anywhere_and_gone_on__equals_the_model),
        TEST(pause__after_some_records__next_start_goes_on_there),
        TEST(finish__nothing_new__mark_of_the_clean_close_stays),
        TEST(restore__several_markers__highest_counts),
        TEST(add__bytes_that_are_no_row_or_marker__corrupt),
        TEST(add__marker_of_many_fields__refused_not_expanded),
        TEST(add__random_bytes__row_or_corrupt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
