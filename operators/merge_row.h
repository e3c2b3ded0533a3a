/* operators/merge_row.h - stage two's row: the latest partial of each partial id of one group.
 * Invariant: all partials are of one incarnation, the highest seen: a join with a higher one drops
 *            the rest, which no longer counts. So joining is associative, commutative, idempotent.
 * Memory:    one allocation for each partial; replacing one allocates nothing. */
#ifndef BR_OPERATORS_MERGE_ROW_H
#define BR_OPERATORS_MERGE_ROW_H

#include "operators/merge.h"
#include "state/row_wire.h"

/* Accumulators (conf->payload_bytes) and then the id follow it. */
typedef struct br_partial {
    br_version version;
    size_t id_len;
    bool repair; /* its last record in the log is older: it is to be written again */
} br_partial;

/* The payload of a stage-two row. */
typedef struct br_partials {
    br_partial **at; /* in the order of their ids, so that all runs merge them alike */
    size_t count, cap;
    size_t heap; /* bytes held, for the budget */
} br_partials;

/* Joins one partial: version and accumulators of `in`. `scratch` is an initialised accumulator
 * payload, and is one afterwards. BR_OK: taken. BR_EMPTY: known already. BR_END: older than what is
 * there, which is marked for repair. BR_ERR_CORRUPT: partials is unchanged. */
BR_MUST_USE br_status br_partials_join(const br_group_conf *conf, br_partials *partials,
                                       br_bytes id, const br_row_parts *in, void *scratch,
                                       br_err *err);
/* Appends the record key and the packed row of partial i, as stage one sends them. */
void br_partials_record(const br_group_conf *conf, const br_partials *partials, size_t i,
                        br_bytes group, br_buf *key, br_buf *row);
/* The incarnation of its partials; 0: none. */
uint32_t br_partials_incarnation(const br_partials *partials);

#endif
