/* runtime/pipeline_open.c - a pipeline's life: handles on all topics, the group, and the end. */
#include "runtime/pipeline_internal.h"

#include "runtime/base/alloc.h"
#include "runtime/base/logger.h"
#include "runtime/commit.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

static br_status open_topic(br_pipeline *pipeline, const char *name, br_topic_ref **out,
                            br_err *err)
{
    if (!name) return BR_OK;
    br_status st = br_producer_topic(pipeline->producer, name, out, err);
    if (st == BR_NOT_FOUND) return br_fail(err, BR_ERR_BROKER, "topic `%s` is gone", name);
    return st;
}

static br_status open_handles(br_pipeline *pipeline, size_t index, br_err *err)
{
    const br_stage *stage = &pipeline->opts.plan->stages[index];
    br_stage_handles *handles = &pipeline->stages[index];
    br_status st = BR_OK;
    *handles = (br_stage_handles){.stage = stage, .pipeline = pipeline};
    handles->sinks = br_calloc(stage->sink_count, sizeof(*handles->sinks));
    handles->changelogs = br_calloc(stage->store_count, sizeof(*handles->changelogs));
    handles->repartitions = br_calloc(stage->repartition_count, sizeof(*handles->repartitions));
    if (stage->kind == BR_STAGE_SOURCE) handles->source = br_source_create(&stage->source);
    if (stage->kind == BR_STAGE_MERGE)
        st = open_topic(pipeline, stage->topic, &handles->input, err);
    for (size_t i = 0; st == BR_OK && i < stage->sink_count; i++)
        st = open_topic(pipeline, stage->sinks[i], &handles->sinks[i], err);
    for (size_t i = 0; st == BR_OK && i < stage->store_count; i++)
        st = open_topic(pipeline, stage->stores[i].changelog, &handles->changelogs[i], err);
    for (size_t i = 0; st == BR_OK && i < stage->repartition_count; i++)
        st = open_topic(pipeline, stage->repartitions[i], &handles->repartitions[i], err);
    return st;
}

static br_status open_dead_letters(br_pipeline *pipeline, br_err *err)
{
    const br_plan *plan = pipeline->opts.plan;
    for (size_t i = 0; i < plan->topic_count; i++)
        if (plan->topics[i].role == BR_TOPIC_DEAD_LETTERS)
            return open_topic(pipeline, plan->topics[i].name, &pipeline->dead_letters, err);
    return BR_OK;
}

/* One worker's slot keeps its id over restarts, so that a start ends what a crash left open: named
 * by the worker's name, or by where its state lies. */
static br_status open_producer(br_pipeline *pipeline, br_err *err)
{
    const br_pipeline_opts *opts = &pipeline->opts;
    char host[HOST_NAME_MAX + 1] = "", place[PATH_MAX], hash[16];
    br_buf id = {0};
    if (!opts->plan->exactly_once) return br_producer_open(&pipeline->producer, opts->log, err);
    br_buf_printf(&id, "%s-", opts->plan->job);
    if (opts->instance_id) {
        br_buf_adds(&id, opts->instance_id);
    } else {
        br_buf where = {0};
        (void)gethostname(host, sizeof(host) - 1);
        br_buf_printf(&where, "%s:%s", host,
                      realpath(opts->state_dir, place) ? place : opts->state_dir);
        br_hash128(br_buf_bytes(&where), hash);
        for (size_t i = 0; i < sizeof(hash); i++) br_buf_printf(&id, "%02x", hash[i] & 0xff);
        br_buf_printf(&id, "-%" PRId32, opts->member);
        br_buf_dispose(&where);
    }
    br_status st =
        br_producer_open_transactional(&pipeline->producer, opts->log, br_buf_cstr(&id), err);
    br_buf_dispose(&id);
    return st;
}

static br_status join_group(br_pipeline *pipeline, br_err *err)
{
    const br_plan *plan = pipeline->opts.plan;
    const char **topics = br_calloc(plan->stage_count, sizeof(*topics));
    for (size_t i = 0; i < plan->stage_count; i++) topics[i] = plan->stages[i].topic;
    br_consumer_opts opts = {.group = plan->job,
                             .topics = topics,
                             .topic_count = plan->stage_count,
                             .instance_id = pipeline->opts.instance_id,
                             .member = pipeline->opts.member,
                             .members = pipeline->opts.members,
                             .listener = br_pipeline_listener(pipeline)};
    br_status st = br_consumer_open(&pipeline->consumer, pipeline->opts.log, &opts, err);
    br_free(topics);
    return st;
}

br_status br_pipeline_open(br_pipeline **out, const br_pipeline_opts *opts, br_err *err)
{
    br_pipeline *pipeline = BR_NEW(br_pipeline);
    pipeline->opts = *opts;
    pipeline->budget.max = opts->plan->cache_bytes / (uint64_t)opts->members;
    pipeline->stages = br_calloc(opts->plan->stage_count, sizeof(*pipeline->stages));
    pipeline->batch = br_batch_create();
    pipeline->restorer = br_restorer_create(opts->inline_restore);
    pipeline->committed_at_ms = br_mono_ms(opts->clock);
    br_status st = open_producer(pipeline, err);
    for (size_t i = 0; st == BR_OK && i < opts->plan->stage_count; i++)
        st = open_handles(pipeline, i, err);
    if (st == BR_OK) st = open_dead_letters(pipeline, err);
    if (st == BR_OK) st = join_group(pipeline, err);
    *out = pipeline;
    if (st != BR_OK) {
        br_err closing;
        (void)br_pipeline_close(pipeline, false, &closing);
        *out = NULL;
    }
    return st;
}

static void dispose_handles(br_stage_handles *handles)
{
    br_source_destroy(handles->source);
    br_free(handles->sinks);
    br_free(handles->changelogs);
    br_free(handles->repartitions);
}

br_status br_pipeline_close(br_pipeline *pipeline, bool commit, br_err *err)
{
    br_status st = commit ? br_pipeline_commit(pipeline, err) : BR_OK;
    pipeline->closing = true; /* the group takes the tasks back without another commit */
    br_pipeline_drop_tasks(pipeline, commit && st == BR_OK);
    br_consumer_close(pipeline->consumer);
    br_restorer_destroy(pipeline->restorer);
    br_producer_close(pipeline->producer);
    for (size_t i = 0; i < pipeline->opts.plan->stage_count; i++)
        dispose_handles(&pipeline->stages[i]);
    br_free(pipeline->stages);
    br_free(pipeline->tasks);
    br_batch_destroy(pipeline->batch);
    br_free(pipeline);
    return st;
}
