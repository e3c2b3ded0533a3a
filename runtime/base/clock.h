/* runtime/base/clock.h - time from outside, so that a test can hold it.
 * Units: milliseconds of the wall clock since 1970 (UTC), nanoseconds of a monotonic clock. */
#ifndef BR_BASE_CLOCK_H
#define BR_BASE_CLOCK_H

#include <stdint.h>

typedef struct br_clock {
    int64_t (*wall_ms)(void *self);
    int64_t (*mono_ns)(void *self);
    void *self;
} br_clock;

extern const br_clock br_system_clock;

static inline int64_t br_wall_ms(const br_clock *clock)
{
    return clock->wall_ms(clock->self);
}
static inline int64_t br_mono_ns(const br_clock *clock)
{
    return clock->mono_ns(clock->self);
}
static inline int64_t br_mono_ms(const br_clock *clock)
{
    return br_mono_ns(clock) / 1000000;
}

#endif
