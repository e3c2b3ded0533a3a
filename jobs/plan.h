/* jobs/plan.h - a checked job, compiled: its stages, their operators, the topics they need.
 * Shape:     Job -> plan (read-only) -> br_chain_build per task (all mutable state; chain.h)
 * Invariant: the plan is the only place that decides how many stages a groupBy takes.
 * Thread:    a plan belongs to one pipeline thread (expressions do); each thread compiles its own.
 */
#ifndef BR_JOBS_PLAN_H
#define BR_JOBS_PLAN_H

#include "jobs/job.h"
#include "operators/group_by.h"
#include "operators/map.h"
#include "operators/merge.h"
#include "operators/sink.h"
#include "operators/source.h"

typedef enum br_node_kind {
    BR_NODE_MAP,
    BR_NODE_GROUP_BY,
    BR_NODE_MERGE,
    BR_NODE_SINK
} br_node_kind;

/* One operator of a stage. */
typedef struct br_node {
    br_node_kind kind;
    const char *id;
    const Brine__Job__Operator *op; /* as the job file has it */
    br_layout *layout;              /* of the rows that come in; NULL: a merge */
    br_layout *results;             /* groupBy of one stage, merge: of the rows that go out */
    union {
        br_map_conf map;
        br_group_conf group; /* GROUP_BY and MERGE */
        br_sink_conf sink;
    };
    struct br_node **children;
    size_t child_count;
} br_node;

typedef enum br_stage_kind {
    BR_STAGE_SOURCE, /* reads a source topic */
    BR_STAGE_MERGE,  /* reads a groupBy's repartition topic: stage two */
} br_stage_kind;

typedef enum br_error_policy {
    BR_ERRORS_DEAD_LETTER,
    BR_ERRORS_SKIP,
    BR_ERRORS_FAIL
} br_error_policy;

typedef enum br_start { BR_START_EARLIEST, BR_START_LATEST, BR_START_TIME } br_start;

/* A stage's store: a groupBy that keeps rows. */
typedef struct br_plan_store {
    const char *id;        /* operator id */
    const char *changelog; /* topic; NULL in stage two, whose changelog is its input */
    br_bytes spec;         /* the groupBy as packed job.proto GroupBy: what the rows mean */
} br_plan_store;

typedef struct br_stage {
    br_stage_kind kind;
    const char *id;    /* source operator's, or the groupBy's */
    const char *topic; /* its input */
    br_layout *layout; /* SOURCE: of the record's rows; MERGE: of the result rows */
    size_t slot_count;
    br_node **roots; /* SOURCE: the source's children; MERGE: one node */
    size_t root_count;
    /* SOURCE only */
    br_source_conf source;
    br_error_policy errors;
    br_start start;
    int64_t start_ms;
    /* what its operators' indices mean */
    br_plan_store *stores;
    size_t store_count;
    const char **repartitions; /* topics */
    size_t repartition_count;
    const char **sinks; /* topics */
    size_t sink_count;
} br_stage;

typedef enum br_topic_role {
    BR_TOPIC_SOURCE,
    BR_TOPIC_SINK,
    BR_TOPIC_CHANGELOG,
    BR_TOPIC_REPARTITION,
    BR_TOPIC_DEAD_LETTERS,
} br_topic_role;

/* A topic that the job reads or writes. Its settings: runtime/catalog.h. */
typedef struct br_plan_topic {
    const char *name;
    br_topic_role role;
    int32_t partitions;    /* asked for in the job file; 0: as many as `like` has */
    const char *like;      /* source topic whose partition count it takes (of several, the first in
                              the job file); NULL for sources */
    bool partitions_fixed; /* a changelog must have exactly as many as `like` */
    bool grows; /* … and gets more when `like` did: two stages count any distribution */
} br_plan_topic;

struct br_plan_memory;

/* "source", "sink", "changelog", "repartition", "dead letters" */
const char *br_topic_role_name(br_topic_role role);

typedef struct br_plan {
    struct br_plan_memory *memory; /* all that the plan points to, but for the job */
    const char *job;
    const Brine__Job__Job *spec;
    br_stage *stages;
    size_t stage_count;
    br_plan_topic *topics; /* each once; sources first */
    size_t topic_count;
    int64_t commit_interval_ms;
    uint64_t cache_bytes; /* of the whole worker */
    int32_t threads;      /* pipelines of a worker */
    bool exactly_once;
} br_plan;

/* Compiles. Borrows job, which outlives the plan. errors: the job's, to which it adds.
 * BR_ERR_CONFIG: at least one more (names and expressions that mean nothing where they stand, a
 * groupBy that cannot have the stages asked for, topic names that are too long or taken). */
BR_MUST_USE br_status br_plan_compile(br_plan **out, const br_job *job, br_job_errors *errors);
void br_plan_destroy(br_plan *plan); /* NULL is fine */

/* For people: stages, topics, fields decoded, expressions and how they run. partitions_of may be
 * NULL (nothing known of the topics) or give a source topic's partition count, 0 where unknown. */
typedef int32_t (*br_partitions_of)(void *arg, const char *topic);
void br_plan_print(const br_plan *plan, br_partitions_of partitions_of, void *arg, br_buf *out);
void br_plan_print_json(const br_plan *plan, br_partitions_of partitions_of, void *arg,
                        br_buf *out);
/* Graphviz. */
void br_plan_print_dot(const br_plan *plan, br_buf *out);

#endif
