/* operators/map.h - map: where, explode, set, keep/drop, key, in this order.
 * keep and drop change only which names are visible later (scope.h), not rows.
 * A row for which an expression fails goes to outlet.bad_record. Of an exploded row all rows go on
 * or none does: a dead letter can then be sent again without counting anything twice.
 * Invariant: branches share rows, so only this operator's own slots are written in place; a new key
 *            goes into a copy of the row. */
#ifndef BR_OPERATORS_MAP_H
#define BR_OPERATORS_MAP_H

#include "operators/expr.h"
#include "operators/operator.h"

typedef struct br_map_set {
    uint32_t slot;
    br_expr *expr;
} br_map_set;

/* Read-only after compile; belongs to the plan. */
typedef struct br_map_conf {
    const char *id;
    br_expr *where;   /* [optional] */
    br_expr *explode; /* [optional] its value is an array: one row per element; [] and null: none */
    uint32_t explode_slot; /* where the element goes */
    br_map_set *sets;
    size_t set_count;
    br_expr *key;      /* [optional] */
    size_t slot_count; /* of the stage's layout: exploded rows copy them */
} br_map_conf;

/* conf is borrowed. The caller sets children. */
br_op *br_map_create(const br_map_conf *conf, br_task_context *context);

#endif
