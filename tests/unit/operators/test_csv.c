/* tests/unit/operators/test_csv.c - cells of a line, their types, and what is refused. */
#include "operators/csv.h"
#include "runtime/base/alloc.h"
#include "runtime/base/rng.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

enum { CELLS_MAX = 8 };

static const char *const kinds[] = {"missing", "null",  "bool", "int",
                                    "big",     "float", "text", "json"};

static int setup(void **state)
{
    *state = br_arena_create(1024);
    return 0;
}

static int teardown(void **state)
{
    br_arena_destroy(*state);
    return 0;
}

/* `text a | int 1`, or the message. */
static void show(br_arena *arena, br_bytes line, size_t count, br_buf *out)
{
    br_value cells[CELLS_MAX];
    br_err err;
    br_buf_reset(out);
    br_status st = br_csv_read(line, arena, cells, count, &err);
    if (st != BR_OK) {
        assert_int_equal(st, BR_ERR_BAD_RECORD);
        br_buf_adds(out, err.message);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        br_buf_printf(out, "%s%s", i > 0 ? " | " : "", kinds[cells[i].kind]);
        if (br_value_is_null(&cells[i])) continue;
        br_buf_addc(out, ' ');
        br_value_to_text(&cells[i], out);
    }
}

static void read__valid_lines__cells_with_their_types(void **state)
{
    /* RFC 4180, with numbers only where a number is what was written. FAULTS 48. */
    static const struct {
        const char *line;
        size_t count;
        const char *want;
    } cases[] = {
        {"a,b", 2, "text a | text b"},
        {"a,b\r\n", 2, "text a | text b"},
        {"a\n", 1, "text a"},
        {"", 1, "null"},
        {",", 2, "null | null"},
        {"\"\",", 2, "text  | null"},
        {"\"a,b\",\"c\nd\"", 2, "text a,b | text c\nd"},
        {"\"say \"\"hi\"\"\",1", 2, "text say \"hi\" | int 1"},
        {"\"\"\"\",\"\"\"\"\"\"", 2, "text \" | text \"\""},
        {" a , 1", 2, "text  a  | text  1"},
        {"0,-1,9007199254740993", 3, "int 0 | int -1 | int 9007199254740993"},
        {"18446744073709551616", 1, "big 18446744073709551616"},
        {"170141183460469231731687303715884105728", 1,
         "text 170141183460469231731687303715884105728"},
        {"007,+7,-0,1e5,0x1,-,--1", 7,
         "text 007 | text +7 | text -0 | text 1e5 | text 0x1 | text - | text --1"},
        {"0.5,-12.25,1.50", 3, "float 0.5 | float -12.25 | float 1.5"},
        {"1.,.5,1.2.3,00.5,1.5e3", 5, "text 1. | text .5 | text 1.2.3 | text 00.5 | text 1.5e3"},
        {"\"7\",true,null", 3, "text 7 | text true | text null"},
        {"0.1111111111111111111111111111111111111111111111111111111111111111", 1,
         "text 0.1111111111111111111111111111111111111111111111111111111111111111"},
    };
    br_buf out = {0};
    for (size_t i = 0; i < BR_COUNTOF(cases); i++) {
        show(*state, br_str(cases[i].line), cases[i].count, &out);
        assert_string_equal(br_buf_cstr(&out), cases[i].want);
    }
    br_buf_dispose(&out);
}

static void read__invalid_lines__bad_record_with_its_place(void **state)
{
    /* Wrong counts, stray quotes and second lines are refused with what is wrong where. */
    static const struct {
        const char *line, *want;
    } cases[] = {
        {"a", "CSV value of 1 bytes: 1 cells; `columns` names 2"},
        {"a,b,c", "CSV value of 5 bytes: 3 cells; `columns` names 2"},
        {"a,b,", "CSV value of 4 bytes: 3 cells; `columns` names 2"},
        {"a,\"b", "CSV value, at byte 2 of 4: this quote is not closed (cut off?)"},
        {"a,\"b\"\"", "CSV value, at byte 2 of 6: this quote is not closed (cut off?)"},
        {"\"a\"b,c", "CSV value, at byte 3 of 6: a comma must follow a closing quote"},
        {"a\"b,c", "CSV value, at byte 1 of 5: a quote inside a cell that has none around"},
        {"a,b\nc,d", "CSV value, at byte 3 of 7: a second line; a record holds one line"},
        {"a,b\n\n", "CSV value, at byte 3 of 4: a second line; a record holds one line"},
    };
    br_buf out = {0};
    for (size_t i = 0; i < BR_COUNTOF(cases); i++) {
        show(*state, br_str(cases[i].line), 2, &out);
        assert_string_equal(br_buf_cstr(&out), cases[i].want);
    }
    br_buf_dispose(&out);
}

static void read__written_by_rfc__reads_back(void **state)
{
    /* Any bytes that are quoted as RFC 4180 says come back as they were. */
    uint64_t seed = 4180;
    print_message("seed %" PRIu64 "\n", seed);
    br_rng rng = {seed};
    static const char alphabet[] = "\",\r\n a\xff\0";
    br_buf line = {0};
    for (int round = 0; round < 5000; round++) {
        char text[3][8];
        size_t len[3];
        br_buf_reset(&line);
        for (size_t c = 0; c < 3; c++) {
            len[c] = (size_t)br_rng_below(&rng, sizeof(text[c]));
            br_buf_adds(&line, c > 0 ? ",\"" : "\"");
            for (size_t i = 0; i < len[c]; i++) {
                text[c][i] = alphabet[br_rng_below(&rng, sizeof(alphabet))];
                if (text[c][i] == '"') br_buf_addc(&line, '"');
                br_buf_addc(&line, text[c][i]);
            }
            br_buf_addc(&line, '"');
        }
        br_value cells[3];
        br_err err;
        assert_int_equal(br_csv_read(br_buf_bytes(&line), *state, cells, 3, &err), BR_OK);
        for (size_t c = 0; c < 3; c++) {
            assert_int_equal(cells[c].kind, BR_TEXT);
            assert_true(br_bytes_equal(cells[c].s, br_bytes_of(text[c], len[c])));
        }
        br_arena_reset(*state);
    }
    br_buf_dispose(&line);
}

static void read__random_bytes__cells_or_bad_record(void **state)
{
    /* No bytes lead it beyond the line (ASan watches). */
    uint64_t seed = 99;
    print_message("seed %" PRIu64 "\n", seed);
    br_rng rng = {seed};
    static const char alphabet[] = "\",\"\n1-.0a";
    br_buf out = {0};
    size_t good = 0;
    for (int round = 0; round < 20000; round++) {
        size_t len = (size_t)br_rng_below(&rng, 12);
        char *line = br_alloc(len); /* exactly as large: a read behind it is found */
        for (size_t i = 0; i < len; i++)
            line[i] = alphabet[br_rng_below(&rng, sizeof(alphabet) - 1)];
        show(*state, br_bytes_of(line, len), 2, &out);
        good += memcmp(br_buf_cstr(&out), "CSV", 3) != 0;
        br_free(line);
        br_arena_reset(*state);
    }
    assert_in_range(good, 1000, 19000);
    br_buf_dispose(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(read__valid_lines__cells_with_their_types, setup, teardown),
        cmocka_unit_test_setup_teardown(read__invalid_lines__bad_record_with_its_place, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(read__written_by_rfc__reads_back, setup, teardown),
        cmocka_unit_test_setup_teardown(read__random_bytes__cells_or_bad_record, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
