/* operators/literal.c - see literal.h. */
#include "operators/literal.h"

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

static void add_utf8(br_buf *out, uint32_t c)
{
    if (c < 0x80) {
        br_buf_addc(out, (char)c);
        return;
    }
    int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3; /* bytes behind the first */
    static const unsigned char lead[] = {0, 0xc0, 0xe0, 0xf0};
    br_buf_addc(out, (char)(lead[more] | c >> 6 * more));
    while (more-- > 0) br_buf_addc(out, (char)(0x80 | (c >> 6 * more & 0x3f)));
}

/* Behind \x. Returns the bytes used, 0 where it is none. */
static size_t parse_byte(br_bytes text, br_buf *out)
{
    int high = text.len >= 2 ? hex_digit(text.data[0]) : -1;
    int low = high >= 0 ? hex_digit(text.data[1]) : -1;
    if (low < 0) return 0;
    br_buf_addc(out, (char)(high << 4 | low));
    return 2;
}

/* Behind \u: {1 to 6 hex digits}, no surrogate. */
static size_t parse_code_point(br_bytes text, br_buf *out)
{
    uint32_t c = 0;
    size_t i = 1;
    if (text.len == 0 || text.data[0] != '{') return 0;
    for (; i < text.len && i <= 6 && hex_digit(text.data[i]) >= 0; i++)
        c = c << 4 | (uint32_t)hex_digit(text.data[i]);
    if (i == 1 || i == text.len || text.data[i] != '}') return 0;
    if (c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff)) return 0;
    add_utf8(out, c);
    return i + 1;
}

/* Behind the backslash. Returns the bytes used, 0 where it is no escape. */
static size_t parse_escape(br_bytes text, br_buf *out)
{
    if (text.len == 0) return 0;
    br_bytes rest = br_bytes_of(text.data + 1, text.len - 1);
    size_t used = 0;
    switch (text.data[0]) {
    case 'n': br_buf_addc(out, '\n'); return 1;
    case 't': br_buf_addc(out, '\t'); return 1;
    case '\\':
    case '"':
    case '\'': br_buf_addc(out, text.data[0]); return 1;
    case 'x': used = parse_byte(rest, out); break;
    case 'u': used = parse_code_point(rest, out); break;
    default: break;
    }
    return used > 0 ? used + 1 : 0;
}

br_status br_literal_parse(br_bytes text, br_buf *out, size_t *used, br_err *err)
{
    char quote = text.data[0];
    size_t at = 1;
    while (at < text.len && text.data[at] != quote) {
        if (text.data[at] != '\\') {
            br_buf_addc(out, text.data[at++]);
            continue;
        }
        size_t n = parse_escape(br_bytes_of(text.data + at + 1, text.len - at - 1), out);
        *used = at;
        if (n == 0)
            return br_fail(err, BR_ERR_CONFIG,
                           "not an escape; allowed are \\n \\t \\\\ \\\" \\' \\xHH \\u{HEX}");
        at += 1 + n;
    }
    *used = at < text.len ? at + 1 : 0;
    if (at < text.len) return BR_OK;
    return br_fail(err, BR_ERR_CONFIG, "the closing %c is missing", quote);
}

void br_literal_print(br_bytes text, br_buf *out)
{
    br_buf_addc(out, '"');
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (c == '"' || c == '\\') br_buf_addc(out, '\\');
        if (c < 0x20 || c == 0x7f)
            br_buf_printf(out, "\\x%02x", c);
        else
            br_buf_addc(out, (char)c);
    }
    br_buf_addc(out, '"');
}
