/* runtime/base/clock.c - see clock.h. */
#include "runtime/base/clock.h"

#include <stddef.h>
#include <time.h>

static int64_t read_ns(clockid_t id)
{
    struct timespec ts;
    (void)clock_gettime(id, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static int64_t system_wall_ms(void *self)
{
    (void)self;
    return read_ns(CLOCK_REALTIME) / 1000000;
}

static int64_t system_mono_ns(void *self)
{
    (void)self;
    return read_ns(CLOCK_MONOTONIC);
}

const br_clock br_system_clock = {system_wall_ms, system_mono_ns, NULL};
