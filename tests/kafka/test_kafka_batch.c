/* tests/kafka/test_kafka_batch.c - records that go to librdkafka many at a time, on a broker. */
#include "fixture.h"

#include "runtime/base/alloc.h"

#include <stdio.h>
#include <stdlib.h>

enum { PARTITIONS = 3, RECORDS = 6000, VALUE_BYTES = 400 };

typedef struct producing {
    br_log *log;
    br_producer *producer;
    br_topic_ref *ref;
    const char *topic;
} producing;

static producing open_producing(const br_setting *settings, size_t count)
{
    producing p = {0};
    br_err err;
    assert_ok(br_log_open_kafka(&p.log, test_brokers(), settings, count, &err));
    p.topic = new_topic(p.log, PARTITIONS, NULL, 0);
    assert_ok(br_producer_open(&p.producer, p.log, &err));
    assert_ok(br_producer_topic(p.producer, p.topic, &p.ref, &err));
    return p;
}

static void close_producing(producing *p)
{
    br_producer_close(p->producer);
    br_log_close(p->log);
}

static br_status check_order(void *arg, void *user, const br_record *record, br_err *err)
{
    (void)user, (void)err;
    int *next = arg;
    char *end;
    assert_int_equal(record->value.len, VALUE_BYTES);
    assert_int_equal(strtol(record->value.data, &end, 10), *next);
    assert_true(end > record->value.data && *end == ' ');
    *next += PARTITIONS;
    return BR_OK;
}

/* Every seventh has a timestamp, which goes to librdkafka on its own; some hundreds in a row do. */
static int64_t timestamp_of(int number)
{
    bool alone = number % 7 == 0 || (number / 300) % 4 == 3;
    return alone ? 1000 + number : -1;
}

static void send_in_order(producing *p)
{
    char value[VALUE_BYTES];
    br_err err;
    for (int i = 0; i < RECORDS; i++) {
        memset(value, 0, sizeof(value));
        (void)snprintf(value, sizeof(value), "%d ", i);
        br_out_record record = {.partition = i % PARTITIONS,
                                .key = br_bytes_of(value, 8),
                                .value = br_bytes_of(value, sizeof(value)),
                                .timestamp_ms = timestamp_of(i)};
        assert_ok(br_producer_send(p->producer, p->ref, &record, &err));
    }
    assert_ok(br_producer_flush(p->producer, &err));
}

static void send__many_and_single_ones_mixed__in_order(void **state)
{
    /* Claim: whether records go alone or with others, and whether librdkafka's queue is full by
     * their number, by their bytes or not at all, each partition has all of them, once and in
     * order (FAULTS 31). */
    (void)state;
    static const br_setting cases[][2] = {
        {{"linger.ms", "0"}, {"queue.buffering.max.messages", "10"}},
        {{"linger.ms", "0"}, {"queue.buffering.max.kbytes", "20"}},
        {{"linger.ms", "20"}, {"queue.buffering.max.messages", "1000000"}},
    };
    for (size_t i = 0; i < BR_COUNTOF(cases); i++) {
        producing p = open_producing(cases[i], 2);
        send_in_order(&p);
        for (int32_t at = 0; at < PARTITIONS; at++) {
            int next = at;
            assert_int_equal(br_topic_ref_last_offset(p.ref, at), RECORDS / PARTITIONS - 1);
            assert_int_equal(read_all(p.log, (br_tp){p.topic, at}, 0, check_order, &next),
                             RECORDS / PARTITIONS);
        }
        close_producing(&p);
    }
}

static const br_out_record shapes[] = {
    {0, {"k", 1}, {"v", 1}, -1, NULL, 0},           {0, {NULL, 0}, {"null key", 8}, -1, NULL, 0},
    {0, {"", 0}, {"empty key", 9}, -1, NULL, 0},    {0, {"null value", 10}, {NULL, 0}, -1, NULL, 0},
    {0, {"empty value", 11}, {"", 0}, -1, NULL, 0},
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
    assert_true(record->timestamp_ms > 0);
    return BR_OK;
}

static void send__null_and_empty_among_many__come_back_as_they_went(void **state)
{
    /* Claim: null and empty stay apart among gathered records too (FAULTS 28). */
    (void)state;
    br_err err;
    producing p = open_producing(NULL, 0);
    for (size_t i = 0; i < BR_COUNTOF(shapes); i++)
        assert_ok(br_producer_send(p.producer, p.ref, &shapes[i], &err));
    assert_ok(br_producer_flush(p.producer, &err));
    size_t next = 0;
    assert_int_equal(read_all(p.log, (br_tp){p.topic, 0}, 0, check_shape, &next),
                     BR_COUNTOF(shapes));
    close_producing(&p);
}

static void flush__record_too_large__names_it_and_stays_failed(void **state)
{
    /* Claim: a record that librdkafka refuses is not passed over: this flush and the next fail and
     * say which it was (FAULTS 30). */
    (void)state;
    br_err err;
    const br_setting small[] = {{"message.max.bytes", "2000"}};
    producing p = open_producing(small, 1);
    char big[5000] = "";
    br_out_record large = {.value = br_bytes_of(big, sizeof(big)), .timestamp_ms = -1};
    assert_ok(br_producer_send(p.producer, p.ref, &shapes[0], &err));
    assert_ok(br_producer_send(p.producer, p.ref, &large, &err));
    for (int twice = 0; twice < 2; twice++) {
        assert_true(br_producer_flush(p.producer, &err) < 0);
        assert_non_null(strstr(err.message, p.topic));
        assert_non_null(strstr(err.message, "5000 bytes"));
    }
    close_producing(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(send__many_and_single_ones_mixed__in_order),
        cmocka_unit_test(send__null_and_empty_among_many__come_back_as_they_went),
        cmocka_unit_test(flush__record_too_large__names_it_and_stays_failed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
