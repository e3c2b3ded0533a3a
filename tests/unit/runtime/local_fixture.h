/* tests/unit/runtime/local_fixture.h - what tests of the embedded log share: a folder of its own
 * for every test, topics made and filled in one line, and whole partitions as text. */
#ifndef BR_TESTS_LOCAL_FIXTURE_H
#define BR_TESTS_LOCAL_FIXTURE_H

#include "runtime/base/alloc.h"
#include "runtime/log/local.h"
#include "unit/temp_dir.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#define OK(call) assert_ok((call), &err, __LINE__)

static inline void assert_ok(br_status st, const br_err *err, int line)
{
    if (st == BR_OK) return;
    print_error("line %d: %s: %s\n", line, br_status_name(st), st < 0 ? err->message : "");
    assert_int_equal(st, BR_OK);
}

/* ---- fixture: a folder of its own for every test ---- */

static char dir[256];

static inline int make_dir(void **state)
{
    (void)state;
    temp_dir_make(dir, sizeof(dir), "local");
    return 0;
}

static inline int remove_dir(void **state)
{
    (void)state;
    temp_dir_remove(dir);
    return 0;
}

static inline br_log *open_log(void)
{
    br_log *log;
    br_err err;
    OK(br_log_open_local(&log, dir, false, &err));
    return log;
}

static inline void create(br_log *log, const char *name, int32_t partitions, const char *policy)
{
    br_err err;
    br_setting setting = {"cleanup.policy", policy};
    OK(br_log_create_topic(log, &(br_topic_spec){name, partitions, 0, &setting, 1}, &err));
}

static inline void append(br_producer *p, const char *name, const char *key, const char *value)
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
static inline void put(br_log *log, const char *name, const char *key, const char *value)
{
    br_err err;
    br_producer *p;
    OK(br_producer_open(&p, log, &err));
    append(p, name, key, value);
    OK(br_producer_flush(p, &err));
    br_producer_close(p);
}

/* Gathers records as lines "partition@offset key=value". */
static inline br_status gather(void *arg, void *user, const br_record *record, br_err *err)
{
    (void)user;
    (void)err;
    br_buf_printf(arg, "%d@%d %.*s=%.*s\n", (int)record->partition, (int)record->offset,
                  (int)record->key.len, record->key.data ? record->key.data : "",
                  (int)record->value.len, record->value.data ? record->value.data : "");
    return BR_OK;
}

/* All that a partition holds. */
static inline void assert_partition(br_log *log, const char *name, int32_t partition,
                                    const char *lines)
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

static inline int64_t end_of(br_log *log, const char *name, int32_t partition)
{
    br_err err;
    int64_t low, end;
    OK(br_log_offsets(log, name, partition, &low, &end, &err));
    assert_int_equal(low, 0);
    return end;
}

static inline void assert_message(const br_err *err, br_status status, const char *part)
{
    assert_int_equal(err->status, status);
    if (!strstr(err->message, part)) print_error("message: %s\n", err->message);
    assert_non_null(strstr(err->message, part));
}

typedef struct whole {
    br_record record; /* its pointers tell null from empty only */
    int count;
    br_buf bytes; /* value, then |name:value of each header */
} whole;

static inline br_status keep(void *arg, void *user, const br_record *record, br_err *err)
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

static inline void read_one(br_log *log, const char *topic, int64_t from, whole *w)
{
    br_err err;
    br_reader *reader;
    OK(br_reader_open(&reader, log, (br_tp){topic, 0}, from, &err));
    OK(br_reader_poll(reader, 0, 1, keep, w, &err));
    assert_int_equal(w->count, 1);
    w->count = 0;
    br_reader_close(reader);
}

#define LOCAL_TEST(name) cmocka_unit_test_setup_teardown(name, make_dir, remove_dir)

#endif
