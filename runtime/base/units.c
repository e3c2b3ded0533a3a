/* runtime/base/units.c - see units.h. */
#include "runtime/base/units.h"

#include <inttypes.h>
#include <stdio.h>

typedef struct unit {
    const char *name;
    uint64_t factor;
} unit;

static const unit durations[] = {
    {"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000}};
static const unit sizes[] = {
    {"B", 1}, {"KiB", 1024}, {"MiB", 1048576}, {"GiB", 1073741824}, {"TiB", 1099511627776}};

static bool parse_units(br_bytes text, const unit *units, size_t count, uint64_t *out)
{
    uint64_t n = 0;
    size_t i = 0;
    for (; i < text.len && text.data[i] >= '0' && text.data[i] <= '9'; i++)
        if (__builtin_mul_overflow(n, 10, &n) ||
            __builtin_add_overflow(n, (uint64_t)(text.data[i] - '0'), &n))
            return false;
    br_bytes rest = i == 0 ? BR_NO_BYTES : br_bytes_of(text.data + i, text.len - i);
    for (size_t u = 0; u < count; u++)
        if (br_bytes_equal(rest, br_str(units[u].name)))
            return !__builtin_mul_overflow(n, units[u].factor, out) && *out <= INT64_MAX;
    return false;
}

br_status br_parse_duration(br_bytes text, int64_t *ms, br_err *err)
{
    uint64_t out;
    if (!parse_units(text, durations, BR_COUNTOF(durations), &out))
        return br_fail(
            err, BR_ERR_CONFIG,
            "`%.*s` is not a duration: write a whole number and a unit (ms, s, m, h, d), "
            "such as 250ms or 10s",
            (int)text.len, text.data);
    *ms = (int64_t)out;
    return BR_OK;
}

br_status br_parse_size(br_bytes text, uint64_t *bytes, br_err *err)
{
    if (!parse_units(text, sizes, BR_COUNTOF(sizes), bytes))
        return br_fail(err, BR_ERR_CONFIG,
                       "`%.*s` is not a size: write a whole number and a unit (B, KiB, MiB, GiB, "
                       "TiB), such as 64MiB",
                       (int)text.len, text.data);
    return BR_OK;
}

br_status br_parse_int(br_bytes text, int64_t min, int64_t max, int64_t *out, br_err *err)
{
    bool negative = text.len > 1 && text.data[0] == '-';
    int64_t n = 0;
    bool good = text.len > 0 && !(text.data[negative] == '0' && text.len > (negative ? 2u : 1u));
    for (size_t i = negative; good && i < text.len; i++) {
        int digit = text.data[i] - '0';
        good = digit >= 0 && digit <= 9 && !__builtin_mul_overflow(n, 10, &n) &&
               !__builtin_add_overflow(n, negative ? -digit : digit, &n);
    }
    if (!good || n < min || n > max)
        return br_fail(err, BR_ERR_CONFIG,
                       "`%.*s` is not a whole number from %" PRId64 " to %" PRId64, (int)text.len,
                       text.data, min, max);
    *out = n;
    return BR_OK;
}

char *br_format_duration(char out[32], int64_t ms)
{
    if (ms < 1000)
        (void)snprintf(out, 32, "%" PRId64 " ms", ms);
    else if (ms < 120000)
        (void)snprintf(out, 32, "%.1f s", (double)ms / 1000);
    else if (ms < 7200000)
        (void)snprintf(out, 32, "%.1f min", (double)ms / 60000);
    else
        (void)snprintf(out, 32, "%.1f h", (double)ms / 3600000);
    return out;
}

char *br_format_size(char out[32], uint64_t bytes)
{
    static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    size_t u = 0;
    double n = (double)bytes;
    for (; n >= 1024 && u + 1 < BR_COUNTOF(names); u++) n /= 1024;
    (void)snprintf(out, 32, u == 0 ? "%.0f %s" : "%.1f %s", n, names[u]);
    return out;
}

char *br_format_count(char out[32], uint64_t n)
{
    char digits[24];
    int len = snprintf(digits, sizeof(digits), "%" PRIu64, n);
    char *at = out;
    for (int i = 0; i < len; i++) {
        if (i > 0 && (len - i) % 3 == 0) *at++ = ',';
        *at++ = digits[i];
    }
    *at = '\0';
    return out;
}
