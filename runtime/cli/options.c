/* runtime/cli/options.c - see options.h. */
#include "runtime/cli/options.h"

#include "runtime/base/names.h"
#include "runtime/base/units.h"
#include "runtime/cli/cli.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { NAMES_MAX = 64, HELP_INDENT = 26 };

static const br_option *find(const br_usage *usage, br_bytes name)
{
    for (size_t i = 0; i < usage->option_count; i++)
        if (br_bytes_equal(name, br_str(usage->options[i].name))) return &usage->options[i];
    return NULL;
}

static br_status unknown(const br_usage *usage, br_bytes name, br_err *err)
{
    const char *names[NAMES_MAX] = {"help"};
    size_t count = 1;
    for (size_t i = 0; i < usage->option_count && count < NAMES_MAX; i++)
        names[count++] = usage->options[i].name;
    const char *near = br_nearest(name, names, count);
    return br_fail(err, BR_ERR_CONFIG, "unknown option `--%.*s`%s%s%s; `brine %s --help` lists all",
                   (int)name.len, name.data, near ? ", did you mean `--" : "", near ? near : "",
                   near ? "`?" : "", usage->command);
}

static br_status set_share(const br_option *option, const char *text, br_err *err)
{
    char *end;
    errno = 0;
    double v = strtod(text, &end);
    bool digits = text[0] == '.' || (text[0] >= '0' && text[0] <= '9');
    if (!digits || *end != '\0' || errno != 0 || !(v >= 0 && v <= 1))
        return br_fail(err, BR_ERR_CONFIG, "`%s` is not a share from 0 to 1, such as 0.5", text);
    *(double *)option->into = v;
    return BR_OK;
}

static br_status set_value(const br_option *option, const char *text, br_err *err)
{
    switch (option->kind) {
    case BR_OPTION_FLAG: *(bool *)option->into = true; return BR_OK;
    case BR_OPTION_TEXT:
        if (text[0] == '\0') return br_fail(err, BR_ERR_CONFIG, "an empty value is not allowed");
        *(const char **)option->into = text;
        return BR_OK;
    case BR_OPTION_INT:
        return br_parse_int(br_str(text), option->min, option->max, (int64_t *)option->into, err);
    case BR_OPTION_SHARE: return set_share(option, text, err);
    }
    return BR_OK;
}

/* One `--name…` at argv[*i]; moves *i over a value that stands alone. */
static br_status take_option(const br_usage *usage, int argc, char **argv, int *i, br_err *err)
{
    const char *text = argv[*i] + 2;
    const char *equals = strchr(text, '=');
    br_bytes name = br_bytes_of(text, equals ? (size_t)(equals - text) : strlen(text));
    const br_option *option = find(usage, name);
    if (!option) return unknown(usage, name, err);
    bool flag = option->kind == BR_OPTION_FLAG;
    if (flag && equals)
        return br_fail(err, BR_ERR_CONFIG, "option `--%s` takes no value", option->name);
    const char *value = equals ? equals + 1 : NULL;
    if (!flag && !value) {
        if (*i + 1 == argc)
            return br_fail(err, BR_ERR_CONFIG, "option `--%s` needs a value: --%s %s", option->name,
                           option->name, option->value);
        value = argv[++*i];
    }
    if (set_value(option, value, err) != BR_OK) return br_wrap(err, "option `--%s`", option->name);
    return BR_OK;
}

static br_status check_count(const br_usage *usage, const br_args *args, br_err *err)
{
    if (args->count > usage->argument_max)
        return br_fail(err, BR_ERR_CONFIG, "`%s` is one argument too many; usage: brine %s%s%s",
                       args->at[usage->argument_max], usage->command,
                       usage->arguments ? " " : " [OPTIONS]",
                       usage->arguments ? usage->arguments : "");
    if (args->count < usage->argument_min)
        return br_fail(err, BR_ERR_CONFIG, "an argument is missing; usage: brine %s %s",
                       usage->command, usage->arguments);
    return BR_OK;
}

br_status br_options_parse(const br_usage *usage, int argc, char **argv, br_args *out, br_err *err)
{
    bool only_arguments = false;
    *out = (br_args){argv + 1, 0};
    for (int i = 1; i < argc; i++) {
        bool hyphen = !only_arguments && argv[i][0] == '-' && argv[i][1] != '\0';
        if (!hyphen) {
            out->at[out->count++] = argv[i];
        } else if (strcmp(argv[i], "--") == 0) {
            only_arguments = true;
        } else if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            return BR_END;
        } else if (argv[i][1] != '-') {
            return br_fail(err, BR_ERR_CONFIG,
                           "`%s` is not an option: options begin with two hyphens; `brine %s "
                           "--help` lists all",
                           argv[i], usage->command);
        } else if (take_option(usage, argc, argv, &i, err) != BR_OK) {
            return err->status;
        }
    }
    return check_count(usage, out, err);
}

static void help_line(br_buf *out, const char *name, const char *value, const char *help)
{
    size_t start = out->len;
    br_buf_printf(out, "  --%s%s%s", name, value ? " " : "", value ? value : "");
    if (out->len - start >= HELP_INDENT) {
        br_buf_addc(out, '\n');
        start = out->len;
    }
    while (out->len - start < HELP_INDENT) br_buf_addc(out, ' ');
    for (const char *c = help; *c; c++) {
        br_buf_addc(out, *c);
        if (*c == '\n') br_buf_printf(out, "%*s", HELP_INDENT, "");
    }
    br_buf_addc(out, '\n');
}

void br_options_help(const br_usage *usage, br_buf *out)
{
    br_buf_printf(out, "Usage: brine %s%s%s [OPTIONS]\n\n%s\nOptions:\n", usage->command,
                  usage->arguments ? " " : "", usage->arguments ? usage->arguments : "",
                  usage->summary);
    for (size_t i = 0; i < usage->option_count; i++) {
        const br_option *option = &usage->options[i];
        help_line(out, option->name, option->value, option->help);
    }
    help_line(out, "help", NULL, "this text");
    if (usage->notes) br_buf_printf(out, "\n%s", usage->notes);
}

bool br_options_read(const br_usage *usage, int argc, char **argv, br_args *out, int *code)
{
    br_err err;
    br_status st = br_options_parse(usage, argc, argv, out, &err);
    if (st == BR_OK) return true;
    if (st == BR_END) {
        br_buf text = {0};
        br_options_help(usage, &text);
        fputs(br_buf_cstr(&text), stdout);
        br_buf_dispose(&text);
        *code = BR_EXIT_DONE;
    } else {
        *code = br_cli_failed(usage->command, BR_EXIT_USAGE, &err);
    }
    return false;
}
