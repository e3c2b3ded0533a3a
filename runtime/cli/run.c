/* runtime/cli/run.c - brine run: runs a job in this process.
 * Results go to the sinks' topics (and with --print to standard output); progress, log lines and
 * the summary to standard error; with --json the summary to standard output. */
#include "jobs/plan.h"
#include "runtime/base/alloc.h"
#include "runtime/base/json_out.h"
#include "runtime/base/logger.h"
#include "runtime/base/units.h"
#include "runtime/cli/cli.h"
#include "runtime/cli/connect.h"
#include "runtime/cli/grid.h"
#include "runtime/cli/job_file.h"
#include "runtime/worker.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    PROGRESS_TERMINAL_MS = 250,
    PROGRESS_FILE_MS = 10000,
    STOP_WAIT_S = 9, /* after a signal; what runs us often kills after 10 s */
};

typedef struct run {
    br_connect connect;
    const char *name; /* [optional] */
    bool until_end, drain, print, json, verbose;
    br_counters counters;
    int64_t started_ms;
    int64_t shown_ms;
    uint64_t shown_records;
    bool terminal;
} run;

/* A log that no longer answers may hold the last commit up for minutes: the process ends without
 * it, which is safe at any point. */
static void on_alarm(int number)
{
    static const char text[] = "brine run: the log did not answer in time after the signal: ended "
                               "without the last commit. "
                               "Nothing is lost: the next start does it again\n";
    (void)number;
    (void)!write(STDERR_FILENO, text, sizeof(text) - 1);
    _exit(BR_EXIT_FAILED);
}

/* The second signal ends the process at once: state is safe at any point. */
static void on_signal(int number)
{
    static volatile sig_atomic_t seen;
    (void)number;
    if (seen++) _exit(BR_EXIT_FAILED);
    br_worker_stop();
    (void)alarm(STOP_WAIT_S);
}

static void catch_signals(void)
{
    struct sigaction stop = {.sa_handler = on_signal};
    struct sigaction too_late = {.sa_handler = on_alarm};
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    (void)sigaction(SIGALRM, &too_late, NULL);
    (void)sigaction(SIGINT, &stop, NULL);
    (void)sigaction(SIGTERM, &stop, NULL);
    (void)sigaction(SIGPIPE, &ignore, NULL);
}

static void print_result(void *arg, const char *topic, br_bytes key, br_bytes value)
{
    (void)arg;
    printf("%s\t%.*s\t%.*s\n", topic, (int)key.len, key.data ? key.data : "", (int)value.len,
           value.data ? value.data : "");
}

static void show_progress(void *arg, const br_pipeline_status *status)
{
    run *r = arg;
    char records[32], rate[32], lag[32];
    int64_t now = br_mono_ms(&br_system_clock), took = now - r->shown_ms;
    uint64_t seen = br_counted(&r->counters.records);
    uint64_t since = seen - r->shown_records;
    (void)br_format_count(records, seen);
    (void)br_format_count(rate, took > 0 ? since * 1000 / (uint64_t)took : 0);
    (void)br_format_count(lag, status->lag);
    fprintf(stderr, "%s%s records  %s/s  lag %s  tasks %zu", r->terminal ? "\r\x1b[K" : "", records,
            rate, lag, status->tasks);
    if (status->restoring > 0)
        fprintf(stderr, "  restoring %zu (%" PRIu64 " rows read)", status->restoring,
                br_counted(&r->counters.restored));
    if (!r->terminal) fputc('\n', stderr);
    r->shown_ms = now;
    r->shown_records = seen;
}

static void print_summary(const run *r, const char *job)
{
    char count[32], took_text[32];
    int64_t took = br_mono_ms(&br_system_clock) - r->started_ms;
    uint64_t records = br_counted(&r->counters.records);
    if (r->terminal) fputs("\r\x1b[K", stderr);
    fprintf(stderr, "%s: %s records in %s", job, br_format_count(count, records),
            br_format_duration(took_text, took));
    if (took > 0)
        fprintf(stderr, ", %s a second", br_format_count(count, records * 1000 / (uint64_t)took));
    fputc('\n', stderr);
#define X(name, help)                                                                              \
    if (br_counted(&r->counters.name) > 0)                                                         \
        fprintf(stderr, "  %14s  %s\n", br_format_count(count, br_counted(&r->counters.name)),     \
                help);
    BR_COUNTERS(X)
#undef X
}

static void print_summary_json(const run *r, const char *job)
{
    br_buf buf = {0};
    br_json_out out = br_json_begin(&buf);
    br_json_open(&out, '{');
    br_json_put_text(&out, "job", job);
    br_json_put_int(&out, "milliseconds", br_mono_ms(&br_system_clock) - r->started_ms);
#define X(name, help) br_json_put_int(&out, #name, (int64_t)br_counted(&r->counters.name));
    BR_COUNTERS(X)
#undef X
    br_json_close(&out, '}');
    puts(br_buf_cstr(&buf));
    br_buf_dispose(&buf);
}

static int run_plan(run *r, const br_job_file *file, br_log *log, const char *state_dir)
{
    br_err err;
    bool started;
    const br_plan *plan = file->plan;
    br_worker_opts opts = {.job = file->job,
                           .plan = plan,
                           .log = log,
                           .state_dir = state_dir,
                           .clock = &br_system_clock,
                           .counters = &r->counters,
                           .instance_id = r->name,
                           .until_end = r->until_end || r->drain,
                           .print = r->print ? print_result : NULL,
                           .progress = show_progress,
                           .progress_arg = r,
                           .progress_ms = r->terminal ? PROGRESS_TERMINAL_MS : PROGRESS_FILE_MS};
    catch_signals();
    r->started_ms = r->shown_ms = br_mono_ms(&br_system_clock);
    br_log_line(BR_INFO, "running", "job=%s log=\"%s\" state=%s", plan->job, br_log_describe(log),
                state_dir);
    br_status st = br_worker_run(&opts, &started, &err);
    (void)fflush(stdout);
    if (started && r->json)
        print_summary_json(r, plan->job);
    else if (started)
        print_summary(r, plan->job);
    if (st >= 0) return BR_EXIT_DONE;
    return br_cli_failed("run", started ? BR_EXIT_FAILED : BR_EXIT_NOT_STARTED, &err);
}

static int run_job(run *r, const br_job_file *file)
{
    br_log *log = NULL;
    br_buf state_dir = {0};
    br_err err;
    r->connect.job_brokers = file->brokers;
    r->connect.settings = file->settings;
    r->connect.setting_count = file->setting_count;
    br_status st = br_connect_state_dir(&r->connect, &state_dir, &err);
    if (st == BR_OK) st = br_connect_log(&log, &r->connect, &err);
    int code = st == BR_OK ? run_plan(r, file, log, br_buf_cstr(&state_dir))
                           : br_cli_failed("run", BR_EXIT_NOT_STARTED, &err);
    br_log_close(log);
    br_buf_dispose(&state_dir);
    return code;
}

/* As Kafka's own clients check a group.instance.id, less room for what the worker adds. */
static br_status check_name(const char *name, br_err *err)
{
    enum { NAME_MAX_BYTES = 200 };
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    size_t len = strlen(name);
    if (len > 0 && len <= NAME_MAX_BYTES && strspn(name, allowed) == len) return BR_OK;
    return br_fail(err, BR_ERR_CONFIG,
                   "--name is \"%s\", but a name is 1 to %d letters, digits and . _ -", name,
                   NAME_MAX_BYTES);
}

int br_cmd_run(int argc, char **argv)
{
    run r = {.terminal = isatty(STDERR_FILENO) == 1};
    const br_option options[] = {
        BR_CONNECT_OPTIONS(r.connect),
        BR_STATE_DIR_OPTION(r.connect),
        {"name", "NAME",
         "this worker's own name, the same at each start: a restarted worker\n"
         "gets its partitions back, and the job's other workers keep theirs\n"
         "(Kafka's static membership)",
         BR_OPTION_TEXT, &r.name, 0, 0},
        {"until-end", NULL,
         "stop, committed, when every source is read up to its end as it is\n"
         "now and all partials are merged",
         BR_OPTION_FLAG, &r.until_end, 0, 0},
        {"drain", NULL,
         "as --until-end, and close what is open (this version has no windows,\n"
         "so nothing stays open)",
         BR_OPTION_FLAG, &r.drain, 0, 0},
        {"print", NULL, "print results as they are sent: topic, key and value, tab-separated",
         BR_OPTION_FLAG, &r.print, 0, 0},
        {"json", NULL, "print the summary as JSON on standard output", BR_OPTION_FLAG, &r.json, 0,
         0},
        {"verbose", NULL, "log what happens", BR_OPTION_FLAG, &r.verbose, 0, 0},
    };
    const br_usage usage = {
        .command = "run",
        .arguments = "JOB.yaml",
        .argument_min = 1,
        .argument_max = 1,
        .summary = "Runs a job in this process until it is stopped (Ctrl-C commits and ends it; a\n"
                   "second one ends it at once, which loses nothing).\n",
        .options = options,
        .option_count = BR_COUNTOF(options)};
    br_args args;
    br_job_file file;
    int code;
    if (!br_options_read(&usage, argc, argv, &args, &code)) return code;
    br_err err;
    if (r.name && check_name(r.name, &err) != BR_OK)
        return br_cli_failed(usage.command, BR_EXIT_USAGE, &err);
    if (r.verbose) br_log_set_level(BR_INFO);
    if (!br_job_file_open(&file, "run", args.at[0], false, &code)) return code;
    code = run_job(&r, &file);
    br_job_file_close(&file);
    return code;
}
