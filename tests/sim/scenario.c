/* tests/sim/scenario.c - see scenario.h. */
#include "tests/sim/scenario.h"

#include "runtime/base/hash.h"

#include <inttypes.h>
#include <stdio.h>

#define FIRST_MS INT64_C(1700000000000)

enum { ROWS_MAX = 3, AGGREGATES = 5 };

/* By what a groupBy groups. */
typedef enum grouping { BY_KEY, BY_REGION, BY_BOTH, BY_VALUE, GROUPINGS } grouping;

static const char *const by_fields[GROUPINGS] = {"[k]", "[r]", "[k, r]", "[v]"};
static const char *const aggregates[AGGREGATES] = {"n: count()", "total: sum(v)", "low: min(v)",
                                                   "high: max(v)", "newest: last(v)"};

/* What the job file says, for making input and totals. */
typedef struct shape {
    bool keyed;   /* the topic is partitioned by k */
    bool explode; /* v is an array */
    grouping by[SCENARIO_GROUPS_MAX];
    uint32_t aggregates; /* a bit for each */
    uint32_t keys;       /* distinct k */
} shape;

static uint32_t below(br_rng *rng, uint32_t n)
{
    return (uint32_t)br_rng_below(rng, n);
}

static bool chance(br_rng *rng, uint32_t percent)
{
    return below(rng, 100) < percent;
}

/* ---- the job ---- */

static void add_sources(const scenario *s, const shape *sh, br_buf *job)
{
    for (size_t i = 0; i < s->source_count; i++)
        br_buf_printf(job, "  - source: {id: s%zu, topic: in%zu, timestamp: ts, errors: skip%s}\n",
                      i, i, sh->keyed ? ", partitioned_by: [k]" : "");
    const char *from = s->source_count == 2 ? "[s0, s1]" : "[s0]";
    if (sh->explode)
        br_buf_printf(job, "  - map: {id: rows, from: %s, explode: v}\n", from);
    else
        br_buf_printf(job, "  - map: {id: rows, from: %s, where: \"v > 0\"}\n", from);
}

static void add_group(scenario *s, const shape *sh, size_t index, br_rng *rng, br_buf *job)
{
    const char *comma = "";
    bool one_stage = sh->keyed && (sh->by[index] == BY_KEY || sh->by[index] == BY_BOTH);
    s->one_stage[index] = one_stage;
    br_buf_printf(job, "  - groupBy: {id: g%zu, from: rows, by: %s, aggregate: {", index,
                  by_fields[sh->by[index]]);
    for (size_t i = 0; i < AGGREGATES; i++) {
        if ((sh->aggregates >> i & 1) == 0) continue;
        br_buf_printf(job, "%s%s", comma, aggregates[i]);
        comma = ", ";
    }
    br_buf_adds(job, "}");
    if (!one_stage) br_buf_printf(job, ", partitions: %" PRIu32, 1 + below(rng, 3));
    br_buf_printf(job, "}\n  - sink: {id: out%zu, topic: out%zu}\n", index, index);
}

static void make_job(scenario *s, shape *sh, br_rng *rng)
{
    br_buf job = {0};
    s->source_count = chance(rng, 25) ? 2 : 1;
    s->group_count = chance(rng, 40) ? 2 : 1;
    for (size_t i = 0; i < s->source_count; i++)
        s->partitions[i] = (int32_t)(1 + below(rng, s->source_count == 2 ? 2 : 3));
    sh->keyed = s->source_count == 1 && chance(rng, 50);
    sh->explode = chance(rng, 40);
    sh->aggregates = 1 | below(rng, 1 << AGGREGATES);
    sh->keys = 1 + below(rng, 4);
    for (size_t i = 0; i < s->group_count; i++)
        sh->by[i] = chance(rng, 50) ? BY_KEY : (grouping)below(rng, GROUPINGS);
    br_buf_adds(&job, "name: sim\noperators:\n");
    add_sources(s, sh, &job);
    for (size_t i = 0; i < s->group_count; i++) add_group(s, sh, i, rng, &job);
    BR_ASSERT(job.len < sizeof(s->job));
    memcpy(s->job, br_buf_cstr(&job), job.len + 1);
    br_buf_dispose(&job);
}

/* ---- totals ---- */

/* One row, as it reaches the groupBys. */
typedef struct row {
    char k[8];
    const char *r; /* NULL: missing */
    int64_t v, ts;
} row;

static bool make_key(grouping by, const row *at, char out[32])
{
    if (!at->r && (by == BY_REGION || by == BY_BOTH)) return false;
    switch (by) {
    case BY_KEY: (void)snprintf(out, 32, "%s", at->k); break;
    case BY_REGION: (void)snprintf(out, 32, "%s", at->r); break;
    case BY_BOTH: (void)snprintf(out, 32, "{\"k\":\"%s\",\"r\":\"%s\"}", at->k, at->r); break;
    case BY_VALUE:
    case GROUPINGS: (void)snprintf(out, 32, "%" PRId64, at->v); break;
    }
    return true;
}

scenario_total *scenario_find(scenario *s, size_t group_by, br_bytes key)
{
    for (size_t i = 0; i < s->total_count; i++)
        if (s->totals[i].group_by == group_by && br_bytes_equal(br_str(s->totals[i].key), key))
            return &s->totals[i];
    return NULL;
}

static scenario_total *total_of(scenario *s, size_t group_by, const char *key)
{
    scenario_total *total = scenario_find(s, group_by, br_str(key));
    if (total) return total;
    BR_ASSERT(s->total_count < BR_COUNTOF(s->totals));
    total = &s->totals[s->total_count++];
    *total = (scenario_total){
        .group_by = group_by, .min = INT64_MAX, .max = INT64_MIN, .last_ms = INT64_MIN};
    memcpy(total->key, key, strlen(key) + 1);
    return total;
}

static void count_row(scenario *s, const shape *sh, const row *at)
{
    char key[32];
    for (size_t g = 0; g < s->group_count; g++) {
        if (!make_key(sh->by[g], at, key)) continue;
        scenario_total *total = total_of(s, g, key);
        bool later = at->ts > total->last_ms || (at->ts == total->last_ms && at->v > total->last);
        total->count++;
        total->sum += at->v;
        if (at->v < total->min) total->min = at->v;
        if (at->v > total->max) total->max = at->v;
        if (later) total->last = at->v;
        if (later) total->last_ms = at->ts;
    }
}

static void write_total(const shape *sh, scenario_total *total)
{
    const int64_t values[AGGREGATES] = {total->count, total->sum, total->min, total->max,
                                        total->last};
    br_buf out = {0};
    switch (sh->by[total->group_by]) {
    case BY_KEY: br_buf_printf(&out, "{\"k\":\"%s\"", total->key); break;
    case BY_REGION: br_buf_printf(&out, "{\"r\":\"%s\"", total->key); break;
    case BY_BOTH: br_buf_add(&out, total->key, strlen(total->key) - 1); break;
    case BY_VALUE:
    case GROUPINGS: br_buf_printf(&out, "{\"v\":%s", total->key); break;
    }
    for (size_t i = 0; i < AGGREGATES; i++)
        if ((sh->aggregates >> i & 1) != 0)
            br_buf_printf(&out, ",\"%.*s\":%" PRId64, (int)strcspn(aggregates[i], ":"),
                          aggregates[i], values[i]);
    br_buf_addc(&out, '}');
    BR_ASSERT(out.len < sizeof(total->value));
    memcpy(total->value, br_buf_cstr(&out), out.len + 1);
    br_buf_dispose(&out);
}

/* ---- input ---- */

/* Writes the record's value and counts its rows. */
static void make_value(scenario *s, const shape *sh, row *at, br_rng *rng, br_buf *value)
{
    size_t rows = sh->explode ? below(rng, ROWS_MAX + 1) : 1;
    br_buf_printf(value, "{\"k\":\"%s\",\"ts\":%" PRId64, at->k, at->ts);
    if (at->r) br_buf_printf(value, ",\"r\":\"%s\"", at->r);
    br_buf_adds(value, sh->explode ? ",\"v\":[" : ",\"v\":");
    for (size_t i = 0; i < rows; i++) {
        at->v = below(rng, 6);
        br_buf_printf(value, "%s%" PRId64, i ? "," : "", at->v);
        if (sh->explode || at->v > 0) count_row(s, sh, at);
    }
    br_buf_adds(value, sh->explode ? "]}" : "}");
}

static void make_record(scenario *s, const shape *sh, br_rng *rng)
{
    static const char *const regions[] = {"x", "y", "z", NULL};
    scenario_record *record = &s->records[s->record_count];
    row at = {.ts = FIRST_MS + ((int64_t)s->record_count + below(rng, 17)) * 1000};
    br_buf value = {0};
    at.ts += (int64_t)s->record_count++; /* no two records have the same */
    (void)snprintf(at.k, sizeof(at.k), "%c", 'a' + (char)below(rng, sh->keys));
    at.r = regions[chance(rng, 4) ? 3 : below(rng, 3)];
    record->source = below(rng, (uint32_t)s->source_count);
    uint32_t partitions = (uint32_t)s->partitions[record->source];
    record->partition = sh->keyed ? br_partition_of(br_str(at.k), (int32_t)partitions)
                                  : (int32_t)below(rng, partitions);
    record->timestamp_ms = at.ts;
    (void)snprintf(record->key, sizeof(record->key), "%s_%" PRIu32, at.k, below(rng, 3));
    if (chance(rng, 4))
        br_buf_adds(&value, chance(rng, 50) ? "" : "{no JSON");
    else
        make_value(s, sh, &at, rng, &value);
    BR_ASSERT(value.len < sizeof(record->value));
    memcpy(record->value, br_buf_cstr(&value), value.len + 1);
    br_buf_dispose(&value);
}

void scenario_make(scenario *out, br_rng *rng)
{
    shape sh = {0};
    *out = (scenario){0};
    make_job(out, &sh, rng);
    uint32_t records = 4 + below(rng, SCENARIO_RECORDS_MAX - 4);
    while (out->record_count < records) make_record(out, &sh, rng);
    for (size_t i = 0; i < out->total_count; i++) write_total(&sh, &out->totals[i]);
}
