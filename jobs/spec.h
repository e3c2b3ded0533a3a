/* jobs/spec.h - what operators of a Job message have in common, whatever their kind.
 * Thread: values. */
#ifndef BR_JOBS_SPEC_H
#define BR_JOBS_SPEC_H

#include <proto/job.pb-c.h>

#include <stdbool.h>
#include <stddef.h>

typedef Brine__Job__Operator br_operator;

/* The values of Operator.kind_case, under names that can be read. */
typedef enum br_op_kind {
    BR_KIND_NONE = BRINE__JOB__OPERATOR__KIND__NOT_SET,
    BR_KIND_SOURCE = BRINE__JOB__OPERATOR__KIND_SOURCE,
    BR_KIND_MAP = BRINE__JOB__OPERATOR__KIND_MAP,
    BR_KIND_GROUP_BY = BRINE__JOB__OPERATOR__KIND_GROUP_BY,
    BR_KIND_SINK = BRINE__JOB__OPERATOR__KIND_SINK,
} br_op_kind;

static inline br_op_kind br_operator_kind(const br_operator *op)
{
    return (br_op_kind)op->kind_case;
}

static inline bool br_operator_is(const br_operator *op, br_op_kind kind)
{
    return br_operator_kind(op) == kind;
}

/* As written in job files; "" where there is none. */
const char *br_operator_kind_name(const br_operator *op);
/* The member itself, to be read or set; op has a kind. */
char **br_operator_id(const br_operator *op);
/* The member itself, *count its length member. NULL: a source. */
char ***br_operator_from(const br_operator *op, size_t **count);

#endif
