/* runtime/cli/options.h - the options of a command, declared in a table and parsed from argv.
 * Shape:     a command fills a br_usage, whose options point to where their values go; the same
 *            table makes `--help`.
 * Accepted:  --name VALUE, --name=VALUE, --flag, positional arguments anywhere, `--` before
 *            positional arguments that begin with a hyphen.
 * Lifetime:  texts borrow argv. */
#ifndef BR_RUNTIME_CLI_OPTIONS_H
#define BR_RUNTIME_CLI_OPTIONS_H

#include "runtime/base/bytes.h"

typedef enum br_option_kind {
    BR_OPTION_FLAG,  /* into: bool */
    BR_OPTION_TEXT,  /* into: const char * */
    BR_OPTION_INT,   /* into: int64_t, within [min, max] */
    BR_OPTION_SHARE, /* into: double, from 0 to 1 */
} br_option_kind;

typedef struct br_option {
    const char *name;  /* without the hyphens */
    const char *value; /* what help calls its value; NULL for a flag */
    const char *help;
    br_option_kind kind;
    void *into; /* holds the default before, and is untouched where the option is not given */
    int64_t min, max;
} br_option;

typedef struct br_usage {
    const char *command; /* "produce" */
    const char
        *arguments; /* positional ones as help shows them: "STORE OPERATOR [KEY…]"; or NULL */
    size_t argument_min, argument_max;
    const char *summary; /* what the command does; lines end with \n */
    const char *notes;   /* [optional] below the options */
    const br_option *options;
    size_t option_count;
} br_usage;

typedef struct br_args {
    char **at; /* positional arguments; borrows argv, which is reordered */
    size_t count;
} br_args;

/* argv[0] is the command. BR_OK: all values are in place. BR_END: --help was asked for (nothing was
 * printed). BR_ERR_CONFIG: what was found, what is allowed. */
BR_MUST_USE br_status br_options_parse(const br_usage *usage, int argc, char **argv, br_args *out,
                                       br_err *err);
/* The text of `brine COMMAND --help`. */
void br_options_help(const br_usage *usage, br_buf *out);
/* For commands: parses, prints help or the error. true: go on. false: *code is the exit code. */
BR_MUST_USE bool br_options_read(const br_usage *usage, int argc, char **argv, br_args *out,
                                 int *code);

#endif
