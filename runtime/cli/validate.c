/* runtime/cli/validate.c - brine validate: checks job files without running them. */
#include "runtime/base/json_out.h"
#include "runtime/cli/cli.h"
#include "runtime/cli/job_file.h"
#include "runtime/cli/options.h"

#include <stdio.h>

static void print_valid(const br_job_file *file, const char *path, bool json)
{
    if (!json) {
        printf("%s: job `%s` is valid\n", path, file->plan->job);
        return;
    }
    br_buf text = {0};
    br_json_out out = br_json_begin(&text);
    br_json_open(&out, '{');
    br_json_put_text(&out, "file", path);
    br_json_put_bool(&out, "valid", true);
    br_json_put_text(&out, "job", file->plan->job);
    br_json_name(&out, BR_LITERAL("errors"));
    br_json_open(&out, '[');
    br_json_close(&out, ']');
    br_json_close(&out, '}');
    (void)puts(br_buf_cstr(&text));
    br_buf_dispose(&text);
}

int br_cmd_validate(int argc, char **argv)
{
    bool json = false;
    const br_option options[] = {
        {"json", NULL,
         "a JSON object a file: file, valid, errors with line, column, path,\nmessage",
         BR_OPTION_FLAG, &json, 0, 0},
    };
    const br_usage usage = {
        .command = "validate",
        .arguments = "JOB.yaml…",
        .argument_min = 1,
        .argument_max = 1000,
        .summary = "Checks job files: all errors of each, as file:line:column: path: message.\n"
                   "Asks no broker. Exit code 1 if any file has an error.\n",
        .options = options,
        .option_count = BR_COUNTOF(options),
    };
    br_args args;
    int code, result = BR_EXIT_DONE;
    if (!br_options_read(&usage, argc, argv, &args, &code)) return code;
    for (size_t i = 0; i < args.count; i++) {
        br_job_file file;
        if (!br_job_file_open(&file, usage.command, args.at[i], json, &code)) {
            result = code;
            continue;
        }
        print_valid(&file, args.at[i], json);
        br_job_file_close(&file);
    }
    return result;
}
