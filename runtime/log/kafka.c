/* runtime/log/kafka.c - opens the Kafka log: its settings are checked here, before any connection.
 * Shape:     settings -> refused or kept -> each client's librdkafka configuration
 * Invariant: no setting can take away what the commit protocol stands on (acknowledged, in order,
 *            committed only by us, never from another place than asked). */
#include "runtime/log/kafka.h"

#include "runtime/base/alloc.h"
#include "runtime/base/logger.h"
#include "runtime/base/names.h"
#include "runtime/base/units.h"
#include "runtime/log/kafka_version.h"

#include <string.h>

static const struct {
    const char *name, *why;
} refused[] = {
    {"bootstrap.servers", "the brokers are given beside the settings"},
    {"metadata.broker.list", "the brokers are given beside the settings"},
    {"group.id", "brine names the group after the job"},
    {"group.instance.id", "brine sets it where a worker has a fixed name"},
    {"transactional.id", "brine names transactions after the job"},
    {"enable.auto.commit", "brine commits an offset only after the state that holds its record"},
    {"auto.commit.enable", "brine commits an offset only after the state that holds its record"},
    {"auto.commit.interval.ms", "brine commits by itself: set commit_interval"},
    {"enable.auto.offset.store", "brine commits an offset only after the state that holds it"},
    {"auto.offset.reset", "brine starts where the state says: set a source's `start`"},
    {"isolation.level", "brine reads committed records only"},
    {"enable.partition.eof", "brine needs to know where a partition ends"},
    {"enable.idempotence", "without it retries double or reorder records"},
    {"acks", "a record counts as stored only when all in-sync replicas have it"},
    {"request.required.acks", "a record counts as stored only when all in-sync replicas have it"},
    {"partitioner", "brine computes the partition as Java's clients do"},
    {"delivery.report.only.error", "brine needs the offset of each record"},
    {"allow.auto.create.topics", "brine creates its topics with the settings that they need"},
    {"log.queue", "brine takes librdkafka's log lines at once"},
};

/* Compaction may remove a record's older copy 10 minutes after it was written, so a delivery must
 * have ended well before. */
static br_status check_delivery_timeout(const br_setting *setting, br_err *err)
{
    if (strcmp(setting->name, "message.timeout.ms") != 0 &&
        strcmp(setting->name, "delivery.timeout.ms") != 0)
        return BR_OK;
    int64_t ms = 0;
    if (br_parse_int(br_str(setting->value), 1, 300000, &ms, err) == BR_OK) return BR_OK;
    return br_wrap(err, "kafka setting `%s`", setting->name);
}

/* A line of a dump is "name", "value", … */
static const char *nearest_property(const rd_kafka_conf_t *conf, const char *name, char out[128])
{
    size_t count = 0;
    const char **dump = rd_kafka_conf_dump((rd_kafka_conf_t *)(uintptr_t)conf, &count);
    const char **names = br_alloc((count / 2 + 1) * sizeof(*names));
    for (size_t i = 0; i < count / 2; i++) names[i] = dump[2 * i];
    const char *found = br_nearest(br_str(name), names, count / 2);
    if (found) snprintf(out, 128, ", did you mean `%s`?", found);
    br_free(names);
    rd_kafka_conf_dump_free(dump, count);
    return found ? out : "; librdkafka's CONFIGURATION.md lists what there is";
}

br_status br_kafka_set(rd_kafka_conf_t *conf, const br_setting *setting, br_err *err)
{
    char reason[256], hint[128];
    switch (rd_kafka_conf_set(conf, setting->name, setting->value, reason, sizeof(reason))) {
    case RD_KAFKA_CONF_OK: return BR_OK;
    case RD_KAFKA_CONF_UNKNOWN:
        return br_fail(err, BR_ERR_CONFIG, "kafka setting `%s`: %s%s", setting->name, reason,
                       nearest_property(conf, setting->name, hint));
    case RD_KAFKA_CONF_INVALID:
    default: return br_fail(err, BR_ERR_CONFIG, "kafka setting `%s`: %s", setting->name, reason);
    }
}

static br_status check_setting(rd_kafka_conf_t *conf, const br_setting *setting, br_err *err)
{
    for (size_t i = 0; i < BR_COUNTOF(refused); i++) {
        if (strcmp(setting->name, refused[i].name) != 0) continue;
        return br_fail(err, BR_ERR_CONFIG, "kafka setting `%s` cannot be changed: %s; remove it",
                       setting->name, refused[i].why);
    }
    br_status status = check_delivery_timeout(setting, err);
    return status == BR_OK ? br_kafka_set(conf, setting, err) : status;
}

static br_status check_settings(const br_setting *settings, size_t count, br_err *err)
{
    rd_kafka_conf_t *scratch = rd_kafka_conf_new();
    br_status status = BR_OK;
    for (size_t i = 0; i < count && status == BR_OK; i++)
        status = check_setting(scratch, &settings[i], err);
    rd_kafka_conf_destroy(scratch);
    return status;
}

static void log_close(br_log *base)
{
    br_kafka_log *log = (br_kafka_log *)base;
    br_kafka_client_close(log->admin);
    for (size_t i = 0; i < log->idle_count; i++) br_kafka_client_close(log->idle[i]);
    for (size_t i = 0; i < log->setting_count; i++) {
        br_free((char *)(uintptr_t)log->settings[i].name);
        br_free((char *)(uintptr_t)log->settings[i].value);
    }
    for (size_t i = 0; i < log->made_count; i++) br_free(log->made[i]);
    br_free(log->made);
    br_free(log->settings);
    br_free(log->brokers);
    br_free(log->described);
    pthread_mutex_destroy(&log->lock);
    br_free(log);
}

static const char *describe(const br_log *base)
{
    return ((const br_kafka_log *)base)->described;
}

static const br_log_vtable kafka_vtable = {
    .close = log_close,
    .describe = describe,
    .topic = br_kafka_topic,
    .create_topic = br_kafka_create_topic,
    .grow_topic = br_kafka_grow_topic,
    .topics = br_kafka_topics,
    .offsets = br_kafka_offsets,
    .offset_at = br_kafka_offset_at,
    .consumer_open = br_kafka_consumer_open,
    .consumer_close = br_kafka_consumer_close,
    .consumer_poll = br_kafka_consumer_poll,
    .consumer_start = br_kafka_consumer_start,
    .consumer_committed = br_kafka_consumer_committed,
    .consumer_commit = br_kafka_consumer_commit,
    .reader_open = br_kafka_reader_open,
    .reader_close = br_kafka_reader_close,
    .reader_poll = br_kafka_reader_poll,
    .reader_position = br_kafka_reader_position,
    .producer_open = br_kafka_producer_open,
    .producer_close = br_kafka_producer_close,
    .producer_topic = br_kafka_producer_topic,
    .producer_send = br_kafka_producer_send,
    .producer_flush = br_kafka_producer_flush,
    .producer_open_transactional = br_kafka_producer_open_transactional,
    .producer_commit = br_kafka_producer_commit,
};

static void tell_faults(void)
{
    const char *fault;
    for (size_t i = 0; (fault = br_kafka_fault(rd_kafka_version(), i)); i++)
        br_log_line(BR_INFO, "librdkafka has a fault", "version=%s text=\"%s\"",
                    rd_kafka_version_str(), fault);
}

br_status br_log_open_kafka(br_log **out, const char *brokers, const br_setting *settings,
                            size_t count, br_err *err)
{
    if (brokers[strspn(brokers, " ,")] == '\0')
        return br_fail(err, BR_ERR_CONFIG, "no Kafka broker is given; write HOST:PORT[,HOST:PORT]");
    br_status status = check_settings(settings, count, err);
    if (status != BR_OK) return status;

    br_kafka_log *log = BR_NEW(br_kafka_log);
    br_buf text = {0};
    br_buf_printf(&text, "Apache Kafka at %s (librdkafka %s)", brokers, rd_kafka_version_str());
    log->base.vtable = &kafka_vtable;
    log->brokers = br_strdup(brokers);
    log->described = br_strdup(br_buf_cstr(&text));
    br_buf_dispose(&text);
    log->settings = br_calloc(count, sizeof(*log->settings));
    for (size_t i = 0; i < count; i++)
        log->settings[i] = (br_setting){br_strdup(settings[i].name), br_strdup(settings[i].value)};
    log->setting_count = count;
    pthread_mutex_init(&log->lock, NULL);
    tell_faults();
    *out = &log->base;
    return BR_OK;
}
