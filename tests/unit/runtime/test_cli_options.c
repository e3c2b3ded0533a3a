/* tests/unit/runtime/test_cli_options.c - the option parser: every form, every refusal, help. */
#include "runtime/cli/options.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { WORDS_MAX = 8 };

typedef struct values {
    bool json;
    const char *topic;
    int64_t count;
    double hot;
} values;

/* Parses words (up to the first NULL) with a table of one option of each kind. */
static br_status parse(const char *const words[WORDS_MAX], values *v, char **storage, br_args *args,
                       br_err *err)
{
    const br_option options[] = {
        {"json", NULL, "as JSON", BR_OPTION_FLAG, &v->json, 0, 0},
        {"topic", "NAME", "which topic", BR_OPTION_TEXT, &v->topic, 0, 0},
        {"count", "N", "how many", BR_OPTION_INT, &v->count, 1, 100},
        {"hot", "SHARE", "how hot", BR_OPTION_SHARE, &v->hot, 0, 0},
    };
    const br_usage usage = {.command = "test",
                            .arguments = "FILE [FILE]",
                            .argument_min = 1,
                            .argument_max = 2,
                            .summary = "Tests.\n",
                            .options = options,
                            .option_count = BR_COUNTOF(options)};
    int argc = 0;
    static char command[] = "test";
    storage[argc++] = command;
    for (int i = 0; i < WORDS_MAX && words[i]; i++) storage[argc++] = (char *)(uintptr_t)words[i];
    *v = (values){.topic = "default", .count = 5};
    return br_options_parse(&usage, argc, storage, args, err);
}

static void options__every_form__is_taken(void **state)
{
    /* Values apart or behind =, flags, arguments before, between and behind, and after --. */
    (void)state;
    static const struct {
        const char *words[WORDS_MAX];
        values want;
        const char *arguments;
    } cases[] = {
        {{"f"}, {false, "default", 5, 0}, "f"},
        {{"--topic", "t", "f"}, {false, "t", 5, 0}, "f"},
        {{"f", "--topic=t=u"}, {false, "t=u", 5, 0}, "f"},
        {{"f", "--json", "g"}, {true, "default", 5, 0}, "f g"},
        {{"--count", "100", "f", "--hot", "0.25"}, {false, "default", 100, 0.25}, "f"},
        {{"--hot=1", "f", "--count=1"}, {false, "default", 1, 1}, "f"},
        {{"--", "--json", "-x"}, {false, "default", 5, 0}, "--json -x"},
        {{"-"}, {false, "default", 5, 0}, "-"},
        {{"--topic", "--json", "f"}, {false, "--json", 5, 0}, "f"},
        {{"--count=1", "--count=2", "f"}, {false, "default", 2, 0}, "f"},
    };
    for (size_t i = 0; i < BR_COUNTOF(cases); i++) {
        values v;
        char *storage[WORDS_MAX + 1];
        br_args args;
        br_err err;
        br_buf got = {0};
        assert_int_equal(parse(cases[i].words, &v, storage, &args, &err), BR_OK);
        assert_int_equal(v.json, cases[i].want.json);
        assert_string_equal(v.topic, cases[i].want.topic);
        assert_int_equal(v.count, cases[i].want.count);
        assert_true(v.hot == cases[i].want.hot);
        for (size_t a = 0; a < args.count; a++)
            br_buf_printf(&got, "%s%s", a > 0 ? " " : "", args.at[a]);
        assert_string_equal(br_buf_cstr(&got), cases[i].arguments);
        br_buf_dispose(&got);
    }
}

static void options__wrong_use__is_refused_with_what_is_allowed(void **state)
{
    /* Each mistake names the option, what was found, and the nearest or the bounds. */
    (void)state;
    static const struct {
        const char *words[WORDS_MAX];
        const char *message;
    } cases[] = {
        {{"f", "--tpoic", "t"}, "did you mean `--topic`"},
        {{"f", "--hepl"}, "did you mean `--help`"},
        {{"f", "--zzzzzzz"}, "unknown option `--zzzzzzz`; `brine test --help`"},
        {{"f", "--topic"}, "option `--topic` needs a value: --topic NAME"},
        {{"f", "--topic="}, "option `--topic`: an empty value"},
        {{"f", "--json=yes"}, "option `--json` takes no value"},
        {{"f", "--count", "0"}, "option `--count`: `0` is not a whole number from 1 to 100"},
        {{"f", "--count", "101"}, "from 1 to 100"},
        {{"f", "--count", "1e1"}, "`1e1`"},
        {{"f", "--hot", "1.5"}, "`1.5` is not a share from 0 to 1"},
        {{"f", "--hot", "-0.1"}, "not a share"},
        {{"f", "--hot", "nan"}, "not a share"},
        {{"f", "--hot", "0.5x"}, "not a share"},
        {{"f", "-j"}, "`-j` is not an option: options begin with two hyphens"},
        {{"f", "g", "h"}, "`h` is one argument too many"},
        {{"--json"}, "an argument is missing; usage: brine test FILE [FILE]"},
    };
    for (size_t i = 0; i < BR_COUNTOF(cases); i++) {
        values v;
        char *storage[WORDS_MAX + 1];
        br_args args;
        br_err err;
        assert_int_equal(parse(cases[i].words, &v, storage, &args, &err), BR_ERR_CONFIG);
        if (!strstr(err.message, cases[i].message)) print_error("%s\n", err.message);
        assert_non_null(strstr(err.message, cases[i].message));
    }
}

static void options__help__is_asked_for_anywhere(void **state)
{
    /* --help and -h win over missing arguments. */
    (void)state;
    static const char *const cases[][WORDS_MAX] = {{"--help"}, {"-h"}, {"f", "--json", "--help"}};
    for (size_t i = 0; i < BR_COUNTOF(cases); i++) {
        values v;
        char *storage[WORDS_MAX + 1];
        br_args args;
        br_err err;
        assert_int_equal(parse(cases[i], &v, storage, &args, &err), BR_END);
    }
}

static void options__help_text__comes_from_the_table(void **state)
{
    /* Golden: usage, summary, aligned options, long names on a line of their own, notes. */
    (void)state;
    bool flag;
    const br_option options[] = {
        {"json", NULL, "as JSON", BR_OPTION_FLAG, &flag, 0, 0},
        {"a-very-long-option", "WITH-VALUE", "two\nlines", BR_OPTION_TEXT, &flag, 0, 0},
    };
    const br_usage usage = {.command = "test",
                            .arguments = "FILE",
                            .argument_max = 1,
                            .summary = "Tests.\n",
                            .notes = "Notes.\n",
                            .options = options,
                            .option_count = BR_COUNTOF(options)};
    br_buf got = {0};
    br_options_help(&usage, &got);
    assert_string_equal(br_buf_cstr(&got), "Usage: brine test FILE [OPTIONS]\n"
                                           "\n"
                                           "Tests.\n"
                                           "\n"
                                           "Options:\n"
                                           "  --json                  as JSON\n"
                                           "  --a-very-long-option WITH-VALUE\n"
                                           "                          two\n"
                                           "                          lines\n"
                                           "  --help                  this text\n"
                                           "\n"
                                           "Notes.\n");
    br_buf_dispose(&got);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options__every_form__is_taken),
        cmocka_unit_test(options__wrong_use__is_refused_with_what_is_allowed),
        cmocka_unit_test(options__help__is_asked_for_anywhere),
        cmocka_unit_test(options__help_text__comes_from_the_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
