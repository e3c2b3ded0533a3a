/* operators/tuple.c - see tuple.h. */
#include "operators/tuple.h"

#include <math.h>

enum {
    CODE_NULL = 0x00,
    CODE_TEXT = 0x02,
    CODE_JSON = 0x03,
    CODE_BIG_BELOW = 0x0b,
    CODE_INT = 0x14,
    CODE_BIG_ABOVE = 0x1d,
    CODE_FLOAT = 0x21,
    CODE_FALSE = 0x26,
    CODE_TRUE = 0x27,
    ESCAPE_NUL = 0xff, /* 00 ff: a NUL of the text */
    ESCAPE_END = 0x01, /* 00 01: the text's end; below 00 ff, so that a prefix sorts first */
};

#define SIGN_BIT ((uint64_t)1 << 63)

static void add_u64(br_buf *out, uint64_t v)
{
    char bytes[8];
    br_put_u64_be(bytes, v);
    br_buf_add(out, bytes, sizeof(bytes));
}

static void add_int(br_buf *out, int64_t v)
{
    br_buf_addc(out, CODE_INT);
    add_u64(out, (uint64_t)v ^ SIGN_BIT);
}

static void add_big(br_buf *out, br_int128 v)
{
    br_buf_addc(out, v.hi < 0 ? CODE_BIG_BELOW : CODE_BIG_ABOVE);
    add_u64(out, (uint64_t)v.hi ^ SIGN_BIT);
    add_u64(out, v.lo);
}

static void add_float(br_buf *out, double f)
{
    int64_t whole;
    if (br_float_as_int(f, &whole)) {
        add_int(out, whole);
        return;
    }
    uint64_t bits;
    memcpy(&bits, &f, sizeof(bits));
    br_buf_addc(out, CODE_FLOAT);
    add_u64(out, bits & SIGN_BIT ? ~bits : bits ^ SIGN_BIT);
}

/* Copies text up to and with its first NUL, or all of it, to *at; returns how much that is. */
static size_t add_run(char **at, br_bytes text)
{
    const char *zero = memchr(text.data, '\0', text.len);
    size_t run = zero ? (size_t)(zero - text.data) + 1 : text.len;
    memcpy(*at, text.data, run);
    *at += run;
    if (zero) *(*at)++ = (char)ESCAPE_NUL;
    return run;
}

static void add_text(br_buf *out, char code, br_bytes text)
{
    size_t most = 2 * text.len + 3; /* nothing but NULs */
    if (out->cap - out->len < most) br_buf_reserve(out, most);
    char *at = out->data + out->len;
    *at++ = code;
    for (size_t done = 0; done < text.len;)
        done += add_run(&at, br_bytes_of(text.data + done, text.len - done));
    *at++ = '\0';
    *at++ = ESCAPE_END;
    out->len = (size_t)(at - out->data);
}

void br_tuple_add(br_buf *out, const br_value *v)
{
    switch (v->kind) {
    case BR_MISSING:
    case BR_NULL: br_buf_addc(out, CODE_NULL); return;
    case BR_BOOL: br_buf_addc(out, v->b ? CODE_TRUE : CODE_FALSE); return;
    case BR_INT: add_int(out, v->i); return;
    case BR_BIG: add_big(out, v->big); return;
    case BR_FLOAT: add_float(out, v->f); return;
    case BR_TEXT: add_text(out, CODE_TEXT, v->s); return;
    case BR_JSON: add_text(out, CODE_JSON, v->s); return;
    }
}

static bool take(br_bytes *rest, size_t len, const char **out)
{
    if (rest->len < len) return false;
    *out = rest->data;
    *rest = br_bytes_of(rest->data + len, rest->len - len);
    return true;
}

static bool next_int(br_bytes *rest, br_value *out)
{
    const char *bytes;
    if (!take(rest, 8, &bytes)) return false;
    *out = br_value_int((int64_t)(br_get_u64_be(bytes) ^ SIGN_BIT));
    return true;
}

/* Only what add_big writes: the sign fits the code and the value needs more than 64 bits. */
static bool next_big(br_bytes *rest, bool below, br_value *out)
{
    const char *bytes;
    if (!take(rest, 16, &bytes)) return false;
    br_int128 big = {.hi = (int64_t)(br_get_u64_be(bytes) ^ SIGN_BIT),
                     .lo = br_get_u64_be(bytes + 8)};
    *out = br_value_i128(br_i128_of(big));
    return out->kind == BR_BIG && (big.hi < 0) == below;
}

static bool next_float(br_bytes *rest, br_value *out)
{
    const char *bytes;
    int64_t whole;
    if (!take(rest, 8, &bytes)) return false;
    uint64_t bits = br_get_u64_be(bytes);
    bits = bits & SIGN_BIT ? bits ^ SIGN_BIT : ~bits;
    *out = br_value_float(0);
    memcpy(&out->f, &bits, sizeof(bits));
    return isfinite(out->f) && !br_float_as_int(out->f, &whole);
}

/* Finds the text's end: *len coded bytes before it, *nuls of them escapes. */
static bool measure_text(br_bytes coded, size_t *len, size_t *nuls)
{
    *nuls = 0;
    for (size_t at = 0; at + 1 < coded.len;) {
        const char *zero = memchr(coded.data + at, '\0', coded.len - at - 1);
        if (!zero) return false;
        *len = (size_t)(zero - coded.data);
        if ((unsigned char)zero[1] == ESCAPE_END) return true;
        if ((unsigned char)zero[1] != ESCAPE_NUL) return false;
        (*nuls)++;
        at = *len + 2;
    }
    return false;
}

static br_bytes unescape(br_bytes coded, size_t nuls, br_arena *arena)
{
    char *text = br_arena_alloc(arena, coded.len - nuls);
    size_t len = 0;
    for (size_t i = 0; i < coded.len; i++) {
        text[len++] = coded.data[i];
        if (coded.data[i] == '\0') i++; /* its ff */
    }
    return br_bytes_of(text, len);
}

static bool next_text(br_bytes *rest, br_kind kind, br_arena *arena, br_value *out)
{
    size_t len, nuls;
    const char *bytes;
    if (!measure_text(*rest, &len, &nuls) || !take(rest, len + 2, &bytes)) return false;
    br_bytes text = br_bytes_of(bytes, len);
    *out = br_value_text(nuls > 0 ? unescape(text, nuls, arena) : text);
    out->kind = kind;
    return true;
}

static bool next_value(br_bytes *rest, unsigned char code, br_arena *arena, br_value *out)
{
    switch (code) {
    case CODE_NULL: *out = br_value_null(); return true;
    case CODE_FALSE: *out = br_value_bool(false); return true;
    case CODE_TRUE: *out = br_value_bool(true); return true;
    case CODE_INT: return next_int(rest, out);
    case CODE_BIG_BELOW: return next_big(rest, true, out);
    case CODE_BIG_ABOVE: return next_big(rest, false, out);
    case CODE_FLOAT: return next_float(rest, out);
    case CODE_TEXT: return next_text(rest, BR_TEXT, arena, out);
    case CODE_JSON: return next_text(rest, BR_JSON, arena, out);
    default: return false;
    }
}

br_status br_tuple_next(br_bytes *rest, br_arena *arena, br_value *out, br_err *err)
{
    const char *code;
    if (!take(rest, 1, &code)) return BR_END;
    if (next_value(rest, (unsigned char)*code, arena, out)) return BR_OK;
    return br_fail(err, BR_ERR_CORRUPT,
                   "tuple: code 0x%02x with %zu bytes behind it is not a value as brine writes it",
                   (unsigned)(unsigned char)*code, rest->len);
}
