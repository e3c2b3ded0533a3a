/* runtime/base/status.c - see status.h. */
#include "runtime/base/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void br_assert_failed(const char *cond, const char *file, int line)
{
    fprintf(stderr, "brine: bug at %s:%d: %s does not hold\n", file, line, cond);
    abort();
}

static void set_message(br_err *err, const char *fmt, va_list args)
{
    int n = vsnprintf(err->message, sizeof(err->message), fmt, args);
    if (n < 0) err->message[0] = '\0';
}

br_status br_fail(br_err *err, br_status status, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    set_message(err, fmt, args);
    va_end(args);
    err->status = status;
    err->cause = 0;
    return status;
}

br_status br_fail_errno(br_err *err, br_status status, int cause, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    set_message(err, fmt, args);
    va_end(args);
    err->status = status;
    err->cause = cause;
    size_t used = strlen(err->message);
    if (status == BR_ERR_IO)
        (void)snprintf(err->message + used, sizeof(err->message) - used, ": %s", strerror(cause));
    return status;
}

br_status br_wrap(br_err *err, const char *fmt, ...)
{
    char context[BR_ERR_MESSAGE_MAX];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(context, sizeof(context), fmt, args);
    va_end(args);
    size_t len = n < 0 ? 0 : (size_t)n;
    if (len > sizeof(err->message) / 2) len = sizeof(err->message) / 2;
    size_t keep = strlen(err->message);
    size_t room = sizeof(err->message) - len - 3;
    if (keep > room) keep = room;
    memmove(err->message + len + 2, err->message, keep);
    memcpy(err->message, context, len);
    memcpy(err->message + len, ": ", 2);
    err->message[len + 2 + keep] = '\0';
    return err->status;
}

const char *br_status_name(br_status status)
{
    switch (status) {
    case BR_OK: return "ok";
    case BR_NOT_FOUND: return "not found";
    case BR_EMPTY: return "empty";
    case BR_END: return "end";
    case BR_ERR_IO: return "i/o error";
    case BR_ERR_CORRUPT: return "corrupt";
    case BR_ERR_LIMIT: return "limit reached";
    case BR_ERR_CONFIG: return "configuration error";
    case BR_ERR_BROKER: return "broker error";
    case BR_ERR_FENCED: return "fenced";
    case BR_ERR_BAD_RECORD: return "bad record";
    case BR_ERR_IN_USE: return "in use";
    }
    return "unknown status";
}
