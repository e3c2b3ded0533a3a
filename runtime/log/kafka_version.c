/* runtime/log/kafka_version.c - librdkafka's version and what is wrong with it. A fault is listed
 * here if brine has code for it or if it can show in spite of that; the code asks for the version
 * by rd_kafka_version(), never by the header's. */
#include "runtime/log/kafka_version.h"

#include "runtime/base/bytes.h"

#include <librdkafka/rdkafka.h>

static const struct {
    int fixed_in;
    const char *text;
} faults[] = {
    {0x020100ff, "before 2.1.0 the batch call loses records at a cooperative rebalance; brine uses "
                 "the callback, which costs some CPU"},
    {0x020100ff, "before 2.1.0 a consumer that lost a partition may never close; brine leaves it "
                 "behind after 10 s"},
    {0x020300ff, "before 2.3.0 closing a consumer that has not joined yet may crash; brine waits "
                 "for it to join, at most 3 s, and then ends it without leaving the group"},
    {0x020300ff, "before 2.3.0 a retried record may break the idempotent producer; brine opens a "
                 "new one and goes on from the last checkpoint"},
    {0x020400ff, "before 2.4.0 resuming a partition that is not paused reads it again; brine never "
                 "pauses, and drops what it has read"},
    {0x020601ff, "before 2.6.1 the cooperative-sticky assignor may spin for ever; should a worker "
                 "stand still at full CPU, set partition.assignment.strategy to range"},
    {0x020a00ff, "before 2.10.0 an offset commit that meets a rebalance may lose the assignment; "
                 "brine commits only while the group is steady"},
};

const char *br_kafka_version(void)
{
    return rd_kafka_version_str();
}

int br_kafka_version_number(void)
{
    return rd_kafka_version();
}

const char *br_kafka_fault(int version, size_t index)
{
    for (size_t i = 0; i < BR_COUNTOF(faults); i++)
        if (version < faults[i].fixed_in && index-- == 0) return faults[i].text;
    return NULL;
}
