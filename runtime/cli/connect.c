/* runtime/cli/connect.c - see connect.h. */
#include "runtime/cli/connect.h"

#include "runtime/cli/cli.h"

#include <stdlib.h>

static const char default_local_dir[] = "./brine-data";

/* Exactly one of the two is set. */
typedef struct choice {
    const char *brokers, *local;
} choice;

/* The environment variable, where it is set to something. */
static const char *environment(const char *name)
{
    const char *value = getenv(name);
    return value && value[0] ? value : NULL;
}

static br_status choose(const br_connect *connect, choice *out, br_err *err)
{
    *out = (choice){connect->brokers, connect->local};
    if (out->brokers && out->local)
        return br_fail(err, BR_ERR_CONFIG,
                       "--brokers and --local are both given: a command uses one log, leave one "
                       "out");
    if (out->brokers || out->local) return BR_OK;
    *out = (choice){environment("BRINE_BROKERS"), environment("BRINE_LOCAL")};
    if (out->brokers && out->local)
        return br_fail(err, BR_ERR_CONFIG,
                       "BRINE_BROKERS and BRINE_LOCAL are both set: unset one of them, or give "
                       "--brokers or --local");
    if (out->brokers || out->local) return BR_OK;
    out->brokers = connect->job_brokers;
    if (!out->brokers) out->local = default_local_dir;
    return BR_OK;
}

bool br_connect_is_given(const br_connect *connect)
{
    return connect->brokers || connect->local || environment("BRINE_BROKERS") ||
           environment("BRINE_LOCAL");
}

br_status br_connect_log(br_log **out, const br_connect *connect, br_err *err)
{
    choice chosen;
    *out = NULL;
    if (choose(connect, &chosen, err) != BR_OK) return err->status;
    if (chosen.local) return br_log_open_local(out, chosen.local, true, err);
    return br_log_open_kafka(out, chosen.brokers, connect->settings, connect->setting_count, err);
}

int br_connect_exit_code(const br_err *err)
{
    return err->status == BR_ERR_CONFIG ? BR_EXIT_USAGE : BR_EXIT_NOT_STARTED;
}

br_status br_connect_state_dir(const br_connect *connect, br_buf *out, br_err *err)
{
    choice chosen;
    const char *dir = connect->state_dir ? connect->state_dir : environment("BRINE_STATE_DIR");
    if (dir) {
        br_buf_adds(out, dir);
        return BR_OK;
    }
    if (choose(connect, &chosen, err) != BR_OK) return err->status;
    if (chosen.local)
        br_buf_printf(out, "%s/state", chosen.local);
    else
        br_buf_adds(out, "./brine-state");
    return BR_OK;
}
