/* runtime/cli/consume.c - brine consume: prints the records of a topic.
 * Shape:     partitions one after the other, each to the end that it had at the start; with
 *            --follow then all of them, in turn, for ever
 * Memory:    bounded, but for --latest, which holds every key. */
#include "runtime/base/alloc.h"
#include "runtime/base/json_out.h"
#include "runtime/cli/cli.h"
#include "runtime/cli/connect.h"
#include "runtime/cli/latest.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

enum { OUTPUT_BYTES = 256 * 1024, POLL_RECORDS = 1000, POLL_MS = 100 };

typedef struct consume {
    br_connect connect;
    const char *topic;
    int64_t partition; /* -1: all */
    bool latest, follow, json, key;
    br_latest *values; /* --latest */
    uint64_t keyless;  /* records that --latest left out */
    br_buf line;
} consume;

typedef struct partition {
    int32_t number;
    int64_t low, end; /* as at the start */
    br_reader *reader;
} partition;

/* ---- printing ---- */

static void json_bytes(br_json_out *out, const char *name, br_bytes bytes)
{
    br_json_name(out, br_str(name));
    if (bytes.data)
        br_json_text(out, bytes);
    else
        br_json_null(out);
}

static void format_json(br_buf *line, const br_record *record)
{
    br_json_out out = br_json_begin(line);
    br_json_open(&out, '{');
    br_json_put_text(&out, "topic", record->topic);
    br_json_put_int(&out, "partition", record->partition);
    br_json_put_int(&out, "offset", record->offset);
    br_json_put_int(&out, "timestamp", record->timestamp_ms);
    json_bytes(&out, "key", record->key);
    json_bytes(&out, "value", record->value);
    br_headers headers = br_record_headers(record);
    if (headers.count > 0) {
        br_json_name(&out, BR_LITERAL("headers"));
        br_json_open(&out, '[');
        for (size_t i = 0; i < headers.count; i++) {
            br_json_open(&out, '{');
            json_bytes(&out, "name", headers.at[i].name);
            json_bytes(&out, "value", headers.at[i].value);
            br_json_close(&out, '}');
        }
        br_json_close(&out, ']');
    }
    br_json_close(&out, '}');
}

/* BR_END: whoever reads standard output has gone away. */
static br_status print_record(void *arg, const br_record *record, br_err *err)
{
    consume *c = arg;
    br_buf_reset(&c->line);
    if (c->json) {
        format_json(&c->line, record);
    } else {
        if (c->key) br_buf_addb(&c->line, record->key);
        if (c->key) br_buf_addc(&c->line, '\t');
        br_buf_addb(&c->line, record->value);
    }
    br_buf_addc(&c->line, '\n');
    if (fwrite(c->line.data, 1, c->line.len, stdout) == c->line.len) return BR_OK;
    if (errno == EPIPE) return BR_END;
    return br_fail_errno(err, BR_ERR_IO, errno, "cannot write to standard output");
}

/* ---- reading ---- */

/* One partition's reading under way. */
typedef struct reading {
    consume *c;
    int64_t stop; /* first offset that is not wanted */
    bool over;    /* a record at or behind it was seen, or nobody reads the output */
    bool closed;  /* the latter */
} reading;

static br_status take_record(void *arg, void *user, const br_record *record, br_err *err)
{
    reading *r = arg;
    (void)user;
    if (record->offset >= r->stop) {
        r->over = true;
        return BR_END;
    }
    if (r->c->values) {
        if (record->key.data)
            br_latest_put(r->c->values, record);
        else
            r->c->keyless++;
        return BR_OK;
    }
    br_status st = print_record(r->c, record, err);
    if (st == BR_END) r->over = r->closed = true;
    return st;
}

/* From the beginning to the end as it was. BR_END: the output is closed. */
static br_status read_partition(consume *c, br_log *log, const partition *part, br_err *err)
{
    reading r = {.c = c, .stop = part->end};
    br_reader *reader;
    if (part->low == part->end) return BR_OK;
    br_tp at = {c->topic, part->number};
    if (br_reader_open(&reader, log, at, -1, err) != BR_OK) return err->status;
    br_status st = BR_OK;
    while (st >= 0 && !r.over && br_reader_position(reader) < part->end)
        st = br_reader_poll(reader, POLL_MS, POLL_RECORDS, take_record, &r, err);
    br_reader_close(reader);
    return st < 0 ? st : r.closed ? BR_END : BR_OK;
}

/* All partitions in turn, until the output is closed or the process is stopped. */
static br_status follow(consume *c, br_log *log, partition *parts, size_t count, br_err *err)
{
    reading r = {.c = c, .stop = INT64_MAX};
    br_status st = BR_OK;
    for (size_t i = 0; st == BR_OK && i < count; i++)
        st = br_reader_open(&parts[i].reader, log, (br_tp){c->topic, parts[i].number}, parts[i].end,
                            err);
    bool idle = false;
    while (st >= 0 && !r.over) {
        bool some = false;
        for (size_t i = 0; st >= 0 && !r.over && i < count; i++) {
            int wait_ms = idle && i == 0 ? POLL_MS : 0;
            st = br_reader_poll(parts[i].reader, wait_ms, POLL_RECORDS, take_record, &r, err);
            some |= st == BR_OK;
        }
        idle = !some;
        if (idle && fflush(stdout) != 0) r.over = true; /* br_cli_main says why */
    }
    for (size_t i = 0; i < count; i++) br_reader_close(parts[i].reader);
    return st < 0 ? st : BR_OK;
}

static br_status read_topic(consume *c, br_log *log, partition *parts, size_t count, br_err *err)
{
    br_status st = BR_OK;
    for (size_t i = 0; st == BR_OK && i < count; i++) st = read_partition(c, log, &parts[i], err);
    if (st == BR_OK && c->values) st = br_latest_each(c->values, print_record, c, err);
    if (st == BR_OK && c->keyless > 0)
        fprintf(stderr, "brine consume: %" PRIu64 " records without a key left out\n", c->keyless);
    if (st == BR_OK && c->follow) st = follow(c, log, parts, count, err);
    return st < 0 ? st : BR_OK;
}

static br_status find_partitions(const consume *c, br_log *log, partition **parts, size_t *count,
                                 br_err *err)
{
    br_topic_info info;
    br_status st = br_log_topic(log, c->topic, &info, err);
    if (st == BR_NOT_FOUND)
        return br_fail(err, BR_ERR_CONFIG, "no topic `%s` in %s: `brine topics` lists them",
                       c->topic, br_log_describe(log));
    if (st != BR_OK) return st;
    if (c->partition >= info.partitions)
        return br_fail(err, BR_ERR_CONFIG,
                       "topic `%s` has no partition %" PRId64 ": it has 0 to %" PRId32, c->topic,
                       c->partition, info.partitions - 1);
    *count = c->partition < 0 ? (size_t)info.partitions : 1;
    *parts = br_calloc(*count, sizeof(**parts));
    for (size_t i = 0; st == BR_OK && i < *count; i++) {
        partition *part = &(*parts)[i];
        part->number = (int32_t)(c->partition < 0 ? (int64_t)i : c->partition);
        st = br_log_offsets(log, c->topic, part->number, &part->low, &part->end, err);
    }
    return st;
}

static int consume_topic(consume *c)
{
    br_log *log;
    br_err err;
    partition *parts = NULL;
    size_t count = 0;
    if (br_connect_log(&log, &c->connect, &err) != BR_OK)
        return br_cli_failed("consume", br_connect_exit_code(&err), &err);
    int code = BR_EXIT_DONE;
    (void)setvbuf(stdout, NULL, _IOFBF, OUTPUT_BYTES);
    if (c->latest) c->values = br_latest_create();
    if (find_partitions(c, log, &parts, &count, &err) != BR_OK)
        code = br_cli_failed("consume", BR_EXIT_NOT_STARTED, &err);
    else if (read_topic(c, log, parts, count, &err) != BR_OK)
        code = br_cli_failed("consume", BR_EXIT_FAILED, &err);
    br_latest_destroy(c->values);
    br_buf_dispose(&c->line);
    br_free(parts);
    br_log_close(log);
    return code;
}

int br_cmd_consume(int argc, char **argv)
{
    consume c = {.partition = -1};
    const br_option options[] = {
        {"topic", "NAME", "which topic", BR_OPTION_TEXT, &c.topic, 0, 0},
        {"partition", "N", "only this partition", BR_OPTION_INT, &c.partition, 0, INT32_MAX},
        {"latest", NULL,
         "only the last value of each key, in the order of the keys;\n"
         "holds all of them in memory",
         BR_OPTION_FLAG, &c.latest, 0, 0},
        {"follow", NULL, "go on with what is appended, until stopped", BR_OPTION_FLAG, &c.follow, 0,
         0},
        {"key", NULL, "key and tab before each value", BR_OPTION_FLAG, &c.key, 0, 0},
        {"json", NULL,
         "a JSON object a record: topic, partition, offset, timestamp,\n"
         "key, value, headers",
         BR_OPTION_FLAG, &c.json, 0, 0},
        BR_CONNECT_OPTIONS(c.connect),
    };
    const br_usage usage = {
        .command = "consume",
        .summary = "Prints the values of a topic, one a line, from the beginning to the end that\n"
                   "it had at the start: partition by partition, each in order.\n",
        .options = options,
        .option_count = BR_COUNTOF(options),
    };
    br_args args;
    br_err err;
    int code;
    if (!br_options_read(&usage, argc, argv, &args, &code)) return code;
    if (c.topic && !(c.latest && c.follow)) return consume_topic(&c);
    if (!c.topic)
        br_fail(&err, BR_ERR_CONFIG, "--topic is missing: which topic shall be read?");
    else
        br_fail(&err, BR_ERR_CONFIG,
                "--latest and --follow are both given: what comes later may still change the last "
                "values, leave one out");
    return br_cli_failed(usage.command, BR_EXIT_USAGE, &err);
}
