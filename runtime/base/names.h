/* runtime/base/names.h - checks of names, and the nearest valid one for an error message. */
#ifndef BR_BASE_NAMES_H
#define BR_BASE_NAMES_H

#include "runtime/base/bytes.h"

/* Job names and topics: [A-Za-z0-9._-]+, not "." or "..". `what` begins the message. */
BR_MUST_USE br_status br_check_name(const char *what, br_bytes name, size_t len_max, br_err *err);
/* Operator ids: [a-z][a-z0-9_]*: no hyphen, so that internal topic names cannot collide. */
BR_MUST_USE br_status br_check_id(br_bytes id, br_err *err);
/* The candidate with the smallest edit distance (Levenshtein, with a swap of neighbours as one
 * step), or NULL when none is near enough to be meant. */
const char *br_nearest(br_bytes name, const char *const *candidates, size_t count);

#endif
