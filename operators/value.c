/* operators/value.c - see value.h. */
#include "operators/value.h"

#include "runtime/base/json_out.h"

#include <math.h>

_Static_assert((int)BR_NUMBER_TEXT_MAX >= (int)BR_INT128_TEXT_MAX, "br_int128_format fits");
_Static_assert(BR_NUMBER_TEXT_MAX >= 32, "br_float_format fits");

br_value br_value_i128(br_i128 v)
{
    if (v >= INT64_MIN && v <= INT64_MAX) return br_value_int((int64_t)v);
    return (br_value){.kind = BR_BIG, .big = br_int128_of(v)};
}

br_i128 br_value_as_i128(const br_value *v)
{
    return v->kind == BR_INT ? v->i : br_i128_of(v->big);
}

double br_value_as_double(const br_value *v)
{
    return v->kind == BR_FLOAT ? v->f : (double)br_value_as_i128(v);
}

const char *br_kind_name(br_kind kind)
{
    switch (kind) {
    case BR_MISSING:
    case BR_NULL: return "null";
    case BR_BOOL: return "bool";
    case BR_INT:
    case BR_BIG: return "integer";
    case BR_FLOAT: return "float";
    case BR_TEXT: return "text";
    case BR_JSON: return "object or array";
    }
    return "unknown";
}

/* Integer against float with no rounding: the float is cut to its whole part, which is exact. */
static int compare_integer_float(br_i128 i, double f)
{
    if (f >= 0x1p127) return -1;
    if (f < -0x1p127) return 1;
    br_i128 whole = (br_i128)f;
    if (i != whole) return i < whole ? -1 : 1;
    double fraction = f - trunc(f);
    return (fraction < 0) - (fraction > 0);
}

static int compare_numbers(const br_value *a, const br_value *b)
{
    if (a->kind == BR_FLOAT && b->kind == BR_FLOAT) return (a->f > b->f) - (a->f < b->f);
    if (a->kind == BR_FLOAT) return -compare_integer_float(br_value_as_i128(b), a->f);
    if (b->kind == BR_FLOAT) return compare_integer_float(br_value_as_i128(a), b->f);
    br_i128 x = br_value_as_i128(a), y = br_value_as_i128(b);
    return (x > y) - (x < y);
}

static int rank(const br_value *v)
{
    if (br_value_is_null(v)) return 0;
    if (br_value_is_number(v)) return 2;
    return v->kind == BR_BOOL ? 1 : v->kind == BR_TEXT ? 3 : 4;
}

int br_value_compare(const br_value *a, const br_value *b)
{
    int kind = rank(a);
    int other = rank(b);
    if (kind != other) return kind < other ? -1 : 1;
    if (kind == 0) return 0;
    if (kind == 1) return (int)a->b - (int)b->b;
    if (kind == 2) return compare_numbers(a, b);
    return br_bytes_compare(a->s, b->s);
}

bool br_float_as_int(double f, int64_t *out)
{
    if (!(f >= -0x1p63 && f < 0x1p63) || trunc(f) != f) return false;
    *out = (int64_t)f;
    return true;
}

size_t br_number_format(const br_value *v, char out[BR_NUMBER_TEXT_MAX])
{
    int64_t whole;
    if (v->kind != BR_FLOAT) return br_int128_format(br_value_as_i128(v), out);
    if (br_float_as_int(v->f, &whole)) return br_int128_format(whole, out);
    return br_float_format(v->f, out);
}

void br_value_to_text(const br_value *v, br_buf *out)
{
    char number[BR_NUMBER_TEXT_MAX];
    switch (v->kind) {
    case BR_MISSING:
    case BR_NULL: return;
    case BR_BOOL: br_buf_adds(out, v->b ? "true" : "false"); return;
    case BR_INT:
    case BR_BIG:
    case BR_FLOAT: br_buf_add(out, number, br_number_format(v, number)); return;
    case BR_TEXT:
    case BR_JSON: br_buf_addb(out, v->s); return;
    }
}

void br_value_to_json(const br_value *v, br_buf *out)
{
    if (br_value_is_null(v)) {
        br_buf_adds(out, "null");
    } else if (v->kind == BR_TEXT) {
        br_json_out json = br_json_begin(out);
        br_json_text(&json, v->s);
    } else {
        br_value_to_text(v, out);
    }
}
