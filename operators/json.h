/* operators/json.h - reads JSON records: only the fields that a stage needs (simdjson on demand).
 * What is not asked for is not validated beyond UTF-8, quotes, brackets and the document's end.
 * Of fields with the same name the first wins. Names are compared without their escapes.
 * The C face of the one C++ file; no exception crosses it.
 * Thread: a br_json_reader belongs to one thread. */
#ifndef BR_OPERATORS_JSON_H
#define BR_OPERATORS_JSON_H

#include "operators/path.h"
#include "operators/value.h"
#include "runtime/base/arena.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes that must be readable (not necessarily set) behind any text given to a reader. */
enum { BR_JSON_PADDING = 64 };
/* Objects and arrays inside each other in a value that is read as BR_JSON: checking it recurses. */
enum { BR_JSON_DEPTH_MAX = 256 };

typedef struct br_json_reader br_json_reader;

/* paths: copied. A path with count 0 yields the whole document as BR_JSON (an object). */
br_json_reader *br_json_reader_create(const br_path *paths, size_t count);
void br_json_reader_destroy(br_json_reader *reader); /* NULL is fine */
/* Reads every path of one document into out[0..count). json must have BR_JSON_PADDING bytes behind
 * it and live as long as the values: text without escapes and raw json borrow it, other text lives
 * in arena. A path that is not there, or leads through something that is no object or array, is
 * BR_MISSING. BR_JSON values are valid JSON all through. BR_ERR_BAD_RECORD with position and
 * reason: not a JSON object, invalid or cut off, bad UTF-8, escapes or surrogates, a number that is
 * out of range (beyond 128 bits or not finite), too deep. */
BR_MUST_USE br_status br_json_read(br_json_reader *reader, br_bytes json, br_arena *arena,
                                   br_value *out, br_err *err);

/* One field of a BR_JSON value, for paths into computed values; copies json (padding not needed).
 * BR_OK with *out (BR_MISSING where there is none), or BR_ERR_BAD_RECORD. */
BR_MUST_USE br_status br_json_get(br_bytes json, const br_path *path, br_arena *arena,
                                  br_value *out, br_err *err);
/* Every element of a BR_JSON array in order; BR_ERR_BAD_RECORD where it is none. All are read
 * before the first is visited, so visit may read JSON itself. visit's status other than BR_OK ends
 * it and is returned. value lives as long as arena; name is empty. */
typedef br_status (*br_json_visit)(void *arg, br_bytes name, const br_value *value, br_err *err);
BR_MUST_USE br_status br_json_each(br_bytes json, br_arena *arena, br_json_visit visit, void *arg,
                                   br_err *err);
/* Every field of a BR_JSON object: name is unescaped; value of nested objects and arrays is
 * BR_JSON, and numbers that brine cannot hold are BR_JSON too (their text goes on unchanged). */
BR_MUST_USE br_status br_json_fields(br_bytes json, br_arena *arena, br_json_visit visit, void *arg,
                                     br_err *err);

#ifdef __cplusplus
}
#endif

#endif
