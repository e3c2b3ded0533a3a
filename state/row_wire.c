/* state/row_wire.c - see row_wire.h, and state.proto for the numbers.
 * A message inside another is written behind one byte for its length; where it turns out longer
 * than that byte can say, which is rare, it is moved. */
#include "state/row_wire.h"

#include <limits.h>

/* Doubles are written as they lie in memory. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "fixed64 is little endian");

enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };
enum { ROW_KEY = 1, ROW_VERSION = 2, ROW_ACCUMULATORS = 3, ROW_PARTIALS = 4 };
enum { VERSION_INCARNATION = 1, VERSION_OFFSET = 2 };
enum {
    ACC_COUNT = 1,
    ACC_SUM = 2,
    ACC_SUM_BIG = 3,
    ACC_SUM_FLOATS = 4,
    ACC_VALUE = 5,
    ACC_TIME = 6,
    ACC_OFFSET = 7,
};
enum {
    VALUE_BOOL = 1,
    VALUE_INT = 2,
    VALUE_BIG = 3,
    VALUE_FLOAT = 4,
    VALUE_TEXT = 5,
    VALUE_JSON = 6,
    VALUE_NULL = 7,
};
enum {
    VARINT_BYTES_MAX = 10,
    LENGTH_BYTES_MAX = 5, /* of a tag too */
    /* An accumulator without its bytes, texts and floats: at most 116. */
    ACC_FIXED_BYTES_MAX = 128,
    VERSION_BYTES_MAX = 20,
};

/* ---- writing ---- */

static char *put_varint(char *at, uint64_t v)
{
    for (; v >= 0x80; v >>= 7) *at++ = (char)(v | 0x80);
    *at++ = (char)v;
    return at;
}

/* Field numbers are all below 16: one byte with the wire type. */
static char *put_number(char *at, int field, uint64_t v)
{
    *at++ = (char)(field << 3 | VARINT);
    return put_varint(at, v);
}

static char *put_signed(char *at, int field, int64_t v)
{
    return put_number(at, field, (uint64_t)v << 1 ^ (v < 0 ? UINT64_MAX : 0));
}

static char *put_bytes(char *at, int field, const void *data, size_t len)
{
    *at++ = (char)(field << 3 | BYTES);
    at = put_varint(at, len);
    if (len > 0) memcpy(at, data, len);
    return at + len;
}

static char *put_binary(char *at, int field, ProtobufCBinaryData binary)
{
    return put_bytes(at, field, binary.data, binary.len);
}

/* Returns where the body of an embedded message begins. */
static char *begin_message(char *at, int field)
{
    *at++ = (char)(field << 3 | BYTES);
    return at + 1;
}

static char *end_message(char *body, char *end)
{
    size_t len = (size_t)(end - body);
    if (len >= 0x80) {
        char length[VARINT_BYTES_MAX];
        size_t more = (size_t)(put_varint(length, len) - length) - 1;
        memmove(body + more, body, len);
        end += more;
    }
    (void)put_varint(body - 1, len);
    return end;
}

static char *put_version(char *at, br_version version)
{
    char *body = begin_message(at, ROW_VERSION);
    at = put_number(body, VERSION_INCARNATION, version.incarnation);
    return end_message(body, put_signed(at, VERSION_OFFSET, version.offset));
}

static char *put_value(char *at, const Brine__State__Value *v)
{
    char *body = begin_message(at, ACC_VALUE);
    at = body;
    if (v->has_bool_) at = put_number(at, VALUE_BOOL, v->bool_ != 0);
    if (v->has_int_) at = put_signed(at, VALUE_INT, v->int_);
    if (v->has_big) at = put_binary(at, VALUE_BIG, v->big);
    if (v->has_float_) {
        *at++ = (char)(VALUE_FLOAT << 3 | FIXED64);
        memcpy(at, &v->float_, sizeof(v->float_));
        at += sizeof(v->float_);
    }
    if (v->has_text) at = put_binary(at, VALUE_TEXT, v->text);
    if (v->has_json) at = put_binary(at, VALUE_JSON, v->json);
    if (v->has_null) at = put_number(at, VALUE_NULL, v->null != 0);
    return end_message(body, at);
}

static char *put_accumulator(char *at, const Brine__State__Accumulator *acc)
{
    char *body = begin_message(at, ROW_ACCUMULATORS);
    at = body;
    if (acc->has_count) at = put_number(at, ACC_COUNT, acc->count);
    if (acc->has_sum) at = put_signed(at, ACC_SUM, acc->sum);
    if (acc->has_sum_big) at = put_binary(at, ACC_SUM_BIG, acc->sum_big);
    if (acc->n_sum_floats > 0)
        at = put_bytes(at, ACC_SUM_FLOATS, acc->sum_floats,
                       acc->n_sum_floats * sizeof(*acc->sum_floats));
    if (acc->value) at = put_value(at, acc->value);
    if (acc->has_time) at = put_signed(at, ACC_TIME, acc->time);
    if (acc->has_offset) at = put_signed(at, ACC_OFFSET, acc->offset);
    return end_message(body, at);
}

static size_t accumulator_room(const Brine__State__Accumulator *acc)
{
    size_t room = ACC_FIXED_BYTES_MAX + acc->n_sum_floats * sizeof(*acc->sum_floats);
    if (acc->has_sum_big) room += acc->sum_big.len;
    const Brine__State__Value *v = acc->value;
    if (!v) return room;
    return room + (v->has_big ? v->big.len : 0) + (v->has_text ? v->text.len : 0) +
           (v->has_json ? v->json.len : 0);
}

void br_row_add_version(br_buf *out, br_version version)
{
    br_buf_reserve(out, VERSION_BYTES_MAX);
    out->len = (size_t)(put_version(out->data + out->len, version) - out->data);
}

void br_row_add_accumulator(br_buf *out, const Brine__State__Accumulator *acc)
{
    br_buf_reserve(out, accumulator_room(acc));
    out->len = (size_t)(put_accumulator(out->data + out->len, acc) - out->data);
}

size_t br_row_begin_partial(br_buf *out, br_bytes id, br_version version)
{
    br_buf_reserve(out, 2 + 1 + LENGTH_BYTES_MAX + id.len + VERSION_BYTES_MAX);
    char *body = begin_message(out->data + out->len, ROW_PARTIALS);
    char *at = put_version(put_bytes(body, ROW_KEY, id.data, id.len), version);
    out->len = (size_t)(at - out->data);
    return (size_t)(body - out->data);
}

void br_row_end_partial(br_buf *out, size_t begin)
{
    br_buf_reserve(out, LENGTH_BYTES_MAX);
    out->len = (size_t)(end_message(out->data + begin, out->data + out->len) - out->data);
}

/* ---- reading ---- */

typedef struct field {
    uint32_t number;
    int wire;
    uint64_t varint;
    br_bytes bytes; /* of BYTES, FIXED64 and FIXED32 */
} field;

/* At most `max` bytes, of which the last has no mark; bits beyond 64 are dropped. */
static bool take_varint(br_bytes *rest, size_t max, uint64_t *out)
{
    uint64_t v = 0;
    size_t n = rest->len < max ? rest->len : max;
    for (size_t i = 0; i < n; i++) {
        unsigned char byte = (unsigned char)rest->data[i];
        v |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (byte & 0x80) continue;
        *out = v;
        *rest = br_bytes_of(rest->data + i + 1, rest->len - i - 1);
        return true;
    }
    return false;
}

static bool take_bytes(br_bytes *rest, uint64_t len, br_bytes *out)
{
    if (len > rest->len) return false;
    *out = br_bytes_of(rest->data, (size_t)len);
    *rest = br_bytes_of(rest->data + len, rest->len - (size_t)len);
    return true;
}

static bool take_tag(br_bytes *rest, field *out)
{
    uint64_t tag;
    /* protobuf-c refuses number 0, but for one written in more bytes than it needs. */
    if (((unsigned char)rest->data[0] & 0xf8) == 0) return false;
    if (!take_varint(rest, LENGTH_BYTES_MAX, &tag)) return false;
    out->number = (uint32_t)(tag >> 3);
    out->wire = (int)(tag & 7);
    return true;
}

/* rest is not empty. */
static bool take_field(br_bytes *rest, field *out)
{
    uint64_t len;
    if (!take_tag(rest, out)) return false;
    switch (out->wire) {
    case VARINT: return take_varint(rest, VARINT_BYTES_MAX, &out->varint);
    case FIXED64: return take_bytes(rest, 8, &out->bytes);
    case FIXED32: return take_bytes(rest, 4, &out->bytes);
    case BYTES:
        return take_varint(rest, LENGTH_BYTES_MAX, &len) && len <= INT_MAX &&
               take_bytes(rest, len, &out->bytes);
    default: return false;
    }
}

static int64_t signed_of(uint64_t v)
{
    return (int64_t)(v >> 1 ^ (v & 1 ? UINT64_MAX : 0));
}

static ProtobufCBinaryData binary_of(br_bytes bytes)
{
    return (ProtobufCBinaryData){bytes.len, (uint8_t *)(uintptr_t)bytes.data};
}

static bool read_version(br_bytes rest, br_row_parts *out)
{
    out->has_version = true;
    while (rest.len > 0) {
        field at;
        if (!take_field(&rest, &at)) return false;
        if (at.number != VERSION_INCARNATION && at.number != VERSION_OFFSET) continue;
        if (at.wire != VARINT) return false;
        if (at.number == VERSION_INCARNATION) {
            out->version.incarnation = (uint32_t)at.varint;
        } else {
            out->version.offset = signed_of(at.varint);
            out->has_offset = true;
        }
    }
    return true;
}

static bool read_parts(br_bytes bytes, uint32_t last_field, br_row_parts *out)
{
    *out = (br_row_parts){.all = bytes};
    for (br_bytes rest = bytes; rest.len > 0;) {
        field at;
        if (!take_field(&rest, &at)) return false;
        if (at.number == 0 || at.number > last_field) continue;
        if (at.wire != BYTES) return false;
        if (at.number == ROW_KEY) out->key = at.bytes;
        if (at.number == ROW_VERSION && !read_version(at.bytes, out)) return false;
        if (at.number == ROW_ACCUMULATORS) out->accumulator_count++;
        if (at.number == ROW_PARTIALS) out->partial_count++;
    }
    return true;
}

bool br_row_read(br_bytes bytes, br_row_parts *out)
{
    return read_parts(bytes, ROW_PARTIALS, out);
}

bool br_partial_read(br_bytes bytes, br_row_parts *out)
{
    return read_parts(bytes, ROW_ACCUMULATORS, out) && out->key.data && out->has_version;
}

static bool next_of(br_bytes *rest, uint32_t number, br_bytes *out)
{
    field at;
    while (rest->len > 0 && take_field(rest, &at)) {
        if (at.number != number) continue;
        *out = at.bytes;
        return true;
    }
    return false;
}

bool br_row_next_accumulator(br_bytes *rest, br_bytes *out)
{
    return next_of(rest, ROW_ACCUMULATORS, out);
}

bool br_row_next_partial(br_bytes *rest, br_bytes *out)
{
    return next_of(rest, ROW_PARTIALS, out);
}

static bool read_value_field(const field *at, Brine__State__Value *out)
{
    static const int wires[] = {
        [VALUE_BOOL] = VARINT, [VALUE_INT] = VARINT, [VALUE_BIG] = BYTES,  [VALUE_FLOAT] = FIXED64,
        [VALUE_TEXT] = BYTES,  [VALUE_JSON] = BYTES, [VALUE_NULL] = VARINT};
    if (at->number == 0 || at->number > VALUE_NULL) return true;
    if (at->wire != wires[at->number]) return false;
    switch (at->number) {
    case VALUE_BOOL: out->has_bool_ = 1, out->bool_ = at->varint != 0; break;
    case VALUE_INT: out->has_int_ = 1, out->int_ = signed_of(at->varint); break;
    case VALUE_BIG: out->has_big = 1, out->big = binary_of(at->bytes); break;
    case VALUE_FLOAT:
        out->has_float_ = 1;
        memcpy(&out->float_, at->bytes.data, sizeof(out->float_));
        break;
    case VALUE_TEXT: out->has_text = 1, out->text = binary_of(at->bytes); break;
    case VALUE_JSON: out->has_json = 1, out->json = binary_of(at->bytes); break;
    default: out->has_null = 1, out->null = at->varint != 0; break;
    }
    return true;
}

/* A value that comes twice is one: the fields of both. */
static bool read_value(br_bytes rest, br_stored_acc *out)
{
    if (!out->message.value) brine__state__value__init(&out->value);
    out->message.value = &out->value;
    while (rest.len > 0) {
        field at;
        if (!take_field(&rest, &at) || !read_value_field(&at, &out->value)) return false;
    }
    return true;
}

/* Packed or, as protobuf allows too, one by one. */
static bool read_floats(const field *at, br_stored_acc *out)
{
    Brine__State__Accumulator *acc = &out->message;
    if (at->wire != BYTES && at->wire != FIXED64) return false;
    size_t count = at->bytes.len / sizeof(double);
    if (at->bytes.len % sizeof(double) != 0) return false;
    if (count > BR_SUM_FLOATS_MAX - acc->n_sum_floats) return false;
    memcpy(out->floats + acc->n_sum_floats, at->bytes.data, at->bytes.len);
    acc->n_sum_floats += count;
    acc->sum_floats = out->floats;
    return true;
}

static bool read_acc_number(const field *at, Brine__State__Accumulator *acc)
{
    if (at->wire != VARINT) return false;
    switch (at->number) {
    case ACC_COUNT: acc->has_count = 1, acc->count = at->varint; break;
    case ACC_SUM: acc->has_sum = 1, acc->sum = signed_of(at->varint); break;
    case ACC_TIME: acc->has_time = 1, acc->time = signed_of(at->varint); break;
    default: acc->has_offset = 1, acc->offset = signed_of(at->varint); break;
    }
    return true;
}

static bool read_acc_field(const field *at, br_stored_acc *out)
{
    switch (at->number) {
    case ACC_COUNT:
    case ACC_SUM:
    case ACC_TIME:
    case ACC_OFFSET: return read_acc_number(at, &out->message);
    case ACC_SUM_BIG:
        if (at->wire != BYTES) return false;
        out->message.has_sum_big = 1;
        out->message.sum_big = binary_of(at->bytes);
        return true;
    case ACC_SUM_FLOATS: return read_floats(at, out);
    case ACC_VALUE: return at->wire == BYTES && read_value(at->bytes, out);
    default: return true;
    }
}

bool br_acc_read(br_bytes bytes, br_stored_acc *out)
{
    out->message = (Brine__State__Accumulator)BRINE__STATE__ACCUMULATOR__INIT;
    while (bytes.len > 0) {
        field at;
        if (!take_field(&bytes, &at) || !read_acc_field(&at, out)) return false;
    }
    return true;
}

static bool accumulators_are_whole(const br_row_parts *parts)
{
    br_stored_acc acc;
    br_bytes rest = parts->all, one;
    while (br_row_next_accumulator(&rest, &one))
        if (!br_acc_read(one, &acc)) return false;
    return true;
}

bool br_row_read_whole(br_bytes bytes, br_row_parts *out)
{
    if (!br_row_read(bytes, out) || !accumulators_are_whole(out)) return false;
    br_bytes rest = bytes, one;
    while (br_row_next_partial(&rest, &one)) {
        br_row_parts partial;
        if (!br_partial_read(one, &partial) || !accumulators_are_whole(&partial)) return false;
    }
    return true;
}
