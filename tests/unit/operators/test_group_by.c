/* tests/unit/operators/test_group_by.c - groupBy in one stage, and as stage one of two. */
#include "unit/operators/group_fixture.h"

#include "runtime/base/limits.h"
#include "runtime/base/rng.h"

#include <time.h>

static const char *const by_k[] = {"k", NULL};
static const char *const count_and_sum[] = {"count()", "sum(v)", NULL};

static int open_one_stage(void **state)
{
    fixture *f = fixture_create(by_k, count_and_sum, false);
    fixture_open(f, br_group_by_create);
    *state = f;
    return 0;
}

static int open_two_stages(void **state)
{
    fixture *f = fixture_create(by_k, count_and_sum, true);
    fixture_open(f, br_group_by_create);
    *state = f;
    return 0;
}

static int close_fixture(void **state)
{
    fixture_destroy(*state);
    return 0;
}

static void restart(fixture *f, int64_t horizon)
{
    fixture_close(f);
    f->context.horizon = horizon;
    fixture_open(f, br_group_by_create);
}

#define V(i) br_value_int(i)

static void process__several_groups__each_has_its_total(void **state)
{
    /* Claim: every record is in the total of its own group, over several batches. */
    fixture *f = *state;
    FEED(f, {0, {text("a"), V(1)}}, {1, {text("b"), V(2)}}, {2, {text("a"), V(3)}});
    FEED(f, {3, {text("b"), V(-2)}});
    flush(f);
    assert_results(f, "a|2|4;b|2|0;");
    assert_int_equal(f->changelog.count, 2);
    assert_int_equal(f->partials.count, 0);
}

/* A value of any kind, from few, so that groups meet. */
static br_value random_value(br_rng *rng)
{
    static const char *const texts[] = {"a", "b", "ab", ""};
    switch (br_rng_below(rng, 6)) {
    case 0: return (br_value){.kind = BR_MISSING};
    case 1: return br_value_null();
    case 2: return V((int64_t)br_rng_below(rng, 3));
    case 3: return br_value_text(br_bytes_of("a\0b", br_rng_below(rng, 4)));
    case 4: return br_value_bool(br_rng_below(rng, 2));
    default: return text(texts[br_rng_below(rng, BR_COUNTOF(texts))]);
    }
}

static void process__short_ways__same_as_the_long_ones(void **state)
{
    /* Claim: a field read from its slot and counts without arguments give what the same job gives
     * that evaluates an expression for its key and has arguments. */
    const char *by[2][2] = {{"k", NULL}, {"k or k", NULL}};
    const char *calls[2][3] = {{"count()", "count()", NULL}, {"count()", "count(true)", NULL}};
    uint64_t seed = (uint64_t)time(NULL);
    br_rng rng = {seed};
    (void)state;
    print_message("seed %" PRIu64 "\n", seed);
    fixture *f[2];
    for (size_t way = 0; way < 2; way++) {
        f[way] = fixture_create(by[way], calls[way], false);
        fixture_open(f[way], br_group_by_create);
    }
    input in[300];
    for (size_t i = 0; i < BR_COUNTOF(in); i++) /* now and then two rows of one record */
        in[i] = (input){(int64_t)(i - i % 7 % 2), {random_value(&rng)}};
    for (size_t way = 0; way < 2; way++) {
        assert_int_equal(feed(f[way], in, BR_COUNTOF(in)), BR_OK);
        flush(f[way]);
    }
    assert_true(f[0]->null_count > 0);
    assert_int_equal(f[0]->null_count, f[1]->null_count);
    assert_int_equal(f[0]->changelog.count, f[1]->changelog.count);
    for (size_t i = 0; i < f[0]->changelog.count; i++) {
        const sent_record *a = &f[0]->changelog.at[i], *b = &f[1]->changelog.at[i];
        assert_true(
            br_bytes_equal(br_bytes_of(a->key, a->key_len), br_bytes_of(b->key, b->key_len)));
        assert_true(
            br_bytes_equal(br_bytes_of(a->row, a->row_len), br_bytes_of(b->row, b->row_len)));
    }
    for (size_t way = 0; way < 2; way++) fixture_destroy(f[way]);
}

static void process__typed_keys__not_mixed_up(void **state)
{
    /* Claim: integers above 2^53, texts with NUL and texts of digits are groups of their own
     * (FAULTS 48), and 1.0 groups with 1. */
    fixture *f = *state;
    br_value nul = br_value_text(br_bytes_of("a\0b", 3));
    FEED(f, {0, {V(9007199254740993), V(1)}}, {1, {V(9007199254740992), V(1)}},
         {2, {text("1"), V(1)}}, {3, {V(1), V(1)}}, {4, {br_value_float(1), V(1)}},
         {5, {text("a"), V(1)}}, {6, {nul, V(1)}}, {7, {text(""), V(1)}});
    flush(f);
    assert_int_equal(f->result_count, 7);
    assert_non_null(strstr(br_buf_cstr(&f->results), "9007199254740993|1|1;"));
    assert_non_null(strstr(br_buf_cstr(&f->results), "9007199254740992|1|1;"));
    assert_non_null(strstr(br_buf_cstr(&f->results), "1|2|2;"));
}

static void process__null_key__told_and_left_out(void **state)
{
    /* Claim: a null or missing key makes no group and is no bad record. */
    fixture *f = *state;
    FEED(f, {0, {br_value_null(), V(1)}}, {1, {{.kind = BR_MISSING}, V(1)}},
         {2, {text("a"), V(1)}});
    flush(f);
    assert_results(f, "a|1|1;");
    assert_int_equal(f->null_count, 2);
    assert_int_equal(f->bad_count, 0);
}

static void process__bad_argument__nothing_of_the_row_is_added(void **state)
{
    /* Claim: where one aggregate refuses a row, the others do not count it either. */
    fixture *f = *state;
    FEED(f, {0, {text("a"), V(1)}}, {1, {text("a"), text("x")}}, {2, {text("b"), text("x")}});
    flush(f);
    assert_results(f, "a|1|1;");
    assert_int_equal(f->bad_count, 2);
    assert_string_equal(f->bad, "aggregate sum(v): sum takes numbers, found text");
    assert_int_equal(f->changelog.count, 1);
}

static void process__key_too_long__bad_record(void **state)
{
    /* Claim: a key beyond the limit is refused with both numbers; the rows around it count. */
    fixture *f = *state;
    size_t len = BR_GROUP_KEY_BYTES_MAX;
    char *big = br_calloc(len, 1);
    memset(big, 'x', len);
    FEED(f, {0, {text("a"), V(1)}}, {1, {br_value_text(br_bytes_of(big, len)), V(1)}},
         {2, {text("a"), V(1)}});
    br_free(big);
    flush(f);
    assert_results(f, "a|2|2;");
    assert_string_equal(f->bad, "group key of 524291 bytes, allowed are 524288");
}

static void process__bad_row_that_stops_the_job__rows_before_it_count(void **state)
{
    /* Claim: with `errors: fail` all records before the bad one are in, none of it or behind it,
     * also not the first rows of an exploded record whose last row is bad. */
    fixture *f = *state;
    f->stop_at_bad = true;
    br_status st = FEED(f, {0, {text("a"), V(1)}}, {1, {text("a"), V(1)}}, {1, {text("b"), V(1)}},
                        {1, {text("a"), text("x")}}, {2, {text("a"), V(1)}});
    assert_int_equal(st, BR_ERR_BAD_RECORD);
    assert_int_equal(f->context.stop_offset, 1);
    flush(f);
    assert_results(f, "a|1|1;");
    assert_int_equal(FEED(f, {1, {text("a"), V(1)}}), BR_OK);
    flush(f);
    assert_int_equal(f->changelog.count + f->result_count, 2); /* the same again, no more */
    assert_results(f, "a|1|1;");
}

static void process__bad_key_that_stops_the_job__its_record_is_left_out(void **state)
{
    /* Claim: the same where the key expression fails behind good rows of the same record. */
    static const char *const by[] = {"k + 1", NULL};
    fixture *f = fixture_create(by, count_and_sum, false);
    (void)state;
    fixture_open(f, br_group_by_create);
    f->stop_at_bad = true;
    br_status st = FEED(f, {0, {V(1), V(1)}}, {1, {V(2), V(1)}}, {1, {text("x"), V(1)}});
    assert_int_equal(st, BR_ERR_BAD_RECORD);
    assert_int_equal(f->context.stop_offset, 1);
    flush(f);
    assert_results(f, "2|1|1;");
    fixture_destroy(f);
}

static void process__explode__all_rows_of_a_record_count(void **state)
{
    /* Claim: rows of one record count each, within a batch and over two; sent again, none does. */
    fixture *f = *state;
    FEED(f, {0, {text("a"), V(1)}}, {0, {text("a"), V(2)}}, {0, {text("b"), V(3)}});
    FEED(f, {0, {text("a"), V(4)}});
    flush(f);
    assert_results(f, "a|3|7;b|1|3;");
    commit(f, 0);
    restart(f, -1);
    FEED(f, {0, {text("a"), V(1)}}, {0, {text("a"), V(2)}}, {0, {text("b"), V(3)}});
    FEED(f, {0, {text("a"), V(4)}}, {1, {text("b"), V(5)}}, {1, {text("b"), V(6)}});
    flush(f);
    assert_results(f, "a|3|7;b|3|14;");
}

static void skip__record_that_the_row_holds__only_emitted(void **state)
{
    /* Claim: a replay changes no total, writes no changelog, and sends what may be missing. */
    fixture *f = *state;
    FEED(f, {5, {text("a"), V(1)}}, {6, {text("b"), V(1)}});
    flush(f);
    commit(f, 6);
    restart(f, -1);
    FEED(f, {5, {text("a"), V(1)}});
    flush(f);
    assert_int_equal(f->changelog.count, 0);
    assert_results(f, "a|1|1;");
    commit(f, 6);
    FEED(f, {6, {text("b"), V(1)}}, {7, {text("a"), V(1)}});
    flush(f);
    assert_int_equal(f->changelog.count, 1);
    assert_results(f, "a|2|2;b|1|1;");
}

static void skip__below_the_horizon__makes_no_row(void **state)
{
    /* Claim: a group that a complete store does not have got nothing from the record: no row, no
     * result; and a row that it has is emitted unchanged. */
    fixture *f = *state;
    FEED(f, {5, {text("a"), V(1)}});
    flush(f);
    commit(f, 5);
    restart(f, 9);
    FEED(f, {8, {text("a"), V(1)}}, {9, {text("new"), V(1)}});
    flush(f);
    assert_results(f, "a|1|1;");
    assert_int_equal(f->changelog.count, 0);
    FEED(f, {10, {text("new"), V(1)}});
    flush(f);
    assert_results(f, "a|1|1;new|1|1;");
    commit(f, 10);
    assert_int_equal(stored_rows(f), 2);
}

static void incarnation__older_row__starts_from_nothing(void **state)
{
    /* Claim: rows of a job of the same name that was reset count for nothing, are not emitted, and
     * are replaced by the first record; the offsets begin anew. */
    fixture *f = *state;
    FEED(f, {100, {text("a"), V(1)}}, {101, {text("b"), V(1)}});
    flush(f);
    commit(f, 101);
    f->context.incarnation = 2;
    restart(f, -1);
    FEED(f, {3, {text("a"), V(7)}});
    br_err err;
    bool done;
    assert_int_equal(br_table_mark_next(f->op->table, 1 << 20, &done, &err), BR_OK);
    assert_true(done);
    flush(f);
    assert_results(f, "a|1|7;");
    FEED(f, {3, {text("a"), V(7)}}, {4, {text("a"), V(1)}});
    restart(f, 50);
    FEED(f, {40, {text("b"), V(1)}});
    flush(f);
    assert_results(f, "");
}

static void incarnation__newer_row__fenced(void **state)
{
    /* Claim: a worker of an old incarnation does not touch what a newer one wrote. */
    fixture *f = *state;
    f->context.incarnation = 2;
    FEED(f, {1, {text("a"), V(1)}});
    flush(f);
    commit(f, 1);
    f->context.incarnation = 1;
    restart(f, -1);
    assert_int_equal(FEED(f, {2, {text("a"), V(1)}}), BR_ERR_FENCED);
}

static void flush__second_in_a_row__sends_nothing(void **state)
{
    /* Claim: what was sent is not sent again, before and after the commit, until it changes. */
    fixture *f = *state;
    FEED(f, {0, {text("a"), V(1)}}, {1, {text("b"), V(1)}});
    flush(f);
    assert_int_equal(f->result_count, 2);
    flush(f);
    assert_int_equal(f->result_count + f->changelog.count, 0);
    commit(f, 1);
    flush(f);
    assert_int_equal(f->result_count + f->changelog.count, 0);
    FEED(f, {2, {text("a"), V(1)}});
    flush(f);
    assert_results(f, "a|2|2;");
    assert_int_equal(f->changelog.count, 1);
    FEED(f, {3, {text("a"), V(1)}}); /* no commit between */
    flush(f);
    assert_results(f, "a|3|3;");
}

static void flush__rows_marked_by_the_table__all_sent(void **state)
{
    /* Claim: marking all rows in steps, with commits between, sends each row once. */
    fixture *f = *state;
    for (int i = 0; i < 3000; i++) {
        char key[16];
        snprintf(key, sizeof key, "k%d", i);
        FEED(f, {i, {text(key), V(1)}});
    }
    flush(f);
    assert_int_equal(f->result_count, 3000); /* in several batches */
    commit(f, 2999);
    restart(f, 2999);
    size_t sent = 0, steps = 0;
    for (bool done = false; !done; steps++) {
        br_err err;
        assert_int_equal(br_table_mark_next(f->op->table, 50000, &done, &err), BR_OK);
        flush(f);
        sent += f->result_count;
        flush(f);
        assert_int_equal(f->result_count, 0);
        commit(f, 2999);
    }
    assert_true(steps > 2);
    assert_int_equal(sent, 3000);
}

static void restart__after_commit__rows_survive(void **state)
{
    /* Claim: totals go on from the store, to the last bit, with every aggregate. */
    static const char *const calls[] = {"count()", "count(v)", "sum(v)",   "avg(v)",
                                        "min(v)",  "max(w)",   "first(w)", NULL};
    fixture *f = fixture_create(by_k, calls, false);
    (void)state;
    fixture_open(f, br_group_by_create);
    FEED(f, {0, {text("a"), br_value_float(0.1), text("first")}},
         {1, {text("a"), br_value_float(1e300), text("middle")}},
         {2, {text("a"), br_value_null(), br_value_null()}});
    flush(f);
    commit(f, 2);
    restart(f, 2);
    FEED(f, {3, {text("a"), br_value_float(-1e300), text("last")}});
    flush(f);
    assert_results(f, "a|4|3|0.1|0.03333333333333333|-1e+300|middle|first;");
    fixture_destroy(f);
}

static void restart__without_commit__unwritten_rows_are_gone(void **state)
{
    /* Claim: only a commit changes the store, so a replay adds exactly what was lost. */
    fixture *f = *state;
    FEED(f, {0, {text("a"), V(1)}});
    flush(f);
    commit(f, 0);
    FEED(f, {1, {text("a"), V(1)}}, {2, {text("b"), V(1)}});
    flush(f);
    restart(f, 0);
    FEED(f, {1, {text("a"), V(1)}}, {2, {text("b"), V(1)}});
    flush(f);
    assert_results(f, "a|2|2;b|1|1;");
}

static void partials__two_stages__one_for_each_changed_group(void **state)
{
    /* Claim: a partial is the row of the changelog under group + partial id; skipped records send
     * it again. */
    fixture *f = *state;
    f->context.partial_id = BR_LITERAL("\x02id\x00\x01");
    FEED(f, {0, {text("a"), V(1)}}, {1, {text("a"), V(1)}}, {2, {text("b"), V(1)}});
    flush(f);
    assert_int_equal(f->result_count, 0);
    assert_int_equal(f->partials.count, 2);
    assert_int_equal(f->changelog.count, 2);
    for (size_t i = 0; i < 2; i++) {
        const sent_record *partial = &f->partials.at[i], *row = &f->changelog.at[i];
        br_bytes group, id;
        br_err err;
        assert_int_equal(
            br_partial_key_split(br_bytes_of(partial->key, partial->key_len), 1, &group, &id, &err),
            BR_OK);
        assert_true(br_bytes_equal(id, f->context.partial_id));
        assert_true(br_bytes_equal(group, br_bytes_of(row->key, row->key_len)));
        assert_true(br_bytes_equal(br_bytes_of(partial->row, partial->row_len),
                                   br_bytes_of(row->row, row->row_len)));
    }
    commit(f, 2);
    restart(f, 2);
    FEED(f, {2, {text("b"), V(1)}});
    flush(f);
    assert_int_equal(f->partials.count, 1);
    assert_int_equal(f->changelog.count, 0);
}

static void mend__row_of_the_store__said_again(void **state)
{
    /* Claim: a mended row goes to the changelog unchanged, and nowhere else. */
    fixture *f = *state;
    FEED(f, {0, {text("a"), V(1)}}, {1, {text("b"), V(1)}});
    flush(f);
    commit(f, 1);
    restart(f, 1);
    br_buf room = {0};
    br_bytes key = tuple_of(&room, "a");
    br_err err;
    assert_int_equal(br_group_by_mend(f->op, &key, 1, &err), BR_OK);
    flush(f);
    assert_int_equal(f->changelog.count, 1);
    assert_true(
        br_bytes_equal(br_bytes_of(f->changelog.at[0].key, f->changelog.at[0].key_len), key));
    assert_int_equal(f->result_count, 0);
    key = tuple_of(&room, "none");
    assert_int_equal(br_group_by_mend(f->op, &key, 1, &err), BR_ERR_CORRUPT);
    br_buf_dispose(&room);
}

static void join__foreign_row__newer_wins_and_the_last_word_is_ours(void **state)
{
    /* Claim: a zombie's newer row is taken over, and its records are not counted again; behind an
     * older one ours is written again; the same version changes nothing. */
    fixture *f = *state;
    sent_records rows = {0};
    br_err err;
    FEED(f, {0, {text("a"), V(1)}});
    flush(f);
    const sent_record *sent = &f->changelog.at[0];
    remember(&rows, br_bytes_of(sent->key, sent->key_len), br_bytes_of(sent->row, sent->row_len));
    FEED(f, {1, {text("a"), V(5)}});
    flush(f);
    sent = &f->changelog.at[0];
    remember(&rows, br_bytes_of(sent->key, sent->key_len), br_bytes_of(sent->row, sent->row_len));
    br_bytes key = br_bytes_of(rows.at[0].key, rows.at[0].key_len);
    br_bytes older = br_bytes_of(rows.at[0].row, rows.at[0].row_len);
    br_bytes newer = br_bytes_of(rows.at[1].row, rows.at[1].row_len);
    fixture_destroy(f);
    assert_int_equal(open_one_stage(state), 0);
    f = *state;
    FEED(f, {0, {text("a"), V(1)}});
    flush(f);
    commit(f, 0);
    assert_int_equal(br_group_by_join(f->op, key, older, &err), BR_OK);
    flush(f);
    assert_int_equal(f->changelog.count, 0);
    assert_int_equal(br_group_by_join(f->op, key, newer, &err), BR_OK);
    FEED(f, {1, {text("a"), V(5)}});
    flush(f);
    assert_int_equal(f->changelog.count, 1);
    assert_true(
        br_bytes_equal(br_bytes_of(f->changelog.at[0].row, f->changelog.at[0].row_len), newer));
    commit(f, 1);
    assert_int_equal(br_group_by_join(f->op, key, older, &err), BR_OK);
    flush(f);
    assert_int_equal(f->changelog.count, 1);
    assert_true(
        br_bytes_equal(br_bytes_of(f->changelog.at[0].row, f->changelog.at[0].row_len), newer));
    assert_int_equal(br_group_by_join(f->op, key, BR_LITERAL("\xff"), &err), BR_ERR_CORRUPT);
    forget(&rows);
}

static void encode__row__golden_bytes(void **state)
{
    /* Claim: the stored form is that of state.proto, for any protobuf client, and does not drift.
     */
    static const unsigned char expected[] = {
        0x12, 4,  0x08, 1, 0x10, 2, /* version: incarnation 1, offset 1 */
        0x1a, 2,  0x08, 2,          /* count 2 */
        0x1a, 12, 0x10, 6, 0x22, 8, 0, 0, 0, 0, 0, 0, 0xf8, 0x3f, /* sum 3, floats 1.5 */
    };
    fixture *f = *state;
    FEED(f, {0, {text("a"), V(3)}}, {1, {text("a"), br_value_float(1.5)}});
    flush(f);
    assert_int_equal(f->changelog.at[0].row_len, sizeof expected);
    assert_memory_equal(f->changelog.at[0].row, expected, sizeof expected);
}

static void decode__hostile_rows__corrupt(void **state)
{
    /* Claim: bytes that are no row of this groupBy are refused, never undefined; random seed. */
    fixture *f = *state;
    FEED(f, {0, {text("a"), br_value_float(1.5)}}, {1, {text("a"), V(3)}});
    flush(f);
    br_row_type type = br_group_row_type(&f->conf);
    br_entry *entry = br_calloc(1, sizeof *entry + type.size);
    br_bytes whole = br_bytes_of(f->changelog.at[0].row, f->changelog.at[0].row_len);
    br_rng rng = {20260704};
    print_message("seed %" PRIu64 "\n", rng.state);
    br_err err;
    for (size_t i = 0; i < 20000; i++) {
        char bytes[256];
        size_t len = i < whole.len ? i : 1 + br_rng_below(&rng, whole.len);
        memcpy(bytes, whole.data, len);
        if (i >= whole.len) bytes[br_rng_below(&rng, len)] ^= (char)(1 << br_rng_below(&rng, 8));
        memset(br_entry_payload(entry), 0, type.size);
        type.init(type.self, br_entry_payload(entry));
        br_status st = type.decode(type.self, entry, br_bytes_of(bytes, len), &err);
        assert_true(st == BR_ERR_CORRUPT || (st == BR_OK && i >= whole.len));
        type.dispose(type.self, br_entry_payload(entry));
    }
    br_free(entry);
}

static void decode__other_number_of_aggregates__corrupt(void **state)
{
    /* Claim: rows of a job with other aggregates are refused, with both numbers. */
    static const char *const calls[] = {"count()", NULL};
    fixture *f = *state, *other = fixture_create(by_k, calls, false);
    fixture_open(other, br_group_by_create);
    FEED(other, {0, {text("a"), V(1)}});
    flush(other);
    br_row_type type = br_group_row_type(&f->conf);
    br_entry *entry = br_calloc(1, sizeof *entry + type.size);
    type.init(type.self, br_entry_payload(entry));
    br_err err;
    br_bytes row = br_bytes_of(other->changelog.at[0].row, other->changelog.at[0].row_len);
    assert_int_equal(type.decode(type.self, entry, row, &err), BR_ERR_CORRUPT);
    assert_string_equal(err.message, "row of 1 accumulators, groupBy per_k has 2 aggregates");
    type.dispose(type.self, br_entry_payload(entry));
    br_free(entry);
    fixture_destroy(other);
}

static void result__of_a_key_that_is_none__corrupt(void **state)
{
    /* Claim: a stored key that is cut off, or of another number of values, is refused. */
    fixture *f = *state;
    br_value slots[4];
    char *payload = br_calloc(1, f->conf.payload_bytes);
    br_group_acc_init(&f->conf, payload);
    const br_bytes keys[] = {BR_LITERAL(""),
                             BR_LITERAL("\x02"
                                        "a"),
                             BR_LITERAL("\x26\x26"), BR_LITERAL("\xff")};
    for (size_t i = 0; i < BR_COUNTOF(keys); i++) {
        br_err err;
        assert_int_equal(br_group_result(&f->conf, keys[i], payload, f->arena, slots, &err),
                         BR_ERR_CORRUPT);
    }
    br_group_acc_dispose(&f->conf, payload);
    br_free(payload);
}

#define ONE_STAGE(test) cmocka_unit_test_setup_teardown(test, open_one_stage, close_fixture)
#define TWO_STAGES(test) cmocka_unit_test_setup_teardown(test, open_two_stages, close_fixture)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ONE_STAGE(process__several_groups__each_has_its_total),
        cmocka_unit_test(process__short_ways__same_as_the_long_ones),
        ONE_STAGE(process__typed_keys__not_mixed_up),
        ONE_STAGE(process__null_key__told_and_left_out),
        ONE_STAGE(process__bad_argument__nothing_of_the_row_is_added),
        ONE_STAGE(process__key_too_long__bad_record),
        ONE_STAGE(process__bad_row_that_stops_the_job__rows_before_it_count),
        cmocka_unit_test(process__bad_key_that_stops_the_job__its_record_is_left_out),
        ONE_STAGE(process__explode__all_rows_of_a_record_count),
        ONE_STAGE(skip__record_that_the_row_holds__only_emitted),
        ONE_STAGE(skip__below_the_horizon__makes_no_row),
        ONE_STAGE(incarnation__older_row__starts_from_nothing),
        ONE_STAGE(incarnation__newer_row__fenced),
        ONE_STAGE(flush__second_in_a_row__sends_nothing),
        ONE_STAGE(flush__rows_marked_by_the_table__all_sent),
        cmocka_unit_test(restart__after_commit__rows_survive),
        ONE_STAGE(restart__without_commit__unwritten_rows_are_gone),
        TWO_STAGES(partials__two_stages__one_for_each_changed_group),
        ONE_STAGE(mend__row_of_the_store__said_again),
        ONE_STAGE(join__foreign_row__newer_wins_and_the_last_word_is_ours),
        ONE_STAGE(encode__row__golden_bytes),
        ONE_STAGE(decode__hostile_rows__corrupt),
        ONE_STAGE(decode__other_number_of_aggregates__corrupt),
        ONE_STAGE(result__of_a_key_that_is_none__corrupt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
