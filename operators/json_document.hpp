/* operators/json_document.hpp - one JSON document being read: its values become br_values.
 * Shape:     begin -> read or keep what is wanted, in the document's order -> finish
 * Invariant: every simdjson error code is looked at; none of its throwing forms is used, so there
 *            is no exception that could cross into C.
 * Thread:    one. Only json.cpp and json_document.cpp include this, and simdjson with it. */
#ifndef BR_OPERATORS_JSON_DOCUMENT_HPP
#define BR_OPERATORS_JSON_DOCUMENT_HPP

#include <simdjson.h>

#include <cstring>

/* C headers: g++ does not know the keyword _Noreturn, and wants C's initializers to name all. */
#ifndef __clang__
#define _Noreturn [[noreturn]]
#endif
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
extern "C" {
#include "operators/json.h"
#include "runtime/base/alloc.h"
}
#pragma GCC diagnostic pop

namespace br_json
{

namespace od = simdjson::ondemand;

/* What is kept from document to document. */
struct parser {
    od::parser simd{};
    br_buf scratch{}; /* unescaped text that nobody keeps */
    ~parser() { br_buf_dispose(&scratch); }
};

/* One document being read. */
struct reading {
    br_json::parser *parser;
    br_bytes json; /* BR_JSON_PADDING bytes behind it are readable */
    br_arena *arena;
    br_err *err;
    bool escapes;   /* there is a backslash in it: text cannot be borrowed unseen */
    const char *at; /* about where the reading is, for messages; NULL: not known */
};

/* BR_ERR_BAD_RECORD with size and position. */
br_status fail(reading *r, const char *what);
br_status fail_code(reading *r, simdjson::error_code code);

/* Finds the structure and checks UTF-8, quotes and control characters. */
br_status begin(reading *r, od::document *doc);

/* Length of the text that begins at raw, escapes and all. */
size_t raw_text_len(const reading *r, const char *raw);
bool has_escape(const reading *r, const char *raw, size_t len);
/* Unescaped text that is only looked at: dies with the next call. */
br_status glance(reading *r, od::raw_json_string raw, br_bytes *out);
/* Unescaped text that lives as long as the arena and the document. */
br_status keep_text(reading *r, od::raw_json_string raw, br_bytes *out);

/* Neither object nor array. lenient: a number that brine cannot hold becomes BR_JSON instead of a
 * failure. */
br_status read_scalar(reading *r, od::value &value, od::json_type type, bool lenient,
                      br_value *out);
/* An object or array as BR_JSON, checked all through; it can be read again afterwards. */
br_status keep_json(reading *r, od::object &object, br_value *out);
br_status keep_json(reading *r, od::array &array, br_value *out);
/* Any value; objects and arrays as BR_JSON. */
br_status read_any(reading *r, od::value &value, bool lenient, br_value *out);

/* From wherever root was read up to, to the document's end: brackets must match, and nothing may
 * follow: two documents in one record would otherwise silently lose the second. */
template <class container> br_status finish(reading *r, od::document *doc, container &root)
{
    r->at = nullptr;
    simdjson::error_code code = root.raw_json().error();
    if (code) return fail_code(r, code);
    if (doc->current_location().get(r->at) == simdjson::SUCCESS)
        return fail(r, "more text behind the document's end (two records in one?)");
    return BR_OK;
}

} // namespace br_json

#endif
