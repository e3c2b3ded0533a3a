/* runtime/outlet.c - what leaves a task: sink records, changelog rows, partials, dead letters.
 * Everything goes through the pipeline's one producer, so one flush covers it all.
 * Dead letters: raw bytes, the record's own headers, and `__streams.errors.*` as in KIP-1034. */
#include "runtime/pipeline_internal.h"

#include <inttypes.h>
#include <stdio.h>

static br_task *task_of(void *self)
{
    return self;
}

static br_status send(br_task *task, br_topic_ref *topic, const br_out_record *record, br_err *err)
{
    const br_stage_handles *handles = task->outlet_arg;
    handles->pipeline->sent_bytes += record->key.len + record->value.len;
    return br_producer_send(handles->pipeline->producer, topic, record, err);
}

static br_status send_sink(void *self, size_t sink, br_bytes key, br_bytes value,
                           int64_t timestamp_ms, br_err *err)
{
    br_task *task = task_of(self);
    const br_stage_handles *handles = task->outlet_arg;
    const br_pipeline_opts *opts = &handles->pipeline->opts;
    br_out_record record = {
        .partition = -1, .key = key, .value = value, .timestamp_ms = timestamp_ms};
    br_count(&opts->counters->results, 1);
    if (opts->print) opts->print(opts->print_arg, task->opts.stage->sinks[sink], key, value);
    return send(task, handles->sinks[sink], &record, err);
}

/* A row stands in the changelog partition of its task's number, wherever its key would go. */
static br_status send_changelog(void *self, size_t store, br_bytes key, br_bytes row, br_err *err)
{
    br_task *task = task_of(self);
    const br_stage_handles *handles = task->outlet_arg;
    if (!handles->changelogs[store]) return BR_OK; /* stage two: its input is its changelog */
    br_out_record record = {
        .partition = task->opts.at.partition, .key = key, .value = row, .timestamp_ms = -1};
    task->changelog_sent[store]++;
    br_count(&task->opts.counters->changelog, 1);
    return send(task, handles->changelogs[store], &record, err);
}

static br_status send_partial(void *self, size_t output, br_bytes group, br_bytes key, br_bytes row,
                              br_err *err)
{
    br_task *task = task_of(self);
    const br_stage_handles *handles = task->outlet_arg;
    br_topic_ref *topic = handles->repartitions[output];
    br_out_record record = {.partition = br_partition_of(group, br_topic_ref_partitions(topic)),
                            .key = key,
                            .value = row,
                            .timestamp_ms = -1};
    br_count(&task->opts.counters->partials, 1);
    return send(task, topic, &record, err);
}

static br_status send_repair(void *self, br_bytes key, br_bytes row, br_err *err)
{
    br_task *task = task_of(self);
    const br_stage_handles *handles = task->outlet_arg;
    br_out_record record = {
        .partition = task->opts.at.partition, .key = key, .value = row, .timestamp_ms = -1};
    br_count(&task->opts.counters->repairs, 1);
    return send(task, handles->input, &record, err);
}

enum { ERROR_HEADERS = 5, DEAD_LETTER_HEADERS_MAX = 256 };

static br_status send_dead_letter(br_task *task, const br_row *row, const char *id,
                                  const br_err *why, br_err *err)
{
    const br_stage_handles *handles = task->outlet_arg;
    br_header headers[DEAD_LETTER_HEADERS_MAX + ERROR_HEADERS];
    char exception[128], partition[16], offset[24];
    size_t n = 0;
    (void)snprintf(exception, sizeof(exception), "brine.BadRecord in %s", id);
    (void)snprintf(partition, sizeof(partition), "%" PRId32, row->partition);
    (void)snprintf(offset, sizeof(offset), "%" PRId64, row->offset);
    for (; n < row->header_count && n < DEAD_LETTER_HEADERS_MAX; n++) headers[n] = row->headers[n];
    headers[n++] = (br_header){br_str("__streams.errors.exception"), br_str(exception)};
    headers[n++] = (br_header){br_str("__streams.errors.message"), br_str(why->message)};
    headers[n++] = (br_header){br_str("__streams.errors.topic"), br_str(row->topic)};
    headers[n++] = (br_header){br_str("__streams.errors.partition"), br_str(partition)};
    headers[n++] = (br_header){br_str("__streams.errors.offset"), br_str(offset)};
    br_out_record record = {.partition = -1,
                            .key = row->key,
                            .value = row->value,
                            .timestamp_ms = row->timestamp_ms,
                            .headers = headers,
                            .header_count = n};
    br_count(&task->opts.counters->dead_letters, 1);
    return send(task, handles->pipeline->dead_letters, &record, err);
}

br_status br_outlet_bad_record(br_task *task, const br_row *row, const char *id, const br_err *why,
                               br_err *err)
{
    switch (task->opts.stage->errors) {
    case BR_ERRORS_DEAD_LETTER: return send_dead_letter(task, row, id, why, err);
    case BR_ERRORS_SKIP: br_count(&task->opts.counters->skipped, 1); return BR_OK;
    case BR_ERRORS_FAIL: break;
    }
    return br_fail(err, BR_ERR_BAD_RECORD, "operator `%s`, %s[%" PRId32 "]@%" PRId64 ": %s", id,
                   row->topic, row->partition, row->offset, why->message);
}

static br_status bad_record(void *self, const br_row *row, const char *id, const br_err *why,
                            br_err *err)
{
    return br_outlet_bad_record(task_of(self), row, id, why, err);
}

static void null_key(void *self, const br_row *row)
{
    (void)row;
    br_count(&task_of(self)->opts.counters->null_keys, 1);
}

br_outlet br_outlet_of(br_task *task)
{
    return (br_outlet){.self = task,
                       .sink = send_sink,
                       .changelog = send_changelog,
                       .partial = send_partial,
                       .bad_record = bad_record,
                       .repair = send_repair,
                       .null_key = null_key};
}
