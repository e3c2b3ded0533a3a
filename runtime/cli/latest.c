/* runtime/cli/latest.c - see latest.h. */
#include "runtime/cli/latest.h"

#include "runtime/base/alloc.h"
#include "runtime/base/hash.h"

#include <stdlib.h>

enum { SLOTS_FIRST = 1024 };

/* A key that was seen; without a value after a null one, so that probing goes on behind it. */
typedef struct item {
    uint64_t hash;
    br_record record; /* its bytes are owned; no headers */
    size_t value_cap;
} item;

struct br_latest {
    item **slots;      /* NULL: free */
    size_t slot_count; /* a power of two */
    size_t used;
};

br_latest *br_latest_create(void)
{
    br_latest *latest = BR_NEW(br_latest);
    latest->slot_count = SLOTS_FIRST;
    latest->slots = br_calloc(latest->slot_count, sizeof(item *));
    return latest;
}

static void *memory_of(br_bytes bytes)
{
    return (void *)(uintptr_t)bytes.data;
}

void br_latest_destroy(br_latest *latest)
{
    if (!latest) return;
    for (size_t i = 0; i < latest->slot_count; i++) {
        item *it = latest->slots[i];
        if (!it) continue;
        br_free(memory_of(it->record.key));
        br_free(memory_of(it->record.value));
        br_free(it);
    }
    br_free(latest->slots);
    br_free(latest);
}

static size_t find_slot(const br_latest *latest, br_bytes key, uint64_t hash)
{
    size_t mask = latest->slot_count - 1, i = hash & mask;
    for (; latest->slots[i]; i = (i + 1) & mask)
        if (latest->slots[i]->hash == hash && br_bytes_equal(latest->slots[i]->record.key, key))
            break;
    return i;
}

/* Keeps at least half of the slots free. */
static void make_room(br_latest *latest)
{
    if (latest->used * 2 < latest->slot_count) return;
    br_latest grown = {.slot_count = latest->slot_count * 2};
    grown.slots = br_calloc(grown.slot_count, sizeof(item *));
    for (size_t i = 0; i < latest->slot_count; i++) {
        item *it = latest->slots[i];
        if (it) grown.slots[find_slot(&grown, it->record.key, it->hash)] = it;
    }
    br_free(latest->slots);
    latest->slots = grown.slots;
    latest->slot_count = grown.slot_count;
}

static void set_value(item *it, br_bytes value)
{
    void *memory = memory_of(it->record.value);
    if (!value.data) {
        br_free(memory);
        it->record.value = BR_NO_BYTES;
        it->value_cap = 0;
        return;
    }
    if (!memory || value.len > it->value_cap) {
        memory = br_realloc(memory, value.len);
        it->value_cap = value.len;
    }
    if (value.len > 0) memcpy(memory, value.data, value.len);
    it->record.value = br_bytes_of(memory, value.len);
}

void br_latest_put(br_latest *latest, const br_record *record)
{
    make_room(latest);
    uint64_t hash = br_hash64(record->key);
    size_t slot = find_slot(latest, record->key, hash);
    item *it = latest->slots[slot];
    if (!it) {
        it = BR_NEW(item);
        it->hash = hash;
        it->record.key =
            br_bytes_of(br_strndup(record->key.data, record->key.len), record->key.len);
        latest->slots[slot] = it;
        latest->used++;
    }
    it->record.topic = record->topic;
    it->record.partition = record->partition;
    it->record.offset = record->offset;
    it->record.timestamp_ms = record->timestamp_ms;
    set_value(it, record->value);
}

static int by_key(const void *a, const void *b)
{
    const item *const *x = a, *const *y = b;
    return br_bytes_compare((*x)->record.key, (*y)->record.key);
}

br_status br_latest_each(br_latest *latest, br_latest_visit visit, void *arg, br_err *err)
{
    const item **sorted = br_calloc(latest->used, sizeof(*sorted));
    size_t count = 0;
    for (size_t i = 0; i < latest->slot_count; i++)
        if (latest->slots[i] && latest->slots[i]->record.value.data)
            sorted[count++] = latest->slots[i];
    qsort(sorted, count, sizeof(*sorted), by_key);
    br_status st = BR_OK;
    for (size_t i = 0; st == BR_OK && i < count; i++) st = visit(arg, &sorted[i]->record, err);
    br_free(sorted);
    return st;
}
