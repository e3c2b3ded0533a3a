/* jobs/bind.h - fills any protobuf-c message from a YAML tree by walking its descriptor.
 * Shape:     field names are the schema's; the short forms are those named in proto/job.proto.
 * Invariant: no field is known here by name, so a field that is added to the schema can be written
 *            in job files at once. Every error is collected; none ends the walk.
 * Thread:    one. */
#ifndef BR_JOBS_BIND_H
#define BR_JOBS_BIND_H

#include "jobs/yaml.h"

#include <protobuf-c/protobuf-c.h>

/* Where each value stands in the file, so that later checks can point at it. */
typedef struct br_place {
    char *path; /* operators[2].groupBy.by[0] */
    int line, column;
} br_place;

/* All-zero is empty. */
typedef struct br_places {
    br_place *at;
    size_t count, cap;
} br_places;

/* The place of path, or of the nearest value around it that is in the file; NULL: none. */
const br_place *br_places_find(const br_places *places, const char *path);
void br_places_dispose(br_places *places);

/* Returns owned, for br_bind_free, also where errors were added: such a message may lack required
 * fields. */
ProtobufCMessage *br_bind(const ProtobufCMessageDescriptor *type, const br_yaml *root,
                          br_places *places, br_job_errors *errors);
void br_bind_free(ProtobufCMessage *message); /* NULL is fine */

#endif
