/* operators/path.h - a field's place in a record: ad_id, device.id, tags[0], a."odd name".
 * Memory: owned by whoever parsed it (br_path_dispose). */
#ifndef BR_OPERATORS_PATH_H
#define BR_OPERATORS_PATH_H

#include "runtime/base/bytes.h"

typedef struct br_step {
    char *name;    /* owned; NULL: an index */
    int64_t index; /* from 0 */
} br_step;

typedef struct br_path {
    br_step *steps; /* the first always has a name; count 0 is the whole value */
    size_t count;
} br_path;

/* The whole text must be a path. BR_ERR_CONFIG with what was found where. */
BR_MUST_USE br_status br_path_parse(br_path *out, br_bytes text, br_err *err);
void br_path_dispose(br_path *path);

#endif
