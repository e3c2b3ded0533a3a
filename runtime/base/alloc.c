/* runtime/base/alloc.c - see alloc.h. */
#include "runtime/base/alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *checked(void *mem, size_t size)
{
    if (mem) return mem;
    fprintf(stderr, "brine: out of memory asking for %zu bytes\n", size);
    _Exit(2);
}

void *br_alloc(size_t size)
{
    return checked(malloc(size ? size : 1), size);
}

void *br_calloc(size_t count, size_t size)
{
    return checked(calloc(count ? count : 1, size ? size : 1), count * size);
}

void *br_realloc(void *old, size_t size)
{
    return checked(realloc(old, size ? size : 1), size);
}

char *br_strndup(const char *text, size_t len)
{
    char *copy = br_alloc(len + 1);
    if (len > 0) memcpy(copy, text, len);
    copy[len] = '\0';
    return copy;
}

char *br_strdup(const char *text)
{
    return br_strndup(text, strlen(text));
}

void br_free(void *mem)
{
    free(mem);
}

void *br_grow(void *array, size_t *cap, size_t need, size_t size)
{
    if (need <= *cap) return array;
    size_t grown = *cap ? *cap : 8;
    while (grown < need) grown *= 2;
    array = br_realloc(array, grown * size);
    *cap = grown;
    return array;
}
