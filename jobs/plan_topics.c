/* jobs/plan_topics.c - the topics of a plan and their names.
 * Ids have no hyphen, so no two of a job's internal names can be equal. */
#include "jobs/plan_build.h"

_Static_assert(BR_NAME_BYTES_MAX + 2 * BR_OPERATOR_ID_BYTES_MAX + sizeof("---changelog") <=
                   BR_TOPIC_BYTES_MAX,
               "every internal name is one that Kafka allows");

const char *br_plan_changelog_name(br_plan_build *build, size_t source, size_t group)
{
    const Brine__Job__Job *spec = build->spec;
    const char *id = spec->operators[group]->groupby->id;
    /* Offsets of two topics cannot be compared: each has a changelog of its own. */
    if (br_plan_source_count(build, group) > 1)
        return br_plan_text(build->memory, "%s-%s-%s-changelog", spec->name, id,
                            spec->operators[source]->source->id);
    return br_plan_text(build->memory, "%s-%s-changelog", spec->name, id);
}

const char *br_plan_repartition_name(br_plan_build *build, size_t group)
{
    return br_plan_text(build->memory, "%s-%s-repartition", build->spec->name,
                        build->spec->operators[group]->groupby->id);
}

const char *br_topic_role_name(br_topic_role role)
{
    switch (role) {
    case BR_TOPIC_SOURCE: return "source";
    case BR_TOPIC_SINK: return "sink";
    case BR_TOPIC_CHANGELOG: return "changelog";
    case BR_TOPIC_REPARTITION: return "repartition";
    case BR_TOPIC_DEAD_LETTERS: break;
    }
    return "dead letters";
}

/* index: of the operator that the topic is for. */
static void add_topic(br_plan_build *build, size_t index, const br_plan_topic *topic)
{
    br_plan *plan = build->plan;
    bool shared = topic->role == BR_TOPIC_SINK || topic->role == BR_TOPIC_REPARTITION ||
                  topic->role == BR_TOPIC_DEAD_LETTERS;
    for (size_t i = 0; i < plan->topic_count; i++) {
        const br_plan_topic *other = &plan->topics[i];
        if (strcmp(other->name, topic->name) != 0) continue;
        if (other->role != topic->role || !shared)
            br_job_operator_error(
                build->job, build->errors, index, "",
                "topic `%s` would be both a %s topic and a %s topic of this job: rename one",
                topic->name, br_topic_role_name(other->role), br_topic_role_name(topic->role));
        return;
    }
    plan->topics[plan->topic_count++] = *topic;
}

static const char *first_source(const br_plan_build *build, size_t index)
{
    for (size_t i = 0; i < build->graph.count; i++)
        if (br_operator_is(build->spec->operators[i], BR_KIND_SOURCE) &&
            build->graph.reaches[i][index])
            return build->spec->operators[i]->source->topic;
    return NULL;
}

static void add_stores(br_plan_build *build, const br_stage *stage)
{
    for (size_t i = 0; stage->kind == BR_STAGE_SOURCE && i < stage->store_count; i++) {
        size_t group = br_graph_find(build->spec, stage->stores[i].id);
        add_topic(build, group,
                  &(br_plan_topic){.name = stage->stores[i].changelog,
                                   .role = BR_TOPIC_CHANGELOG,
                                   .like = stage->topic,
                                   .partitions_fixed = true,
                                   .grows = build->topics[group] != NULL});
    }
}

static void add_operator(br_plan_build *build, size_t index)
{
    const br_operator *op = build->spec->operators[index];
    br_plan_topic topic = {.like = first_source(build, index)};
    if (br_operator_is(op, BR_KIND_GROUP_BY) && build->topics[index]) {
        topic.name = build->topics[index];
        topic.role = BR_TOPIC_REPARTITION;
        topic.partitions = op->groupby->partitions;
    } else if (br_operator_is(op, BR_KIND_SINK)) {
        topic.name = op->sink->topic;
        topic.role = BR_TOPIC_SINK;
        topic.partitions = op->sink->partitions;
    } else {
        return;
    }
    add_topic(build, index, &topic);
}

void br_plan_topics(br_plan_build *build)
{
    const Brine__Job__Job *spec = build->spec;
    br_plan *plan = build->plan;
    /* An operator has at most its own topic, or a changelog per source; a source, dead letters. */
    size_t max = (spec->n_operators + 1) * (spec->n_operators + 2);
    plan->topics = br_plan_alloc(build->memory, max, sizeof(*plan->topics));
    for (size_t i = 0; i < spec->n_operators; i++)
        if (br_operator_is(spec->operators[i], BR_KIND_SOURCE))
            add_topic(build, i,
                      &(br_plan_topic){.name = spec->operators[i]->source->topic,
                                       .role = BR_TOPIC_SOURCE});
    for (size_t i = 0; i < plan->stage_count; i++) add_stores(build, &plan->stages[i]);
    for (size_t i = 0; i < spec->n_operators; i++) add_operator(build, i);
    for (size_t i = 0; i < plan->stage_count; i++) {
        const br_stage *stage = &plan->stages[i];
        if (stage->kind != BR_STAGE_SOURCE || stage->errors != BR_ERRORS_DEAD_LETTER) continue;
        add_topic(
            build, br_graph_find(spec, stage->id),
            &(br_plan_topic){.name = br_plan_text(build->memory, "%s-dead-letters", spec->name),
                             .role = BR_TOPIC_DEAD_LETTERS,
                             .like = stage->topic});
    }
}
