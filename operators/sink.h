/* operators/sink.h - sink: a row becomes a record of the output topic.
 * Value:     json: an object with the group's fields, then the aggregates (or the record's fields
 *            as map left them, without those that are missing; untouched records go on byte for
 *            byte, null and empty values included). text: the plain text of the only field besides
 *            the group, or the untouched bytes; a field that is null gives a null value.
 * Key:       `key:` if given; after a groupBy, unless a map gave the row a key since, the plain
 *            text of the group field where there is one, else a JSON object of the group's fields;
 *            otherwise the record's key, byte for byte.
 * Salt:      _0 … _N-1 is appended to a non-null key, by a seeded sequence.
 * Timestamp: the row's event time; where it has none, or one before 1970, which Kafka refuses, now.
 */
#ifndef BR_OPERATORS_SINK_H
#define BR_OPERATORS_SINK_H

#include "operators/expr.h"
#include "operators/operator.h"

typedef struct br_sink_conf {
    const char *id;
    size_t sink;   /* index in the stage's sinks */
    bool text;     /* else json */
    br_expr *key;  /* [optional] */
    uint32_t salt; /* 0: none */
    br_shape shape;
} br_sink_conf;

/* conf is borrowed. A text shape that is not untouched has exactly one field besides the group. */
br_op *br_sink_create(const br_sink_conf *conf, br_task_context *context, uint64_t seed);

#endif
