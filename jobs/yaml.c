/* jobs/yaml.c - see yaml.h. Recursion is bounded by BR_JOB_FILE_DEPTH_MAX. */
#include "jobs/yaml.h"

#include "runtime/base/alloc.h"
#include "runtime/base/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <yaml.h>

typedef struct reader {
    yaml_parser_t parser;
    yaml_event_t event; /* the one being looked at */
    br_bytes text;
    br_arena *arena;
    br_job_errors *errors;
    size_t nodes;
} reader;

static const char utf8_bom[] = "\xef\xbb\xbf";

const char *br_yaml_kind_name(br_yaml_kind kind)
{
    switch (kind) {
    case BR_YAML_NULL: return "nothing";
    case BR_YAML_TEXT: return "text";
    case BR_YAML_LIST: return "a list";
    case BR_YAML_MAP: return "a mapping";
    case BR_YAML_REFUSED: break;
    }
    return "something refused";
}

static void add_error(reader *in, yaml_mark_t mark, const char *message)
{
    br_job_errors_add(in->errors, (int)mark.line + 1, (int)mark.column + 1, "", message);
}

/* The place of a byte; libyaml gives no mark for errors of encoding. */
static yaml_mark_t mark_of(br_bytes text, size_t offset)
{
    yaml_mark_t mark = {0};
    for (size_t i = 0; i < offset && i < text.len; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (c == '\n') {
            mark.line++;
            mark.column = 0;
        } else if ((c & 0xc0) != 0x80) {
            mark.column++;
        }
    }
    return mark;
}

/* The first byte of the character with this index; libyaml's marks count characters. */
static char byte_at(br_bytes text, size_t index)
{
    size_t at = 0;
    for (; at < text.len; at++)
        if (((unsigned char)text.data[at] & 0xc0) != 0x80 && index-- == 0) return text.data[at];
    return '\0';
}

static void add_parser_error(reader *in)
{
    const yaml_parser_t *parser = &in->parser;
    const char *problem = parser->problem ? parser->problem : "cannot be read";
    char message[512];
    if (parser->error == YAML_READER_ERROR) {
        (void)snprintf(message, sizeof(message), "not YAML text: %s", problem);
        add_error(in, mark_of(in->text, parser->problem_offset), message);
        return;
    }
    (void)snprintf(message, sizeof(message), "not YAML: %s%s%s",
                   parser->context ? parser->context : "", parser->context ? ": " : "", problem);
    char c = byte_at(in->text, parser->problem_mark.index);
    if (strstr(problem, "cannot start any token") && c == '\t')
        (void)snprintf(message, sizeof(message), "not YAML: a tab cannot indent; use spaces");
    else if (strstr(problem, "cannot start any token"))
        (void)snprintf(message, sizeof(message),
                       "not YAML: a text that begins with %c must stand in quotes", c);
    add_error(in, parser->problem_mark, message);
}

static bool next_event(reader *in)
{
    yaml_event_delete(&in->event);
    if (yaml_parser_parse(&in->parser, &in->event)) return true;
    add_parser_error(in);
    return false;
}

static br_yaml *new_node(reader *in, br_yaml_kind kind)
{
    br_yaml *node = br_arena_alloc(in->arena, sizeof(*node));
    *node = (br_yaml){.kind = kind,
                      .line = (int)in->event.start_mark.line + 1,
                      .column = (int)in->event.start_mark.column + 1};
    return node;
}

static const char *copy_text(reader *in, const yaml_event_t *event)
{
    size_t len = event->data.scalar.length;
    char *copy = br_arena_alloc(in->arena, len + 1);
    memcpy(copy, event->data.scalar.value, len);
    copy[len] = '\0';
    return copy;
}

static bool is_null(const yaml_event_t *event)
{
    const char *text = (const char *)event->data.scalar.value;
    return event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
           (text[0] == '\0' || strcmp(text, "~") == 0 || strcmp(text, "null") == 0);
}

static br_yaml *read_scalar(reader *in)
{
    const yaml_event_t *event = &in->event;
    if (memchr(event->data.scalar.value, '\0', event->data.scalar.length)) {
        add_error(in, event->start_mark, "a text with a NUL in it is not allowed");
        return new_node(in, BR_YAML_REFUSED);
    }
    br_yaml *node = new_node(in, is_null(event) ? BR_YAML_NULL : BR_YAML_TEXT);
    if (node->kind == BR_YAML_TEXT) node->text = copy_text(in, event);
    return node;
}

static void refuse_decoration(reader *in, const void *anchor, const void *tag)
{
    if (anchor) add_error(in, in->event.start_mark, "anchors (&) are not allowed: write it out");
    if (tag)
        add_error(in, in->event.start_mark,
                  "tags (!) are not allowed: a value's type follows from its field");
}

static void append(br_yaml *parent, br_yaml *node)
{
    if (parent->last) parent->last->next = node;
    if (!parent->first) parent->first = node;
    parent->last = node;
    parent->count++;
}

static br_yaml *read_node(reader *in, int depth);

/* Reads the items of a list up to its end. false: reading stops. */
static bool read_list(reader *in, br_yaml *list, int depth)
{
    for (;;) {
        if (!next_event(in)) return false;
        if (in->event.type == YAML_SEQUENCE_END_EVENT) return true;
        br_yaml *node = read_node(in, depth);
        if (!node) return false;
        append(list, node);
    }
}

/* Whether the event is a key that may stand; else says why not. */
static bool check_key(reader *in)
{
    const yaml_event_t *event = &in->event;
    if (event->type != YAML_SCALAR_EVENT) {
        add_error(in, event->start_mark, "a key must be a plain name");
        return false;
    }
    refuse_decoration(in, event->data.scalar.anchor, event->data.scalar.tag);
    if (event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
        strcmp((const char *)event->data.scalar.value, "<<") == 0) {
        add_error(in, event->start_mark, "merge keys (<<) are not allowed: write the fields out");
        return false;
    }
    if (memchr(event->data.scalar.value, '\0', event->data.scalar.length)) {
        add_error(in, event->start_mark, "a key with a NUL in it is not allowed");
        return false;
    }
    return true;
}

static bool read_map(reader *in, br_yaml *map, int depth)
{
    for (;;) {
        if (!next_event(in)) return false;
        if (in->event.type == YAML_MAPPING_END_EVENT) return true;
        yaml_mark_t mark = in->event.start_mark;
        bool good = check_key(in);
        const char *key = good ? copy_text(in, &in->event) : NULL;
        if (!good && !read_node(in, depth)) return false;
        if (!next_event(in)) return false;
        br_yaml *node = read_node(in, depth);
        if (!node) return false;
        if (!good) continue;
        node->key = key;
        node->key_line = (int)mark.line + 1;
        node->key_column = (int)mark.column + 1;
        append(map, node);
    }
}

static int compare_keys(const void *a, const void *b)
{
    const br_yaml *x = *(const br_yaml *const *)a, *y = *(const br_yaml *const *)b;
    int order = strcmp(x->key, y->key);
    if (order == 0) order = (x->key_line > y->key_line) - (x->key_line < y->key_line);
    if (order == 0) order = (x->key_column > y->key_column) - (x->key_column < y->key_column);
    return order;
}

/* Sorted, so that a mapping of many keys costs no square of them. */
static void check_duplicates(reader *in, const br_yaml *map)
{
    if (map->count < 2) return;
    const br_yaml **nodes = br_alloc(map->count * sizeof(const br_yaml *));
    size_t count = 0;
    for (const br_yaml *node = map->first; node; node = node->next) nodes[count++] = node;
    qsort(nodes, count, sizeof(const br_yaml *), compare_keys);
    for (size_t i = 1; i < count; i++) {
        char message[256];
        if (strcmp(nodes[i - 1]->key, nodes[i]->key) != 0) continue;
        (void)snprintf(message, sizeof(message), "`%.100s` stands twice: first in line %d",
                       nodes[i]->key, nodes[i - 1]->key_line);
        br_job_errors_add(in->errors, nodes[i]->key_line, nodes[i]->key_column, "", message);
    }
    br_free((void *)(uintptr_t)nodes);
}

/* The node that begins with the event at hand. NULL: reading stops. */
static br_yaml *read_node(reader *in, int depth)
{
    char message[128];
    if (depth > BR_JOB_FILE_DEPTH_MAX || ++in->nodes > BR_JOB_FILE_NODES_MAX) {
        (void)snprintf(message, sizeof(message), "too large: up to %d values, nested up to %d deep",
                       BR_JOB_FILE_NODES_MAX, BR_JOB_FILE_DEPTH_MAX);
        add_error(in, in->event.start_mark, message);
        return NULL;
    }
    const yaml_event_t *event = &in->event;
    br_yaml *node = NULL;
    switch ((int)event->type) {
    case YAML_ALIAS_EVENT:
        add_error(in, event->start_mark, "aliases (*) are not allowed: write it out");
        return new_node(in, BR_YAML_REFUSED);
    case YAML_SCALAR_EVENT:
        refuse_decoration(in, event->data.scalar.anchor, event->data.scalar.tag);
        return read_scalar(in);
    case YAML_SEQUENCE_START_EVENT:
        refuse_decoration(in, event->data.sequence_start.anchor, event->data.sequence_start.tag);
        node = new_node(in, BR_YAML_LIST);
        return read_list(in, node, depth + 1) ? node : NULL;
    default: break;
    }
    BR_ASSERT(event->type == YAML_MAPPING_START_EVENT);
    refuse_decoration(in, event->data.mapping_start.anchor, event->data.mapping_start.tag);
    node = new_node(in, BR_YAML_MAP);
    if (!read_map(in, node, depth + 1)) return NULL;
    check_duplicates(in, node);
    return node;
}

static br_yaml *read_document(reader *in)
{
    if (!next_event(in)) return NULL; /* the stream's start */
    if (!next_event(in)) return NULL; /* the document's */
    if (in->event.type == YAML_STREAM_END_EVENT) {
        br_job_errors_add(in->errors, 0, 0, "",
                          "the file is empty: a job file has `name` and `operators`");
        return NULL;
    }
    if (!next_event(in)) return NULL;
    br_yaml *root = read_node(in, 0);
    if (!root || !next_event(in) || !next_event(in)) return NULL;
    if (in->event.type == YAML_STREAM_END_EVENT) return root;
    add_error(in, in->event.start_mark, "a second document begins here: one file holds one job");
    return NULL;
}

const br_yaml *br_yaml_parse(br_bytes text, br_arena *arena, br_job_errors *errors)
{
    if (text.len > BR_JOB_FILE_BYTES_MAX) {
        br_job_errors_add(errors, 0, 0, "", "the file is too large: up to 1 MiB is allowed");
        return NULL;
    }
    /* The mark would count as a column. */
    if (text.len >= 3 && memcmp(text.data, utf8_bom, 3) == 0)
        text = br_bytes_of(text.data + 3, text.len - 3);
    reader in = {.text = text, .arena = arena, .errors = errors};
    if (!yaml_parser_initialize(&in.parser)) {
        br_job_errors_add(errors, 0, 0, "", "out of memory");
        return NULL;
    }
    yaml_parser_set_encoding(&in.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&in.parser, (const unsigned char *)(text.data ? text.data : ""),
                                 text.len);
    br_yaml *root = read_document(&in);
    yaml_event_delete(&in.event);
    yaml_parser_delete(&in.parser);
    if (root && root->kind == BR_YAML_NULL) {
        br_job_errors_add(errors, 0, 0, "",
                          "the file is empty: a job file has `name` and `operators`");
        return NULL;
    }
    return root;
}
