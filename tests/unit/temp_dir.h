/* tests/unit/temp_dir.h - a temporary folder of a test's own, below TMPDIR or /tmp. */
#ifndef BR_TESTS_UNIT_TEMP_DIR_H
#define BR_TESTS_UNIT_TEMP_DIR_H

#include "runtime/base/status.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>

/* Fills dir with the path of a new folder; `subject` becomes a part of its name. */
static inline void temp_dir_make(char *dir, size_t size, const char *subject)
{
    const char *base = getenv("TMPDIR");
    int n = snprintf(dir, size, "%s/brine-%s-XXXXXX", base ? base : "/tmp", subject);
    BR_ASSERT(n > 0 && (size_t)n < size);
    BR_ASSERT(mkdtemp(dir));
}

static inline int temp_dir_remove_one(const char *path, const struct stat *at, int kind,
                                      struct FTW *ftw)
{
    (void)at;
    (void)kind;
    (void)ftw;
    return remove(path);
}

/* With all that is in it. */
static inline void temp_dir_remove(const char *dir)
{
    BR_ASSERT(nftw(dir, temp_dir_remove_one, 16, FTW_DEPTH | FTW_PHYS) == 0);
}

#endif
