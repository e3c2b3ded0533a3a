/* operators/map.c - see map.h.
 * Shape:     rows that go on gather in `pending`, which is pushed at the end of the batch, or
 *            behind an exploded row that has made it long.
 * Memory:    what a map makes lives in an arena of its own, which dies with each push, as nobody
 * but its children sees it. So exploded rows, which may be many times as large as their records,
 * and the results of a flush take no more than one push at a time. */
#include "operators/map.h"

#include "operators/json.h"
#include "runtime/base/alloc.h"
#include "runtime/base/limits.h"

enum { ARENA_BLOCK_BYTES = 16 * 1024 };

typedef struct map {
    br_op op;
    const br_map_conf *conf;
    br_arena *arena; /* of what this map makes for its pending rows */
    br_row **pending;
    size_t count, cap;
    br_buf text; /* a key that is a number, before it goes to the arena */
} map;

/* How many pending rows from `at` on go at once. A record's rows stay together where they can: an
 * operator below that stops at a record should not have been given a part of it. */
static size_t chunk_len(const map *m, size_t at)
{
    size_t left = m->count - at;
    if (left <= BR_BATCH_ROWS_MAX) return left;
    br_row *const *rows = m->pending + at;
    size_t n = BR_BATCH_ROWS_MAX;
    while (n > 0 && rows[n - 1]->offset == rows[n]->offset) n--;
    return n > 0 ? n : BR_BATCH_ROWS_MAX;
}

static void forget_pending(map *m)
{
    m->count = 0;
    br_arena_reset(m->arena);
}

static br_status push(map *m, br_err *err)
{
    br_status result = BR_OK;
    for (size_t at = 0, n; at < m->count; at += n) {
        n = chunk_len(m, at);
        br_status st = br_op_forward(&m->op, m->pending + at, n, err);
        if (st < 0) result = st;
        if (st < 0 && st != BR_ERR_BAD_RECORD) break;
    }
    forget_pending(m);
    return result;
}

static void add_pending(map *m, br_row *row)
{
    m->pending = br_grow(m->pending, &m->cap, m->count + 1, sizeof(br_row *));
    m->pending[m->count++] = row;
}

/* Evaluates, naming the setting and its expression where it fails. */
static br_status eval(const map *m, const char *setting, const br_expr *expr, const br_row *row,
                      br_value *out, br_err *why)
{
    br_status st = br_expr_eval(expr, row, m->arena, out, why);
    return st < 0 ? br_wrap(why, "%s `%s`", setting, br_expr_text(expr)) : BR_OK;
}

static br_status fail_kind(const char *setting, const br_expr *expr, const br_value *found,
                           const char *allowed, br_err *why)
{
    return br_fail(why, BR_ERR_BAD_RECORD, "%s `%s`: found %s; allowed: %s", setting,
                   br_expr_text(expr), br_kind_name(found->kind), allowed);
}

static br_status passes(const map *m, const br_row *row, bool *pass, br_err *why)
{
    br_value v;
    *pass = true;
    if (!m->conf->where) return BR_OK;
    br_status st = eval(m, "where", m->conf->where, row, &v, why);
    if (st != BR_OK) return st;
    if (v.kind != BR_BOOL && !br_value_is_null(&v))
        return fail_kind("where", m->conf->where, &v, "true, false, null", why);
    *pass = v.kind == BR_BOOL && v.b;
    return BR_OK;
}

static br_status eval_key(map *m, const br_row *row, br_bytes *key, br_err *why)
{
    br_value v;
    br_status st = eval(m, "key", m->conf->key, row, &v, why);
    if (st != BR_OK) return st;
    if (v.kind == BR_JSON)
        return fail_kind("key", m->conf->key, &v, "text, number, true, false, null", why);
    *key = BR_NO_BYTES;
    if (v.kind == BR_TEXT) *key = v.s;
    if (v.kind == BR_TEXT || br_value_is_null(&v)) return BR_OK;
    br_buf_reset(&m->text);
    br_value_to_text(&v, &m->text);
    *key = br_arena_copy(m->arena, br_buf_bytes(&m->text), 0);
    return BR_OK;
}

/* set and key; then the row is pending. */
static br_status finish_row(map *m, br_row *row, br_err *why)
{
    const br_map_conf *conf = m->conf;
    for (size_t i = 0; i < conf->set_count; i++) {
        const br_map_set *set = &conf->sets[i];
        br_status st = eval(m, "set", set->expr, row, &row->slots[set->slot], why);
        if (st != BR_OK) return st;
    }
    if (conf->key) {
        br_bytes key;
        br_status st = eval_key(m, row, &key, why);
        if (st != BR_OK) return st;
        br_row *copy = br_arena_alloc(m->arena, sizeof(*copy));
        *copy = *row;
        copy->key = key;
        row = copy;
    }
    add_pending(m, row);
    return BR_OK;
}

/* ---- explode ---- */

typedef struct explosion {
    map *map;
    const br_row *row;
    size_t first; /* pending rows before it */
} explosion;

static br_status add_element(void *arg, br_bytes name, const br_value *value, br_err *why)
{
    (void)name;
    explosion *e = arg;
    const br_map_conf *conf = e->map->conf;
    if (e->map->count - e->first >= BR_EXPLODE_ROWS_MAX)
        return br_fail(why, BR_ERR_BAD_RECORD, "explode `%s`: more than %d elements",
                       br_expr_text(conf->explode), BR_EXPLODE_ROWS_MAX);
    br_row *row = br_arena_alloc(e->map->arena, sizeof(*row));
    *row = *e->row;
    row->slots = br_arena_alloc(e->map->arena, conf->slot_count * sizeof(br_value));
    memcpy(row->slots, e->row->slots, conf->slot_count * sizeof(br_value));
    row->slots[conf->explode_slot] = *value;
    return finish_row(e->map, row, why);
}

static br_status explode_row(map *m, const br_row *row, br_err *why)
{
    br_value v;
    const br_expr *explode = m->conf->explode;
    explosion e = {.map = m, .row = row, .first = m->count};
    br_status st = eval(m, "explode", explode, row, &v, why);
    if (st != BR_OK || br_value_is_null(&v)) return st;
    if (v.kind != BR_JSON || v.s.len == 0 || v.s.data[0] != '[') {
        const char *found = v.kind == BR_JSON ? "an object" : br_kind_name(v.kind);
        return br_fail(why, BR_ERR_BAD_RECORD, "explode `%s`: found %s; allowed: array, null",
                       br_expr_text(explode), found);
    }
    st = br_json_each(v.s, m->arena, add_element, &e, why);
    if (st != BR_OK) m->count = e.first;
    return st;
}

static br_status take(map *m, br_row *row, br_err *err)
{
    br_err why;
    bool pass;
    br_status st = passes(m, row, &pass, &why);
    if (st == BR_OK && pass)
        st = m->conf->explode ? explode_row(m, row, &why) : finish_row(m, row, &why);
    if (st == BR_ERR_BAD_RECORD) return br_op_bad_row(&m->op, row, &why, err);
    if (st < 0) *err = why;
    return st;
}

static br_status map_process(br_op *op, br_row *const *rows, size_t count, br_err *err)
{
    map *m = (map *)op;
    br_status st = BR_OK;
    for (size_t i = 0; i < count && st == BR_OK; i++) {
        st = take(m, rows[i], err);
        if (st == BR_OK && m->count >= BR_BATCH_ROWS_MAX) st = push(m, err);
    }
    if (st < 0 && st != BR_ERR_BAD_RECORD) {
        forget_pending(m);
        return st;
    }
    /* Rows before a record that stops the job still go on. */
    br_status pushed = push(m, err);
    return pushed < 0 ? pushed : st;
}

static void map_destroy(br_op *op)
{
    map *m = (map *)op;
    br_arena_destroy(m->arena);
    br_free(m->pending);
    br_buf_dispose(&m->text);
    br_free(m);
}

static const br_op_class map_class = {
    .kind = "map",
    .process = map_process,
    .destroy = map_destroy,
};

br_op *br_map_create(const br_map_conf *conf, br_task_context *context)
{
    map *m = BR_NEW(map);
    m->op = (br_op){.class = &map_class, .id = conf->id, .context = context, .store = SIZE_MAX};
    m->conf = conf;
    m->arena = br_arena_create(ARENA_BLOCK_BYTES);
    return &m->op;
}
