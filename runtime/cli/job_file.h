/* runtime/cli/job_file.h - a job file as the commands use it: read, compiled, its log settings.
 * All errors of the file go to standard error (or, as JSON, to standard output), a line each. */
#ifndef BR_RUNTIME_CLI_JOB_FILE_H
#define BR_RUNTIME_CLI_JOB_FILE_H

#include "jobs/plan.h"
#include "runtime/log/log.h"

typedef struct br_job_file {
    br_job *job;
    br_plan *plan;
    char *brokers;        /* expanded; NULL: none given */
    br_setting *settings; /* librdkafka properties, expanded */
    size_t setting_count;
} br_job_file;

/* true: the caller closes it. false: the errors were printed (json: as a JSON object) and *code is
 * the exit code. */
BR_MUST_USE bool br_job_file_open(br_job_file *out, const char *command, const char *path,
                                  bool json, int *code);
void br_job_file_close(br_job_file *file);

#endif
