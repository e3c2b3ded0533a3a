/* tests/sim/scenario.h - a random job with its input, and the totals that a plain program makes of
 * it: the oracle.
 * Jobs: one or two groupBys, in one or two stages; one source, or a union of two; records that are
 * several rows (explode), of one group or of several; every kind of aggregate that a wrong total
 * can show in. Input: beside good records some without a value, some that are no JSON, some without
 * a group. */
#ifndef BR_TESTS_SIM_SCENARIO_H
#define BR_TESTS_SIM_SCENARIO_H

#include "runtime/base/rng.h"
#include "runtime/base/bytes.h"

enum { SCENARIO_GROUPS_MAX = 2, SCENARIO_SOURCES_MAX = 2, SCENARIO_RECORDS_MAX = 64 };

typedef struct scenario_record {
    size_t source;
    int32_t partition;
    char key[16];
    char value[96]; /* "": null */
    int64_t timestamp_ms;
} scenario_record;

/* One group's result as the sink must have it in the end. */
typedef struct scenario_total {
    size_t group_by;
    char key[32];
    char value[192];
    int64_t count, sum, min, max, last, last_ms;
    int64_t sent; /* the highest count that a sink was sent so far */
} scenario_total;

typedef struct scenario {
    char job[1024]; /* job "sim"; sources read in0, in1; sinks write out0, out1 */
    size_t source_count, group_count;
    bool one_stage[SCENARIO_GROUPS_MAX];
    int32_t partitions[SCENARIO_SOURCES_MAX];
    scenario_record records[SCENARIO_RECORDS_MAX]; /* in order of arrival */
    size_t record_count;
    scenario_total totals[64];
    size_t total_count;
} scenario;

void scenario_make(scenario *out, br_rng *rng);
/* NULL: the input has no such group. */
scenario_total *scenario_find(scenario *s, size_t group_by, br_bytes key);

#endif
