/* tests/bench/consume_only.c - the least that reading a topic costs: librdkafka's batch queue.
 * Usage: consume_only BROKERS TOPIC; counts the records up to the ends as they are at the start and
 * prints `records N`. brine's cost is given as a multiple of this program's (bench.sh).
 * The batch call loses records in rebalances (librdkafka 2.0.2), so brine may not use it; here
 * partitions are assigned by hand and there is none. */
#include <librdkafka/rdkafka.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 1000, TIMEOUT_MS = 10000, PARTITIONS_MAX = 1000 };

_Noreturn static void die(const char *what, const char *why)
{
    fprintf(stderr, "consume_only: %s: %s\n", what, why);
    exit(1);
}

static void set(rd_kafka_conf_t *conf, const char *name, const char *value)
{
    char why[256];
    if (rd_kafka_conf_set(conf, name, value, why, sizeof(why)) != RD_KAFKA_CONF_OK) die(name, why);
}

static rd_kafka_t *open_consumer(const char *brokers)
{
    char why[256];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    set(conf, "bootstrap.servers", brokers);
    set(conf, "group.id", "consume-only");
    set(conf, "enable.auto.commit", "false");
    set(conf, "auto.offset.reset", "earliest");
    rd_kafka_t *rk = rd_kafka_new(RD_KAFKA_CONSUMER, conf, why, sizeof(why));
    if (!rk) die("consumer", why);
    rd_kafka_poll_set_consumer(rk);
    return rk;
}

static int32_t partitions_of(rd_kafka_t *rk, const char *topic)
{
    const struct rd_kafka_metadata *metadata = NULL;
    rd_kafka_topic_t *rkt = rd_kafka_topic_new(rk, topic, NULL);
    rd_kafka_resp_err_t st = rd_kafka_metadata(rk, 0, rkt, &metadata, TIMEOUT_MS);
    if (st) die(topic, rd_kafka_err2str(st));
    int32_t count = metadata->topics[0].partition_cnt;
    rd_kafka_metadata_destroy(metadata);
    rd_kafka_topic_destroy(rkt);
    if (count <= 0 || count > PARTITIONS_MAX) die(topic, "no partitions, or too many");
    return count;
}

/* Assigns every partition from its start; returns how many records there are. */
static int64_t assign_all(rd_kafka_t *rk, const char *topic)
{
    int32_t count = partitions_of(rk, topic);
    int64_t total = 0;
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(count);
    for (int32_t p = 0; p < count; p++) {
        int64_t low, high;
        rd_kafka_resp_err_t st =
            rd_kafka_query_watermark_offsets(rk, topic, p, &low, &high, TIMEOUT_MS);
        if (st) die(topic, rd_kafka_err2str(st));
        rd_kafka_topic_partition_list_add(list, topic, p)->offset = low;
        total += high - low;
    }
    rd_kafka_resp_err_t st = rd_kafka_assign(rk, list);
    if (st) die("assign", rd_kafka_err2str(st));
    rd_kafka_topic_partition_list_destroy(list);
    return total;
}

static int64_t consume(rd_kafka_t *rk, int64_t total)
{
    rd_kafka_message_t *batch[BATCH];
    rd_kafka_queue_t *queue = rd_kafka_queue_get_consumer(rk);
    int64_t records = 0;
    while (records < total) {
        ssize_t n = rd_kafka_consume_batch_queue(queue, TIMEOUT_MS, batch, BATCH);
        if (n <= 0) die("consume", "nothing came for ten seconds");
        for (ssize_t i = 0; i < n; i++) {
            if (batch[i]->err) die("consume", rd_kafka_message_errstr(batch[i]));
            records++;
            rd_kafka_message_destroy(batch[i]);
        }
    }
    rd_kafka_queue_destroy(queue);
    return records;
}

int main(int argc, char **argv)
{
    if (argc != 3) die("usage", "consume_only BROKERS TOPIC");
    rd_kafka_t *rk = open_consumer(argv[1]);
    int64_t total = assign_all(rk, argv[2]);
    printf("records %" PRId64 "\n", consume(rk, total));
    rd_kafka_consumer_close(rk);
    rd_kafka_destroy(rk);
    return 0;
}
