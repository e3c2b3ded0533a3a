/* state/changelog.c - see changelog.h. */
#include "state/changelog.h"

enum {
    ARENA_BLOCK_BYTES = 64 * 1024,
    /* A row of the largest record that a topic takes by default (1 MiB) unpacks into less, unless
     * it is made of empty messages. */
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

static void *unpack(br_changelog_decoder *decoder, const ProtobufCMessageDescriptor *type,
                    br_bytes value)
{
    br_arena_reset(decoder->arena);
    decoder->used = 0;
    return protobuf_c_message_unpack(type, &decoder->allocator, value.len,
                                     (const uint8_t *)value.data);
}

static bool read_version(const Brine__State__Version *from, br_version *out)
{
    if (!from || !from->has_offset) return false;
    *out = (br_version){from->incarnation, from->offset};
    return true;
}

br_status br_changelog_row_version(br_changelog_decoder *decoder, br_bytes value, br_version *out,
                                   br_err *err)
{
    const Brine__State__Row *row = unpack(decoder, &brine__state__row__descriptor, value);
    if (row && read_version(row->version, out)) return BR_OK;
    return br_fail(err, BR_ERR_CORRUPT, "a changelog row of %zu bytes %s", value.len,
                   row ? "without a version" : "that is no brine.state.Row");
}

br_status br_changelog_marker(br_changelog_decoder *decoder, br_bytes value,
                              const Brine__State__Marker **out, br_err *err)
{
    br_version version;
    const Brine__State__Marker *marker = unpack(decoder, &brine__state__marker__descriptor, value);
    *out = marker;
    if (marker && read_version(marker->version, &version)) return BR_OK;
    return br_fail(err, BR_ERR_CORRUPT, "a changelog marker of %zu bytes %s", value.len,
                   marker ? "without a version" : "that is no brine.state.Marker");
}
