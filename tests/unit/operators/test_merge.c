/* tests/unit/operators/test_merge.c - stage two: partials joined by version, merged on demand. */
#include "unit/operators/group_fixture.h"

#include "runtime/base/rng.h"

#include <time.h>

static const char *const by_k[] = {"k", NULL};
static const char *const calls[] = {"count()", "sum(v)", "avg(v)", "min(v)", "max(w)", NULL};

/* Makes the partials that the tests hand to stage two. */
typedef struct tasks {
    fixture *one, *two;
} tasks;

static int open_tasks(void **state)
{
    tasks *t = BR_NEW(tasks);
    t->one = fixture_create(by_k, calls, true);
    t->two = fixture_create(by_k, calls, true);
    fixture_open(t->one, br_group_by_create);
    fixture_open(t->two, br_merge_create);
    *state = t;
    return 0;
}

static int close_tasks(void **state)
{
    tasks *t = *state;
    fixture_destroy(t->one);
    fixture_destroy(t->two);
    br_free(t);
    return 0;
}

static void restart_two(fixture *two, int64_t emit_from)
{
    fixture_close(two);
    two->context.emit_from = emit_from;
    fixture_open(two, br_merge_create);
}

/* From here on stage one is the task of this source partition, with no state of its own. */
static void become_partition(fixture *one, br_buf *id, int64_t partition)
{
    br_value source = text("clicks"), number = br_value_int(partition);
    one->op->class->destroy(one->op);
    one->op = br_group_by_create(&one->conf, &one->context, one->env, &one->budget);
    br_buf_reset(id);
    br_tuple_add(id, &source);
    br_tuple_add(id, &source);
    br_tuple_add(id, &number);
    one->context.partial_id = br_buf_bytes(id);
}

static br_status apply(fixture *two, int64_t offset, const sent_record *partial)
{
    br_err err;
    return br_merge_apply(two->op, offset, br_bytes_of(partial->key, partial->key_len),
                          br_bytes_of(partial->row, partial->row_len), &err);
}

/* Sends what stage one has, and gives it to stage two. */
static void hand_over(tasks *t, int64_t offset)
{
    flush(t->one);
    for (size_t i = 0; i < t->one->partials.count; i++) {
        assert_int_equal(apply(t->two, offset, &t->one->partials.at[i]), BR_OK);
    }
}

#define V(i) br_value_int(i)

static void apply__growing_partials__replace_not_add(void **state)
{
    /* Claim: totals are those of the records: 5, then 6, never 9; avg is 3.0 of 1, 2 and 6, not
     * 3.75; min and max may come from either (FAULTS 45). */
    tasks *t = *state;
    br_buf id = {0};
    become_partition(t->one, &id, 0);
    FEED(t->one, {0, {text("camp"), V(1), text("x")}});
    hand_over(t, 0);
    FEED(t->one, {1, {text("camp"), V(2), text("a")}});
    hand_over(t, 1);
    become_partition(t->one, &id, 1);
    FEED(t->one, {0, {text("camp"), V(6), text("y")}});
    hand_over(t, 2);
    hand_over(t, 3);
    flush(t->two);
    assert_results(t->two, "camp|3|9|3|1|y;");
    FEED(t->one, {1, {text("camp"), V(-4), text("b")}}, {2, {text("other"), V(1), text("")}});
    hand_over(t, 4);
    flush(t->two);
    assert_results(t->two, "camp|4|5|1.25|-4|y;other|1|1|1|1|;");
    br_buf_dispose(&id);
}

static void apply__sent_twice_late_or_shuffled__same_totals(void **state)
{
    /* Claim: partials in any order, any number of times, with restarts between, give the totals of
     * the newest of each partition. */
    enum { PARTITIONS = 5, STEPS = 6, COPIES = 3, COUNT = PARTITIONS * STEPS };
    tasks *t = *state;
    uint64_t seed = (uint64_t)time(NULL);
    print_message("seed %" PRIu64 "\n", seed);
    br_rng rng = {seed};
    br_buf id = {0};
    sent_records all = {.count = 0};
    for (int p = 0; p < PARTITIONS; p++) {
        become_partition(t->one, &id, p);
        for (int step = 0; step < STEPS; step++) {
            FEED(t->one, {step, {text("a"), V(p * 10 + step), text("w")}});
            flush(t->one);
            const sent_record *sent = &t->one->partials.at[0];
            remember(&all, br_bytes_of(sent->key, sent->key_len),
                     br_bytes_of(sent->row, sent->row_len));
        }
    }
    for (size_t i = 0; i < COPIES * COUNT; i++) {
        assert_int_equal(apply(t->two, 0, &all.at[br_rng_below(&rng, COUNT)]), BR_OK);
        if (br_rng_below(&rng, 20) != 0) continue;
        flush(t->two);
        commit(t->two, 0);
        restart_two(t->two, 0);
    }
    for (size_t p = 0; p < PARTITIONS; p++) {
        assert_int_equal(apply(t->two, 0, &all.at[p * STEPS + STEPS - 1]), BR_OK);
    }
    flush(t->two);
    assert_results(t->two, "a|30|675|22.5|0|w;");
    forget(&all);
    br_buf_dispose(&id);
}

static void apply__known_partial__changes_no_row_and_emits(void **state)
{
    /* Claim: a copy makes nothing dirty, yet its group is emitted: its result may be missing. */
    tasks *t = *state;
    br_buf id = {0};
    become_partition(t->one, &id, 0);
    FEED(t->one, {0, {text("a"), V(1), text("w")}});
    hand_over(t, 0);
    flush(t->two);
    commit(t->two, 0);
    assert_int_equal(apply(t->two, 1, &t->one->partials.at[0]), BR_OK);
    size_t dirty;
    br_table_dirty(t->two->op->table, &dirty);
    assert_int_equal(dirty, 0);
    flush(t->two);
    assert_results(t->two, "a|1|1|1|1|w;");
    flush(t->two);
    assert_results(t->two, "");
    br_buf_dispose(&id);
}

static void apply__older_partial_behind_newer__newer_is_written_again(void **state)
{
    /* Claim: a zombie's older record changes no total, and what is held is written behind it once,
     * so that the cleaner cannot keep the zombie's only. */
    tasks *t = *state;
    br_buf id = {0};
    sent_records old = {0};
    become_partition(t->one, &id, 0);
    FEED(t->one, {0, {text("a"), V(1), text("w")}});
    hand_over(t, 0);
    const sent_record *first = &t->one->partials.at[0];
    remember(&old, br_bytes_of(first->key, first->key_len),
             br_bytes_of(first->row, first->row_len));
    FEED(t->one, {1, {text("a"), V(2), text("w")}});
    hand_over(t, 1);
    flush(t->two);
    commit(t->two, 1);
    assert_int_equal(t->two->repairs.count, 0);
    assert_int_equal(apply(t->two, 2, &old.at[0]), BR_OK);
    assert_int_equal(apply(t->two, 3, &old.at[0]), BR_OK);
    flush(t->two);
    assert_results(t->two, "a|2|3|1.5|1|w;");
    assert_int_equal(t->two->repairs.count, 1);
    const sent_record *again = &t->two->repairs.at[0], *newest = &t->one->partials.at[0];
    assert_true(br_bytes_equal(br_bytes_of(again->key, again->key_len),
                               br_bytes_of(newest->key, newest->key_len)));
    assert_true(br_bytes_equal(br_bytes_of(again->row, again->row_len),
                               br_bytes_of(newest->row, newest->row_len)));
    commit(t->two, 3);
    flush(t->two);
    assert_int_equal(t->two->repairs.count, 1);
    forget(&old);
    br_buf_dispose(&id);
}

static void apply__below_emit_from__row_changes_and_nothing_is_emitted(void **state)
{
    /* Claim: while stage two catches up it tells no old totals. */
    tasks *t = *state;
    br_buf id = {0};
    t->two->context.emit_from = 10;
    become_partition(t->one, &id, 0);
    FEED(t->one, {0, {text("a"), V(1), text("w")}});
    hand_over(t, 9);
    flush(t->two);
    assert_results(t->two, "");
    FEED(t->one, {1, {text("a"), V(1), text("w")}});
    hand_over(t, 10);
    flush(t->two);
    assert_results(t->two, "a|2|2|1|1|w;");
    br_buf_dispose(&id);
}

static void apply__incarnations__highest_counts_alone(void **state)
{
    /* Claim: partials of a job before its reset are dropped by the first newer one, refused behind
     * it, and never emitted, whatever their offsets. */
    tasks *t = *state;
    br_buf id = {0};
    sent_records old = {.count = 0};
    for (int p = 0; p < 2; p++) {
        become_partition(t->one, &id, p);
        FEED(t->one, {100, {text("a"), V(5), text("z")}}, {101, {text("b"), V(5), text("z")}});
        hand_over(t, 0);
        for (size_t i = 0; i < t->one->partials.count; i++) {
            const sent_record *sent = &t->one->partials.at[i];
            remember(&old, br_bytes_of(sent->key, sent->key_len),
                     br_bytes_of(sent->row, sent->row_len));
        }
    }
    flush(t->two);
    commit(t->two, 0);
    t->one->context.incarnation = t->two->context.incarnation = 2;
    restart_two(t->two, 0);
    become_partition(t->one, &id, 0);
    FEED(t->one, {1, {text("a"), V(1), text("w")}});
    hand_over(t, 1);
    for (size_t i = 0; i < old.count; i++) assert_int_equal(apply(t->two, 2, &old.at[i]), BR_OK);
    br_err err;
    bool done;
    assert_int_equal(br_table_mark_next(t->two->op->table, 1 << 20, &done, &err), BR_OK);
    flush(t->two);
    assert_results(t->two, "a|1|1|1|1|w;");
    commit(t->two, 2);
    restart_two(t->two, 0);
    t->two->context.incarnation = 1; /* an old worker: the join is the same */
    for (size_t i = 0; i < old.count; i++) assert_int_equal(apply(t->two, 3, &old.at[i]), BR_OK);
    flush(t->two);
    assert_results(t->two, "a|1|1|1|1|w;b|2|10|5|5|z;");
    forget(&old);
    br_buf_dispose(&id);
}

static void restart__after_commit__partials_survive(void **state)
{
    /* Claim: a later partial of one partition meets the stored ones of the others. */
    enum { PARTITIONS = 40 };
    tasks *t = *state;
    br_buf id = {0};
    for (int p = 0; p < PARTITIONS; p++) {
        become_partition(t->one, &id, p);
        FEED(t->one, {0, {text("a"), br_value_float(0.1), text("w")}});
        hand_over(t, p);
    }
    flush(t->two);
    commit(t->two, 0);
    restart_two(t->two, 0);
    FEED(t->one, {1, {text("a"), br_value_float(0.1), text("w")}});
    hand_over(t, PARTITIONS);
    flush(t->two);
    assert_results(t->two, "a|41|4.1000000000000005|0.1|0.1|w;");
    br_buf_dispose(&id);
}

static void encode__row__golden_bytes(void **state)
{
    /* Claim: a stage-two row is Row.partials of state.proto, in the order of the partial ids. */
    static const unsigned char expected[] = {
        0x22, 36, 0x0a, 1, 0x27, 0x12, 4,   0x08, 1, 0x10, 0, /* id true: incarnation 1, offset 0 */
        0x1a, 2,  0x08, 1,                                    /* count 1 */
        0x1a, 2,  0x10, 4,                                    /* sum 2 */
        0x1a, 4,  0x08, 1, 0x10, 4,                           /* avg: count 1, sum 2 */
        0x1a, 4,  0x2a, 2, 0x10, 4,                           /* min 2 */
        0x1a, 5,  0x2a, 3, 0x2a, 1,    'w',                   /* max w */
    };
    tasks *t = *state;
    t->one->context.partial_id = BR_LITERAL("\x27");
    FEED(t->one, {0, {text("a"), V(2), text("w")}});
    hand_over(t, 0);
    t->one->context.partial_id = BR_LITERAL("\x26"); /* false: before true */
    FEED(t->one, {1, {text("a"), V(0), text("")}});
    hand_over(t, 0);
    size_t count;
    br_entry *const *dirty = br_table_dirty(t->two->op->table, &count);
    assert_int_equal(count, 1);
    br_row_type type = br_merge_row_type(&t->two->conf);
    br_buf row = {0};
    type.encode(type.self, dirty[0], &row);
    assert_true(row.len > sizeof expected);
    assert_memory_equal(row.data + row.len - sizeof expected, expected, sizeof expected);
    br_buf_dispose(&row);
}

static void apply__tombstone__passed_over(void **state)
{
    /* Claim: a record without a value changes and emits nothing. */
    tasks *t = *state;
    br_err err;
    assert_int_equal(br_merge_apply(t->two->op, 0, BR_LITERAL("x"), BR_NO_BYTES, &err), BR_OK);
    flush(t->two);
    assert_results(t->two, "");
}

static void apply__hostile_records__corrupt_and_nothing_changed(void **state)
{
    /* Claim: keys and values that are no partial's are refused; what is held stays as it was. */
    tasks *t = *state;
    br_buf id = {0};
    become_partition(t->one, &id, 0);
    FEED(t->one, {0, {text("a"), br_value_float(1), text("w")}});
    flush(t->one);
    br_rng rng = {20260705};
    print_message("seed %" PRIu64 "\n", rng.state);
    const sent_record good = t->one->partials.at[0];
    char key[64], row[256];
    assert_true(good.key_len < sizeof key && good.row_len < sizeof row);
    for (size_t len = 0; len < good.key_len; len++) {
        sent_record bad = {good.key, good.row, len, good.row_len};
        if (len == 4 + 9 || len == 4 + 18) continue; /* whole values: a shorter id is an id */
        assert_int_equal(apply(t->two, 1, &bad), BR_ERR_CORRUPT);
    }
    for (size_t len = 0; len < good.row_len; len++) {
        sent_record bad = {good.key, good.row, good.key_len, len};
        assert_int_equal(apply(t->two, 1, &bad), BR_ERR_CORRUPT);
    }
    flush(t->two);
    assert_results(t->two, "");
    for (int i = 0; i < 20000; i++) {
        memcpy(key, good.key, good.key_len);
        memcpy(row, good.row, good.row_len);
        sent_record bad = {key, row, good.key_len, good.row_len};
        (i % 2 ? key : row)[br_rng_below(&rng, i % 2 ? good.key_len : good.row_len)] ^=
            (char)(1 << br_rng_below(&rng, 8));
        br_status st = apply(t->two, 1, &bad);
        assert_true(st == BR_OK || st == BR_ERR_CORRUPT);
    }
    flush(t->two); /* whatever got through has a result */
    br_buf_dispose(&id);
}

static void partial_key__random_tuples__split_again(void **state)
{
    /* Claim: group and partial id come apart whatever their texts contain. */
    (void)state;
    uint64_t seed = (uint64_t)time(NULL);
    print_message("seed %" PRIu64 "\n", seed);
    br_rng rng = {seed};
    br_buf tuples[2] = {0}, key = {0};
    for (int round = 0; round < 5000; round++) {
        size_t by_count = 1 + br_rng_below(&rng, 3);
        for (size_t part = 0; part < 2; part++) {
            br_buf_reset(&tuples[part]);
            for (size_t i = 0; i < (part == 0 ? by_count : 3); i++) {
                char bytes[6];
                size_t len = br_rng_below(&rng, sizeof bytes);
                for (size_t b = 0; b < len; b++) bytes[b] = "\0\x01\xff\x02"[br_rng_below(&rng, 4)];
                const br_value values[] = {br_value_text(br_bytes_of(bytes, len)),
                                           br_value_int((int64_t)br_rng_next(&rng)),
                                           br_value_float(br_rng_unit(&rng)),
                                           br_value_bool(len > 3),
                                           br_value_i128((br_i128)br_rng_next(&rng) << 60),
                                           br_value_i128(-((br_i128)br_rng_next(&rng) << 60)),
                                           {.kind = BR_JSON, .s = br_bytes_of(bytes, len)},
                                           br_value_null()};
                br_tuple_add(&tuples[part], &values[br_rng_below(&rng, BR_COUNTOF(values))]);
            }
        }
        br_buf_reset(&key);
        br_partial_key(&key, br_buf_bytes(&tuples[0]), br_buf_bytes(&tuples[1]));
        br_bytes group, id;
        br_err err;
        assert_int_equal(br_partial_key_split(br_buf_bytes(&key), by_count, &group, &id, &err),
                         BR_OK);
        assert_true(br_bytes_equal(group, br_buf_bytes(&tuples[0])));
        assert_true(br_bytes_equal(id, br_buf_bytes(&tuples[1])));
    }
    br_buf_dispose(&tuples[0]);
    br_buf_dispose(&tuples[1]);
    br_buf_dispose(&key);
}

static void partial_key__cut_or_strange__corrupt(void **state)
{
    /* Claim: what is not a whole group and a whole id behind it is refused. */
    (void)state;
    const br_bytes keys[] = {
        BR_LITERAL(""),           BR_LITERAL("\x26"),         BR_LITERAL("\x26\xfe"),
        BR_LITERAL("\x26\x14"),   BR_LITERAL("\x26\x02"),     BR_LITERAL("\x26\x02x"),
        BR_LITERAL("\x26\x02\0"), BR_LITERAL("\x26\x02\0\2"), BR_LITERAL("\xff"),
    };
    for (size_t i = 0; i < BR_COUNTOF(keys); i++) {
        br_bytes group, id;
        br_err err;
        assert_int_equal(br_partial_key_split(keys[i], 1, &group, &id, &err), BR_ERR_CORRUPT);
    }
}

#define TASKS(test) cmocka_unit_test_setup_teardown(test, open_tasks, close_tasks)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TASKS(apply__growing_partials__replace_not_add),
        TASKS(apply__sent_twice_late_or_shuffled__same_totals),
        TASKS(apply__known_partial__changes_no_row_and_emits),
        TASKS(apply__older_partial_behind_newer__newer_is_written_again),
        TASKS(apply__below_emit_from__row_changes_and_nothing_is_emitted),
        TASKS(apply__incarnations__highest_counts_alone),
        TASKS(restart__after_commit__partials_survive),
        TASKS(encode__row__golden_bytes),
        TASKS(apply__tombstone__passed_over),
        TASKS(apply__hostile_records__corrupt_and_nothing_changed),
        cmocka_unit_test(partial_key__random_tuples__split_again),
        cmocka_unit_test(partial_key__cut_or_strange__corrupt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
