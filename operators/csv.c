/* operators/csv.c - see csv.h. */
#include "operators/csv.h"

#include <math.h>
#include <stdlib.h>

/* A decimal that is longer than this says more than a float can hold: it stays text. */
enum { DECIMAL_BYTES_MAX = 63 };

static size_t digits(br_bytes text, size_t from)
{
    size_t i = from;
    while (i < text.len && text.data[i] >= '0' && text.data[i] <= '9') i++;
    return i - from;
}

/* Length of `-?(0|[1-9][0-9]*)` at the start of text, or 0. */
static size_t whole_part(br_bytes text)
{
    size_t sign = text.len > 0 && text.data[0] == '-';
    size_t n = digits(text, sign);
    if (n == 0 || (n > 1 && text.data[sign] == '0')) return 0;
    return sign + n;
}

static bool read_decimal(br_bytes text, double *out)
{
    char copy[DECIMAL_BYTES_MAX + 1]; /* strtod needs the NUL */
    if (text.len > DECIMAL_BYTES_MAX) return false;
    memcpy(copy, text.data, text.len);
    copy[text.len] = '\0';
    *out = strtod(copy, NULL);
    return isfinite(*out);
}

static br_value unquoted(br_bytes text)
{
    size_t whole = whole_part(text);
    br_i128 integer;
    double real;
    if (text.len == 0) return br_value_null();
    if (whole == 0) return br_value_text(text);
    if (whole == text.len) {
        bool minus_zero = text.len == 2 && text.data[0] == '-' && text.data[1] == '0';
        if (minus_zero || !br_int128_parse(text, &integer)) return br_value_text(text);
        return br_value_i128(integer);
    }
    size_t fraction = text.data[whole] == '.' ? digits(text, whole + 1) : 0;
    if (fraction == 0 || whole + 1 + fraction != text.len || !read_decimal(text, &real))
        return br_value_text(text);
    return br_value_float(real);
}

static br_status fail_at(br_err *err, br_bytes line, size_t at, const char *what)
{
    return br_fail(err, BR_ERR_BAD_RECORD, "CSV value, at byte %zu of %zu: %s", at, line.len, what);
}

/* text with each doubled quote as one. */
static br_bytes single_quotes(br_bytes text, br_arena *arena)
{
    char *out = br_arena_alloc(arena, text.len);
    size_t n = 0;
    for (size_t i = 0; i < text.len; i++) {
        out[n++] = text.data[i];
        if (text.data[i] == '"') i++;
    }
    return br_bytes_of(out, n);
}

/* *at is at the opening quote, and afterwards behind the closing one. */
static br_status read_quoted(br_bytes line, size_t *at, br_arena *arena, br_value *out, br_err *err)
{
    size_t first = *at + 1, i = first;
    bool doubled = false;
    for (;; i += 2) {
        const char *quote = i < line.len ? memchr(line.data + i, '"', line.len - i) : NULL;
        if (!quote) return fail_at(err, line, *at, "this quote is not closed (cut off?)");
        i = (size_t)(quote - line.data);
        if (i + 1 >= line.len || line.data[i + 1] != '"') break;
        doubled = true;
    }
    br_bytes text = br_bytes_of(line.data + first, i - first);
    *out = br_value_text(doubled ? single_quotes(text, arena) : text);
    *at = i + 1;
    if (*at < line.len && line.data[*at] != ',')
        return fail_at(err, line, *at, "a comma must follow a closing quote");
    return BR_OK;
}

static br_status read_unquoted(br_bytes line, size_t *at, br_value *out, br_err *err)
{
    size_t first = *at;
    for (; *at < line.len && line.data[*at] != ','; (*at)++) {
        char c = line.data[*at];
        if (c == '"') return fail_at(err, line, *at, "a quote inside a cell that has none around");
        if (c == '\n' || c == '\r')
            return fail_at(err, line, *at, "a second line; a record holds one line");
    }
    *out = unquoted(br_bytes_of(line.data + first, *at - first));
    return BR_OK;
}

static br_bytes without_line_end(br_bytes line)
{
    if (line.len > 0 && line.data[line.len - 1] == '\n') line.len--;
    if (line.len > 0 && line.data[line.len - 1] == '\r') line.len--;
    return line;
}

br_status br_csv_read(br_bytes line, br_arena *arena, br_value *cells, size_t count, br_err *err)
{
    line = without_line_end(line);
    size_t n = 0;
    for (size_t at = 0;; at++) {
        br_value cell;
        bool quoted = at < line.len && line.data[at] == '"';
        br_status st = quoted ? read_quoted(line, &at, arena, &cell, err)
                              : read_unquoted(line, &at, &cell, err);
        if (st != BR_OK) return st;
        if (n < count) cells[n] = cell;
        n++;
        if (at >= line.len) break; /* else it is at a comma: one more cell follows */
    }
    if (n == count) return BR_OK;
    return br_fail(err, BR_ERR_BAD_RECORD, "CSV value of %zu bytes: %zu cells; `columns` names %zu",
                   line.len, n, count);
}
