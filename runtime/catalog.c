/* runtime/catalog.c - see catalog.h. */
#include "runtime/catalog.h"

#include "runtime/base/logger.h"

#include <inttypes.h>
#include <stdio.h>

const br_setting br_internal_topic_settings[] = {
    {"cleanup.policy", "compact"},
    {"message.timestamp.type", "LogAppendTime"},
    {"min.compaction.lag.ms", "600000"},
    {"segment.bytes", "67108864"},
    {NULL, NULL},
};

enum { INTERNAL_SETTINGS = BR_COUNTOF(br_internal_topic_settings) - 1 };

static bool is_internal(const br_plan_topic *topic)
{
    return topic->role == BR_TOPIC_CHANGELOG || topic->role == BR_TOPIC_REPARTITION;
}

static br_status check_source(const br_plan_topic *topic, br_status found, br_err *err)
{
    if (found != BR_NOT_FOUND) return found;
    return br_fail(
        err, BR_ERR_CONFIG,
        "source topic `%s` does not exist: create it, or correct the name in the job file",
        topic->name);
}

static br_status check_existing(const br_plan_topic *topic, const br_topic_info *found,
                                int32_t wanted, br_err *err)
{
    if (is_internal(topic) && strcmp(found->cleanup_policy, "compact") != 0)
        return br_fail(
            err, BR_ERR_CONFIG,
            "topic `%s` has cleanup.policy=%s, wanted compact: it keeps the job's state, "
            "which would vanish. Alter the topic, or delete it if it is not this job's",
            topic->name, found->cleanup_policy);
    if (wanted == found->partitions || (!topic->partitions_fixed && topic->partitions == 0))
        return BR_OK;
    return br_fail(err, BR_ERR_CONFIG,
                   "topic `%s` has %" PRId32 " partitions, wanted %" PRId32 "%s%s%s: %s",
                   topic->name, found->partitions, wanted, topic->partitions_fixed ? " as `" : "",
                   topic->partitions_fixed ? topic->like : "", topic->partitions_fixed ? "`" : "",
                   topic->partitions_fixed
                       ? "the source's partition count was changed after the job's state was made; "
                         "give the job another name to begin anew"
                       : "correct `partitions` in the job file, or delete the topic");
}

static br_status create(br_log *log, const br_plan *plan, const br_plan_topic *topic,
                        int32_t partitions, int64_t source_message_bytes, br_err *err)
{
    br_setting settings[INTERNAL_SETTINGS + 1];
    char bytes[24];
    br_topic_spec spec = {.name = topic->name, .partitions = partitions, .settings = settings};
    if (plan->spec->settings && plan->spec->settings->has_replication)
        spec.replication = plan->spec->settings->replication;
    if (is_internal(topic)) {
        memcpy(settings, br_internal_topic_settings, sizeof(*settings) * INTERNAL_SETTINGS);
        spec.setting_count = INTERNAL_SETTINGS;
        if (source_message_bytes > 0) {
            (void)snprintf(bytes, sizeof(bytes), "%" PRId64, source_message_bytes);
            settings[spec.setting_count++] = (br_setting){"max.message.bytes", bytes};
        }
    }
    br_log_line(BR_INFO, "creating topic", "topic=%s partitions=%" PRId32, topic->name, partitions);
    return br_log_create_topic(log, &spec, err);
}

static br_status has_records(br_log *log, const char *topic, bool *found, br_err *err)
{
    br_topic_info info;
    br_status st = br_log_topic(log, topic, &info, err);
    *found = false;
    for (int32_t p = 0; st == BR_OK && !*found && p < info.partitions; p++) {
        int64_t low, end;
        st = br_log_offsets(log, topic, p, &low, &end, err);
        *found = st == BR_OK && end > 0;
    }
    return st == BR_NOT_FOUND ? BR_OK : st;
}

/* The changelog with records of a groupBy that writes into this repartition topic; NULL: none. */
static br_status find_written(br_log *log, const br_plan *plan, const char *repartition,
                              const char **changelog, br_err *err)
{
    const char *id = NULL;
    br_status st = BR_OK;
    bool found = false;
    *changelog = NULL;
    for (size_t i = 0; i < plan->stage_count && !id; i++)
        if (strcmp(plan->stages[i].topic, repartition) == 0) id = plan->stages[i].id;
    BR_ASSERT(id);
    for (size_t i = 0; i < plan->stage_count; i++) {
        const br_stage *stage = &plan->stages[i];
        for (size_t s = 0; st == BR_OK && !found && s < stage->store_count; s++) {
            const br_plan_store *store = &stage->stores[s];
            if (!store->changelog || strcmp(store->id, id) != 0) continue;
            st = has_records(log, store->changelog, &found, err);
            if (found) *changelog = store->changelog;
        }
    }
    return st;
}

/* No record is written before all topics are there. So a repartition topic that is missing beside a
 * changelog with records was deleted: partials that no record changes again would stay lost. */
static br_status check_not_deleted(br_log *log, const br_plan *plan, const br_plan_topic *topic,
                                   br_err *err)
{
    const char *changelog = NULL;
    br_topic_info now;
    br_status st = topic->role == BR_TOPIC_REPARTITION
                       ? find_written(log, plan, topic->name, &changelog, err)
                       : BR_OK;
    if (st != BR_OK || !changelog) return st;
    st = br_log_topic(log, topic->name, &now, err); /* another worker may have made it meanwhile */
    if (st != BR_NOT_FOUND) return st;
    return br_fail(err, BR_ERR_CONFIG,
                   "topic `%s` is missing, but topic `%s` has the job's records: it was deleted, "
                   "or the job had one stage before. Give the job another name to begin anew",
                   topic->name, changelog);
}

static br_status prepare_topic(br_log *log, const br_plan *plan, size_t at, int32_t *partitions,
                               int64_t source_message_bytes, br_err *err)
{
    const br_plan_topic *topic = &plan->topics[at];
    int32_t wanted = topic->partitions;
    for (size_t i = 0; wanted == 0 && i < at; i++)
        if (strcmp(plan->topics[i].name, topic->like) == 0) wanted = partitions[i];
    BR_ASSERT(wanted > 0);
    br_topic_info found;
    br_status st = br_log_topic(log, topic->name, &found, err);
    if (st == BR_NOT_FOUND) {
        st = check_not_deleted(log, plan, topic, err);
        if (st != BR_OK) return st;
        st = create(log, plan, topic, wanted, source_message_bytes, err);
        if (st == BR_OK) st = br_log_topic(log, topic->name, &found, err);
        if (st == BR_NOT_FOUND)
            return br_fail(err, BR_ERR_BROKER, "topic `%s` was made, but is not there",
                           topic->name);
    }
    if (st != BR_OK) return st;
    if (topic->grows && found.partitions < wanted) {
        br_log_line(BR_WARN, "the source has more partitions: its changelog gets them as well",
                    "topic=%s partitions=%" PRId32, topic->name, wanted);
        st = br_log_grow_topic(log, topic->name, wanted, err);
        if (st != BR_OK) return st;
        found.partitions = wanted;
    }
    partitions[at] = found.partitions;
    return check_existing(topic, &found, wanted, err);
}

br_status br_catalog_prepare(br_log *log, const br_plan *plan, int32_t *partitions, br_err *err)
{
    int64_t message_bytes = 0;
    for (size_t i = 0; i < plan->topic_count; i++) {
        if (plan->topics[i].role != BR_TOPIC_SOURCE) {
            br_status st = prepare_topic(log, plan, i, partitions, message_bytes, err);
            if (st != BR_OK) return st;
            continue;
        }
        br_topic_info found;
        br_status st = check_source(&plan->topics[i],
                                    br_log_topic(log, plan->topics[i].name, &found, err), err);
        if (st != BR_OK) return st;
        partitions[i] = found.partitions;
        if (found.max_message_bytes > message_bytes) message_bytes = found.max_message_bytes;
    }
    return BR_OK;
}
