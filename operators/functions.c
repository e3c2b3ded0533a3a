/* operators/functions.c - see functions.h. */
#include "operators/functions.h"

#include "operators/expr.h"
#include "runtime/base/names.h"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool ends_with(br_bytes x, br_bytes end)
{
    return x.len >= end.len && memcmp(x.data + x.len - end.len, end.data, end.len) == 0;
}

/* Tried from the shortest run of digits on, so that a sep with digits at its end works too. */
br_bytes br_unsalt(br_bytes x, br_bytes sep)
{
    if (sep.len == 0) return x;
    for (size_t len = x.len; len > 0 && is_digit(x.data[len - 1]);) {
        br_bytes head = br_bytes_of(x.data, --len);
        if (ends_with(head, sep)) return br_bytes_of(x.data, len - sep.len);
    }
    return x;
}

/* Cuts the next part off *rest; false: that was the last. */
static bool cut_part(br_bytes *rest, br_bytes sep, br_bytes *part)
{
    const char *at = rest->len > 0 ? memmem(rest->data, rest->len, sep.data, sep.len) : NULL;
    size_t len = at ? (size_t)(at - rest->data) : rest->len;
    *part = br_bytes_of(rest->data, len);
    if (!at) return false;
    *rest = br_bytes_of(at + sep.len, rest->len - len - sep.len);
    return true;
}

br_bytes br_part(br_bytes x, br_bytes sep, int64_t i)
{
    br_bytes rest = x, part;
    BR_ASSERT(sep.len > 0);
    if (i < 0) {
        int64_t count = 1;
        while (cut_part(&rest, sep, &part)) count++;
        if (i < -count) return BR_NO_BYTES;
        i += count;
        rest = x;
    }
    for (; cut_part(&rest, sep, &part); i--)
        if (i == 0) return part;
    return i == 0 ? part : BR_NO_BYTES;
}

/* The argument as text; a number is taken as its decimal text. */
static br_status text_of(const char *fn, const br_value *v, br_arena *arena, br_bytes *out,
                         br_err *err)
{
    char number[BR_NUMBER_TEXT_MAX];
    *out = BR_NO_BYTES;
    if (v->kind == BR_TEXT) {
        *out = v->s;
    } else if (br_value_is_number(v)) {
        *out = br_arena_copy(arena, br_bytes_of(number, br_number_format(v, number)), 0);
    } else {
        return br_fail(err, BR_ERR_BAD_RECORD, "%s takes text or a number, not %s", fn,
                       br_kind_name(v->kind));
    }
    return BR_OK;
}

static br_status separator_of(const char *fn, const br_value *v, br_arena *arena, br_bytes *out,
                              br_err *err)
{
    br_status st = text_of(fn, v, arena, out, err);
    if (st != BR_OK || out->len > 0) return st;
    return br_fail(err, BR_ERR_BAD_RECORD, "%s needs a separator that is not empty", fn);
}

static br_status run_unsalt(const br_value *args, size_t count, br_arena *arena, br_value *out,
                            br_err *err)
{
    br_bytes x, sep = BR_LITERAL("_");
    br_status st = text_of("unsalt", &args[0], arena, &x, err);
    if (st == BR_OK && count > 1) st = separator_of("unsalt", &args[1], arena, &sep, err);
    if (st == BR_OK) *out = br_value_text(br_unsalt(x, sep));
    return st;
}

static br_status run_part(const br_value *args, size_t count, br_arena *arena, br_value *out,
                          br_err *err)
{
    br_bytes x, sep;
    (void)count;
    if (!br_value_is_integer(&args[2]))
        return br_fail(err, BR_ERR_BAD_RECORD,
                       "part takes an integer as its third argument, not %s",
                       br_kind_name(args[2].kind));
    br_status st = text_of("part", &args[0], arena, &x, err);
    if (st == BR_OK) st = separator_of("part", &args[1], arena, &sep, err);
    if (st != BR_OK) return st;
    br_bytes part = args[2].kind == BR_INT ? br_part(x, sep, args[2].i) : BR_NO_BYTES;
    *out = part.data ? br_value_text(part) : br_value_null();
    return BR_OK;
}

/* The text of one argument of concat; room holds what is not text already. */
static br_status piece_of(const br_value *v, char room[BR_NUMBER_TEXT_MAX], br_bytes *out,
                          br_err *err)
{
    *out = BR_NO_BYTES;
    if (v->kind == BR_TEXT)
        *out = v->s;
    else if (v->kind == BR_BOOL)
        *out = v->b ? BR_LITERAL("true") : BR_LITERAL("false");
    else if (br_value_is_number(v))
        *out = br_bytes_of(room, br_number_format(v, room));
    else
        return br_fail(err, BR_ERR_BAD_RECORD, "concat takes text, numbers and bools, not %s",
                       br_kind_name(v->kind));
    return BR_OK;
}

static br_status run_concat(const br_value *args, size_t count, br_arena *arena, br_value *out,
                            br_err *err)
{
    char room[BR_FUNCTION_ARGS_MAX][BR_NUMBER_TEXT_MAX];
    br_bytes pieces[BR_FUNCTION_ARGS_MAX];
    size_t len = 0;
    BR_ASSERT(count <= BR_FUNCTION_ARGS_MAX);
    for (size_t i = 0; i < count; i++) {
        br_status st = piece_of(&args[i], room[i], &pieces[i], err);
        if (st != BR_OK) return st;
        len += pieces[i].len;
    }
    char *text = br_arena_alloc(arena, len);
    *out = br_value_text(br_bytes_of(text, len));
    for (size_t i = 0; i < count; i++) {
        if (pieces[i].len > 0) memcpy(text, pieces[i].data, pieces[i].len);
        text += pieces[i].len;
    }
    return BR_OK;
}

/* Adds `shift` to the letters of [first, first + 26). */
static br_status run_case(const char *fn, const br_value *x, char first, int shift, br_arena *arena,
                          br_value *out, br_err *err)
{
    br_bytes text;
    br_status st = text_of(fn, x, arena, &text, err);
    if (st != BR_OK) return st;
    char *changed = br_arena_alloc(arena, text.len);
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        changed[i] = c >= first && c < first + 26 ? (char)(c + shift) : c;
    }
    *out = br_value_text(br_bytes_of(changed, text.len));
    return BR_OK;
}

static br_status run_lower(const br_value *args, size_t count, br_arena *arena, br_value *out,
                           br_err *err)
{
    (void)count;
    return run_case("lower", &args[0], 'A', 'a' - 'A', arena, out, err);
}

static br_status run_upper(const br_value *args, size_t count, br_arena *arena, br_value *out,
                           br_err *err)
{
    (void)count;
    return run_case("upper", &args[0], 'a', 'A' - 'a', arena, out, err);
}

const br_function br_functions[] = {
    {"unsalt", "unsalt(x[, sep])", 1, 2, 1, run_unsalt},
    {"part", "part(x, sep, i)", 3, 3, 1, run_part},
    {"concat", "concat(x, ...)", 1, BR_FUNCTION_ARGS_MAX, 0, run_concat},
    {"lower", "lower(x)", 1, 1, 0, run_lower},
    {"upper", "upper(x)", 1, 1, 0, run_upper},
    {0},
};

const br_function *br_function_find(br_bytes name)
{
    for (const br_function *fn = br_functions; fn->name; fn++)
        if (br_bytes_equal(name, br_str(fn->name))) return fn;
    return NULL;
}

const char *br_function_nearest(br_bytes name)
{
    const char *names[BR_COUNTOF(br_functions)];
    size_t count = 0;
    for (const br_function *fn = br_functions; fn->name; fn++) names[count++] = fn->name;
    return br_nearest(name, names, count);
}

br_status br_function_check(const br_function *fn, size_t count, br_err *err)
{
    if (count >= fn->args_min && count <= fn->args_max) return BR_OK;
    return br_fail(err, BR_ERR_CONFIG, "%s has %zu argument%s; it is %s", fn->name, count,
                   count == 1 ? "" : "s", fn->usage);
}

br_status br_function_call(const br_function *fn, const br_value *args, size_t count,
                           br_arena *arena, br_value *out, br_err *err)
{
    for (size_t i = 0; i < count; i++) {
        if (!br_value_is_null(&args[i])) continue;
        *out = br_value_null();
        return BR_OK;
    }
    return fn->run(args, count, arena, out, err);
}
