/* tests/unit/runtime/test_local.c - the embedded log through log.h, alone and among processes. */
#include "runtime/base/alloc.h"
#include "runtime/log/local.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define OK(call) assert_ok((call), &err, __LINE__)

static void assert_ok(br_status st, const br_err *err, int line)
{
    if (st == BR_OK) return;
    print_error("line %d: %s: %s\n", line, br_status_name(st), st < 0 ? err->message : "");
    assert_int_equal(st, BR_OK);
}

/* ---- fixture: a folder of its own for every test ---- */

static char dir[256];

static int make_dir(void **state)
{
    (void)state;
    const char *base = getenv("TMPDIR");
    (void)snprintf(dir, sizeof(dir), "%s/brine-local-XXXXXX", base ? base : "/tmp");
    return mkdtemp(dir) ? 0 : -1;
}

static void remove_in(const char *path)
{
    DIR *d = opendir(path);
    assert_non_null(d);
    for (struct dirent *e = readdir(d); e; e = readdir(d)) {
        char name[1024];
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        (void)snprintf(name, sizeof(name), "%s/%s", path, e->d_name);
        if (e->d_type == DT_DIR) remove_in(name);
        assert_int_equal(remove(name), 0);
    }
    (void)closedir(d);
}

static int remove_dir(void **state)
{
    (void)state;
    remove_in(dir);
    return rmdir(dir);
}

static br_log *open_log(void)
{
    br_log *log;
    br_err err;
    OK(br_log_open_local(&log, dir, false, &err));
    return log;
}

static void create(br_log *log, const char *name, int32_t partitions, const char *policy)
{
    br_err err;
    br_setting setting = {"cleanup.policy", policy};
    OK(br_log_create_topic(log, &(br_topic_spec){name, partitions, 0, &setting, 1}, &err));
}

static void append(br_producer *p, const char *name, const char *key, const char *value)
{
    br_err err;
    br_topic_ref *topic;
    OK(br_producer_topic(p, name, &topic, &err));
    br_out_record record = {.partition = -1,
                            .key = key ? br_str(key) : BR_NO_BYTES,
                            .value = value ? br_str(value) : BR_NO_BYTES,
                            .timestamp_ms = 1000};
    OK(br_producer_send(p, topic, &record, &err));
}

/* Appends one record and flushes. */
static void put(br_log *log, const char *name, const char *key, const char *value)
{
    br_err err;
    br_producer *p;
    OK(br_producer_open(&p, log, &err));
    append(p, name, key, value);
    OK(br_producer_flush(p, &err));
    br_producer_close(p);
}

/* Gathers records as lines "partition@offset key=value". */
static br_status gather(void *arg, void *user, const br_record *record, br_err *err)
{
    (void)user;
    (void)err;
    br_buf_printf(arg, "%d@%d %.*s=%.*s\n", (int)record->partition, (int)record->offset,
                  (int)record->key.len, record->key.data ? record->key.data : "",
                  (int)record->value.len, record->value.data ? record->value.data : "");
    return BR_OK;
}

/* All that a partition holds. */
static void assert_partition(br_log *log, const char *name, int32_t partition, const char *lines)
{
    br_err err;
    br_reader *reader;
    br_buf got = {0};
    OK(br_reader_open(&reader, log, (br_tp){name, partition}, -1, &err));
    while (br_reader_poll(reader, 0, 100, gather, &got, &err) == BR_OK) {
    }
    assert_string_equal(br_buf_cstr(&got), lines);
    br_buf_dispose(&got);
    br_reader_close(reader);
}

static int64_t end_of(br_log *log, const char *name, int32_t partition)
{
    br_err err;
    int64_t low, end;
    OK(br_log_offsets(log, name, partition, &low, &end, &err));
    assert_int_equal(low, 0);
    return end;
}

static void assert_message(const br_err *err, br_status status, const char *part)
{
    assert_int_equal(err->status, status);
    if (!strstr(err->message, part)) print_error("message: %s\n", err->message);
    assert_non_null(strstr(err->message, part));
}

/* ---- topics ---- */

static void local__topics__are_created_described_and_listed(void **state)
{
    /* A topic keeps its partitions and policy, also when it is created again otherwise. */
    (void)state;
    br_err err;
    br_topic_info info;
    br_log *log = open_log();
    assert_int_equal(br_log_topic(log, "clicks", &info, &err), BR_NOT_FOUND);
    create(log, "clicks", 3, "delete");
    create(log, "clicks", 5, "compact");
    create(log, "all.of-it", 1, "compact");
    OK(br_log_topic(log, "clicks", &info, &err));
    assert_int_equal(info.partitions, 3);
    assert_string_equal(info.cleanup_policy, "delete");
    br_log_close(log);
    log = open_log();
    OK(br_log_topic(log, "all.of-it", &info, &err));
    assert_string_equal(info.cleanup_policy, "compact");
    assert_non_null(strstr(br_log_describe(log), dir));
    br_log_close(log);
}

static br_status list(void *arg, const char *name, int32_t partitions, br_err *err)
{
    (void)err;
    br_buf_printf(arg, "%s %d\n", name, (int)partitions);
    return BR_OK;
}

static void local__topic_list__is_in_order_of_names(void **state)
{
    /* Topics are visited by name, whatever the order in which they were made. */
    (void)state;
    br_err err;
    br_buf got = {0};
    br_log *log = open_log();
    create(log, "b", 2, "delete");
    create(log, "a", 1, "delete");
    create(log, "c", 12, "compact");
    OK(br_log_topics(log, list, &got, &err));
    assert_string_equal(br_buf_cstr(&got), "a 1\nb 2\nc 12\n");
    br_buf_dispose(&got);
    br_log_close(log);
}

static void local__bad_topic__is_refused_with_the_reason(void **state)
{
    /* Names, partition counts and policies that cannot work are refused with what is allowed. */
    (void)state;
    static const struct {
        const char *name;
        int32_t partitions;
        const char *policy, *message;
    } cases[] = {{"a/b", 1, "delete", "a/b"},
                 {"", 1, "delete", "not allowed"},
                 {"t", 0, "delete", "1 to 10000"},
                 {"t", 10001, "delete", "1 to 10000"},
                 {"t", 1, "compost", "compost"}};
    br_log *log = open_log();
    for (size_t i = 0; i < BR_COUNTOF(cases); i++) {
        br_err err;
        br_setting setting = {"cleanup.policy", cases[i].policy};
        br_topic_spec spec = {cases[i].name, cases[i].partitions, 0, &setting, 1};
        assert_int_equal(br_log_create_topic(log, &spec, &err), BR_ERR_CONFIG);
        assert_message(&err, BR_ERR_CONFIG, cases[i].message);
    }
    br_log_close(log);
}

static void local__missing_topic_or_partition__is_named(void **state)
{
    /* Reading what is not there names the topic, and the partitions that there are. */
    (void)state;
    br_err err;
    br_reader *reader;
    br_producer *p;
    br_topic_ref *topic;
    int64_t low, end;
    br_log *log = open_log();
    create(log, "t", 2, "delete");
    assert_int_equal(br_reader_open(&reader, log, (br_tp){"u", 0}, -1, &err), BR_ERR_CONFIG);
    assert_message(&err, BR_ERR_CONFIG, "`u`");
    assert_int_equal(br_log_offsets(log, "t", 2, &low, &end, &err), BR_ERR_CONFIG);
    assert_message(&err, BR_ERR_CONFIG, "0 to 1");
    OK(br_producer_open(&p, log, &err));
    assert_int_equal(br_producer_topic(p, "u", &topic, &err), BR_NOT_FOUND);
    br_producer_close(p);
    br_log_close(log);
}

/* ---- producing ---- */

static void producer__keys__choose_partitions_as_java_does(void **state)
{
    /* FAULTS 28: murmur2 of the key, masked; checked values of six partitions. */
    (void)state;
    br_log *log = open_log();
    create(log, "t", 6, "delete");
    put(log, "t", "k1", "a");
    put(log, "t", "k8", "b");
    put(log, "t", "k5", "c");
    put(log, "t", "", "d");
    assert_partition(log, "t", 5, "5@0 k1=a\n");
    assert_partition(log, "t", 2, "2@0 k8=b\n");
    assert_partition(log, "t", 0, "0@0 k5=c\n");
    assert_partition(log, "t", 3, "3@0 =d\n");
    br_log_close(log);
}

static void producer__null_keys__are_spread_evenly(void **state)
{
    /* Records without a key go round the partitions. */
    (void)state;
    br_err err;
    br_producer *p;
    br_log *log = open_log();
    create(log, "t", 4, "delete");
    OK(br_producer_open(&p, log, &err));
    for (int i = 0; i < 40; i++) append(p, "t", NULL, "x");
    OK(br_producer_flush(p, &err));
    for (int32_t i = 0; i < 4; i++) assert_int_equal(end_of(log, "t", i), 10);
    br_producer_close(p);
    br_log_close(log);
}

static void producer__flush__makes_records_visible_and_tells_offsets(void **state)
{
    /* What is sent is seen after flush, not before; the last offset is told per partition. */
    (void)state;
    br_err err;
    br_producer *p;
    br_topic_ref *topic;
    br_log *log = open_log();
    create(log, "t", 1, "delete");
    OK(br_producer_open(&p, log, &err));
    append(p, "t", "a", "1");
    append(p, "t", "a", "2");
    assert_int_equal(end_of(log, "t", 0), 0);
    OK(br_producer_topic(p, "t", &topic, &err));
    assert_int_equal(br_topic_ref_last_offset(topic, 0), -1);
    OK(br_producer_flush(p, &err));
    assert_int_equal(br_topic_ref_last_offset(topic, 0), 1);
    append(p, "t", "a", "never flushed");
    br_producer_close(p);
    assert_partition(log, "t", 0, "0@0 a=1\n0@1 a=2\n");
    br_log_close(log);
}

static void producer__record_that_cannot_be_stored__breaks_the_producer(void **state)
{
    /* After a refused record flush never says that all is stored. */
    (void)state;
    static const char large[5 * 1024 * 1024];
    const struct {
        const char *topic;
        br_out_record record;
        const char *message;
    } cases[] = {{"t", {.partition = 2, .key = BR_LITERAL("k")}, "0 to 1"},
                 {"t", {.partition = -2, .key = BR_LITERAL("k")}, "0 to 1"},
                 {"t", {.partition = -1, .key = br_bytes_of(large, sizeof(large))}, "too large"},
                 {"c", {.partition = -1, .value = BR_LITERAL("v")}, "without a key"}};
    br_log *log = open_log();
    create(log, "t", 2, "delete");
    create(log, "c", 2, "compact");
    for (size_t i = 0; i < BR_COUNTOF(cases); i++) {
        br_err err;
        br_producer *p;
        br_topic_ref *topic;
        OK(br_producer_open(&p, log, &err));
        OK(br_producer_topic(p, cases[i].topic, &topic, &err));
        assert_int_equal(br_producer_send(p, topic, &cases[i].record, &err), BR_ERR_BROKER);
        assert_message(&err, BR_ERR_BROKER, cases[i].message);
        assert_int_equal(br_producer_flush(p, &err), BR_ERR_BROKER);
        br_producer_close(p);
    }
    br_log_close(log);
}

typedef struct whole {
    br_record record; /* its pointers tell null from empty only */
    int count;
    br_buf bytes; /* value, then |name:value of each header */
} whole;

static br_status keep(void *arg, void *user, const br_record *record, br_err *err)
{
    (void)user;
    (void)err;
    whole *w = arg;
    w->record = *record;
    w->count++;
    br_buf_reset(&w->bytes);
    br_buf_addb(&w->bytes, record->value);
    for (size_t i = 0; i < record->header_count; i++) {
        br_buf_addc(&w->bytes, '|');
        br_buf_addb(&w->bytes, record->headers[i].name);
        br_buf_addc(&w->bytes, ':');
        br_buf_addb(&w->bytes, record->headers[i].value);
    }
    return BR_OK;
}

static void read_one(br_log *log, const char *topic, int64_t from, whole *w)
{
    br_err err;
    br_reader *reader;
    OK(br_reader_open(&reader, log, (br_tp){topic, 0}, from, &err));
    OK(br_reader_poll(reader, 0, 1, keep, w, &err));
    assert_int_equal(w->count, 1);
    w->count = 0;
    br_reader_close(reader);
}

static void record__every_part__comes_back_as_it_was(void **state)
{
    /* Null and empty are told apart; headers, timestamps and zero bytes survive. */
    (void)state;
    br_err err;
    br_producer *p;
    br_topic_ref *topic;
    whole w = {0};
    br_log *log = open_log();
    create(log, "t", 1, "delete");
    br_header headers[] = {{BR_LITERAL("a"), BR_LITERAL("1\0"
                                                        "2")},
                           {BR_LITERAL("b"), BR_NO_BYTES}};
    br_out_record records[] = {
        {.partition = 0, .timestamp_ms = 5, .headers = headers, .header_count = 2},
        {.partition = 0, .timestamp_ms = 0, .key = BR_LITERAL(""), .value = BR_LITERAL("")},
        {.partition = 0, .timestamp_ms = -1, .key = BR_LITERAL("k"), .value = BR_LITERAL("a\0b")}};
    OK(br_producer_open(&p, log, &err));
    OK(br_producer_topic(p, "t", &topic, &err));
    for (size_t i = 0; i < 3; i++) OK(br_producer_send(p, topic, &records[i], &err));
    OK(br_producer_flush(p, &err));
    br_producer_close(p);
    read_one(log, "t", 0, &w);
    assert_true(!w.record.key.data && !w.record.value.data && w.record.timestamp_ms == 5);
    assert_true(br_bytes_equal(br_buf_bytes(&w.bytes), BR_LITERAL("|a:1\0"
                                                                  "2|b:")));
    read_one(log, "t", 1, &w);
    assert_true(w.record.key.data && w.record.key.len == 0);
    assert_true(w.record.value.data && w.record.value.len == 0 && w.record.timestamp_ms == 0);
    read_one(log, "t", 2, &w);
    assert_true(br_bytes_equal(br_buf_bytes(&w.bytes), BR_LITERAL("a\0b")));
    assert_true(w.record.timestamp_ms > 1600000000000);
    br_buf_dispose(&w.bytes);
    br_log_close(log);
}

static void map__smaller_than_a_record__grows(void **state)
{
    /* FAULTS 56: a full map is doubled and the transaction done again, once. */
    (void)state;
    br_err err;
    br_log *log;
    br_producer *p;
    br_topic_ref *topic;
    whole w = {0};
    size_t len = (size_t)64 * 1024 * 1024;
    char *large = br_alloc(len);
    memset(large, 'x', len);
    OK(br_local_open(&log, &(br_local_opts){dir, false, 1024 * 1024}, &err));
    create(log, "t", 1, "delete");
    OK(br_producer_open(&p, log, &err));
    OK(br_producer_topic(p, "t", &topic, &err));
    br_out_record record = {.partition = 0, .value = br_bytes_of(large, len)};
    OK(br_producer_send(p, topic, &record, &err));
    OK(br_producer_flush(p, &err));
    assert_int_equal(end_of(log, "t", 0), 1);
    read_one(log, "t", 0, &w);
    assert_true(br_bytes_equal(br_buf_bytes(&w.bytes), record.value));
    record.value.len++;
    assert_int_equal(br_producer_send(p, topic, &record, &err), BR_ERR_BROKER);
    br_producer_close(p);
    br_log_close(log);
    log = open_log();
    assert_int_equal(end_of(log, "t", 0), 1);
    br_log_close(log);
    br_buf_dispose(&w.bytes);
    br_free(large);
}

typedef struct copier {
    br_producer *p;
    br_topic_ref *topic;
} copier;

static br_status copy(void *arg, void *user, const br_record *record, br_err *err)
{
    (void)user;
    copier *c = arg;
    br_out_record out = {.partition = 0, .value = record->value};
    br_status st = br_producer_send(c->p, c->topic, &out, err);
    return st == BR_OK ? br_producer_flush(c->p, err) : st;
}

static void map__full_while_records_are_handed_over__grows(void **state)
{
    /* A record callback may write, and so grow the map, on the same thread: no deadlock. */
    (void)state;
    static const char value[100000];
    br_err err;
    br_log *log;
    br_reader *reader;
    copier c;
    OK(br_local_open(&log, &(br_local_opts){dir, false, 512 * 1024}, &err));
    create(log, "in", 1, "delete");
    create(log, "out", 1, "delete");
    OK(br_producer_open(&c.p, log, &err));
    OK(br_producer_topic(c.p, "in", &c.topic, &err));
    for (int i = 0; i < 20; i++) {
        br_out_record record = {.partition = 0, .value = br_bytes_of(value, sizeof(value))};
        OK(br_producer_send(c.p, c.topic, &record, &err));
    }
    OK(br_producer_flush(c.p, &err));
    OK(br_producer_topic(c.p, "out", &c.topic, &err));
    OK(br_reader_open(&reader, log, (br_tp){"in", 0}, 0, &err));
    while (br_reader_poll(reader, 0, 100, copy, &c, &err) == BR_OK) {
    }
    assert_int_equal(end_of(log, "out", 0), 20);
    br_reader_close(reader);
    br_producer_close(c.p);
    br_log_close(log);
}

/* ---- compaction ---- */

static void compaction__same_key__keeps_the_last_and_leaves_a_gap(void **state)
{
    /* FAULTS 55: keys of any length, empty and equal in their first 511 bytes, stay apart. */
    (void)state;
    br_log *log = open_log();
    char long_a[601], long_b[601];
    memset(long_a, 'k', 600);
    memset(long_b, 'k', 600);
    long_a[599] = 'a';
    long_b[599] = 'b';
    long_a[600] = long_b[600] = '\0';
    create(log, "c", 1, "compact");
    for (int i = 0; i < 2; i++) {
        put(log, "c", "", i ? "e1" : "e0");
        put(log, "c", "x", i ? NULL : "x0"); /* a tombstone is a last value like any other */
        put(log, "c", long_a, i ? "a1" : "a0");
        put(log, "c", long_b, i ? "b1" : "b0");
    }
    br_buf want = {0};
    br_buf_printf(&want, "0@4 =e1\n0@5 x=\n0@6 %s=a1\n0@7 %s=b1\n", long_a, long_b);
    assert_partition(log, "c", 0, br_buf_cstr(&want));
    assert_int_equal(end_of(log, "c", 0), 8);
    br_buf_dispose(&want);
    br_log_close(log);
}

static void compaction__same_key_twice_in_a_flush__keeps_the_last(void **state)
{
    /* Within one transaction too only the last record of a key stays. */
    (void)state;
    br_err err;
    br_producer *p;
    br_log *log = open_log();
    create(log, "c", 1, "compact");
    OK(br_producer_open(&p, log, &err));
    for (int i = 0; i < 100; i++) append(p, "c", i % 2 ? "odd" : "even", i < 98 ? "old" : "new");
    OK(br_producer_flush(p, &err));
    br_producer_close(p);
    assert_partition(log, "c", 0, "0@98 even=new\n0@99 odd=new\n");
    br_log_close(log);
}

static void compaction__many_rounds__keeps_the_file_bounded(void **state)
{
    /* FAULTS 64: pages of removed records are used again; the file stops growing. */
    (void)state;
    br_err err;
    br_producer *p;
    struct stat before, after;
    char path[512], key[16], value[600];
    memset(value, 'v', sizeof(value) - 1);
    value[sizeof(value) - 1] = '\0';
    br_log *log = open_log();
    create(log, "c", 1, "compact");
    OK(br_producer_open(&p, log, &err));
    (void)snprintf(path, sizeof(path), "%s/topics.mdb", dir);
    for (int i = 0; i < 40; i++) {
        for (int k = 0; k < 200; k++) {
            (void)snprintf(key, sizeof(key), "k%d", k);
            append(p, "c", key, value);
        }
        OK(br_producer_flush(p, &err));
        if (i == 7) assert_int_equal(stat(path, &before), 0);
    }
    assert_int_equal(stat(path, &after), 0);
    assert_true(after.st_size <= before.st_size * 3 / 2);
    br_producer_close(p);
    br_log_close(log);
}

/* ---- readers ---- */

static void reader__positions__count_gaps_and_refuse_other_places(void **state)
{
    /* The position moves over gaps to the end; an offset outside is refused, never another read. */
    (void)state;
    br_err err;
    br_reader *reader;
    br_buf got = {0};
    br_log *log = open_log();
    create(log, "c", 1, "compact");
    put(log, "c", "a", "1");
    put(log, "c", "b", "2");
    put(log, "c", "a", "3");
    OK(br_reader_open(&reader, log, (br_tp){"c", 0}, 0, &err));
    OK(br_reader_poll(reader, 0, 1, gather, &got, &err));
    assert_string_equal(br_buf_cstr(&got), "0@1 b=2\n");
    assert_int_equal(br_reader_position(reader), 2);
    put(log, "c", "b", "4");
    put(log, "c", "b", "5");
    OK(br_reader_poll(reader, 0, 10, gather, &got, &err));
    assert_string_equal(br_buf_cstr(&got), "0@1 b=2\n0@2 a=3\n0@4 b=5\n");
    assert_int_equal(br_reader_position(reader), 5);
    assert_int_equal(br_reader_poll(reader, 0, 10, gather, &got, &err), BR_EMPTY);
    br_reader_close(reader);
    assert_int_equal(br_reader_open(&reader, log, (br_tp){"c", 0}, 6, &err), BR_ERR_BROKER);
    assert_message(&err, BR_ERR_BROKER, "0 to 5");
    assert_int_equal(br_reader_open(&reader, log, (br_tp){"c", 0}, -2, &err), BR_ERR_LIMIT);
    br_buf_dispose(&got);
    br_log_close(log);
}

static br_status refuse(void *arg, void *user, const br_record *record, br_err *err)
{
    (void)arg;
    (void)user;
    return br_fail(err, BR_ERR_BAD_RECORD, "refused at %d", (int)record->offset);
}

static br_status one_then_end(void *arg, void *user, const br_record *record, br_err *err)
{
    br_status st = gather(arg, user, record, err);
    return st == BR_OK ? BR_END : st;
}

static void reader__callback__ends_or_fails_the_poll(void **state)
{
    /* BR_END takes the record and stops; a failure is returned and the record is not taken. */
    (void)state;
    br_err err;
    br_reader *reader;
    br_buf got = {0};
    br_log *log = open_log();
    create(log, "t", 1, "delete");
    put(log, "t", "a", "1");
    put(log, "t", "b", "2");
    OK(br_reader_open(&reader, log, (br_tp){"t", 0}, -1, &err));
    OK(br_reader_poll(reader, 0, 10, one_then_end, &got, &err));
    assert_int_equal(br_reader_position(reader), 1);
    assert_int_equal(br_reader_poll(reader, 0, 10, refuse, &got, &err), BR_ERR_BAD_RECORD);
    assert_message(&err, BR_ERR_BAD_RECORD, "refused at 1");
    OK(br_reader_poll(reader, 0, 10, gather, &got, &err));
    assert_string_equal(br_buf_cstr(&got), "0@0 a=1\n0@1 b=2\n");
    br_reader_close(reader);
    br_buf_dispose(&got);
    br_log_close(log);
}

static void offset_at__timestamps__finds_the_first_not_below(void **state)
{
    /* The first offset with a timestamp of at least ms, or the end. */
    (void)state;
    static const struct {
        int64_t ms, offset;
    } cases[] = {{0, 0}, {10, 0}, {11, 1}, {30, 1}, {31, 3}, {99, 3}};
    static const int64_t times[] = {10, 30, 20};
    br_err err;
    br_producer *p;
    br_topic_ref *topic;
    br_log *log = open_log();
    create(log, "s", 2, "delete");
    put(log, "s", "other", "partitions do not matter");
    create(log, "t", 1, "delete");
    OK(br_producer_open(&p, log, &err));
    OK(br_producer_topic(p, "t", &topic, &err));
    for (size_t i = 0; i < 3; i++) {
        br_out_record record = {.partition = 0, .timestamp_ms = times[i]};
        OK(br_producer_send(p, topic, &record, &err));
    }
    OK(br_producer_flush(p, &err));
    br_producer_close(p);
    for (size_t i = 0; i < BR_COUNTOF(cases); i++) {
        int64_t offset;
        OK(br_log_offset_at(log, "t", 0, cases[i].ms, &offset, &err));
        assert_int_equal(offset, cases[i].offset);
    }
    br_log_close(log);
}

/* ---- consumers ---- */

typedef struct member {
    br_consumer *consumer;
    int assigned, revoked, ends;
    int64_t last_end;
    br_buf got;
} member;

static void on_assigned(void *self, const br_tp *at, size_t count)
{
    (void)at;
    ((member *)self)->assigned += (int)count;
}

static void on_revoked(void *self, const br_tp *at, size_t count)
{
    br_err err;
    member *m = self;
    int64_t offset = 7;
    m->revoked += (int)count;
    OK(br_consumer_commit(m->consumer, at, &offset, 1, &err)); /* commits work here */
}

static void on_end(void *self, void *user, int64_t position)
{
    member *m = self;
    assert_ptr_equal(user, self);
    m->ends++;
    m->last_end = position;
}

static br_consumer_opts group_of(member *m, const char *const *topics, size_t count)
{
    return (br_consumer_opts){
        .group = "g",
        .topics = topics,
        .topic_count = count,
        .listener = {m, on_assigned, on_revoked, NULL, on_end},
    };
}

static void consumer__group__is_assigned_polled_committed_and_revoked(void **state)
{
    /* One member's life: all partitions at once, records from where it starts, ends told once. */
    (void)state;
    static const char *const topics[] = {"t", "u", "t"};
    br_err err;
    member m = {0};
    br_log *log = open_log();
    create(log, "t", 2, "delete");
    create(log, "u", 1, "delete");
    put(log, "u", "a", "1");
    put(log, "u", "b", "2");
    br_consumer_opts opts = group_of(&m, topics, 3);
    OK(br_consumer_open(&m.consumer, log, &opts, &err));
    br_tp u = {"u", 0};
    assert_int_equal(br_consumer_start(m.consumer, u, 0, &m, &err), BR_ERR_FENCED);
    assert_int_equal(br_consumer_poll(m.consumer, 0, 10, gather, &m.got, &err), BR_EMPTY);
    assert_int_equal(m.assigned, 3);
    int64_t offset;
    OK(br_consumer_committed(m.consumer, &u, &offset, 1, &err));
    assert_int_equal(offset, -1);
    OK(br_consumer_start(m.consumer, u, 1, &m, &err));
    OK(br_consumer_poll(m.consumer, 0, 10, gather, &m.got, &err));
    assert_string_equal(br_buf_cstr(&m.got), "0@1 b=2\n");
    assert_true(m.ends == 1 && m.last_end == 2);
    assert_int_equal(br_consumer_poll(m.consumer, 0, 10, gather, &m.got, &err), BR_EMPTY);
    assert_int_equal(m.ends, 1);
    put(log, "u", "c", "3");
    OK(br_consumer_poll(m.consumer, 0, 10, gather, &m.got, &err));
    assert_true(m.ends == 2 && m.last_end == 3);
    offset = 3;
    OK(br_consumer_commit(m.consumer, &u, &offset, 1, &err));
    assert_int_equal(br_consumer_commit(m.consumer, &(br_tp){"x", 0}, &offset, 1, &err),
                     BR_ERR_FENCED);
    br_consumer_close(m.consumer);
    assert_int_equal(m.revoked, 3);
    OK(br_consumer_open(&m.consumer, log, &opts, &err));
    br_tp both[] = {u, {"t", 0}};
    int64_t offsets[2];
    OK(br_consumer_committed(m.consumer, both, offsets, 2, &err));
    assert_true(offsets[0] == 3 && offsets[1] == 7);
    br_consumer_close(m.consumer);
    br_buf_dispose(&m.got);
    br_log_close(log);
}

static void consumer__second_member__is_refused_until_the_first_is_gone(void **state)
{
    /* A group has one member; another group is free. */
    (void)state;
    static const char *const topics[] = {"t"};
    br_err err;
    br_consumer *first, *second, *other;
    member m = {0};
    br_log *log = open_log();
    create(log, "t", 1, "delete");
    br_consumer_opts opts = group_of(&m, topics, 1);
    OK(br_consumer_open(&first, log, &opts, &err));
    assert_int_equal(br_consumer_open(&second, log, &opts, &err), BR_ERR_IN_USE);
    assert_message(&err, BR_ERR_IN_USE, "`g`");
    opts.group = "h";
    OK(br_consumer_open(&other, log, &opts, &err));
    br_consumer_close(first);
    opts.group = "g";
    OK(br_consumer_open(&second, log, &opts, &err));
    br_consumer_close(second);
    br_consumer_close(other);
    br_log_close(log);
}

static void consumer__partitions__are_served_in_turn(void **state)
{
    /* A poll for few records does not starve the partitions behind the first. */
    (void)state;
    static const char *const topics[] = {"t"};
    br_err err;
    member m = {0};
    br_producer *p;
    br_log *log = open_log();
    create(log, "t", 2, "delete");
    OK(br_producer_open(&p, log, &err));
    for (int i = 0; i < 8; i++) append(p, "t", NULL, "x");
    OK(br_producer_flush(p, &err));
    br_producer_close(p);
    br_consumer_opts opts = group_of(&m, topics, 1);
    OK(br_consumer_open(&m.consumer, log, &opts, &err));
    assert_int_equal(br_consumer_poll(m.consumer, 0, 2, gather, &m.got, &err), BR_EMPTY);
    for (int32_t i = 0; i < 2; i++) OK(br_consumer_start(m.consumer, (br_tp){"t", i}, 0, &m, &err));
    OK(br_consumer_poll(m.consumer, 0, 2, gather, &m.got, &err));
    OK(br_consumer_poll(m.consumer, 0, 2, gather, &m.got, &err));
    assert_string_equal(br_buf_cstr(&m.got), "0@0 =x\n0@1 =x\n1@0 =x\n1@1 =x\n");
    br_consumer_close(m.consumer);
    br_buf_dispose(&m.got);
    br_log_close(log);
}

/* ---- files that cannot be used ---- */

static void write_file(const char *bytes, size_t len)
{
    char path[512];
    (void)snprintf(path, sizeof(path), "%s/topics.mdb", dir);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, len), (ssize_t)len);
    assert_int_equal(close(fd), 0);
}

static void open__file_that_is_not_lmdb__is_corrupt(void **state)
{
    /* FAULTS 59: other bytes are refused with the path and a remedy, and no signal. */
    (void)state;
    static char bytes[8192];
    br_err err;
    br_log *log;
    memset(bytes, 'z', sizeof(bytes));
    write_file(bytes, sizeof(bytes));
    assert_int_equal(br_log_open_local(&log, dir, false, &err), BR_ERR_CORRUPT);
    assert_message(&err, BR_ERR_CORRUPT, "topics.mdb");
    assert_null(log);
}

static void open__file_that_was_cut__is_corrupt(void **state)
{
    /* FAULTS 59: a truncated file is noticed at open, not by SIGBUS later. */
    (void)state;
    char path[512];
    struct stat st;
    br_err err;
    br_log *log = open_log();
    create(log, "t", 1, "delete");
    for (int i = 0; i < 20; i++) put(log, "t", "k", "some value");
    br_log_close(log);
    (void)snprintf(path, sizeof(path), "%s/topics.mdb", dir);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(truncate(path, st.st_size / 2), 0);
    assert_int_equal(br_log_open_local(&log, dir, false, &err), BR_ERR_CORRUPT);
    assert_message(&err, BR_ERR_CORRUPT, "cut off");
}

/* An LMDB file with one sub-database, in which "format" is `format`. */
static void write_lmdb(const char *database, uint32_t format)
{
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi dbi;
    char path[512], name[] = "format";
    MDB_val key = {6, name}, val = {sizeof(format), &format};
    (void)snprintf(path, sizeof(path), "%s/topics.mdb", dir);
    assert_int_equal(mdb_env_create(&env), 0);
    assert_int_equal(mdb_env_set_maxdbs(env, 2), 0);
    assert_int_equal(mdb_env_open(env, path, MDB_NOSUBDIR, 0600), 0);
    assert_int_equal(mdb_txn_begin(env, NULL, 0, &txn), 0);
    assert_int_equal(mdb_dbi_open(txn, database, MDB_CREATE, &dbi), 0);
    assert_int_equal(mdb_put(txn, dbi, &key, &val, 0), 0);
    assert_int_equal(mdb_txn_commit(txn), 0);
    mdb_env_close(env);
}

static void open__lmdb_file_of_another_program__is_corrupt(void **state)
{
    /* Somebody else's LMDB file is not written to. */
    (void)state;
    br_err err;
    br_log *log;
    write_lmdb("theirs", 1);
    assert_int_equal(br_log_open_local(&log, dir, false, &err), BR_ERR_CORRUPT);
    assert_message(&err, BR_ERR_CORRUPT, "another program");
}

static void open__newer_format__is_refused(void **state)
{
    /* A file of a later brine is left alone, and both versions are named. */
    (void)state;
    br_err err;
    br_log *log;
    write_lmdb("meta", 2);
    assert_int_equal(br_log_open_local(&log, dir, false, &err), BR_ERR_CONFIG);
    assert_message(&err, BR_ERR_CONFIG, "format 2");
}

static void open__twice_in_a_process__is_refused(void **state)
{
    /* LMDB loses its locks when a process opens a file twice; closing makes it free again. */
    (void)state;
    br_err err;
    br_log *second, *log = open_log();
    assert_int_equal(br_log_open_local(&second, dir, false, &err), BR_ERR_IN_USE);
    assert_message(&err, BR_ERR_IN_USE, "already in this process");
    create(log, "t", 1, "delete");
    br_log_close(log);
    log = open_log();
    br_log_close(log);
}

static void open__folder_that_cannot_be_made__names_it(void **state)
{
    /* A file where the folder should be: path and reason. */
    (void)state;
    char path[512];
    br_err err;
    br_log *log;
    write_file("x", 1);
    (void)snprintf(path, sizeof(path), "%s/topics.mdb/deeper", dir);
    assert_int_equal(br_log_open_local(&log, path, false, &err), BR_ERR_IO);
    assert_message(&err, BR_ERR_IO, "topics.mdb/deeper");
}

/* ---- several processes ---- */

/* Runs body in a child process; returns its wait status. */
static int in_child(void (*body)(void))
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        body();
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void append_and_die(void)
{
    br_err err;
    br_log *log;
    br_producer *p;
    if (br_log_open_local(&log, dir, true, &err) != BR_OK) _exit(1);
    if (br_producer_open(&p, log, &err) != BR_OK) _exit(1);
    create(log, "t", 2, "delete");
    for (int i = 0; i < 1000; i++) append(p, "t", NULL, "flushed");
    if (br_producer_flush(p, &err) != BR_OK) _exit(1);
    for (int i = 0; i < 1000; i++) append(p, "t", NULL, "not flushed");
    (void)raise(SIGKILL);
}

static void kill__between_flushes__keeps_the_flushed_records_only(void **state)
{
    /* kill -9: what was flushed is there, what was not vanished whole, and the log works on. */
    (void)state;
    int status = in_child(append_and_die);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    br_log *log = open_log();
    assert_int_equal(end_of(log, "t", 0), 500);
    assert_int_equal(end_of(log, "t", 1), 500);
    put(log, "t", NULL, "after");
    assert_int_equal(end_of(log, "t", 0), 501);
    br_log_close(log);
}

static int to_child[2], to_parent[2];

/* Waits for a byte, opens the log, and appends more than the map of the parent holds. */
static void append_much(void)
{
    br_err err;
    br_log *log;
    char byte;
    static const char value[3 * 1024 * 1024];
    if (read(to_child[0], &byte, 1) != 1) _exit(1);
    if (br_log_open_local(&log, dir, false, &err) != BR_OK) _exit(2);
    br_producer *p;
    br_topic_ref *topic;
    br_out_record record = {.partition = 0, .value = br_bytes_of(value, sizeof(value))};
    if (br_producer_open(&p, log, &err) != BR_OK) _exit(3);
    if (br_producer_topic(p, "t", &topic, &err) != BR_OK) _exit(4);
    if (br_producer_send(p, topic, &record, &err) != BR_OK) _exit(5);
    if (br_producer_flush(p, &err) != BR_OK) _exit(6);
    br_producer_close(p);
    br_log_close(log);
}

static void processes__append_and_read__see_each_other(void **state)
{
    /* A waiting reader sees another process's record, also when that grew the map. */
    (void)state;
    br_err err;
    br_log *log;
    br_reader *reader;
    whole w = {0};
    assert_int_equal(pipe(to_child), 0);
    pid_t pid = fork(); /* before the log is open: LMDB does not survive a fork */
    assert_true(pid >= 0);
    if (pid == 0) {
        append_much();
        _exit(0);
    }
    OK(br_local_open(&log, &(br_local_opts){dir, false, 1024 * 1024}, &err));
    create(log, "t", 1, "delete");
    OK(br_reader_open(&reader, log, (br_tp){"t", 0}, 0, &err));
    assert_int_equal(write(to_child[1], "x", 1), 1);
    OK(br_reader_poll(reader, 30000, 10, keep, &w, &err));
    assert_int_equal(w.bytes.len, 3 * 1024 * 1024);
    put(log, "t", "k", "from the parent");
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(end_of(log, "t", 0), 2);
    br_reader_close(reader);
    br_log_close(log);
    br_buf_dispose(&w.bytes);
    (void)close(to_child[0]);
    (void)close(to_child[1]);
}

static void join_group_and_wait(void)
{
    static const char *const topics[] = {"t"};
    br_err err;
    br_log *log;
    br_consumer *consumer;
    member m = {0};
    br_consumer_opts opts = group_of(&m, topics, 1);
    if (br_log_open_local(&log, dir, false, &err) != BR_OK) _exit(1);
    create(log, "t", 1, "delete");
    if (br_consumer_open(&consumer, log, &opts, &err) != BR_OK) _exit(2);
    if (write(to_parent[1], "x", 1) != 1) _exit(3);
    for (;;) (void)pause();
}

static void group__member_in_another_process__blocks_until_it_is_killed(void **state)
{
    /* The lock of a group goes with its process, however that ends. */
    (void)state;
    static const char *const topics[] = {"t"};
    br_err err;
    br_consumer *consumer;
    member m = {0};
    char byte;
    int status;
    assert_int_equal(pipe(to_parent), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) join_group_and_wait();
    assert_int_equal(read(to_parent[0], &byte, 1), 1);
    br_log *log = open_log();
    br_consumer_opts opts = group_of(&m, topics, 1);
    assert_int_equal(br_consumer_open(&consumer, log, &opts, &err), BR_ERR_IN_USE);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    OK(br_consumer_open(&consumer, log, &opts, &err));
    br_consumer_close(consumer);
    br_log_close(log);
    (void)close(to_parent[0]);
    (void)close(to_parent[1]);
}

/* ---- threads ---- */

enum { THREAD_RECORDS = 300 };

static void *append_alone(void *arg)
{
    br_err err;
    br_producer *p;
    if (br_producer_open(&p, arg, &err) != BR_OK) return NULL;
    for (int i = 0; i < THREAD_RECORDS; i++) {
        append(p, "t", NULL, "a value that fills the small map of this test many times over");
        OK(br_producer_flush(p, &err));
    }
    br_producer_close(p);
    return arg;
}

static void threads__append_and_read__lose_nothing_while_the_map_grows(void **state)
{
    /* A map that grows under two writers and a reader: every record is read once, in order. */
    (void)state;
    br_err err;
    br_log *log;
    br_reader *reader;
    pthread_t threads[2];
    br_buf got = {0};
    OK(br_local_open(&log, &(br_local_opts){dir, false, 64 * 1024}, &err));
    create(log, "t", 1, "delete");
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, append_alone, log), 0);
    OK(br_reader_open(&reader, log, (br_tp){"t", 0}, 0, &err));
    while (br_reader_position(reader) < 2 * THREAD_RECORDS)
        assert_true(br_reader_poll(reader, 30000, 100, gather, &got, &err) >= 0);
    for (int i = 0; i < 2; i++) {
        void *result;
        assert_int_equal(pthread_join(threads[i], &result), 0);
        assert_ptr_equal(result, log);
    }
    int lines = 0;
    for (size_t i = 0; i < got.len; i++) lines += got.data[i] == '\n';
    assert_int_equal(lines, 2 * THREAD_RECORDS);
    br_reader_close(reader);
    br_log_close(log);
    br_buf_dispose(&got);
}

#define LOCAL_TEST(name) cmocka_unit_test_setup_teardown(name, make_dir, remove_dir)

int main(void)
{
    const struct CMUnitTest tests[] = {
        LOCAL_TEST(local__topics__are_created_described_and_listed),
        LOCAL_TEST(local__topic_list__is_in_order_of_names),
        LOCAL_TEST(local__bad_topic__is_refused_with_the_reason),
        LOCAL_TEST(local__missing_topic_or_partition__is_named),
        LOCAL_TEST(producer__keys__choose_partitions_as_java_does),
        LOCAL_TEST(producer__null_keys__are_spread_evenly),
        LOCAL_TEST(producer__flush__makes_records_visible_and_tells_offsets),
        LOCAL_TEST(producer__record_that_cannot_be_stored__breaks_the_producer),
        LOCAL_TEST(record__every_part__comes_back_as_it_was),
        LOCAL_TEST(map__smaller_than_a_record__grows),
        LOCAL_TEST(map__full_while_records_are_handed_over__grows),
        LOCAL_TEST(compaction__same_key__keeps_the_last_and_leaves_a_gap),
        LOCAL_TEST(compaction__same_key_twice_in_a_flush__keeps_the_last),
        LOCAL_TEST(compaction__many_rounds__keeps_the_file_bounded),
        LOCAL_TEST(reader__positions__count_gaps_and_refuse_other_places),
        LOCAL_TEST(reader__callback__ends_or_fails_the_poll),
        LOCAL_TEST(offset_at__timestamps__finds_the_first_not_below),
        LOCAL_TEST(consumer__group__is_assigned_polled_committed_and_revoked),
        LOCAL_TEST(consumer__second_member__is_refused_until_the_first_is_gone),
        LOCAL_TEST(consumer__partitions__are_served_in_turn),
        LOCAL_TEST(open__file_that_is_not_lmdb__is_corrupt),
        LOCAL_TEST(open__file_that_was_cut__is_corrupt),
        LOCAL_TEST(open__lmdb_file_of_another_program__is_corrupt),
        LOCAL_TEST(open__newer_format__is_refused),
        LOCAL_TEST(open__twice_in_a_process__is_refused),
        LOCAL_TEST(open__folder_that_cannot_be_made__names_it),
        LOCAL_TEST(kill__between_flushes__keeps_the_flushed_records_only),
        LOCAL_TEST(processes__append_and_read__see_each_other),
        LOCAL_TEST(group__member_in_another_process__blocks_until_it_is_killed),
        LOCAL_TEST(threads__append_and_read__lose_nothing_while_the_map_grows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
