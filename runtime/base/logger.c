/* runtime/base/logger.c - see logger.h. */
#include "runtime/base/logger.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static br_level lowest = BR_WARN;

void br_log_set_level(br_level level)
{
    lowest = level;
}

void br_log_line(br_level level, const char *msg, const char *fields, ...)
{
    static const char *const names[] = {"debug", "info", "warn", "error"};
    if (level < lowest) return;
    struct timespec now;
    struct tm utc;
    char line[4096], when[32];
    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)gmtime_r(&now.tv_sec, &utc);
    (void)strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S", &utc);
    int n = snprintf(line, sizeof(line), "ts=%s.%03dZ level=%s msg=\"%s\" ", when,
                     (int)(now.tv_nsec / 1000000), names[level], msg);
    size_t used = n < 0 ? 0 : (size_t)n;
    if (used > sizeof(line) - 2) used = sizeof(line) - 2;
    va_list args;
    va_start(args, fields);
    n = vsnprintf(line + used, sizeof(line) - used - 1, fields, args);
    va_end(args);
    if (n > 0) used += (size_t)n;
    if (used > sizeof(line) - 2) used = sizeof(line) - 2;
    for (size_t i = 0; i < used; i++)
        if (line[i] == '\n') line[i] = ' ';
    line[used++] = '\n';
    if (write(STDERR_FILENO, line, used) < 0) return; /* nowhere left to say so */
}
