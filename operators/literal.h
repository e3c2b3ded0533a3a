/* operators/literal.h - text in quotes, as it stands in expressions and paths: "…" or '…' with the
 * escapes \n \t \\ \" \' \xHH \u{…} (a code point in hex, written as UTF-8). */
#ifndef BR_OPERATORS_LITERAL_H
#define BR_OPERATORS_LITERAL_H

#include "runtime/base/bytes.h"

/* text begins with a quote. Appends what the literal says to out; *used is its length in text.
 * BR_ERR_CONFIG: no closing quote, an escape that is none; the byte at fault is text[*used]. */
BR_MUST_USE br_status br_literal_parse(br_bytes text, br_buf *out, size_t *used, br_err *err);
/* Appends text as a literal in double quotes. */
void br_literal_print(br_bytes text, br_buf *out);

#endif
