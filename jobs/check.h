/* jobs/check.h - whether a bound Job makes sense, and the defaults that depend on where operators
 * stand in the file.
 * Names: an operator without an id is called source1, map1, group_by1 or sink1: its kind and its
 * number among the operators of its kind. An operator without `from` reads the one above it.
 * A Named without a name is called: in `by`, as br_expr_default_name says; in `aggregate`, the
 * function (count), or the function and the default name of its argument (sum_spend).
 * Thread: one. */
#ifndef BR_JOBS_CHECK_H
#define BR_JOBS_CHECK_H

#include "jobs/job.h"

/* Single operators and settings. Required fields may be missing: bind.c has said so. */
void br_check_fields(const br_job *job, const Brine__Job__Job *spec, br_job_errors *errors);
/* Ids and `from`, which it fills in, and the graph that they make. Every operator has a kind. */
void br_check_graph(const br_job *job, Brine__Job__Job *spec, br_job_errors *errors);

#endif
