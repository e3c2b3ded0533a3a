/* state/long_key.c - see long_key.h. */
#include "state/long_key.h"

#include "runtime/base/hash.h"

enum { ROW_KEY_TAG = 0x0a }; /* field 1, length-delimited (state.proto, Row.key) */

br_bytes br_stored_key(br_bytes key, char room[BR_LONG_KEY_BYTES])
{
    if (br_key_is_plain(key)) return key;
    room[0] = (char)BR_LONG_KEY_MARK;
    br_hash128(br_bytes_of(key.data ? key.data : "", key.len), room + 1);
    return br_bytes_of(room, BR_LONG_KEY_BYTES);
}

int br_stored_key_compare(br_bytes a, br_bytes b)
{
    char room_a[BR_LONG_KEY_BYTES], room_b[BR_LONG_KEY_BYTES];
    return br_bytes_compare(br_stored_key(a, room_a), br_stored_key(b, room_b));
}

size_t br_long_key_prefix(size_t key_len, char out[BR_LONG_KEY_PREFIX_MAX])
{
    BR_ASSERT(key_len <= UINT32_MAX);
    size_t n = 0;
    out[n++] = ROW_KEY_TAG;
    for (; key_len >= 0x80; key_len >>= 7) out[n++] = (char)((key_len & 0x7f) | 0x80);
    out[n++] = (char)key_len;
    return n;
}

bool br_long_key_split(br_bytes stored, br_bytes *key, br_bytes *val)
{
    if (stored.len < 2 || stored.data[0] != ROW_KEY_TAG) return false;
    uint64_t key_len = 0;
    size_t at = 1;
    unsigned char byte = 0x80;
    for (unsigned shift = 0; byte & 0x80; shift += 7) {
        if (at == stored.len || shift > 28) return false;
        byte = (unsigned char)stored.data[at++];
        key_len |= (uint64_t)(byte & 0x7f) << shift;
    }
    if (key_len > stored.len - at) return false;
    *key = br_bytes_of(stored.data + at, (size_t)key_len);
    at += (size_t)key_len;
    *val = br_bytes_of(stored.data + at, stored.len - at);
    return true;
}
