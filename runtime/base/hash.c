/* runtime/base/hash.c - see hash.h. */
#include "runtime/base/hash.h"

#include <xxhash.h>

uint64_t br_hash64(br_bytes bytes)
{
    return XXH3_64bits(bytes.data, bytes.len);
}

void br_hash128(br_bytes bytes, char out[16])
{
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes.data, bytes.len));
    memcpy(out, canonical.digest, sizeof(canonical.digest));
}

uint32_t br_murmur2(br_bytes bytes)
{
    const uint32_t m = 0x5bd1e995;
    const unsigned char *data = (const unsigned char *)bytes.data;
    uint32_t h = 0x9747b28cU ^ (uint32_t)bytes.len;
    size_t i = 0;
    for (; i + 4 <= bytes.len; i += 4) {
        uint32_t k = (uint32_t)data[i] | (uint32_t)data[i + 1] << 8 | (uint32_t)data[i + 2] << 16 |
                     (uint32_t)data[i + 3] << 24;
        k *= m;
        k ^= k >> 24;
        k *= m;
        h *= m;
        h ^= k;
    }
    for (size_t left = bytes.len - i; left > 0; left--) {
        h ^= (uint32_t)data[i + left - 1] << (8 * (left - 1));
        if (left == 1) h *= m;
    }
    h ^= h >> 13;
    h *= m;
    h ^= h >> 15;
    return h;
}

int32_t br_partition_of(br_bytes key, int32_t partitions)
{
    return (int32_t)((br_murmur2(key) & 0x7fffffffU) % (uint32_t)partitions);
}
