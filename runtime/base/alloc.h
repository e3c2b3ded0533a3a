/* runtime/base/alloc.h - the only place that asks libc for memory.
 * Invariant: no call returns NULL. A worker that has no memory left ends at once with a line that
 *            says so: the commit protocol makes a crash safe, a half-handled shortage is not.
 * Thread:    any. */
#ifndef BR_BASE_ALLOC_H
#define BR_BASE_ALLOC_H

#include <stddef.h>

/* Each returns owned memory (br_free); size 0 gives a pointer that may be freed. */
void *br_alloc(size_t size);
void *br_calloc(size_t count, size_t size); /* zeroed */
void *br_realloc(void *old, size_t size);
char *br_strdup(const char *text);
char *br_strndup(const char *text, size_t len); /* adds the final NUL */
void br_free(void *mem);                        /* NULL is fine */

#define BR_NEW(type) ((type *)br_calloc(1, sizeof(type)))

/* Grows `array` (of `size`-byte elements) so that it holds at least need elements; doubles. */
void *br_grow(void *array, size_t *cap, size_t need, size_t size);

#endif
