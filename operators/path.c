/* operators/path.c - see path.h. */
#include "operators/path.h"

#include "operators/literal.h"
#include "runtime/base/alloc.h"

#include <inttypes.h>

size_t br_identifier_len(br_bytes text)
{
    size_t n = 0;
    for (; n < text.len; n++) {
        char c = text.data[n];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!letter && (n == 0 || c < '0' || c > '9')) break;
    }
    return n;
}

static br_step *add_step(br_path *path)
{
    path->steps = br_realloc(path->steps, (path->count + 1) * sizeof(*path->steps));
    br_step *step = &path->steps[path->count++];
    *step = (br_step){0};
    return step;
}

/* text begins with a quote. Names are C strings, so one with a NUL could never be matched. */
static br_status take_quoted(br_path *path, br_bytes text, size_t *used, br_err *err)
{
    br_buf name = {0};
    br_status st = br_literal_parse(text, &name, used, err);
    if (st == BR_OK && name.len > 0 && memchr(name.data, '\0', name.len)) {
        *used = 0;
        st = br_fail(err, BR_ERR_CONFIG, "a field name with a NUL byte");
    }
    if (st == BR_OK) add_step(path)->name = br_strndup(name.len > 0 ? name.data : "", name.len);
    br_buf_dispose(&name);
    return st;
}

/* [digits]: returns its length, 0 where it is no index. */
static size_t take_index(br_path *path, br_bytes text)
{
    int64_t index = 0;
    size_t i = 1;
    for (; i < text.len && text.data[i] >= '0' && text.data[i] <= '9'; i++)
        if (__builtin_mul_overflow(index, 10, &index) ||
            __builtin_add_overflow(index, text.data[i] - '0', &index))
            return 0;
    if (i == 1 || i >= text.len || text.data[i] != ']') return 0;
    add_step(path)->index = index;
    return i + 1;
}

/* One step; *used 0: there is none. A dot goes before a name unless it is a plain first one. */
static br_status take_step(br_path *path, br_bytes text, size_t *used, br_err *err)
{
    bool dot = text.len > 1 && text.data[0] == '.';
    br_bytes name = br_bytes_of(text.data + dot, text.len - dot);
    size_t len = dot == (path->count > 0) ? br_identifier_len(name) : 0;
    *used = 0;
    if (len > 0) {
        add_step(path)->name = br_strndup(name.data, len);
        *used = len + dot;
    } else if (dot && (name.data[0] == '"' || name.data[0] == '\'')) {
        br_status st = take_quoted(path, name, used, err);
        *used += 1;
        return st;
    } else if (path->count > 0 && text.len > 0 && text.data[0] == '[') {
        *used = take_index(path, text);
    }
    return BR_OK;
}

br_status br_path_parse_prefix(br_path *out, br_bytes text, size_t *used, br_err *err)
{
    size_t step;
    *out = (br_path){0};
    *used = 0;
    do {
        br_bytes rest = br_bytes_of(text.data + *used, text.len - *used);
        br_status st = take_step(out, rest, &step, err);
        *used += step;
        if (st != BR_OK) {
            br_path_dispose(out);
            return st;
        }
    } while (step > 0);
    if (out->count > 0) return BR_OK;
    return br_fail(err, BR_ERR_CONFIG, "a field name was expected");
}

br_status br_path_parse(br_path *out, br_bytes text, br_err *err)
{
    size_t used;
    int shown = (int)(text.len < 80 ? text.len : 80);
    if (br_path_parse_prefix(out, text, &used, err) != BR_OK)
        return br_wrap(err, "path `%.*s`, column %zu", shown, text.data ? text.data : "", used + 1);
    if (used == text.len) return BR_OK;
    br_path_dispose(out);
    return br_fail(err, BR_ERR_CONFIG,
                   "path `%.*s`, column %zu: unexpected `%c`; a path is a name, then .name, "
                   ".\"odd name\" or [0]",
                   shown, text.data, used + 1, text.data[used]);
}

br_path br_path_copy(const br_path *path, size_t from)
{
    br_path copy = {0};
    for (size_t i = from; i < path->count; i++) {
        br_step *step = add_step(&copy);
        step->index = path->steps[i].index;
        step->name = path->steps[i].name ? br_strdup(path->steps[i].name) : NULL;
    }
    return copy;
}

static bool step_equal(const br_step *a, const br_step *b)
{
    if (!a->name || !b->name) return !a->name && !b->name && a->index == b->index;
    return strcmp(a->name, b->name) == 0;
}

bool br_path_equal(const br_path *a, const br_path *b)
{
    if (a->count != b->count) return false;
    for (size_t i = 0; i < a->count; i++)
        if (!step_equal(&a->steps[i], &b->steps[i])) return false;
    return true;
}

void br_path_print(const br_path *path, size_t count, br_buf *out)
{
    for (size_t i = 0; i < count; i++) {
        const br_step *step = &path->steps[i];
        if (!step->name) {
            br_buf_printf(out, "[%" PRId64 "]", step->index);
            continue;
        }
        br_bytes name = br_str(step->name);
        bool plain = name.len > 0 && br_identifier_len(name) == name.len;
        if (i > 0 || !plain) br_buf_addc(out, '.');
        if (plain)
            br_buf_addb(out, name);
        else
            br_literal_print(name, out);
    }
}

void br_path_dispose(br_path *path)
{
    for (size_t i = 0; i < path->count; i++) br_free(path->steps[i].name);
    br_free(path->steps);
    *path = (br_path){0};
}
