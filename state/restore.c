/* state/restore.c - see restore.h.
 * Shape:     add: join by version within the chunk
 *            chunk full, pause, finish: join with the store, note what is to be mended, write
 * Invariant: writes come only from write_chunk, each with the position that it reaches. */
#include "state/restore.h"

#include "runtime/base/alloc.h"
#include "runtime/base/rules.h"
#include "state/changelog.h"
#include "state/key_map.h"
#include "state/key_sort.h"

enum {
    ARENA_BLOCK_BYTES = 256 * 1024,
    MEND_BLOCK_BYTES = 16 * 1024,
    /* Beside key and value, about: the node, its slots and its place in the list. */
    NODE_BYTES = sizeof(br_key_node) + 3 * sizeof(br_key_slot) + sizeof(void *),
    LINE_BYTES = 64,
    PREFETCH_LINES = 2,
    PREFETCH_AHEAD = 8,
};
#define HEALED INT64_MAX /* last_offset of a key in `mend` that needs no mending any more */

struct br_restore {
    br_env *env;
    size_t store;
    size_t chunk_bytes;
    br_changelog_decoder decoder;
    br_key_map chunk; /* key -> highest version and its value, last version */
    size_t chunk_used;
    br_key_map mend;  /* key -> offset of its last record, or HEALED */
    br_bytes *mended; /* for br_restored */
    uint64_t records;
    int64_t next; /* behind the last record added; -1: none was */
    br_version marker;
    int64_t stream_time;
    br_buf operator_spec;
};

void br_marker_encode(br_buf *out, br_version version, int64_t stream_time, br_bytes operator_spec)
{
    Brine__State__Version packed_version = BRINE__STATE__VERSION__INIT;
    packed_version.has_incarnation = packed_version.has_offset = true;
    packed_version.incarnation = version.incarnation;
    packed_version.offset = version.offset;
    Brine__State__Marker marker = BRINE__STATE__MARKER__INIT;
    marker.version = &packed_version;
    marker.has_stream_time = true;
    marker.stream_time = stream_time;
    marker.has_operator_ = operator_spec.data != NULL;
    marker.operator_.data = (uint8_t *)(uintptr_t)operator_spec.data;
    marker.operator_.len = operator_spec.len;
    br_buf_reserve(out, brine__state__marker__get_packed_size(&marker));
    out->len += brine__state__marker__pack(&marker, (uint8_t *)out->data + out->len);
}

br_restore *br_restore_begin(br_env *env, size_t store, size_t chunk_bytes)
{
    br_restore *restore = BR_NEW(br_restore);
    restore->env = env;
    restore->store = store;
    restore->chunk_bytes = chunk_bytes;
    restore->next = -1;
    restore->marker = BR_VERSION_NONE;
    br_changelog_decoder_init(&restore->decoder);
    br_key_map_init(&restore->chunk, ARENA_BLOCK_BYTES);
    br_key_map_init(&restore->mend, MEND_BLOCK_BYTES);
    return restore;
}

void br_restore_destroy(br_restore *restore)
{
    if (!restore) return;
    br_changelog_decoder_dispose(&restore->decoder);
    br_key_map_dispose(&restore->chunk);
    br_key_map_dispose(&restore->mend);
    br_free(restore->mended);
    br_buf_dispose(&restore->operator_spec);
    br_free(restore);
}

/* ---- writing a chunk ---- */

static br_bytes key_of(const void *node)
{
    return ((const br_key_node *)node)->key;
}

static void note_mend(br_restore *restore, const br_key_node *node)
{
    bool behind = br_version_compare(node->last, node->version) < 0, made;
    br_key_node *known = behind ? br_key_map_obtain(&restore->mend, node->key, &made)
                                : br_key_map_find(&restore->mend, node->key);
    if (known) known->last_offset = behind ? node->last_offset : HEALED;
}

/* Before the sort where it can be: the nodes lie in memory as they came. */
static void note_mends(br_restore *restore)
{
    for (size_t i = 0; i < restore->chunk.count; i++) note_mend(restore, restore->chunk.nodes[i]);
}

/* Where the store holds a higher version, the node becomes that, with nothing to write. */
static br_status join_store(br_restore *restore, br_key_node *node, br_err *err)
{
    br_bytes row;
    br_version stored;
    br_status status = br_env_get(restore->env, restore->store, node->key, &row, err);
    if (status == BR_NOT_FOUND) return BR_OK;
    if (status == BR_OK) status = br_changelog_row_version(row, &stored, err);
    if (status != BR_OK) return br_wrap(err, "joining with the local store");
    if (BR_RULE(join_by_version) && br_version_compare(stored, node->version) > 0) {
        node->version = stored;
        node->value = BR_NO_BYTES;
    }
    return BR_OK;
}

/* Sorted nodes lie in memory in no order: each would be waited for. Key and value follow it. */
static void prefetch(const br_key_map *chunk, size_t at)
{
    if (at >= chunk->count) return;
    const char *node = (const char *)chunk->nodes[at];
    for (size_t i = 0; i < PREFETCH_LINES; i++) __builtin_prefetch(node + i * LINE_BYTES);
}

static br_status put_chunk(void *arg, br_env_txn *txn, br_err *err)
{
    const br_restore *restore = arg;
    for (size_t i = 0; i < restore->chunk.count; i++) {
        prefetch(&restore->chunk, i + PREFETCH_AHEAD);
        const br_key_node *node = restore->chunk.nodes[i];
        if (!node->value.data) continue;
        br_status status = br_env_put(txn, restore->store, node->key, node->value, err);
        if (status != BR_OK) return status;
    }
    return BR_OK;
}

/* Index of this store in the stored checkpoint, or how many stores that has. */
static size_t place_in(const br_restore *restore, const Brine__State__Checkpoint *stored)
{
    const char *id = br_env_store_id(restore->env, restore->store);
    size_t at = 0;
    while (at < stored->n_stores && strcmp(stored->stores[at]->id, id) != 0) at++;
    return at;
}

/* Nothing to write: then a start that restores nothing leaves the clean-close mark alone. */
static bool is_stored(const br_restore *restore, int64_t next)
{
    const Brine__State__Checkpoint *stored = br_env_checkpoint(restore->env);
    size_t at = stored ? place_in(restore, stored) : 0;
    return restore->chunk.count == 0 && stored && at < stored->n_stores &&
           stored->stores[at]->has_changelog_next && stored->stores[at]->changelog_next == next;
}

/* What the markers say goes with the position: a restore that goes on from there, after a crash
 * before the task's first commit, does not meet them again. */
static void raise_version(const br_restore *restore, Brine__State__Checkpoint *row,
                          Brine__State__Version *version)
{
    br_version stored = BR_VERSION_NONE;
    if (row->version) stored = (br_version){row->version->incarnation, row->version->offset};
    if (br_version_compare(restore->marker, stored) <= 0) return;
    *version = (Brine__State__Version)BRINE__STATE__VERSION__INIT;
    version->has_incarnation = version->has_offset = true;
    version->incarnation = restore->marker.incarnation;
    version->offset = restore->marker.offset;
    row->version = version;
    row->has_stream_time = true;
    row->stream_time = restore->stream_time;
}

/* Writes the chunk with the stored checkpoint, in which only this store's position and what its
 * markers say change. */
static br_status write_at(br_restore *restore, int64_t next, br_err *err)
{
    if (is_stored(restore, next)) return BR_OK;
    Brine__State__Checkpoint row = BRINE__STATE__CHECKPOINT__INIT;
    Brine__State__StoreCheckpoint ours = BRINE__STATE__STORE_CHECKPOINT__INIT;
    Brine__State__Version version;
    const Brine__State__Checkpoint *stored = br_env_checkpoint(restore->env);
    if (stored) row = *stored;
    size_t at = place_in(restore, &row);
    Brine__State__StoreCheckpoint **stores = br_calloc(row.n_stores + 1, sizeof(*stores));
    for (size_t i = 0; i < row.n_stores; i++) stores[i] = row.stores[i];
    if (at < row.n_stores)
        ours = *stores[at];
    else
        row.n_stores++;
    ours.id = (char *)(uintptr_t)br_env_store_id(restore->env, restore->store);
    ours.has_changelog_next = true;
    ours.changelog_next = next;
    if (restore->operator_spec.len >
        0) { /* or the next restore would not know whose rows these are */
        ours.has_operator_ = true;
        ours.operator_.data = (uint8_t *)restore->operator_spec.data;
        ours.operator_.len = restore->operator_spec.len;
    }
    stores[at] = &ours;
    row.stores = stores;
    raise_version(restore, &row, &version);
    br_status status = br_env_write(restore->env, put_chunk, restore, &row, err);
    br_free(stores);
    return status;
}

/* Not past the last record of a key to be mended: see restore.h. */
static int64_t safe_position(const br_restore *restore, int64_t next)
{
    for (size_t i = 0; i < restore->mend.count; i++)
        if (restore->mend.nodes[i]->last_offset < next) next = restore->mend.nodes[i]->last_offset;
    return next;
}

/* Joins the sorted chunk with the rows that the store holds. */
static br_status join_chunk(br_restore *restore, br_err *err)
{
    br_status status = BR_OK;
    for (size_t i = 0; status == BR_OK && i < restore->chunk.count; i++)
        status = join_store(restore, restore->chunk.nodes[i], err);
    return status;
}

static br_status write_chunk(br_restore *restore, int64_t next, br_err *err)
{
    br_key_map *chunk = &restore->chunk;
    bool empty = br_env_rows(restore->env, restore->store) == 0;
    if (empty) note_mends(restore);
    br_sort_by_key(chunk->nodes, chunk->count, key_of);
    br_status status = empty ? BR_OK : join_chunk(restore, err);
    if (status == BR_OK && !empty) note_mends(restore);
    if (status == BR_OK) status = write_at(restore, safe_position(restore, next), err);
    br_key_map_reset(chunk);
    restore->chunk_used = 0;
    return status;
}

/* ---- adding records ---- */

static br_status add_marker(br_restore *restore, br_bytes value, br_err *err)
{
    const Brine__State__Marker *marker;
    br_status status = br_changelog_marker(&restore->decoder, value, &marker, err);
    if (status != BR_OK) return status;
    br_version version = {marker->version->incarnation, marker->version->offset};
    if (br_version_compare(version, restore->marker) < 0) return BR_OK;
    restore->marker = version;
    restore->stream_time = marker->stream_time;
    br_buf_reset(&restore->operator_spec);
    if (marker->has_operator_)
        br_buf_add(&restore->operator_spec, marker->operator_.data, marker->operator_.len);
    return BR_OK;
}

static br_status add_row(br_restore *restore, int64_t offset, br_bytes key, br_bytes value,
                         br_err *err)
{
    br_version version;
    br_status status = br_changelog_row_version(value, &version, err);
    if (status != BR_OK) return status;
    bool made;
    br_key_node *node = br_key_map_obtain(&restore->chunk, key, &made);
    if (made) restore->chunk_used += key.len + NODE_BYTES;
    node->last = version;
    node->last_offset = offset;
    bool older = !made && br_version_compare(version, node->version) < 0;
    if (older && BR_RULE(join_by_version)) return BR_OK;
    node->version = version;
    node->value = br_arena_copy(restore->chunk.arena, value, 0);
    restore->chunk_used += value.len;
    return BR_OK;
}

br_status br_restore_add(br_restore *restore, int64_t offset, br_bytes key, br_bytes value,
                         br_err *err)
{
    if (!key.data) return br_fail(err, BR_ERR_CORRUPT, "a changelog record without a key");
    br_status status = BR_OK;
    if (value.data)
        status = br_bytes_equal(key, BR_MARKER_KEY) ? add_marker(restore, value, err)
                                                    : add_row(restore, offset, key, value, err);
    if (status != BR_OK) return status;
    restore->records++;
    restore->next = offset + 1;
    return restore->chunk_used < restore->chunk_bytes ? BR_OK
                                                      : write_chunk(restore, offset + 1, err);
}

br_status br_restore_pause(br_restore *restore, br_err *err)
{
    return restore->next < 0 ? BR_OK : write_chunk(restore, restore->next, err);
}

br_status br_restore_finish(br_restore *restore, int64_t next, br_restored *out, br_err *err)
{
    br_status status = write_chunk(restore, next, err);
    if (status != BR_OK) return status;
    *out = (br_restored){
        .records = restore->records,
        .marker = restore->marker,
        .stream_time = restore->stream_time,
        .operator_spec = br_buf_bytes(&restore->operator_spec),
    };
    br_free(restore->mended);
    restore->mended = br_calloc(restore->mend.count, sizeof(*restore->mended));
    for (size_t i = 0; i < restore->mend.count; i++)
        if (restore->mend.nodes[i]->last_offset != HEALED)
            restore->mended[out->mend_count++] = restore->mend.nodes[i]->key;
    out->mend = restore->mended;
    return BR_OK;
}
