/* operators/value.h - one value of a row, with the type that it had in the record.
 * Integers stay 64-bit integers where they were integers, and become 128-bit ones beyond that; no
 * integer ever passes through a double.
 * Lifetime: text and json borrow the batch's arena (or whatever the maker says). */
#ifndef BR_OPERATORS_VALUE_H
#define BR_OPERATORS_VALUE_H

#include "runtime/base/bytes.h"
#include "runtime/base/int128.h"

typedef enum br_kind {
    BR_MISSING, /* the field is not there; behaves as null */
    BR_NULL,
    BR_BOOL,
    BR_INT,   /* i */
    BR_BIG,   /* big: outside 64 bits, never within */
    BR_FLOAT, /* f, finite */
    BR_TEXT,  /* s: any bytes */
    BR_JSON,  /* s: an object or an array, as written */
} br_kind;

typedef struct br_value {
    br_kind kind;
    union {
        bool b;
        int64_t i;
        br_int128 big;
        double f;
        br_bytes s;
    };
} br_value;

static inline br_value br_value_null(void)
{
    return (br_value){.kind = BR_NULL};
}
static inline br_value br_value_bool(bool b)
{
    return (br_value){.kind = BR_BOOL, .b = b};
}
static inline br_value br_value_int(int64_t i)
{
    return (br_value){.kind = BR_INT, .i = i};
}
static inline br_value br_value_float(double f)
{
    return (br_value){.kind = BR_FLOAT, .f = f};
}
static inline br_value br_value_text(br_bytes s)
{
    return (br_value){.kind = BR_TEXT, .s = s};
}
static inline bool br_value_is_null(const br_value *v)
{
    return v->kind <= BR_NULL;
}

/* BR_INT where it fits, else BR_BIG. */
br_value br_value_i128(br_i128 v);
/* Any BR_INT or BR_BIG. */
br_i128 br_value_as_i128(const br_value *v);
static inline bool br_value_is_integer(const br_value *v)
{
    return v->kind == BR_INT || v->kind == BR_BIG;
}
static inline bool br_value_is_number(const br_value *v)
{
    return v->kind == BR_INT || v->kind == BR_BIG || v->kind == BR_FLOAT;
}
double br_value_as_double(const br_value *v); /* a number */

/* "null", "bool", "integer", "float", "text", "object or array": for messages. */
const char *br_kind_name(br_kind kind);
/* A total order over all values: null < bool < numbers (by value, exact between integers and
 * floats) < text (bytes) < json. Returns <0, 0, >0; 0 only for values that are equal. */
int br_value_compare(const br_value *a, const br_value *b);
enum { BR_NUMBER_TEXT_MAX = 48 };
/* The text of a number, the same in plain text and JSON; returns its length. Floats: the shortest
 * that reads back, but a whole number within 64 bits as that integer (3.0 is 3), so that equal
 * numbers have equal text there. */
size_t br_number_format(const br_value *v, char out[BR_NUMBER_TEXT_MAX]);
/* The float as an integer where it is a whole number within 64 bits. */
bool br_float_as_int(double f, int64_t *out);
/* Appends as plain text: text as it is, numbers as decimal digits, true/false, null as "". */
void br_value_to_text(const br_value *v, br_buf *out);
/* Appends as JSON. Text that is not UTF-8: see json_out.h. */
void br_value_to_json(const br_value *v, br_buf *out);

#endif
