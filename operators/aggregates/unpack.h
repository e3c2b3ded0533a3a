/* operators/aggregates/unpack.h - memory for unpacking one small protobuf message, most of it on
 * the stack: protobuf-c asks for every submessage apart.
 * Use: br_unpack_memory mem; unpack(br_unpack_begin(&mem), …); …; free_unpacked(msg,
 * &mem.allocator). Thread: the caller's stack frame. */
#ifndef BR_OPERATORS_AGGREGATES_UNPACK_H
#define BR_OPERATORS_AGGREGATES_UNPACK_H

#include <protobuf-c/protobuf-c.h>

typedef struct br_unpack_memory {
    ProtobufCAllocator allocator;
    size_t used;
    _Alignas(
        16) char block[4096]; /* a row of about a dozen accumulators; more comes from br_alloc */
} br_unpack_memory;

/* Makes mem ready; returns its allocator. */
ProtobufCAllocator *br_unpack_begin(br_unpack_memory *mem);

#endif
