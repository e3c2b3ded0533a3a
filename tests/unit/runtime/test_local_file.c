/* tests/unit/runtime/test_local_file.c - the embedded log's file: damaged, of others, and shared by
 * processes and threads. */
#include "unit/runtime/local_fixture.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

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

static int to_child[2];

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        LOCAL_TEST(open__file_that_is_not_lmdb__is_corrupt),
        LOCAL_TEST(open__file_that_was_cut__is_corrupt),
        LOCAL_TEST(open__lmdb_file_of_another_program__is_corrupt),
        LOCAL_TEST(open__newer_format__is_refused),
        LOCAL_TEST(open__twice_in_a_process__is_refused),
        LOCAL_TEST(open__folder_that_cannot_be_made__names_it),
        LOCAL_TEST(kill__between_flushes__keeps_the_flushed_records_only),
        LOCAL_TEST(processes__append_and_read__see_each_other),
        LOCAL_TEST(threads__append_and_read__lose_nothing_while_the_map_grows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
