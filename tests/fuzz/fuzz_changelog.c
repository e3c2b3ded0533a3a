/* tests/fuzz/fuzz_changelog.c - any bytes as a changelog: restored, or refused as corrupt.
 * Claim: a restore that began ends with an environment that can be read, whatever the log held.
 * FAULTS 54. */
#include "fuzz/fuzz.h"
#include "fuzz/input.h"
#include "fuzz/temp_env.h"
#include "state/restore.h"

static br_status count_row(void *arg, br_bytes key, br_bytes val, br_err *err)
{
    (void)key;
    (void)val;
    (void)err;
    (*(uint64_t *)arg)++;
    return BR_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    br_err err = {0};
    br_env *env = temp_env();
    br_bytes rest = br_bytes_of(data, size);
    br_restore *restore = br_restore_begin(env, 0, 4096);
    br_status st = BR_OK;
    int64_t offset = 0;
    for (; st == BR_OK && rest.len > 0; offset++) {
        br_bytes key = input_take(&rest), value = input_take(&rest);
        st = br_restore_add(restore, offset, key, value, &err);
    }
    br_restored restored;
    if (st == BR_OK) st = br_restore_finish(restore, offset, &restored, &err);
    BR_ASSERT(st == BR_OK || (st == BR_ERR_CORRUPT && err.message[0] != '\0'));
    uint64_t rows = 0;
    BR_ASSERT(br_env_scan(env, 0, BR_NO_BYTES, count_row, &rows, &err) == BR_OK);
    BR_ASSERT(rows == br_env_rows(env, 0));
    br_restore_destroy(restore);
    return 0;
}
