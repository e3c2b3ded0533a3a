/* jobs/env.h - ${NAME} in a setting, replaced from the environment when it is used.
 * Invariant: a job's spec keeps the text as written, so no secret stands in a stored job or a log.
 * Thread:    any, as long as nobody sets the environment. */
#ifndef BR_JOBS_ENV_H
#define BR_JOBS_ENV_H

#include "runtime/base/bytes.h"

/* Appends text with every ${NAME} replaced. BR_ERR_CONFIG: a variable that is not set, or a ${ that
 * is not closed or holds no name. What came from the environment is not looked at again. */
BR_MUST_USE br_status br_job_expand(const char *text, br_buf *out, br_err *err);

#endif
