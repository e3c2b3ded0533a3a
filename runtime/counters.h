/* runtime/counters.h - what a pipeline counts, for progress, summary and metrics.
 * Thread: written by the pipeline's thread only, restored by its restorer (both through relaxed
 *         atomics), read by any. */
#ifndef BR_RUNTIME_COUNTERS_H
#define BR_RUNTIME_COUNTERS_H

#include <stdatomic.h>
#include <stdint.h>

/* name, and what it counts */
#define BR_COUNTERS(X)                                                                             \
    X(records, "source records read")                                                              \
    X(bytes, "bytes of their keys and values")                                                     \
    X(null_values, "records without a value, passed over")                                         \
    X(null_keys, "rows without a group key, left out")                                             \
    X(dead_letters, "records sent to the dead-letter topic")                                       \
    X(skipped, "bad records skipped")                                                              \
    X(lost, "source records deleted before they could be read")                                    \
    X(partials, "partials sent to repartition topics")                                             \
    X(merged, "partials read from repartition topics")                                             \
    X(changelog, "rows sent to changelog topics")                                                  \
    X(repairs, "partials written again over a zombie's")                                           \
    X(results, "records sent to sinks")                                                            \
    X(restored, "changelog records read to restore state")                                         \
    X(commits, "commits")

typedef struct br_counters {
#define X(name, help) _Atomic uint64_t name;
    BR_COUNTERS(X)
#undef X
} br_counters;

static inline void br_count(_Atomic uint64_t *counter, uint64_t n)
{
    atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

static inline uint64_t br_counted(const _Atomic uint64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

#endif
