/* runtime/cli/generator.h - sample records: JSON lines, the same for the same options on every
 * machine.
 *   ad clicks: {"event_id":"…","ad_id":"ad_17","region":"us-west","user_id":"u_…",
 *              "cost_micros":12345,"ts":1700000000000}
 *   telemetry: {"device_id":"device_17","region":"us-west","temperature":21.5,"battery":87,"ts":…}
 * Event times begin at 1700000000000 and go on by a millisecond a record, up to a second out of
 * order. */
#ifndef BR_RUNTIME_CLI_GENERATOR_H
#define BR_RUNTIME_CLI_GENERATOR_H

#include "runtime/base/rng.h"

#include <stddef.h>

enum { BR_GENERATOR_LINE_MAX = 256, BR_GENERATOR_HOT_INDEX = 7 };

typedef enum br_sample { BR_SAMPLE_AD_CLICKS, BR_SAMPLE_TELEMETRY } br_sample;

typedef struct br_generator {
    br_sample sample;
    uint64_t ids; /* how many ads or devices; > 0 */
    double hot;   /* share of the records of ad_7 or device_7 (or the last, where there are fewer),
                     the rest goes evenly to the others; 0: to all alike */
    br_rng rng;
    uint64_t index; /* of the next record */
} br_generator;

/* Writes the next line and its \n; returns its length, at most BR_GENERATOR_LINE_MAX. */
size_t br_generator_line(br_generator *generator, char *out);

#endif
