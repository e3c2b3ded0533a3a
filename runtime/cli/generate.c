/* runtime/cli/generate.c - brine generate: sample records as JSON lines. See generator.h. */
#include "runtime/base/alloc.h"
#include "runtime/base/names.h"
#include "runtime/cli/cli.h"
#include "runtime/cli/generator.h"
#include "runtime/cli/options.h"

#include <errno.h>
#include <unistd.h>

enum { BUFFER_BYTES = 1024 * 1024 };

/* BR_END: whoever reads standard output has gone away. */
static br_status write_all(const char *data, size_t len, br_err *err)
{
    while (len > 0) {
        ssize_t n = write(STDOUT_FILENO, data, len);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EPIPE) return BR_END;
        if (n < 0) return br_fail_errno(err, BR_ERR_IO, errno, "cannot write to standard output");
        data += n;
        len -= (size_t)n;
    }
    return BR_OK;
}

static br_status generate(br_generator *generator, uint64_t count, br_err *err)
{
    char *buffer = br_alloc(BUFFER_BYTES);
    size_t len = 0;
    br_status st = BR_OK;
    for (uint64_t i = 0; i < count && st == BR_OK; i++) {
        len += br_generator_line(generator, buffer + len);
        if (len + BR_GENERATOR_LINE_MAX <= BUFFER_BYTES) continue;
        st = write_all(buffer, len, err);
        len = 0;
    }
    if (st == BR_OK) st = write_all(buffer, len, err);
    br_free(buffer);
    return st;
}

static br_status find_sample(const char *name, br_sample *out, br_err *err)
{
    static const char *const names[] = {"ad-clicks", "telemetry"}; /* in br_sample's order */
    for (size_t i = 0; i < BR_COUNTOF(names); i++) {
        if (strcmp(name, names[i]) != 0) continue;
        *out = (br_sample)i;
        return BR_OK;
    }
    const char *near = br_nearest(br_str(name), names, BR_COUNTOF(names));
    return br_fail(err, BR_ERR_CONFIG, "no sample `%s`%s%s%s: there are ad-clicks and telemetry",
                   name, near ? ", did you mean `" : "", near ? near : "", near ? "`?" : "");
}

int br_cmd_generate(int argc, char **argv)
{
    int64_t count = 1000, ads = 10000, devices = 1000, seed = 1;
    double hot = 0;
    const br_option options[] = {
        {"count", "N", "how many records (default 1000)", BR_OPTION_INT, &count, 0, INT64_MAX},
        {"ads", "N", "how many ads (default 10000)", BR_OPTION_INT, &ads, 1, INT32_MAX},
        {"devices", "N", "how many devices (default 1000)", BR_OPTION_INT, &devices, 1, INT32_MAX},
        {"hot", "SHARE",
         "share of the records that goes to ad_7 or device_7,\n"
         "such as 0.5 (default 0: all alike)",
         BR_OPTION_SHARE, &hot, 0, 0},
        {"seed", "S", "another seed gives other records (default 1)", BR_OPTION_INT, &seed, 0,
         INT64_MAX},
    };
    const br_usage usage = {
        .command = "generate",
        .arguments = "ad-clicks|telemetry",
        .argument_min = 1,
        .argument_max = 1,
        .summary = "Writes sample records to standard output, a JSON object a line.\n"
                   "The same options give the same bytes.\n",
        .notes = "Example:\n"
                 "  brine generate ad-clicks --count 200000 --hot 0.5 |\n"
                 "    brine produce --topic ad-clicks --key ad_id --salt 10 --partitions 12\n",
        .options = options,
        .option_count = BR_COUNTOF(options),
    };
    br_args args;
    br_err err;
    br_generator generator = {0};
    int code;
    if (!br_options_read(&usage, argc, argv, &args, &code)) return code;
    if (find_sample(args.at[0], &generator.sample, &err) != BR_OK)
        return br_cli_failed(usage.command, BR_EXIT_USAGE, &err);
    generator.ids = (uint64_t)(generator.sample == BR_SAMPLE_AD_CLICKS ? ads : devices);
    generator.hot = hot;
    generator.rng.state = (uint64_t)seed;
    if (generate(&generator, (uint64_t)count, &err) < 0)
        return br_cli_failed(usage.command, BR_EXIT_FAILED, &err);
    return BR_EXIT_DONE;
}
