/* runtime/cli/generator.c - see generator.h. */
#include "runtime/cli/generator.h"

#include "runtime/base/status.h"

#include <string.h>

static const uint64_t first_ms = 1700000000000;

enum { JITTER_MS = 1000, USERS = 1000000, COST_MICROS_MAX = 100000 };

static const char regions[][16] = {"us-west",  "us-east", "eu-west", "eu-north",
                                   "ap-south", "ap-east", "sa-east", "af-south"};

static char *put(char *at, const char *text, size_t len)
{
    memcpy(at, text, len);
    return at + len;
}

#define PUT(at, literal) put(at, literal, sizeof(literal) - 1)

static char *put_number(char *at, uint64_t n)
{
    char digits[20];
    size_t i = sizeof(digits);
    do {
        digits[--i] = (char)('0' + n % 10);
        n /= 10;
    } while (n > 0);
    return put(at, digits + i, sizeof(digits) - i);
}

static char *put_hex(char *at, uint64_t n)
{
    for (int shift = 60; shift >= 0; shift -= 4) *at++ = "0123456789abcdef"[n >> shift & 15];
    return at;
}

/* One decimal. */
static char *put_tenths(char *at, int64_t tenths)
{
    if (tenths < 0) *at++ = '-';
    uint64_t n = (uint64_t)(tenths < 0 ? -tenths : tenths);
    at = put_number(at, n / 10);
    *at++ = '.';
    return put_number(at, n % 10);
}

static uint64_t choose_id(br_generator *generator)
{
    uint64_t ids = generator->ids, last = ids - 1;
    if (generator->hot <= 0) return br_rng_below(&generator->rng, ids);
    uint64_t hot = last < BR_GENERATOR_HOT_INDEX ? last : BR_GENERATOR_HOT_INDEX;
    bool is_hot = br_rng_unit(&generator->rng) < generator->hot;
    if (is_hot || ids == 1) return hot;
    uint64_t other = br_rng_below(&generator->rng, last);
    return other < hot ? other : other + 1;
}

static char *put_region(br_generator *generator, char *at)
{
    const char *region = regions[br_rng_below(&generator->rng, BR_COUNTOF(regions))];
    at = PUT(at, "\",\"region\":\"");
    return put(at, region, strlen(region));
}

static char *put_time_and_end(br_generator *generator, char *at)
{
    at = PUT(at, ",\"ts\":");
    at = put_number(at, first_ms + generator->index++ + br_rng_below(&generator->rng, JITTER_MS));
    return PUT(at, "}\n");
}

static char *put_click(br_generator *generator, char *at)
{
    at = PUT(at, "{\"event_id\":\"");
    at = put_hex(at, br_rng_next(&generator->rng));
    at = PUT(at, "\",\"ad_id\":\"ad_");
    at = put_number(at, choose_id(generator));
    at = put_region(generator, at);
    at = PUT(at, "\",\"user_id\":\"u_");
    at = put_number(at, br_rng_below(&generator->rng, USERS));
    at = PUT(at, "\",\"cost_micros\":");
    at = put_number(at, 1 + br_rng_below(&generator->rng, COST_MICROS_MAX));
    return put_time_and_end(generator, at);
}

static char *put_reading(br_generator *generator, char *at)
{
    at = PUT(at, "{\"device_id\":\"device_");
    at = put_number(at, choose_id(generator));
    at = put_region(generator, at);
    at = PUT(at, "\",\"temperature\":");
    at = put_tenths(at, (int64_t)br_rng_below(&generator->rng, 501) - 100); /* -10.0 to 40.0 */
    at = PUT(at, ",\"battery\":");
    at = put_number(at, br_rng_below(&generator->rng, 101));
    return put_time_and_end(generator, at);
}

size_t br_generator_line(br_generator *generator, char *out)
{
    char *end = generator->sample == BR_SAMPLE_AD_CLICKS ? put_click(generator, out)
                                                         : put_reading(generator, out);
    return (size_t)(end - out);
}
