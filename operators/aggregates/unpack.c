/* operators/aggregates/unpack.c - see unpack.h. */
#include "operators/aggregates/unpack.h"
#include "runtime/base/alloc.h"

static void *take(void *self, size_t size)
{
    br_unpack_memory *mem = self;
    if (size > sizeof mem->block - mem->used) return br_alloc(size);
    void *out = mem->block + mem->used;
    size_t padded = (size + 15) & ~(size_t)15;
    size_t left = sizeof mem->block - mem->used;
    mem->used += padded < left ? padded : left;
    return out;
}

static void give_back(void *self, void *pointer)
{
    br_unpack_memory *mem = self;
    uintptr_t block = (uintptr_t)mem->block, at = (uintptr_t)pointer;
    if (at < block || at >= block + sizeof mem->block) br_free(pointer);
}

ProtobufCAllocator *br_unpack_begin(br_unpack_memory *mem)
{
    mem->allocator = (ProtobufCAllocator){take, give_back, mem};
    mem->used = 0;
    return &mem->allocator;
}
