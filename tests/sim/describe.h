/* tests/sim/describe.h - records of internal topics, for people. */
#ifndef BR_TESTS_SIM_DESCRIBE_H
#define BR_TESTS_SIM_DESCRIBE_H

#include "tests/sim/memory_log.h"

void describe_record(br_buf *out, const memory_record *record);
void describe_key(br_buf *out, br_bytes key); /* bytes that do not print as \xx */
void describe_row(br_buf *out, br_bytes row);

#endif
