/* runtime/base/units.h - durations, sizes and whole numbers as people write them.
 * Durations: 250ms 10s 5m 2h 1d. Sizes: 512B 64KiB 16MiB 1GiB. A bare number is refused. */
#ifndef BR_BASE_UNITS_H
#define BR_BASE_UNITS_H

#include "runtime/base/bytes.h"

/* BR_OK, or BR_ERR_CONFIG with a message that names what was found and what is allowed.
 * Fractions (1.5m), signs and overflow are refused. */
BR_MUST_USE br_status br_parse_duration(br_bytes text, int64_t *ms, br_err *err);
BR_MUST_USE br_status br_parse_size(br_bytes text, uint64_t *bytes, br_err *err);
/* Decimal digits with an optional minus, nothing else; within [min, max]. */
BR_MUST_USE br_status br_parse_int(br_bytes text, int64_t min, int64_t max, int64_t *out,
                                   br_err *err);
/* "1.5 s", "64 MiB", "12,345,678": for tables. Returns `out`. */
char *br_format_duration(char out[32], int64_t ms);
char *br_format_size(char out[32], uint64_t bytes);
char *br_format_count(char out[32], uint64_t n);

#endif
