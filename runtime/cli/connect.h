/* runtime/cli/connect.h - which log and which state folder a command uses; the same everywhere.
 * Log:   --local or --brokers; else BRINE_LOCAL or BRINE_BROKERS; else the job file's brokers; else
 *        the embedded log in ./brine-data.
 * State: --state-dir; else BRINE_STATE_DIR; else <folder of the embedded log>/state; with brokers
 *        ./brine-state. */
#ifndef BR_RUNTIME_CLI_CONNECT_H
#define BR_RUNTIME_CLI_CONNECT_H

#include "runtime/cli/options.h"
#include "runtime/log/log.h"

typedef struct br_connect {
    const char *brokers, *local, *state_dir; /* options; NULL: not given */
    const char *job_brokers;                 /* from a job file; NULL: none */
    const br_setting *settings;              /* librdkafka properties from a job file */
    size_t setting_count;
} br_connect;

/* Rows of an option table; c: a br_connect. */
/* clang-format off */
#define BR_CONNECT_OPTIONS(c) \
    {"brokers", "LIST", "Kafka's bootstrap servers, host:port[,…] (or BRINE_BROKERS)", \
     BR_OPTION_TEXT, &(c).brokers, 0, 0}, \
    {"local", "DIR", "use the embedded log in this folder (or BRINE_LOCAL);\n" \
     "without brokers: ./brine-data", BR_OPTION_TEXT, &(c).local, 0, 0}
#define BR_STATE_DIR_OPTION(c) \
    {"state-dir", "DIR", "folder of the state (or BRINE_STATE_DIR); else DIR/state of\n" \
     "the embedded log, or ./brine-state", BR_OPTION_TEXT, &(c).state_dir, 0, 0}
/* clang-format on */

/* true: flags or the environment name a log; false: what br_connect_log opens is a default. */
bool br_connect_is_given(const br_connect *connect);
/* BR_ERR_CONFIG: both kinds of log are named. Otherwise as br_log_open_kafka and _local. */
BR_MUST_USE br_status br_connect_log(br_log **out, const br_connect *connect, br_err *err);
/* For commands, when br_connect_log failed: options that contradict each other are wrong usage. */
int br_connect_exit_code(const br_err *err);
/* Appends the path of the state folder (it need not exist). BR_ERR_CONFIG as br_connect_log. */
BR_MUST_USE br_status br_connect_state_dir(const br_connect *connect, br_buf *out, br_err *err);

#endif
