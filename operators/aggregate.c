/* operators/aggregate.c - see aggregate.h. */
#include "operators/aggregate.h"
#include "operators/aggregates/functions.h"
#include "runtime/base/names.h"

#include <ctype.h>

const br_aggregate *const br_aggregates[] = {
    &br_aggregate_count, &br_aggregate_sum,   &br_aggregate_min,  &br_aggregate_max,
    &br_aggregate_avg,   &br_aggregate_first, &br_aggregate_last, NULL,
};

const br_aggregate *br_aggregate_find(br_bytes name)
{
    for (size_t i = 0; br_aggregates[i]; i++) {
        if (br_bytes_equal(name, br_str(br_aggregates[i]->name))) return br_aggregates[i];
    }
    return NULL;
}

static br_bytes trim(br_bytes text)
{
    while (text.len > 0 && isspace((unsigned char)text.data[0])) text.data++, text.len--;
    while (text.len > 0 && isspace((unsigned char)text.data[text.len - 1])) text.len--;
    return text;
}

/* Index behind the quoted text that begins at i. */
static size_t skip_quoted(br_bytes text, size_t i)
{
    char quote = text.data[i++];
    for (; i < text.len && text.data[i] != quote; i++) {
        if (text.data[i] == '\\') i++;
    }
    return i + 1;
}

/* From the opening parenthesis: the index of the one that closes it, text.len where none does.
 * *commas: how many stand between the two at their own level. */
static size_t closing(br_bytes text, size_t open, size_t *commas)
{
    size_t depth = 0;
    *commas = 0;
    for (size_t i = open; i < text.len;) {
        char c = text.data[i];
        if (c == '"' || c == '\'') {
            i = skip_quoted(text, i);
            continue;
        }
        if (c == '(' || c == '[' || c == '{') depth++;
        if (c == ')' || c == ']' || c == '}') depth--;
        if (depth == 0) return i;
        if (c == ',' && depth == 1) ++*commas;
        i++;
    }
    return text.len;
}

static br_status unknown(br_bytes name, br_err *err)
{
    const char *names[BR_COUNTOF(br_aggregates)];
    size_t count = 0;
    char list[128] = "";
    for (; br_aggregates[count]; count++) {
        names[count] = br_aggregates[count]->name;
        strcat(strcat(list, count > 0 ? ", " : ""), names[count]);
    }
    const char *nearest = br_nearest(name, names, count);
    if (!nearest) {
        return br_fail(err, BR_ERR_CONFIG, "unknown aggregate '%.*s', allowed are %s",
                       (int)name.len, name.data, list);
    }
    return br_fail(err, BR_ERR_CONFIG, "unknown aggregate '%.*s', did you mean %s?", (int)name.len,
                   name.data, nearest);
}

/* count is the one that goes with or without an argument. */
static br_status choose(br_bytes name, bool argument, const br_aggregate **fn, br_err *err)
{
    *fn = br_aggregate_find(name);
    if (!*fn) return unknown(name, err);
    if (*fn == &br_aggregate_count && argument) *fn = &br_aggregate_count_of;
    if ((*fn)->takes_argument == argument) return BR_OK;
    return br_fail(err, BR_ERR_CONFIG, "%s takes an argument, such as %s(price)", (*fn)->name,
                   (*fn)->name);
}

br_status br_aggregate_parse(br_bytes text, const br_aggregate **fn, br_bytes *argument,
                             br_err *err)
{
    text = trim(text);
    const char *open = text.len > 0 ? memchr(text.data, '(', text.len) : NULL;
    size_t at = open ? (size_t)(open - text.data) : 0, commas = 0;
    if (at == 0 || text.data[text.len - 1] != ')' || closing(text, at, &commas) != text.len - 1) {
        return br_fail(err, BR_ERR_CONFIG,
                       "'%.*s' is not an aggregate: write one call, such as count() or sum(price); "
                       "arithmetic goes inside it, or into a map below",
                       (int)text.len, text.data ? text.data : "");
    }
    br_bytes name = trim(br_bytes_of(text.data, at));
    br_bytes inside = trim(br_bytes_of(open + 1, text.len - at - 2));
    br_status st = choose(name, inside.len > 0, fn, err);
    if (st < 0) return st;
    if (commas > 0) {
        return br_fail(err, BR_ERR_CONFIG, "%s takes one argument, found %zu", (*fn)->name,
                       commas + 1);
    }
    *argument = inside.len > 0 ? inside : BR_NO_BYTES;
    return BR_OK;
}
