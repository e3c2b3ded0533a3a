/* runtime/base/arena.c - see arena.h. */
#include "runtime/base/arena.h"

#include "runtime/base/alloc.h"

typedef struct block {
    struct block *next;
    size_t size, used;
    char data[];
} block;

struct br_arena {
    size_t block_bytes;
    block *first, *current;
    block *large; /* requests over block_bytes */
};

static block *block_create(size_t size)
{
    block *b = br_alloc(sizeof(*b) + size);
    *b = (block){.size = size};
    return b;
}

static void free_blocks(block *b)
{
    while (b) {
        block *next = b->next;
        br_free(b);
        b = next;
    }
}

br_arena *br_arena_create(size_t block_bytes)
{
    br_arena *arena = BR_NEW(br_arena);
    arena->block_bytes = block_bytes;
    arena->first = arena->current = block_create(block_bytes);
    return arena;
}

void br_arena_destroy(br_arena *arena)
{
    if (!arena) return;
    free_blocks(arena->first);
    free_blocks(arena->large);
    br_free(arena);
}

void br_arena_reset(br_arena *arena)
{
    for (block *b = arena->first; b; b = b->next) b->used = 0;
    arena->current = arena->first;
    free_blocks(arena->large);
    arena->large = NULL;
}

void *br_arena_alloc(br_arena *arena, size_t size)
{
    size = (size + 7) & ~(size_t)7;
    block *b = arena->current;
    if (b->used + size > b->size) {
        if (size > arena->block_bytes) {
            b = block_create(size);
            b->next = arena->large;
            arena->large = b;
        } else {
            if (!b->next) b->next = block_create(arena->block_bytes);
            b = arena->current = b->next;
        }
    }
    void *mem = b->data + b->used;
    b->used += size;
    return mem;
}

br_bytes br_arena_copy(br_arena *arena, br_bytes bytes, size_t pad)
{
    if (!bytes.data) return bytes;
    char *copy = br_arena_alloc(arena, bytes.len + pad);
    if (bytes.len > 0) memcpy(copy, bytes.data, bytes.len);
    return br_bytes_of(copy, bytes.len);
}
