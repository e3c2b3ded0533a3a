/* runtime/log/kafka_admin.c - what there is and where it ends: topics, their settings, offsets.
 * Shape:  one consumer client for all questions (a consumer, so that ends are those of committed
 *         records and asking for a topic never makes it), opened with the first.
 * Thread: any; librdkafka's calls are thread-safe, the client is opened under the log's lock. */
#include "runtime/log/kafka.h"

#include "runtime/base/alloc.h"
#include "runtime/base/units.h"

#include <stdlib.h>
#include <time.h>

enum {
    CREATED_WAIT_MS = 30000,
    CREATED_STEP_MS = 20,
    /* How far a broker may be behind another one that answered for a topic that we made. */
    BEHIND_MS = 5000,
};

static const br_setting admin_settings[] = {
    {"isolation.level", "read_committed"},
    {"enable.auto.commit", "false"},
    {"allow.auto.create.topics", "false"},
};

static br_status open_admin(br_kafka_log *log, br_kafka_client **out, br_err *err)
{
    const br_kafka_role role = {
        .type = RD_KAFKA_CONSUMER,
        .settings = admin_settings,
        .setting_count = BR_COUNTOF(admin_settings),
    };
    br_status status = BR_OK;
    pthread_mutex_lock(&log->lock);
    if (!log->admin) status = br_kafka_client_open(&log->admin, log, &role, err);
    *out = log->admin;
    pthread_mutex_unlock(&log->lock);
    if (status == BR_OK) rd_kafka_poll((*out)->rk, 0); /* its own events do not pile up */
    return status;
}

/* ---- what there is ---- */

/* Leaders missing: the topic is still being made, *partitions stays as it was. */
static br_status read_partitions(br_kafka_client *client, const char *topic, int32_t *partitions,
                                 br_err *err)
{
    rd_kafka_topic_t *rkt = rd_kafka_topic_new(client->rk, topic, NULL);
    if (!rkt) return br_kafka_fail(err, client, rd_kafka_last_error(), NULL, "topic %s", topic);
    const struct rd_kafka_metadata *found = NULL;
    rd_kafka_resp_err_t code = rd_kafka_metadata(client->rk, 0, rkt, &found, BR_KAFKA_TIMEOUT_MS);
    rd_kafka_topic_destroy(rkt);
    if (code) return br_kafka_fail(err, client, code, NULL, "topic %s", topic);

    br_status status = BR_OK;
    const rd_kafka_metadata_topic_t *at = &found->topics[0];
    code = found->topic_cnt == 1 ? at->err : RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
    if (code == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART)
        status = BR_NOT_FOUND;
    else if (code && !br_kafka_is_transient(code))
        status = br_kafka_fail(err, client, code, NULL, "topic %s", topic);
    int led = 0;
    for (int i = 0; status == BR_OK && i < at->partition_cnt; i++)
        led += at->partitions[i].leader >= 0;
    if (status == BR_OK && led > 0 && led == at->partition_cnt) *partitions = led;
    rd_kafka_metadata_destroy(found);
    return status;
}

static void sleep_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

/* Repeats until every partition has a leader; `missing` is how long a missing topic is waited for.
 */
static br_status wait_for_partitions(br_kafka_client *client, const char *topic, int missing_ms,
                                     int32_t *partitions, br_err *err)
{
    int64_t start = br_mono_ms(&br_system_clock), waited = 0;
    do {
        *partitions = 0;
        br_status status = read_partitions(client, topic, partitions, err);
        if (status < 0 || *partitions > 0) return status;
        waited = br_mono_ms(&br_system_clock) - start;
        if (status == BR_NOT_FOUND && waited >= missing_ms) return status;
        sleep_ms(CREATED_STEP_MS);
    } while (waited < CREATED_WAIT_MS);
    return br_fail(err, BR_ERR_BROKER, "topic %s: not every partition has a leader after %d s",
                   topic, CREATED_WAIT_MS / 1000);
}

/* ---- topics that we made ---- */

static bool is_made(br_kafka_log *log, const char *topic)
{
    bool found = false;
    pthread_mutex_lock(&log->lock);
    for (size_t i = 0; i < log->made_count && !found; i++) found = strcmp(log->made[i], topic) == 0;
    pthread_mutex_unlock(&log->lock);
    return found;
}

static void note_made(br_kafka_log *log, const char *topic)
{
    if (is_made(log, topic)) return;
    pthread_mutex_lock(&log->lock);
    log->made = br_grow(log->made, &log->made_cap, log->made_count + 1, sizeof(*log->made));
    log->made[log->made_count++] = br_strdup(topic);
    pthread_mutex_unlock(&log->lock);
}

/* Brokers of a cluster learn of a new topic one after the other, and each question may go to
 * another: a topic of ours that one of them misses is waited for. */
static int missing_ms(br_kafka_log *log, const char *topic)
{
    return is_made(log, topic) ? BEHIND_MS : 0;
}

br_status br_kafka_partitions(br_kafka_log *log, const char *topic, int32_t *partitions,
                              br_err *err)
{
    br_kafka_client *client = NULL;
    br_status status = open_admin(log, &client, err);
    if (status != BR_OK) return status;
    return wait_for_partitions(client, topic, missing_ms(log, topic), partitions, err);
}

static br_status read_config(const rd_kafka_ConfigEntry_t *entry, br_topic_info *out, br_err *err)
{
    const char *name = rd_kafka_ConfigEntry_name(entry), *value = rd_kafka_ConfigEntry_value(entry);
    if (!value) return BR_OK;
    br_status status = BR_OK;
    if (strcmp(name, "cleanup.policy") == 0)
        snprintf(out->cleanup_policy, sizeof(out->cleanup_policy), "%s", value);
    else if (strcmp(name, "retention.ms") == 0)
        status = br_parse_int(br_str(value), INT64_MIN, INT64_MAX, &out->retention_ms, err);
    else if (strcmp(name, "max.message.bytes") == 0)
        status = br_parse_int(br_str(value), 0, INT64_MAX, &out->max_message_bytes, err);
    return status == BR_OK ? BR_OK : br_wrap(err, "the broker's value of %s", name);
}

static br_status read_configs(br_kafka_client *client, rd_kafka_event_t *event, const char *topic,
                              br_topic_info *out, br_err *err)
{
    rd_kafka_resp_err_t code = rd_kafka_event_error(event);
    if (code)
        return br_kafka_fail(err, client, code, rd_kafka_event_error_string(event),
                             "settings of topic %s", topic);
    size_t count = 0, entry_count = 0;
    const rd_kafka_ConfigResource_t **found = rd_kafka_DescribeConfigs_result_resources(
        rd_kafka_event_DescribeConfigs_result(event), &count);
    BR_ASSERT(count == 1);
    code = rd_kafka_ConfigResource_error(found[0]);
    if (code == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART) return BR_NOT_FOUND;
    if (code)
        return br_kafka_fail(err, client, code, rd_kafka_ConfigResource_error_string(found[0]),
                             "settings of topic %s", topic);
    const rd_kafka_ConfigEntry_t **entries =
        rd_kafka_ConfigResource_configs(found[0], &entry_count);
    br_status status = BR_OK;
    for (size_t i = 0; i < entry_count && status == BR_OK; i++)
        status = read_config(entries[i], out, err);
    return status;
}

/* The answer to a request of librdkafka's admin calls; NULL: none came. Owned. */
static rd_kafka_event_t *wait_for_answer(rd_kafka_queue_t *queue, int timeout_ms)
{
    rd_kafka_event_t *event = rd_kafka_queue_poll(queue, timeout_ms);
    rd_kafka_queue_destroy(queue);
    return event;
}

static rd_kafka_AdminOptions_t *admin_options(br_kafka_client *client, rd_kafka_admin_op_t what)
{
    rd_kafka_AdminOptions_t *options = rd_kafka_AdminOptions_new(client->rk, what);
    char reason[128];
    rd_kafka_resp_err_t code = rd_kafka_AdminOptions_set_request_timeout(
        options, BR_KAFKA_TIMEOUT_MS, reason, sizeof(reason));
    BR_ASSERT(code == RD_KAFKA_RESP_ERR_NO_ERROR);
    return options;
}

static br_status describe_configs(br_kafka_client *client, const char *topic, br_topic_info *out,
                                  br_err *err)
{
    rd_kafka_queue_t *queue = rd_kafka_queue_new(client->rk);
    rd_kafka_AdminOptions_t *options = admin_options(client, RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS);
    rd_kafka_ConfigResource_t *resource =
        rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, topic);
    rd_kafka_DescribeConfigs(client->rk, &resource, 1, options, queue);
    rd_kafka_ConfigResource_destroy(resource);
    rd_kafka_AdminOptions_destroy(options);
    rd_kafka_event_t *event = wait_for_answer(queue, 2 * BR_KAFKA_TIMEOUT_MS);
    if (!event)
        return br_kafka_fail(err, client, RD_KAFKA_RESP_ERR__TIMED_OUT, NULL,
                             "settings of topic %s", topic);
    br_status status = read_configs(client, event, topic, out, err);
    rd_kafka_event_destroy(event);
    return status;
}

br_status br_kafka_topic(br_log *base, const char *name, br_topic_info *out, br_err *err)
{
    br_kafka_log *log = (br_kafka_log *)base;
    br_kafka_client *client = NULL;
    br_topic_info info = {.retention_ms = -1};
    br_status status = open_admin(log, &client, err);
    int64_t until = br_mono_ms(&br_system_clock) + missing_ms(log, name);
    while (status == BR_OK) {
        status = wait_for_partitions(client, name, missing_ms(log, name), &info.partitions, err);
        if (status == BR_OK) status = describe_configs(client, name, &info, err);
        if (status != BR_NOT_FOUND || br_mono_ms(&br_system_clock) >= until) break;
        sleep_ms(CREATED_STEP_MS);
        status = BR_OK;
    }
    if (status == BR_OK) *out = info;
    return status;
}

static int by_name(const void *a, const void *b)
{
    const rd_kafka_metadata_topic_t *const *left = a, *const *right = b;
    return strcmp((*left)->topic, (*right)->topic);
}

br_status br_kafka_topics(br_log *base, br_topic_visit visit, void *arg, br_err *err)
{
    br_kafka_client *client = NULL;
    br_status status = open_admin((br_kafka_log *)base, &client, err);
    if (status != BR_OK) return status;
    const struct rd_kafka_metadata *all = NULL;
    rd_kafka_resp_err_t code = rd_kafka_metadata(client->rk, 1, NULL, &all, BR_KAFKA_TIMEOUT_MS);
    if (code) return br_kafka_fail(err, client, code, NULL, "list of topics");

    size_t count = (size_t)all->topic_cnt;
    const rd_kafka_metadata_topic_t **sorted = br_alloc(count * sizeof(*sorted));
    for (size_t i = 0; i < count; i++) sorted[i] = &all->topics[i];
    qsort(sorted, count, sizeof(*sorted), by_name);
    for (size_t i = 0; i < count && status == BR_OK; i++)
        status = visit(arg, sorted[i]->topic, sorted[i]->partition_cnt, err);
    br_free(sorted);
    rd_kafka_metadata_destroy(all);
    return status;
}

/* ---- creating ---- */

static br_status new_topic(rd_kafka_NewTopic_t **out, const br_topic_spec *spec, br_err *err)
{
    char reason[256];
    int replication = spec->replication == 0 ? -1 : spec->replication;
    rd_kafka_NewTopic_t *topic =
        rd_kafka_NewTopic_new(spec->name, spec->partitions, replication, reason, sizeof(reason));
    if (!topic) return br_fail(err, BR_ERR_CONFIG, "topic %s: %s", spec->name, reason);
    for (size_t i = 0; i < spec->setting_count; i++) {
        const br_setting *at = &spec->settings[i];
        if (rd_kafka_NewTopic_set_config(topic, at->name, at->value) == 0) continue;
        rd_kafka_NewTopic_destroy(topic);
        return br_fail(err, BR_ERR_CONFIG, "topic %s: setting `%s` cannot be \"%s\"", spec->name,
                       at->name, at->value);
    }
    *out = topic;
    return BR_OK;
}

static br_status read_created(br_kafka_client *client, rd_kafka_event_t *event, const char *topic,
                              br_err *err)
{
    rd_kafka_resp_err_t code = rd_kafka_event_error(event);
    const char *reason = rd_kafka_event_error_string(event);
    if (!code) {
        size_t count = 0;
        const rd_kafka_topic_result_t **made =
            rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(event), &count);
        BR_ASSERT(count == 1);
        code = rd_kafka_topic_result_error(made[0]);
        reason = rd_kafka_topic_result_error_string(made[0]);
    }
    if (!code || code == RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS) return BR_OK;
    return br_kafka_fail(err, client, code, reason, "creating topic %s", topic);
}

static br_status create(br_kafka_client *client, const br_topic_spec *spec, br_err *err)
{
    rd_kafka_NewTopic_t *topic = NULL;
    br_status status = new_topic(&topic, spec, err);
    if (status != BR_OK) return status;
    rd_kafka_queue_t *queue = rd_kafka_queue_new(client->rk);
    rd_kafka_AdminOptions_t *options = admin_options(client, RD_KAFKA_ADMIN_OP_CREATETOPICS);
    rd_kafka_CreateTopics(client->rk, &topic, 1, options, queue);
    rd_kafka_NewTopic_destroy(topic);
    rd_kafka_AdminOptions_destroy(options);
    rd_kafka_event_t *event = wait_for_answer(queue, 2 * BR_KAFKA_TIMEOUT_MS);
    if (!event)
        return br_kafka_fail(err, client, RD_KAFKA_RESP_ERR__TIMED_OUT, NULL, "creating topic %s",
                             spec->name);
    status = read_created(client, event, spec->name, err);
    rd_kafka_event_destroy(event);
    return status;
}

br_status br_kafka_create_topic(br_log *base, const br_topic_spec *spec, br_err *err)
{
    br_kafka_client *client = NULL;
    int32_t partitions = 0;
    br_status status = open_admin((br_kafka_log *)base, &client, err);
    if (status == BR_OK) status = create(client, spec, err);
    if (status == BR_OK) note_made((br_kafka_log *)base, spec->name);
    if (status == BR_OK)
        status = wait_for_partitions(client, spec->name, CREATED_WAIT_MS, &partitions, err);
    if (status == BR_NOT_FOUND)
        return br_fail(err, BR_ERR_BROKER, "topic %s was created but does not show after %d s",
                       spec->name, CREATED_WAIT_MS / 1000);
    return status;
}

static br_status read_grown(br_kafka_client *client, rd_kafka_event_t *event, const char *topic,
                            br_err *err)
{
    rd_kafka_resp_err_t code = rd_kafka_event_error(event);
    const char *reason = rd_kafka_event_error_string(event);
    if (!code) {
        size_t count = 0;
        const rd_kafka_topic_result_t **grown = rd_kafka_CreatePartitions_result_topics(
            rd_kafka_event_CreatePartitions_result(event), &count);
        BR_ASSERT(count == 1);
        code = rd_kafka_topic_result_error(grown[0]);
        reason = rd_kafka_topic_result_error_string(grown[0]);
    }
    if (!code) return BR_OK;
    return br_kafka_fail(err, client, code, reason, "adding partitions to topic %s", topic);
}

static br_status grow(br_kafka_client *client, const char *name, int32_t partitions, br_err *err)
{
    char reason[256];
    rd_kafka_NewPartitions_t *wanted =
        rd_kafka_NewPartitions_new(name, (size_t)partitions, reason, sizeof(reason));
    if (!wanted) return br_fail(err, BR_ERR_CONFIG, "topic %s: %s", name, reason);
    rd_kafka_queue_t *queue = rd_kafka_queue_new(client->rk);
    rd_kafka_AdminOptions_t *options = admin_options(client, RD_KAFKA_ADMIN_OP_CREATEPARTITIONS);
    rd_kafka_CreatePartitions(client->rk, &wanted, 1, options, queue);
    rd_kafka_NewPartitions_destroy(wanted);
    rd_kafka_AdminOptions_destroy(options);
    rd_kafka_event_t *event = wait_for_answer(queue, 2 * BR_KAFKA_TIMEOUT_MS);
    if (!event)
        return br_kafka_fail(err, client, RD_KAFKA_RESP_ERR__TIMED_OUT, NULL,
                             "adding partitions to topic %s", name);
    br_status status = read_grown(client, event, name, err);
    rd_kafka_event_destroy(event);
    return status;
}

/* Another worker may have done it meanwhile: what counts is what there is afterwards. */
br_status br_kafka_grow_topic(br_log *base, const char *name, int32_t partitions, br_err *err)
{
    br_kafka_client *client = NULL;
    int32_t found = 0;
    br_status status = open_admin((br_kafka_log *)base, &client, err);
    br_status grown = status == BR_OK ? grow(client, name, partitions, err) : status;
    int64_t start = br_mono_ms(&br_system_clock);
    while (status == BR_OK && found < partitions &&
           br_mono_ms(&br_system_clock) - start < (grown == BR_OK ? CREATED_WAIT_MS : 1)) {
        br_err looking;
        if (found > 0) sleep_ms(CREATED_STEP_MS);
        status = wait_for_partitions(client, name, CREATED_WAIT_MS, &found, &looking);
        if (status < 0) *err = looking;
    }
    if (status != BR_OK || found >= partitions) return status;
    if (grown != BR_OK) return grown;
    return br_fail(err, BR_ERR_BROKER, "topic %s: its new partitions do not show after %d s", name,
                   CREATED_WAIT_MS / 1000);
}

/* ---- offsets ---- */

/* librdkafka asks for an unknown partition until its time is over: so look first. */
static br_status check_partition(br_kafka_log *log, const char *topic, int32_t partition,
                                 br_err *err)
{
    int32_t partitions = 0;
    br_status status = br_kafka_partitions(log, topic, &partitions, err);
    if (status == BR_NOT_FOUND)
        return br_fail(err, BR_ERR_CONFIG, "there is no topic %s; create it first", topic);
    if (status == BR_OK && (partition < 0 || partition >= partitions))
        return br_fail(err, BR_ERR_CONFIG, "topic %s has no partition %d, only 0 to %d", topic,
                       partition, partitions - 1);
    return status;
}

static br_status query_offsets(br_kafka_client *client, const char *topic, int32_t partition,
                               int64_t *low, int64_t *end, br_err *err)
{
    int64_t start = br_mono_ms(&br_system_clock);
    rd_kafka_resp_err_t code;
    /* A topic that was just made, or lost its leader, has one soon. */
    while ((code = rd_kafka_query_watermark_offsets(client->rk, topic, partition, low, end,
                                                    BR_KAFKA_TIMEOUT_MS)) != 0 &&
           br_kafka_is_transient(code) &&
           br_mono_ms(&br_system_clock) - start < BR_KAFKA_TIMEOUT_MS)
        sleep_ms(CREATED_STEP_MS);
    if (!code) return BR_OK;
    return br_kafka_fail(err, client, code, NULL, "offsets of %s[%d]", topic, partition);
}

br_status br_kafka_offsets(br_log *base, const char *topic, int32_t partition, int64_t *low,
                           int64_t *end, br_err *err)
{
    br_kafka_client *client = NULL;
    br_status status = open_admin((br_kafka_log *)base, &client, err);
    if (status == BR_OK) status = check_partition((br_kafka_log *)base, topic, partition, err);
    return status == BR_OK ? query_offsets(client, topic, partition, low, end, err) : status;
}

static br_status query_time(br_kafka_client *client, const char *topic, int32_t partition,
                            int64_t ms, int64_t *offset, br_err *err)
{
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_t *at = rd_kafka_topic_partition_list_add(list, topic, partition);
    at->offset = ms;
    rd_kafka_resp_err_t code = rd_kafka_offsets_for_times(client->rk, list, BR_KAFKA_TIMEOUT_MS);
    if (!code) code = at->err;
    *offset = at->offset;
    rd_kafka_topic_partition_list_destroy(list);
    if (!code) return BR_OK;
    return br_kafka_fail(err, client, code, NULL, "offset of time %lld in %s[%d]", (long long)ms,
                         topic, partition);
}

br_status br_kafka_offset_at(br_log *base, const char *topic, int32_t partition, int64_t ms,
                             int64_t *offset, br_err *err)
{
    br_kafka_client *client = NULL;
    int64_t low = 0, found = -1;
    br_status status = open_admin((br_kafka_log *)base, &client, err);
    if (status == BR_OK) status = check_partition((br_kafka_log *)base, topic, partition, err);
    /* Negative times have a meaning of their own in the protocol (-1: the end, -2: the start). */
    if (status == BR_OK)
        status = query_time(client, topic, partition, ms < 0 ? 0 : ms, &found, err);
    if (status == BR_OK && found < 0)
        status = query_offsets(client, topic, partition, &low, &found, err);
    if (status == BR_OK) *offset = found;
    return status;
}
