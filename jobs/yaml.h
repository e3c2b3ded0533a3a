/* jobs/yaml.h - a YAML document as a tree of texts, lists and mappings that know their places.
 * Shape:     libyaml events -> br_yaml nodes in an arena
 * Invariant: nothing is interpreted: `no`, `0123` and `1e3` stay the texts that they are. What YAML
 *            readers disagree on is refused, never passed over: duplicate keys, anchors, aliases,
 *            merge keys, tags, a second document.
 * Bounds:    BR_JOB_FILE_BYTES_MAX, _DEPTH_MAX, _NODES_MAX.
 * Thread:    one. */
#ifndef BR_JOBS_YAML_H
#define BR_JOBS_YAML_H

#include "jobs/errors.h"
#include "runtime/base/arena.h"

typedef enum br_yaml_kind {
    BR_YAML_NULL, /* nothing, ~ or null, unquoted */
    BR_YAML_TEXT,
    BR_YAML_LIST,
    BR_YAML_MAP,
    BR_YAML_REFUSED, /* an error was added for it */
} br_yaml_kind;

typedef struct br_yaml {
    br_yaml_kind kind;
    int line, column;           /* from 1 */
    const char *text;           /* TEXT */
    const char *key;            /* in a mapping; else NULL */
    int key_line, key_column;   /* of key */
    const struct br_yaml *next; /* in the same list or mapping */
    struct br_yaml *first, *last;
    size_t count; /* of a list's or mapping's nodes */
} br_yaml;

/* Adds all errors that do not stop the reading, or the one that does; NULL then. The tree lives in
 * arena. */
const br_yaml *br_yaml_parse(br_bytes text, br_arena *arena, br_job_errors *errors);
/* "text", "a list", "a mapping", "nothing": for messages. */
const char *br_yaml_kind_name(br_yaml_kind kind);

#endif
