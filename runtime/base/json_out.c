/* runtime/base/json_out.c - see json_out.h. */
#include "runtime/base/json_out.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void before_value(br_json_out *out)
{
    if (out->comma) br_buf_addc(out->buf, ',');
    out->comma = true;
}

/* Length of the UTF-8 sequence at s (Unicode 15, table 3-7), 0 where there is none. */
static size_t utf8_len(const unsigned char *s, size_t left)
{
    if (s[0] < 0x80) return 1;
    if (s[0] < 0xc2 || s[0] > 0xf4) return 0;
    size_t need = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
    if (left < need) return 0;
    unsigned char low = 0x80, high = 0xbf;
    if (s[0] == 0xe0) low = 0xa0;
    if (s[0] == 0xed) high = 0x9f;
    if (s[0] == 0xf0) low = 0x90;
    if (s[0] == 0xf4) high = 0x8f;
    if (s[1] < low || s[1] > high) return 0;
    for (size_t i = 2; i < need; i++)
        if ((s[i] & 0xc0) != 0x80) return 0;
    return need;
}

static void add_control(br_buf *buf, unsigned char c)
{
    switch (c) {
    case '\n': br_buf_adds(buf, "\\n"); return;
    case '\r': br_buf_adds(buf, "\\r"); return;
    case '\t': br_buf_adds(buf, "\\t"); return;
    default: br_buf_printf(buf, "\\u%04x", (unsigned)c);
    }
}

static void add_quoted(br_buf *buf, br_bytes text)
{
    const unsigned char *s = (const unsigned char *)text.data;
    br_buf_addc(buf, '"');
    size_t plain = 0; /* start of the run not yet copied */
    for (size_t i = 0; i < text.len;) {
        size_t n = utf8_len(s + i, text.len - i);
        if (n > 0 && s[i] >= 0x20 && s[i] != '"' && s[i] != '\\') {
            i += n;
            continue;
        }
        br_buf_add(buf, text.data + plain, i - plain);
        if (n == 0) {
            br_buf_adds(buf, "\xef\xbf\xbd");
        } else if (s[i] < 0x20) {
            add_control(buf, s[i]);
        } else {
            br_buf_addc(buf, '\\');
            br_buf_addc(buf, text.data[i]);
        }
        plain = ++i;
    }
    if (text.len > plain) br_buf_add(buf, text.data + plain, text.len - plain);
    br_buf_addc(buf, '"');
}

void br_json_name(br_json_out *out, br_bytes name)
{
    before_value(out);
    add_quoted(out->buf, name);
    br_buf_addc(out->buf, ':');
    out->comma = false;
}

void br_json_open(br_json_out *out, char bracket)
{
    before_value(out);
    br_buf_addc(out->buf, bracket);
    out->comma = false;
}

void br_json_close(br_json_out *out, char bracket)
{
    br_buf_addc(out->buf, bracket);
    out->comma = true;
}

void br_json_text(br_json_out *out, br_bytes text)
{
    before_value(out);
    add_quoted(out->buf, text);
}

void br_json_int(br_json_out *out, int64_t v)
{
    before_value(out);
    br_buf_printf(out->buf, "%" PRId64, v);
}

void br_json_uint(br_json_out *out, uint64_t v)
{
    before_value(out);
    br_buf_printf(out->buf, "%" PRIu64, v);
}

size_t br_float_format(double v, char out[32])
{
    int n = 0;
    for (int digits = 15; digits <= 17; digits++) {
        n = snprintf(out, 32, "%.*g", digits, v);
        if (strtod(out, NULL) == v) break;
    }
    return (size_t)n;
}

void br_json_float(br_json_out *out, double v)
{
    char text[32];
    before_value(out);
    if (!isfinite(v))
        br_buf_adds(out->buf, "null");
    else
        br_buf_add(out->buf, text, br_float_format(v, text));
}

void br_json_bool(br_json_out *out, bool v)
{
    before_value(out);
    br_buf_adds(out->buf, v ? "true" : "false");
}

void br_json_null(br_json_out *out)
{
    before_value(out);
    br_buf_adds(out->buf, "null");
}

void br_json_raw(br_json_out *out, br_bytes json)
{
    before_value(out);
    br_buf_addb(out->buf, json);
}

void br_json_put_text(br_json_out *out, const char *name, const char *text)
{
    br_json_name(out, br_str(name));
    br_json_text(out, br_str(text));
}

void br_json_put_int(br_json_out *out, const char *name, int64_t v)
{
    br_json_name(out, br_str(name));
    br_json_int(out, v);
}

void br_json_put_bool(br_json_out *out, const char *name, bool v)
{
    br_json_name(out, br_str(name));
    br_json_bool(out, v);
}
