/* jobs/job.c - see job.h. */
#include "jobs/job.h"

#include "jobs/bind.h"
#include "jobs/check.h"
#include "jobs/spec.h"
#include "runtime/base/alloc.h"
#include "runtime/base/limits.h"

#include <errno.h>
#include <stdio.h>

struct br_job {
    Brine__Job__Job *spec;
    br_places places;
};

enum { ARENA_BLOCK_BYTES = 64 * 1024 };

static bool has_all_kinds(const Brine__Job__Job *spec)
{
    for (size_t i = 0; i < spec->n_operators; i++)
        if (br_operator_is(spec->operators[i], BR_KIND_NONE)) return false;
    return true;
}

static void bind_and_check(br_job *job, const br_yaml *root, br_job_errors *errors)
{
    job->spec =
        (Brine__Job__Job *)br_bind(&brine__job__job__descriptor, root, &job->places, errors);
    bool bound = errors->count == 0;
    br_check_fields(job, job->spec, errors);
    /* What is missing would look like mistakes in the graph. */
    if (bound && has_all_kinds(job->spec) && job->spec->n_operators <= BR_OPERATORS_MAX)
        br_check_graph(job, job->spec, errors);
}

br_status br_job_parse(br_job **out, br_bytes text, const char *file, br_job_errors *errors)
{
    br_arena *arena = br_arena_create(ARENA_BLOCK_BYTES);
    br_job *job = BR_NEW(br_job);
    br_job_errors_init(errors, file);
    const br_yaml *root = br_yaml_parse(text, arena, errors);
    if (root) bind_and_check(job, root, errors);
    br_arena_destroy(arena);
    if (errors->count == 0) {
        *out = job;
        return BR_OK;
    }
    br_job_destroy(job);
    *out = NULL;
    return BR_ERR_CONFIG;
}

/* One byte more than allowed is read, so that br_job_parse sees that it is too much. */
static br_status read_file(const char *path, br_buf *out, br_err *err)
{
    FILE *file = fopen(path, "re");
    if (!file) return br_fail_errno(err, BR_ERR_IO, errno, "cannot open the job file");
    br_buf_reserve(out, BR_JOB_FILE_BYTES_MAX + 1);
    out->len = fread(out->data, 1, BR_JOB_FILE_BYTES_MAX + 1, file);
    br_status status = BR_OK;
    if (ferror(file)) status = br_fail_errno(err, BR_ERR_IO, errno, "cannot read the job file");
    (void)fclose(file);
    return status;
}

br_status br_job_read(br_job **out, const char *path, br_job_errors *errors)
{
    br_buf text = {0};
    br_err err;
    br_status status = read_file(path, &text, &err);
    if (status == BR_OK) {
        status = br_job_parse(out, br_buf_bytes(&text), path, errors);
    } else {
        *out = NULL;
        br_job_errors_init(errors, path);
        br_job_errors_add(errors, 0, 0, "", err.message);
        status = BR_ERR_CONFIG;
    }
    br_buf_dispose(&text);
    return status;
}

void br_job_destroy(br_job *job)
{
    if (!job) return;
    br_bind_free((ProtobufCMessage *)job->spec);
    br_places_dispose(&job->places);
    br_free(job);
}

const Brine__Job__Job *br_job_spec(const br_job *job)
{
    return job->spec;
}

static void add_at(const br_job *job, br_job_errors *errors, const char *path, const char *message)
{
    const br_place *place = br_places_find(&job->places, path);
    br_job_errors_add(errors, place ? place->line : 0, place ? place->column : 0, path, message);
}

void br_job_error_at(const br_job *job, br_job_errors *errors, const char *path, const char *fmt,
                     ...)
{
    char message[BR_ERR_MESSAGE_MAX];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(message, sizeof(message), fmt, args);
    va_end(args);
    add_at(job, errors, path, message);
}

void br_job_operator_error(const br_job *job, br_job_errors *errors, size_t index,
                           const char *field, const char *fmt, ...)
{
    char path[256], message[BR_ERR_MESSAGE_MAX];
    const char *kind = br_operator_kind_name(job->spec->operators[index]);
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(message, sizeof(message), fmt, args);
    va_end(args);
    (void)snprintf(path, sizeof(path), "operators[%zu].%s%s%s", index, kind, field[0] ? "." : "",
                   field);
    add_at(job, errors, path, message);
}
