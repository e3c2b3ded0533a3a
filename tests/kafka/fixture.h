/* tests/kafka/fixture.h - a log on the test's broker, topics of its own, and records read back.
 * Thread: one. */
#ifndef BR_TESTS_KAFKA_FIXTURE_H
#define BR_TESTS_KAFKA_FIXTURE_H

/* What cmocka.h wants before itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "runtime/log/log.h"

/* Fails the test with the error's message. */
#define assert_ok(call) check_ok((call), &err, __FILE__, __LINE__)
void check_ok(br_status status, const br_err *err, const char *file, int line);

/* host:port of BRINE_TEST_BROKERS; ends the process where it is not set. */
const char *test_brokers(void);
/* With the setting group.protocol where BRINE_TEST_GROUP_PROTOCOL gives it. */
br_log *open_log(void);
/* A fresh topic; the name lives as long as the process. settings: pairs. */
const char *new_topic(br_log *log, int32_t partitions, const br_setting *settings, size_t count);
/* A name that no other test and no other run has. */
const char *fresh_name(const char *what);
/* Sends count records "k<i>" -> "v<i>" to a partition and waits for them. */
void fill(br_log *log, br_tp at, int count);
/* Removes what lies below offset. */
void delete_records(const char *topic, int32_t partition, int64_t before);

/* Reads partition from `from` to its end by br_log_offsets; returns the records handed over. */
int read_all(br_log *log, br_tp at, int64_t from, br_record_fn fn, void *arg);

#endif
