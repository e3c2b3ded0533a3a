/* runtime/base/logger.h - one line per event on standard error, logfmt: ts= level= msg= key=value.
 * Invariant: a record's content is never logged above debug.
 * Thread:    any; a line is one write. */
#ifndef BR_BASE_LOGGER_H
#define BR_BASE_LOGGER_H

#include "runtime/base/status.h"

typedef enum br_level { BR_DEBUG, BR_INFO, BR_WARN, BR_ERROR } br_level;

void br_log_set_level(br_level level); /* default BR_WARN; call before threads start */
/* `msg` is the event; fields is a printf format of ` key=value` pairs, or "". */
void br_log_line(br_level level, const char *msg, const char *fields, ...) BR_PRINTF(3, 4);

#endif
