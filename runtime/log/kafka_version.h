/* runtime/log/kafka_version.h - which librdkafka this process runs with. Apart from kafka.h, so
 * that whoever asks does not see librdkafka. */
#ifndef BR_RUNTIME_LOG_KAFKA_VERSION_H
#define BR_RUNTIME_LOG_KAFKA_VERSION_H

/* "2.0.2"; static. */
const char *br_kafka_version(void);
/* As librdkafka counts: 0x020002ff. */
int br_kafka_version_number(void);

#endif
