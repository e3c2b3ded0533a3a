/* tests/unit/runtime/test_local_consumer.c - the embedded log's readers and consumers, also of
 * several processes. */
#include "unit/runtime/local_fixture.h"

#include <signal.h>
#include <sys/wait.h>

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

static int to_parent[2];

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        LOCAL_TEST(reader__positions__count_gaps_and_refuse_other_places),
        LOCAL_TEST(reader__callback__ends_or_fails_the_poll),
        LOCAL_TEST(offset_at__timestamps__finds_the_first_not_below),
        LOCAL_TEST(consumer__group__is_assigned_polled_committed_and_revoked),
        LOCAL_TEST(consumer__second_member__is_refused_until_the_first_is_gone),
        LOCAL_TEST(consumer__partitions__are_served_in_turn),
        LOCAL_TEST(group__member_in_another_process__blocks_until_it_is_killed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
