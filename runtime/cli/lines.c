/* runtime/cli/lines.c - see lines.h. */
#include "runtime/cli/lines.h"

#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

enum { READ_BYTES = 256 * 1024 };

/* Reads more behind what is there, after moving that to the front. */
static br_status fill(br_lines *lines, br_err *err)
{
    br_buf *buf = &lines->buf;
    buf->len -= lines->at;
    memmove(buf->data, buf->data + lines->at, buf->len);
    lines->searched -= lines->at;
    lines->at = 0;
    if (buf->len > lines->len_max)
        return br_fail(err, BR_ERR_LIMIT, "line %" PRIu64 " is longer than %zu bytes",
                       lines->number + 1, lines->len_max);
    br_buf_reserve(buf, READ_BYTES);
    ssize_t n = read(lines->fd, buf->data + buf->len, READ_BYTES);
    if (n < 0 && errno != EINTR)
        return br_fail_errno(err, BR_ERR_IO, errno, "cannot read line %" PRIu64, lines->number + 1);
    if (n > 0) buf->len += (size_t)n;
    lines->ended = n == 0;
    return BR_OK;
}

br_status br_lines_next(br_lines *lines, br_bytes *line, br_err *err)
{
    br_buf *buf = &lines->buf;
    br_buf_reserve(buf, 1); /* data is not NULL from here on */
    for (;;) {
        const char *end = memchr(buf->data + lines->searched, '\n', buf->len - lines->searched);
        size_t stop = end ? (size_t)(end - buf->data) : buf->len;
        lines->searched = stop;
        if (end || (lines->ended && stop > lines->at)) {
            *line = br_bytes_of(buf->data + lines->at, stop - lines->at);
            lines->at = lines->searched = end ? stop + 1 : stop;
            lines->number++;
            return BR_OK;
        }
        if (lines->ended) return BR_END;
        if (fill(lines, err) != BR_OK) return err->status;
    }
}

void br_lines_dispose(br_lines *lines)
{
    br_buf_dispose(&lines->buf);
}
