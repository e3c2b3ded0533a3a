/* state/key_sort.c - see key_sort.h. */
#include "state/key_sort.h"

#include "runtime/base/alloc.h"
#include "state/long_key.h"

#include <stdlib.h>

enum { DIGITS = sizeof(uint64_t), VALUES = 256 };

typedef struct item {
    uint64_t prefix; /* big endian; a key that ends is filled up with zeros */
    void *row;
} item;

typedef struct sort {
    br_key_of key_of;
    item *items, *room; /* count each */
    size_t count;
} sort;

static size_t common_len(br_bytes a, br_bytes b, size_t max)
{
    size_t len = 0;
    if (max > a.len) max = a.len;
    if (max > b.len) max = b.len;
    while (len < max && a.data[len] == b.data[len]) len++;
    return len;
}

/* How many bytes all keys begin with. */
static size_t shared_len(const sort *s)
{
    char room_first[BR_LONG_KEY_BYTES], room[BR_LONG_KEY_BYTES];
    br_bytes first = br_stored_key(s->key_of(s->items[0].row), room_first);
    size_t len = first.len;
    for (size_t i = 1; len > 0 && i < s->count; i++)
        len = common_len(first, br_stored_key(s->key_of(s->items[i].row), room), len);
    return len;
}

static uint64_t prefix_of(br_bytes key, size_t skip)
{
    char room[BR_LONG_KEY_BYTES], bytes[DIGITS] = {0};
    br_bytes stored = br_stored_key(key, room);
    size_t left = stored.len - skip;
    if (left >= DIGITS) return br_get_u64_be(stored.data + skip);
    memcpy(bytes, stored.data + skip, left);
    return br_get_u64_be(bytes);
}

static size_t digit_of(const item *at, int digit)
{
    return at->prefix >> (8 * digit) & (VALUES - 1);
}

/* Moves the items into the order of one digit, keeping that of the lower ones. */
static void sort_digit(sort *s, int digit, const uint32_t counts[VALUES])
{
    if (counts[digit_of(&s->items[0], digit)] == s->count) return; /* all have the same */
    size_t starts[VALUES], next = 0;
    for (int value = 0; value < VALUES; value++) {
        starts[value] = next;
        next += counts[value];
    }
    for (size_t i = 0; i < s->count; i++)
        s->room[starts[digit_of(&s->items[i], digit)]++] = s->items[i];
    item *sorted = s->room;
    s->room = s->items;
    s->items = sorted;
}

static void sort_by_prefix(sort *s)
{
    uint32_t counts[DIGITS][VALUES] = {{0}};
    for (size_t i = 0; i < s->count; i++)
        for (int digit = 0; digit < DIGITS; digit++) counts[digit][digit_of(&s->items[i], digit)]++;
    for (int digit = 0; digit < DIGITS; digit++) sort_digit(s, digit, counts[digit]);
}

static int compare_keys(const void *a, const void *b, void *arg)
{
    const item *x = a, *y = b;
    const sort *s = arg;
    return br_stored_key_compare(s->key_of(x->row), s->key_of(y->row));
}

static void sort_equal_prefixes(sort *s)
{
    for (size_t begin = 0, end; begin < s->count; begin = end) {
        end = begin + 1;
        while (end < s->count && s->items[end].prefix == s->items[begin].prefix) end++;
        if (end - begin > 1) qsort_r(s->items + begin, end - begin, sizeof(item), compare_keys, s);
    }
}

static void take_rows(sort *s, const char *rows)
{
    for (size_t i = 0; i < s->count; i++)
        memcpy(&s->items[i].row, rows + i * sizeof(void *), sizeof(void *));
    size_t skip = shared_len(s);
    for (size_t i = 0; i < s->count; i++)
        s->items[i].prefix = prefix_of(s->key_of(s->items[i].row), skip);
}

static void give_rows(const sort *s, char *rows)
{
    for (size_t i = 0; i < s->count; i++)
        memcpy(rows + i * sizeof(void *), &s->items[i].row, sizeof(void *));
}

void br_sort_by_key(void *rows, size_t count, br_key_of key_of)
{
    if (count < 2) return;
    BR_ASSERT(count <= UINT32_MAX);
    item *memory = br_alloc(2 * count * sizeof(*memory));
    sort s = {.key_of = key_of, .items = memory, .room = memory + count, .count = count};
    take_rows(&s, rows);
    sort_by_prefix(&s);
    sort_equal_prefixes(&s);
    give_rows(&s, rows);
    br_free(memory);
}
