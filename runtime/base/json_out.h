/* runtime/base/json_out.h - writes JSON text (RFC 8259) into a br_buf.
 * Shape: br_json_out keeps the commas; the caller keeps the nesting.
 * Bytes that are not UTF-8 become U+FFFD, so the text is always valid. */
#ifndef BR_BASE_JSON_OUT_H
#define BR_BASE_JSON_OUT_H

#include "runtime/base/bytes.h"

typedef struct br_json_out {
    br_buf *buf;
    bool comma; /* the next value in this container needs one */
} br_json_out;

static inline br_json_out br_json_begin(br_buf *buf)
{
    return (br_json_out){buf, false};
}

/* In an object, every value follows a name; in an array and at the top, none does. */
void br_json_name(br_json_out *out, br_bytes name);
void br_json_open(br_json_out *out, char bracket);  /* '{' or '[' */
void br_json_close(br_json_out *out, char bracket); /* '}' or ']' */
void br_json_text(br_json_out *out, br_bytes text);
void br_json_int(br_json_out *out, int64_t v);
void br_json_uint(br_json_out *out, uint64_t v);
void br_json_float(br_json_out *out, double v); /* shortest that reads back; not finite: null */
void br_json_bool(br_json_out *out, bool v);
void br_json_null(br_json_out *out);
void br_json_raw(br_json_out *out, br_bytes json); /* already JSON */

/* name + value in one call, for the common cases */
void br_json_put_text(br_json_out *out, const char *name, const char *text);
void br_json_put_int(br_json_out *out, const char *name, int64_t v);
void br_json_put_bool(br_json_out *out, const char *name, bool v);

/* Shortest decimal text that strtod reads back as v; v finite. Returns its length, at most 31. */
size_t br_float_format(double v, char out[32]);

#endif
