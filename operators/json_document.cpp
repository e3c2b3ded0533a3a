/* operators/json_document.cpp - see json_document.hpp. */
#include "operators/json_document.hpp"

#include <cmath>

namespace br_json
{

namespace
{

/* Smaller documents never make the parser allocate. */
constexpr size_t CAPACITY_MIN = 16 * 1024;

} // namespace

br_status fail(reading *r, const char *what)
{
    if (!r->at)
        return br_fail(r->err, BR_ERR_BAD_RECORD, "JSON value of %zu bytes: %s", r->json.len, what);
    size_t place = static_cast<size_t>(r->at - r->json.data);
    return br_fail(r->err, BR_ERR_BAD_RECORD, "JSON value, at byte %zu of %zu: %s",
                   place < r->json.len ? place : r->json.len, r->json.len, what);
}

br_status fail_code(reading *r, simdjson::error_code code)
{
    BR_ASSERT(code != simdjson::MEMALLOC); /* as alloc.h: a worker without memory ends */
    switch (static_cast<int>(code)) {
    case simdjson::EMPTY: return fail(r, "it is empty; a JSON object is needed");
    case simdjson::UTF8_ERROR: return fail(r, "it is not valid UTF-8");
    case simdjson::UNCLOSED_STRING: return fail(r, "a text has no closing quote (cut off?)");
    case simdjson::UNESCAPED_CHARS: return fail(r, "a control character in a text");
    case simdjson::INCOMPLETE_ARRAY_OR_OBJECT: return fail(r, "a bracket is not closed (cut off?)");
    case simdjson::TAPE_ERROR:
        return fail(r, "not JSON: a comma, colon, bracket or value is wrong");
    default: return fail(r, simdjson::error_message(code));
    }
}

br_status begin(reading *r, od::document *doc)
{
    od::parser *parser = &r->parser->simd;
    r->escapes = memchr(r->json.data, '\\', r->json.len) != nullptr;
    simdjson::error_code code = simdjson::SUCCESS;
    if (r->json.len > parser->capacity()) {
        /* In powers of two, so that slowly growing documents do not allocate each time. */
        size_t capacity = CAPACITY_MIN;
        while (capacity < r->json.len) capacity *= 2;
        code = parser->allocate(capacity);
    }
    if (!code) {
        size_t readable = r->json.len + BR_JSON_PADDING;
        code = parser->iterate(r->json.data, r->json.len, readable).get(*doc);
    }
    return code ? fail_code(r, code) : BR_OK;
}

/* ---- text ---- */

/* Its closing quote is known to be there. */
size_t raw_text_len(const reading *r, const char *raw)
{
    size_t left = static_cast<size_t>(r->json.data + r->json.len - raw);
    if (!r->escapes) {
        const void *quote = memchr(raw, '"', left);
        return quote ? static_cast<size_t>(static_cast<const char *>(quote) - raw) : left;
    }
    size_t n = 0;
    while (n < left && raw[n] != '"') n += raw[n] == '\\' ? 2 : 1;
    return n < left ? n : left;
}

bool has_escape(const reading *r, const char *raw, size_t len)
{
    return r->escapes && memchr(raw, '\\', len) != nullptr;
}

namespace
{

/* simdjson writes whole blocks: room must be this much larger than the text. */
size_t unescape_room(size_t raw_len)
{
    return raw_len + simdjson::SIMDJSON_PADDING;
}

br_status unescape(reading *r, od::raw_json_string raw, char *room, br_bytes *out)
{
    uint8_t *dst = reinterpret_cast<uint8_t *>(room);
    std::string_view text;
    r->at = raw.raw();
    if (r->parser->simd.unescape(raw, dst).get(text) != simdjson::SUCCESS)
        return fail(r, "a text has an invalid escape or half a surrogate pair");
    *out = br_bytes_of(text.data(), text.size());
    return BR_OK;
}

} // namespace

br_status glance(reading *r, od::raw_json_string raw, br_bytes *out)
{
    size_t len = raw_text_len(r, raw.raw());
    *out = br_bytes_of(raw.raw(), len);
    if (!has_escape(r, raw.raw(), len)) return BR_OK;
    br_buf_reset(&r->parser->scratch);
    br_buf_reserve(&r->parser->scratch, unescape_room(len));
    return unescape(r, raw, r->parser->scratch.data, out);
}

br_status keep_text(reading *r, od::raw_json_string raw, br_bytes *out)
{
    size_t len = raw_text_len(r, raw.raw());
    *out = br_bytes_of(raw.raw(), len);
    if (!has_escape(r, raw.raw(), len)) return BR_OK;
    char *room = static_cast<char *>(br_arena_alloc(r->arena, unescape_room(len)));
    return unescape(r, raw, room, out);
}

/* ---- scalars ---- */

namespace
{

size_t digits(std::string_view s, size_t from)
{
    size_t i = from;
    while (i < s.size() && s[i] >= '0' && s[i] <= '9') i++;
    return i - from;
}

/* RFC 8259 section 6. */
bool is_number(std::string_view s, bool *integer)
{
    size_t i = !s.empty() && s[0] == '-' ? 1 : 0;
    size_t n = digits(s, i);
    if (n == 0 || (n > 1 && s[i] == '0')) return false;
    i += n;
    *integer = i == s.size();
    if (i < s.size() && s[i] == '.') {
        n = digits(s, i + 1);
        if (n == 0) return false;
        i += 1 + n;
    }
    if (i < s.size() && (s[i] == 'e' || s[i] == 'E')) {
        i++;
        if (i < s.size() && (s[i] == '+' || s[i] == '-')) i++;
        n = digits(s, i);
        if (n == 0) return false;
        i += n;
    }
    return i == s.size();
}

std::string_view trimmed(std::string_view s)
{
    while (!s.empty() && strchr(" \t\r\n", s.back())) s.remove_suffix(1);
    return s;
}

/* lenient: a number that brine cannot hold becomes BR_JSON instead of a failure. */
br_status read_number(reading *r, od::value &value, bool lenient, br_value *out)
{
    int64_t small;
    if (value.get_int64().get(small) == simdjson::SUCCESS) {
        *out = br_value_int(small);
        return BR_OK;
    }
    std::string_view token = trimmed(value.raw_json_token());
    r->at = token.data();
    bool integer = false;
    if (!is_number(token, &integer)) return fail(r, "not a number");
    double real = 0;
    br_i128 wide;
    if (!integer && value.get_double().get(real) == simdjson::SUCCESS && std::isfinite(real)) {
        *out = br_value_float(real);
    } else if (integer && br_int128_parse(br_bytes_of(token.data(), token.size()), &wide)) {
        *out = br_value_i128(wide);
    } else if (lenient) {
        out->kind = BR_JSON;
        out->s = br_bytes_of(token.data(), token.size());
    } else {
        return fail(r, integer ? "a number needs more than 128 bits" : "a number is out of range");
    }
    return BR_OK;
}

br_status read_text(reading *r, od::value &value, br_value *out)
{
    od::raw_json_string raw;
    simdjson::error_code code = value.get_raw_json_string().get(raw);
    if (code) return fail_code(r, code);
    br_bytes text;
    br_status st = keep_text(r, raw, &text);
    if (st == BR_OK) *out = br_value_text(text);
    return st;
}

br_status read_bool(reading *r, od::value &value, br_value *out)
{
    bool b;
    if (value.get_bool().get(b)) return fail(r, "neither true nor false");
    *out = br_value_bool(b);
    return BR_OK;
}

br_status read_null(reading *r, od::value &value, br_value *out)
{
    bool null = false;
    if (value.is_null().get(null) || !null) return fail(r, "not null");
    *out = br_value_null();
    return BR_OK;
}

} // namespace

br_status read_scalar(reading *r, od::value &value, od::json_type type, bool lenient, br_value *out)
{
    switch (type) {
    case od::json_type::string: return read_text(r, value, out);
    case od::json_type::number: return read_number(r, value, lenient, out);
    case od::json_type::boolean: return read_bool(r, value, out);
    case od::json_type::null: return read_null(r, value, out);
    case od::json_type::object:
    case od::json_type::array: break;
    }
    return fail(r, "not a value");
}

/* ---- objects and arrays that go on as JSON text: valid all through ---- */

namespace
{

br_status check_value(reading *r, od::value &value, int depth);

br_status check_text(reading *r, od::value &value)
{
    od::raw_json_string raw;
    br_bytes text;
    simdjson::error_code code = value.get_raw_json_string().get(raw);
    return code ? fail_code(r, code) : glance(r, raw, &text);
}

br_status check_number(reading *r, od::value &value)
{
    bool integer;
    std::string_view token = trimmed(value.raw_json_token());
    if (!is_number(token, &integer)) return fail(r, "not a number");
    return BR_OK;
}

br_status check_object(reading *r, od::object object, int depth)
{
    if (depth > BR_JSON_DEPTH_MAX) return fail(r, "too deep");
    for (auto item : object) {
        od::field field;
        simdjson::error_code code = std::move(item).get(field);
        if (code) return fail_code(r, code);
        r->at = field.key().raw();
        br_bytes name;
        br_status st = glance(r, field.key(), &name);
        if (st == BR_OK) st = check_value(r, field.value(), depth + 1);
        if (st != BR_OK) return st;
    }
    return BR_OK;
}

br_status check_array(reading *r, od::array array, int depth)
{
    if (depth > BR_JSON_DEPTH_MAX) return fail(r, "too deep");
    for (auto item : array) {
        od::value element;
        simdjson::error_code code = std::move(item).get(element);
        if (code) return fail_code(r, code);
        br_status st = check_value(r, element, depth + 1);
        if (st != BR_OK) return st;
    }
    return BR_OK;
}

br_status check_value(reading *r, od::value &value, int depth)
{
    od::json_type type;
    simdjson::error_code code = value.type().get(type);
    if (code) return fail_code(r, code);
    od::object object;
    od::array array;
    br_value ignored;
    switch (type) {
    case od::json_type::object:
        code = value.get_object().get(object);
        return code ? fail_code(r, code) : check_object(r, object, depth);
    case od::json_type::array:
        code = value.get_array().get(array);
        return code ? fail_code(r, code) : check_array(r, array, depth);
    case od::json_type::string: return check_text(r, value);
    case od::json_type::number: return check_number(r, value);
    case od::json_type::boolean: return read_bool(r, value, &ignored);
    case od::json_type::null: return read_null(r, value, &ignored);
    }
    return fail(r, "not a value");
}

br_status check(reading *r, od::object &object)
{
    return check_object(r, object, 1);
}

br_status check(reading *r, od::array &array)
{
    return check_array(r, array, 1);
}

template <class container> br_status keep_container(reading *r, container &c, br_value *out)
{
    std::string_view raw;
    simdjson::error_code code = c.raw_json().get(raw);
    if (!code) code = c.reset().error();
    if (code) return fail_code(r, code);
    br_status st = check(r, c);
    if (st != BR_OK) return st;
    code = c.reset().error();
    if (code) return fail_code(r, code);
    raw = trimmed(raw);
    out->kind = BR_JSON;
    out->s = br_bytes_of(raw.data(), raw.size());
    return BR_OK;
}

} // namespace

br_status keep_json(reading *r, od::object &object, br_value *out)
{
    return keep_container(r, object, out);
}

br_status keep_json(reading *r, od::array &array, br_value *out)
{
    return keep_container(r, array, out);
}

br_status read_any(reading *r, od::value &value, bool lenient, br_value *out)
{
    od::json_type type;
    simdjson::error_code code = value.type().get(type);
    if (code) return fail_code(r, code);
    if (type == od::json_type::object) {
        od::object object;
        code = value.get_object().get(object);
        return code ? fail_code(r, code) : keep_json(r, object, out);
    }
    if (type == od::json_type::array) {
        od::array array;
        code = value.get_array().get(array);
        return code ? fail_code(r, code) : keep_json(r, array, out);
    }
    return read_scalar(r, value, type, lenient, out);
}

} // namespace br_json
