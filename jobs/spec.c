/* jobs/spec.c - see spec.h. */
#include "jobs/spec.h"

#include "runtime/base/status.h"

const char *br_operator_kind_name(const br_operator *op)
{
    switch (br_operator_kind(op)) {
    case BR_KIND_SOURCE: return "source";
    case BR_KIND_MAP: return "map";
    case BR_KIND_GROUP_BY: return "groupBy";
    case BR_KIND_SINK: return "sink";
    case BR_KIND_NONE: break;
    }
    return "";
}

char **br_operator_id(const br_operator *op)
{
    switch (br_operator_kind(op)) {
    case BR_KIND_SOURCE: return &op->source->id;
    case BR_KIND_MAP: return &op->map->id;
    case BR_KIND_GROUP_BY: return &op->groupby->id;
    case BR_KIND_SINK: return &op->sink->id;
    case BR_KIND_NONE: break;
    }
    BR_ASSERT(false);
    return NULL;
}

char ***br_operator_from(const br_operator *op, size_t **count)
{
    switch (br_operator_kind(op)) {
    case BR_KIND_MAP: *count = &op->map->n_from; return &op->map->from;
    case BR_KIND_GROUP_BY: *count = &op->groupby->n_from; return &op->groupby->from;
    case BR_KIND_SINK: *count = &op->sink->n_from; return &op->sink->from;
    case BR_KIND_SOURCE:
    case BR_KIND_NONE: break;
    }
    *count = NULL;
    return NULL;
}
