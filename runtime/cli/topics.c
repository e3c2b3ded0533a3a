/* runtime/cli/topics.c - brine topics: the topics of a log, their partitions and ends. */
#include "runtime/base/alloc.h"
#include "runtime/base/json_out.h"
#include "runtime/base/units.h"
#include "runtime/cli/cli.h"
#include "runtime/cli/connect.h"
#include "runtime/cli/grid.h"

#include <inttypes.h>

/* How a topic is shown; the first failure ends the command. */
typedef struct shower {
    br_log *log;
    br_grid *grid;     /* tables; or */
    br_json_out *json; /* … JSON */
    bool by_partition; /* a line per partition instead of one per topic */
} shower;

typedef struct extent {
    int64_t low, end;
} extent;

static void show_total(const shower *s, const char *name, const br_topic_info *info,
                       const extent *extents)
{
    uint64_t records = 0;
    char count[32];
    for (int32_t i = 0; i < info->partitions; i++)
        records += (uint64_t)(extents[i].end - extents[i].low);
    br_grid_add(s->grid, br_str(name));
    br_grid_printf(s->grid, "%" PRId32, info->partitions);
    br_grid_add(s->grid, br_str(br_format_count(count, records)));
    br_grid_add(s->grid, br_str(info->cleanup_policy));
}

static void show_partitions(const shower *s, const char *name, const br_topic_info *info,
                            const extent *extents)
{
    for (int32_t i = 0; i < info->partitions; i++) {
        br_grid_add(s->grid, br_str(name));
        br_grid_printf(s->grid, "%" PRId32, i);
        br_grid_printf(s->grid, "%" PRId64, extents[i].low);
        br_grid_printf(s->grid, "%" PRId64, extents[i].end);
    }
}

static void show_json(const shower *s, const char *name, const br_topic_info *info,
                      const extent *extents)
{
    uint64_t records = 0;
    br_json_open(s->json, '{');
    br_json_put_text(s->json, "topic", name);
    br_json_put_text(s->json, "cleanup_policy", info->cleanup_policy);
    br_json_name(s->json, BR_LITERAL("partitions"));
    br_json_open(s->json, '[');
    for (int32_t i = 0; i < info->partitions; i++) {
        records += (uint64_t)(extents[i].end - extents[i].low);
        br_json_open(s->json, '{');
        br_json_put_int(s->json, "partition", i);
        br_json_put_int(s->json, "low", extents[i].low);
        br_json_put_int(s->json, "end", extents[i].end);
        br_json_close(s->json, '}');
    }
    br_json_close(s->json, ']');
    br_json_name(s->json, BR_LITERAL("records"));
    br_json_uint(s->json, records);
    br_json_close(s->json, '}');
}

static br_status show_topic(void *arg, const char *name, int32_t partitions, br_err *err)
{
    const shower *s = arg;
    br_topic_info info;
    br_status st = br_log_topic(s->log, name, &info, err);
    if (st == BR_NOT_FOUND && partitions < 0)
        return br_fail(err, BR_ERR_CONFIG, "no topic `%s` in %s", name, br_log_describe(s->log));
    if (st == BR_NOT_FOUND) return BR_OK; /* deleted since it was listed */
    if (st != BR_OK) return st;
    extent *extents = br_calloc((size_t)info.partitions, sizeof(*extents));
    for (int32_t i = 0; st == BR_OK && i < info.partitions; i++)
        st = br_log_offsets(s->log, name, i, &extents[i].low, &extents[i].end, err);
    if (st == BR_OK && s->json)
        show_json(s, name, &info, extents);
    else if (st == BR_OK && s->by_partition)
        show_partitions(s, name, &info, extents);
    else if (st == BR_OK)
        show_total(s, name, &info, extents);
    br_free(extents);
    return st;
}

static br_status show_all(shower *s, const br_args *args, br_err *err)
{
    br_status st = args->count == 0 ? br_log_topics(s->log, show_topic, s, err) : BR_OK;
    for (size_t i = 0; st == BR_OK && i < args->count; i++)
        st = show_topic(s, args->at[i], -1, err);
    return st;
}

static br_status show_as_json(br_log *log, const br_args *args, br_err *err)
{
    br_buf text = {0};
    br_json_out json = br_json_begin(&text);
    shower s = {.log = log, .json = &json};
    br_json_open(&json, '[');
    br_status st = show_all(&s, args, err);
    br_json_close(&json, ']');
    if (st == BR_OK) (void)puts(br_buf_cstr(&text));
    br_buf_dispose(&text);
    return st;
}

static br_status show_as_table(br_log *log, const br_args *args, br_err *err)
{
    static const br_column totals[] = {
        {"TOPIC", false}, {"PARTITIONS", true}, {"RECORDS", true}, {"CLEANUP", false}};
    static const br_column partitions[] = {
        {"TOPIC", false}, {"PARTITION", true}, {"LOW", true}, {"END", true}};
    shower s = {.log = log, .by_partition = args->count > 0};
    s.grid = br_grid_create(s.by_partition ? partitions : totals, BR_COUNTOF(totals));
    br_status st = show_all(&s, args, err);
    if (st == BR_OK) br_grid_print(s.grid, stdout);
    br_grid_destroy(s.grid);
    return st;
}

int br_cmd_topics(int argc, char **argv)
{
    br_connect connect = {0};
    bool json = false;
    const br_option options[] = {
        BR_CONNECT_OPTIONS(connect),
        {"json", NULL, "a JSON array of topics with all their partitions", BR_OPTION_FLAG, &json, 0,
         0},
    };
    const br_usage usage = {
        .command = "topics",
        .arguments = "[TOPIC…]",
        .argument_max = 1000,
        .summary = "Lists the topics of a log; of those that are named, every partition with its\n"
                   "low and end offset.\n",
        .notes =
            "RECORDS counts offsets: in compacted topics, and between transactions, there are\n"
            "fewer records.\n",
        .options = options,
        .option_count = BR_COUNTOF(options),
    };
    br_args args;
    br_err err;
    br_log *log;
    int code;
    if (!br_options_read(&usage, argc, argv, &args, &code)) return code;
    br_status st = br_connect_log(&log, &connect, &err);
    if (st != BR_OK) return br_cli_failed(usage.command, br_connect_exit_code(&err), &err);
    st = json ? show_as_json(log, &args, &err) : show_as_table(log, &args, &err);
    br_log_close(log);
    return st == BR_OK ? BR_EXIT_DONE : br_cli_failed(usage.command, BR_EXIT_FAILED, &err);
}
