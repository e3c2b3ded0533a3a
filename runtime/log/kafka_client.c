/* runtime/log/kafka_client.c - one rd_kafka_t with what we know of it: made from the log's
 * settings, its log lines taken, ended within a bounded time.
 * Thread:    take_line runs on librdkafka's threads. */
#include "runtime/log/kafka.h"

#include "runtime/base/alloc.h"
#include "runtime/base/logger.h"

#include <stdio.h>
#include <string.h>
#include <syslog.h>
#include <time.h>

/* ---- log lines ---- */

static br_level shown_as(int syslog_level, const char *facility)
{
    /* One client's setting is another's "will be ignored": a user sets them for all at once. */
    if (strcmp(facility, "CONFWARN") == 0) return BR_DEBUG;
    /* Comes again as ERROR where it matters; each reconnect, each try for an id says it. */
    if (strcmp(facility, "FAIL") == 0 || strcmp(facility, "GETPID") == 0) return BR_INFO;
    if (syslog_level <= LOG_WARNING) return BR_WARN;
    return syslog_level <= LOG_INFO ? BR_INFO : BR_DEBUG;
}

/* "Group "g" changed join state wait-sync -> steady (…)" */
static void take_join_state(br_kafka_client *client, const char *text)
{
    const char *arrow = strstr(text, " -> ");
    if (arrow) atomic_store(&client->steady, strncmp(arrow + 4, "steady", 6) == 0);
}

/* Kept for the error message of whoever waits for an answer. "[thrd:…]: " is of no use there. */
static void take_failure(br_kafka_client *client, const char *text)
{
    const char *body = text[0] == '[' ? strstr(text, "]: ") : NULL;
    pthread_mutex_lock(&client->lock);
    snprintf(client->last_failure, sizeof(client->last_failure), "%s", body ? body + 3 : text);
    pthread_mutex_unlock(&client->lock);
}

static void take_line(const rd_kafka_t *rk, int level, const char *facility, const char *text)
{
    br_kafka_client *client = rd_kafka_opaque(rk);
    if (strcmp(facility, "CGRPJOINSTATE") == 0) take_join_state(client, text);
    if (strcmp(facility, "FAIL") == 0) take_failure(client, text);
    if (level >= LOG_DEBUG && !client->user_debug) return;
    br_log_line(shown_as(level, facility), "librdkafka", "facility=%s text=\"%s\"", facility, text);
}

/* ---- configuration ---- */

/* A setting without a value is left out. */
static br_status set_all(rd_kafka_conf_t *conf, const br_setting *settings, size_t count,
                         br_err *err)
{
    br_status status = BR_OK;
    for (size_t i = 0; i < count && status == BR_OK; i++)
        if (settings[i].value) status = br_kafka_set(conf, &settings[i], err);
    return status;
}

/* The join state shows in librdkafka's debug lines only. */
static br_status set_debug(rd_kafka_conf_t *conf, br_kafka_client *client, br_err *err)
{
    char users[256], contexts[sizeof(users) + sizeof(",cgrp")];
    size_t size = sizeof(users);
    if (rd_kafka_conf_get(conf, "debug", users, &size) != RD_KAFKA_CONF_OK) size = 0;
    client->user_debug = size > 1;
    (void)snprintf(contexts, sizeof(contexts), "%s%scgrp", client->user_debug ? users : "",
                   client->user_debug ? "," : "");
    br_setting debug = {"debug", contexts};
    return br_kafka_set(conf, &debug, err);
}

static br_status configure(rd_kafka_conf_t *conf, br_kafka_client *client, const br_kafka_log *log,
                           const br_kafka_role *role, br_err *err)
{
    const br_setting common[] = {
        {"bootstrap.servers", log->brokers},
        {"client.id", "brine"},
        {"socket.nagle.disable", "true"}, /* on by default before 2.10: 40 ms at each request */
    };
    br_status status = set_all(conf, common, BR_COUNTOF(common), err);
    if (status == BR_OK) status = set_all(conf, role->settings, role->setting_count, err);
    if (status == BR_OK) status = set_all(conf, log->settings, log->setting_count, err);
    if (status == BR_OK && role->rebalance) status = set_debug(conf, client, err);
    rd_kafka_conf_set_opaque(conf, client);
    rd_kafka_conf_set_log_cb(conf, take_line);
    if (role->rebalance) rd_kafka_conf_set_rebalance_cb(conf, role->rebalance);
    if (role->delivery) rd_kafka_conf_set_dr_msg_cb(conf, role->delivery);
    return status;
}

static void free_client(br_kafka_client *client)
{
    pthread_mutex_destroy(&client->lock);
    br_free(client->brokers);
    br_free(client);
}

br_status br_kafka_client_open(br_kafka_client **out, const br_kafka_log *log,
                               const br_kafka_role *role, br_err *err)
{
    br_kafka_client *client = BR_NEW(br_kafka_client);
    client->brokers = br_strdup(log->brokers);
    client->owner = role->owner;
    pthread_mutex_init(&client->lock, NULL);

    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    char reason[256];
    br_status status = configure(conf, client, log, role, err);
    if (status == BR_OK) {
        client->rk = rd_kafka_new(role->type, conf, reason, sizeof(reason));
        if (!client->rk) status = br_fail(err, BR_ERR_CONFIG, "kafka settings: %s", reason);
    }
    if (status != BR_OK) {
        rd_kafka_conf_destroy(conf); /* ours again where rd_kafka_new failed */
        free_client(client);
        return status;
    }
    *out = client;
    return BR_OK;
}

/* ---- the end ---- */

/* rd_kafka_destroy can hang for ever below 2.6.1 (a queued message of a partition that was removed,
 * an assignment that comes while closing), so it runs beside and is waited for. */
typedef struct ending {
    br_kafka_client *client;
    pthread_mutex_t lock;
    pthread_cond_t done;
    bool finished, abandoned;
} ending;

static void free_ending(ending *end)
{
    free_client(end->client);
    pthread_mutex_destroy(&end->lock);
    pthread_cond_destroy(&end->done);
    br_free(end);
}

static void *destroy(void *arg)
{
    ending *end = arg;
    rd_kafka_destroy_flags(end->client->rk, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
    pthread_mutex_lock(&end->lock);
    end->finished = true;
    bool abandoned = end->abandoned;
    pthread_cond_signal(&end->done);
    pthread_mutex_unlock(&end->lock);
    if (abandoned) free_ending(end);
    return NULL;
}

/* true: it has ended, end is ours to free. */
static bool wait_for_end(ending *end)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += BR_KAFKA_TIMEOUT_MS / 1000;
    int failed = 0;
    pthread_mutex_lock(&end->lock);
    while (!end->finished && failed == 0)
        failed = pthread_cond_timedwait(&end->done, &end->lock, &until);
    bool finished = end->finished;
    end->abandoned = !finished;
    pthread_mutex_unlock(&end->lock);
    return finished;
}

void br_kafka_client_close(br_kafka_client *client)
{
    if (!client) return;
    ending *end = BR_NEW(ending);
    end->client = client;
    pthread_mutex_init(&end->lock, NULL);
    pthread_cond_init(&end->done, NULL);
    pthread_t thread;
    if (pthread_create(&thread, NULL, destroy, end) != 0) {
        destroy(end);
        free_ending(end);
    } else if (wait_for_end(end)) {
        pthread_join(thread, NULL);
        free_ending(end);
    } else {
        pthread_detach(thread);
        br_log_line(BR_ERROR, "librdkafka does not end; its client is left behind", "wait_ms=%d",
                    BR_KAFKA_TIMEOUT_MS);
    }
}
