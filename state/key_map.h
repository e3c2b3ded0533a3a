/* state/key_map.h - rows of a restore by key: a hash map whose nodes and bytes live in one arena.
 * Lifetime:  a node's address holds until the reset.
 * Thread:    one. */
#ifndef BR_STATE_KEY_MAP_H
#define BR_STATE_KEY_MAP_H

#include "runtime/base/arena.h"
#include "state/version.h"

typedef struct br_key_node {
    br_bytes key;        /* the map's own copy */
    br_version version;  /* the highest seen */
    br_bytes value;      /* of that version; where it lives is up to the user */
    br_version last;     /* of the last record in the log… */
    int64_t last_offset; /* …and where it stands */
} br_key_node;

/* The hash stands here too, so that a search looks into hardly any node but the one it wants: with
 * millions of them each look is a cache miss. */
typedef struct br_key_slot {
    br_key_node *node; /* NULL: empty */
    uint64_t hash;
} br_key_slot;

typedef struct br_key_map {
    br_arena *arena;
    br_key_slot *slots; /* a power of two of them, or none */
    size_t slot_count;
    br_key_node **nodes; /* in the order in which they came, until somebody sorts them */
    size_t count, cap;
} br_key_map;

void br_key_map_init(br_key_map *map, size_t arena_block_bytes);
void br_key_map_dispose(br_key_map *map);
/* Forgets all nodes; keeps the memory. */
void br_key_map_reset(br_key_map *map);
/* NULL: not there. */
br_key_node *br_key_map_find(const br_key_map *map, br_bytes key);
/* The node of key, made (all zero but for its key) where there is none: *made says so. */
br_key_node *br_key_map_obtain(br_key_map *map, br_bytes key, bool *made);

#endif
