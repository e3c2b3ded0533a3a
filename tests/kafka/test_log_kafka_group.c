/* tests/kafka/test_log_kafka_group.c - members of a consumer group on a real broker: starting,
 * committing, moving partitions. */
#include "fixture.h"

#include "runtime/base/alloc.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { PARTITIONS = 4, WAIT_MS = 20000 };

/* What one member was told and given. A partition's user is &member->next[partition]. */
typedef struct member {
    br_consumer *consumer;
    br_log *log;
    const char *topic;
    bool start_at_once, commit_at_revoke;
    bool owned[PARTITIONS];
    int64_t next[PARTITIONS];
    int64_t ended[PARTITIONS];
    int assigned, revoked, lost, committed;
    uint8_t *seen; /* [partition * seen_max + offset]: how often; shared by members; [optional] */
    int64_t seen_max;
} member;

static void start(member *m, int32_t partition, int64_t offset)
{
    br_err err;
    m->next[partition] = offset;
    assert_ok(br_consumer_start(m->consumer, (br_tp){m->topic, partition}, offset,
                                &m->next[partition], &err));
}

static void on_assigned(void *self, const br_tp *at, size_t count)
{
    member *m = self;
    br_err err;
    int64_t offsets[PARTITIONS];
    assert_ok(br_consumer_committed(m->consumer, at, offsets, count, &err));
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(at[i].topic, m->topic);
        assert_false(m->owned[at[i].partition]);
        m->owned[at[i].partition] = true;
        m->assigned++;
        m->ended[at[i].partition] = -1;
        if (m->start_at_once) start(m, at[i].partition, offsets[i] < 0 ? 0 : offsets[i]);
    }
}

static void forget(member *m, const br_tp *at, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        assert_true(m->owned[at[i].partition]);
        m->owned[at[i].partition] = false;
    }
}

static void on_revoked(void *self, const br_tp *at, size_t count)
{
    member *m = self;
    br_err err;
    int64_t offsets[PARTITIONS];
    for (size_t i = 0; i < count; i++) offsets[i] = m->next[at[i].partition];
    if (m->commit_at_revoke) assert_ok(br_consumer_commit(m->consumer, at, offsets, count, &err));
    forget(m, at, count);
    m->revoked += (int)count;
}

static void on_lost(void *self, const br_tp *at, size_t count)
{
    member *m = self;
    forget(m, at, count);
    m->lost += (int)count;
}

static void on_end(void *self, void *user, int64_t position)
{
    member *m = self;
    m->ended[(int64_t *)user - m->next] = position;
}

static void join_as(member *m, br_log *log, const char *topic, const char *group,
                    const char *instance_id)
{
    br_err err;
    m->log = log;
    m->topic = topic;
    br_consumer_opts opts = {
        .group = group,
        .topics = &topic,
        .topic_count = 1,
        .instance_id = instance_id,
        .listener = {m, on_assigned, on_revoked, on_lost, on_end},
    };
    assert_ok(br_consumer_open(&m->consumer, log, &opts, &err));
}

static void join(member *m, br_log *log, const char *topic, const char *group)
{
    join_as(m, log, topic, group, NULL);
}

/* In order, of an owned partition, nothing skipped (no gaps in these topics). */
static br_status take(void *arg, void *user, const br_record *record, br_err *err)
{
    (void)err;
    member *m = arg;
    assert_ptr_equal(user, &m->next[record->partition]);
    assert_true(m->owned[record->partition]);
    assert_int_equal(record->offset, m->next[record->partition]++);
    if (m->seen) m->seen[record->partition * m->seen_max + record->offset]++;
    return BR_OK;
}

static void poll_member(member *m, int timeout_ms)
{
    br_err err;
    if (br_consumer_poll(m->consumer, timeout_ms, 500, take, m, &err) < 0)
        fail_msg("%s", err.message);
}

static int owned_by(const member *m)
{
    int owned = 0;
    for (int p = 0; p < PARTITIONS; p++) owned += m->owned[p];
    return owned;
}

static void await_owned(member *m, int count)
{
    int64_t until = br_mono_ms(&br_system_clock) + WAIT_MS;
    while (owned_by(m) != count) {
        poll_member(m, 20);
        assert_true(br_mono_ms(&br_system_clock) < until);
    }
}

static void await_next(member *m, int32_t partition, int64_t next)
{
    int64_t until = br_mono_ms(&br_system_clock) + WAIT_MS;
    while (m->next[partition] < next) {
        poll_member(m, 100);
        if (br_mono_ms(&br_system_clock) > until)
            fail_msg("%d is at %lld, not at %lld", partition, (long long)m->next[partition],
                     (long long)next);
    }
    assert_int_equal(m->next[partition], next);
}

/* BR_EMPTY while the group is not steady. */
static void commit_all(member *m)
{
    int64_t until = br_mono_ms(&br_system_clock) + WAIT_MS;
    br_tp at[PARTITIONS];
    br_status status = BR_EMPTY;
    br_err err;
    for (int32_t p = 0; p < PARTITIONS; p++) at[p] = (br_tp){m->topic, p};
    while (status == BR_EMPTY) {
        status = br_consumer_commit(m->consumer, at, m->next, PARTITIONS, &err);
        if (status == BR_EMPTY) poll_member(m, 10);
        assert_true(br_mono_ms(&br_system_clock) < until);
    }
    assert_ok(status);
}

static void commit_owned(member *m)
{
    br_err err;
    for (int p = 0; p < PARTITIONS; p++) {
        br_tp at = {m->topic, p};
        if (!m->owned[p]) continue;
        br_status status = br_consumer_commit(m->consumer, &at, &m->next[p], 1, &err);
        if (status < 0) fail_msg("%s", err.message);
        m->committed += status == BR_OK;
    }
}

/* Until a has `share` partitions and b the others, with commits all the while. */
static void settle(member *a, member *b, int share)
{
    int64_t until = br_mono_ms(&br_system_clock) + WAIT_MS;
    while (owned_by(a) != share || (b && owned_by(b) != PARTITIONS - share)) {
        poll_member(a, 5);
        commit_owned(a);
        if (b) poll_member(b, 5);
        if (b) commit_owned(b);
        for (int p = 0; b && p < PARTITIONS; p++)
            if (b->owned[p] && a->owned[p]) fail_msg("partition %d has two owners", p);
        if (br_mono_ms(&br_system_clock) > until)
            fail_msg("a has %d partitions, b %d", owned_by(a), b ? owned_by(b) : 0);
    }
}

/* KIP-848, where the test is run with it. */
static bool broker_assigns(void)
{
    const char *protocol = getenv("BRINE_TEST_GROUP_PROTOCOL");
    return protocol && strcmp(protocol, "consumer") == 0;
}

static int setup(void **state)
{
    *state = open_log();
    return 0;
}

static int teardown(void **state)
{
    br_log_close(*state);
    return 0;
}

/* ---- starting ---- */

static void start__after_a_restore__reads_from_the_offset_asked(void **state)
{
    /* Claim: nothing is read before start; a partition that is started late, again, or at its end
     * gives exactly the records from the offset on, and tells its end. */
    enum { RECORDS = 1000 };
    const char *topic = new_topic(*state, PARTITIONS, NULL, 0);
    fill(*state, (br_tp){topic, 0}, RECORDS);
    member m = {0};
    join(&m, *state, topic, fresh_name("group"));
    await_owned(&m, PARTITIONS);
    fill(*state, (br_tp){topic, 0}, RECORDS);
    for (int i = 0; i < 10; i++) poll_member(&m, 50);
    assert_int_equal(m.next[0], 0);

    start(&m, 0, 10);
    await_next(&m, 0, 2 * RECORDS);
    start(&m, 0, 500);
    await_next(&m, 0, 2 * RECORDS);
    start(&m, 0, 2 * RECORDS);
    start(&m, 1, 0);
    int64_t until = br_mono_ms(&br_system_clock) + WAIT_MS;
    while (m.ended[0] != 2 * RECORDS || m.ended[1] != 0) {
        poll_member(&m, 50);
        assert_true(br_mono_ms(&br_system_clock) < until);
    }
    br_consumer_close(m.consumer);
    assert_int_equal(m.revoked, PARTITIONS);
}

static void start__right_after_the_assignment__reads_from_the_offset_asked(void **state)
{
    /* Claim: a partition is read from where it is started, however soon that is. (A seek that meets
     * librdkafka's search for a partition's end is undone by it half a second later: records are
     * skipped in silence.) */
    enum { RECORDS = 100, ROUNDS = 5 };
    const char *topic = new_topic(*state, PARTITIONS, NULL, 0);
    for (int32_t p = 0; p < PARTITIONS; p++) fill(*state, (br_tp){topic, p}, RECORDS);
    for (int i = 0; i < ROUNDS; i++) {
        member m = {0};
        int64_t until = br_mono_ms(&br_system_clock) + WAIT_MS;
        join(&m, *state, topic, fresh_name("group"));
        while (owned_by(&m) == 0) {
            poll_member(&m, 0);
            assert_true(br_mono_ms(&br_system_clock) < until);
        }
        for (int32_t p = 0; p < PARTITIONS; p++) start(&m, p, 0);
        for (int32_t p = 0; p < PARTITIONS; p++) await_next(&m, p, RECORDS);
        br_consumer_close(m.consumer);
    }
}

static void start__not_assigned__is_refused(void **state)
{
    /* Claim: a partition that is not ours, or a negative offset, is refused with its name. */
    const char *topic = new_topic(*state, PARTITIONS, NULL, 0);
    br_err err;
    member m = {0};
    join(&m, *state, topic, fresh_name("group"));
    await_owned(&m, PARTITIONS);
    assert_int_equal(br_consumer_start(m.consumer, (br_tp){topic, PARTITIONS}, 0, NULL, &err),
                     BR_ERR_CONFIG);
    assert_non_null(strstr(err.message, "not assigned"));
    assert_int_equal(br_consumer_start(m.consumer, (br_tp){"other", 0}, 0, NULL, &err),
                     BR_ERR_CONFIG);
    assert_int_equal(br_consumer_start(m.consumer, (br_tp){topic, 0}, -1, NULL, &err),
                     BR_ERR_CONFIG);
    br_consumer_close(m.consumer);
}

static void start__offset_was_deleted__is_a_limit_error(void **state)
{
    /* Claim: an offset below the first that is left is never replaced by another (FAULTS 9). */
    const char *topic = new_topic(*state, PARTITIONS, NULL, 0);
    fill(*state, (br_tp){topic, 0}, 10);
    delete_records(topic, 0, 5);
    member m = {.start_at_once = true};
    join(&m, *state, topic, fresh_name("group"));
    br_err err;
    br_status status = BR_EMPTY;
    int64_t until = br_mono_ms(&br_system_clock) + WAIT_MS;
    while (status == BR_EMPTY && br_mono_ms(&br_system_clock) < until)
        status = br_consumer_poll(m.consumer, 100, 10, take, &m, &err);
    assert_int_equal(status, BR_ERR_LIMIT);
    assert_non_null(strstr(err.message, topic));
    br_consumer_close(m.consumer);
}

static void open__missing_topic__is_a_configuration_error(void **state)
{
    /* Claim: a topic that is not there is named at open and not made. */
    const char *missing = fresh_name("missing");
    br_consumer_opts opts = {.group = "g", .topics = &missing, .topic_count = 1};
    br_consumer *consumer = NULL;
    br_err err;
    assert_int_equal(br_consumer_open(&consumer, *state, &opts, &err), BR_ERR_CONFIG);
    assert_non_null(strstr(err.message, missing));
}

/* ---- polling ---- */

typedef struct cut {
    member *m;
    br_status answer;
    int every, calls;
} cut;

static br_status take_and_cut(void *arg, void *user, const br_record *record, br_err *err)
{
    cut *c = arg;
    if (++c->calls % c->every == 0 && c->answer < 0) return br_fail(err, c->answer, "no");
    take(c->m, user, record, err);
    return c->calls % c->every == 0 ? c->answer : BR_OK;
}

static void poll__cut_short__goes_on_with_the_next_record(void **state)
{
    /* Claim: max and BR_END end a poll with nothing lost or doubled (take checks each offset); a
     * failure is returned with the record's error. */
    enum { RECORDS = 3000 };
    const char *topic = new_topic(*state, PARTITIONS, NULL, 0);
    fill(*state, (br_tp){topic, 0}, RECORDS);
    br_err err;
    member m = {.start_at_once = true};
    join(&m, *state, topic, fresh_name("group"));
    cut ends = {&m, BR_END, 7, 0}, fails = {&m, BR_ERR_BAD_RECORD, 1, 0};
    int64_t until = br_mono_ms(&br_system_clock) + WAIT_MS;
    while (m.next[0] < RECORDS / 2) {
        int64_t before = m.next[0];
        assert_true(br_consumer_poll(m.consumer, 100, 100, take_and_cut, &ends, &err) >= 0);
        assert_true(m.next[0] - before <= 7);
        before = m.next[0];
        assert_true(br_consumer_poll(m.consumer, 100, 5, take, &m, &err) >= 0);
        assert_true(m.next[0] - before <= 5);
        assert_true(br_mono_ms(&br_system_clock) < until);
    }
    assert_int_equal(br_consumer_poll(m.consumer, 1000, 100, take_and_cut, &fails, &err),
                     BR_ERR_BAD_RECORD);
    assert_int_equal(fails.calls, 1);
    start(&m, 0, m.next[0]); /* the record that failed is handed over again after a restart */
    await_next(&m, 0, RECORDS);
    br_consumer_close(m.consumer);
}

/* ---- commits ---- */

static void commit__then_another_member__starts_there(void **state)
{
    /* Claim: committed offsets are what was committed, -1 before; also by a commit inside revoked.
     */
    const char *topic = new_topic(*state, PARTITIONS, NULL, 0), *group = fresh_name("group");
    br_err err;
    fill(*state, (br_tp){topic, 0}, 100);
    member first = {.start_at_once = true};
    join(&first, *state, topic, group);
    int64_t offset = 0;
    assert_ok(br_consumer_committed(first.consumer, &(br_tp){topic, 0}, &offset, 1, &err));
    assert_int_equal(offset, -1);
    await_owned(&first, PARTITIONS);
    await_next(&first, 0, 100);
    commit_all(&first);
    assert_ok(br_consumer_committed(first.consumer, &(br_tp){topic, 0}, &offset, 1, &err));
    assert_int_equal(offset, 100);
    fill(*state, (br_tp){topic, 0}, 50);
    await_next(&first, 0, 150);
    first.commit_at_revoke = true;
    br_consumer_close(first.consumer);
    assert_int_equal(first.revoked, PARTITIONS);

    member second = {.start_at_once = true};
    join(&second, *state, topic, group);
    await_owned(&second, PARTITIONS);
    assert_int_equal(second.next[0], 150);
    br_consumer_close(second.consumer);
}

static void close__before_any_poll__ends(void **state)
{
    /* Claim: closing at once neither hangs nor crashes (librdkafka below 2.3 does). */
    member m = {0};
    join(&m, *state, new_topic(*state, PARTITIONS, NULL, 0), fresh_name("group"));
    br_consumer_close(m.consumer);
    assert_int_equal(m.assigned, m.revoked);
}

static void poll__same_instance_joined_elsewhere__one_is_told(void **state)
{
    /* Claim: of two members with one fixed name only one goes on: the first is told that another
     * took over; with KIP-848 the second is told to come again when the first is gone. */
    const char *topic = new_topic(*state, PARTITIONS, NULL, 0), *group = fresh_name("group");
    member first = {.start_at_once = true}, second = {.start_at_once = true};
    member *stays = broker_assigns() ? &first : &second;
    member *ends = broker_assigns() ? &second : &first;
    br_err err;
    join_as(&first, *state, topic, group, "worker-1");
    await_owned(&first, PARTITIONS);
    join_as(&second, *state, topic, group, "worker-1");
    br_status status = BR_EMPTY;
    int64_t until = br_mono_ms(&br_system_clock) + WAIT_MS;
    while (status == BR_EMPTY && br_mono_ms(&br_system_clock) < until) {
        poll_member(stays, 20);
        status = br_consumer_poll(ends->consumer, 20, 10, take, ends, &err);
    }
    assert_int_equal(status, broker_assigns() ? BR_ERR_BROKER : BR_ERR_FENCED);
    br_consumer_close(ends->consumer);
    await_owned(stays, PARTITIONS);
    br_consumer_close(stays->consumer);
}

static void join__same_instance_after_a_close__moves_nothing_of_the_others(void **state)
{
    /* Claim: a member with a fixed name that ends and comes again gets its partitions back, and the
     * others are not asked for any (issue 4, static membership). */
    const char *topic = new_topic(*state, PARTITIONS, NULL, 0), *group = fresh_name("group");
    member a = {.start_at_once = true}, b = {.start_at_once = true};
    join_as(&a, *state, topic, group, "worker-a");
    await_owned(&a, PARTITIONS);
    join_as(&b, *state, topic, group, "worker-b");
    settle(&a, &b, PARTITIONS / 2);
    bool before[PARTITIONS];
    memcpy(before, b.owned, sizeof(before));
    int assigned = a.assigned, revoked = a.revoked;
    br_consumer_close(b.consumer);
    for (int i = 0; i < 20; i++) poll_member(&a, 50);
    join_as(&b, *state, topic, group, "worker-b");
    settle(&a, &b, PARTITIONS / 2);
    assert_memory_equal(b.owned, before, sizeof(before));
    assert_int_equal(a.assigned, assigned);
    assert_int_equal(a.revoked, revoked);
    assert_int_equal(a.lost + b.lost, 0);
    br_consumer_close(b.consumer);
    br_consumer_close(a.consumer);
}

/* ---- rebalances ---- */

enum { SEEN_MAX = 400000, CYCLES = 3 };

typedef struct feed {
    br_log *log;
    const char *topic;
    atomic_bool stop;
    int64_t sent[PARTITIONS];
} feed;

static void *produce_on(void *arg)
{
    feed *f = arg;
    br_err err;
    br_producer *producer = NULL;
    br_topic_ref *ref = NULL;
    assert_ok(br_producer_open(&producer, f->log, &err));
    assert_ok(br_producer_topic(producer, f->topic, &ref, &err));
    for (int i = 0; !atomic_load(&f->stop) && f->sent[0] < SEEN_MAX; i++) {
        /* With a timestamp of 1970 the broker's retention would delete them meanwhile. */
        br_out_record record = {
            .partition = i % PARTITIONS, .value = BR_LITERAL("v"), .timestamp_ms = -1};
        assert_ok(br_producer_send(producer, ref, &record, &err));
        f->sent[i % PARTITIONS]++;
        if (i % 100 == 99) assert_ok(br_producer_flush(producer, &err));
    }
    assert_ok(br_producer_flush(producer, &err));
    br_producer_close(producer);
    return NULL;
}

static void drain(member *m, const feed *f)
{
    for (int p = 0; p < PARTITIONS; p++) await_next(m, p, f->sent[p]);
}

static void rebalance__under_production__loses_and_doubles_nothing(void **state)
{
    /* Claim: while a second member joins and leaves again and again, and both commit, every record
     * is handed over exactly once (FACTS D1, D2: the obvious calls lose one in ten). */
    member a = {.start_at_once = true, .commit_at_revoke = true};
    feed f = {.log = *state, .topic = new_topic(*state, PARTITIONS, NULL, 0)};
    const char *group = fresh_name("group");
    uint8_t *seen = br_calloc(PARTITIONS, SEEN_MAX);
    pthread_t producer;
    a.seen = seen;
    a.seen_max = SEEN_MAX;
    join(&a, *state, f.topic, group);
    await_owned(&a, PARTITIONS);
    assert_int_equal(pthread_create(&producer, NULL, produce_on, &f), 0);
    for (int i = 0; i < CYCLES; i++) {
        member b = {.start_at_once = true, .commit_at_revoke = true};
        b.seen = seen;
        b.seen_max = SEEN_MAX;
        join(&b, *state, f.topic, group);
        settle(&a, &b, PARTITIONS / 2);
        br_consumer_close(b.consumer);
        settle(&a, NULL, PARTITIONS);
        assert_int_equal(b.lost, 0);
        assert_int_equal(b.revoked, b.assigned);
    }
    atomic_store(&f.stop, true);
    pthread_join(producer, NULL);
    drain(&a, &f);
    for (int p = 0; p < PARTITIONS; p++)
        for (int64_t o = 0; o < f.sent[p]; o++)
            if (seen[p * SEEN_MAX + o] != 1)
                fail_msg("%d@%lld was handed over %d times (partitions lost: %d)", p, (long long)o,
                         seen[p * SEEN_MAX + o], a.lost);
    assert_int_equal(a.lost, 0);
    assert_true(a.committed > 0);
    assert_true(f.sent[0] > 100);
    br_consumer_close(a.consumer);
    br_free(seen);
}

static void rebalance__after_a_seek__keeps_the_place_sought(void **state)
{
    /* Claim: a partition that was sought, with no record handed over since, goes on there after a
     * rebalance, which pauses and resumes all partitions inside librdkafka. */
    enum { RECORDS = 2000, SOUGHT = 100, JOIN_POLLS = 40 };
    const char *topic = new_topic(*state, PARTITIONS, NULL, 0), *group = fresh_name("group");
    for (int32_t p = 0; p < PARTITIONS; p++) fill(*state, (br_tp){topic, p}, RECORDS);
    member a = {.start_at_once = true}, b = {0};
    join(&a, *state, topic, group);
    await_owned(&a, PARTITIONS);
    for (int32_t p = 0; p < PARTITIONS; p++) await_next(&a, p, RECORDS);
    for (int32_t p = 0; p < PARTITIONS; p++) start(&a, p, SOUGHT);
    br_err err;
    cut none = {&a, BR_END, 1, 0};
    assert_true(br_consumer_poll(a.consumer, 0, 1, take_and_cut, &none, &err) >= 0);
    join(&b, *state, topic, group);
    /* Meanwhile a learns of the rebalance by a heartbeat and pauses. */
    for (int i = 0; i < JOIN_POLLS; i++) poll_member(&b, 50);
    settle(&a, &b, PARTITIONS / 2);
    for (int32_t p = 0; p < PARTITIONS; p++)
        if (a.owned[p]) await_next(&a, p, RECORDS);
    br_consumer_close(b.consumer);
    br_consumer_close(a.consumer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(start__after_a_restore__reads_from_the_offset_asked),
        cmocka_unit_test(start__right_after_the_assignment__reads_from_the_offset_asked),
        cmocka_unit_test(start__not_assigned__is_refused),
        cmocka_unit_test(start__offset_was_deleted__is_a_limit_error),
        cmocka_unit_test(open__missing_topic__is_a_configuration_error),
        cmocka_unit_test(poll__cut_short__goes_on_with_the_next_record),
        cmocka_unit_test(commit__then_another_member__starts_there),
        cmocka_unit_test(close__before_any_poll__ends),
        cmocka_unit_test(poll__same_instance_joined_elsewhere__one_is_told),
        cmocka_unit_test(join__same_instance_after_a_close__moves_nothing_of_the_others),
        cmocka_unit_test(rebalance__under_production__loses_and_doubles_nothing),
        cmocka_unit_test(rebalance__after_a_seek__keeps_the_place_sought),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
