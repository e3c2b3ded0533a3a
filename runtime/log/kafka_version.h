/* runtime/log/kafka_version.h - which librdkafka this process runs with. Apart from kafka.h, so
 * that whoever asks does not see librdkafka. */
#ifndef BR_RUNTIME_LOG_KAFKA_VERSION_H
#define BR_RUNTIME_LOG_KAFKA_VERSION_H

#include <stddef.h>

/* "2.0.2"; static. Of the library that is loaded, which need not be the one of the build. */
const char *br_kafka_version(void);
/* As librdkafka counts: 0x020002ff. */
int br_kafka_version_number(void);
/* The faults that brine knows of in a version, and what it does about each, one line. index: from 0
 * on; NULL behind the last. Static. */
const char *br_kafka_fault(int version, size_t index);

#endif
