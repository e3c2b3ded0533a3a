/* tests/unit/runtime/test_cli.c - commands through br_cli_main on the embedded log: what they
 * print, golden, and their exit codes. */
#include "runtime/base/alloc.h"
#include "runtime/cli/cli.h"
#include "runtime/base/bytes.h"
#include "unit/temp_dir.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- fixture: a folder that is the current one, and no log named by the environment ---- */

static char dir[256];
static int before = -1; /* the folder that was the current one */

static int enter_dir(void **state)
{
    (void)state;
    temp_dir_make(dir, sizeof(dir), "cli");
    (void)unsetenv("BRINE_BROKERS");
    (void)unsetenv("BRINE_LOCAL");
    (void)unsetenv("BRINE_STATE_DIR");
    before = open(".", O_RDONLY | O_DIRECTORY);
    return before >= 0 && chdir(dir) == 0 ? 0 : -1;
}

static int leave_dir(void **state)
{
    (void)state;
    if (fchdir(before) != 0 || close(before) != 0) return -1;
    temp_dir_remove(dir);
    return 0;
}

static void write_file(const char *name, const char *text)
{
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static char *read_file(const char *name)
{
    br_buf text = {0};
    char chunk[4096];
    FILE *file = fopen(name, "r");
    assert_non_null(file);
    for (size_t n; (n = fread(chunk, 1, sizeof(chunk), file)) > 0;) br_buf_add(&text, chunk, n);
    assert_int_equal(fclose(file), 0);
    (void)br_buf_cstr(&text);
    return text.data;
}

static int redirect(int fd, const char *name, int flags)
{
    int saved = dup(fd), file = open(name, flags, 0600);
    assert_true(saved >= 0 && file >= 0);
    assert_true(dup2(file, fd) >= 0);
    (void)close(file);
    return saved;
}

static void restore(int fd, int saved)
{
    assert_true(dup2(saved, fd) >= 0);
    (void)close(saved);
}

/* What a command did. Strings are owned. */
typedef struct outcome {
    int code;
    char *out, *err;
} outcome;

enum { WORDS_MAX = 16 };

/* Runs `brine line`, its words parted by spaces, with input as standard input. */
static outcome brine(const char *line, const char *input)
{
    char *words = br_strdup(line), *argv[WORDS_MAX + 1] = {words};
    int argc = 1;
    for (char *word = strtok(words, " "); word && argc < WORDS_MAX; word = strtok(NULL, " "))
        argv[argc++] = word;
    write_file("stdin", input ? input : "");
    (void)fflush(stdout);
    int in = redirect(0, "stdin", O_RDONLY);
    int out = redirect(1, "stdout", O_WRONLY | O_CREAT | O_TRUNC);
    int err = redirect(2, "stderr", O_WRONLY | O_CREAT | O_TRUNC);
    outcome o = {.code = br_cli_main(argc, argv)};
    (void)fflush(stdout);
    (void)fflush(stderr);
    restore(0, in);
    restore(1, out);
    restore(2, err);
    o.out = read_file("stdout");
    o.err = read_file("stderr");
    br_free(words);
    return o;
}

static void free_outcome(outcome o)
{
    br_free(o.out);
    br_free(o.err);
}

/* Exit code 0 and exactly this output; NULL: any. */
static void assert_prints(const char *line, const char *input, const char *want)
{
    outcome o = brine(line, input);
    if (o.code != BR_EXIT_DONE) print_error("brine %s: %s\n", line, o.err);
    assert_int_equal(o.code, BR_EXIT_DONE);
    if (want) assert_string_equal(o.out, want);
    free_outcome(o);
}

static void assert_fails(const char *line, const char *input, int code, const char *message)
{
    outcome o = brine(line, input);
    if (o.code != code || !strstr(o.err, message)) print_error("brine %s: %s\n", line, o.err);
    assert_int_equal(o.code, code);
    assert_non_null(strstr(o.err, message));
    free_outcome(o);
}

/* ---- tests ---- */

static const char help[] =
    "brine: exact totals per real key, from streams whose keys were salted.\n"
    "\n"
    "Usage: brine COMMAND [ARGUMENTS] [OPTIONS]\n"
    "\n"
    "Commands:\n"
    "  run       run a job\n"
    "  validate  check a job file\n"
    "  plan      show how a job will run: stages, topics, fields, expressions\n"
    "  generate  write sample records\n"
    "  produce   append lines from standard input to a topic\n"
    "  consume   print the records of a topic\n"
    "  query     read the state of a job, also while it runs\n"
    "  topics    list the topics of a log\n"
    "  version   show the versions of brine and its libraries\n"
    "\n"
    "`brine COMMAND --help` tells more.\n"
    "Exit codes: 0 done, 1 wrong usage or job file, 2 failed while running, 3 could not start.\n";

static void help__golden__lists_every_command(void **state)
{
    /* The text of `brine --help`, by three names. */
    (void)state;
    assert_prints("--help", NULL, help);
    assert_prints("help", NULL, help);
    assert_prints("-h", NULL, help);
    assert_prints(
        "topics --help", NULL,
        "Usage: brine topics [TOPIC…] [OPTIONS]\n"
        "\n"
        "Lists the topics of a log; of those that are named, every partition with its\n"
        "low and end offset.\n"
        "\n"
        "Options:\n"
        "  --brokers LIST          Kafka's bootstrap servers, host:port[,…] (or "
        "BRINE_BROKERS)\n"
        "  --local DIR             use the embedded log in this folder (or BRINE_LOCAL);\n"
        "                          without brokers: ./brine-data\n"
        "  --json                  a JSON array of topics with all their partitions\n"
        "  --help                  this text\n"
        "\n"
        "RECORDS counts offsets: in compacted topics, and between transactions, there "
        "are\n"
        "fewer records.\n");
}

static void help__every_command__has_its_own(void **state)
{
    /* Each command answers --help with its usage and exit code 0. */
    (void)state;
    static const char *const names[] = {"run",     "validate", "plan",   "generate", "produce",
                                        "consume", "query",    "topics", "version"};
    for (size_t i = 0; i < BR_COUNTOF(names); i++) {
        char line[64], want[64];
        (void)snprintf(line, sizeof(line), "%s --help", names[i]);
        (void)snprintf(want, sizeof(want), "Usage: brine %s ", names[i]);
        outcome o = brine(line, NULL);
        assert_int_equal(o.code, BR_EXIT_DONE);
        assert_int_equal(strncmp(o.out, want, strlen(want)), 0);
        assert_string_equal(o.err, "");
        free_outcome(o);
    }
}

static void wrong_use__every_command__is_exit_code_1(void **state)
{
    /* Mistakes of usage are told apart from failures, before anything is made. */
    (void)state;
    static const struct {
        const char *line, *message;
    } cases[] = {
        {"", "Usage: brine COMMAND"},
        {"consmue", "did you mean `consume`"},
        {"generate", "an argument is missing"},
        {"generate clicks", "there are ad-clicks and telemetry"},
        {"generate ad-clicks --hot 2", "not a share"},
        {"produce", "--topic is missing"},
        {"produce --topic t --salt 3", "--salt needs --key"},
        {"produce --topic t --key a+", "--key"},
        {"produce --topic t --format xml", "`xml` is not known"},
        {"consume", "--topic is missing"},
        {"consume --topic t --latest --follow", "leave one out"},
        {"query job", "an argument is missing"},
        {"plan", "an argument is missing"},
        {"plan --json --dot x.yaml", "leave one out"},
        {"validate missing.yaml", "missing.yaml"},
        {"topics --brokers a:1 --local b", "--brokers and --local are both given"},
        {"consume --topic t --brokers a:1 --local b", "both given"},
        {"produce --topic t --brokers a:1 --local b", "both given"},
    };
    for (size_t i = 0; i < BR_COUNTOF(cases); i++)
        assert_fails(cases[i].line, NULL, BR_EXIT_USAGE, cases[i].message);
    assert_int_equal(access("brine-data", F_OK), -1);
}

static void topics__nothing_there__is_exit_code_3(void **state)
{
    /* What is missing is named, with where it was looked for. */
    (void)state;
    assert_fails("consume --topic nope", NULL, BR_EXIT_NOT_STARTED, "no topic `nope`");
    assert_fails("query nope per_ad", NULL, BR_EXIT_NOT_STARTED, "brine-data/state/nope");
    write_file("file", "x");
    assert_fails("topics --local file/log", NULL, BR_EXIT_NOT_STARTED, "file/log");
}

static const char lines[] = "{\"id\":\"a\",\"n\":1,\"at\":5}\n"
                            "\n"
                            "{\"id\":\"b\",\"n\":2,\"at\":6}\n"
                            "{\"id\":null,\"n\":3,\"at\":7}\n"
                            "{\"id\":\"a\",\"n\":4,\"at\":8}";

static void produce__keys_and_times__come_back_from_consume(void **state)
{
    /* Key, salt and timestamp of each line; a null key is counted; blank lines are left out. */
    (void)state;
    outcome o = brine("produce --topic t --key id --timestamp at --json", lines);
    assert_int_equal(o.code, BR_EXIT_DONE);
    const char want[] = "{\"topic\":\"t\",\"partitions\":1,\"records\":4,\"null_keys\":1,"
                        "\"blank_lines\":1,\"milliseconds\":";
    assert_int_equal(strncmp(o.out, want, strlen(want)), 0);
    free_outcome(o);
    assert_prints("consume --topic t --key", NULL,
                  "a\t{\"id\":\"a\",\"n\":1,\"at\":5}\nb\t{\"id\":\"b\",\"n\":2,\"at\":6}\n"
                  "\t{\"id\":null,\"n\":3,\"at\":7}\na\t{\"id\":\"a\",\"n\":4,\"at\":8}\n");
    assert_prints("consume --topic t --latest", NULL,
                  "{\"id\":\"a\",\"n\":4,\"at\":8}\n{\"id\":\"b\",\"n\":2,\"at\":6}\n");
    assert_prints("produce --topic u --key id --salt 1 --local other", "{\"id\":\"x\"}\n", NULL);
    outcome json = brine("consume --topic u --json --local other", NULL);
    assert_non_null(strstr(json.out, "\"key\":\"x_0\",\"value\":\"{\\\"id\\\":\\\"x\\\"}\"}\n"));
    free_outcome(json);
    o = brine("consume --topic t --json", NULL);
    const char first[] =
        "{\"topic\":\"t\",\"partition\":0,\"offset\":0,\"timestamp\":5,\"key\":\"a\",";
    assert_int_equal(strncmp(o.out, first, strlen(first)), 0);
    free_outcome(o);
}

static void produce__bad_line__is_named_and_the_lines_before_are_stored(void **state)
{
    /* A line is decoded only where a key needs it; one that cannot be ends with its number. */
    (void)state;
    assert_prints("produce --topic any", "not json\n", NULL);
    assert_fails("produce --topic t --key id", "{\"id\":1}\n\n{\"id\":\n", BR_EXIT_FAILED,
                 "line 3: ");
    assert_fails("produce --topic t --timestamp at", "{\"at\":\"x\"}\n", BR_EXIT_FAILED,
                 "line 1: ");
    assert_prints("consume --topic t --key", NULL, "1\t{\"id\":1}\n");
    assert_prints("consume --topic any", NULL, "not json\n");
}

static void produce__partitions__are_made_or_must_agree(void **state)
{
    /* A missing topic is made with --partitions; one that is there is not changed. */
    (void)state;
    assert_prints("produce --topic t --partitions 3", "x\n", NULL);
    assert_prints("produce --topic t", "y\n", NULL);
    assert_prints("produce --topic t --partitions 3", "z\n", NULL);
    assert_fails("produce --topic t --partitions 4", "x\n", BR_EXIT_NOT_STARTED,
                 "has 3 partitions, --partitions says 4");
    assert_prints("topics", NULL, "TOPIC\tPARTITIONS\tRECORDS\tCLEANUP\nt\t3\t3\tdelete\n");
    assert_prints("topics t", NULL,
                  "TOPIC\tPARTITION\tLOW\tEND\nt\t0\t0\t3\nt\t1\t0\t0\nt\t2\t0\t0\n");
    assert_prints("topics --json", NULL,
                  "[{\"topic\":\"t\",\"cleanup_policy\":\"delete\",\"partitions\":["
                  "{\"partition\":0,\"low\":0,\"end\":3},{\"partition\":1,\"low\":0,\"end\":0},"
                  "{\"partition\":2,\"low\":0,\"end\":0}],\"records\":3}]\n");
}

static const char job[] =
    "name: j\n"
    "operators:\n"
    "  - source: {id: in, topic: t}\n"
    "  - groupBy: {id: per_id, by: [id], aggregate: {n: sum(n), c: count()}}\n"
    "  - sink: {topic: out}\n";

static void query__job_that_ran__answers_from_stage_two(void **state)
{
    /* Totals over all partitions, not a stage-one task's share; keys choose groups. */
    (void)state;
    write_file("job.yaml", job);
    assert_prints("produce --topic t --partitions 3",
                  "{\"id\":\"a\",\"n\":1}\n{\"id\":\"b\",\"n\":2}\n{\"id\":\"a\",\"n\":3}\n", NULL);
    assert_prints("produce --topic t", "{\"id\":\"a\",\"n\":10}\n", NULL);
    assert_prints("run job.yaml --until-end", NULL, NULL);
    assert_prints("query j per_id", NULL, "id\tn\tc\na\t14\t3\nb\t2\t1\n");
    assert_prints("query j per_id --json b", NULL, "{\"id\":\"b\",\"n\":2,\"c\":1}\n");
    assert_prints("query j per_id zzz", NULL, "id\tn\tc\n");
    assert_prints("query --state-dir brine-data/state j per_id a", NULL, "id\tn\tc\na\t14\t3\n");
    assert_fails("query j per_ad", NULL, BR_EXIT_NOT_STARTED, "no state of an operator `per_ad`");
    assert_prints("query brine-data/state/j/t-2/ per_id", NULL, "id\tn\tc\na\t3\t1\n");
}

static void validate__files__say_what_is_wrong_where(void **state)
{
    /* One bad file makes the exit code 1; the others are checked all the same. */
    (void)state;
    write_file("job.yaml", job);
    write_file("bad.yaml", "name: j\noperators:\n  - source: {id: in, tpoic: t}\n");
    assert_prints("validate job.yaml", NULL, "job.yaml: job `j` is valid\n");
    assert_prints("validate --json job.yaml", NULL,
                  "{\"file\":\"job.yaml\",\"valid\":true,\"job\":\"j\",\"errors\":[]}\n");
    outcome o = brine("validate bad.yaml job.yaml", NULL);
    assert_int_equal(o.code, BR_EXIT_USAGE);
    assert_non_null(strstr(o.err, "bad.yaml:3:"));
    assert_non_null(strstr(o.err, "tpoic"));
    assert_string_equal(o.out, "job.yaml: job `j` is valid\n");
    free_outcome(o);
}

static void plan__with_a_log__shows_its_partition_counts(void **state)
{
    /* Without a log nothing is asked, and no folder made; with one the counts are real. */
    (void)state;
    write_file("job.yaml", job);
    outcome o = brine("plan job.yaml", NULL);
    assert_int_equal(o.code, BR_EXIT_DONE);
    assert_non_null(strstr(o.out, "j-per_id-repartition"));
    assert_int_equal(access("brine-data", F_OK), -1);
    free_outcome(o);
    assert_prints("produce --topic t --partitions 37 --local here", "x\n", NULL);
    o = brine("plan job.yaml --local here", NULL);
    assert_int_equal(o.code, BR_EXIT_DONE);
    assert_non_null(strstr(o.out, "37"));
    free_outcome(o);
}

static void environment__names_the_log__unless_a_flag_does(void **state)
{
    /* BRINE_LOCAL is used, a flag goes before it, and two kinds of log at once are refused. */
    (void)state;
    assert_int_equal(setenv("BRINE_LOCAL", "from-environment", 1), 0);
    assert_prints("produce --topic t", "x\n", NULL);
    assert_prints("consume --topic t --local from-environment", NULL, "x\n");
    assert_prints("topics --local empty", NULL, "TOPIC\tPARTITIONS\tRECORDS\tCLEANUP\n");
    assert_int_equal(setenv("BRINE_BROKERS", "localhost:1", 1), 0);
    assert_fails("topics", NULL, BR_EXIT_USAGE, "BRINE_BROKERS and BRINE_LOCAL are both set");
    assert_prints("consume --topic t --local from-environment", NULL, "x\n");
}

static void generate__writes_lines__as_many_as_asked(void **state)
{
    /* The command's output is the generator's, whatever the buffer's size. */
    (void)state;
    outcome o = brine("generate ad-clicks --count 20000", NULL);
    assert_int_equal(o.code, BR_EXIT_DONE);
    int count = 0;
    for (const char *c = o.out; *c; c++) count += *c == '\n';
    assert_int_equal(count, 20000);
    free_outcome(o);
    assert_prints("generate telemetry --count 0", NULL, "");
}

static void output__full_disk__is_exit_code_2(void **state)
{
    /* FAULTS 57: what could not be written is not reported as done. */
    (void)state;
    char *argv[] = {(char *)(uintptr_t) "brine", (char *)(uintptr_t) "version"};
    (void)fflush(stdout);
    int err = redirect(2, "stderr", O_WRONLY | O_CREAT | O_TRUNC);
    int out = redirect(1, "/dev/full", O_WRONLY);
    int code = br_cli_main(2, argv);
    FILE *null = freopen("/dev/null", "w", stdout); /* drops what is left in the buffer */
    restore(1, out);
    restore(2, err);
    assert_non_null(null);
    assert_int_equal(code, BR_EXIT_FAILED);
    char *message = read_file("stderr");
    assert_non_null(strstr(message, "cannot write to standard output: No space left"));
    br_free(message);
}

#define CLI_TEST(name) cmocka_unit_test_setup_teardown(name, enter_dir, leave_dir)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLI_TEST(help__golden__lists_every_command),
        CLI_TEST(help__every_command__has_its_own),
        CLI_TEST(wrong_use__every_command__is_exit_code_1),
        CLI_TEST(topics__nothing_there__is_exit_code_3),
        CLI_TEST(produce__keys_and_times__come_back_from_consume),
        CLI_TEST(produce__bad_line__is_named_and_the_lines_before_are_stored),
        CLI_TEST(produce__partitions__are_made_or_must_agree),
        CLI_TEST(query__job_that_ran__answers_from_stage_two),
        CLI_TEST(validate__files__say_what_is_wrong_where),
        CLI_TEST(plan__with_a_log__shows_its_partition_counts),
        CLI_TEST(environment__names_the_log__unless_a_flag_does),
        CLI_TEST(generate__writes_lines__as_many_as_asked),
        CLI_TEST(output__full_disk__is_exit_code_2),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
