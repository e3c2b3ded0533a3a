/* runtime/base/names.c - see names.h. */
#include "runtime/base/names.h"

enum { NEAREST_LEN_MAX = 64 };

br_status br_check_name(const char *what, br_bytes name, size_t len_max, br_err *err)
{
    bool good = name.len > 0 && name.len <= len_max && !br_bytes_equal(name, br_str(".")) &&
                !br_bytes_equal(name, br_str(".."));
    for (size_t i = 0; good && i < name.len; i++) {
        char c = name.data[i];
        good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '.' || c == '_' || c == '-';
    }
    if (good && name.data[0] != '-') return BR_OK;
    return br_fail(err, BR_ERR_CONFIG,
                   "%s `%.*s` is not allowed: 1 to %zu of A-Z a-z 0-9 . _ -, not starting with -, "
                   "not . or ..",
                   what, (int)(name.len > 80 ? 80 : name.len), name.data ? name.data : "", len_max);
}

br_status br_check_id(br_bytes id, br_err *err)
{
    bool good = id.len > 0 && id.len <= 40 && id.data[0] >= 'a' && id.data[0] <= 'z';
    for (size_t i = 0; good && i < id.len; i++) {
        char c = id.data[i];
        good = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
    }
    if (good) return BR_OK;
    return br_fail(err, BR_ERR_CONFIG,
                   "id `%.*s` is not allowed: a lower-case letter, then up to 39 of a-z 0-9 _",
                   (int)(id.len > 80 ? 80 : id.len), id.data ? id.data : "");
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t distance(br_bytes a, br_bytes b)
{
    size_t rows[3][NEAREST_LEN_MAX + 1];
    size_t *before = rows[0], *last = rows[1], *now = rows[2];
    for (size_t j = 0; j <= b.len; j++) last[j] = j;
    for (size_t i = 1; i <= a.len; i++) {
        now[0] = i;
        for (size_t j = 1; j <= b.len; j++) {
            size_t cost = a.data[i - 1] != b.data[j - 1];
            now[j] = least(least(last[j] + 1, now[j - 1] + 1), last[j - 1] + cost);
            if (i > 1 && j > 1 && a.data[i - 1] == b.data[j - 2] && a.data[i - 2] == b.data[j - 1])
                now[j] = least(now[j], before[j - 2] + 1);
        }
        size_t *spare = before;
        before = last;
        last = now;
        now = spare;
    }
    return last[b.len];
}

const char *br_nearest(br_bytes name, const char *const *candidates, size_t count)
{
    const char *best = NULL;
    size_t best_distance = name.len / 3 + 2;
    if (name.len > NEAREST_LEN_MAX) return NULL;
    for (size_t i = 0; i < count; i++) {
        br_bytes candidate = br_str(candidates[i]);
        if (candidate.len > NEAREST_LEN_MAX) continue;
        size_t d = distance(name, candidate);
        if (d < best_distance && d < candidate.len) {
            best_distance = d;
            best = candidates[i];
        }
    }
    return best;
}
