/* runtime/base/limits.h - every bound, with its reason. Reaching one is BR_ERR_LIMIT or a refused
 * job file, never growth. */
#ifndef BR_BASE_LIMITS_H
#define BR_BASE_LIMITS_H

enum {
    /* Rows handed to an operator at once: their slots and bytes fit the second-level cache. */
    BR_BATCH_ROWS_MAX = 1024,
    /* Bytes of raw records in one batch; a batch ends early at this, so big records stay bounded.
     */
    BR_BATCH_BYTES_MAX = 4 * 1024 * 1024,
    /* Fields and computed values that one stage may hold per row. */
    BR_SLOTS_MAX = 256,
    /* A group key. A larger one is a bad record: it would not fit a changelog record's limits. */
    BR_GROUP_KEY_BYTES_MAX = 512 * 1024,
    /* A job file; also the bound of one that comes over HTTP. */
    BR_JOB_FILE_BYTES_MAX = 1024 * 1024,
    BR_JOB_FILE_DEPTH_MAX = 64,
    BR_JOB_FILE_NODES_MAX = 100000,
    BR_OPERATORS_MAX = 128,
    BR_AGGREGATES_MAX = 64,
    BR_GROUP_FIELDS_MAX = 16,
    /* Kafka allows topic names of 249; internal ones are <job>-<operator>-<source>-changelog. */
    BR_NAME_BYTES_MAX = 100,       /* a job's */
    BR_OPERATOR_ID_BYTES_MAX = 40, /* an operator's */
    BR_TOPIC_BYTES_MAX = 249,
    BR_PARTITIONS_MAX = 10000,
    /* Nesting of expressions: the parser recurses. */
    BR_EXPR_DEPTH_MAX = 100,
    BR_EXPR_BYTES_MAX = 4096,
    /* Lua expressions: instructions per record and bytes per state. */
    BR_LUA_STEPS_MAX = 100000,
    BR_LUA_BYTES_MAX = 16 * 1024 * 1024,
    /* Rows that one record may become (`explode`). */
    BR_EXPLODE_ROWS_MAX = 100000,
};

#endif
