/* operators/group_by.h - groupBy where records are read: one stage, or stage one of two.
 * Shape:     row -> group key (tuple) -> entry of the table -> add to its accumulators
 *            flush: changed rows to the changelog; marked groups out, as partials (two stages) or
 *            as result rows to the children (one stage)
 * Invariant: the skip rule of DESIGN.md section 5: a record at an offset <= max(horizon, the row's
 *            version as it was when the record began) is already in the row: it is not added again,
 *            only marked for emission. */
#ifndef BR_OPERATORS_GROUP_BY_H
#define BR_OPERATORS_GROUP_BY_H

#include "operators/aggregate.h"
#include "operators/expr.h"
#include "operators/operator.h"

typedef struct br_group_aggregate {
    const char *name;
    const br_aggregate *fn;
    br_expr *argument; /* [optional] */
    size_t offset;     /* of its accumulator in the payload */
} br_group_aggregate;

/* Read-only after compile; belongs to the plan; shared by stage one and stage two. */
typedef struct br_group_conf {
    const char *id;
    const char **by_names;
    br_expr **by; /* compiled for this source; NULL in stage two */
    size_t by_count;
    br_group_aggregate *aggregates;
    size_t aggregate_count;
    size_t payload_bytes; /* all accumulators */
    size_t result_slots;  /* of the layout that result rows have: by values, results, then what
                             the operators below compute */
    bool two_stages;      /* flush sends partials */
    size_t output;        /* index of the repartition topic in the stage's, if two_stages */
    size_t store;         /* index of the store in the stage's */
} br_group_conf;

/* conf is borrowed. The operator opens its table on (env, conf->store). */
br_op *br_group_by_create(const br_group_conf *conf, br_task_context *context, br_env *env,
                          br_budget *budget);
/* The changelog must say again what these rows hold (restore.h: mend). */
BR_MUST_USE br_status br_group_by_mend(br_op *op, const br_bytes *keys, size_t count, br_err *err);

/* A changelog row that this task did not write (a zombie's): joined by version. A newer one is
 * taken over, an older one makes ours to be written again. BR_ERR_CORRUPT. */
BR_MUST_USE br_status br_group_by_join(br_op *op, br_bytes key, br_bytes row, br_err *err);

/* The row type for conf (accumulators of one row); group_row.c. */
br_row_type br_group_row_type(const br_group_conf *conf);
/* Fills slots [by values…, results…] from a group key and accumulators; text lives in arena or
 * borrows payload. BR_ERR_CORRUPT. */
BR_MUST_USE br_status br_group_result(const br_group_conf *conf, br_bytes key, const void *payload,
                                      br_arena *arena, br_value *slots, br_err *err);
/* Accumulators of a payload, for coding and merging. */
void br_group_acc_init(const br_group_conf *conf, void *payload);
void br_group_acc_dispose(const br_group_conf *conf, void *payload);
void br_group_acc_merge(const br_group_conf *conf, void *payload, const void *other);

#endif
