/* jobs/env.c - see env.h. */
#include "jobs/env.h"

#include <stdlib.h>

static const char name_chars[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";

static br_status add_variable(br_bytes name, br_buf *out, br_err *err)
{
    char text[128];
    memcpy(text, name.data, name.len);
    text[name.len] = '\0';
    const char *value = getenv(text);
    if (!value)
        return br_fail(err, BR_ERR_CONFIG, "the environment variable `%s` is not set", text);
    br_buf_adds(out, value);
    return BR_OK;
}

br_status br_job_expand(const char *text, br_buf *out, br_err *err)
{
    br_status status = BR_OK;
    for (const char *open; status == BR_OK && (open = strstr(text, "${")) != NULL;) {
        br_bytes name = br_bytes_of(open + 2, strspn(open + 2, name_chars));
        br_buf_add(out, text, (size_t)(open - text));
        if (name.len == 0 || name.len > 100 || name.data[name.len] != '}')
            return br_fail(err, BR_ERR_CONFIG,
                           "`${` must be followed by the name of an environment variable (letters, "
                           "digits, _; up to 100) and `}`");
        status = add_variable(name, out, err);
        text = name.data + name.len + 1;
    }
    if (status == BR_OK) br_buf_adds(out, text);
    return status;
}
