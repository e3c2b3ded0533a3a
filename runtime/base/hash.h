/* runtime/base/hash.h - the two hashes of the project.
 * XXH3 (xxHash 0.8, BSD) for tables and long keys; murmur2 for partitions, equal to the one in
 * org.apache.kafka.common.utils.Utils (Apache-2.0; Austin Appleby's MurmurHash2, public domain). */
#ifndef BR_BASE_HASH_H
#define BR_BASE_HASH_H

#include "runtime/base/bytes.h"

uint64_t br_hash64(br_bytes bytes);
void br_hash128(br_bytes bytes, char out[16]); /* canonical, big endian: may be stored */
uint32_t br_murmur2(br_bytes bytes);
/* The partition that Java's default partitioner gives a non-null key. partitions > 0. */
int32_t br_partition_of(br_bytes key, int32_t partitions);

#endif
