/* jobs/plan.c - see plan.h. How the parts work together: plan_build.h. */
#include "jobs/plan_build.h"

#include "runtime/base/alloc.h"

enum { COMMIT_INTERVAL_MS = 1000 };
#define CACHE_BYTES (UINT64_C(64) << 20)

static void set_settings(br_plan *plan, const Brine__Job__Settings *settings)
{
    plan->commit_interval_ms = COMMIT_INTERVAL_MS;
    plan->cache_bytes = CACHE_BYTES;
    if (settings && settings->commit_interval)
        plan->commit_interval_ms = settings->commit_interval->ms;
    plan->exactly_once = settings && settings->guarantee == BRINE__JOB__GUARANTEE__EXACTLY_ONCE;
    plan->threads = settings && settings->has_threads ? settings->threads : 1;
    if (settings && settings->cache) plan->cache_bytes = settings->cache->bytes;
}

static void compile_stages(br_plan_build *build)
{
    br_plan *plan = build->plan;
    size_t n = build->graph.count;
    plan->stages = br_plan_alloc(build->memory, n, sizeof(*plan->stages));
    for (size_t i = 0; i < n; i++)
        if (br_operator_is(build->spec->operators[i], BR_KIND_SOURCE))
            br_plan_source_stage(build, &plan->stages[plan->stage_count++], i);
    for (size_t i = 0; i < n; i++)
        if (build->topics[i]) br_plan_merge_stage(build, &plan->stages[plan->stage_count++], i);
}

br_status br_plan_compile(br_plan **out, const br_job *job, br_job_errors *errors)
{
    size_t before = errors->count;
    br_plan_build *build = BR_NEW(br_plan_build);
    br_plan *plan = BR_NEW(br_plan);
    plan->memory = br_plan_memory_create();
    plan->spec = br_job_spec(job);
    plan->job = plan->spec->name;
    build->plan = plan;
    build->memory = plan->memory;
    build->job = job;
    build->spec = plan->spec;
    build->errors = errors;
    br_graph_init(&build->graph, plan->spec);
    set_settings(plan, plan->spec->settings);
    compile_stages(build);
    br_plan_topics(build);
    br_free(build);
    *out = plan;
    if (errors->count == before) return BR_OK;
    br_plan_destroy(plan);
    *out = NULL;
    return BR_ERR_CONFIG;
}

void br_plan_destroy(br_plan *plan)
{
    if (!plan) return;
    br_plan_memory_destroy(plan->memory);
    br_free(plan);
}
