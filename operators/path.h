/* operators/path.h - a field's place in a record: ad_id, device.id, tags[0], a."odd name".
 * A first name that is no [A-Za-z_][A-Za-z0-9_]* is written behind a dot too: ."odd name".id
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
/* The longest path that text begins with; *used is its length. BR_ERR_CONFIG: it begins with none,
 * or a quoted name in it is broken; the byte at fault is text[*used]. */
BR_MUST_USE br_status br_path_parse_prefix(br_path *out, br_bytes text, size_t *used, br_err *err);
/* An owned copy without the first `from` steps. */
br_path br_path_copy(const br_path *path, size_t from);
bool br_path_equal(const br_path *a, const br_path *b);
/* Appends the text of the first `count` steps, which br_path_parse reads as the same path. */
void br_path_print(const br_path *path, size_t count, br_buf *out);
void br_path_dispose(br_path *path);

/* Bytes of the identifier that text begins with; 0: none. */
size_t br_identifier_len(br_bytes text);

#endif
