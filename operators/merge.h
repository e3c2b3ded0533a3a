/* operators/merge.h - stage two of a groupBy: keeps the latest partial of each partial id and
 * merges them on demand. Its changelog is the repartition topic itself.
 * Shape:     repartition record -> join by version into the group's row -> mark for emission
 *            flush: the merged result of every marked group as a row to the children
 * Invariant: a partial sent twice, late or out of order changes nothing (a state-based CRDT;
 *            Shapiro et al., "Conflict-free replicated data types", 2011). */
#ifndef BR_OPERATORS_MERGE_H
#define BR_OPERATORS_MERGE_H

#include "operators/group_by.h"

/* conf->by is not used. */
br_op *br_merge_create(const br_group_conf *conf, br_task_context *context, br_env *env,
                       br_budget *budget);
/* One record of the repartition topic. value NULL (tombstone) is passed over.
 * BR_ERR_CORRUPT: not a partial; the caller adds topic, partition and offset. */
BR_MUST_USE br_status br_merge_apply(br_op *op, int64_t offset, br_bytes key, br_bytes value,
                                     br_err *err);

/* The record key of a partial: the group's tuple, then the partial id's (both self-delimiting). */
void br_partial_key(br_buf *out, br_bytes group, br_bytes partial_id);
/* Splits it again: both borrow key. BR_ERR_CORRUPT. by_count: values in the group. */
BR_MUST_USE br_status br_partial_key_split(br_bytes key, size_t by_count, br_bytes *group,
                                           br_bytes *partial_id, br_err *err);
/* The row type of stage two (all partials of a group). */
br_row_type br_merge_row_type(const br_group_conf *conf);
/* Merges all partials of a payload into an initialised accumulator payload. */
void br_merge_total(const br_group_conf *conf, const void *payload, void *total);

#endif
