/* operators/source.c - see source.h. */
#include "operators/source.h"

#include "operators/csv.h"
#include "operators/json.h"
#include "runtime/base/alloc.h"
#include "runtime/base/json_out.h"

#include <inttypes.h>

/* Blocks of a batch's arena: a common batch (1,024 small records) fits a few. */
enum { ARENA_BLOCK_BYTES = 256 * 1024 };

/* A group key holds each of its fields once, with two bytes for a NUL: no smaller record can give
 * one that is too long, unless an expression puts text together (conf.headers is set then). */
enum { LARGE_RECORD_BYTES = BR_GROUP_KEY_BYTES_MAX / (2 * BR_GROUP_FIELDS_MAX) - 3 };

/* A field that is no column and no `value`; and one that is the whole record. */
enum { NO_CELL = -1, WHOLE = -2 };

struct br_source {
    br_source_conf conf;
    size_t slot_count;
    const uint32_t *slots; /* borrows the layout: where field i goes */
    size_t field_count;
    br_json_reader *json; /* JSON only */
    br_value *fields;     /* JSON: what was read, before it goes to its slots */
    br_value *cells;      /* text and CSV: one per name */
    size_t cell_count;
    int *cell_of; /* text and CSV: field i's cell */
    br_buf whole;
};

static const char *const text_names[] = {"value"};

static const char *const *cell_names(const br_source *source)
{
    return source->conf.format == BR_SOURCE_TEXT ? text_names : source->conf.columns;
}

static int find_cell(const br_source *source, const br_path *path)
{
    if (path->count == 0) return WHOLE;
    for (size_t i = 0; path->count == 1 && i < source->cell_count; i++)
        if (strcmp(cell_names(source)[i], path->steps[0].name) == 0) return (int)i;
    return NO_CELL;
}

br_source *br_source_create(const br_source_conf *conf)
{
    br_source *source = BR_NEW(br_source);
    const br_path *paths;
    const char *const *names;
    source->conf = *conf;
    source->slot_count = br_layout_slots(conf->layout);
    source->field_count = br_layout_fields(conf->layout, &paths, &names, &source->slots);
    if (conf->format == BR_SOURCE_JSON) {
        source->json = br_json_reader_create(paths, source->field_count);
        source->fields = br_calloc(source->field_count, sizeof(*source->fields));
    } else if (conf->format != BR_SOURCE_NONE) {
        source->cell_count = conf->format == BR_SOURCE_TEXT ? 1 : conf->column_count;
        source->cells = br_calloc(source->cell_count, sizeof(*source->cells));
        source->cell_of = br_calloc(source->field_count, sizeof(*source->cell_of));
        for (size_t i = 0; i < source->field_count; i++)
            source->cell_of[i] = find_cell(source, &paths[i]);
    }
    return source;
}

void br_source_destroy(br_source *source)
{
    if (!source) return;
    br_json_reader_destroy(source->json);
    br_free(source->fields);
    br_free(source->cells);
    br_free(source->cell_of);
    br_buf_dispose(&source->whole);
    br_free(source);
}

br_batch *br_batch_create(void)
{
    br_batch *batch = BR_NEW(br_batch);
    batch->arena = br_arena_create(ARENA_BLOCK_BYTES);
    batch->rows = br_calloc(BR_BATCH_ROWS_MAX, sizeof(*batch->rows));
    batch->at = br_calloc(BR_BATCH_ROWS_MAX, sizeof(*batch->at));
    for (size_t i = 0; i < BR_BATCH_ROWS_MAX; i++) batch->at[i] = &batch->rows[i];
    return batch;
}

void br_batch_destroy(br_batch *batch)
{
    if (!batch) return;
    br_arena_destroy(batch->arena);
    br_free(batch->rows);
    br_free(batch->at);
    br_free(batch);
}

void br_batch_reset(br_batch *batch)
{
    br_arena_reset(batch->arena);
    batch->count = batch->bytes = 0;
    batch->topic = NULL;
}

/* ---- copies ---- */

static br_bytes copy_bytes(br_batch *batch, br_bytes bytes)
{
    batch->bytes += bytes.len;
    return br_arena_copy(batch->arena, bytes, 0);
}

static void copy_headers(br_batch *batch, const br_record *record, br_row *row)
{
    br_headers from = br_record_headers(record);
    if (from.count == 0) return;
    size_t bytes = from.count * sizeof(br_header);
    br_header *headers = br_arena_alloc(batch->arena, bytes);
    batch->bytes += bytes;
    for (size_t i = 0; i < from.count; i++) {
        headers[i].name = copy_bytes(batch, from.at[i].name);
        headers[i].value = copy_bytes(batch, from.at[i].value);
    }
    row->headers = headers;
    row->header_count = from.count;
}

/* To at, where there is room; returns what is behind. */
static char *place_bytes(char *at, br_bytes from, br_bytes *to)
{
    if (!from.data) {
        *to = BR_NO_BYTES;
        return at;
    }
    *to = br_bytes_of(at, from.len);
    if (from.len > 0) memcpy(at, from.data, from.len);
    return at + from.len;
}

/* All but headers, in one piece: slots (BR_MISSING), value, key, and behind both the padding. */
static void copy_record(const br_source *source, br_batch *batch, const br_record *record,
                        br_row *row)
{
    size_t bytes = source->slot_count * sizeof(br_value) + record->value.len + record->key.len +
                   BR_JSON_PADDING;
    row->slots = br_arena_alloc(batch->arena, bytes);
    batch->bytes += bytes;
    for (size_t i = 0; i < source->slot_count; i++) row->slots[i].kind = BR_MISSING;
    char *rest = place_bytes((char *)(row->slots + source->slot_count), record->value, &row->value);
    place_bytes(rest, record->key, &row->key);
    if (!batch->topic)
        batch->topic =
            copy_bytes(batch, br_bytes_of(record->topic, strlen(record->topic) + 1)).data;
    row->topic = batch->topic;
    row->partition = record->partition;
    row->offset = record->offset;
    row->timestamp_ms = record->timestamp_ms;
    row->time_ms = record->timestamp_ms < 0 ? BR_NO_TIME : record->timestamp_ms;
    row->headers = NULL;
    row->header_count = 0;
}

/* A large record may also have a group key that is too long, which only its groupBy finds. */
static bool needs_headers(const br_source *source, const br_record *record)
{
    return source->conf.headers || record->value.len + record->key.len > LARGE_RECORD_BYTES;
}

/* ---- decoding ---- */

static br_status decode_json(br_source *source, br_arena *arena, br_row *row, br_err *err)
{
    br_status st = br_json_read(source->json, row->value, arena, source->fields, err);
    if (st != BR_OK) return st;
    for (size_t i = 0; i < source->field_count; i++)
        row->slots[source->slots[i]] = source->fields[i];
    return BR_OK;
}

/* The cells as one object, for sinks that write the whole record. */
static br_value whole_record(br_source *source, br_arena *arena)
{
    br_buf_reset(&source->whole);
    br_json_out out = br_json_begin(&source->whole);
    br_json_open(&out, '{');
    for (size_t i = 0; i < source->cell_count; i++) {
        br_json_name(&out, br_str(cell_names(source)[i]));
        br_value_to_json(&source->cells[i], &source->whole);
        out.comma = true;
    }
    br_json_close(&out, '}');
    br_bytes json = br_arena_copy(arena, br_buf_bytes(&source->whole), 0);
    return (br_value){.kind = BR_JSON, .s = json};
}

static br_status decode_cells(br_source *source, br_arena *arena, br_row *row, br_err *err)
{
    if (source->conf.format == BR_SOURCE_TEXT) {
        source->cells[0] = br_value_text(row->value);
    } else {
        br_status st = br_csv_read(row->value, arena, source->cells, source->cell_count, err);
        if (st != BR_OK) return st;
    }
    for (size_t i = 0; i < source->field_count; i++) {
        int cell = source->cell_of[i];
        br_value *slot = &row->slots[source->slots[i]];
        if (cell == WHOLE)
            *slot = whole_record(source, arena);
        else if (cell != NO_CELL)
            *slot = source->cells[cell];
    }
    return BR_OK;
}

static br_status decode(br_source *source, br_arena *arena, br_row *row, br_err *err)
{
    switch (source->conf.format) {
    case BR_SOURCE_JSON: return decode_json(source, arena, row, err);
    case BR_SOURCE_TEXT:
    case BR_SOURCE_CSV: return decode_cells(source, arena, row, err);
    case BR_SOURCE_NONE: break;
    }
    return BR_OK;
}

/* Replaces the record's own time by the field's. */
static br_status read_time(const br_source *source, br_row *row, br_err *err)
{
    if (source->conf.timestamp_slot < 0) return BR_OK;
    const br_value *v = &row->slots[source->conf.timestamp_slot];
    int64_t ms;
    if (v->kind == BR_INT)
        ms = v->i;
    else if (br_value_is_null(v))
        return br_fail(err, BR_ERR_BAD_RECORD, "no timestamp: the field is missing or null");
    else if (v->kind != BR_FLOAT || !br_float_as_int(v->f, &ms))
        return br_fail(err, BR_ERR_BAD_RECORD,
                       "timestamp: found %s; whole milliseconds since 1970 as a number are needed",
                       v->kind == BR_FLOAT ? "a float that is not a whole number within 64 bits"
                       : v->kind == BR_BIG ? "an integer beyond 64 bits"
                                           : br_kind_name(v->kind));
    if (ms == BR_NO_TIME)
        return br_fail(err, BR_ERR_BAD_RECORD, "timestamp: %" PRId64 " is out of range", ms);
    row->time_ms = ms;
    return BR_OK;
}

br_status br_source_add(br_source *source, br_batch *batch, const br_record *record, br_row *bad,
                        br_err *err)
{
    BR_ASSERT(!br_batch_full(batch));
    if (!record->value.data && source->conf.format != BR_SOURCE_NONE) return BR_EMPTY;
    br_row *row = &batch->rows[batch->count];
    copy_record(source, batch, record, row);
    if (needs_headers(source, record)) copy_headers(batch, record, row);
    br_status st = decode(source, batch->arena, row, err);
    if (st == BR_OK) st = read_time(source, row, err);
    if (st == BR_OK) {
        batch->count++;
        return BR_OK;
    }
    if (!row->headers) copy_headers(batch, record, row); /* the dead letter has them */
    *bad = *row;
    bad->slots = NULL;
    return st;
}
