/* tests/unit/runtime/test_local.c - the embedded log through log.h: topics, producing, compaction.
 */
#include "unit/runtime/local_fixture.h"

/* ---- topics ---- */

static void local__topics__are_created_described_and_listed(void **state)
{
    /* A topic keeps its partitions and policy, also when it is created again otherwise. */
    (void)state;
    br_err err;
    br_topic_info info;
    br_log *log = open_log();
    assert_int_equal(br_log_topic(log, "clicks", &info, &err), BR_NOT_FOUND);
    create(log, "clicks", 3, "delete");
    create(log, "clicks", 5, "compact");
    create(log, "all.of-it", 1, "compact");
    OK(br_log_topic(log, "clicks", &info, &err));
    assert_int_equal(info.partitions, 3);
    assert_string_equal(info.cleanup_policy, "delete");
    br_log_close(log);
    log = open_log();
    OK(br_log_topic(log, "all.of-it", &info, &err));
    assert_string_equal(info.cleanup_policy, "compact");
    assert_non_null(strstr(br_log_describe(log), dir));
    br_log_close(log);
}

static br_status list(void *arg, const char *name, int32_t partitions, br_err *err)
{
    (void)err;
    br_buf_printf(arg, "%s %d\n", name, (int)partitions);
    return BR_OK;
}

static void local__topic_list__is_in_order_of_names(void **state)
{
    /* Topics are visited by name, whatever the order in which they were made. */
    (void)state;
    br_err err;
    br_buf got = {0};
    br_log *log = open_log();
    create(log, "b", 2, "delete");
    create(log, "a", 1, "delete");
    create(log, "c", 12, "compact");
    OK(br_log_topics(log, list, &got, &err));
    assert_string_equal(br_buf_cstr(&got), "a 1\nb 2\nc 12\n");
    br_buf_dispose(&got);
    br_log_close(log);
}

static void local__bad_topic__is_refused_with_the_reason(void **state)
{
    /* Names, partition counts and policies that cannot work are refused with what is allowed. */
    (void)state;
    static const struct {
        const char *name;
        int32_t partitions;
        const char *policy, *message;
    } cases[] = {{"a/b", 1, "delete", "a/b"},
                 {"", 1, "delete", "not allowed"},
                 {"t", 0, "delete", "1 to 10000"},
                 {"t", 10001, "delete", "1 to 10000"},
                 {"t", 1, "compost", "compost"}};
    br_log *log = open_log();
    for (size_t i = 0; i < BR_COUNTOF(cases); i++) {
        br_err err;
        br_setting setting = {"cleanup.policy", cases[i].policy};
        br_topic_spec spec = {cases[i].name, cases[i].partitions, 0, &setting, 1};
        assert_int_equal(br_log_create_topic(log, &spec, &err), BR_ERR_CONFIG);
        assert_message(&err, BR_ERR_CONFIG, cases[i].message);
    }
    br_log_close(log);
}

static void local__missing_topic_or_partition__is_named(void **state)
{
    /* Reading what is not there names the topic, and the partitions that there are. */
    (void)state;
    br_err err;
    br_reader *reader;
    br_producer *p;
    br_topic_ref *topic;
    int64_t low, end;
    br_log *log = open_log();
    create(log, "t", 2, "delete");
    assert_int_equal(br_reader_open(&reader, log, (br_tp){"u", 0}, -1, &err), BR_ERR_CONFIG);
    assert_message(&err, BR_ERR_CONFIG, "`u`");
    assert_int_equal(br_log_offsets(log, "t", 2, &low, &end, &err), BR_ERR_CONFIG);
    assert_message(&err, BR_ERR_CONFIG, "0 to 1");
    OK(br_producer_open(&p, log, &err));
    assert_int_equal(br_producer_topic(p, "u", &topic, &err), BR_NOT_FOUND);
    br_producer_close(p);
    br_log_close(log);
}

/* ---- producing ---- */

static void producer__keys__choose_partitions_as_java_does(void **state)
{
    /* FAULTS 28: murmur2 of the key, masked; checked values of six partitions. */
    (void)state;
    br_log *log = open_log();
    create(log, "t", 6, "delete");
    put(log, "t", "k1", "a");
    put(log, "t", "k8", "b");
    put(log, "t", "k5", "c");
    put(log, "t", "", "d");
    assert_partition(log, "t", 5, "5@0 k1=a\n");
    assert_partition(log, "t", 2, "2@0 k8=b\n");
    assert_partition(log, "t", 0, "0@0 k5=c\n");
    assert_partition(log, "t", 3, "3@0 =d\n");
    br_log_close(log);
}

static void producer__null_keys__are_spread_evenly(void **state)
{
    /* Records without a key go round the partitions. */
    (void)state;
    br_err err;
    br_producer *p;
    br_log *log = open_log();
    create(log, "t", 4, "delete");
    OK(br_producer_open(&p, log, &err));
    for (int i = 0; i < 40; i++) append(p, "t", NULL, "x");
    OK(br_producer_flush(p, &err));
    for (int32_t i = 0; i < 4; i++) assert_int_equal(end_of(log, "t", i), 10);
    br_producer_close(p);
    br_log_close(log);
}

static void producer__flush__makes_records_visible_and_tells_offsets(void **state)
{
    /* What is sent is seen after flush, not before; the last offset is told per partition. */
    (void)state;
    br_err err;
    br_producer *p;
    br_topic_ref *topic;
    br_log *log = open_log();
    create(log, "t", 1, "delete");
    OK(br_producer_open(&p, log, &err));
    append(p, "t", "a", "1");
    append(p, "t", "a", "2");
    assert_int_equal(end_of(log, "t", 0), 0);
    OK(br_producer_topic(p, "t", &topic, &err));
    assert_int_equal(br_topic_ref_last_offset(topic, 0), -1);
    OK(br_producer_flush(p, &err));
    assert_int_equal(br_topic_ref_last_offset(topic, 0), 1);
    append(p, "t", "a", "never flushed");
    br_producer_close(p);
    assert_partition(log, "t", 0, "0@0 a=1\n0@1 a=2\n");
    br_log_close(log);
}

static void producer__record_that_cannot_be_stored__breaks_the_producer(void **state)
{
    /* After a refused record flush never says that all is stored. */
    (void)state;
    static const char large[5 * 1024 * 1024];
    const struct {
        const char *topic;
        br_out_record record;
        const char *message;
    } cases[] = {{"t", {.partition = 2, .key = BR_LITERAL("k")}, "0 to 1"},
                 {"t", {.partition = -2, .key = BR_LITERAL("k")}, "0 to 1"},
                 {"t", {.partition = -1, .key = br_bytes_of(large, sizeof(large))}, "too large"},
                 {"c", {.partition = -1, .value = BR_LITERAL("v")}, "without a key"}};
    br_log *log = open_log();
    create(log, "t", 2, "delete");
    create(log, "c", 2, "compact");
    for (size_t i = 0; i < BR_COUNTOF(cases); i++) {
        br_err err;
        br_producer *p;
        br_topic_ref *topic;
        OK(br_producer_open(&p, log, &err));
        OK(br_producer_topic(p, cases[i].topic, &topic, &err));
        assert_int_equal(br_producer_send(p, topic, &cases[i].record, &err), BR_ERR_BROKER);
        assert_message(&err, BR_ERR_BROKER, cases[i].message);
        assert_int_equal(br_producer_flush(p, &err), BR_ERR_BROKER);
        br_producer_close(p);
    }
    br_log_close(log);
}

static void record__every_part__comes_back_as_it_was(void **state)
{
    /* Null and empty are told apart; headers, timestamps and zero bytes survive. */
    (void)state;
    br_err err;
    br_producer *p;
    br_topic_ref *topic;
    whole w = {0};
    br_log *log = open_log();
    create(log, "t", 1, "delete");
    br_header headers[] = {{BR_LITERAL("a"), BR_LITERAL("1\0"
                                                        "2")},
                           {BR_LITERAL("b"), BR_NO_BYTES}};
    br_out_record records[] = {
        {.partition = 0, .timestamp_ms = 5, .headers = headers, .header_count = 2},
        {.partition = 0, .timestamp_ms = 0, .key = BR_LITERAL(""), .value = BR_LITERAL("")},
        {.partition = 0, .timestamp_ms = -1, .key = BR_LITERAL("k"), .value = BR_LITERAL("a\0b")}};
    OK(br_producer_open(&p, log, &err));
    OK(br_producer_topic(p, "t", &topic, &err));
    for (size_t i = 0; i < 3; i++) OK(br_producer_send(p, topic, &records[i], &err));
    OK(br_producer_flush(p, &err));
    br_producer_close(p);
    read_one(log, "t", 0, &w);
    assert_true(!w.record.key.data && !w.record.value.data && w.record.timestamp_ms == 5);
    assert_true(br_bytes_equal(br_buf_bytes(&w.bytes), BR_LITERAL("|a:1\0"
                                                                  "2|b:")));
    read_one(log, "t", 1, &w);
    assert_true(w.record.key.data && w.record.key.len == 0);
    assert_true(w.record.value.data && w.record.value.len == 0 && w.record.timestamp_ms == 0);
    read_one(log, "t", 2, &w);
    assert_true(br_bytes_equal(br_buf_bytes(&w.bytes), BR_LITERAL("a\0b")));
    assert_true(w.record.timestamp_ms > 1600000000000);
    br_buf_dispose(&w.bytes);
    br_log_close(log);
}

static void map__smaller_than_a_record__grows(void **state)
{
    /* FAULTS 56: a full map is doubled and the transaction done again, once. */
    (void)state;
    br_err err;
    br_log *log;
    br_producer *p;
    br_topic_ref *topic;
    whole w = {0};
    size_t len = (size_t)64 * 1024 * 1024;
    char *large = br_alloc(len);
    memset(large, 'x', len);
    OK(br_local_open(&log, &(br_local_opts){dir, false, 1024 * 1024}, &err));
    create(log, "t", 1, "delete");
    OK(br_producer_open(&p, log, &err));
    OK(br_producer_topic(p, "t", &topic, &err));
    br_out_record record = {.partition = 0, .value = br_bytes_of(large, len)};
    OK(br_producer_send(p, topic, &record, &err));
    OK(br_producer_flush(p, &err));
    assert_int_equal(end_of(log, "t", 0), 1);
    read_one(log, "t", 0, &w);
    assert_true(br_bytes_equal(br_buf_bytes(&w.bytes), record.value));
    record.value.len++;
    assert_int_equal(br_producer_send(p, topic, &record, &err), BR_ERR_BROKER);
    br_producer_close(p);
    br_log_close(log);
    log = open_log();
    assert_int_equal(end_of(log, "t", 0), 1);
    br_log_close(log);
    br_buf_dispose(&w.bytes);
    br_free(large);
}

typedef struct copier {
    br_producer *p;
    br_topic_ref *topic;
} copier;

static br_status copy(void *arg, void *user, const br_record *record, br_err *err)
{
    (void)user;
    copier *c = arg;
    br_out_record out = {.partition = 0, .value = record->value};
    br_status st = br_producer_send(c->p, c->topic, &out, err);
    return st == BR_OK ? br_producer_flush(c->p, err) : st;
}

static void map__full_while_records_are_handed_over__grows(void **state)
{
    /* A record callback may write, and so grow the map, on the same thread: no deadlock. */
    (void)state;
    static const char value[100000];
    br_err err;
    br_log *log;
    br_reader *reader;
    copier c;
    OK(br_local_open(&log, &(br_local_opts){dir, false, 512 * 1024}, &err));
    create(log, "in", 1, "delete");
    create(log, "out", 1, "delete");
    OK(br_producer_open(&c.p, log, &err));
    OK(br_producer_topic(c.p, "in", &c.topic, &err));
    for (int i = 0; i < 20; i++) {
        br_out_record record = {.partition = 0, .value = br_bytes_of(value, sizeof(value))};
        OK(br_producer_send(c.p, c.topic, &record, &err));
    }
    OK(br_producer_flush(c.p, &err));
    OK(br_producer_topic(c.p, "out", &c.topic, &err));
    OK(br_reader_open(&reader, log, (br_tp){"in", 0}, 0, &err));
    while (br_reader_poll(reader, 0, 100, copy, &c, &err) == BR_OK) {
    }
    assert_int_equal(end_of(log, "out", 0), 20);
    br_reader_close(reader);
    br_producer_close(c.p);
    br_log_close(log);
}

/* ---- compaction ---- */

static void compaction__same_key__keeps_the_last_and_leaves_a_gap(void **state)
{
    /* FAULTS 55: keys of any length, empty and equal in their first 511 bytes, stay apart. */
    (void)state;
    br_log *log = open_log();
    char long_a[601], long_b[601];
    memset(long_a, 'k', 600);
    memset(long_b, 'k', 600);
    long_a[599] = 'a';
    long_b[599] = 'b';
    long_a[600] = long_b[600] = '\0';
    create(log, "c", 1, "compact");
    for (int i = 0; i < 2; i++) {
        put(log, "c", "", i ? "e1" : "e0");
        put(log, "c", "x", i ? NULL : "x0"); /* a tombstone is a last value like any other */
        put(log, "c", long_a, i ? "a1" : "a0");
        put(log, "c", long_b, i ? "b1" : "b0");
    }
    br_buf want = {0};
    br_buf_printf(&want, "0@4 =e1\n0@5 x=\n0@6 %s=a1\n0@7 %s=b1\n", long_a, long_b);
    assert_partition(log, "c", 0, br_buf_cstr(&want));
    assert_int_equal(end_of(log, "c", 0), 8);
    br_buf_dispose(&want);
    br_log_close(log);
}

static void compaction__same_key_twice_in_a_flush__keeps_the_last(void **state)
{
    /* Within one transaction too only the last record of a key stays. */
    (void)state;
    br_err err;
    br_producer *p;
    br_log *log = open_log();
    create(log, "c", 1, "compact");
    OK(br_producer_open(&p, log, &err));
    for (int i = 0; i < 100; i++) append(p, "c", i % 2 ? "odd" : "even", i < 98 ? "old" : "new");
    OK(br_producer_flush(p, &err));
    br_producer_close(p);
    assert_partition(log, "c", 0, "0@98 even=new\n0@99 odd=new\n");
    br_log_close(log);
}

static void compaction__many_rounds__keeps_the_file_bounded(void **state)
{
    /* FAULTS 64: pages of removed records are used again; the file stops growing. */
    (void)state;
    br_err err;
    br_producer *p;
    struct stat before, after;
    char path[512], key[16], value[600];
    memset(value, 'v', sizeof(value) - 1);
    value[sizeof(value) - 1] = '\0';
    br_log *log = open_log();
    create(log, "c", 1, "compact");
    OK(br_producer_open(&p, log, &err));
    (void)snprintf(path, sizeof(path), "%s/topics.mdb", dir);
    for (int i = 0; i < 40; i++) {
        for (int k = 0; k < 200; k++) {
            (void)snprintf(key, sizeof(key), "k%d", k);
            append(p, "c", key, value);
        }
        OK(br_producer_flush(p, &err));
        if (i == 7) assert_int_equal(stat(path, &before), 0);
    }
    assert_int_equal(stat(path, &after), 0);
    assert_true(after.st_size <= before.st_size * 3 / 2);
    br_producer_close(p);
    br_log_close(log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LOCAL_TEST(local__topics__are_created_described_and_listed),
        LOCAL_TEST(local__topic_list__is_in_order_of_names),
        LOCAL_TEST(local__bad_topic__is_refused_with_the_reason),
        LOCAL_TEST(local__missing_topic_or_partition__is_named),
        LOCAL_TEST(producer__keys__choose_partitions_as_java_does),
        LOCAL_TEST(producer__null_keys__are_spread_evenly),
        LOCAL_TEST(producer__flush__makes_records_visible_and_tells_offsets),
        LOCAL_TEST(producer__record_that_cannot_be_stored__breaks_the_producer),
        LOCAL_TEST(record__every_part__comes_back_as_it_was),
        LOCAL_TEST(map__smaller_than_a_record__grows),
        LOCAL_TEST(map__full_while_records_are_handed_over__grows),
        LOCAL_TEST(compaction__same_key__keeps_the_last_and_leaves_a_gap),
        LOCAL_TEST(compaction__same_key_twice_in_a_flush__keeps_the_last),
        LOCAL_TEST(compaction__many_rounds__keeps_the_file_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
