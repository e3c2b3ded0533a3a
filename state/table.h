/* state/table.h - a store's rows, decoded, in memory: a write-back cache over one LMDB store.
 * Shape:     obtain -> change payload -> mark dirty / mark emit -> (commit) write -> committed
 * Invariant: the hot path touches only this table. LMDB changes only in br_table_write.
 *            A dirty or marked entry is never evicted.
 * Memory:    bounded by the budget, which all tables of a pipeline share; when it is spent the
 *            pipeline commits early, and br_table_committed evicts what is clean and oldest.
 *            One allocation per entry, when it comes in; a warm table allocates nothing.
 * Thread:    the task's. */
#ifndef BR_STATE_TABLE_H
#define BR_STATE_TABLE_H

#include "runtime/base/bytes.h"
#include "state/env.h"
#include "state/version.h"

typedef struct br_table br_table;

/* One row. The payload (br_row_type.size bytes, 8-byte aligned) follows, then the key. */
typedef struct br_entry {
    uint64_t hash;
    br_version version; /* up to which source offset the row is applied; stage one only */
    int64_t seen;       /* last source offset looked at for this row in this run; -1 at first */
    bool skip;          /* decision taken for `seen`: the row already holds that record */
    bool dirty, emit;   /* set through the calls below only */
    bool pinned : 1;    /* the operator's: it points here, the entry must not be evicted */
    bool stored : 1;    /* the store has this row too; the table's own */
    uint32_t used_at;   /* the table's count of commits at the last use; the table's own */
    uint32_t key_len;
    uint32_t payload_len;
} br_entry;

static inline void *br_entry_payload(const br_entry *entry)
{
    return (char *)(uintptr_t)(entry + 1);
}

static inline br_bytes br_entry_key(const br_entry *entry)
{
    return br_bytes_of((const char *)(entry + 1) + entry->payload_len, entry->key_len);
}

/* How a row's payload is made and coded; const, given by the operator. */
typedef struct br_row_type {
    size_t size;
    const void *self;
    void (*init)(const void *self, void *payload);    /* payload memory is zeroed before */
    void (*dispose)(const void *self, void *payload); /* frees what the payload owns */
    /* Appends the packed Brine__State__Row of entry (version and payload) to out. */
    void (*encode)(const void *self, const br_entry *entry, br_buf *out);
    /* Fills version and payload (initialised) from a packed Row. BR_ERR_CORRUPT. */
    br_status (*decode)(const void *self, br_entry *entry, br_bytes row, br_err *err);
    /* [optional] Bytes that the payload owns now: counted when a row is loaded, given back when it
     * goes. Between the two, br_table_account keeps the budget right. */
    size_t (*heap)(const void *self, const void *payload);
} br_row_type;

/* Shared by the tables of one pipeline. */
typedef struct br_budget {
    uint64_t used, max; /* bytes */
} br_budget;

static inline bool br_budget_spent(const br_budget *budget)
{
    return budget->used > budget->max;
}

/* Borrows env, type and budget, which outlive it. */
br_table *br_table_create(br_env *env, size_t store, const br_row_type *type, br_budget *budget);
void br_table_destroy(br_table *table); /* drops everything unwritten; NULL is fine */

/* Starts to load the slot of `hash` into the processor's cache. */
void br_table_prefetch(const br_table *table, uint64_t hash);
/* The same for the entry in that slot, which must be in the processor's cache by now. */
void br_table_prefetch_entry(const br_table *table, uint64_t hash);
/* BR_OK, loading the row from LMDB if need be; BR_NOT_FOUND. hash = br_hash64(key). *out is good
 * until the next br_table_committed. */
BR_MUST_USE br_status br_table_find(br_table *table, br_bytes key, uint64_t hash, br_entry **out,
                                    br_err *err);
/* The same; makes an empty row (version none) where there is none. */
BR_MUST_USE br_status br_table_obtain(br_table *table, br_bytes key, uint64_t hash, br_entry **out,
                                      br_err *err);
/* The payload's own memory grew or shrank by this much: kept in the budget. */
void br_table_account(br_table *table, int64_t bytes);
void br_table_mark_dirty(br_table *table, br_entry *entry);
void br_table_mark_emit(br_table *table, br_entry *entry);

/* What is marked, in no order. Borrows until the next mark or commit. */
br_entry *const *br_table_dirty(const br_table *table, size_t *count);
br_entry *const *br_table_emit(const br_table *table, size_t *count);

/* Marks rows of the store for emission, in key order, from where the last call stopped, until about
 * bytes_max of them are loaded. *done: the store's end was reached. For a start with state but
 * without committed offsets: call, commit, call again until done. */
BR_MUST_USE br_status br_table_mark_next(br_table *table, uint64_t bytes_max, bool *done,
                                         br_err *err);

/* For br_env_write: puts all dirty rows, sorted by key. Repeatable. arg is the table. */
BR_MUST_USE br_status br_table_write(void *table, br_env_txn *txn, br_err *err);
/* The transaction is committed: nothing is dirty or marked any more; evicts down to the budget. */
void br_table_committed(br_table *table);
/* The same after a transaction that nothing was emitted before: marks for emission stay, and what
 * has one is not evicted. */
void br_table_stored(br_table *table);
uint64_t br_table_rows_cached(const br_table *table);

#endif
