/* state/changelog.c - see changelog.h. */
#include "state/changelog.h"

#include "state/row_wire.h"

enum {
    ARENA_BLOCK_BYTES = 64 * 1024,
    /* A marker of the largest record that a topic takes by default (1 MiB) unpacks into less,
     * unless it is made of unknown fields. */
    UNPACKED_BYTES_MAX = 32 * 1024 * 1024,
};

static void *take(void *data, size_t size)
{
    br_changelog_decoder *decoder = data;
    if (size > UNPACKED_BYTES_MAX - decoder->used) return NULL;
    decoder->used += size;
    return br_arena_alloc(decoder->arena, size);
}

/* The arena gives all back at once. */
static void give_back(void *data, void *mem)
{
    (void)data;
    (void)mem;
}

void br_changelog_decoder_init(br_changelog_decoder *decoder)
{
    *decoder = (br_changelog_decoder){
        .arena = br_arena_create(ARENA_BLOCK_BYTES),
        .allocator = {.alloc = take, .free = give_back, .allocator_data = decoder},
    };
}

void br_changelog_decoder_dispose(br_changelog_decoder *decoder)
{
    br_arena_destroy(decoder->arena);
    *decoder = (br_changelog_decoder){0};
}

static const Brine__State__Marker *unpack(br_changelog_decoder *decoder, br_bytes value)
{
    br_arena_reset(decoder->arena);
    decoder->used = 0;
    return brine__state__marker__unpack(&decoder->allocator, value.len,
                                        (const uint8_t *)value.data);
}

br_status br_changelog_row_version(br_bytes value, br_version *out, br_err *err)
{
    br_row_parts row;
    bool whole = br_row_read_whole(value, &row);
    if (!whole || !row.has_offset)
        return br_fail(err, BR_ERR_CORRUPT, "a changelog row of %zu bytes %s", value.len,
                       whole ? "without a version" : "that is no brine.state.Row");
    *out = row.version;
    return BR_OK;
}

br_status br_changelog_marker(br_changelog_decoder *decoder, br_bytes value,
                              const Brine__State__Marker **out, br_err *err)
{
    const Brine__State__Marker *marker = unpack(decoder, value);
    *out = marker;
    if (marker && marker->version && marker->version->has_offset) return BR_OK;
    return br_fail(err, BR_ERR_CORRUPT, "a changelog marker of %zu bytes %s", value.len,
                   marker ? "without a version" : "that is no brine.state.Marker");
}
