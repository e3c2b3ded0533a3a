/* runtime/cli/produce.c - brine produce: lines from standard input become records of a topic.
 * Shape:     line -> (row -> key expression -> salt) -> producer, flushed at the end
 * The key is computed by operators/ as a job's `map: key:` would. */
#include "operators/source.h"
#include "operators/expr.h"
#include "runtime/base/alloc.h"
#include "runtime/base/json_out.h"
#include "runtime/base/rng.h"
#include "runtime/base/units.h"
#include "runtime/cli/cli.h"
#include "runtime/cli/connect.h"
#include "runtime/cli/lines.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

enum { LINE_BYTES_MAX = 64 * 1024 * 1024, PROGRESS_EVERY = 8192, PROGRESS_MS = 250 };

typedef struct produce {
    br_connect connect;
    const char *topic, *key, *format, *timestamp;
    int64_t partitions, salt, seed;
    bool json;
} produce;

/* What makes keys and timestamps of lines; not used where neither is asked for. */
typedef struct keyer {
    br_layout *layout;
    br_expr *key;      /* [optional] */
    br_source *source; /* NULL: lines are not looked at */
    br_batch *batch;
    bool timed;    /* the record's timestamp is a field */
    uint64_t salt; /* 0: none */
    br_rng rng;
    br_buf text; /* the key of the line in hand */
} keyer;

typedef struct counts {
    uint64_t records, null_keys, blank_lines;
    int64_t started_ms, shown_ms;
    bool terminal;
} counts;

/* ---- keys ---- */

static br_status find_time_slot(const produce *p, br_scope *scope, int *slot, br_err *err)
{
    br_path path = {0}, rest = {0};
    uint32_t at = 0;
    *slot = -1;
    if (!p->timestamp) return BR_OK;
    br_status st = br_path_parse(&path, br_str(p->timestamp), err);
    if (st == BR_OK) st = br_scope_resolve(scope, &path, &at, &rest, err);
    br_path_dispose(&path);
    br_path_dispose(&rest);
    *slot = (int)at;
    return st == BR_OK ? BR_OK : br_wrap(err, "--timestamp");
}

static br_status open_keyer(keyer *k, const produce *p, br_err *err)
{
    br_source_format format = BR_SOURCE_JSON;
    int time_slot;
    if (strcmp(p->format, "text") == 0)
        format = BR_SOURCE_TEXT;
    else if (strcmp(p->format, "json") != 0)
        return br_fail(err, BR_ERR_CONFIG,
                       "option `--format`: `%s` is not known: json and text are", p->format);
    if (p->salt > 0 && !p->key)
        return br_fail(err, BR_ERR_CONFIG, "--salt needs --key: there is no key to salt");
    k->salt = (uint64_t)p->salt;
    k->rng.state = (uint64_t)p->seed;
    if (!p->key && !p->timestamp) return BR_OK;
    k->layout = br_layout_create();
    br_scope *scope = br_scope_of_record(k->layout);
    if (p->key && br_expr_compile(&k->key, br_str(p->key), scope, err) != BR_OK)
        return br_wrap(err, "--key");
    if (find_time_slot(p, scope, &time_slot, err) != BR_OK) return err->status;
    k->timed = p->timestamp != NULL;
    k->batch = br_batch_create();
    k->source = br_source_create(&(br_source_conf){
        .id = "stdin", .format = format, .layout = k->layout, .timestamp_slot = time_slot});
    return BR_OK;
}

static void close_keyer(keyer *k)
{
    br_source_destroy(k->source);
    br_batch_destroy(k->batch);
    br_expr_destroy(k->key);
    br_layout_destroy(k->layout);
    br_buf_dispose(&k->text);
}

/* The key of a row into k->text; BR_NO_BYTES where it is null. */
static br_status make_key(keyer *k, const br_row *row, br_bytes *out, br_err *err)
{
    br_value value;
    *out = BR_NO_BYTES;
    if (!k->key) return BR_OK;
    br_status st = br_expr_eval(k->key, row, k->batch->arena, &value, err);
    if (st != BR_OK) return st;
    if (br_value_is_null(&value)) return BR_OK;
    br_buf_reset(&k->text);
    br_value_to_text(&value, &k->text);
    if (k->salt > 0) br_buf_printf(&k->text, "_%" PRIu64, br_rng_below(&k->rng, k->salt));
    *out = br_buf_bytes(&k->text);
    return BR_OK;
}

/* Fills key and timestamp of a record from its value. */
static br_status look_at(keyer *k, br_out_record *record, uint64_t line, br_err *err)
{
    br_row bad;
    br_batch_reset(k->batch);
    br_record in = {
        .topic = "stdin", .offset = (int64_t)line, .timestamp_ms = -1, .value = record->value};
    br_status st = br_source_add(k->source, k->batch, &in, &bad, err);
    if (st != BR_OK) return st;
    const br_row *row = &k->batch->rows[0];
    if (k->timed && row->time_ms < 0)
        return br_fail(err, BR_ERR_BAD_RECORD,
                       "the field of --timestamp is not there, or is no time in milliseconds since "
                       "1970");
    if (k->timed) record->timestamp_ms = row->time_ms;
    return make_key(k, row, &record->key, err);
}

/* ---- lines ---- */

static void show_progress(counts *c)
{
    char records[32], rate[32];
    int64_t now = br_mono_ms(&br_system_clock), took = now - c->started_ms;
    if (!c->terminal || now - c->shown_ms < PROGRESS_MS) return;
    c->shown_ms = now;
    fprintf(stderr, "\r\x1b[K%s records, %s a second", br_format_count(records, c->records),
            br_format_count(rate, took > 0 ? c->records * 1000 / (uint64_t)took : 0));
}

static br_status send_line(br_producer *producer, br_topic_ref *topic, keyer *k, br_bytes line,
                           uint64_t number, counts *c, br_err *err)
{
    /* A time of its own: without one it might wait for the flush, and input may pause. */
    br_out_record record = {
        .partition = -1, .value = line, .timestamp_ms = br_wall_ms(&br_system_clock)};
    if (k->source && look_at(k, &record, number, err) != BR_OK)
        return br_wrap(err, "line %" PRIu64, number);
    br_status st = br_producer_send(producer, topic, &record, err);
    if (st != BR_OK) return st;
    c->records++;
    c->null_keys += k->key && !record.key.data;
    if (c->records % PROGRESS_EVERY == 0) show_progress(c);
    return BR_OK;
}

/* What was sent before a bad line is stored all the same. */
static br_status send_lines(br_producer *producer, br_topic_ref *topic, keyer *k, counts *c,
                            br_err *err)
{
    br_lines lines = {.fd = STDIN_FILENO, .len_max = LINE_BYTES_MAX};
    br_bytes line;
    br_status st;
    while ((st = br_lines_next(&lines, &line, err)) == BR_OK) {
        if (line.len == 0)
            c->blank_lines++;
        else if ((st = send_line(producer, topic, k, line, lines.number, c, err)) != BR_OK)
            break;
    }
    br_lines_dispose(&lines);
    br_err flush_err;
    if (br_producer_flush(producer, &flush_err) == BR_OK) return st == BR_END ? BR_OK : st;
    if (st == BR_END) *err = flush_err;
    return err->status;
}

/* ---- the topic ---- */

static br_status find_topic(const produce *p, br_log *log, br_producer *producer,
                            br_topic_ref **topic, br_err *err)
{
    br_status st = br_producer_topic(producer, p->topic, topic, err);
    if (st == BR_NOT_FOUND) {
        br_topic_spec spec = {.name = p->topic,
                              .partitions = p->partitions > 0 ? (int32_t)p->partitions : 1};
        st = br_log_create_topic(log, &spec, err);
        if (st == BR_OK) st = br_producer_topic(producer, p->topic, topic, err);
    }
    if (st == BR_NOT_FOUND)
        return br_fail(err, BR_ERR_BROKER, "topic `%s` was created but is not there", p->topic);
    if (st != BR_OK) return st;
    int32_t found = br_topic_ref_partitions(*topic);
    if (p->partitions > 0 && found != p->partitions)
        return br_fail(err, BR_ERR_CONFIG,
                       "topic `%s` has %" PRId32 " partitions, --partitions says %" PRId64
                       ": leave it out, or choose another topic",
                       p->topic, found, p->partitions);
    return BR_OK;
}

static void print_summary(const produce *p, const counts *c, int32_t partitions)
{
    char records[32], took[32];
    int64_t ms = br_mono_ms(&br_system_clock) - c->started_ms;
    if (!p->json) {
        printf("%s records to %s (%" PRId32 " partition%s) in %s",
               br_format_count(records, c->records), p->topic, partitions,
               partitions == 1 ? "" : "s", br_format_duration(took, ms));
        if (c->null_keys > 0) printf(", %s without a key", br_format_count(records, c->null_keys));
        if (c->blank_lines > 0)
            printf(", %s blank lines left out", br_format_count(records, c->blank_lines));
        (void)putchar('\n');
        return;
    }
    br_buf text = {0};
    br_json_out out = br_json_begin(&text);
    br_json_open(&out, '{');
    br_json_put_text(&out, "topic", p->topic);
    br_json_put_int(&out, "partitions", partitions);
    br_json_put_int(&out, "records", (int64_t)c->records);
    br_json_put_int(&out, "null_keys", (int64_t)c->null_keys);
    br_json_put_int(&out, "blank_lines", (int64_t)c->blank_lines);
    br_json_put_int(&out, "milliseconds", ms);
    br_json_close(&out, '}');
    (void)puts(br_buf_cstr(&text));
    br_buf_dispose(&text);
}

static int produce_lines(const produce *p, br_log *log, keyer *k)
{
    br_producer *producer = NULL;
    br_topic_ref *topic;
    br_err err;
    br_status st = br_producer_open(&producer, log, &err);
    if (st == BR_OK) st = find_topic(p, log, producer, &topic, &err);
    if (st != BR_OK) {
        br_producer_close(producer);
        return br_cli_failed("produce", BR_EXIT_NOT_STARTED, &err);
    }
    counts c = {.terminal = isatty(STDERR_FILENO) == 1 && isatty(STDIN_FILENO) == 0,
                .started_ms = br_mono_ms(&br_system_clock)};
    st = send_lines(producer, topic, k, &c, &err);
    if (c.shown_ms > 0) fputs("\r\x1b[K", stderr);
    if (st == BR_OK) print_summary(p, &c, br_topic_ref_partitions(topic));
    br_producer_close(producer);
    return st == BR_OK ? BR_EXIT_DONE : br_cli_failed("produce", BR_EXIT_FAILED, &err);
}

static int open_and_produce(const produce *p)
{
    keyer k = {0};
    br_log *log;
    br_err err;
    int code;
    if (!p->topic) {
        br_fail(&err, BR_ERR_CONFIG, "--topic is missing: which topic shall the lines go to?");
        return br_cli_failed("produce", BR_EXIT_USAGE, &err);
    }
    if (open_keyer(&k, p, &err) != BR_OK)
        code = br_cli_failed("produce", BR_EXIT_USAGE, &err);
    else if (br_connect_log(&log, &p->connect, &err) != BR_OK)
        code = br_cli_failed("produce", br_connect_exit_code(&err), &err);
    else {
        code = produce_lines(p, log, &k);
        br_log_close(log);
    }
    close_keyer(&k);
    return code;
}

int br_cmd_produce(int argc, char **argv)
{
    produce p = {.format = "json", .seed = 1};
    const br_option options[] = {
        {"topic", "NAME", "where the records go; made where it is missing", BR_OPTION_TEXT,
         &p.topic, 0, 0},
        {"key", "EXPR",
         "the key, as in a job file: ad_id, or 'concat(ad_id, \":\", region)';\n"
         "none: no key, records are spread over the partitions",
         BR_OPTION_TEXT, &p.key, 0, 0},
        {"salt", "N", "append _0 to _N-1 to the key, at random but by --seed", BR_OPTION_INT,
         &p.salt, 1, INT32_MAX},
        {"seed", "S", "of the salt (default 1)", BR_OPTION_INT, &p.seed, 0, INT64_MAX},
        {"timestamp", "FIELD", "the record's timestamp, ms since 1970; none: now", BR_OPTION_TEXT,
         &p.timestamp, 0, 0},
        {"partitions", "N", "of a topic that is made (default 1, as in Kafka)", BR_OPTION_INT,
         &p.partitions, 1, BR_PARTITIONS_MAX},
        {"format", "FORMAT", "json (default), or text: the line is the field `value`",
         BR_OPTION_TEXT, &p.format, 0, 0},
        BR_CONNECT_OPTIONS(p.connect),
        {"json", NULL, "print the summary as a JSON object", BR_OPTION_FLAG, &p.json, 0, 0},
    };
    const br_usage usage = {
        .command = "produce",
        .summary =
            "Appends each line of standard input to a topic, as it is; blank lines are left\n"
            "out. A line is decoded only where --key or --timestamp needs it: one that\n"
            "cannot be ends the command with its number, what came before it is stored.\n",
        .options = options,
        .option_count = BR_COUNTOF(options),
    };
    br_args args;
    int code;
    if (!br_options_read(&usage, argc, argv, &args, &code)) return code;
    return open_and_produce(&p);
}
