/* runtime/cli/job_file.c - see job_file.h. */
#include "runtime/cli/job_file.h"

#include "jobs/env.h"
#include "runtime/base/alloc.h"
#include "runtime/base/json_out.h"
#include "runtime/cli/cli.h"

#include <stdio.h>

static void print_errors_json(const br_job_errors *errors)
{
    br_buf buf = {0};
    br_json_out out = br_json_begin(&buf);
    br_json_open(&out, '{');
    br_json_put_text(&out, "file", errors->file ? errors->file : "");
    br_json_put_bool(&out, "valid", false);
    br_json_name(&out, br_str("errors"));
    br_json_open(&out, '[');
    for (size_t i = 0; i < errors->count; i++) {
        br_json_open(&out, '{');
        br_json_put_int(&out, "line", errors->at[i].line);
        br_json_put_int(&out, "column", errors->at[i].column);
        br_json_put_text(&out, "path", errors->at[i].path);
        br_json_put_text(&out, "message", errors->at[i].message);
        br_json_close(&out, '}');
    }
    br_json_close(&out, ']');
    br_json_close(&out, '}');
    puts(br_buf_cstr(&buf));
    br_buf_dispose(&buf);
}

static void print_errors(const br_job_errors *errors)
{
    br_buf buf = {0};
    br_job_errors_print(errors, &buf);
    fputs(br_buf_cstr(&buf), stderr);
    br_buf_dispose(&buf);
}

static br_status expand(const char *text, char **out, br_err *err)
{
    br_buf buf = {0};
    br_status st = br_job_expand(text, &buf, err);
    *out = st == BR_OK ? br_strdup(br_buf_cstr(&buf)) : NULL;
    br_buf_dispose(&buf);
    return st;
}

static br_status read_settings(br_job_file *file, br_err *err)
{
    const Brine__Job__Settings *settings = br_job_spec(file->job)->settings;
    br_status st = BR_OK;
    if (!settings) return BR_OK;
    if (settings->brokers) st = expand(settings->brokers, &file->brokers, err);
    file->settings = br_calloc(settings->n_kafka, sizeof(*file->settings));
    for (size_t i = 0; st == BR_OK && i < settings->n_kafka; i++) {
        char *value;
        st = expand(settings->kafka[i]->value, &value, err);
        if (st != BR_OK) break;
        file->settings[file->setting_count++] = (br_setting){settings->kafka[i]->name, value};
    }
    return st;
}

bool br_job_file_open(br_job_file *out, const char *command, const char *path, bool json, int *code)
{
    br_job_errors errors;
    br_err err;
    *out = (br_job_file){0};
    br_status st = br_job_read(&out->job, path, &errors);
    if (st == BR_OK) st = br_plan_compile(&out->plan, out->job, &errors);
    *code = BR_EXIT_USAGE;
    if (st != BR_OK && json)
        print_errors_json(&errors);
    else if (st != BR_OK)
        print_errors(&errors);
    else if ((st = read_settings(out, &err)) != BR_OK)
        (void)br_cli_failed(command, *code, &err);
    br_job_errors_dispose(&errors);
    if (st == BR_OK) return true;
    br_job_file_close(out);
    return false;
}

void br_job_file_close(br_job_file *file)
{
    for (size_t i = 0; i < file->setting_count; i++)
        br_free((void *)(uintptr_t)file->settings[i].value);
    br_free(file->settings);
    br_free(file->brokers);
    br_plan_destroy(file->plan);
    br_job_destroy(file->job);
}
