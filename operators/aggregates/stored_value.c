/* operators/aggregates/stored_value.c - see stored_value.h. */
#include "operators/aggregates/stored_value.h"
#include "runtime/base/alloc.h"

#include <math.h>

/* A br_int128 is written as it lies in memory: low half first, each half little endian. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "Value.big is little endian");
_Static_assert(sizeof(br_int128) == 16 && offsetof(br_int128, lo) == 0, "Value.big has 16 bytes");

static ProtobufCBinaryData binary(const void *data, size_t len)
{
    return (ProtobufCBinaryData){len, (uint8_t *)(uintptr_t)data};
}

ProtobufCBinaryData br_int128_encode(const br_int128 *v)
{
    return binary(v, sizeof *v);
}

br_status br_int128_decode(br_int128 *out, ProtobufCBinaryData in, br_err *err)
{
    if (in.len != sizeof *out) {
        return br_fail(err, BR_ERR_CORRUPT, "stored integer of %zu bytes, expected 16", in.len);
    }
    memcpy(out, in.data, sizeof *out);
    return BR_OK;
}

void br_value_encode(const br_value *v, Brine__State__Value *out)
{
    switch (v->kind) {
    case BR_MISSING:
    case BR_NULL: out->has_null = out->null = 1; break;
    case BR_BOOL:
        out->has_bool_ = 1;
        out->bool_ = v->b;
        break;
    case BR_INT:
        out->has_int_ = 1;
        out->int_ = v->i;
        break;
    case BR_BIG:
        out->has_big = 1;
        out->big = br_int128_encode(&v->big);
        break;
    case BR_FLOAT:
        out->has_float_ = 1;
        out->float_ = v->f;
        break;
    case BR_TEXT:
        out->has_text = 1;
        out->text = binary(v->s.data, v->s.len);
        break;
    case BR_JSON:
        out->has_json = 1;
        out->json = binary(v->s.data, v->s.len);
        break;
    }
}

/* protobuf-c gives empty bytes as NULL, which would read as no value. */
static br_bytes text_of(ProtobufCBinaryData in)
{
    return br_bytes_of(in.len > 0 ? (const void *)in.data : "", in.len);
}

static br_status decode_big(br_value *out, ProtobufCBinaryData in, br_err *err)
{
    br_int128 big;
    br_status st = br_int128_decode(&big, in, err);
    if (st < 0) return st;
    *out = br_value_i128(br_i128_of(big));
    if (out->kind == BR_BIG) return BR_OK;
    return br_fail(err, BR_ERR_CORRUPT, "stored 128-bit integer fits 64 bits");
}

br_status br_value_decode(br_value *out, const Brine__State__Value *in, br_err *err)
{
    int kinds = !!in->has_bool_ + !!in->has_int_ + !!in->has_big + !!in->has_float_ +
                !!in->has_text + !!in->has_json + !!in->has_null;
    if (kinds != 1) {
        return br_fail(err, BR_ERR_CORRUPT, "stored value of %d kinds, expected one", kinds);
    }
    if (in->has_big) return decode_big(out, in->big, err);
    if (in->has_float_ && !isfinite(in->float_)) {
        return br_fail(err, BR_ERR_CORRUPT, "stored float is not finite");
    }
    if (in->has_bool_) *out = br_value_bool(in->bool_);
    if (in->has_int_) *out = br_value_int(in->int_);
    if (in->has_float_) *out = br_value_float(in->float_);
    if (in->has_text) *out = br_value_text(text_of(in->text));
    if (in->has_json) *out = (br_value){.kind = BR_JSON, .s = text_of(in->json)};
    if (in->has_null) *out = br_value_null();
    return BR_OK;
}

void br_kept_set(br_kept *kept, const br_value *v)
{
    kept->v = *v;
    if (v->kind != BR_TEXT && v->kind != BR_JSON) return;
    if (v->s.len > kept->room_bytes || !kept->room) {
        br_free(kept->room);
        kept->room_bytes = v->s.len;
        kept->room = br_alloc(v->s.len);
    }
    if (v->s.len > 0) memcpy(kept->room, v->s.data, v->s.len);
    kept->v.s.data = kept->room;
}

void br_kept_dispose(br_kept *kept)
{
    br_free(kept->room);
}

int br_kept_order(const br_value *a, const br_value *b)
{
    int order = br_value_compare(a, b);
    if (order != 0) return order;
    if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
    if (a->kind != BR_FLOAT) return 0;
    return !!signbit(b->f) - !!signbit(a->f);
}
