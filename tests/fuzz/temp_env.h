/* tests/fuzz/temp_env.h - one environment for a fuzz target's whole run, wiped for each input:
 * opening LMDB for every input would leave time for little else. */
#ifndef BR_TESTS_FUZZ_TEMP_ENV_H
#define BR_TESTS_FUZZ_TEMP_ENV_H

#include "state/env.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char temp_env_dir[] = "/tmp/brine-fuzz-XXXXXX";
static br_env *temp_env_open;

/* Not through system(): libFuzzer's exit handlers may run while others are stopped. */
static inline void temp_env_remove(void)
{
    static const char *const files[] = {"data.mdb", "lock.mdb", "lock", "clean"};
    char path[128];
    br_env_close(temp_env_open, false);
    for (size_t i = 0; i < BR_COUNTOF(files); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", temp_env_dir, files[i]);
        (void)unlink(path);
    }
    (void)rmdir(temp_env_dir);
}

/* An empty environment with one store, "s". */
static inline br_env *temp_env(void)
{
    static const char *const stores[] = {"s"};
    br_err err = {0};
    if (!temp_env_open) {
        BR_ASSERT(mkdtemp(temp_env_dir));
        br_env_opts opts = {.dir = temp_env_dir, .store_ids = stores, .store_count = 1};
        opts.map_bytes = 1 << 20;
        opts.now_ms = 1700000000000;
        BR_ASSERT(br_env_open(&temp_env_open, &opts, &err) == BR_OK);
        (void)atexit(temp_env_remove);
        return temp_env_open;
    }
    BR_ASSERT(br_env_wipe(temp_env_open, &err) == BR_OK);
    return temp_env_open;
}

#endif
