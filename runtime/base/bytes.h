/* runtime/base/bytes.h - borrowed byte strings and a growing buffer.
 * Invariant: data == NULL is "no value" (a Kafka null); data != NULL with len 0 is the empty value.
 * Thread:    values; a br_buf belongs to one thread. */
#ifndef BR_BASE_BYTES_H
#define BR_BASE_BYTES_H

#include "runtime/base/status.h"

#include <string.h>

/* Borrowed bytes; whoever hands them out says how long they live. */
typedef struct br_bytes {
    const char *data;
    size_t len;
} br_bytes;

#define BR_NO_BYTES ((br_bytes){NULL, 0})
#define BR_LITERAL(s) ((br_bytes){"" s, sizeof(s) - 1})

static inline br_bytes br_bytes_of(const void *data, size_t len)
{
    return (br_bytes){(const char *)data, len};
}

static inline br_bytes br_str(const char *text)
{
    return br_bytes_of(text, strlen(text));
}

static inline bool br_bytes_equal(br_bytes a, br_bytes b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

/* Order of memcmp, the shorter first where one begins the other. Returns <0, 0 or >0. */
static inline int br_bytes_compare(br_bytes a, br_bytes b)
{
    size_t n = a.len < b.len ? a.len : b.len;
    int order = n ? memcmp(a.data, b.data, n) : 0;
    return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

/* An owned buffer. All-zero is empty; reset keeps the memory, dispose frees it. */
typedef struct br_buf {
    char *data;
    size_t len, cap;
} br_buf;

void br_buf_reserve(br_buf *buf, size_t more); /* room for `more` bytes behind len */
void br_buf_add(br_buf *buf, const void *data, size_t len);
void br_buf_addc(br_buf *buf, char c);
void br_buf_adds(br_buf *buf, const char *text);
void br_buf_addb(br_buf *buf, br_bytes bytes);
void br_buf_printf(br_buf *buf, const char *fmt, ...) BR_PRINTF(2, 3);
const char *br_buf_cstr(br_buf *buf); /* NUL-terminated; borrows until the next change */
static inline void br_buf_reset(br_buf *buf)
{
    buf->len = 0;
}
void br_buf_dispose(br_buf *buf);
/* Borrows until the next change of buf; data is never NULL. */
static inline br_bytes br_buf_bytes(const br_buf *buf)
{
    return (br_bytes){buf->data ? buf->data : "", buf->len};
}

/* Big endian, for keys whose byte order is their order. */
static inline void br_put_u64_be(char out[8], uint64_t v)
{
    for (int i = 7; i >= 0; i--, v >>= 8) out[i] = (char)(v & 0xff);
}

static inline uint64_t br_get_u64_be(const char in[8])
{
    uint64_t v = 0;
    for (int i = 0; i < 8; i++) v = v << 8 | (unsigned char)in[i];
    return v;
}

#endif
