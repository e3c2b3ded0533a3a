/* runtime/log/kafka_error.c - librdkafka's error codes as brine's statuses and messages. */
#include "runtime/log/kafka.h"

#include <stdio.h>

bool br_kafka_is_transient(rd_kafka_resp_err_t code)
{
    switch ((int)code) {
    case RD_KAFKA_RESP_ERR__TRANSPORT:
    case RD_KAFKA_RESP_ERR__RESOLVE:
    case RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN:
    case RD_KAFKA_RESP_ERR__TIMED_OUT:
    case RD_KAFKA_RESP_ERR__TIMED_OUT_QUEUE:
    case RD_KAFKA_RESP_ERR__WAIT_COORD:
    case RD_KAFKA_RESP_ERR__NODE_UPDATE:
    case RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT:
    case RD_KAFKA_RESP_ERR_NETWORK_EXCEPTION:
    case RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS:
    case RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_NOT_COORDINATOR:
    case RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION:
    case RD_KAFKA_RESP_ERR_BROKER_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_REPLICA_NOT_AVAILABLE: return true;
    default: return false;
    }
}

static bool is_unreachable(rd_kafka_resp_err_t code)
{
    return code == RD_KAFKA_RESP_ERR__TRANSPORT || code == RD_KAFKA_RESP_ERR__RESOLVE ||
           code == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN || code == RD_KAFKA_RESP_ERR__TIMED_OUT;
}

static br_status status_of(rd_kafka_resp_err_t code)
{
    switch ((int)code) {
    case RD_KAFKA_RESP_ERR__FENCED:
    case RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH:
    case RD_KAFKA_RESP_ERR_PRODUCER_FENCED:
    case RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID: return BR_ERR_FENCED;
    case RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET:
    case RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE: return BR_ERR_LIMIT;
    case RD_KAFKA_RESP_ERR__INVALID_ARG:
    case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
    case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
    case RD_KAFKA_RESP_ERR__AUTHENTICATION:
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
    case RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION:
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED:
    case RD_KAFKA_RESP_ERR_INCONSISTENT_GROUP_PROTOCOL:
    case RD_KAFKA_RESP_ERR_INVALID_GROUP_ID:
    case RD_KAFKA_RESP_ERR_INVALID_SESSION_TIMEOUT:
    case RD_KAFKA_RESP_ERR_INVALID_PARTITIONS:
    case RD_KAFKA_RESP_ERR_INVALID_REPLICATION_FACTOR:
    case RD_KAFKA_RESP_ERR_INVALID_CONFIG:
    case RD_KAFKA_RESP_ERR_POLICY_VIOLATION: return BR_ERR_CONFIG;
    default: return BR_ERR_BROKER;
    }
}

/* "; the last failure: …", or nothing. */
static void last_failure(br_kafka_client *client, char out[320])
{
    pthread_mutex_lock(&client->lock);
    if (client->last_failure[0])
        snprintf(out, 320, " (the last failure: %s)", client->last_failure);
    else
        out[0] = '\0';
    pthread_mutex_unlock(&client->lock);
}

br_status br_kafka_fail(br_err *err, br_kafka_client *client, rd_kafka_resp_err_t code,
                        const char *reason, const char *what, ...)
{
    char subject[BR_KAFKA_WHAT_MAX], failure[320];
    va_list args;
    va_start(args, what);
    vsnprintf(subject, sizeof(subject), what, args);
    va_end(args);
    if (!reason) reason = rd_kafka_err2str(code);
    if (is_unreachable(code)) {
        last_failure(client, failure);
        br_fail(err, BR_ERR_BROKER, "%s: no broker answered at %s: %s%s; check that it runs there",
                subject, client->brokers, reason, failure);
    } else {
        br_fail(err, status_of(code), "%s: %s", subject, reason);
    }
    err->cause = (int)code;
    return err->status;
}
