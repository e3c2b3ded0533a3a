/* jobs/check_fields.c - what can be said of one operator or setting alone; see check.h. */
#include "jobs/check.h"

#include "jobs/env.h"
#include "jobs/spec.h"
#include "operators/path.h"
#include "runtime/base/limits.h"
#include "runtime/base/names.h"
#include "runtime/base/units.h"

#include <stdio.h>

enum {
    COMMIT_INTERVAL_MS_MIN = 10,      /* below it, commits are all that a worker does */
    COMMIT_INTERVAL_MS_MAX = 3600000, /* above it, a restart reads hours again */
    CACHE_BYTES_MIN = 1 << 20,        /* below it, a few groups with partials do not fit */
    REPLICATION_MAX = INT16_MAX,      /* the protocol's */
    THREADS_MAX = 64, /* each is a member of the group with a consumer and a producer */
    KAFKA_PROPERTIES_MAX = 256,
};

/* One operator under check. */
typedef struct subject {
    const br_job *job;
    br_job_errors *errors;
    size_t index;
} subject;

static void check_topic(const subject *at, const char *topic)
{
    br_err err;
    if (topic && br_check_name("the topic", br_str(topic), BR_TOPIC_BYTES_MAX, &err) != BR_OK)
        br_job_operator_error(at->job, at->errors, at->index, "topic", "%s", err.message);
}

static void check_range(const subject *at, const char *field, int32_t found, int32_t min,
                        int32_t max)
{
    if (found < min || found > max)
        br_job_operator_error(at->job, at->errors, at->index, field,
                              "%d is not allowed: from %d to %d", found, min, max);
}

static void check_count(const subject *at, const char *field, size_t found, size_t max)
{
    if (found == 0)
        br_job_operator_error(at->job, at->errors, at->index, field, "at least one is needed");
    else if (found > max)
        br_job_operator_error(at->job, at->errors, at->index, field,
                              "found %zu, up to %zu are allowed", found, max);
}

/* Lists that may be empty. Their bounds keep every later step short, whatever a file holds. */
static void check_length(const subject *at, const char *field, size_t found, size_t max)
{
    if (found > max) check_count(at, field, found, max);
}

static bool name_is_good(const char *name)
{
    size_t len = strlen(name);
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)name[i] < 0x20 || name[i] == 0x7f) return false;
    return len > 0 && len <= BR_NAME_BYTES_MAX;
}

/* Each once. */
static void check_names(const subject *at, const char *field, char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char path[64];
        (void)snprintf(path, sizeof(path), "%s[%zu]", field, i);
        if (!name_is_good(names[i]))
            br_job_operator_error(at->job, at->errors, at->index, path,
                                  "a name has 1 to %d bytes and no control characters",
                                  BR_NAME_BYTES_MAX);
        for (size_t j = 0; j < i; j++)
            if (strcmp(names[i], names[j]) == 0) {
                br_job_operator_error(at->job, at->errors, at->index, path, "`%s` stands twice",
                                      names[i]);
                break;
            }
    }
}

static void check_given_names(const subject *at, const char *field, Brine__Job__Named *const *named,
                              size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char path[64];
        if (!named[i]->name || name_is_good(named[i]->name)) continue;
        (void)snprintf(path, sizeof(path), "%s[%zu]", field, i);
        br_job_operator_error(at->job, at->errors, at->index, path,
                              "a name has 1 to %d bytes and no control characters",
                              BR_NAME_BYTES_MAX);
    }
}

static void check_path(const subject *at, const char *field, const char *text)
{
    br_path path = {0};
    br_err err;
    if (br_path_parse(&path, br_str(text), &err) == BR_OK)
        br_path_dispose(&path);
    else
        br_job_operator_error(at->job, at->errors, at->index, field, "%s", err.message);
}

static void check_start(const subject *at, const char *start)
{
    br_err err;
    int64_t ms = 0;
    if (!start || strcmp(start, "earliest") == 0 || strcmp(start, "latest") == 0) return;
    if (br_parse_int(br_str(start), 0, INT64_MAX, &ms, &err) != BR_OK)
        br_job_operator_error(at->job, at->errors, at->index, "start",
                              "`%.80s` is not allowed: `earliest`, `latest`, or milliseconds "
                              "since 1970",
                              start);
}

static void check_source(const subject *at, const Brine__Job__Source *source)
{
    bool csv = source->format == BRINE__JOB__FORMAT__CSV;
    check_topic(at, source->topic);
    check_start(at, source->start);
    if (csv && source->n_columns == 0)
        br_job_operator_error(at->job, at->errors, at->index, "format",
                              "csv needs `columns`, the names of its columns in order");
    if (!csv && source->n_columns > 0)
        br_job_operator_error(at->job, at->errors, at->index, "columns",
                              "only `format: csv` has columns");
    check_length(at, "columns", source->n_columns, BR_SLOTS_MAX);
    if (source->n_columns <= BR_SLOTS_MAX)
        check_names(at, "columns", source->columns, source->n_columns);
    check_length(at, "partitioned_by", source->n_partitioned_by, BR_GROUP_FIELDS_MAX);
    if (source->timestamp) check_path(at, "timestamp", source->timestamp);
    for (size_t i = 0; i < source->n_partitioned_by; i++) {
        char field[64];
        (void)snprintf(field, sizeof(field), "partitioned_by[%zu]", i);
        check_path(at, field, source->partitioned_by[i]);
    }
}

static void check_map(const subject *at, const Brine__Job__Map *map)
{
    if (map->n_keep > 0 && map->n_drop > 0)
        br_job_operator_error(at->job, at->errors, at->index, "drop",
                              "`keep` and `drop` exclude each other: `keep` alone says it all");
    check_length(at, "set", map->n_set, BR_SLOTS_MAX);
    check_length(at, "keep", map->n_keep, BR_SLOTS_MAX);
    check_length(at, "drop", map->n_drop, BR_SLOTS_MAX);
    check_given_names(at, "set", map->set, map->n_set);
    for (size_t i = 0; i < map->n_set; i++) {
        char field[64];
        if (map->set[i]->name) continue;
        (void)snprintf(field, sizeof(field), "set[%zu]", i);
        br_job_operator_error(at->job, at->errors, at->index, field,
                              "a name is missing: write `set: {name: expression}`");
    }
}

static void check_group_by(const subject *at, const Brine__Job__GroupBy *group)
{
    check_count(at, "by", group->n_by, BR_GROUP_FIELDS_MAX);
    check_count(at, "aggregate", group->n_aggregate, BR_AGGREGATES_MAX);
    check_given_names(at, "by", group->by, group->n_by);
    check_given_names(at, "aggregate", group->aggregate, group->n_aggregate);
    if (!group->has_partitions) return;
    check_range(at, "partitions", group->partitions, 1, BR_PARTITIONS_MAX);
    if (group->stages == BRINE__JOB__STAGES__ONE)
        br_job_operator_error(at->job, at->errors, at->index, "partitions",
                              "these are of the repartition topic, which `stages: one` does not "
                              "have: leave it out");
}

static void check_sink(const subject *at, const Brine__Job__Sink *sink)
{
    check_topic(at, sink->topic);
    if (sink->format != BRINE__JOB__FORMAT__JSON && sink->format != BRINE__JOB__FORMAT__TEXT)
        br_job_operator_error(at->job, at->errors, at->index, "format",
                              "a sink cannot write this format: allowed are json, text");
    /* More suffixes than partitions spread nothing further. */
    if (sink->has_salt) check_range(at, "salt", sink->salt, 2, BR_PARTITIONS_MAX);
    if (sink->has_partitions) check_range(at, "partitions", sink->partitions, 1, BR_PARTITIONS_MAX);
}

static void check_expansion(const br_job *job, br_job_errors *errors, const char *path,
                            const char *text)
{
    br_buf out = {0};
    br_err err;
    if (br_job_expand(text, &out, &err) != BR_OK)
        br_job_error_at(job, errors, path, "%s", err.message);
    br_buf_dispose(&out);
}

static void check_kafka(const br_job *job, const Brine__Job__Settings *settings,
                        br_job_errors *errors)
{
    if (settings->n_kafka > KAFKA_PROPERTIES_MAX) {
        br_job_error_at(job, errors, "settings.kafka", "found %zu properties, up to %d are allowed",
                        settings->n_kafka, KAFKA_PROPERTIES_MAX);
        return;
    }
    for (size_t i = 0; i < settings->n_kafka; i++) {
        const Brine__Job__Property *property = settings->kafka[i];
        char path[64];
        (void)snprintf(path, sizeof(path), "settings.kafka[%zu]", i);
        if (!property->name || !name_is_good(property->name))
            br_job_error_at(job, errors, path, "a property needs a name: `name: value`");
        if (property->value) check_expansion(job, errors, path, property->value);
        for (size_t j = 0; property->name && j < i; j++)
            if (settings->kafka[j]->name && strcmp(property->name, settings->kafka[j]->name) == 0)
                br_job_error_at(job, errors, path, "`%s` stands twice", property->name);
    }
}

static void check_settings(const br_job *job, const Brine__Job__Settings *settings,
                           br_job_errors *errors)
{
    const Brine__Job__Duration *interval = settings->commit_interval;
    if (interval && !br_job_errors_has(errors, "settings.commit_interval") &&
        (interval->ms < COMMIT_INTERVAL_MS_MIN || interval->ms > COMMIT_INTERVAL_MS_MAX))
        br_job_error_at(job, errors, "settings.commit_interval",
                        "%lld ms is not allowed: from 10ms to 1h", (long long)interval->ms);
    if (settings->cache && !br_job_errors_has(errors, "settings.cache") &&
        settings->cache->bytes < CACHE_BYTES_MIN)
        br_job_error_at(job, errors, "settings.cache", "%llu bytes are not allowed: 1MiB or more",
                        (unsigned long long)settings->cache->bytes);
    if (settings->has_replication &&
        (settings->replication < 1 || settings->replication > REPLICATION_MAX))
        br_job_error_at(job, errors, "settings.replication", "%d is not allowed: from 1 to %d",
                        settings->replication, REPLICATION_MAX);
    if (settings->has_threads && (settings->threads < 1 || settings->threads > THREADS_MAX))
        br_job_error_at(job, errors, "settings.threads", "%d is not allowed: from 1 to %d",
                        settings->threads, THREADS_MAX);
    if (settings->brokers) {
        check_expansion(job, errors, "settings.brokers", settings->brokers);
        if (settings->brokers[0] == '\0')
            br_job_error_at(job, errors, "settings.brokers",
                            "no broker: wanted is host:port, or several with commas");
    }
    check_kafka(job, settings, errors);
}

static void check_operator(const subject *at, const br_operator *op)
{
    br_err err;
    const char *id = br_operator_is(op, BR_KIND_NONE) ? NULL : *br_operator_id(op);
    if (id && br_check_id(br_str(id), &err) != BR_OK)
        br_job_operator_error(at->job, at->errors, at->index, "id", "%s", err.message);
    switch (br_operator_kind(op)) {
    case BR_KIND_SOURCE: check_source(at, op->source); break;
    case BR_KIND_MAP: check_map(at, op->map); break;
    case BR_KIND_GROUP_BY: check_group_by(at, op->groupby); break;
    case BR_KIND_SINK: check_sink(at, op->sink); break;
    case BR_KIND_NONE: break;
    }
}

void br_check_fields(const br_job *job, const Brine__Job__Job *spec, br_job_errors *errors)
{
    br_err err;
    if (spec->name &&
        br_check_name("the job's name", br_str(spec->name), BR_NAME_BYTES_MAX, &err) != BR_OK)
        br_job_error_at(job, errors, "name", "%s", err.message);
    if (spec->n_operators > BR_OPERATORS_MAX)
        br_job_error_at(job, errors, "operators", "found %zu operators, up to %d are allowed",
                        spec->n_operators, BR_OPERATORS_MAX);
    for (size_t i = 0; i < spec->n_operators && i < BR_OPERATORS_MAX; i++)
        check_operator(&(subject){job, errors, i}, spec->operators[i]);
    if (spec->settings) check_settings(job, spec->settings, errors);
}
