/* runtime/cli/latest.h - the last value of each key, in memory.
 * Memory:    all keys and values that are alive; a table of open addressing points to them. */
#ifndef BR_RUNTIME_CLI_LATEST_H
#define BR_RUNTIME_CLI_LATEST_H

#include "operators/record.h"

typedef struct br_latest br_latest;

br_latest *br_latest_create(void);
void br_latest_destroy(br_latest *latest); /* NULL is fine */
/* Keeps a copy; a null value takes the key away. record->key is not null. */
void br_latest_put(br_latest *latest, const br_record *record);
/* Every key in the order of its bytes; records borrow until the next put. visit's first status
 * other than BR_OK ends it and is returned. */
typedef br_status (*br_latest_visit)(void *arg, const br_record *record, br_err *err);
BR_MUST_USE br_status br_latest_each(br_latest *latest, br_latest_visit visit, void *arg,
                                     br_err *err);

#endif
