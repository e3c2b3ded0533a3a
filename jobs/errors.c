/* jobs/errors.c - see errors.h. */
#include "jobs/errors.h"

#include "runtime/base/alloc.h"

void br_job_errors_init(br_job_errors *errors, const char *file)
{
    *errors = (br_job_errors){.file = br_strdup(file)};
}

static bool known(const br_job_errors *errors, int line, int column, const char *path,
                  const char *message)
{
    for (size_t i = 0; i < errors->count; i++) {
        const br_job_error *error = &errors->at[i];
        if (error->line == line && error->column == column && strcmp(error->path, path) == 0 &&
            strcmp(error->message, message) == 0)
            return true;
    }
    return false;
}

bool br_job_errors_has(const br_job_errors *errors, const char *path)
{
    for (size_t i = 0; i < errors->count; i++)
        if (strcmp(errors->at[i].path, path) == 0) return true;
    return false;
}

static bool is_before(int line, int column, const br_job_error *other)
{
    return line != other->line ? line < other->line : column < other->column;
}

void br_job_errors_add(br_job_errors *errors, int line, int column, const char *path,
                       const char *message)
{
    if (errors->count == BR_JOB_ERRORS_MAX || known(errors, line, column, path, message)) return;
    bool last = errors->count == BR_JOB_ERRORS_MAX - 1;
    if (last) {
        line = column = 0;
        path = "";
        message = "there are more errors; correct these first";
    }
    errors->at = br_grow(errors->at, &errors->cap, errors->count + 1, sizeof(*errors->at));
    size_t at = errors->count++;
    for (; !last && at > 0 && is_before(line, column, &errors->at[at - 1]); at--)
        errors->at[at] = errors->at[at - 1];
    errors->at[at] = (br_job_error){line, column, br_strdup(path), br_strdup(message)};
}

void br_job_errors_dispose(br_job_errors *errors)
{
    for (size_t i = 0; i < errors->count; i++) {
        br_free(errors->at[i].path);
        br_free(errors->at[i].message);
    }
    br_free(errors->at);
    br_free(errors->file);
    *errors = (br_job_errors){0};
}

void br_job_errors_print(const br_job_errors *errors, br_buf *out)
{
    for (size_t i = 0; i < errors->count; i++) {
        const br_job_error *error = &errors->at[i];
        br_buf_adds(out, errors->file);
        if (error->line > 0) br_buf_printf(out, ":%d:%d", error->line, error->column);
        if (error->path[0]) br_buf_printf(out, ": %s", error->path);
        br_buf_printf(out, ": %s\n", error->message);
    }
}
