/* runtime/base/arena.h - bump memory whose whole content dies in one reset.
 * Lifetime:  a batch. Blocks are kept across resets, so a warm arena asks libc for nothing.
 * Thread:    one. */
#ifndef BR_BASE_ARENA_H
#define BR_BASE_ARENA_H

#include "runtime/base/bytes.h"

typedef struct br_arena br_arena;

/* block_bytes: how much is taken from libc at a time; larger single requests get their own block,
 * which reset gives back. */
br_arena *br_arena_create(size_t block_bytes);
void br_arena_destroy(br_arena *arena); /* NULL is fine */
/* All that was handed out dies. */
void br_arena_reset(br_arena *arena);
/* 8-byte aligned, not zeroed; lives until the reset. */
void *br_arena_alloc(br_arena *arena, size_t size);
/* A copy with `pad` bytes (undefined) readable behind it; lives until the reset. */
br_bytes br_arena_copy(br_arena *arena, br_bytes bytes, size_t pad);

#endif
