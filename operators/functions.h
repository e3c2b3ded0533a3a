/* operators/functions.h - the key functions of expressions: unsalt part concat lower upper.
 * One table for both readings of an expression: the native one and Lua call the same code.
 * lower and upper change A-Z and a-z only: keys must not depend on a locale or a Unicode version.
 */
#ifndef BR_OPERATORS_FUNCTIONS_H
#define BR_OPERATORS_FUNCTIONS_H

#include "operators/value.h"
#include "runtime/base/arena.h"

enum { BR_FUNCTION_ARGS_MAX = 16 };

typedef struct br_function {
    const char *name;
    const char *usage; /* for messages: unsalt(x[, sep]) */
    size_t args_min, args_max;
    size_t separator; /* which argument is one, never empty; 0: none */
    /* No argument is null. Texts of *out borrow the arguments or live in arena. */
    br_status (*run)(const br_value *args, size_t count, br_arena *arena, br_value *out,
                     br_err *err);
} br_function;

/* NULL: no such function. */
const br_function *br_function_find(br_bytes name);
/* All of them, for messages and the Lua sandbox; ends with an entry without a name. */
extern const br_function br_functions[];
/* The one whose name is nearest, or NULL. */
const char *br_function_nearest(br_bytes name);

/* BR_ERR_CONFIG: fn does not take so many. */
BR_MUST_USE br_status br_function_check(const br_function *fn, size_t count, br_err *err);
/* count has passed br_function_check. A null argument gives null. BR_ERR_BAD_RECORD: an argument
 * of the wrong type, an empty separator. */
BR_MUST_USE br_status br_function_call(const br_function *fn, const br_value *args, size_t count,
                                       br_arena *arena, br_value *out, br_err *err);

#endif
