/* tests/unit/state/test_key_sort.c - rows in the order of their stored keys. */
#include "state/key_sort.h"

#include "runtime/base/rng.h"
#include "state/long_key.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

enum { ROWS_MAX = 400, KEY_BYTES_MAX = 600 };

typedef struct row {
    size_t len;
    char key[KEY_BYTES_MAX];
} row;

static br_bytes key_of(const void *at)
{
    const row *r = at;
    return br_bytes_of(r->key, r->len);
}

static void check_sorted(void *const *rows, size_t count)
{
    for (size_t i = 1; i < count; i++)
        assert_true(br_stored_key_compare(key_of(rows[i - 1]), key_of(rows[i])) <= 0);
}

/* Few different bytes, so that prefixes are often equal; zeros, which end a prefix too; some keys
 * that are stored under their hash. */
static void fill(row *r, br_rng *rng, size_t shared, size_t len_max, bool some_long)
{
    static const char bytes[] = {0, 1, 'a', (char)0x80, (char)0xfd, (char)0xff};
    r->len = shared + br_rng_below(rng, len_max + 1);
    if (some_long && br_rng_below(rng, 20) == 0) r->len = KEY_BYTES_MAX;
    memset(r->key, 'k', shared);
    for (size_t i = shared; i < r->len; i++) r->key[i] = bytes[br_rng_below(rng, sizeof(bytes))];
}

static void sort__random_keys__in_order(void **state)
{
    /* Claim: whatever the keys have in common, rows end in the order of their stored keys, and none
     * is lost. */
    (void)state;
    br_rng rng = {(uint64_t)time(NULL)};
    print_message("seed %llu\n", (unsigned long long)rng.state);
    row *memory = calloc(ROWS_MAX, sizeof(*memory));
    void *rows[ROWS_MAX];
    assert_non_null(memory);
    for (int round = 0; round < 400; round++) {
        size_t count = br_rng_below(&rng, ROWS_MAX + 1), shared = br_rng_below(&rng, 12);
        size_t len_max = br_rng_below(&rng, 2) ? 4 : 20;
        bool some_long = br_rng_below(&rng, 3) == 0;
        bool seen[ROWS_MAX] = {false};
        for (size_t i = 0; i < count; i++)
            fill(rows[i] = &memory[i], &rng, shared, len_max, some_long);
        br_sort_by_key(rows, count, key_of);
        check_sorted(rows, count);
        for (size_t i = 0; i < count; i++) seen[(row *)rows[i] - memory] = true;
        for (size_t i = 0; i < count; i++) assert_true(seen[i]);
    }
    free(memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sort__random_keys__in_order)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
