/* tests/unit/base/test_arena.c - memory that dies in one reset. Run under ASan for leaks. */
#include "runtime/base/arena.h"
#include "runtime/base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

enum { BLOCK_BYTES = 256 };

static int setup(void **state)
{
    *state = br_arena_create(BLOCK_BYTES);
    return 0;
}

static int teardown(void **state)
{
    br_arena_destroy(*state);
    return 0;
}

static void alloc__many_sizes__aligned_and_apart(void **state)
{
    /* Every piece is 8-byte aligned and overlaps no other, whatever the mix of sizes. */
    enum { PIECES = 500 };
    unsigned char *at[PIECES];
    size_t size[PIECES];
    br_rng rng = {99};
    print_message("seed %llu\n", (unsigned long long)rng.state);
    for (int i = 0; i < PIECES; i++) {
        size[i] = br_rng_below(&rng, i % 50 == 0 ? 3 * BLOCK_BYTES : 40);
        at[i] = br_arena_alloc(*state, size[i]);
        assert_int_equal((uintptr_t)at[i] % 8, 0);
        memset(at[i], i % 251, size[i]);
    }
    for (int i = 0; i < PIECES; i++)
        for (size_t j = 0; j < size[i]; j++) assert_int_equal(at[i][j], i % 251);
}

static void reset__warm_arena__hands_out_the_same_memory(void **state)
{
    /* A warm arena asks libc for nothing: the same sequence gets the same addresses again. */
    enum { PIECES = 64 };
    void *first[PIECES];
    for (int i = 0; i < PIECES; i++) first[i] = br_arena_alloc(*state, 24);
    for (int round = 0; round < 3; round++) {
        br_arena_reset(*state);
        for (int i = 0; i < PIECES; i++) assert_ptr_equal(br_arena_alloc(*state, 24), first[i]);
    }
}

static void alloc__larger_than_a_block__served_and_the_block_goes_on(void **state)
{
    /* A large request takes nothing from the current block. */
    char *before = br_arena_alloc(*state, 8);
    char *large = br_arena_alloc(*state, 10 * BLOCK_BYTES);
    char *after = br_arena_alloc(*state, 8);
    memset(large, 1, 10 * BLOCK_BYTES);
    assert_ptr_equal(after, before + 8);
}

static void copy__with_padding__same_bytes_and_null_stays_null(void **state)
{
    /* Null and empty stay apart in a copy; the padding may be read and written. FAULTS 28. */
    br_bytes copy = br_arena_copy(*state, BR_LITERAL("salt"), 64);
    assert_true(br_bytes_equal(copy, BR_LITERAL("salt")));
    memset((char *)(uintptr_t)copy.data + copy.len, 0, 64);
    assert_null(br_arena_copy(*state, BR_NO_BYTES, 64).data);
    br_bytes empty = br_arena_copy(*state, BR_LITERAL(""), 0);
    assert_non_null(empty.data);
    assert_int_equal(empty.len, 0);
}

static void destroy__null__nothing(void **state)
{
    /* Start-up failure and shutdown share one path. */
    (void)state;
    br_arena_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(alloc__many_sizes__aligned_and_apart, setup, teardown),
        cmocka_unit_test_setup_teardown(reset__warm_arena__hands_out_the_same_memory, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(alloc__larger_than_a_block__served_and_the_block_goes_on,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(copy__with_padding__same_bytes_and_null_stays_null, setup,
                                        teardown),
        cmocka_unit_test(destroy__null__nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
