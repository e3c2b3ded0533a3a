/* runtime/base/bytes.c - see bytes.h. */
#include "runtime/base/bytes.h"

#include "runtime/base/alloc.h"

#include <stdio.h>

enum { PRINTF_ROOM = 128 }; /* most texts fit: one pass */

void br_buf_reserve(br_buf *buf, size_t more)
{
    buf->data = br_grow(buf->data, &buf->cap, buf->len + more, 1);
}

void br_buf_add(br_buf *buf, const void *data, size_t len)
{
    br_buf_reserve(buf, len);
    if (len > 0) memcpy(buf->data + buf->len, data, len);
    buf->len += len;
}

void br_buf_addc(br_buf *buf, char c)
{
    br_buf_add(buf, &c, 1);
}
void br_buf_adds(br_buf *buf, const char *text)
{
    br_buf_add(buf, text, strlen(text));
}
void br_buf_addb(br_buf *buf, br_bytes bytes)
{
    br_buf_add(buf, bytes.data, bytes.len);
}

void br_buf_printf(br_buf *buf, const char *fmt, ...)
{
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    br_buf_reserve(buf, PRINTF_ROOM);
    int n = vsnprintf(buf->data + buf->len, buf->cap - buf->len, fmt, args);
    va_end(args);
    BR_ASSERT(n >= 0);
    if ((size_t)n >= buf->cap - buf->len) {
        br_buf_reserve(buf, (size_t)n + 1);
        n = vsnprintf(buf->data + buf->len, buf->cap - buf->len, fmt, again);
    }
    va_end(again);
    buf->len += (size_t)n;
}

const char *br_buf_cstr(br_buf *buf)
{
    br_buf_reserve(buf, 1);
    buf->data[buf->len] = '\0';
    return buf->data;
}

void br_buf_dispose(br_buf *buf)
{
    br_free(buf->data);
    *buf = (br_buf){0};
}
