/* runtime/cli/plan.c - brine plan: how a job will run. */
#include "runtime/cli/cli.h"
#include "runtime/cli/connect.h"
#include "runtime/cli/job_file.h"

#include <stdio.h>

typedef struct question {
    br_log *log;
    br_status failed;
    br_err err; /* of the first failure */
} question;

/* 0 where the topic is not there (yet). */
static int32_t partitions_of(void *arg, const char *topic)
{
    question *q = arg;
    br_topic_info info;
    br_err err;
    if (q->failed < 0) return 0; /* a log that does not answer is asked once */
    br_status st = br_log_topic(q->log, topic, &info, &err);
    if (st < 0) {
        q->failed = st;
        q->err = err;
    }
    return st == BR_OK ? info.partitions : 0;
}

static br_status print_plan(const br_plan *plan, br_log *log, bool json, bool dot, br_err *err)
{
    br_buf text = {0};
    question q = {.log = log};
    br_partitions_of ask = log ? partitions_of : NULL;
    if (dot)
        br_plan_print_dot(plan, &text);
    else if (json)
        br_plan_print_json(plan, ask, &q, &text);
    else
        br_plan_print(plan, ask, &q, &text);
    if (q.failed < 0)
        *err = q.err;
    else
        (void)fwrite(text.data, 1, text.len, stdout);
    br_buf_dispose(&text);
    return q.failed;
}

int br_cmd_plan(int argc, char **argv)
{
    br_connect connect = {0};
    bool json = false, dot = false;
    const br_option options[] = {
        BR_CONNECT_OPTIONS(connect),
        {"json", NULL, "the plan as a JSON object", BR_OPTION_FLAG, &json, 0, 0},
        {"dot", NULL, "the plan as a graph for Graphviz: brine plan --dot JOB | dot -Tsvg",
         BR_OPTION_FLAG, &dot, 0, 0},
    };
    const br_usage usage = {
        .command = "plan",
        .arguments = "JOB.yaml",
        .argument_min = 1,
        .argument_max = 1,
        .summary = "Shows how a job will run: its stages, topics and their settings, the fields\n"
                   "that are decoded, and which expressions run natively. Partition counts are\n"
                   "looked up where a log is given.\n",
        .options = options,
        .option_count = BR_COUNTOF(options),
    };
    br_args args;
    br_job_file file;
    br_log *log = NULL;
    br_err err;
    int code;
    if (!br_options_read(&usage, argc, argv, &args, &code)) return code;
    if (json && dot) {
        br_fail(&err, BR_ERR_CONFIG, "--json and --dot are both given: leave one out");
        return br_cli_failed(usage.command, BR_EXIT_USAGE, &err);
    }
    if (!br_job_file_open(&file, usage.command, args.at[0], json, &code)) return code;
    connect.settings = file.settings;
    connect.setting_count = file.setting_count;
    br_status st = br_connect_is_given(&connect) ? br_connect_log(&log, &connect, &err) : BR_OK;
    if (st == BR_OK) st = print_plan(file.plan, log, json, dot, &err);
    br_log_close(log);
    br_job_file_close(&file);
    return st == BR_OK ? BR_EXIT_DONE
                       : br_cli_failed(usage.command, br_connect_exit_code(&err), &err);
}
