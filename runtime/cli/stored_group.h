/* runtime/cli/stored_group.h - rows of a groupBy's store, read without its job.
 * What they mean is in the store: the groupBy as packed job.proto GroupBy. */
#ifndef BR_RUNTIME_CLI_STORED_GROUP_H
#define BR_RUNTIME_CLI_STORED_GROUP_H

#include "operators/merge.h"

typedef struct br_stored_group br_stored_group;

/* partials: the store is stage two's. BR_ERR_CORRUPT: spec is not a groupBy that this brine knows.
 * Copies spec. */
BR_MUST_USE br_status br_stored_group_open(br_stored_group **out, br_bytes spec, bool partials,
                                           br_err *err);
void br_stored_group_close(br_stored_group *group); /* NULL is fine */

size_t br_stored_group_by_count(const br_stored_group *group);
/* The fields of the group, then the aggregates; borrow group. */
const char *const *br_stored_group_names(const br_stored_group *group, size_t *count);

/* The group's fields only. *slots is as long as names, and borrows key and group until the next
 * call. BR_ERR_CORRUPT. */
BR_MUST_USE br_status br_stored_group_key(br_stored_group *group, br_bytes key,
                                          const br_value **slots, br_err *err);
/* The group's fields and the results. Borrows as above. */
BR_MUST_USE br_status br_stored_group_row(br_stored_group *group, br_bytes key, br_bytes row,
                                          const br_value **slots, br_err *err);

#endif
