/* operators/sink.c - see sink.h. */
#include "operators/sink.h"

#include "operators/json.h"
#include "runtime/base/alloc.h"
#include "runtime/base/json_out.h"
#include "runtime/base/rng.h"

#include <inttypes.h>

enum { ARENA_BLOCK_BYTES = 16 * 1024 };

typedef struct sink {
    br_op op;
    const br_sink_conf *conf;
    br_rng rng;        /* salts */
    br_buf key, value; /* of the record being made */
    br_arena *arena;   /* what goes into them; dies with each call of process */
} sink;

/* ---- value ---- */

static void put_field(br_json_out *out, const br_shape *shape, size_t i, const br_row *row)
{
    const br_value *v = &row->slots[shape->slots[i]];
    if (v->kind == BR_MISSING) return;
    br_json_name(out, br_str(shape->names[i]));
    br_value_to_json(v, out->buf);
    out->comma = true;
}

typedef struct whole_copy {
    const br_shape *shape;
    br_json_out out;
} whole_copy;

static br_status copy_field(void *arg, br_bytes name, const br_value *value, br_err *err)
{
    (void)err;
    whole_copy *copy = arg;
    for (size_t i = 0; i < copy->shape->hidden_count; i++)
        if (br_bytes_equal(name, br_str(copy->shape->hidden[i]))) return BR_OK;
    br_json_name(&copy->out, name);
    br_value_to_json(value, copy->out.buf);
    copy->out.comma = true;
    return BR_OK;
}

static br_status json_value(sink *s, const br_row *row, br_bytes *value, br_err *why)
{
    const br_shape *shape = &s->conf->shape;
    whole_copy copy = {.shape = shape, .out = br_json_begin(&s->value)};
    br_buf_reset(&s->value);
    br_json_open(&copy.out, '{');
    if (shape->whole && row->slots[shape->whole_slot].kind == BR_JSON) {
        br_bytes whole = row->slots[shape->whole_slot].s;
        br_status st = br_json_fields(whole, s->arena, copy_field, &copy, why);
        if (st != BR_OK) return st;
    }
    for (size_t i = 0; i < shape->count; i++) put_field(&copy.out, shape, i, row);
    br_json_close(&copy.out, '}');
    *value = br_buf_bytes(&s->value);
    return BR_OK;
}

/* Borrows buf, or the row. */
static br_bytes plain_text(br_buf *buf, const br_value *v)
{
    if (br_value_is_null(v)) return BR_NO_BYTES;
    if (v->kind == BR_TEXT || v->kind == BR_JSON) return v->s;
    br_buf_reset(buf);
    br_value_to_text(v, buf);
    return br_buf_bytes(buf);
}

static br_status make_value(sink *s, const br_row *row, br_bytes *value, br_err *why)
{
    const br_shape *shape = &s->conf->shape;
    if (shape->untouched) {
        *value = row->value;
        return BR_OK;
    }
    if (!s->conf->text) return json_value(s, row, value, why);
    *value = plain_text(&s->value, &row->slots[shape->slots[shape->group_count]]);
    return BR_OK;
}

/* ---- key ---- */

static br_status eval_key(sink *s, const br_row *row, br_bytes *key, br_err *why)
{
    br_value v;
    const br_expr *expr = s->conf->key;
    br_status st = br_expr_eval(expr, row, s->arena, &v, why);
    if (st < 0) return br_wrap(why, "key `%s`", br_expr_text(expr));
    if (v.kind == BR_JSON)
        return br_fail(why, BR_ERR_BAD_RECORD,
                       "key `%s`: found object or array; allowed: text, number, true, false, null",
                       br_expr_text(expr));
    *key = plain_text(&s->key, &v);
    return BR_OK;
}

static br_bytes group_key(sink *s, const br_row *row)
{
    const br_shape *shape = &s->conf->shape;
    if (shape->group_count == 1) return plain_text(&s->key, &row->slots[shape->slots[0]]);
    br_buf_reset(&s->key);
    br_json_out out = br_json_begin(&s->key);
    br_json_open(&out, '{');
    for (size_t i = 0; i < shape->group_count; i++) put_field(&out, shape, i, row);
    br_json_close(&out, '}');
    return br_buf_bytes(&s->key);
}

static br_bytes salted(sink *s, br_bytes key)
{
    if (!key.data || s->conf->salt == 0) return key;
    if (key.data != s->key.data) { /* not made here: it becomes so, to be changed */
        br_buf_reset(&s->key);
        br_buf_addb(&s->key, key);
    }
    br_buf_printf(&s->key, "_%" PRIu64, br_rng_below(&s->rng, s->conf->salt));
    return br_buf_bytes(&s->key);
}

static br_status make_key(sink *s, const br_row *row, br_bytes *key, br_err *why)
{
    br_status st = BR_OK;
    *key = row->key;
    if (s->conf->key)
        st = eval_key(s, row, key, why);
    else if (s->conf->shape.group_count > 0 && !row->key.data)
        *key = group_key(s, row);
    if (st == BR_OK) *key = salted(s, *key);
    return st;
}

/* ---- operator ---- */

static br_status send_row(sink *s, const br_row *row, br_err *err)
{
    const br_outlet *outlet = s->op.context->outlet;
    br_err why;
    br_bytes key, value;
    br_status st = make_value(s, row, &value, &why);
    if (st == BR_OK) st = make_key(s, row, &key, &why);
    if (st == BR_ERR_BAD_RECORD) return br_op_bad_row(&s->op, row, &why, err);
    if (st < 0) {
        *err = why;
        return st;
    }
    int64_t timestamp_ms = row->time_ms >= 0 ? row->time_ms : -1;
    return outlet->sink(outlet->self, s->conf->sink, key, value, timestamp_ms, err);
}

static br_status sink_process(br_op *op, br_row *const *rows, size_t count, br_err *err)
{
    sink *s = (sink *)op;
    br_status st = BR_OK;
    for (size_t i = 0; i < count && st == BR_OK; i++) st = send_row(s, rows[i], err);
    br_arena_reset(s->arena);
    return st;
}

static void sink_destroy(br_op *op)
{
    sink *s = (sink *)op;
    br_arena_destroy(s->arena);
    br_buf_dispose(&s->key);
    br_buf_dispose(&s->value);
    br_free(s);
}

static const br_op_class sink_class = {
    .kind = "sink",
    .process = sink_process,
    .destroy = sink_destroy,
};

br_op *br_sink_create(const br_sink_conf *conf, br_task_context *context, uint64_t seed)
{
    const br_shape *shape = &conf->shape;
    bool one_field = !shape->whole && shape->count == shape->group_count + 1;
    BR_ASSERT(!conf->text || shape->untouched || one_field);
    sink *s = BR_NEW(sink);
    s->op = (br_op){.class = &sink_class, .id = conf->id, .context = context, .store = SIZE_MAX};
    s->conf = conf;
    s->rng = (br_rng){seed};
    s->arena = br_arena_create(ARENA_BLOCK_BYTES);
    return &s->op;
}
