/* state/checkpoint.c - see checkpoint.h. */
#include "state/checkpoint.h"

#include "runtime/base/alloc.h"

static void *take(void *data, size_t size)
{
    (void)data;
    return br_alloc(size);
}

static void give_back(void *data, void *mem)
{
    (void)data;
    br_free(mem);
}

static ProtobufCAllocator allocator = {.alloc = take, .free = give_back};

void br_checkpoint_pack(const Brine__State__Checkpoint *from, const char *boot_id, int64_t wall_ms,
                        br_buf *out)
{
    Brine__State__Checkpoint row = *from;
    char boot[64];
    size_t boot_len = strlen(boot_id) + 1;
    BR_ASSERT(boot_len <= sizeof(boot));
    memcpy(boot, boot_id, boot_len);
    row.has_format = true;
    row.format = BR_CHECKPOINT_FORMAT;
    row.boot_id = boot;
    if (!row.has_wall_ms) {
        row.has_wall_ms = true;
        row.wall_ms = wall_ms;
    }
    size_t size = brine__state__checkpoint__get_packed_size(&row);
    br_buf_reserve(out, size);
    out->len += brine__state__checkpoint__pack(&row, (uint8_t *)out->data + out->len);
}

Brine__State__Checkpoint *br_checkpoint_unpack(br_bytes bytes)
{
    return brine__state__checkpoint__unpack(&allocator, bytes.len, (const uint8_t *)bytes.data);
}

void br_checkpoint_free(Brine__State__Checkpoint *checkpoint)
{
    if (checkpoint) brine__state__checkpoint__free_unpacked(checkpoint, &allocator);
}
