/* tests/unit/base/test_bytes.c - borrowed bytes, their order, and the growing buffer. */
#include "runtime/base/bytes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static int sign(int n)
{
    return (n > 0) - (n < 0);
}

static void compare__byte_strings__memcmp_then_length(void **state)
{
    /* Unsigned bytes decide, then the shorter comes first; NUL is a byte like any other. */
    static const br_bytes ascending[] = {{"", 0},     {"\0", 1}, {"a", 1}, {"a\0", 2},
                                         {"a\0b", 3}, {"aa", 2}, {"b", 1}, {"\xff", 1}};
    (void)state;
    for (int i = 0; i < (int)BR_COUNTOF(ascending); i++)
        for (int j = 0; j < (int)BR_COUNTOF(ascending); j++) {
            assert_int_equal(sign(br_bytes_compare(ascending[i], ascending[j])), sign(i - j));
            assert_int_equal(br_bytes_equal(ascending[i], ascending[j]), i == j);
        }
}

static void null_and_empty__are_apart__by_the_pointer(void **state)
{
    /* A Kafka null and an empty value must never be taken for each other. FAULTS 28. */
    br_buf buf = {0};
    (void)state;
    assert_null(BR_NO_BYTES.data);
    assert_non_null(BR_LITERAL("").data);
    assert_non_null(br_buf_bytes(&buf).data);
    assert_int_equal(br_buf_bytes(&buf).len, 0);
    br_buf_dispose(&buf);
}

static void buffer__added_to_in_every_way__holds_it_all(void **state)
{
    /* The buffer grows as needed and keeps NULs; the C string ends behind them. */
    br_buf buf = {0};
    (void)state;
    br_buf_adds(&buf, "ad");
    br_buf_addc(&buf, '_');
    br_buf_printf(&buf, "%d_%s", 7, "x");
    br_buf_addb(&buf, br_bytes_of("\0z", 2));
    br_buf_add(&buf, NULL, 0);
    assert_true(br_bytes_equal(br_buf_bytes(&buf), br_bytes_of("ad_7_x\0z", 8)));
    assert_int_equal(br_buf_cstr(&buf)[8], 0);
    for (int i = 0; i < 10000; i++) br_buf_printf(&buf, "%05d", i);
    assert_int_equal(buf.len, 50008);
    assert_memory_equal(buf.data + 50003, "09999", 5);
    br_buf_dispose(&buf);
    assert_null(buf.data);
}

static void buffer__reset__keeps_its_memory(void **state)
{
    /* A warm buffer allocates nothing. */
    br_buf buf = {0};
    (void)state;
    br_buf_reserve(&buf, 1000);
    const char *memory = buf.data;
    for (int i = 0; i < 10; i++) {
        br_buf_reset(&buf);
        br_buf_printf(&buf, "%900d", i);
        assert_ptr_equal(buf.data, memory);
    }
    br_buf_dispose(&buf);
}

static void big_endian__any_number__order_of_bytes_is_order_of_numbers(void **state)
{
    /* Keys with a number in them sort by it. */
    static const uint64_t ascending[] = {0, 1, 255, 256, UINT32_MAX, UINT64_C(1) << 63, UINT64_MAX};
    (void)state;
    for (size_t i = 0; i < BR_COUNTOF(ascending); i++) {
        char out[8], next[8];
        br_put_u64_be(out, ascending[i]);
        assert_true(br_get_u64_be(out) == ascending[i]);
        if (i + 1 == BR_COUNTOF(ascending)) break;
        br_put_u64_be(next, ascending[i + 1]);
        assert_true(memcmp(out, next, 8) < 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compare__byte_strings__memcmp_then_length),
        cmocka_unit_test(null_and_empty__are_apart__by_the_pointer),
        cmocka_unit_test(buffer__added_to_in_every_way__holds_it_all),
        cmocka_unit_test(buffer__reset__keeps_its_memory),
        cmocka_unit_test(big_endian__any_number__order_of_bytes_is_order_of_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
