/* tests/unit/runtime/test_cli_parts.c - what commands are made of: tables, lines, last values. */
#include "runtime/cli/grid.h"
#include "runtime/cli/latest.h"
#include "runtime/cli/lines.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- tables ---- */

static void fill_grid(br_grid *grid)
{
    br_grid_add(grid, BR_LITERAL("über"));
    br_grid_printf(grid, "%d", 5);
    br_grid_add(grid, BR_LITERAL(""));
    br_grid_add(grid, BR_LITERAL("a\nb\x1b[1m"));
    br_grid_printf(grid, "%d", 12345);
    br_grid_add(grid, BR_LITERAL("z"));
}

static void grid__aligned__pads_by_characters(void **state)
{
    /* Golden: numbers to the right, text to the left, the last column is not padded. */
    (void)state;
    static const br_column columns[] = {{"NAME", false}, {"N", true}, {"LAST", false}};
    br_grid *grid = br_grid_create(columns, 3);
    br_buf got = {0};
    fill_grid(grid);
    br_grid_write(grid, true, &got);
    assert_string_equal(br_buf_cstr(&got), "NAME               N  LAST\n"
                                           "über               5  \n"
                                           "a\\x0ab\\x1b[1m  12345  z\n");
    br_buf_dispose(&got);
    br_grid_destroy(grid);
}

static void grid__plain__is_tab_separated(void **state)
{
    /* For programs: one tab between cells; control characters cannot break a row. */
    (void)state;
    static const br_column columns[] = {{"NAME", false}, {"N", true}, {"LAST", false}};
    br_grid *grid = br_grid_create(columns, 3);
    br_buf got = {0};
    fill_grid(grid);
    br_grid_write(grid, false, &got);
    assert_string_equal(br_buf_cstr(&got), "NAME\tN\tLAST\nüber\t5\t\na\\x0ab\\x1b[1m\t12345\tz\n");
    br_buf_dispose(&got);
    br_grid_destroy(grid);
}

static void grid__without_rows__has_its_titles(void **state)
{
    /* An empty result still says what it would have been. */
    (void)state;
    static const br_column columns[] = {{"A", false}, {"B", true}};
    br_grid *grid = br_grid_create(columns, 2);
    br_buf got = {0};
    br_grid_write(grid, true, &got);
    assert_string_equal(br_buf_cstr(&got), "A  B\n");
    br_buf_dispose(&got);
    br_grid_destroy(grid);
}

/* ---- lines ---- */

static int file_with(const char *bytes, size_t len)
{
    FILE *file = tmpfile();
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, len, file), len);
    assert_int_equal(fflush(file), 0);
    int fd = dup(fileno(file));
    assert_true(fd >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    return fd;
}

static void lines__any_text__is_split_at_line_ends(void **state)
{
    /* Empty lines count; the last may lack its end; bytes are not touched. */
    (void)state;
    static const struct {
        br_bytes text;
        const char *want;
    } cases[] = {{BR_LITERAL(""), ""},
                 {BR_LITERAL("\n"), "1:;"},
                 {BR_LITERAL("a"), "1:a;"},
                 {BR_LITERAL("a\n"), "1:a;"},
                 {BR_LITERAL("a\n\nb\r\nc"), "1:a;2:;3:b\r;4:c;"}};
    for (size_t i = 0; i < BR_COUNTOF(cases); i++) {
        br_lines lines = {.fd = file_with(cases[i].text.data, cases[i].text.len), .len_max = 100};
        br_buf got = {0};
        br_bytes line;
        br_err err;
        br_status st;
        while ((st = br_lines_next(&lines, &line, &err)) == BR_OK)
            br_buf_printf(&got, "%d:%.*s;", (int)lines.number, (int)line.len, line.data);
        assert_int_equal(st, BR_END);
        assert_string_equal(br_buf_cstr(&got), cases[i].want);
        br_buf_dispose(&got);
        br_lines_dispose(&lines);
        assert_int_equal(close(lines.fd), 0);
    }
}

static void lines__longer_than_the_buffer__come_whole(void **state)
{
    /* Lines of a megabyte, that no read returns at once, between short ones. */
    (void)state;
    enum { LONG = 1024 * 1024 };
    br_buf text = {0};
    for (int i = 0; i < 3; i++) {
        br_buf_adds(&text, "short\n");
        br_buf_reserve(&text, LONG);
        memset(text.data + text.len, 'a' + i, LONG);
        text.len += LONG;
        br_buf_addc(&text, '\n');
    }
    br_lines lines = {.fd = file_with(text.data, text.len), .len_max = LONG};
    br_bytes line;
    br_err err;
    for (int i = 0; i < 6; i++) {
        assert_int_equal(br_lines_next(&lines, &line, &err), BR_OK);
        assert_int_equal(line.len, i % 2 ? LONG : 5);
        assert_int_equal(line.data[line.len - 1], i % 2 ? 'a' + i / 2 : 't');
    }
    assert_int_equal(br_lines_next(&lines, &line, &err), BR_END);
    br_lines_dispose(&lines);
    assert_int_equal(close(lines.fd), 0);
    br_buf_dispose(&text);
}

static void lines__beyond_the_bound__name_their_number(void **state)
{
    /* A line without an end cannot take all memory. */
    (void)state;
    enum { LONG = 1024 * 1024 };
    br_buf text = {0};
    br_buf_adds(&text, "one\ntwo\n");
    br_buf_reserve(&text, LONG);
    memset(text.data + text.len, 'x', LONG);
    text.len += LONG;
    br_lines lines = {.fd = file_with(text.data, text.len), .len_max = 1000};
    br_bytes line;
    br_err err;
    assert_int_equal(br_lines_next(&lines, &line, &err), BR_OK);
    assert_int_equal(br_lines_next(&lines, &line, &err), BR_OK);
    assert_int_equal(br_lines_next(&lines, &line, &err), BR_ERR_LIMIT);
    assert_non_null(strstr(err.message, "line 3 is longer than 1000 bytes"));
    br_lines_dispose(&lines);
    assert_int_equal(close(lines.fd), 0);
    br_buf_dispose(&text);
}

static void lines__unreadable__is_an_error(void **state)
{
    /* A descriptor that cannot be read is not an empty file. */
    (void)state;
    br_lines lines = {.fd = -1, .len_max = 1000};
    br_bytes line;
    br_err err;
    assert_int_equal(br_lines_next(&lines, &line, &err), BR_ERR_IO);
    assert_non_null(strstr(err.message, "line 1"));
    br_lines_dispose(&lines);
}

/* ---- last values ---- */

static void put(br_latest *latest, br_bytes key, br_bytes value)
{
    br_record record = {.topic = "t", .key = key, .value = value};
    br_latest_put(latest, &record);
}

static br_status list(void *arg, const br_record *record, br_err *err)
{
    (void)err;
    br_buf_addb(arg, record->key);
    br_buf_addc(arg, '=');
    br_buf_addb(arg, record->value);
    br_buf_addc(arg, ' ');
    return BR_OK;
}

static void latest__puts__keep_the_last_in_order_of_keys(void **state)
{
    /* Later values win, null takes a key away, and a key may come back. */
    (void)state;
    br_latest *latest = br_latest_create();
    br_buf got = {0};
    br_err err;
    put(latest, BR_LITERAL("b"), BR_LITERAL("1"));
    put(latest, BR_LITERAL("a"), BR_LITERAL("short"));
    put(latest, BR_LITERAL("a"), BR_LITERAL("a longer value"));
    put(latest, BR_LITERAL("c"), BR_LITERAL("gone"));
    put(latest, BR_LITERAL("c"), BR_NO_BYTES);
    put(latest, BR_LITERAL("d"), BR_LITERAL("was gone"));
    put(latest, BR_LITERAL("d"), BR_NO_BYTES);
    put(latest, BR_LITERAL("d"), BR_LITERAL("back"));
    put(latest, BR_LITERAL(""), BR_LITERAL(""));
    put(latest, BR_LITERAL("a\0b"), BR_LITERAL("0"));
    assert_int_equal(br_latest_each(latest, list, &got, &err), BR_OK);
    assert_true(
        br_bytes_equal(br_buf_bytes(&got), BR_LITERAL("= a=a longer value a\0b=0 b=1 d=back ")));
    br_buf_dispose(&got);
    br_latest_destroy(latest);
}

static br_status count_in_order(void *arg, const br_record *record, br_err *err)
{
    (void)err;
    char want[16];
    int *n = arg;
    (void)snprintf(want, sizeof(want), "%08d", *n);
    assert_true(br_bytes_equal(record->key, br_str(want)));
    assert_true(br_bytes_equal(record->value, br_str(want)));
    return ++*n == 60000 ? BR_END : BR_OK;
}

static void latest__many_keys__are_all_kept_and_visits_can_end(void **state)
{
    /* The table grows; a visit's status ends the walk and is handed on. */
    (void)state;
    br_latest *latest = br_latest_create();
    br_err err;
    char key[16];
    for (int i = 99999; i >= 0; i--) {
        (void)snprintf(key, sizeof(key), "%08d", i);
        put(latest, br_str(key), BR_LITERAL("old"));
        put(latest, br_str(key), br_str(key));
    }
    int n = 0;
    assert_int_equal(br_latest_each(latest, count_in_order, &n, &err), BR_END);
    assert_int_equal(n, 60000);
    br_latest_destroy(latest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grid__aligned__pads_by_characters),
        cmocka_unit_test(grid__plain__is_tab_separated),
        cmocka_unit_test(grid__without_rows__has_its_titles),
        cmocka_unit_test(lines__any_text__is_split_at_line_ends),
        cmocka_unit_test(lines__longer_than_the_buffer__come_whole),
        cmocka_unit_test(lines__beyond_the_bound__name_their_number),
        cmocka_unit_test(lines__unreadable__is_an_error),
        cmocka_unit_test(latest__puts__keep_the_last_in_order_of_keys),
        cmocka_unit_test(latest__many_keys__are_all_kept_and_visits_can_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
