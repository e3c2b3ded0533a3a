/* runtime/goal.c - see goal.h. */
#include "runtime/goal.h"

#include "runtime/base/alloc.h"

/* One topic's ends. */
typedef struct mark {
    const char *topic;
    int64_t *offsets;
    int32_t count;
    bool reached;
} mark;

struct br_goal {
    br_log *log;
    const br_plan *plan;
    mark *marks; /* of the stages' inputs of the kind that is looked at now */
    size_t count;
    br_stage_kind kind;
};

static void forget_marks(br_goal *goal)
{
    for (size_t i = 0; i < goal->count; i++) br_free(goal->marks[i].offsets);
    br_free(goal->marks);
    goal->marks = NULL;
    goal->count = 0;
}

static br_status take_ends(const br_goal *goal, mark *out, br_err *err)
{
    br_topic_info info;
    int64_t low;
    br_status st = br_log_topic(goal->log, out->topic, &info, err);
    if (st == BR_NOT_FOUND) return br_fail(err, BR_ERR_BROKER, "topic `%s` is gone", out->topic);
    if (st != BR_OK) return st;
    out->count = info.partitions;
    out->offsets = br_calloc((size_t)info.partitions, sizeof(*out->offsets));
    for (int32_t p = 0; st == BR_OK && p < info.partitions; p++)
        st = br_log_offsets(goal->log, out->topic, p, &low, &out->offsets[p], err);
    return st;
}

static br_status take_marks(br_goal *goal, br_stage_kind kind, br_err *err)
{
    br_status st = BR_OK;
    forget_marks(goal);
    goal->kind = kind;
    goal->marks = br_calloc(goal->plan->stage_count, sizeof(*goal->marks));
    for (size_t i = 0; st == BR_OK && i < goal->plan->stage_count; i++) {
        if (goal->plan->stages[i].kind != kind) continue;
        mark *next = &goal->marks[goal->count++];
        next->topic = goal->plan->stages[i].topic;
        st = take_ends(goal, next, err);
    }
    return st;
}

br_status br_goal_create(br_goal **out, br_log *log, const br_plan *plan, br_err *err)
{
    br_goal *goal = BR_NEW(br_goal);
    goal->log = log;
    goal->plan = plan;
    *out = goal;
    br_status st = take_marks(goal, BR_STAGE_SOURCE, err);
    if (st == BR_OK) return BR_OK;
    br_goal_destroy(goal);
    *out = NULL;
    return st;
}

void br_goal_destroy(br_goal *goal)
{
    if (!goal) return;
    forget_marks(goal);
    br_free(goal);
}

static br_status look(br_goal *goal, br_pipeline *pipeline, bool *all, br_err *err)
{
    *all = true;
    for (size_t i = 0; i < goal->count; i++)
        if (!br_pipeline_read_to(pipeline, goal->marks[i].topic, goal->marks[i].offsets,
                                 goal->marks[i].count)) {
            *all = false;
            return BR_OK;
        }
    br_status st = br_pipeline_commit(pipeline, err);
    for (size_t i = 0; st == BR_OK && i < goal->count; i++) {
        mark *at = &goal->marks[i];
        if (!at->reached)
            st =
                br_pipeline_reached(pipeline, at->topic, at->offsets, at->count, &at->reached, err);
        *all = *all && at->reached;
    }
    return st;
}

br_status br_goal_check(br_goal *goal, br_pipeline *pipeline, bool *reached, br_err *err)
{
    bool all;
    *reached = false;
    br_status st = look(goal, pipeline, &all, err);
    if (st != BR_OK || !all) return st;
    if (goal->kind == BR_STAGE_SOURCE) return take_marks(goal, BR_STAGE_MERGE, err);
    *reached = true;
    return BR_OK;
}
