/* tests/kafka/test_log_kafka.c - topics, producers and readers of the Kafka log on a real broker.
 */
#include "fixture.h"

#include "runtime/base/alloc.h"

#include <librdkafka/rdkafka.h>

#include <stdio.h>

static int setup(void **state)
{
    *state = open_log();
    return 0;
}

static int teardown(void **state)
{
    br_log_close(*state);
    return 0;
}

/* ---- settings ---- */

static void open__setting_that_cannot_work__is_refused_with_its_name(void **state)
{
    /* Claim: what would break a guarantee, or does not exist, fails at open and says which. */
    (void)state;
    static const struct {
        br_setting setting;
        const char *part;
    } cases[] = {
        {{"enable.auto.commit", "true"}, "`enable.auto.commit` cannot be changed"},
        {{"enable.idempotence", "false"}, "`enable.idempotence` cannot be changed"},
        {{"acks", "1"}, "`acks` cannot be changed"},
        {{"auto.offset.reset", "latest"}, "a source's `start`"},
        {{"partitioner", "random"}, "`partitioner` cannot be changed"},
        {{"isolation.level", "read_uncommitted"}, "committed records only"},
        {{"bootstrap.servers", "x:1"}, "given beside"},
        {{"message.timeout.ms", "0"}, "`message.timeout.ms`"},
        {{"fetch.wait.max.mss", "1"}, "did you mean `fetch.wait.max.ms`?"},
        {{"linger.ms", "many"}, "`linger.ms`"},
    };
    for (size_t i = 0; i < BR_COUNTOF(cases); i++) {
        br_log *log = NULL;
        br_err err;
        assert_int_equal(br_log_open_kafka(&log, "localhost:1", &cases[i].setting, 1, &err),
                         BR_ERR_CONFIG);
        if (!strstr(err.message, cases[i].part))
            fail_msg("\"%s\" lacks \"%s\"", err.message, cases[i].part);
    }
}

static void open__no_brokers__is_refused(void **state)
{
    /* Claim: an empty list of brokers is an error of the configuration. */
    (void)state;
    br_log *log = NULL;
    br_err err;
    assert_int_equal(br_log_open_kafka(&log, " , ", NULL, 0, &err), BR_ERR_CONFIG);
}

static void topic__nobody_answers__is_a_broker_error_that_says_where(void **state)
{
    /* Claim: an unreachable broker is an error with address and reason, not a hang. */
    (void)state;
    br_log *log = NULL;
    br_topic_info info;
    br_err err;
    assert_ok(br_log_open_kafka(&log, "127.0.0.1:1", NULL, 0, &err));
    assert_int_equal(br_log_topic(log, "t", &info, &err), BR_ERR_BROKER);
    assert_non_null(strstr(err.message, "no broker answered at 127.0.0.1:1"));
    assert_non_null(strstr(err.message, "Connection refused"));
    br_log_close(log);
}

/* ---- topics ---- */

static void create_topic__with_settings__shows_them_and_may_be_repeated(void **state)
{
    /* Claim: a topic is made with the settings asked for; making it again is no error and changes
     * nothing (FAULTS 12). */
    br_log *log = *state;
    br_err err;
    br_topic_info info;
    const br_setting settings[] = {{"cleanup.policy", "compact"}, {"max.message.bytes", "777777"}};
    br_topic_spec spec = {fresh_name("made"), 3, 0, settings, BR_COUNTOF(settings)};
    assert_int_equal(br_log_topic(log, spec.name, &info, &err), BR_NOT_FOUND);
    assert_ok(br_log_create_topic(log, &spec, &err));
    br_topic_spec again = {spec.name, 5, 0, NULL, 0};
    assert_ok(br_log_create_topic(log, &again, &err));
    assert_ok(br_log_topic(log, spec.name, &info, &err));
    assert_int_equal(info.partitions, 3);
    assert_string_equal(info.cleanup_policy, "compact");
    assert_int_equal(info.max_message_bytes, 777777);
    assert_int_equal(info.retention_ms, 604800000);
}

static void create_topic__impossible__is_a_configuration_error(void **state)
{
    /* Claim: what the broker refuses comes back as BR_ERR_CONFIG with the topic's name. */
    const br_setting bad_policy[] = {{"cleanup.policy", "shred"}};
    const br_topic_spec specs[] = {
        {"bad-policy", 1, 1, bad_policy, 1},
        {"bad-replication", 1, 99, NULL, 0},
        {"bad/name", 1, 1, NULL, 0},
        {"bad-partitions", 0, 1, NULL, 0},
    };
    for (size_t i = 0; i < BR_COUNTOF(specs); i++) {
        br_err err;
        assert_int_equal(br_log_create_topic(*state, &specs[i], &err), BR_ERR_CONFIG);
        assert_non_null(strstr(err.message, specs[i].name));
    }
}

typedef struct listing {
    const char *wanted;
    char last[300];
    int found;
} listing;

static br_status visit_topic(void *arg, const char *name, int32_t partitions, br_err *err)
{
    (void)err;
    listing *l = arg;
    assert_true(strcmp(l->last, name) < 0);
    assert_true(strlen(name) < sizeof(l->last));
    memcpy(l->last, name, strlen(name) + 1);
    if (strcmp(name, l->wanted) == 0) l->found = partitions;
    return BR_OK;
}

static void topics__several__come_in_order_with_their_partitions(void **state)
{
    /* Claim: every topic is visited once, by name. */
    br_err err;
    new_topic(*state, 1, NULL, 0);
    listing l = {.wanted = new_topic(*state, 7, NULL, 0)};
    assert_ok(br_log_topics(*state, visit_topic, &l, &err));
    assert_int_equal(l.found, 7);
}

static void offsets__unknown_partition__is_a_configuration_error(void **state)
{
    /* Claim: a topic or partition that is not there is named, at once. */
    br_err err;
    int64_t low, end;
    const char *topic = new_topic(*state, 2, NULL, 0);
    assert_int_equal(br_log_offsets(*state, topic, 2, &low, &end, &err), BR_ERR_CONFIG);
    assert_non_null(strstr(err.message, "only 0 to 1"));
    assert_int_equal(br_log_offsets(*state, "no-such-topic", 0, &low, &end, &err), BR_ERR_CONFIG);
    assert_int_equal(br_log_offsets(*state, topic, 1, &low, &end, &err), BR_OK);
    assert_int_equal(low, 0);
    assert_int_equal(end, 0);
}

/* ---- producer and reader ---- */

typedef struct sent {
    br_producer *producer;
    br_topic_ref *ref;
} sent;

static sent open_producer(br_log *log, const char *topic)
{
    sent s = {0};
    br_err err;
    assert_ok(br_producer_open(&s.producer, log, &err));
    assert_ok(br_producer_topic(s.producer, topic, &s.ref, &err));
    return s;
}

static void send_record(sent *s, const br_out_record *record)
{
    br_err err;
    assert_ok(br_producer_send(s->producer, s->ref, record, &err));
}

static void flush_and_close(sent *s)
{
    br_err err;
    assert_ok(br_producer_flush(s->producer, &err));
    br_producer_close(s->producer);
}

static const br_header two_headers[] = {
    {{"version", 7}, {"\0\1\2", 3}},
    {{"empty", 5}, {"", 0}},
    {{"nothing", 7}, {NULL, 0}},
};

static const br_out_record shapes[] = {
    {0, {"k", 1}, {"v", 1}, 1234567890123, NULL, 0},
    {0, {NULL, 0}, {"null key", 8}, 5, NULL, 0},
    {0, {"", 0}, {"empty key", 9}, 5, NULL, 0},
    {0, {"null value", 10}, {NULL, 0}, 5, NULL, 0},
    {0, {"empty value", 11}, {"", 0}, 5, NULL, 0},
    {0, {"null value", 10}, {NULL, 0}, 5, two_headers, BR_COUNTOF(two_headers)},
    {0, {"\0a\0", 3}, {"\xff\0", 2}, 5, two_headers, 1},
};

static void assert_same_bytes(br_bytes a, br_bytes b)
{
    assert_int_equal(a.data == NULL, b.data == NULL);
    assert_true(br_bytes_equal(a, b));
}

static br_status check_shape(void *arg, void *user, const br_record *record, br_err *err)
{
    (void)user, (void)err;
    size_t *next = arg;
    const br_out_record *want = &shapes[(*next)++];
    assert_same_bytes(record->key, want->key);
    assert_same_bytes(record->value, want->value);
    assert_int_equal(record->timestamp_ms, want->timestamp_ms);
    br_headers headers = br_record_headers(record);
    assert_int_equal(headers.count, want->header_count);
    for (size_t i = 0; i < want->header_count; i++) {
        assert_same_bytes(headers.at[i].name, want->headers[i].name);
        assert_same_bytes(headers.at[i].value, want->headers[i].value);
    }
    return BR_OK;
}

static void send__null_and_empty__come_back_as_they_went(void **state)
{
    /* Claim: null and empty keys, values and headers stay apart; timestamps stay (FAULTS 28). */
    const char *topic = new_topic(*state, 1, NULL, 0);
    sent s = open_producer(*state, topic);
    for (size_t i = 0; i < BR_COUNTOF(shapes); i++) send_record(&s, &shapes[i]);
    flush_and_close(&s);
    size_t next = 0;
    assert_int_equal(read_all(*state, (br_tp){topic, 0}, 0, check_shape, &next),
                     BR_COUNTOF(shapes));
}

static void send__by_key__takes_the_partition_of_java(void **state)
{
    /* Claim: the partition is that of the Java clients (FAULTS 27). */
    static const struct {
        const char *key;
        int32_t partitions, want;
    } cases[] = {
        {"TT0124", 15, 10}, {"wu", 10, 0}, {"fd7af248-ce5c-46a5-93d7-1c0c9005b99d", 32, 26},
        {"k1", 6, 5},       {"k8", 6, 2},  {"k5", 6, 0},
        {"", 6, 3},
    };
    for (size_t i = 0; i < BR_COUNTOF(cases); i++) {
        sent s = open_producer(*state, new_topic(*state, cases[i].partitions, NULL, 0));
        br_out_record record = {.partition = -1, .key = br_str(cases[i].key), .timestamp_ms = -1};
        br_err err;
        send_record(&s, &record);
        assert_ok(br_producer_flush(s.producer, &err));
        for (int32_t p = 0; p < cases[i].partitions; p++)
            assert_int_equal(br_topic_ref_last_offset(s.ref, p), p == cases[i].want ? 0 : -1);
        br_producer_close(s.producer);
    }
}

static void send__null_keys__reach_every_partition(void **state)
{
    /* Claim: records without a key spread evenly, and are never hashed as "" (FAULTS 27). */
    enum { PARTITIONS = 4, RECORDS = 4096 };
    br_err err;
    sent s = open_producer(*state, new_topic(*state, PARTITIONS, NULL, 0));
    br_out_record record = {.partition = -1, .value = BR_LITERAL("v"), .timestamp_ms = -1};
    for (int i = 0; i < RECORDS; i++) send_record(&s, &record);
    assert_ok(br_producer_flush(s.producer, &err));
    for (int32_t p = 0; p < PARTITIONS; p++)
        assert_int_equal(br_topic_ref_last_offset(s.ref, p), RECORDS / PARTITIONS - 1);
    br_producer_close(s.producer);
}

static void send__no_such_partition__is_refused(void **state)
{
    /* Claim: a partition that the topic lacks is an error at once, also with headers. */
    br_err err;
    sent s = open_producer(*state, new_topic(*state, 2, NULL, 0));
    br_out_record record = shapes[5];
    record.partition = 2;
    assert_int_equal(br_producer_send(s.producer, s.ref, &record, &err), BR_ERR_CONFIG);
    flush_and_close(&s);
}

static void producer_topic__missing__is_not_found_and_not_made(void **state)
{
    /* Claim: asking for a topic never makes it (FAULTS 12); the same name is the same ref. */
    br_err err;
    br_topic_info info;
    br_topic_ref *ref = NULL;
    const char *topic = new_topic(*state, 2, NULL, 0), *missing = fresh_name("missing");
    sent s = open_producer(*state, topic);
    assert_ok(br_producer_topic(s.producer, topic, &ref, &err));
    assert_ptr_equal(ref, s.ref);
    assert_int_equal(br_topic_ref_partitions(ref), 2);
    assert_int_equal(br_producer_topic(s.producer, missing, &ref, &err), BR_NOT_FOUND);
    assert_int_equal(br_log_topic(*state, missing, &info, &err), BR_NOT_FOUND);
    flush_and_close(&s);
}

static void send__queue_full__waits_and_loses_nothing(void **state)
{
    /* Claim: a queue of 10 takes 1000 records with headers, in order, none twice (FAULTS 31). */
    (void)state;
    enum { RECORDS = 1000 };
    const br_setting tiny[] = {{"queue.buffering.max.messages", "10"}, {"linger.ms", "0"}};
    br_log *log = NULL;
    br_err err;
    assert_ok(br_log_open_kafka(&log, test_brokers(), tiny, BR_COUNTOF(tiny), &err));
    const char *topic = new_topic(log, 1, NULL, 0);
    sent s = open_producer(log, topic);
    for (int i = 0; i < RECORDS; i++) send_record(&s, &shapes[5]);
    assert_ok(br_producer_flush(s.producer, &err));
    assert_int_equal(br_topic_ref_last_offset(s.ref, 0), RECORDS - 1);
    br_producer_close(s.producer);
    br_log_close(log);
}

static void flush__record_that_the_broker_refuses__names_topic_and_reason(void **state)
{
    /* Claim: a delivery that failed fails the flush, and every later send (FAULTS 30, 34). */
    br_err err;
    const br_setting compact[] = {{"cleanup.policy", "compact"}};
    const char *topic = new_topic(*state, 1, compact, 1);
    sent s = open_producer(*state, topic);
    br_out_record keyless = {.partition = 0, .value = BR_LITERAL("v"), .timestamp_ms = -1};
    send_record(&s, &keyless);
    assert_int_equal(br_producer_flush(s.producer, &err), BR_ERR_BROKER);
    assert_non_null(strstr(err.message, topic));
    assert_non_null(strstr(err.message, "record"));
    br_producer_close(s.producer);
    assert_int_equal(read_all(*state, (br_tp){topic, 0}, -1, NULL, NULL), 0);
}

static void producer_close__unflushed__ends(void **state)
{
    /* Claim: what was not acknowledged is dropped without waiting or leaking. */
    sent s = open_producer(*state, new_topic(*state, 1, NULL, 0));
    for (int i = 0; i < 100; i++) send_record(&s, &shapes[5]);
    br_producer_close(s.producer);
}

/* ---- reader ---- */

static rd_kafka_t *transactional_producer(const char *id)
{
    char reason[256];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    rd_kafka_conf_set(conf, "bootstrap.servers", test_brokers(), reason, sizeof(reason));
    rd_kafka_conf_set(conf, "transactional.id", id, reason, sizeof(reason));
    rd_kafka_t *rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, reason, sizeof(reason));
    assert_non_null(rk);
    assert_null(rd_kafka_init_transactions(rk, 20000));
    return rk;
}

static void produce_in_transaction(rd_kafka_t *rk, const char *topic, const char *value, int count)
{
    assert_null(rd_kafka_begin_transaction(rk));
    for (int i = 0; i < count; i++)
        assert_int_equal(
            rd_kafka_producev(rk, RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_PARTITION(0),
                              RD_KAFKA_V_KEY("a", 1), RD_KAFKA_V_VALUE((void *)(uintptr_t)value, 1),
                              RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END),
            RD_KAFKA_RESP_ERR_NO_ERROR);
    assert_int_equal(rd_kafka_flush(rk, 10000), RD_KAFKA_RESP_ERR_NO_ERROR);
}

static br_status only_committed(void *arg, void *user, const br_record *record, br_err *err)
{
    (void)arg, (void)user, (void)err;
    assert_int_equal(record->value.data[0], 'c');
    return BR_OK;
}

/* A commit returns before its marker is written. */
static void await_end(br_log *log, const char *topic, int64_t want)
{
    br_err err;
    int64_t low, end = -1, until = br_mono_ms(&br_system_clock) + 10000;
    while (end != want) {
        assert_ok(br_log_offsets(log, topic, 0, &low, &end, &err));
        assert_true(br_mono_ms(&br_system_clock) < until);
    }
}

static void reader__end_is_a_gap__reaches_it(void **state)
{
    /* Claim: the end is reached by position, behind commit and abort markers; aborted records are
     * never handed over, and an open transaction is behind the end (FAULTS 8). */
    const char *topic = new_topic(*state, 1, NULL, 0);
    rd_kafka_t *rk = transactional_producer(topic);
    produce_in_transaction(rk, topic, "c", 3);
    assert_null(rd_kafka_commit_transaction(rk, -1));
    await_end(*state, topic, 4);
    assert_int_equal(read_all(*state, (br_tp){topic, 0}, -1, only_committed, NULL), 3);
    produce_in_transaction(rk, topic, "x", 2);
    assert_null(rd_kafka_abort_transaction(rk, -1));
    await_end(*state, topic, 7);
    assert_int_equal(read_all(*state, (br_tp){topic, 0}, 0, only_committed, NULL), 3);
    assert_int_equal(read_all(*state, (br_tp){topic, 0}, 3, only_committed, NULL), 0);
    produce_in_transaction(rk, topic, "x", 1);
    await_end(*state, topic, 7);
    assert_int_equal(read_all(*state, (br_tp){topic, 0}, 0, only_committed, NULL), 3);
    assert_null(rd_kafka_abort_transaction(rk, -1));
    rd_kafka_destroy(rk);
}

static br_status stop_after_one(void *arg, void *user, const br_record *record, br_err *err)
{
    (void)user, (void)err;
    int64_t *next = arg;
    assert_int_equal(record->offset, (*next)++);
    return BR_END;
}

static br_status refuse(void *arg, void *user, const br_record *record, br_err *err)
{
    (void)arg, (void)user, (void)record;
    return br_fail(err, BR_ERR_BAD_RECORD, "no");
}

static void reader_poll__stopped_midway__goes_on_with_the_next_record(void **state)
{
    /* Claim: max, BR_END and a failure end a poll without losing or repeating what follows. */
    enum { RECORDS = 50 };
    br_err err;
    const char *topic = new_topic(*state, 1, NULL, 0);
    fill(*state, (br_tp){topic, 0}, RECORDS);
    br_reader *reader = NULL;
    int64_t next = 0;
    assert_ok(br_reader_open(&reader, *state, (br_tp){topic, 0}, 0, &err));
    while (next < RECORDS / 2) {
        br_status status = br_reader_poll(reader, 1000, 10, stop_after_one, &next, &err);
        assert_true(status == BR_OK || status == BR_EMPTY);
        assert_int_equal(br_reader_position(reader), next);
    }
    assert_int_equal(br_reader_poll(reader, 1000, 10, refuse, NULL, &err), BR_ERR_BAD_RECORD);
    assert_int_equal(br_reader_position(reader), next);
    br_reader_close(reader);
}

static void reader__many_in_turn__share_clients(void **state)
{
    /* Claim: two readers of one partition at once, and many in turn, each get all of it. */
    enum { RECORDS = 20, READERS = 30 };
    br_err err;
    const char *topic = new_topic(*state, 1, NULL, 0);
    fill(*state, (br_tp){topic, 0}, RECORDS);
    br_reader *held = NULL;
    assert_ok(br_reader_open(&held, *state, (br_tp){topic, 0}, 0, &err));
    for (int i = 0; i < READERS; i++)
        assert_int_equal(read_all(*state, (br_tp){topic, 0}, i % RECORDS, NULL, NULL),
                         RECORDS - i % RECORDS);
    br_reader_close(held);
}

static void reader__offset_that_is_not_there__is_a_limit_error(void **state)
{
    /* Claim: below the first offset and above the end a reader fails; it never reads from another
     * place than asked. From -1 it starts at the first (FAULTS 1, 5). */
    br_err err;
    br_reader *reader = NULL;
    const char *topic = new_topic(*state, 1, NULL, 0);
    br_tp at = {topic, 0};
    fill(*state, (br_tp){topic, 0}, 10);
    delete_records(topic, 0, 4);
    assert_int_equal(br_reader_open(&reader, *state, at, 3, &err), BR_ERR_LIMIT);
    assert_non_null(strstr(err.message, "the first that is still there is 4"));
    assert_int_equal(read_all(*state, at, 4, NULL, NULL), 6);
    assert_int_equal(read_all(*state, at, -1, NULL, NULL), 6);

    assert_ok(br_reader_open(&reader, *state, at, 99, &err));
    br_status status = BR_EMPTY;
    for (int i = 0; i < 100 && status == BR_EMPTY; i++)
        status = br_reader_poll(reader, 100, 10, refuse, NULL, &err);
    assert_int_equal(status, BR_ERR_LIMIT);
    br_reader_close(reader);
}

static void offset_at__times__are_first_at_or_after(void **state)
{
    /* Claim: the first offset with a timestamp >= ms; the end where there is none. */
    static const struct {
        int64_t ms, want;
    } cases[] = {{-5, 0}, {0, 0}, {1000, 0}, {1001, 1}, {2000, 1}, {3000, 2}, {3001, 3}};
    const char *topic = new_topic(*state, 1, NULL, 0);
    sent s = open_producer(*state, topic);
    for (int i = 1; i <= 3; i++) {
        br_out_record record = {.value = BR_LITERAL("v"), .timestamp_ms = i * 1000};
        send_record(&s, &record);
    }
    flush_and_close(&s);
    for (size_t i = 0; i < BR_COUNTOF(cases); i++) {
        br_err err;
        int64_t offset = -1;
        assert_ok(br_log_offset_at(*state, topic, 0, cases[i].ms, &offset, &err));
        assert_int_equal(offset, cases[i].want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(open__setting_that_cannot_work__is_refused_with_its_name),
        cmocka_unit_test(open__no_brokers__is_refused),
        cmocka_unit_test(topic__nobody_answers__is_a_broker_error_that_says_where),
        cmocka_unit_test(create_topic__with_settings__shows_them_and_may_be_repeated),
        cmocka_unit_test(create_topic__impossible__is_a_configuration_error),
        cmocka_unit_test(topics__several__come_in_order_with_their_partitions),
        cmocka_unit_test(offsets__unknown_partition__is_a_configuration_error),
        cmocka_unit_test(send__null_and_empty__come_back_as_they_went),
        cmocka_unit_test(send__by_key__takes_the_partition_of_java),
        cmocka_unit_test(send__null_keys__reach_every_partition),
        cmocka_unit_test(send__no_such_partition__is_refused),
        cmocka_unit_test(producer_topic__missing__is_not_found_and_not_made),
        cmocka_unit_test(send__queue_full__waits_and_loses_nothing),
        cmocka_unit_test(flush__record_that_the_broker_refuses__names_topic_and_reason),
        cmocka_unit_test(producer_close__unflushed__ends),
        cmocka_unit_test(reader__end_is_a_gap__reaches_it),
        cmocka_unit_test(reader_poll__stopped_midway__goes_on_with_the_next_record),
        cmocka_unit_test(reader__many_in_turn__share_clients),
        cmocka_unit_test(reader__offset_that_is_not_there__is_a_limit_error),
        cmocka_unit_test(offset_at__times__are_first_at_or_after),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
