/* runtime/cli/lines.h - reads a file descriptor line by line, whatever the lines' length.
 * Memory:    one buffer, as large as the longest line needs; a bound makes a longer one an error.
 * Thread:    one. */
#ifndef BR_RUNTIME_CLI_LINES_H
#define BR_RUNTIME_CLI_LINES_H

#include "runtime/base/bytes.h"

typedef struct br_lines { /* all-zero but for fd and len_max: ready */
    int fd;
    size_t len_max;
    br_buf buf;
    size_t at;       /* where the next line begins */
    size_t searched; /* no line end before this */
    uint64_t number; /* of the line that was read last, from 1 */
    bool ended;
} br_lines;

/* BR_OK: *line is without its line end and borrows until the next call; the last line may lack one.
 * BR_END: no more. BR_ERR_IO, BR_ERR_LIMIT: the message names the line's number. */
BR_MUST_USE br_status br_lines_next(br_lines *lines, br_bytes *line, br_err *err);
void br_lines_dispose(br_lines *lines);

#endif
