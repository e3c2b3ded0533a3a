/* runtime/catalog.h - the topics of a job: looked at, made where they are missing, refused where
 * they cannot work.
 * Internal topics (DESIGN.md section 6): compact only, never delete; LogAppendTime; a compaction
 * lag of 10 min, well above the producers' delivery timeout; replication by the broker's default.
 * Topics that exist are not changed, but for one thing: a source that got more partitions gives
 * them to the changelogs of its groupBys in two stages. In one stage that is refused: the
 * producer's keys have moved to other partitions, away from their state. A repartition topic that
 * is missing beside state is refused as well. */
#ifndef BR_RUNTIME_CATALOG_H
#define BR_RUNTIME_CATALOG_H

#include "jobs/plan.h"
#include "runtime/log/log.h"

/* BR_OK: every topic of the plan exists and is as it must be; partitions[i] is the count of
 * plan->topics[i] (the caller's array). BR_ERR_CONFIG: topic, found, wanted, what to do. */
BR_MUST_USE br_status br_catalog_prepare(br_log *log, const br_plan *plan, int32_t *partitions,
                                         br_err *err);
/* The settings with which an internal topic is made, for `brine plan`: name=value, NULL at the end.
 */
extern const br_setting br_internal_topic_settings[];

#endif
