/* jobs/job.h - a job file, read and checked.
 * Shape:     text -> libyaml events -> tree with marks (yaml.h) -> Job message (bind.h) -> checked
 * Invariant: all errors of a file are reported, each with file, line, column, the field's path,
 *            what was found and what is allowed. JSON is YAML: job files may be JSON too.
 * Thread:    one. */
#ifndef BR_JOBS_JOB_H
#define BR_JOBS_JOB_H

#include "jobs/errors.h"

#include <proto/job.pb-c.h>

typedef struct br_job br_job;

/* Reads text (a whole job file). file: its name, for messages. BR_OK: the caller owns *out.
 * BR_ERR_CONFIG: errors has at least one. errors is filled either way (count 0 if all is well), and
 * must be disposed. ${NAME} in settings.kafka values and brokers stays as written (env.h replaces
 * it where it is used), but the variables must be set. */
BR_MUST_USE br_status br_job_parse(br_job **out, br_bytes text, const char *file,
                                   br_job_errors *errors);
/* The same from a file; a file that cannot be read is an error without a line. */
BR_MUST_USE br_status br_job_read(br_job **out, const char *path, br_job_errors *errors);
void br_job_destroy(br_job *job); /* NULL is fine */
/* Every operator has an id (given, or source1, map1, … by kind and place) and `from`. Holds no
 * secrets. Borrows job. */
const Brine__Job__Job *br_job_spec(const br_job *job);
/* Adds an error at a path of the job file; its line and column are looked up. */
void br_job_error_at(const br_job *job, br_job_errors *errors, const char *path, const char *fmt,
                     ...) BR_PRINTF(4, 5);
/* The same at a field of the operator with this place; field "" is the operator itself. */
void br_job_operator_error(const br_job *job, br_job_errors *errors, size_t index,
                           const char *field, const char *fmt, ...) BR_PRINTF(5, 6);

#endif
