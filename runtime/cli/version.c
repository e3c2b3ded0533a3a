/* runtime/cli/version.c - brine version: the versions of brine and of the libraries it runs with,
 * and what is known to be wrong with them. */
#include "runtime/base/json_out.h"
#include "runtime/cli/cli.h"
#include "runtime/cli/grid.h"
#include "runtime/cli/options.h"
#include "runtime/log/kafka_version.h"

#include <protobuf-c/protobuf-c.h>
#include <lmdb.h>
#include <lz4.h>

typedef struct library {
    const char *name, *version;
} library;

static void print_json(const library *libraries, size_t count)
{
    br_buf text = {0};
    br_json_out out = br_json_begin(&text);
    br_json_open(&out, '{');
    for (size_t i = 0; i < count; i++)
        br_json_put_text(&out, libraries[i].name, libraries[i].version);
    br_json_name(&out, BR_LITERAL("known_faults"));
    br_json_open(&out, '[');
    const char *fault;
    for (size_t i = 0; (fault = br_kafka_fault(br_kafka_version_number(), i)); i++)
        br_json_text(&out, br_str(fault));
    br_json_close(&out, ']');
    br_json_close(&out, '}');
    (void)puts(br_buf_cstr(&text));
    br_buf_dispose(&text);
}

static void print_table(const library *libraries, size_t count)
{
    static const br_column columns[] = {{"NAME", false}, {"VERSION", false}};
    br_grid *grid = br_grid_create(columns, BR_COUNTOF(columns));
    for (size_t i = 0; i < count; i++) {
        br_grid_add(grid, br_str(libraries[i].name));
        br_grid_add(grid, br_str(libraries[i].version));
    }
    br_grid_print(grid, stdout);
    br_grid_destroy(grid);
    const char *fault;
    for (size_t i = 0; (fault = br_kafka_fault(br_kafka_version_number(), i)); i++)
        printf("note: librdkafka %s\n", fault);
}

int br_cmd_version(int argc, char **argv)
{
    bool json = false;
    const br_option options[] = {
        {"json", NULL, "a JSON object of names and versions, and known_faults", BR_OPTION_FLAG,
         &json, 0, 0},
    };
    const br_usage usage = {
        .command = "version",
        .summary =
            "Shows the versions of brine and of the libraries it runs with, and which known\n"
            "faults those have.\n",
        .options = options,
        .option_count = BR_COUNTOF(options),
    };
    br_args args;
    int code, major, minor, patch;
    if (!br_options_read(&usage, argc, argv, &args, &code)) return code;
    char lmdb[32];
    (void)mdb_version(&major, &minor, &patch);
    (void)snprintf(lmdb, sizeof(lmdb), "%d.%d.%d", major, minor, patch);
    const library libraries[] = {
        {"brine", BR_VERSION},
        {"librdkafka", br_kafka_version()},
        {"lmdb", lmdb},
        {"lz4", LZ4_versionString()},
        {"protobuf-c", protobuf_c_version()},
        {"simdjson", BR_SIMDJSON_VERSION},
        {"lua", BR_LUA_VERSION},
    };
    if (json)
        print_json(libraries, BR_COUNTOF(libraries));
    else
        print_table(libraries, BR_COUNTOF(libraries));
    return BR_EXIT_DONE;
}
