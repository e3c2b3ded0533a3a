/* runtime/log/local_consumer.c - a consumer group's member on the embedded log. See local.h.
 * Shape:     a group's members are threads of one process and share its partitions by remainder;
 * each holds <dir>/groups/<group>.lock[.N]. The first poll assigns, each poll serves in turn.
 * Invariant: the lock goes with the process, so a killed member blocks nobody. */
#include "runtime/base/alloc.h"
#include "runtime/base/names.h"
#include "runtime/log/local_chunk.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/file.h>
#include <unistd.h>

typedef struct partition {
    br_tp at; /* the topic's name belongs to the consumer */
    uint32_t topic_id;
    bool started;
    void *user;
    int64_t position;
    int64_t told_end; /* what at_end was last called with; -1: not yet */
} partition;

typedef struct consumer {
    br_consumer base;
    br_local *log;
    br_consumer_listener listener;
    char *group;
    char **topics;
    size_t topic_count;
    partition *partitions;
    br_tp *assignment; /* the same, as the listener gets it */
    size_t count, cap;
    size_t turn; /* partition that is served next */
    bool assigned;
    int32_t member, members;
    int lock; /* file descriptor; -1: none */
    br_local_chunk chunk;
} consumer;

/* NULL: not one of its topics and partitions. */
static partition *find(const consumer *c, br_tp at)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->partitions[i].at.partition == at.partition &&
            strcmp(c->partitions[i].at.topic, at.topic) == 0)
            return &c->partitions[i];
    return NULL;
}

/* ---- opening ---- */

static br_status lock_group(consumer *c, br_err *err)
{
    br_buf path = {0};
    br_buf_printf(&path, "%s/groups", c->log->dir);
    int failed = mkdir(br_buf_cstr(&path), 0777) != 0 && errno != EEXIST ? errno : 0;
    br_buf_printf(&path, "/%s.lock", c->group);
    if (c->member > 0) br_buf_printf(&path, ".%" PRId32, c->member);
    if (!failed) {
        c->lock = open(br_buf_cstr(&path), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        if (c->lock < 0 || flock(c->lock, LOCK_EX | LOCK_NB) != 0) failed = errno;
    }
    br_status st = BR_OK;
    if (failed == EWOULDBLOCK)
        st = br_fail(err, BR_ERR_IN_USE,
                     "group `%s` has a member already: the embedded log allows one; stop the other "
                     "process (it holds %s)",
                     c->group, br_buf_cstr(&path));
    else if (failed)
        st = br_fail_errno(err, BR_ERR_IO, failed, "cannot lock %s", br_buf_cstr(&path));
    br_buf_dispose(&path);
    return st;
}

static br_status add_topic(consumer *c, const char *name, br_err *err)
{
    br_local_topic topic;
    if (find(c, (br_tp){name, c->member})) return BR_OK; /* named twice */
    if (br_local_find_partition(c->log, (br_tp){name, 0}, &topic, err) != BR_OK) return err->status;
    char *own = br_strdup(name);
    c->topics[c->topic_count++] = own;
    size_t need = c->count + (size_t)topic.partitions;
    c->partitions = br_grow(c->partitions, &c->cap, need, sizeof(*c->partitions));
    for (int32_t i = c->member; i < topic.partitions; i += c->members)
        c->partitions[c->count++] =
            (partition){.at = {own, i}, .topic_id = topic.id, .told_end = -1};
    return BR_OK;
}

static br_status open_member(consumer *c, const br_consumer_opts *opts, br_err *err)
{
    if (br_check_name("group", br_str(opts->group), BR_LOCAL_GROUP_BYTES_MAX, err) != BR_OK)
        return err->status;
    c->group = br_strdup(opts->group);
    c->topics = br_calloc(opts->topic_count, sizeof(*c->topics));
    for (size_t i = 0; i < opts->topic_count; i++)
        if (add_topic(c, opts->topics[i], err) != BR_OK) return err->status;
    c->assignment = br_calloc(c->count, sizeof(*c->assignment));
    for (size_t i = 0; i < c->count; i++) c->assignment[i] = c->partitions[i].at;
    return lock_group(c, err);
}

br_status br_local_consumer_open(br_consumer **out, br_log *log, const br_consumer_opts *opts,
                                 br_err *err)
{
    *out = NULL;
    consumer *c = BR_NEW(consumer);
    c->base.vtable = &br_local_vtable;
    c->log = (br_local *)log;
    c->listener = opts->listener;
    c->member = opts->member;
    c->members = opts->members > 0 ? opts->members : 1;
    c->lock = -1;
    if (open_member(c, opts, err) != BR_OK) {
        br_local_consumer_close(&c->base);
        return err->status;
    }
    *out = &c->base;
    return BR_OK;
}

void br_local_consumer_close(br_consumer *base)
{
    consumer *c = (consumer *)base;
    if (c->assigned && c->listener.revoked)
        c->listener.revoked(c->listener.self, c->assignment, c->count);
    if (c->lock >= 0) (void)close(c->lock);
    br_local_chunk_dispose(&c->chunk);
    for (size_t i = 0; i < c->topic_count; i++) br_free(c->topics[i]);
    br_free(c->topics);
    br_free(c->partitions);
    br_free(c->assignment);
    br_free(c->group);
    br_free(c);
}

/* ---- polling ---- */

br_status br_local_consumer_start(br_consumer *base, br_tp at, int64_t offset, void *user,
                                  br_err *err)
{
    consumer *c = (consumer *)base;
    partition *part = find(c, at);
    if (!c->assigned || !part)
        return br_fail(err, BR_ERR_FENCED, "%s[%" PRId32 "] is not assigned to this member",
                       at.topic, at.partition);
    if (offset < 0)
        return br_fail(err, BR_ERR_BROKER,
                       "%s[%" PRId32 "]: no offset %" PRId64 ": they begin at 0", at.topic,
                       at.partition, offset);
    part->started = true;
    part->user = user;
    part->position = offset;
    part->told_end = -1;
    return BR_OK;
}

/* One poll under way. */
typedef struct poll_round {
    br_record_fn fn;
    void *arg;
    size_t max;
    size_t taken;
    bool event; /* something other than a record was told */
} poll_round;

/* A chunk of one partition. BR_END: the callback wants no more now. */
static br_status serve(consumer *c, partition *part, poll_round *round, br_err *err)
{
    if (br_local_chunk_read(&c->chunk, c->log, part->topic_id, part->at, part->position,
                            round->max - round->taken, err) != BR_OK)
        return err->status;
    br_local_delivery delivery = {part->at, round->fn, round->arg, part->user, part->position, 0};
    br_status st = br_local_chunk_deliver(&c->chunk, &delivery, err);
    part->position = delivery.position;
    round->taken += delivery.count;
    if (st != BR_OK || part->position != c->chunk.end || part->told_end == part->position)
        return st;
    part->told_end = part->position;
    round->event = true;
    if (c->listener.at_end) c->listener.at_end(c->listener.self, part->user, part->position);
    return BR_OK;
}

/* Every started partition once, as far as max allows. */
static br_status serve_all(consumer *c, poll_round *round, br_err *err)
{
    for (size_t i = 0; i < c->count && round->taken < round->max; i++) {
        partition *part = &c->partitions[c->turn];
        c->turn = (c->turn + 1) % c->count;
        if (!part->started) continue;
        br_status st = serve(c, part, round, err);
        if (st != BR_OK) return st;
    }
    return BR_OK;
}

br_status br_local_consumer_poll(br_consumer *base, int timeout_ms, size_t max, br_record_fn fn,
                                 void *arg, br_err *err)
{
    consumer *c = (consumer *)base;
    int64_t deadline = br_mono_ns(&br_system_clock) + (int64_t)timeout_ms * 1000000;
    poll_round round = {.fn = fn, .arg = arg, .max = max};
    if (!c->assigned) {
        c->assigned = true;
        round.event = true;
        if (c->listener.assigned) c->listener.assigned(c->listener.self, c->assignment, c->count);
    }
    for (;;) {
        size_t commits = br_local_commits(c->log), before;
        br_status st;
        do {
            before = round.taken;
            st = serve_all(c, &round, err);
        } while (st == BR_OK && round.taken > before && round.taken < max);
        if (st < 0) return st;
        if (round.taken > 0) return BR_OK;
        if (round.event || !br_local_wait(c->log, commits, deadline)) return BR_EMPTY;
    }
}

/* ---- committed offsets ---- */

enum { GROUP_KEY_MAX = BR_LOCAL_GROUP_BYTES_MAX + 1 + BR_LOCAL_PARTITION_KEY };

static MDB_val group_key(const consumer *c, char out[GROUP_KEY_MAX], uint32_t topic,
                         int32_t partition_number)
{
    size_t len = strlen(c->group) + 1; /* with the NUL: no group begins another */
    memcpy(out, c->group, len);
    br_local_partition_key(out + len, topic, partition_number);
    return (MDB_val){len + BR_LOCAL_PARTITION_KEY, out};
}

static int get_offset(consumer *c, MDB_txn *txn, uint32_t topic, int32_t partition_number,
                      int64_t *offset)
{
    char bytes[GROUP_KEY_MAX];
    MDB_val key = group_key(c, bytes, topic, partition_number), val;
    *offset = -1;
    int rc = mdb_get(txn, c->log->groups, &key, &val);
    if (rc == MDB_NOTFOUND) return 0;
    if (rc == 0 && val.mv_size != 8) return MDB_CORRUPTED;
    if (rc == 0) *offset = (int64_t)br_get_u64_be(val.mv_data);
    return rc;
}

br_status br_local_consumer_committed(br_consumer *base, const br_tp *at, int64_t *offsets,
                                      size_t count, br_err *err)
{
    consumer *c = (consumer *)base;
    for (size_t i = 0; i < count; i++) {
        br_local_topic topic;
        MDB_txn *txn;
        if (br_local_find_partition(c->log, at[i], &topic, err) != BR_OK) return err->status;
        if (br_local_read_begin(c->log, &txn, err) != BR_OK) return err->status;
        int rc = get_offset(c, txn, topic.id, at[i].partition, &offsets[i]);
        br_local_read_end(c->log, txn);
        if (rc != 0) return br_local_fail(c->log, rc, "read committed offsets", err);
    }
    return BR_OK;
}

int br_local_put_offsets(void *arg, MDB_txn *txn)
{
    const br_local_offsets_arg *put = arg;
    const consumer *c = (const consumer *)put->consumer;
    for (size_t i = 0; i < put->count; i++) {
        char bytes[GROUP_KEY_MAX], number[8];
        const partition *part = find(c, put->at[i]);
        MDB_val key = group_key(c, bytes, part->topic_id, part->at.partition);
        br_put_u64_be(number, (uint64_t)put->offsets[i]);
        MDB_val val = {sizeof(number), number};
        int rc = mdb_put(txn, c->log->groups, &key, &val, 0);
        if (rc != 0) return rc;
    }
    return 0;
}

br_status br_local_check_offsets(const br_local_offsets_arg *arg, br_err *err)
{
    for (size_t i = 0; i < arg->count; i++)
        if (!find((const consumer *)arg->consumer, arg->at[i]))
            return br_fail(err, BR_ERR_FENCED, "%s[%" PRId32 "] is not assigned to this member",
                           arg->at[i].topic, arg->at[i].partition);
    return BR_OK;
}

br_status br_local_consumer_commit(br_consumer *base, const br_tp *at, const int64_t *offsets,
                                   size_t count, br_err *err)
{
    br_local_offsets_arg put = {base, at, offsets, count};
    if (count == 0) return BR_OK;
    if (br_local_check_offsets(&put, err) != BR_OK) return err->status;
    return br_local_write(((consumer *)base)->log, br_local_put_offsets, &put, "commit offsets",
                          err);
}
