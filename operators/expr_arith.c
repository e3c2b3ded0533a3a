/* operators/expr_arith.c - arithmetic and comparisons of native expressions.
 * Integers are worked out in 128 bits and checked; no integer passes through a double unless the
 * other operand is a float or the operator is /. */
#include "operators/expr_internal.h"

#include <math.h>

#define I128_MAX ((br_i128)(~(br_u128)0 >> 1))
#define I128_MIN (-I128_MAX - 1)

static bool fits_i64(br_i128 v)
{
    return v >= INT64_MIN && v <= INT64_MAX;
}

/* By magnitudes: clang's __builtin_mul_overflow of 128 bits needs a library that gcc does not bring
 * along. */
static bool multiply(br_i128 a, br_i128 b, br_i128 *out)
{
    if (fits_i64(a) && fits_i64(b)) {
        *out = a * b;
        return true;
    }
    bool negative = (a < 0) != (b < 0);
    br_u128 x = a < 0 ? -(br_u128)a : (br_u128)a;
    br_u128 y = b < 0 ? -(br_u128)b : (br_u128)b;
    br_u128 limit = (br_u128)I128_MAX + negative;
    if (y != 0 && x > limit / y) return false;
    *out = (br_i128)(negative ? -(x * y) : x * y);
    return true;
}

/* b is not 0. Rounds towards minus infinity, as Lua does. */
static bool floor_divide(br_i128 a, br_i128 b, br_i128 *out)
{
    BR_ASSERT(b != 0);
    if (a == I128_MIN && b == -1) return false;
    br_i128 quotient = a / b;
    *out = quotient - (a % b != 0 && (a < 0) != (b < 0));
    return true;
}

/* b is not 0. The result has b's sign. */
static br_i128 modulo(br_i128 a, br_i128 b)
{
    BR_ASSERT(b != 0);
    if (b == -1) return 0; /* the lowest number % -1 traps */
    br_i128 rest = a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

static bool integer_result(br_expr_op op, br_i128 a, br_i128 b, br_i128 *out)
{
    if (op == EXPR_ADD) return !__builtin_add_overflow(a, b, out);
    if (op == EXPR_SUB) return !__builtin_sub_overflow(a, b, out);
    if (op == EXPR_MUL) return multiply(a, b, out);
    if (op == EXPR_FLOOR_DIV) return floor_divide(a, b, out);
    *out = modulo(a, b);
    return true;
}

static double float_modulo(double a, double b)
{
    double rest = fmod(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

static double float_result(br_expr_op op, double a, double b)
{
    if (op == EXPR_ADD) return a + b;
    if (op == EXPR_SUB) return a - b;
    if (op == EXPR_MUL) return a * b;
    if (op == EXPR_DIV) return a / b;
    return op == EXPR_FLOOR_DIV ? floor(a / b) : float_modulo(a, b);
}

static br_status fail_types(br_expr_op op, const br_value *a, const br_value *b, const char *wanted,
                            br_err *err)
{
    return br_fail(err, BR_ERR_BAD_RECORD, "%s takes %s, not %s and %s", br_expr_op_text(op),
                   wanted, br_kind_name(a->kind), br_kind_name(b->kind));
}

static br_status integers(br_expr_op op, br_i128 a, br_i128 b, br_value *out, br_err *err)
{
    br_i128 result;
    if (b == 0 && (op == EXPR_FLOOR_DIV || op == EXPR_MOD))
        return br_fail(err, BR_ERR_BAD_RECORD, "%s by zero", br_expr_op_text(op));
    if (!integer_result(op, a, b, &result))
        return br_fail(err, BR_ERR_BAD_RECORD, "the result of %s is beyond 128 bits",
                       br_expr_op_text(op));
    *out = br_value_i128(result);
    return BR_OK;
}

br_status br_expr_arith(br_expr_op op, const br_value *a, const br_value *b, br_value *out,
                        br_err *err)
{
    if (br_value_is_null(a) || br_value_is_null(b)) {
        *out = br_value_null();
        return BR_OK;
    }
    if (!br_value_is_number(a) || !br_value_is_number(b))
        return fail_types(op, a, b, "two numbers", err);
    if (op != EXPR_DIV && a->kind != BR_FLOAT && b->kind != BR_FLOAT)
        return integers(op, br_value_as_i128(a), br_value_as_i128(b), out, err);
    double result = float_result(op, br_value_as_double(a), br_value_as_double(b));
    if (!isfinite(result))
        return br_fail(err, BR_ERR_BAD_RECORD, "the result of %s is not a finite number",
                       br_expr_op_text(op));
    *out = br_value_float(result);
    return BR_OK;
}

br_status br_expr_negate(const br_value *a, br_value *out, br_err *err)
{
    if (br_value_is_null(a)) {
        *out = br_value_null();
    } else if (a->kind == BR_FLOAT) {
        *out = br_value_float(-a->f);
    } else if (br_value_is_integer(a)) {
        return integers(EXPR_SUB, 0, br_value_as_i128(a), out, err);
    } else {
        return br_fail(err, BR_ERR_BAD_RECORD, "- takes a number, not %s", br_kind_name(a->kind));
    }
    return BR_OK;
}

/* Of one type, integers and floats together. */
static bool same_type(const br_value *a, const br_value *b)
{
    if (br_value_is_null(a) || br_value_is_null(b))
        return br_value_is_null(a) && br_value_is_null(b);
    return a->kind == b->kind || (br_value_is_number(a) && br_value_is_number(b));
}

static bool holds(br_expr_op op, int order)
{
    if (op == EXPR_LT) return order < 0;
    if (op == EXPR_LE) return order <= 0;
    if (op == EXPR_GT) return order > 0;
    return order >= 0;
}

br_status br_expr_compare(br_expr_op op, const br_value *a, const br_value *b, br_value *out,
                          br_err *err)
{
    if (op == EXPR_EQ || op == EXPR_NE) {
        bool equal = same_type(a, b) && br_value_compare(a, b) == 0;
        *out = br_value_bool(equal == (op == EXPR_EQ));
        return BR_OK;
    }
    if (br_value_is_null(a) || br_value_is_null(b)) {
        *out = br_value_null();
        return BR_OK;
    }
    if (!same_type(a, b) || (a->kind != BR_TEXT && !br_value_is_number(a)))
        return fail_types(op, a, b, "two numbers or two texts", err);
    *out = br_value_bool(holds(op, br_value_compare(a, b)));
    return BR_OK;
}
