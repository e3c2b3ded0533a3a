/* state/table.c - see table.h.
 * Shape:     open addressing, linear probing, a power of two of slots, at most 5/8 full. A slot
 *            holds the hash, so that a probe touches an entry only where it is (almost surely) the
 *            one. Rows leave only in br_table_committed, which builds the slots anew. */
#include "state/table.h"

#include "runtime/base/alloc.h"
#include "runtime/base/hash.h"
#include "state/key_sort.h"

enum {
    SLOTS_MIN = 64,
    ALLOCATION_BYTES = 16, /* what an allocation costs beside its size, about */
    AGES = 16,             /* commits since last use that eviction tells apart */
};

typedef struct slot {
    uint64_t hash;
    br_entry *entry; /* NULL: free */
} slot;

typedef struct entry_list {
    br_entry **at;
    size_t count, cap;
} entry_list;

struct br_table {
    br_env *env;
    size_t store;
    const br_row_type *type;
    br_budget *budget;
    int64_t bytes; /* this table's share of budget->used */
    slot *slots;
    size_t slot_count;
    size_t entry_count;
    uint64_t stored_count; /* entries whose row the store has */
    uint32_t commits;
    uint32_t payload_bytes;
    entry_list dirty, emit;
    br_buf row;      /* packed, for br_table_write */
    br_buf mark_key; /* last key that br_table_mark_next went over */
    bool mark_begun;
};

void br_table_account(br_table *table, int64_t bytes)
{
    table->bytes += bytes;
    table->budget->used = (uint64_t)((int64_t)table->budget->used + bytes);
}

/* ---- slots ---- */

static void take_slots(br_table *table, size_t count)
{
    table->slots = br_calloc(count, sizeof(*table->slots));
    table->slot_count = count;
    br_table_account(table, (int64_t)(count * sizeof(*table->slots)));
}

static void free_slots(br_table *table, slot *slots, size_t count)
{
    br_free(slots);
    br_table_account(table, -(int64_t)(count * sizeof(*slots)));
}

static bool is_crowded(size_t entries, size_t slots)
{
    return entries > slots / 8 * 5;
}

static void place(br_table *table, br_entry *entry)
{
    size_t mask = table->slot_count - 1, at = entry->hash & mask;
    while (table->slots[at].entry) at = (at + 1) & mask;
    table->slots[at] = (slot){entry->hash, entry};
}

/* Moves all entries to `count` new slots. */
static void rebuild(br_table *table, size_t count)
{
    slot *old = table->slots;
    size_t old_count = table->slot_count;
    take_slots(table, count);
    for (size_t i = 0; i < old_count; i++)
        if (old[i].entry) place(table, old[i].entry);
    free_slots(table, old, old_count);
}

static inline br_entry *look_up(const br_table *table, br_bytes key, uint64_t hash)
{
    size_t mask = table->slot_count - 1;
    for (size_t at = hash & mask; table->slots[at].entry; at = (at + 1) & mask) {
        br_entry *entry = table->slots[at].entry;
        if (table->slots[at].hash == hash && br_bytes_equal(br_entry_key(entry), key)) return entry;
    }
    return NULL;
}

/* ---- entries ---- */

static int64_t entry_bytes(const br_entry *entry)
{
    return (int64_t)(sizeof(*entry) + entry->payload_len + entry->key_len + ALLOCATION_BYTES);
}

static int64_t heap_bytes(const br_table *table, const br_entry *entry)
{
    const br_row_type *type = table->type;
    return type->heap ? (int64_t)type->heap(type->self, br_entry_payload(entry)) : 0;
}

static br_entry *entry_create(const br_table *table, br_bytes key, uint64_t hash)
{
    BR_ASSERT(key.len <= UINT32_MAX);
    br_entry *entry = br_alloc(sizeof(*entry) + table->payload_bytes + key.len);
    *entry = (br_entry){.hash = hash,
                        .version = BR_VERSION_NONE,
                        .seen = -1,
                        .used_at = table->commits,
                        .key_len = (uint32_t)key.len,
                        .payload_len = table->payload_bytes};
    char *payload = br_entry_payload(entry);
    memset(payload, 0, table->payload_bytes);
    if (key.len > 0) memcpy(payload + table->payload_bytes, key.data, key.len);
    table->type->init(table->type->self, payload);
    return entry;
}

static void entry_destroy(const br_table *table, br_entry *entry)
{
    if (table->type->dispose) table->type->dispose(table->type->self, br_entry_payload(entry));
    br_free(entry);
}

static void insert(br_table *table, br_entry *entry)
{
    if (is_crowded(table->entry_count + 1, table->slot_count))
        rebuild(table, table->slot_count * 2);
    place(table, entry);
    table->entry_count++;
    table->stored_count += entry->stored;
    br_table_account(table, entry_bytes(entry) + heap_bytes(table, entry));
}

/* Its slot is the caller's. */
static void drop(br_table *table, br_entry *entry)
{
    table->entry_count--;
    table->stored_count -= entry->stored;
    br_table_account(table, -(entry_bytes(entry) + heap_bytes(table, entry)));
    entry_destroy(table, entry);
}

/* Makes an entry of a packed row that the store has. */
static br_status load(br_table *table, br_bytes key, uint64_t hash, br_bytes row, br_entry **out,
                      br_err *err)
{
    br_entry *entry = entry_create(table, key, hash);
    br_status status = table->type->decode(table->type->self, entry, row, err);
    if (status != BR_OK) {
        entry_destroy(table, entry);
        (void)br_wrap(err, "a stored row under a key of %zu bytes", key.len);
        return status;
    }
    entry->stored = true;
    insert(table, entry);
    *out = entry;
    return BR_OK;
}

/* ---- life cycle ---- */

br_table *br_table_create(br_env *env, size_t store, const br_row_type *type, br_budget *budget)
{
    br_table *table = BR_NEW(br_table);
    BR_ASSERT(type->size <= UINT32_MAX - 7);
    table->env = env;
    table->store = store;
    table->type = type;
    table->budget = budget;
    table->payload_bytes = (uint32_t)((type->size + 7) & ~(size_t)7);
    take_slots(table, SLOTS_MIN);
    return table;
}

void br_table_destroy(br_table *table)
{
    if (!table) return;
    for (size_t i = 0; i < table->slot_count; i++)
        if (table->slots[i].entry) entry_destroy(table, table->slots[i].entry);
    br_table_account(table, -table->bytes);
    br_free(table->slots);
    br_free(table->dirty.at);
    br_free(table->emit.at);
    br_buf_dispose(&table->row);
    br_buf_dispose(&table->mark_key);
    br_free(table);
}

/* ---- the hot path ---- */

void br_table_prefetch(const br_table *table, uint64_t hash)
{
    __builtin_prefetch(&table->slots[hash & (table->slot_count - 1)]);
}

/* Where another entry has taken the slot this fetches that one: the right one is mostly behind it,
 * and not worth a search. */
void br_table_prefetch_entry(const br_table *table, uint64_t hash)
{
    const br_entry *entry = table->slots[hash & (table->slot_count - 1)].entry;
    if (!entry) return;
    __builtin_prefetch(entry);
    __builtin_prefetch((const char *)(entry + 1) + table->payload_bytes); /* its key */
}

/* NULL: not in memory. */
static inline br_entry *use(br_table *table, br_bytes key, uint64_t hash)
{
    br_entry *entry = look_up(table, key, hash);
    if (entry) entry->used_at = table->commits;
    return entry;
}

/* Not in memory. Where every row of the store is, LMDB need not be asked: so while a store still
 * fits in the cache, a new key costs no lookup. */
static br_status fetch(br_table *table, br_bytes key, uint64_t hash, br_entry **out, br_err *err)
{
    if (table->stored_count == br_env_rows(table->env, table->store)) return BR_NOT_FOUND;
    br_bytes row;
    br_status status = br_env_get(table->env, table->store, key, &row, err);
    return status == BR_OK ? load(table, key, hash, row, out, err) : status;
}

br_status br_table_find(br_table *table, br_bytes key, uint64_t hash, br_entry **out, br_err *err)
{
    *out = use(table, key, hash);
    return *out ? BR_OK : fetch(table, key, hash, out, err);
}

br_status br_table_obtain(br_table *table, br_bytes key, uint64_t hash, br_entry **out, br_err *err)
{
    *out = use(table, key, hash);
    if (*out) return BR_OK;
    br_status status = fetch(table, key, hash, out, err);
    if (status != BR_NOT_FOUND) return status;
    br_entry *entry = entry_create(table, key, hash);
    insert(table, entry);
    *out = entry;
    return BR_OK;
}

static void list_add(br_table *table, entry_list *list, br_entry *entry)
{
    size_t cap = list->cap;
    list->at = br_grow(list->at, &list->cap, list->count + 1, sizeof(br_entry *));
    list->at[list->count++] = entry;
    if (list->cap != cap) br_table_account(table, (int64_t)((list->cap - cap) * sizeof(entry)));
}

void br_table_mark_dirty(br_table *table, br_entry *entry)
{
    if (entry->dirty) return;
    entry->dirty = true;
    list_add(table, &table->dirty, entry);
}

void br_table_mark_emit(br_table *table, br_entry *entry)
{
    if (entry->emit) return;
    entry->emit = true;
    list_add(table, &table->emit, entry);
}

br_entry *const *br_table_dirty(const br_table *table, size_t *count)
{
    *count = table->dirty.count;
    return table->dirty.at;
}

br_entry *const *br_table_emit(const br_table *table, size_t *count)
{
    *count = table->emit.count;
    return table->emit.at;
}

uint64_t br_table_rows_cached(const br_table *table)
{
    return table->entry_count;
}

/* ---- marking everything ---- */

typedef struct mark_pass {
    br_table *table;
    uint64_t bytes, bytes_max;
    bool stopped;
} mark_pass;

static br_status mark_row(void *arg, br_bytes key, br_bytes row, br_err *err)
{
    mark_pass *pass = arg;
    br_table *table = pass->table;
    /* The scan begins with the row that the last one ended with. */
    if (table->mark_begun && br_bytes_equal(key, br_buf_bytes(&table->mark_key))) return BR_OK;
    if (pass->bytes >= pass->bytes_max) {
        pass->stopped = true;
        return BR_END;
    }
    uint64_t hash = br_hash64(key);
    br_entry *entry = look_up(table, key, hash);
    br_status status = entry ? BR_OK : load(table, key, hash, row, &entry, err);
    if (status != BR_OK) return status;
    entry->used_at = table->commits;
    br_table_mark_emit(table, entry);
    pass->bytes += (uint64_t)(entry_bytes(entry) + heap_bytes(table, entry));
    br_buf_reset(&table->mark_key);
    br_buf_addb(&table->mark_key, key);
    table->mark_begun = true;
    return BR_OK;
}

br_status br_table_mark_next(br_table *table, uint64_t bytes_max, bool *done, br_err *err)
{
    mark_pass pass = {.table = table, .bytes_max = bytes_max ? bytes_max : 1};
    br_bytes from = table->mark_begun ? br_buf_bytes(&table->mark_key) : BR_NO_BYTES;
    br_status status = br_env_scan(table->env, table->store, from, mark_row, &pass, err);
    if (status != BR_OK) return status;
    *done = !pass.stopped;
    return BR_OK;
}

/* ---- commit ---- */

static br_bytes key_of(const void *entry)
{
    return br_entry_key(entry);
}

br_status br_table_write(void *arg, br_env_txn *txn, br_err *err)
{
    br_table *table = arg;
    const br_row_type *type = table->type;
    if (table->dirty.count == 0) return BR_OK;
    br_sort_by_key(table->dirty.at, table->dirty.count, key_of);
    for (size_t i = 0; i < table->dirty.count; i++) {
        const br_entry *entry = table->dirty.at[i];
        br_buf_reset(&table->row);
        type->encode(type->self, entry, &table->row);
        br_status status =
            br_env_put(txn, table->store, br_entry_key(entry), br_buf_bytes(&table->row), err);
        if (status != BR_OK) return status;
    }
    return BR_OK;
}

static bool is_held(const br_entry *entry)
{
    return entry->emit || entry->pinned;
}

static size_t age_of(const br_table *table, const br_entry *entry)
{
    uint32_t age = table->commits - entry->used_at;
    return age < AGES ? age : AGES - 1;
}

/* The age from which on entries go, so that `excess` bytes are freed if that is possible at all. */
static size_t eviction_age(const br_table *table, uint64_t excess)
{
    uint64_t bytes[AGES] = {0}, sum = 0;
    for (size_t i = 0; i < table->slot_count; i++) {
        const br_entry *entry = table->slots[i].entry;
        if (entry && !is_held(entry)) bytes[age_of(table, entry)] += (uint64_t)entry_bytes(entry);
    }
    size_t age = AGES;
    while (age > 0 && sum < excess) sum += bytes[--age];
    return age;
}

/* Oldest first; of the youngest age that must go, only as many as needed. */
static void evict(br_table *table, uint64_t used_max)
{
    size_t from = eviction_age(table, table->budget->used - used_max);
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < table->slot_count && table->budget->used > used_max; i++) {
            br_entry *entry = table->slots[i].entry;
            if (!entry || is_held(entry) || age_of(table, entry) < from + (pass == 0)) continue;
            drop(table, entry);
            table->slots[i].entry = NULL;
        }
    }
    size_t count = SLOTS_MIN;
    while (is_crowded(table->entry_count * 2, count)) count *= 2;
    rebuild(table, count);
}

void br_table_stored(br_table *table)
{
    for (size_t i = 0; i < table->dirty.count; i++) {
        br_entry *entry = table->dirty.at[i];
        entry->dirty = false;
        table->stored_count += !entry->stored;
        entry->stored = true;
    }
    table->dirty.count = 0;
    uint64_t used_max = table->budget->max / 4 * 3;
    if (table->budget->used > used_max && table->entry_count > 0) evict(table, used_max);
    table->commits++;
}

void br_table_committed(br_table *table)
{
    for (size_t i = 0; i < table->emit.count; i++) table->emit.at[i]->emit = false;
    table->emit.count = 0;
    br_table_stored(table);
}
