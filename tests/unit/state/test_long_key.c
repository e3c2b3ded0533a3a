/* tests/unit/state/test_long_key.c - what stands in LMDB for keys of any length. */
#include "unit/state/fixture.h"

#include "state/long_key.h"

#include <proto/state.pb-c.h>

static void stored_key__by_length_and_first_byte__plain_or_hashed(void **state)
{
    /* Keys of 1 to 480 bytes whose first is below 0xfe stand for themselves; others are hashed. */
    (void)state;
    static const struct {
        size_t len;
        unsigned char first;
        bool plain;
    } cases[] = {{0, 0, false},     {1, 0, true},      {1, 0xfd, true},     {1, 0xfe, false},
                 {1, 0xff, false},  {480, 'a', true},  {481, 'a', false},   {511, 'a', false},
                 {512, 'a', false}, {600, 'a', false}, {100000, 'a', false}};
    static char key[100000];
    for (size_t i = 0; i < BR_COUNTOF(cases); i++) {
        char room[BR_LONG_KEY_BYTES];
        key[0] = (char)cases[i].first;
        br_bytes given = br_bytes_of(key, cases[i].len), stored = br_stored_key(given, room);
        assert_int_equal(br_key_is_plain(given), cases[i].plain);
        assert_int_equal(br_stored_key_is_long(stored), !cases[i].plain);
        assert_int_equal(br_bytes_equal(stored, given), cases[i].plain);
        assert_true(stored.len >= 1 && stored.len <= 511);
    }
}

static void stored_key_compare__long_and_plain__long_ones_last(void **state)
{
    /* The order is that of the stored bytes: every long key behind every plain one. */
    (void)state;
    char longer[600];
    memset(longer, 0, sizeof(longer));
    br_bytes big = br_bytes_of(longer, sizeof(longer)), plain = BR_LITERAL("\xfd\xff");
    assert_true(br_stored_key_compare(plain, big) < 0);
    assert_true(br_stored_key_compare(big, plain) > 0);
    assert_true(br_stored_key_compare(plain, BR_LITERAL("")) < 0);
    assert_int_equal(br_stored_key_compare(big, big), 0);
    assert_true(br_stored_key_compare(BR_LITERAL("a"), BR_LITERAL("ab")) < 0);
}

static void long_key_prefix__with_key_and_row__parses_as_row_with_key(void **state)
{
    /* A stored value of a long key is a Row whose field 1 is the key, and splits into both. */
    (void)state;
    static const size_t lens[] = {0, 127, 128, 600, 16383, 16384, 100000};
    Brine__State__Version version = BRINE__STATE__VERSION__INIT;
    Brine__State__Row row = BRINE__STATE__ROW__INIT, *back;
    version.has_offset = true;
    version.offset = 77;
    row.version = &version;
    uint8_t packed[64];
    size_t packed_len = brine__state__row__pack(&row, packed);
    for (size_t i = 0; i < BR_COUNTOF(lens); i++) {
        br_buf stored = {0};
        char prefix[BR_LONG_KEY_PREFIX_MAX], *key = br_calloc(lens[i], 1);
        br_buf_add(&stored, prefix, br_long_key_prefix(lens[i], prefix));
        br_buf_add(&stored, key, lens[i]);
        br_buf_add(&stored, packed, packed_len);
        back = brine__state__row__unpack(NULL, stored.len, (uint8_t *)stored.data);
        assert_non_null(back);
        assert_int_equal(back->key.len, lens[i]);
        assert_int_equal(back->version->offset, 77);
        brine__state__row__free_unpacked(back, NULL);
        br_bytes found, val;
        assert_true(br_long_key_split(br_buf_bytes(&stored), &found, &val));
        assert_int_equal(found.len, lens[i]);
        assert_true(br_bytes_equal(val, br_bytes_of(packed, packed_len)));
        br_buf_dispose(&stored);
        br_free(key);
    }
}

static void long_key_split__not_a_prefix__refused(void **state)
{
    /* Cut, foreign and overlong prefixes are refused without reading past the value. */
    (void)state;
    static const br_bytes cases[] = {
        {"", 0},         {"\x0a", 1},     {"\x12\x00", 2},
        {"\x0a\x01", 2}, {"\x0a\x80", 2}, {"\x0a\xff\xff\xff\xff\xff\x01", 7},
    };
    for (size_t i = 0; i < BR_COUNTOF(cases); i++) {
        br_bytes key, val;
        assert_false(br_long_key_split(cases[i], &key, &val));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stored_key__by_length_and_first_byte__plain_or_hashed),
        cmocka_unit_test(stored_key_compare__long_and_plain__long_ones_last),
        cmocka_unit_test(long_key_prefix__with_key_and_row__parses_as_row_with_key),
        cmocka_unit_test(long_key_split__not_a_prefix__refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
