/* runtime/base/status.h - outcomes of calls, and the error object that explains a failure.
 * Shape:     the callee sets what failed; each caller wraps what only it knows (operator, offset).
 * Invariant: `err` is untouched unless the status is negative.
 * Thread:    a br_err belongs to its caller; nothing here is shared.
 * Why here:  the lowest layer; every module returns these. */
#ifndef BR_BASE_STATUS_H
#define BR_BASE_STATUS_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* 0: done. Positive: an expected outcome. Negative: a failure, explained in the br_err. */
typedef enum br_status {
    BR_OK = 0,
    BR_NOT_FOUND = 1,
    BR_EMPTY = 2,           /* nothing now, maybe later */
    BR_END = 3,             /* nothing more */
    BR_ERR_IO = -1,         /* the operating system or LMDB said no */
    BR_ERR_CORRUPT = -2,    /* stored bytes are not what brine wrote */
    BR_ERR_LIMIT = -3,      /* a bound of limits.h, or a full disk or map */
    BR_ERR_CONFIG = -4,     /* job file, flag, setting or topic that cannot work */
    BR_ERR_BROKER = -5,     /* the log refused or did not answer */
    BR_ERR_FENCED = -6,     /* another owner took over */
    BR_ERR_BAD_RECORD = -7, /* this record's content; the next one may be fine */
    BR_ERR_IN_USE = -8,     /* another process holds it */
} br_status;

enum { BR_ERR_MESSAGE_MAX = 1024 };

typedef struct br_err {
    br_status status;
    int cause; /* errno, LMDB or librdkafka code; 0 where there is none */
    char message[BR_ERR_MESSAGE_MAX];
} br_err;

#define BR_MUST_USE __attribute__((warn_unused_result))
#define BR_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define BR_COUNTOF(a) (sizeof(a) / sizeof((a)[0]))

/* For our own bugs, never for input. On in release builds: going on would corrupt state. */
#define BR_ASSERT(cond) ((cond) ? (void)0 : br_assert_failed(#cond, __FILE__, __LINE__))
void br_assert_failed(const char *cond, const char *file, int line) __attribute__((noreturn));

/* Fills `err` and returns `status`. A message that does not fit is cut. err must not be NULL. */
br_status br_fail(br_err *err, br_status status, const char *fmt, ...) BR_PRINTF(3, 4);
/* The same with a cause; `": strerror(cause)"` is appended when status is BR_ERR_IO. */
br_status br_fail_errno(br_err *err, br_status status, int cause, const char *fmt, ...)
    BR_PRINTF(4, 5);
/* Puts "context: " before the message that is there. Returns err->status. */
br_status br_wrap(br_err *err, const char *fmt, ...) BR_PRINTF(2, 3);
const char *br_status_name(br_status status);

#endif
