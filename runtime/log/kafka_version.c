/* runtime/log/kafka_version.c - see kafka_version.h. */
#include "runtime/log/kafka_version.h"

#include <librdkafka/rdkafka.h>

const char *br_kafka_version(void)
{
    return rd_kafka_version_str();
}

int br_kafka_version_number(void)
{
    return rd_kafka_version();
}
