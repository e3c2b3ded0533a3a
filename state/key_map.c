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
static br_key_slot *slot_of(const br_key_map *map, br_bytes key, uint64_t hash)
{
    size_t mask = map->slot_count - 1, at = hash & mask;
    while (map->slots[at].node &&
           (map->slots[at].hash != hash || !br_bytes_equal(map->slots[at].node->key, key)))
        at = (at + 1) & mask;
    return &map->slots[at];
}

static void grow(br_key_map *map)
{
    br_key_slot *old = map->slots;
    size_t old_count = map->slot_count;
    map->slot_count = old_count ? old_count * 2 : SLOTS_MIN;
    map->slots = br_calloc(map->slot_count, sizeof(*map->slots));
    size_t mask = map->slot_count - 1;
    for (size_t i = 0; i < old_count; i++) {
        if (!old[i].node) continue;
        size_t at = old[i].hash & mask;
        while (map->slots[at].node) at = (at + 1) & mask;
        map->slots[at] = old[i];
    }
    br_free(old);
}

br_key_node *br_key_map_find(const br_key_map *map, br_bytes key)
{
    return map->count == 0 ? NULL : slot_of(map, key, br_hash64(key))->node;
}

br_key_node *br_key_map_obtain(br_key_map *map, br_bytes key, bool *made)
{
    if (map->count >= map->slot_count / 2) grow(map);
    uint64_t hash = br_hash64(key);
    br_key_slot *slot = slot_of(map, key, hash);
    *made = !slot->node;
    if (!*made) return slot->node;
    br_key_node *node = br_arena_alloc(map->arena, sizeof(*node));
    *node = (br_key_node){.key = br_arena_copy(map->arena, key, 0)};
    *slot = (br_key_slot){node, hash};
    map->nodes = br_grow(map->nodes, &map->cap, map->count + 1, sizeof(*map->nodes));
    map->nodes[map->count++] = node;
    return node;
}
