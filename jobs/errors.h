/* jobs/errors.h - all that is wrong with a job file, in the order of the places.
 * Invariant: one line, column, path and message stands once, however often a stage finds it; the
 *            list is bounded, so a hostile file cannot make it grow.
 * Thread:    one. */
#ifndef BR_JOBS_ERRORS_H
#define BR_JOBS_ERRORS_H

#include "runtime/base/bytes.h"

enum { BR_JOB_ERRORS_MAX = 100 };

/* One thing that is wrong. All strings are owned by the br_job_errors. */
typedef struct br_job_error {
    int line, column; /* from 1; 0: the file as a whole */
    char *path;       /* operators[2].groupBy.by[0]; "" for the file */
    char *message;    /* what was found, what is allowed, the nearest valid name */
} br_job_error;

/* All-zero is empty. */
typedef struct br_job_errors {
    char *file; /* as given */
    br_job_error *at;
    size_t count, cap;
} br_job_errors;

/* Drops what is there; file is copied. */
void br_job_errors_init(br_job_errors *errors, const char *file);
/* path and message are copied. The last of BR_JOB_ERRORS_MAX says that there are more. */
void br_job_errors_add(br_job_errors *errors, int line, int column, const char *path,
                       const char *message);
/* Whether something is wrong at this path already: a value that was not understood has no range. */
bool br_job_errors_has(const br_job_errors *errors, const char *path);
void br_job_errors_dispose(br_job_errors *errors);
/* file:line:column: path: message, one a line. */
void br_job_errors_print(const br_job_errors *errors, br_buf *out);

#endif
