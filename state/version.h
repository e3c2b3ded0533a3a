/* state/version.h - the version of a row or partial: (job incarnation, source offset), higher wins.
 * DESIGN.md section 3. An absent version is below every other. */
#ifndef BR_STATE_VERSION_H
#define BR_STATE_VERSION_H

#include <stdint.h>

typedef struct br_version {
    uint32_t incarnation;
    int64_t offset;
} br_version;

#define BR_VERSION_NONE ((br_version){0, -1})

/* <0, 0, >0 */
static inline int br_version_compare(br_version a, br_version b)
{
    if (a.incarnation != b.incarnation) return a.incarnation < b.incarnation ? -1 : 1;
    return (a.offset > b.offset) - (a.offset < b.offset);
}

#endif
