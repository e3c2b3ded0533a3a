/* tests/kafka/fixture.c - see fixture.h. */
#include "fixture.h"

#include "runtime/base/alloc.h"
#include "runtime/base/clock.h"

#include <librdkafka/rdkafka.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void check_ok(br_status status, const br_err *err, const char *file, int line)
{
    if (status < 0) print_error("%s\n", err->message);
    _assert_int_equal((LargestIntegralType)status, BR_OK, file, line);
}

const char *test_brokers(void)
{
    const char *brokers = getenv("BRINE_TEST_BROKERS");
    if (brokers) return brokers;
    fprintf(stderr, "BRINE_TEST_BROKERS is not set; run this by tests/support/with_broker.sh\n");
    exit(2);
}

br_log *open_log(void)
{
    br_log *log = NULL;
    br_err err;
    br_setting protocol = {"group.protocol", getenv("BRINE_TEST_GROUP_PROTOCOL")};
    assert_ok(br_log_open_kafka(&log, test_brokers(), &protocol, protocol.value ? 1 : 0, &err));
    return log;
}

const char *fresh_name(const char *what)
{
    enum { NAMES_MAX = 100, NAME_MAX_BYTES = 64 };
    static char names[NAMES_MAX][NAME_MAX_BYTES];
    static size_t used;
    static int64_t run;
    if (run == 0) run = br_wall_ms(&br_system_clock);
    assert_true(used < NAMES_MAX);
    snprintf(names[used], NAME_MAX_BYTES, "%s-%lld-%d-%zu", what, (long long)run, (int)getpid(),
             used);
    return names[used++];
}

const char *new_topic(br_log *log, int32_t partitions, const br_setting *settings, size_t count)
{
    br_err err;
    br_topic_spec spec = {fresh_name("topic"), partitions, 1, settings, count};
    assert_ok(br_log_create_topic(log, &spec, &err));
    return spec.name;
}

void fill(br_log *log, br_tp at, int count)
{
    br_err err;
    br_producer *producer = NULL;
    br_topic_ref *ref = NULL;
    assert_ok(br_producer_open(&producer, log, &err));
    assert_ok(br_producer_topic(producer, at.topic, &ref, &err));
    for (int i = 0; i < count; i++) {
        char key[16], value[16];
        snprintf(key, sizeof(key), "k%d", i);
        snprintf(value, sizeof(value), "v%d", i);
        br_out_record record = {.partition = at.partition,
                                .key = br_str(key),
                                .value = br_str(value),
                                .timestamp_ms = -1};
        assert_ok(br_producer_send(producer, ref, &record, &err));
    }
    assert_ok(br_producer_flush(producer, &err));
    br_producer_close(producer);
}

void delete_records(const char *topic, int32_t partition, int64_t before)
{
    char reason[256];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    rd_kafka_conf_set(conf, "bootstrap.servers", test_brokers(), reason, sizeof(reason));
    rd_kafka_t *rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, reason, sizeof(reason));
    assert_non_null(rk);
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(list, topic, partition)->offset = before;
    rd_kafka_DeleteRecords_t *request = rd_kafka_DeleteRecords_new(list);
    rd_kafka_queue_t *queue = rd_kafka_queue_new(rk);
    rd_kafka_DeleteRecords(rk, &request, 1, NULL, queue);
    rd_kafka_event_t *event = rd_kafka_queue_poll(queue, 10000);
    assert_non_null(event);
    assert_int_equal(rd_kafka_event_error(event), RD_KAFKA_RESP_ERR_NO_ERROR);
    rd_kafka_event_destroy(event);
    rd_kafka_queue_destroy(queue);
    rd_kafka_DeleteRecords_destroy(request);
    rd_kafka_topic_partition_list_destroy(list);
    rd_kafka_destroy(rk);
}

typedef struct counting {
    br_record_fn fn;
    void *arg;
    int count;
} counting;

static br_status count_record(void *arg, void *user, const br_record *record, br_err *err)
{
    counting *c = arg;
    c->count++;
    return c->fn ? c->fn(c->arg, user, record, err) : BR_OK;
}

int read_all(br_log *log, br_tp at, int64_t from, br_record_fn fn, void *arg)
{
    br_err err;
    br_reader *reader = NULL;
    int64_t low = 0, end = 0;
    counting c = {fn, arg, 0};
    assert_ok(br_log_offsets(log, at.topic, at.partition, &low, &end, &err));
    assert_ok(br_reader_open(&reader, log, at, from, &err));
    int64_t until = br_mono_ms(&br_system_clock) + 10000;
    while (br_reader_position(reader) < end) {
        if (br_reader_poll(reader, 100, 100, count_record, &c, &err) < 0)
            fail_msg("%s", err.message);
        if (br_mono_ms(&br_system_clock) > until)
            fail_msg("%s[%d]: at %lld, the end %lld is not reached in 10 s", at.topic, at.partition,
                     (long long)br_reader_position(reader), (long long)end);
    }
    assert_int_equal(br_reader_position(reader), end);
    br_reader_close(reader);
    return c.count;
}
