/* tests/fuzz/fuzz_job_file.c - any bytes as a job file: parsed, planned and printed, or refused.
 * Claim: a refused file has at least one error with a message; a good one can be printed in full.
 */
#include "fuzz/fuzz.h"
#include "jobs/plan.h"

static void print_all(const br_plan *plan)
{
    br_buf out = {0};
    br_plan_print(plan, NULL, NULL, &out);
    br_plan_print_json(plan, NULL, NULL, &out);
    br_plan_print_dot(plan, &out);
    br_buf_dispose(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    br_job *job = NULL;
    br_plan *plan = NULL;
    br_job_errors errors = {0};
    br_status st = br_job_parse(&job, br_bytes_of(data, size), "fuzz.yaml", &errors);
    if (st == BR_OK) st = br_plan_compile(&plan, job, &errors);
    if (st == BR_OK) print_all(plan);
    BR_ASSERT((st == BR_OK) == (errors.count == 0));
    for (size_t i = 0; i < errors.count; i++) BR_ASSERT(errors.at[i].message[0] != '\0');
    br_buf out = {0};
    br_job_errors_print(&errors, &out);
    br_buf_dispose(&out);
    br_plan_destroy(plan);
    br_job_destroy(job);
    br_job_errors_dispose(&errors);
    return 0;
}
