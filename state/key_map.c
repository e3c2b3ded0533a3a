/* state/key_map.c - see key_map.h. */
#include "state/key_map.h"

#include "runtime/base/alloc.h"
#include "runtime/base/hash.h"

enum { SLOTS_MIN = 64 };

void br_key_map_init(br_key_map *map, size_t arena_block_bytes)
{
    *map = (br_key_map){.arena = br_arena_create(arena_block_bytes)};
}

void br_key_map_dispose(br_key_map *map)
{
    br_arena_destroy(map->arena);
    br_free(map->slots);
    br_free(map->nodes);
    *map = (br_key_map){0};
}

void br_key_map_reset(br_key_map *map)
{
    br_arena_reset(map->arena);
    if (map->slot_count > 0) memset(map->slots, 0, map->slot_count * sizeof(*map->slots));
    map->count = 0;
}

/* The slot where the key is, or would be put. */
static size_t slot_of(const br_key_map *map, br_bytes key, uint64_t hash)
{
    size_t mask = map->slot_count - 1, at = hash & mask;
    for (; map->slots[at]; at = (at + 1) & mask) {
        const br_key_node *node = map->slots[at];
        if (node->hash == hash && br_bytes_equal(node->key, key)) break;
    }
    return at;
}

static void grow(br_key_map *map)
{
    br_free(map->slots);
    map->slot_count = map->slot_count ? map->slot_count * 2 : SLOTS_MIN;
    map->slots = br_calloc(map->slot_count, sizeof(*map->slots));
    for (size_t i = 0; i < map->count; i++) {
        br_key_node *node = map->nodes[i];
        map->slots[slot_of(map, node->key, node->hash)] = node;
    }
}

br_key_node *br_key_map_find(const br_key_map *map, br_bytes key)
{
    if (map->count == 0) return NULL;
    return map->slots[slot_of(map, key, br_hash64(key))];
}

br_key_node *br_key_map_obtain(br_key_map *map, br_bytes key, bool *made)
{
    if (map->count >= map->slot_count / 2) grow(map);
    uint64_t hash = br_hash64(key);
    size_t at = slot_of(map, key, hash);
    *made = !map->slots[at];
    if (!*made) return map->slots[at];
    br_key_node *node = br_arena_alloc(map->arena, sizeof(*node));
    *node = (br_key_node){.key = br_arena_copy(map->arena, key, 0), .hash = hash};
    map->slots[at] = node;
    map->nodes = br_grow(map->nodes, &map->cap, map->count + 1, sizeof(*map->nodes));
    map->nodes[map->count++] = node;
    return node;
}
