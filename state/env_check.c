/* state/env_check.c - see env_check.h.
 * Shape: meta pages -> free tree -> main tree -> one tree per sub-database found in it. Page
 *        buffers: one per level, so that a parent's keys stay readable as bounds of its children.
 */
#include "state/env_check.h"

#include "runtime/base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert(sizeof(size_t) == 8, "page numbers and lists of free pages are 64-bit");

enum {
    PAGE_HEADER = 16,
    NODE_HEADER = 8,
    META_BYTES = PAGE_HEADER + 24 + 96 + 16,
    FIRST_PAGE = 2, /* behind the two meta pages */
    DEPTH_MAX = 32, /* LMDB's cursor stack */
    KEY_MAX = 511,
    TREE_BYTES = 48,
    DATA_VERSION = 1,
    PAGE_BYTES_MIN = 256,
    PAGE_BYTES_MAX = 65536,
};
enum { PAGE_BRANCH = 0x01, PAGE_LEAF = 0x02, PAGE_OVERFLOW = 0x04, PAGE_META = 0x08 };
enum { NODE_BIG = 0x01, NODE_TREE = 0x02 };
#define META_MAGIC 0xBEEFC0DEU
#define NO_ROOT UINT64_MAX
#define UNWRITTEN_BYTES_MAX ((uint64_t)16 << 30)
#define MAP_BYTES_MAX ((uint64_t)1 << 44)

/* MDB_db, as stored. */
typedef struct tree {
    uint32_t pad;
    uint16_t flags, depth;
    uint64_t branch_pages, leaf_pages, overflow_pages, entries, root;
} tree;
_Static_assert(sizeof(tree) == TREE_BYTES, "layout of MDB_db");

typedef struct meta {
    uint32_t magic, version;
    uint64_t address, map_bytes;
    tree free, main;
    uint64_t last_page, txn_id;
} meta;
_Static_assert(sizeof(meta) == META_BYTES - PAGE_HEADER, "layout of MDB_meta");

typedef struct node {
    br_bytes key;
    uint64_t child;  /* branch: page */
    uint16_t flags;  /* leaf */
    uint32_t size;   /* leaf: of the value */
    const char *val; /* leaf: where the value, or the number of its overflow page, stands */
} node;

typedef enum tree_kind { TREE_FREE, TREE_MAIN, TREE_STORE } tree_kind;

typedef struct checker {
    const char *path;
    int fd;
    uint64_t file_bytes;
    uint32_t page_bytes;
    uint64_t page_count;
    uint8_t *used; /* a bit per page */
    char *level[DEPTH_MAX];
    tree_kind kind;
    uint16_t depth;
    uint64_t entries;
    tree *stores; /* found in the main tree */
    size_t store_count, store_cap;
    br_err *err;
} checker;

static uint16_t get_u16(const char *at)
{
    uint16_t v;
    memcpy(&v, at, sizeof(v));
    return v;
}

static uint64_t get_u64(const char *at)
{
    uint64_t v;
    memcpy(&v, at, sizeof(v));
    return v;
}

static br_status damaged(checker *c, uint64_t page, const char *what)
{
    (void)br_fail(c->err, BR_ERR_CORRUPT, "%s is damaged: page %" PRIu64 ": %s", c->path, page,
                  what);
    return BR_ERR_CORRUPT;
}

/* BR_ERR_CORRUPT where the file ends before. */
static br_status read_at(checker *c, void *out, size_t len, uint64_t page, size_t skip)
{
    size_t done = 0;
    while (done < len) {
        off_t at = (off_t)(page * c->page_bytes + skip + done);
        ssize_t n = pread(c->fd, (char *)out + done, len - done, at);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) {
            (void)br_fail_errno(c->err, BR_ERR_IO, errno, "cannot read %s", c->path);
            return BR_ERR_IO;
        }
        if (n == 0) return damaged(c, page, "the file ends before it");
        done += (size_t)n;
    }
    return BR_OK;
}

/* Notes that pages are used; each may be only once. */
static br_status use_pages(checker *c, uint64_t page, uint64_t count)
{
    if (page < FIRST_PAGE || count > c->page_count || page > c->page_count - count)
        return damaged(c, page, "no such page");
    for (uint64_t at = page; at < page + count; at++) {
        uint8_t bit = (uint8_t)(1U << (at % 8));
        if (c->used[at / 8] & bit) return damaged(c, at, "used twice");
        c->used[at / 8] |= bit;
    }
    return BR_OK;
}

static size_t node_count(const char *page)
{
    return (get_u16(page + 12) - (size_t)PAGE_HEADER) / 2;
}

static br_status load_page(checker *c, uint64_t number, unsigned level, uint16_t flags)
{
    br_status status = use_pages(c, number, 1);
    if (status != BR_OK) return status;
    if (!c->level[level]) c->level[level] = br_alloc(c->page_bytes);
    char *page = c->level[level];
    status = read_at(c, page, c->page_bytes, number, 0);
    if (status != BR_OK) return status;
    uint16_t lower = get_u16(page + 12), upper = get_u16(page + 14);
    if (get_u64(page) != number) return damaged(c, number, "carries another page's number");
    if (get_u16(page + 10) != flags) return damaged(c, number, "is of another kind than expected");
    if (lower < PAGE_HEADER || lower % 2 != 0 || lower > upper || upper > c->page_bytes)
        return damaged(c, number, "its bounds make no sense");
    return BR_OK;
}

/* Takes node `index` of a loaded page apart. */
static br_status read_node(checker *c, uint64_t number, const char *page, size_t index, node *out)
{
    size_t at = get_u16(page + PAGE_HEADER + 2 * index);
    if (at < get_u16(page + 14) || at + NODE_HEADER > c->page_bytes)
        return damaged(c, number, "a node lies outside of it");
    const char *head = page + at;
    size_t room = c->page_bytes - at - NODE_HEADER;
    size_t key_len = get_u16(head + 6);
    if (key_len > KEY_MAX || key_len > room) return damaged(c, number, "a key does not fit in it");
    out->key = br_bytes_of(head + NODE_HEADER, key_len);
    out->val = head + NODE_HEADER + key_len;
    out->size = get_u16(head) | (uint32_t)get_u16(head + 2) << 16;
    out->flags = get_u16(head + 4);
    out->child = out->size | (uint64_t)out->flags << 32;
    if (get_u16(page + 10) == PAGE_BRANCH) return BR_OK;
    size_t stored = out->flags & NODE_BIG ? sizeof(uint64_t) : out->size;
    if (stored > room - key_len) return damaged(c, number, "a value does not fit in it");
    if (out->flags & ~(NODE_BIG | NODE_TREE)) return damaged(c, number, "a node of unknown kind");
    if (key_len == 0 || (c->kind == TREE_FREE && key_len != sizeof(uint64_t)))
        return damaged(c, number, "a key of wrong length");
    return BR_OK;
}

static int compare_keys(const checker *c, br_bytes a, br_bytes b)
{
    if (c->kind != TREE_FREE) return br_bytes_compare(a, b);
    uint64_t x = get_u64(a.data), y = get_u64(b.data);
    return (x > y) - (x < y);
}

/* low and high: [optional] bounds of the subtree, low included. */
static bool within(const checker *c, br_bytes key, br_bytes low, br_bytes high)
{
    return (!low.data || compare_keys(c, low, key) <= 0) &&
           (!high.data || compare_keys(c, key, high) < 0);
}

/* A value in pages of its own; *page: the first. */
static br_status check_big(checker *c, const node *big, uint64_t *page)
{
    char header[PAGE_HEADER];
    *page = get_u64(big->val);
    uint64_t need = (PAGE_HEADER - 1 + (uint64_t)big->size) / c->page_bytes + 1;
    br_status status = use_pages(c, *page, 1);
    if (status == BR_OK) status = read_at(c, header, sizeof(header), *page, 0);
    if (status != BR_OK) return status;
    uint32_t pages;
    memcpy(&pages, header + 12, sizeof(pages));
    if (get_u64(header) != *page || get_u16(header + 10) != PAGE_OVERFLOW || pages < need)
        return damaged(c, *page, "is not the value that was expected there");
    if (pages > 1) status = use_pages(c, *page + 1, pages - 1);
    if (status == BR_OK && (*page + need) * c->page_bytes > c->file_bytes)
        return damaged(c, *page, "the file ends inside of its value");
    return status;
}

/* A list of free pages: count, then page numbers in descending order. */
static br_status check_free_list(checker *c, uint64_t number, const char *list, uint32_t size)
{
    if (size < sizeof(uint64_t)) return damaged(c, number, "a list of free pages is cut");
    uint64_t count = get_u64(list), before = UINT64_MAX;
    if (count > size / sizeof(uint64_t) - 1)
        return damaged(c, number, "a list of free pages is longer than its value");
    for (uint64_t i = 1; i <= count; i++) {
        uint64_t page = get_u64(list + i * sizeof(uint64_t));
        if (page >= before) return damaged(c, number, "a list of free pages is out of order");
        br_status status = use_pages(c, page, 1);
        if (status != BR_OK) return status;
        before = page;
    }
    return BR_OK;
}

static br_status check_big_free_list(checker *c, uint64_t page, uint32_t size)
{
    char *list = br_alloc(size); /* not above the file's size: check_big has seen to that */
    br_status status = read_at(c, list, size, page, PAGE_HEADER);
    if (status == BR_OK) status = check_free_list(c, page, list, size);
    br_free(list);
    return status;
}

static br_status note_store(checker *c, uint64_t number, const node *at)
{
    if (at->size != TREE_BYTES || at->flags != NODE_TREE)
        return damaged(c, number, "a sub-database's entry makes no sense");
    c->stores = br_grow(c->stores, &c->store_cap, c->store_count + 1, sizeof(*c->stores));
    memcpy(&c->stores[c->store_count], at->val, TREE_BYTES);
    if (c->stores[c->store_count++].flags != 0)
        return damaged(c, number, "a sub-database of unknown kind");
    return BR_OK;
}

static br_status check_value(checker *c, uint64_t number, const node *at)
{
    if (at->flags & NODE_TREE)
        return c->kind == TREE_MAIN ? note_store(c, number, at)
                                    : damaged(c, number, "a sub-database where none can be");
    if (!(at->flags & NODE_BIG))
        return c->kind == TREE_FREE ? check_free_list(c, number, at->val, at->size) : BR_OK;
    uint64_t page;
    br_status status = check_big(c, at, &page);
    if (status == BR_OK && c->kind == TREE_FREE) status = check_big_free_list(c, page, at->size);
    return status;
}

static br_status check_leaf(checker *c, uint64_t number, unsigned level, br_bytes low,
                            br_bytes high)
{
    br_status status = load_page(c, number, level, PAGE_LEAF);
    if (status != BR_OK) return status;
    const char *page = c->level[level];
    br_bytes before = BR_NO_BYTES;
    size_t count = node_count(page);
    for (size_t i = 0; i < count; i++) {
        node at = {0};
        status = read_node(c, number, page, i, &at);
        if (status != BR_OK) return status;
        if (!within(c, at.key, low, high) || (before.data && compare_keys(c, before, at.key) >= 0))
            return damaged(c, number, "its keys are out of order");
        status = check_value(c, number, &at);
        if (status != BR_OK) return status;
        before = at.key;
    }
    c->entries += count;
    return BR_OK;
}

/* Recursion is bounded by DEPTH_MAX. */
static br_status check_subtree(checker *c, uint64_t number, unsigned level, br_bytes low,
                               br_bytes high)
{
    if (level + 1U == c->depth) return check_leaf(c, number, level, low, high);
    br_status status = load_page(c, number, level, PAGE_BRANCH);
    if (status != BR_OK) return status;
    const char *page = c->level[level];
    size_t count = node_count(page);
    if (count == 0) return damaged(c, number, "is an empty branch");
    for (size_t i = 0; i < count; i++) {
        node at = {0}, next = {.key = high};
        status = read_node(c, number, page, i, &at);
        if (status == BR_OK && i + 1 < count) status = read_node(c, number, page, i + 1, &next);
        if (status != BR_OK) return status;
        /* The first child of a branch has no key: it begins where the branch does. */
        br_bytes from = i == 0 ? low : at.key;
        size_t key_len = c->kind == TREE_FREE ? sizeof(uint64_t) : 1;
        if ((i > 0 && at.key.len < key_len) || (i + 1 < count && next.key.len < key_len))
            return damaged(c, number, "a branch without a key");
        status = check_subtree(c, at.child, level + 1, from, next.key);
        if (status != BR_OK) return status;
    }
    return BR_OK;
}

static br_status check_tree(checker *c, const tree *t, tree_kind kind)
{
    c->kind = kind;
    c->depth = t->depth;
    c->entries = 0;
    if (t->root == NO_ROOT) {
        if (t->entries == 0) return BR_OK;
        return damaged(c, 0, "a tree has entries but no page");
    }
    if (t->depth == 0 || t->depth > DEPTH_MAX) return damaged(c, t->root, "a tree's depth");
    br_status status = check_subtree(c, t->root, 0, BR_NO_BYTES, BR_NO_BYTES);
    if (status == BR_OK && c->entries != t->entries)
        return damaged(c, t->root, "a tree holds another number of entries than it says");
    return status;
}

static br_status check_trees(checker *c, const meta *m)
{
    c->page_count = m->last_page + 1;
    c->used = br_calloc(c->page_count / 8 + 1, 1);
    br_status status = check_tree(c, &m->free, TREE_FREE);
    if (status == BR_OK) status = check_tree(c, &m->main, TREE_MAIN);
    for (size_t i = 0; status == BR_OK && i < c->store_count; i++) {
        tree store = c->stores[i];
        status = check_tree(c, &store, TREE_STORE);
    }
    return status;
}

static br_status read_meta(checker *c, uint64_t number, meta *out)
{
    char page[META_BYTES];
    br_status status = read_at(c, page, sizeof(page), number, 0);
    if (status != BR_OK) return status;
    memcpy(out, page + PAGE_HEADER, sizeof(*out));
    if (get_u16(page + 10) != PAGE_META || out->magic != META_MAGIC)
        return damaged(c, number, "is not a meta page");
    if (out->version != DATA_VERSION) return damaged(c, number, "LMDB format version unknown");
    uint32_t size = out->free.pad; /* LMDB keeps the page size there */
    if (size < PAGE_BYTES_MIN || size > PAGE_BYTES_MAX || (size & (size - 1)) != 0 ||
        (number > 0 && size != c->page_bytes))
        return damaged(c, number, "page size");
    c->page_bytes = size;
    return BR_OK;
}

/* Free pages at the end may never have been written, so the file can be shorter than this says. The
 * bounds are against absurd numbers: a bit per page is allocated, and the map is mapped. */
static bool is_plausible(const checker *c, const meta *m)
{
    uint64_t bytes_max = c->file_bytes + UNWRITTEN_BYTES_MAX;
    return m->last_page >= 1 && m->last_page < bytes_max / c->page_bytes &&
           m->map_bytes <= MAP_BYTES_MAX;
}

static br_status check_file(checker *c, uint64_t txn_id, br_env_file *out)
{
    meta metas[2];
    for (uint64_t i = 0; i < 2; i++) {
        br_status status = read_meta(c, i, &metas[i]);
        if (status != BR_OK) return status;
    }
    size_t newest = metas[0].txn_id < metas[1].txn_id;
    if (txn_id != 0) newest = txn_id & 1; /* LMDB writes them in turn */
    const meta *m = &metas[newest];
    if (txn_id != 0 && m->txn_id != txn_id) return BR_NOT_FOUND;
    if (!is_plausible(c, m))
        return damaged(c, newest, "its number of pages or map size makes no sense");
    *out = (br_env_file){.txn_id = m->txn_id, .map_bytes = m->map_bytes};
    return check_trees(c, m);
}

br_status br_env_check(const char *path, uint64_t txn_id, br_env_file *out, br_err *err)
{
    checker c = {.path = path, .err = err};
    c.fd = open(path, O_RDONLY | O_CLOEXEC);
    if (c.fd < 0 && errno == ENOENT) return BR_NOT_FOUND;
    struct stat at;
    br_status status;
    if (c.fd < 0 || fstat(c.fd, &at) != 0) {
        status = br_fail_errno(err, BR_ERR_IO, errno, "cannot open %s", path);
    } else {
        c.file_bytes = (uint64_t)at.st_size;
        status = check_file(&c, txn_id, out);
    }
    if (c.fd >= 0) (void)close(c.fd);
    for (size_t i = 0; i < DEPTH_MAX; i++) br_free(c.level[i]);
    br_free(c.stores);
    br_free(c.used);
    return status;
}
