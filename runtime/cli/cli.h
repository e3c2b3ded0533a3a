/* runtime/cli/cli.h - the brine command: its subcommands and what they share.
 * Shape:     brine COMMAND [ARGUMENTS] [OPTIONS]; a file per command, each with a br_usage table
 *            (options.h). Results go to standard output, all else to standard error. */
#ifndef BR_RUNTIME_CLI_CLI_H
#define BR_RUNTIME_CLI_CLI_H

#include "runtime/base/status.h"

enum {
    BR_EXIT_DONE = 0,
    BR_EXIT_USAGE = 1,       /* wrong usage, or a job file with errors */
    BR_EXIT_FAILED = 2,      /* failed while running */
    BR_EXIT_NOT_STARTED = 3, /* could not start: log, state folder or topic cannot be used */
};

/* Runs the command that argv names; returns the exit code. */
int br_cli_main(int argc, char **argv);

/* Prints "brine COMMAND: message" to standard error. Returns code. */
int br_cli_failed(const char *command, int code, const br_err *err);

/* The commands; argv[0] is the command's name. Each returns an exit code. */
int br_cmd_run(int argc, char **argv);
int br_cmd_validate(int argc, char **argv);
int br_cmd_plan(int argc, char **argv);
int br_cmd_generate(int argc, char **argv);
int br_cmd_produce(int argc, char **argv);
int br_cmd_consume(int argc, char **argv);
int br_cmd_query(int argc, char **argv);
int br_cmd_topics(int argc, char **argv);
int br_cmd_version(int argc, char **argv);

#endif
