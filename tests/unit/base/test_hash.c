/* tests/unit/base/test_hash.c - partitions equal to the Java client's, and stable stored hashes. */
#include "runtime/base/hash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static void partition__of_known_keys__as_java_chooses(void **state)
{
    /* The default partitioner of the Java client, bit for bit. FAULTS 27. */
    static const struct {
        const char *key;
        int32_t partitions, partition;
    } cases[] = {
        {"TT0124", 15, 10}, {"wu", 10, 0},      {"fd7af248-ce5c-46a5-93d7-1c0c9005b99d", 32, 26},
        {"k1", 6, 5},       {"k8", 6, 2},       {"k5", 6, 0},
        {"", 6, 3},         {"k2", 3, 0},       {"k2", 4, 1},
        {"camp-1#0", 3, 2}, {"camp-1#1", 3, 2}, {"camp-1#0", 4, 0},
        {"camp-1#1", 4, 3}, {"anything", 1, 0},
    };
    (void)state;
    for (size_t i = 0; i < BR_COUNTOF(cases); i++)
        assert_int_equal(br_partition_of(br_str(cases[i].key), cases[i].partitions),
                         cases[i].partition);
}

static void murmur2__empty_key__its_known_hash(void **state)
{
    /* The seed is mixed in, and the empty key is hashed like any other. FAULTS 27. */
    (void)state;
    assert_int_equal(br_murmur2(BR_LITERAL("")), 0x106e08d9);
}

static void murmur2__bytes_above_127__unsigned(void **state)
{
    /* The values of org.apache.kafka.common.utils.UtilsTest, which have tails of 0 to 3 bytes. */
    static const struct {
        const char *key;
        int32_t hash;
    } cases[] = {
        {"21", -973932308},
        {"foobar", -790332482},
        {"a-little-bit-long-string", -985981536},
        {"a-little-bit-longer-string", -1486304829},
        {"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971},
        {"abc", 479470107},
    };
    (void)state;
    for (size_t i = 0; i < BR_COUNTOF(cases); i++)
        assert_int_equal((int32_t)br_murmur2(br_str(cases[i].key)), cases[i].hash);
    /* 0xff must be taken as 255: sign extension would give another partition. */
    assert_int_not_equal(br_murmur2(br_bytes_of("\xff\xfe", 2)),
                         br_murmur2(br_bytes_of("\x7f\x7e", 2)));
}

static void hash128__stored_in_keys__never_changes(void **state)
{
    /* Long keys are stored under this hash: another value would lose them. XXH3's own vector. */
    static const unsigned char of_nothing[16] = {0x99, 0xaa, 0x06, 0xd3, 0x01, 0x47, 0x98, 0xd8,
                                                 0x60, 0x01, 0xc3, 0x24, 0x46, 0x8d, 0x49, 0x7f};
    char out[16], other[16];
    (void)state;
    br_hash128(BR_LITERAL(""), out);
    assert_memory_equal(out, of_nothing, sizeof(out));
    br_hash128(BR_LITERAL("a"), other);
    assert_memory_not_equal(out, other, sizeof(out));
    assert_true(br_hash64(BR_LITERAL("")) == UINT64_C(0x2d06800538d394c2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(partition__of_known_keys__as_java_chooses),
        cmocka_unit_test(murmur2__empty_key__its_known_hash),
        cmocka_unit_test(murmur2__bytes_above_127__unsigned),
        cmocka_unit_test(hash128__stored_in_keys__never_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
