/* tests/unit/operators/expr_fixture.h - one record, over which expressions are compiled and
 * evaluated as a stage does it: compile, then read the fields that were asked for, then evaluate.
 */
#ifndef BR_TESTS_EXPR_FIXTURE_H
#define BR_TESTS_EXPR_FIXTURE_H

#include "operators/expr.h"
#include "operators/json.h"
#include "runtime/base/limits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/* clang-format off */
#define FIXTURE_RECORD                                                                             \
    "{\"ad_id\": \"ad_7\", \"cost\": 12, \"rate\": 0.5, \"ok\": true, \"no\": false,"              \
    " \"nothing\": null, \"device\": {\"id\": \"d1\", \"os\": {\"name\": \"x\"}},"                 \
    " \"tags\": [\"t0\", \"t1\", \"t2\"],"                                                         \
    " \"big\": 9223372036854775807, \"huge\": 170141183460469231731687303715884105727,"            \
    " \"id\": 9007199254740993, \"user-id\": \"u1\", \"type\": \"click\","                         \
    " \"empty\": \"\","                                                                            \
    " \"nul\": \"a\\u0000b\", \"zero\": 0, \"neg\": -7, \"deep\": [[1, 2], {\"k\": [3]}]}"
/* clang-format on */

typedef struct fixture {
    br_layout *layout;
    br_scope *scope;
    br_arena *arena;
    br_row row;
    br_value slots[BR_SLOTS_MAX];
    br_buf text; /* of the last result */
    br_err err;
} fixture;

static const br_header fixture_headers[] = {
    {{"region", 6}, {"eu", 2}},
    {{"x-trace", 7}, {NULL, 0}},
    {{"region", 6}, {"us", 2}},
};

static int fixture_set_up(void **state)
{
    fixture *f = test_calloc(1, sizeof(*f));
    f->layout = br_layout_create();
    f->scope = br_scope_of_record(f->layout);
    f->arena = br_arena_create(64 * 1024);
    f->row = (br_row){.topic = "clicks",
                      .partition = 3,
                      .offset = 42,
                      .timestamp_ms = 1709315512577,
                      .time_ms = BR_NO_TIME,
                      .key = br_str("ad_7_3"),
                      .headers = fixture_headers,
                      .header_count = BR_COUNTOF(fixture_headers),
                      .slots = f->slots};
    *state = f;
    return 0;
}

static int fixture_tear_down(void **state)
{
    fixture *f = *state;
    br_layout_destroy(f->layout);
    br_arena_destroy(f->arena);
    br_buf_dispose(&f->text);
    test_free(f);
    return 0;
}

/* Fills the slots of all fields that the layout knows by now. */
static void fixture_read(fixture *f)
{
    static const char json[sizeof(FIXTURE_RECORD) + BR_JSON_PADDING] = FIXTURE_RECORD;
    const br_path *paths;
    const char *const *names;
    const uint32_t *slots;
    br_value values[BR_SLOTS_MAX];
    size_t count = br_layout_fields(f->layout, &paths, &names, &slots);
    br_json_reader *reader = br_json_reader_create(paths, count);
    br_bytes record = br_bytes_of(json, sizeof(FIXTURE_RECORD) - 1);
    assert_int_equal(br_json_read(reader, record, f->arena, values, &f->err), BR_OK);
    for (size_t i = 0; i < count; i++) f->slots[slots[i]] = values[i];
    br_json_reader_destroy(reader);
}

static br_expr *fixture_compile(fixture *f, const char *text)
{
    br_expr *expr;
    br_status st = br_expr_compile(&expr, br_str(text), f->scope, &f->err);
    if (st != BR_OK) fail_msg("%s", f->err.message);
    fixture_read(f);
    return expr;
}

/* The value's kind and text, as `integer 12`. */
static const char *fixture_show(fixture *f, const br_value *v)
{
    br_buf_reset(&f->text);
    br_buf_printf(&f->text, "%s ", br_kind_name(v->kind));
    br_value_to_text(v, &f->text);
    return br_buf_cstr(&f->text);
}

/* Compiles and evaluates; `bad: ` and the message where the row is refused. */
static const char *fixture_eval(fixture *f, const char *text, bool native)
{
    br_value v;
    br_expr *expr = fixture_compile(f, text);
    if (br_expr_is_native(expr) != native) fail_msg("`%s` is %snative", text, native ? "not " : "");
    br_status st = br_expr_eval(expr, &f->row, f->arena, &v, &f->err);
    if (st == BR_OK) {
        fixture_show(f, &v);
    } else {
        assert_int_equal(st, BR_ERR_BAD_RECORD);
        assert_int_equal(f->err.status, st);
        br_buf_reset(&f->text);
        br_buf_printf(&f->text, "bad: %s", f->err.message);
    }
    br_expr_destroy(expr);
    return br_buf_cstr(&f->text);
}

static void fixture_expect(fixture *f, const char *text, bool native, const char *wanted)
{
    const char *got = fixture_eval(f, text, native);
    bool bad = strncmp(wanted, "bad: ", 5) == 0;
    bool fine =
        bad ? strncmp(got, wanted, 5) == 0 && strstr(got, wanted + 5) : strcmp(got, wanted) == 0;
    if (!fine) fail_msg("`%s` gives `%s`, not `%s`", text, got, wanted);
}

/* Compiling fails, and the message says this. */
static void fixture_refuse(fixture *f, const char *text, br_status status, const char *says)
{
    br_expr *expr = (br_expr *)f; /* compile must clear it */
    br_status st = br_expr_compile(&expr, br_str(text), f->scope, &f->err);
    assert_null(expr);
    if (st != status || f->err.status != status) fail_msg("`%s` gives status %d", text, st);
    if (!strstr(f->err.message, says)) fail_msg("`%s` lacks `%s`", f->err.message, says);
}

#define FIXTURE_TEST(f) cmocka_unit_test_setup_teardown(f, fixture_set_up, fixture_tear_down)

#endif
