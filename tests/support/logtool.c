/* tests/support/logtool.c - topics byte for byte, for flow tests: what the brine command rightly
 * does not offer (null and empty keys and values, any bytes, chosen partitions and timestamps).
 * Usage: logtool kafka BROKERS|local DIR COMMAND…
 *   create TOPIC PARTITIONS [SETTING=VALUE…]
 *   info TOPIC                 partitions, cleanup policy, retention
 *   put TOPIC                  lines `PARTITION TIMESTAMP KEY VALUE` from standard input
 *   dump TOPIC                 lines `PARTITION OFFSET TIMESTAMP KEY VALUE [HEADER=VALUE…]`
 *   offsets TOPIC              lines `PARTITION LOW END`
 *   committed GROUP TOPIC      lines `PARTITION OFFSET`; -1 where there is none
 * Bytes are written `null` or `x` and hexadecimal digits. PARTITION -1: by the key. */
#include "runtime/base/alloc.h"
#include "runtime/log/log.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { POLL_MS = 100, POLL_RECORDS = 1000 };

static void check(br_status st, const br_err *err)
{
    if (st >= BR_OK) return;
    fprintf(stderr, "logtool: %s: %s\n", br_status_name(st), err->message);
    exit(1);
}

static void usage(const char *why)
{
    fprintf(stderr, "logtool: %s; see the head of logtool.c\n", why);
    exit(2);
}

static br_log *open_log(const char *kind, const char *where)
{
    br_log *log = NULL;
    br_err err = {0};
    if (strcmp(kind, "kafka") == 0)
        check(br_log_open_kafka(&log, where, NULL, 0, &err), &err);
    else if (strcmp(kind, "local") == 0)
        check(br_log_open_local(&log, where, false, &err), &err);
    else
        usage("the log is kafka or local");
    return log;
}

static br_topic_info topic_info(br_log *log, const char *topic)
{
    br_topic_info info = {0};
    br_err err = {0};
    br_status st = br_log_topic(log, topic, &info, &err);
    check(st, &err);
    if (st == BR_NOT_FOUND) {
        fprintf(stderr, "logtool: no topic %s\n", topic);
        exit(1);
    }
    return info;
}

/* ---- create, info, offsets ---- */

static void create(br_log *log, int argc, char **argv)
{
    if (argc < 2) usage("create TOPIC PARTITIONS [SETTING=VALUE…]");
    br_setting *settings = br_calloc((size_t)argc, sizeof(*settings));
    size_t count = 0;
    for (int i = 2; i < argc; i++) {
        char *equals = strchr(argv[i], '=');
        if (!equals) usage("a setting is NAME=VALUE");
        *equals = '\0';
        settings[count++] = (br_setting){argv[i], equals + 1};
    }
    br_topic_spec spec = {argv[0], (int32_t)strtol(argv[1], NULL, 10), 0, settings, count};
    br_err err = {0};
    check(br_log_create_topic(log, &spec, &err), &err);
    br_free(settings);
}

static void info(br_log *log, int argc, char **argv)
{
    if (argc != 1) usage("info TOPIC");
    br_topic_info found = topic_info(log, argv[0]);
    printf("partitions=%" PRId32 " cleanup.policy=%s retention.ms=%" PRId64 "\n", found.partitions,
           found.cleanup_policy, found.retention_ms);
}

static void offsets(br_log *log, int argc, char **argv)
{
    if (argc != 1) usage("offsets TOPIC");
    int32_t partitions = topic_info(log, argv[0]).partitions;
    for (int32_t p = 0; p < partitions; p++) {
        int64_t low, end;
        br_err err = {0};
        check(br_log_offsets(log, argv[0], p, &low, &end, &err), &err);
        printf("%" PRId32 " %" PRId64 " %" PRId64 "\n", p, low, end);
    }
}

/* ---- dump ---- */

static void print_bytes(br_bytes bytes)
{
    if (!bytes.data) {
        fputs("null", stdout);
        return;
    }
    putchar('x');
    for (size_t i = 0; i < bytes.len; i++) printf("%02x", (unsigned char)bytes.data[i]);
}

static br_status print_record(void *arg, void *user, const br_record *record, br_err *err)
{
    (void)arg;
    (void)user;
    (void)err;
    printf("%" PRId32 " %" PRId64 " %" PRId64 " ", record->partition, record->offset,
           record->timestamp_ms);
    print_bytes(record->key);
    putchar(' ');
    print_bytes(record->value);
    br_headers headers = br_record_headers(record);
    for (size_t i = 0; i < headers.count; i++) {
        const br_header *header = &headers.at[i];
        printf(" %.*s=", (int)header->name.len, header->name.data);
        print_bytes(header->value);
    }
    putchar('\n');
    return BR_OK;
}

static void dump_partition(br_log *log, br_tp at)
{
    br_reader *reader = NULL;
    br_err err = {0};
    int64_t low, end;
    check(br_log_offsets(log, at.topic, at.partition, &low, &end, &err), &err);
    if (low == end) return;
    check(br_reader_open(&reader, log, at, -1, &err), &err);
    while (br_reader_position(reader) < end)
        check(br_reader_poll(reader, POLL_MS, POLL_RECORDS, print_record, NULL, &err), &err);
    br_reader_close(reader);
}

static void dump(br_log *log, int argc, char **argv)
{
    if (argc != 1) usage("dump TOPIC");
    int32_t partitions = topic_info(log, argv[0]).partitions;
    for (int32_t p = 0; p < partitions; p++) dump_partition(log, (br_tp){argv[0], p});
}

/* ---- put ---- */

static unsigned hex_digit(char c)
{
    const char *digits = "0123456789abcdef", *at = c ? strchr(digits, c) : NULL;
    if (!at) usage("bytes are `null` or x and lower-case hexadecimal digits");
    return (unsigned)(at - digits);
}

/* Decodes in place; borrows text. */
static br_bytes parse_bytes(char *text)
{
    if (strcmp(text, "null") == 0) return BR_NO_BYTES;
    if (text[0] != 'x' || strlen(text) % 2 == 0) usage("bytes are `null` or x and pairs of digits");
    size_t len = strlen(text + 1) / 2;
    for (size_t i = 0; i < len; i++)
        text[i] = (char)(hex_digit(text[1 + 2 * i]) << 4 | hex_digit(text[2 + 2 * i]));
    return br_bytes_of(text, len);
}

static void put_line(br_producer *producer, br_topic_ref *topic, char *line)
{
    char *save = NULL;
    char *word[4];
    for (int i = 0; i < 4; i++) {
        word[i] = strtok_r(i == 0 ? line : NULL, " \n", &save);
        if (!word[i]) usage("a line is PARTITION TIMESTAMP KEY VALUE");
    }
    br_out_record record = {.partition = (int32_t)strtol(word[0], NULL, 10),
                            .timestamp_ms = strtoll(word[1], NULL, 10),
                            .key = parse_bytes(word[2]),
                            .value = parse_bytes(word[3])};
    br_err err = {0};
    check(br_producer_send(producer, topic, &record, &err), &err);
}

static void put(br_log *log, int argc, char **argv)
{
    if (argc != 1) usage("put TOPIC");
    br_producer *producer = NULL;
    br_topic_ref *topic = NULL;
    br_err err = {0};
    (void)topic_info(log, argv[0]);
    check(br_producer_open(&producer, log, &err), &err);
    check(br_producer_topic(producer, argv[0], &topic, &err), &err);
    char *line = NULL; /* getline's own memory: libc's, not br_alloc's */
    size_t cap = 0;
    while (getline(&line, &cap, stdin) > 0) put_line(producer, topic, line);
    free(line);
    check(br_producer_flush(producer, &err), &err);
    br_producer_close(producer);
}

/* ---- committed ---- */

static void ignore(void *self, const br_tp *at, size_t count)
{
    (void)self;
    (void)at;
    (void)count;
}

static void ignore_end(void *self, void *user, int64_t position)
{
    (void)self;
    (void)user;
    (void)position;
}

static void committed(br_log *log, int argc, char **argv)
{
    if (argc != 2) usage("committed GROUP TOPIC");
    const char *topics[] = {argv[1]};
    br_consumer_opts opts = {.group = argv[0],
                             .topics = topics,
                             .topic_count = 1,
                             .listener = {NULL, ignore, ignore, ignore, ignore_end}};
    br_consumer *consumer = NULL;
    br_err err = {0};
    int32_t partitions = topic_info(log, argv[1]).partitions;
    check(br_consumer_open(&consumer, log, &opts, &err), &err);
    for (int32_t p = 0; p < partitions; p++) {
        br_tp at = {argv[1], p};
        int64_t offset = -1;
        check(br_consumer_committed(consumer, &at, &offset, 1, &err), &err);
        printf("%" PRId32 " %" PRId64 "\n", p, offset);
    }
    br_consumer_close(consumer);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(br_log *log, int argc, char **argv);
    } commands[] = {{"create", create}, {"info", info},       {"put", put},
                    {"dump", dump},     {"offsets", offsets}, {"committed", committed}};
    if (argc < 4) usage("too few arguments");
    br_log *log = open_log(argv[1], argv[2]);
    for (size_t i = 0; i < BR_COUNTOF(commands); i++) {
        if (strcmp(argv[3], commands[i].name) != 0) continue;
        commands[i].run(log, argc - 4, argv + 4);
        br_log_close(log);
        return 0;
    }
    usage("unknown command");
}
