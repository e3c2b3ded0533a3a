/* runtime/cli/cli.c - the table of commands. See cli.h. */
#include "runtime/cli/cli.h"

#include "runtime/base/names.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>

typedef struct command {
    const char *name;
    const char *help; /* one line */
    int (*run)(int argc, char **argv);
} command;

static const command commands[] = {
    {"run", "run a job", br_cmd_run},
    {"validate", "check a job file", br_cmd_validate},
    {"plan", "show how a job will run: stages, topics, fields, expressions", br_cmd_plan},
    {"generate", "write sample records", br_cmd_generate},
    {"produce", "append lines from standard input to a topic", br_cmd_produce},
    {"consume", "print the records of a topic", br_cmd_consume},
    {"query", "read the state of a job, also while it runs", br_cmd_query},
    {"topics", "list the topics of a log", br_cmd_topics},
    {"version", "show the versions of brine and its libraries", br_cmd_version},
};

static const char exit_codes[] =
    "\n`brine COMMAND --help` tells more.\n"
    "Exit codes: 0 done, 1 wrong usage or job file, 2 failed while running, 3 could not start.\n";

static void print_help(FILE *out)
{
    fputs("brine: exact totals per real key, from streams whose keys were salted.\n\n"
          "Usage: brine COMMAND [ARGUMENTS] [OPTIONS]\n\nCommands:\n",
          out);
    for (size_t i = 0; i < BR_COUNTOF(commands); i++)
        fprintf(out, "  %-10s%s\n", commands[i].name, commands[i].help);
    fputs(exit_codes, out);
}

int br_cli_failed(const char *name, int code, const br_err *err)
{
    (void)fflush(stdout);
    fprintf(stderr, "brine %s: %s\n", name, err->message);
    return code;
}

static int unknown_command(const char *name)
{
    const char *names[BR_COUNTOF(commands)];
    for (size_t i = 0; i < BR_COUNTOF(commands); i++) names[i] = commands[i].name;
    const char *near = br_nearest(br_str(name), names, BR_COUNTOF(commands));
    fprintf(stderr, "brine: unknown command `%s`%s%s%s; `brine --help` lists all\n", name,
            near ? ", did you mean `" : "", near ? near : "", near ? "`?" : "");
    return BR_EXIT_USAGE;
}

/* What was printed must have arrived: a full disk is a failure; a reader that went away is not. */
static int flush_output(const char *name, int code)
{
    br_err err;
    if (fflush(stdout) == 0 || errno == EPIPE) return code;
    br_fail_errno(&err, BR_ERR_IO, errno, "cannot write to standard output");
    return br_cli_failed(name, code == BR_EXIT_DONE ? BR_EXIT_FAILED : code, &err);
}

static bool is_one_of(const char *word, const char *a, const char *b, const char *c)
{
    return strcmp(word, a) == 0 || strcmp(word, b) == 0 || strcmp(word, c) == 0;
}

int br_cli_main(int argc, char **argv)
{
    (void)signal(SIGPIPE, SIG_IGN); /* a closed pipe is an error of write, not the end */
    if (argc < 2) {
        print_help(stderr);
        return BR_EXIT_USAGE;
    }
    if (is_one_of(argv[1], "help", "--help", "-h")) {
        print_help(stdout);
        return flush_output("help", BR_EXIT_DONE);
    }
    const char *name = strcmp(argv[1], "--version") == 0 ? "version" : argv[1];
    for (size_t i = 0; i < BR_COUNTOF(commands); i++)
        if (strcmp(name, commands[i].name) == 0)
            return flush_output(name, commands[i].run(argc - 1, argv + 1));
    return unknown_command(argv[1]);
}
