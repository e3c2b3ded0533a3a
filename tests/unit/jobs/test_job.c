/* tests/unit/jobs/test_job.c - job files: what is refused, where, and with which words. */
#include "jobs/env.h"
#include "jobs/job.h"
#include "runtime/base/alloc.h"
#include "runtime/base/limits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

/* A good job, to which a case adds its mistake. */
#define SOURCE "  - source: {id: s, topic: in}\n"
#define GROUP "  - groupBy: {id: g, by: [a], aggregate: {n: count()}}\n"
#define SINK "  - sink: {topic: out}\n"
#define HEAD "name: j\noperators:\n"

typedef struct refusal {
    const char *text;
    int line, column;
    const char *path;
    const char *message; /* part of it */
} refusal;

static bool has_error(const br_job_errors *errors, const refusal *wanted)
{
    for (size_t i = 0; i < errors->count; i++) {
        const br_job_error *error = &errors->at[i];
        if (error->line == wanted->line && error->column == wanted->column &&
            strcmp(error->path, wanted->path) == 0 && strstr(error->message, wanted->message))
            return true;
    }
    return false;
}

static void assert_refused(const refusal *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        br_job *job = NULL;
        br_job_errors errors;
        br_buf text = {0};
        assert_int_equal(br_job_parse(&job, br_str(cases[i].text), "job.yaml", &errors),
                         BR_ERR_CONFIG);
        assert_null(job);
        br_job_errors_print(&errors, &text);
        if (!has_error(&errors, &cases[i]))
            fail_msg("case %zu: no error %d:%d %s `%s` in\n%s\nof\n%s", i, cases[i].line,
                     cases[i].column, cases[i].path, cases[i].message, br_buf_cstr(&text),
                     cases[i].text);
        br_buf_dispose(&text);
        br_job_errors_dispose(&errors);
    }
}

static br_job *parse_good(const char *text)
{
    br_job *job = NULL;
    br_job_errors errors;
    br_buf found = {0};
    br_status status = br_job_parse(&job, br_str(text), "job.yaml", &errors);
    br_job_errors_print(&errors, &found);
    if (status != BR_OK) fail_msg("refused:\n%s", br_buf_cstr(&found));
    br_buf_dispose(&found);
    br_job_errors_dispose(&errors);
    return job;
}

static void yaml__what_readers_disagree_on__is_refused_with_its_place(void **state)
{
    /* FAULTS 70: nothing is accepted that means something else to another reader. */
    static const refusal cases[] = {
        {HEAD SOURCE GROUP SINK "name: k\n", 6, 1, "", "`name` stands twice: first in line 1"},
        {HEAD "  - source: {id: s, topic: in, topic: in2}\n" SINK, 3, 32, "", "stands twice"},
        {"name: &n j\n", 1, 7, "", "anchors"},
        {"name: *n\n", 1, 7, "", "aliases"},
        {HEAD "  - source: {<<: {topic: in}, id: s}\n", 3, 14, "", "merge keys"},
        {"name: !!str j\n", 1, 7, "", "tags"},
        {"name: j\n---\nname: k\n", 2, 1, "", "second document"},
        {"name: j\noperators:\n\t- source: {}\n", 3, 1, "", "tab"},
        {"", 0, 0, "", "empty"},
        {"# nothing\n", 0, 0, "", "empty"},
        {"---\n...\n", 0, 0, "", "empty"},
        {"~\n", 0, 0, "", "empty"},
        {"[a, b]\n", 1, 1, "", "found a list"},
        {"just text\n", 1, 1, "", "found text"},
        {"name: \"a\\0b\"\n", 1, 7, "", "NUL"},
        {"\"a\\0b\": c\n", 1, 1, "", "NUL"},
        {"name: \xff\n", 1, 7, "", "UTF-8"},
        {"name: a\nx: \x01\n", 2, 4, "", "control characters"},
        {"? [a]\n: b\n", 1, 3, "", "key must be a plain name"},
        {"name: [a\n", 2, 1, "", "not YAML"},
        {"name: @key\n", 1, 7, "", "begins with @ must stand in quotes"},
    };
    (void)state;
    assert_refused(cases, BR_COUNTOF(cases));
}

static void bind__wrong_fields_and_values__are_refused_with_what_is_allowed(void **state)
{
    /* A message names what was found, what is allowed and the nearest valid name. */
    static const refusal cases[] = {
        {HEAD SOURCE "  - groupBy: {by: a, agregate: {n: count()}}\n" SINK, 4, 22,
         "operators[1].groupBy",
         "unknown field `agregate`, did you mean `aggregate`?; allowed are id, from, by"},
        {"nam: j\n", 1, 1, "", "unknown field `nam`, did you mean `name`?"},
        {"operators: []\n", 1, 1, "name", "the field `name` is missing"},
        {HEAD "  - source: {id: s}\n", 3, 13, "operators[0].source.topic", "is missing"},
        {HEAD "  - sourc: {topic: in}\n", 3, 5, "operators[0]", "did you mean `source`?"},
        {HEAD "  - source: {topic: in}\n    map: {}\n", 3, 5, "operators[0]", "found 2 keys"},
        {HEAD "  - {}\n", 3, 5, "operators[0]", "found 0 keys"},
        {HEAD "  - source\n", 3, 5, "operators[0]", "found text, wanted is a mapping"},
        {HEAD "  - source: ~\n", 3, 13, "operators[0].source", "the field has no value"},
        {HEAD "  - source: {topic: ~}\n", 3, 21, "operators[0].source.topic", "has no value"},
        {HEAD "  - source: {topic: }\n", 3, 21, "operators[0].source.topic", "has no value"},
        {HEAD "  - source: {topic: [a]}\n", 3, 21, "operators[0].source.topic", "found a list"},
        {HEAD "  - source: {topic: in, format: xml}\n", 3, 33, "operators[0].source.format",
         "`xml` is not allowed here: allowed are json, text, csv, none"},
        {HEAD "  - source: {topic: in, format: JSON}\n", 3, 33, "operators[0].source.format",
         "allowed are json"},
        {HEAD SOURCE "  - groupBy: {by: {a: {b: c}}}\n", 4, 23, "operators[1].groupBy.by[0]",
         "found a mapping"},
        {HEAD SOURCE "  - groupBy: {by: [{a: b, c: d}]}\n", 4, 20, "operators[1].groupBy.by[0]",
         "one `name: expression`"},
        {HEAD SOURCE "  - map: {keep: {a: b}}\n", 4, 17, "operators[1].map.keep",
         "wanted is a list"},
        {"name: j\noperators: {source: {topic: in}}\n", 2, 12, "operators", "wanted is a list"},
        {"name: j\nsettings: {kafka: [x]}\n", 2, 20, "settings.kafka[0]", "one `name: value`"},
    };
    (void)state;
    assert_refused(cases, BR_COUNTOF(cases));
}

static void bind__numbers_and_units__are_exact(void **state)
{
    /* FAULTS 70: 08, 1_000, 1e3, 0x10 and a duration without a unit are no numbers. */
    static const char *const numbers[] = {"08",  "1_000", "1e3", "0x10",        "-1",   "0",
                                          "1.5", "''",    "no",  "99999999999", "10001"};
    static const char *const durations[] = {"60", "1.5m", "0", "-5s", "0s", "2h", "9ms", "1 m"};
    (void)state;
    for (size_t i = 0; i < BR_COUNTOF(numbers); i++) {
        char text[256];
        (void)snprintf(text, sizeof(text), HEAD SOURCE "  - sink: {topic: out, partitions: %s}\n",
                       numbers[i]);
        assert_refused(&(refusal){text, 4, 36, "operators[1].sink.partitions", ""}, 1);
    }
    for (size_t i = 0; i < BR_COUNTOF(durations); i++) {
        char text[256];
        (void)snprintf(text, sizeof(text), HEAD SOURCE SINK "settings: {commit_interval: %s}\n",
                       durations[i]);
        assert_refused(&(refusal){text, 5, 29, "settings.commit_interval", ""}, 1);
    }
}

static void check__operators_that_make_no_sense__are_refused(void **state)
{
    /* Each rule about one operator points at the field that breaks it. */
    static const refusal cases[] = {
        {HEAD "  - source: {id: S, topic: in}\n" SINK, 3, 18, "operators[0].source.id",
         "id `S` is not allowed"},
        {HEAD "  - source: {id: a-b, topic: in}\n" SINK, 3, 18, "operators[0].source.id",
         "not allowed"},
        {HEAD "  - source: {topic: a/b}\n" SINK, 3, 21, "operators[0].source.topic", "the topic"},
        {HEAD "  - source: {topic: ''}\n" SINK, 3, 21, "operators[0].source.topic", "the topic"},
        {HEAD "  - source: {topic: '${T}'}\n" SINK, 3, 21, "operators[0].source.topic", "topic"},
        {HEAD "  - source: {topic: in, format: csv}\n" SINK, 3, 33, "operators[0].source.format",
         "csv needs `columns`"},
        {HEAD "  - source: {topic: in, columns: a}\n" SINK, 3, 34, "operators[0].source.columns",
         "only `format: csv`"},
        {HEAD "  - source: {topic: in, format: csv, columns: [a, b, a]}\n" SINK, 3, 54,
         "operators[0].source.columns[2]", "`a` stands twice"},
        {HEAD "  - source: {topic: in, format: csv, columns: ['']}\n" SINK, 3, 48,
         "operators[0].source.columns[0]", "1 to 100 bytes"},
        {HEAD "  - source: {topic: in, start: yesterday}\n" SINK, 3, 32,
         "operators[0].source.start", "`earliest`, `latest`"},
        {HEAD "  - source: {topic: in, timestamp: 'a['}\n" SINK, 3, 36,
         "operators[0].source.timestamp", ""},
        {HEAD "  - source: {topic: in, partitioned_by: [a, '.']}\n" SINK, 3, 45,
         "operators[0].source.partitioned_by[1]", ""},
        {HEAD SOURCE "  - map: {keep: a, drop: b}\n" SINK, 4, 26, "operators[1].map.drop",
         "exclude each other"},
        {HEAD SOURCE "  - map: {set: [a + 1]}\n" SINK, 4, 17, "operators[1].map.set[0]",
         "a name is missing"},
        {HEAD SOURCE "  - groupBy: {aggregate: {n: count()}}\n" SINK, 4, 14,
         "operators[1].groupBy.by", "at least one"},
        {HEAD SOURCE "  - groupBy: {by: a}\n" SINK, 4, 14, "operators[1].groupBy.aggregate",
         "at least one"},
        {HEAD SOURCE
         "  - groupBy: {by: [a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a], aggregate: count()}\n" SINK,
         4, 19, "operators[1].groupBy.by", "up to 16"},
        {HEAD SOURCE "  - groupBy: {by: a, aggregate: count(), partitions: 3, stages: one}\n" SINK,
         4, 54, "operators[1].groupBy.partitions", "leave it out"},
        {HEAD SOURCE "  - sink: {topic: out, format: csv}\n", 4, 32, "operators[1].sink.format",
         "allowed are json, text"},
        {HEAD SOURCE "  - sink: {topic: out, salt: 1}\n", 4, 30, "operators[1].sink.salt",
         "from 2 to 10000"},
        {HEAD SOURCE SINK "settings: {cache: 1KiB}\n", 5, 19, "settings.cache", "1MiB or more"},
        {HEAD SOURCE SINK "settings: {replication: 0}\n", 5, 25, "settings.replication",
         "from 1 to"},
        {HEAD SOURCE SINK "settings: {brokers: ''}\n", 5, 21, "settings.brokers", "no broker"},
        {HEAD SOURCE SINK "settings: {kafka: [a: 1, a: 2]}\n", 5, 26, "settings.kafka[1]",
         "`a` stands twice"},
    };
    (void)state;
    assert_refused(cases, BR_COUNTOF(cases));
}

static void check__graphs_that_make_no_sense__are_refused(void **state)
{
    /* Ids are unique, everything is read, nothing is read twice or by itself. */
    static const refusal cases[] = {
        {HEAD SINK, 3, 11, "operators[0].sink", "the first one is a source"},
        {HEAD SOURCE, 3, 3, "operators", "at least one sink"},
        {"name: j\noperators: []\n", 2, 12, "operators", "at least one source"},
        {HEAD SOURCE "  - map: {id: s}\n" SINK, 4, 15, "operators[1].map.id",
         "`s` is the id of operators[0] already"},
        {HEAD SOURCE "  - sink: {topic: out, from: t}\n", 4, 30, "operators[1].sink.from[0]",
         "no operator has the id `t`"},
        {HEAD "  - source: {id: clicks, topic: in}\n  - sink: {topic: out, from: clikcs}\n", 4, 30,
         "operators[1].sink.from[0]", "did you mean `clicks`?"},
        {HEAD SOURCE SINK "  - sink: {topic: out2}\n", 5, 11, "operators[2].sink",
         "the operator above is a sink"},
        {HEAD SOURCE "  - sink: {id: x, topic: out}\n  - sink: {topic: o, from: x}\n", 5, 28,
         "operators[2].sink.from[0]", "is a sink"},
        {HEAD SOURCE "  - sink: {topic: out, from: [s, s]}\n", 4, 34, "operators[1].sink.from[1]",
         "stands twice"},
        {HEAD SOURCE SINK "  - map: {id: m, from: s}\n", 5, 10, "operators[2].map",
         "nothing reads `m`"},
        {HEAD SOURCE "  - map: {id: a, from: [b, s]}\n  - map: {id: b, from: a}\n"
                     "  - sink: {topic: out, from: b}\n",
         4, 24, "operators[1].map.from", "a cycle"},
        {HEAD SOURCE "  - map: {id: a, from: s}\n  - map: {id: b, from: s}\n"
                     "  - sink: {topic: out, from: [a, b]}\n",
         6, 30, "operators[3].sink.from", "`s` comes here on two ways"},
        {HEAD SOURCE GROUP "  - groupBy: {id: h, by: a, aggregate: count()}\n" SINK, 5, 14,
         "operators[2].groupBy.from",
         "a groupBy cannot read another groupBy (`g`) yet; let both read the source"},
        {HEAD SOURCE "  - sink: {topic: in}\n", 4, 19, "operators[1].sink.topic",
         "its own results"},
        {HEAD SOURCE "  - source: {id: t, topic: in}\n  - sink: {topic: out, from: [s, t]}\n", 4,
         28, "operators[1].source.topic", "reads `in` already"},
        {HEAD SOURCE "  - sink: {topic: o, partitions: 3}\n"
                     "  - sink: {topic: o, from: s, partitions: 4}\n",
         5, 19, "operators[2].sink.topic", "with other `partitions`"},
    };
    (void)state;
    assert_refused(cases, BR_COUNTOF(cases));
}

static void job__several_mistakes__are_all_reported(void **state)
{
    /* All errors of a file are reported, not only the first. */
    static const char text[] = "name: a/b\noperators:\n"
                               "  - source: {topic: in, fromat: json}\n"
                               "  - groupBy: {by: [], aggregate: {n: count()}, partitions: x}\n"
                               "  - sink: {topic: 'o o', salt: 1}\n";
    static const refusal wanted[] = {
        {text, 1, 7, "name", "the job's name `a/b`"},
        {text, 3, 25, "operators[0].source", "did you mean `format`?"},
        {text, 4, 19, "operators[1].groupBy.by", "at least one"},
        {text, 4, 60, "operators[1].groupBy.partitions", "`x`"},
        {text, 5, 19, "operators[2].sink.topic", "`o o`"},
        {text, 5, 32, "operators[2].sink.salt", "1 is not allowed"},
    };
    (void)state;
    assert_refused(wanted, BR_COUNTOF(wanted));
}

static void name__what_is_no_kafka_name__is_refused(void **state)
{
    /* FAULTS 65: names cannot leave their folder or topic; digits are a name like any other. */
    static const char *const bad[] = {"''",    "'.'",   "..",   "a/b",  "../../tmp/x",
                                      "a%2Fb", "'a b'", "日本", "'-x'", "~"};
    static const char *const good[] = {"0000002", "Ads", "ads", "7", "a.b_c-d", "no", "0123456"};
    char text[512], name[310] = {0};
    (void)state;
    for (size_t i = 0; i < BR_COUNTOF(bad); i++) {
        (void)snprintf(text, sizeof(text), "name: %s\noperators:\n" SOURCE SINK, bad[i]);
        assert_refused(&(refusal){text, 1, 7, "name", ""}, 1);
    }
    memset(name, 'a', 300);
    (void)snprintf(text, sizeof(text), "name: %s\noperators:\n" SOURCE SINK, name);
    assert_refused(&(refusal){text, 1, 7, "name", "1 to 100"}, 1);
    for (size_t i = 0; i < BR_COUNTOF(good); i++) {
        (void)snprintf(text, sizeof(text), "name: %s\noperators:\n" SOURCE SINK, good[i]);
        br_job *job = parse_good(text);
        assert_string_equal(br_job_spec(job)->name, good[i]);
        br_job_destroy(job);
    }
}

static void job__text_that_looks_like_other_types__stays_text(void **state)
{
    /* FAULTS 70: no, y, 0123 and 1e3 are names of fields like any other. */
    br_job *job =
        parse_good(HEAD SOURCE "  - groupBy: {by: [no, 'y', on], aggregate: {0123: count(), "
                               "1e3: sum(x)}}\n" SINK);
    const Brine__Job__GroupBy *group = br_job_spec(job)->operators[1]->groupby;
    (void)state;
    assert_string_equal(group->by[0]->expr, "no");
    assert_string_equal(group->by[1]->expr, "y");
    assert_string_equal(group->by[2]->expr, "on");
    assert_string_equal(group->aggregate[0]->name, "0123");
    assert_string_equal(group->aggregate[1]->name, "1e3");
    br_job_destroy(job);
}

static void job__defaults__come_from_kind_and_place(void **state)
{
    /* Ids and `from` are filled in; a number that somebody took is passed over. */
    br_job *job = parse_good("name: j\noperators:\n  - source: {topic: in}\n  - map: {id: map2}\n"
                             "  - map: {}\n  - groupBy: {by: a, aggregate: count()}\n" SINK
                             "  - sink: {topic: o2, from: map2}\n");
    static const char *const ids[] = {"source1", "map2", "map3", "group_by1", "sink1", "sink2"};
    static const char *const from[] = {NULL, "source1", "map2", "map3", "group_by1", "map2"};
    const Brine__Job__Job *spec = br_job_spec(job);
    (void)state;
    assert_int_equal(spec->n_operators, BR_COUNTOF(ids));
    assert_string_equal(spec->operators[0]->source->id, ids[0]);
    assert_string_equal(spec->operators[1]->map->id, ids[1]);
    assert_string_equal(spec->operators[2]->map->id, ids[2]);
    assert_string_equal(spec->operators[3]->groupby->id, ids[3]);
    assert_string_equal(spec->operators[4]->sink->id, ids[4]);
    assert_string_equal(spec->operators[5]->sink->id, ids[5]);
    assert_string_equal(spec->operators[2]->map->from[0], from[2]);
    assert_string_equal(spec->operators[4]->sink->from[0], from[4]);
    assert_int_equal(spec->operators[0]->source->format, BRINE__JOB__FORMAT__JSON);
    assert_int_equal(spec->operators[0]->source->errors, BRINE__JOB__ERRORS__DEAD_LETTER);
    br_job_destroy(job);
}

static void assert_same(const char *a, const char *b)
{
    br_job *x = parse_good(a), *y = parse_good(b);
    const Brine__Job__Job *p = br_job_spec(x), *q = br_job_spec(y);
    size_t len = brine__job__job__get_packed_size(p);
    assert_int_equal(brine__job__job__get_packed_size(q), len);
    uint8_t *bytes = br_alloc(2 * len);
    brine__job__job__pack(p, bytes);
    brine__job__job__pack(q, bytes + len);
    assert_memory_equal(bytes, bytes + len, len);
    br_free(bytes);
    br_job_destroy(x);
    br_job_destroy(y);
}

static const char whole_yaml[] =
    "name: j\noperators:\n"
    "  - source: {id: s, topic: in, format: csv, columns: [a, b], timestamp: b, start: latest,\n"
    "             errors: skip, partitioned_by: a}\n"
    "  - map: {id: m, where: a > 1, set: {c: a + 1}, drop: [b], key: c}\n"
    "  - groupBy: {id: g, by: [a, x: c], aggregate: {n: count()}, stages: two, partitions: 7}\n"
    "  - sink: {id: o, topic: out, format: text, key: a, salt: 4, partitions: 3}\n"
    "settings: {commit_interval: 250ms, cache: 8MiB, brokers: 'h:1', kafka: {linger.ms: 5},\n"
    "           replication: 3, guarantee: at_least_once}\n";
static const char whole_json[] =
    "{\"name\":\"j\",\"operators\":[{\"source\":{\"id\":\"s\",\"topic\":\"in\",\"format\":\"csv\","
    "\"columns\":[\"a\",\"b\"],\"timestamp\":\"b\",\"start\":\"latest\",\"errors\":\"skip\","
    "\"partitioned_by\":[\"a\"]}},{\"map\":{\"id\":\"m\",\"where\":\"a > 1\",\"set\":[{\"c\":"
    "\"a + 1\"}],\"drop\":[\"b\"],\"key\":\"c\"}},{\"groupBy\":{\"id\":\"g\",\"by\":[\"a\","
    "{\"x\":\"c\"}],\"aggregate\":[{\"n\":\"count()\"}],\"stages\":\"two\",\"partitions\":7}},"
    "{\"sink\":{\"id\":\"o\",\"topic\":\"out\",\"format\":\"text\",\"key\":\"a\",\"salt\":4,"
    "\"partitions\":3}}],\"settings\":{\"commit_interval\":\"250ms\",\"cache\":\"8MiB\","
    "\"brokers\":\"h:1\",\"kafka\":[{\"linger.ms\":5}],\"replication\":3,\"guarantee\":"
    "\"at_least_once\"}}";

static void job__json_bom_and_crlf__read_as_the_same_job(void **state)
{
    /* JSON is YAML; a byte order mark and Windows line ends change nothing. */
    br_buf text = {0};
    (void)state;
    assert_same(whole_yaml, whole_json);
    br_buf_adds(&text, "\xef\xbb\xbf");
    for (const char *c = whole_yaml; *c; c++) {
        if (*c == '\n') br_buf_addc(&text, '\r');
        br_buf_addc(&text, *c);
    }
    assert_same(whole_yaml, br_buf_cstr(&text));
    br_buf_dispose(&text);
    /* Tabs may indent JSON. */
    assert_same(HEAD SOURCE SINK, "{\n\t\"name\": \"j\",\n\t\"operators\": [\n\t\t{\"source\": "
                                  "{\"id\": \"s\", \"topic\": \"in\"}},\n\t\t{\"sink\": "
                                  "{\"topic\": \"out\"}}\n\t]\n}\n");
}

static void job__every_field__is_bound(void **state)
{
    /* What was written is in the message: round trip of every field's value. */
    br_job *job = parse_good(whole_yaml);
    const Brine__Job__Job *spec = br_job_spec(job);
    const Brine__Job__Source *source = spec->operators[0]->source;
    const Brine__Job__Settings *settings = spec->settings;
    (void)state;
    assert_int_equal(source->format, BRINE__JOB__FORMAT__CSV);
    assert_int_equal(source->n_columns, 2);
    assert_string_equal(source->columns[1], "b");
    assert_int_equal(source->errors, BRINE__JOB__ERRORS__SKIP);
    assert_string_equal(source->partitioned_by[0], "a");
    assert_string_equal(spec->operators[1]->map->set[0]->name, "c");
    assert_string_equal(spec->operators[1]->map->set[0]->expr, "a + 1");
    assert_null(spec->operators[2]->groupby->by[0]->name);
    assert_string_equal(spec->operators[2]->groupby->by[1]->name, "x");
    assert_int_equal(spec->operators[2]->groupby->stages, BRINE__JOB__STAGES__TWO);
    assert_int_equal(spec->operators[3]->sink->salt, 4);
    assert_true(spec->operators[3]->sink->has_salt);
    assert_int_equal(settings->commit_interval->ms, 250);
    assert_int_equal(settings->cache->bytes, 8 << 20);
    assert_string_equal(settings->kafka[0]->name, "linger.ms");
    assert_string_equal(settings->kafka[0]->value, "5");
    assert_int_equal(settings->replication, 3);
    br_job_destroy(job);
}

static void job__cut_off_anywhere__is_read_or_refused(void **state)
{
    /* FAULTS 70: a file that was cut off after any byte crashes nothing and explains itself. */
    (void)state;
    for (size_t len = 0; len < sizeof(whole_yaml); len++) {
        const char *texts[] = {whole_yaml, whole_json};
        for (size_t i = 0; i < BR_COUNTOF(texts); i++) {
            br_job *job = NULL;
            br_job_errors errors;
            /* An allocation of its own, so that the sanitizer sees a read behind the end. */
            char *copy = br_strndup(texts[i], len);
            br_status status = br_job_parse(&job, br_bytes_of(copy, strlen(copy)), "j", &errors);
            assert_true(status == BR_OK ? job && errors.count == 0 : !job && errors.count > 0);
            br_job_destroy(job);
            br_job_errors_dispose(&errors);
            br_free(copy);
        }
    }
}

static void add_times(br_buf *out, const char *text, size_t times)
{
    for (size_t i = 0; i < times; i++) br_buf_adds(out, text);
}

static void job__too_much_of_anything__is_refused(void **state)
{
    /* FAULTS 70: a large body, deep nesting, many nodes and an alias bomb are bounded. */
    br_buf text = {0};
    (void)state;
    add_times(&text, "#23456789\n", 1024 * 1024);
    assert_refused(&(refusal){br_buf_cstr(&text), 0, 0, "", "up to 1 MiB"}, 1);
    br_buf_reset(&text);
    br_buf_adds(&text, "name: ");
    add_times(&text, "[", 500000);
    assert_refused(&(refusal){br_buf_cstr(&text), 1, 71, "", "nested up to 64 deep"}, 1);
    br_buf_reset(&text);
    br_buf_adds(&text, "name: [");
    add_times(&text, "a,", 200000);
    br_buf_adds(&text, "a]\n");
    assert_refused(&(refusal){br_buf_cstr(&text), 1, 200004, "", "up to 100000 values"}, 1);
    br_buf_reset(&text);
    br_buf_adds(&text, HEAD SOURCE "  - map: {keep: [");
    add_times(&text, "a,", 90000);
    br_buf_adds(&text, "a]}\n" SINK);
    assert_refused(&(refusal){br_buf_cstr(&text), 4, 17, "operators[1].map.keep", "up to 256"}, 1);
    br_buf_reset(&text);
    br_buf_adds(&text, HEAD SOURCE "  - sink: {topic: out, from: [");
    add_times(&text, "a,", 90000);
    br_buf_adds(&text, "a]}\n");
    assert_refused(&(refusal){br_buf_cstr(&text), 4, 30, "operators[1].sink.from", "up to 128"}, 1);
    br_buf_reset(&text);
    for (int i = 0; i < 40000; i++) br_buf_printf(&text, "nam%d: x\n", i);
    assert_refused(&(refusal){br_buf_cstr(&text), 0, 0, "", "there are more errors"}, 1);
    br_buf_reset(&text);
    br_buf_adds(&text, "a0: &a0 [x,x,x,x,x,x,x,x,x]\n");
    for (int i = 1; i < 9; i++)
        br_buf_printf(&text, "a%d: &a%d [*a%d,*a%d,*a%d]\n", i, i, i - 1, i - 1, i - 1);
    assert_refused(&(refusal){br_buf_cstr(&text), 2, 5, "", "anchors"}, 1);
    br_buf_reset(&text);
    br_buf_adds(&text, HEAD);
    add_times(&text, SOURCE, 200);
    assert_refused(&(refusal){br_buf_cstr(&text), 3, 3, "operators", "up to 128"}, 1);
    br_buf_dispose(&text);
}

static void env__variables__are_replaced_only_when_asked(void **state)
{
    /* Secrets never stand in a spec; a variable that is not set is named. */
    static const char text[] =
        HEAD SOURCE SINK "settings: {brokers: '${BRINE_TEST_HOST}:9092', kafka: {sasl.password: "
                         "'x${BRINE_TEST_SECRET}y'}}\n";
    br_buf out = {0};
    br_err err;
    (void)state;
    unsetenv("BRINE_TEST_SECRET");
    setenv("BRINE_TEST_HOST", "h", 1);
    assert_refused(&(refusal){text, 5, 71, "settings.kafka[0]", "`BRINE_TEST_SECRET` is not set"},
                   1);
    setenv("BRINE_TEST_SECRET", "${BRINE_TEST_HOST}", 1);
    br_job *job = parse_good(text);
    const Brine__Job__Settings *settings = br_job_spec(job)->settings;
    assert_string_equal(settings->kafka[0]->value, "x${BRINE_TEST_SECRET}y");
    assert_int_equal(br_job_expand(settings->kafka[0]->value, &out, &err), BR_OK);
    assert_string_equal(br_buf_cstr(&out), "x${BRINE_TEST_HOST}y");
    br_buf_reset(&out);
    assert_int_equal(br_job_expand(settings->brokers, &out, &err), BR_OK);
    assert_string_equal(br_buf_cstr(&out), "h:9092");
    br_job_destroy(job);
    static const char *const bad[] = {"${", "${}", "${A", "${A B}", "x${-}"};
    for (size_t i = 0; i < BR_COUNTOF(bad); i++)
        assert_int_equal(br_job_expand(bad[i], &out, &err), BR_ERR_CONFIG);
    br_buf_dispose(&out);
}

static void read__files_that_cannot_be_read__are_an_error_without_a_line(void **state)
{
    /* A missing file and a folder are errors of the file as a whole; a good file is read. */
    char dir[] = "/tmp/brine-job-XXXXXX", path[64];
    const char *const bad[] = {"/nonexistent/job.yaml", dir};
    (void)state;
    assert_non_null(mkdtemp(dir));
    for (size_t i = 0; i < BR_COUNTOF(bad); i++) {
        br_job *job;
        br_job_errors errors;
        br_buf text = {0};
        assert_int_equal(br_job_read(&job, bad[i], &errors), BR_ERR_CONFIG);
        assert_null(job);
        assert_int_equal(errors.count, 1);
        assert_int_equal(errors.at[0].line, 0);
        br_job_errors_print(&errors, &text);
        assert_non_null(strstr(br_buf_cstr(&text), bad[i]));
        br_buf_dispose(&text);
        br_job_errors_dispose(&errors);
    }
    (void)snprintf(path, sizeof(path), "%s/job.yaml", dir);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(whole_yaml, file);
    fclose(file);
    br_job *job;
    br_job_errors errors;
    assert_int_equal(br_job_read(&job, path, &errors), BR_OK);
    br_job_destroy(job);
    br_job_errors_dispose(&errors);
    unlink(path);
    rmdir(dir);
}

static void errors__many__are_bounded_and_each_stands_once(void **state)
{
    /* A hostile file cannot make the list of its errors grow. */
    br_job_errors errors;
    br_buf text = {0};
    (void)state;
    br_job_errors_init(&errors, "f");
    for (int i = 0; i < 3; i++) br_job_errors_add(&errors, 1, 2, "a.b", "same");
    assert_int_equal(errors.count, 1);
    for (int i = 0; i < 1000; i++) br_job_errors_add(&errors, i + 2, 1, "", "other");
    assert_int_equal(errors.count, BR_JOB_ERRORS_MAX);
    assert_non_null(strstr(errors.at[BR_JOB_ERRORS_MAX - 1].message, "there are more"));
    br_job_errors_print(&errors, &text);
    assert_memory_equal(br_buf_cstr(&text), "f:1:2: a.b: same\nf:2:1: other\n", 29);
    br_buf_dispose(&text);
    br_job_errors_dispose(&errors);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(yaml__what_readers_disagree_on__is_refused_with_its_place),
        cmocka_unit_test(bind__wrong_fields_and_values__are_refused_with_what_is_allowed),
        cmocka_unit_test(bind__numbers_and_units__are_exact),
        cmocka_unit_test(check__operators_that_make_no_sense__are_refused),
        cmocka_unit_test(check__graphs_that_make_no_sense__are_refused),
        cmocka_unit_test(job__several_mistakes__are_all_reported),
        cmocka_unit_test(name__what_is_no_kafka_name__is_refused),
        cmocka_unit_test(job__text_that_looks_like_other_types__stays_text),
        cmocka_unit_test(job__defaults__come_from_kind_and_place),
        cmocka_unit_test(job__json_bom_and_crlf__read_as_the_same_job),
        cmocka_unit_test(job__every_field__is_bound),
        cmocka_unit_test(job__cut_off_anywhere__is_read_or_refused),
        cmocka_unit_test(job__too_much_of_anything__is_refused),
        cmocka_unit_test(env__variables__are_replaced_only_when_asked),
        cmocka_unit_test(read__files_that_cannot_be_read__are_an_error_without_a_line),
        cmocka_unit_test(errors__many__are_bounded_and_each_stands_once),
    };
    return cmocka_run_group_tests_name("jobs/job", tests, NULL, NULL);
}
