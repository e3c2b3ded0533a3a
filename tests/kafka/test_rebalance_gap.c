/* tests/kafka/test_rebalance_gap.c - how long partitions stand still when a member of their group
 * dies.
 * Shape:  this process produces and watches; six members are processes of their own (this program,
 *         run again), so that one can be killed; they share a page of memory: where each partition
 *         is, who has it, and its longest pause. That page also stands for a store: a member goes
 *         on where the last one was, so that every record must be handed over exactly once.
 * Prints: for each way of assigning the longest pause of the ten partitions that need not move and
 *         of the two that must.
 * Thread: the producer has one of its own. */
#include "fixture.h"

#include "runtime/base/alloc.h"
#include "runtime/base/clock.h"
#include "runtime/log/kafka_version.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    MEMBERS = 6,
    PARTITIONS = 12,
    RUNS = 3,
    WAIT_MS = 40000,
    STEP_MS = 5,
    COMMIT_EVERY_MS = 100,
    SETTLED_MS = 1000,
    NOISE_MS = 100, /* of a busy machine, on a median of three */
};

typedef struct partition {
    atomic_llong next;          /* behind the last record that was handed over */
    atomic_llong progressed_ms; /* when that was */
    atomic_llong pause_ms;      /* the longest, while measuring */
    atomic_int owner;           /* a member, or -1 */
} partition;

typedef struct shared {
    partition partitions[PARTITIONS];
    atomic_bool measuring, stop;
    atomic_int wrong; /* records that were skipped or handed over twice */
} shared;

typedef struct protocol {
    const char *name;
    br_setting settings[2];
    size_t setting_count;
    int since; /* librdkafka's version */
} protocol;

/* The broker's session timeouts are set in CMakeLists.txt. */
static const protocol protocols[] = {
    {"cooperative-sticky", {{"session.timeout.ms", "3000"}}, 1, 0},
    {"range (eager)",
     {{"session.timeout.ms", "3000"}, {"partition.assignment.strategy", "range"}},
     2,
     0},
    {"group.protocol=consumer", {{"group.protocol", "consumer"}}, 1, 0x020c00ff},
};

static int64_t now_ms(void)
{
    return br_mono_ms(&br_system_clock);
}

static void sleep_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

/* ---- a member ---- */

typedef struct member {
    shared *seen;
    int index;
    br_consumer *consumer;
    const char *topic;
} member;

static void note_progress(shared *seen, partition *at)
{
    int64_t now = now_ms(), pause = now - atomic_exchange(&at->progressed_ms, now);
    if (atomic_load(&seen->measuring) && pause > atomic_load(&at->pause_ms))
        atomic_store(&at->pause_ms, pause);
}

static br_status take(void *arg, void *user, const br_record *record, br_err *err)
{
    (void)err;
    member *m = arg;
    partition *at = user;
    if (record->offset != atomic_load(&at->next)) atomic_fetch_add(&m->seen->wrong, 1);
    atomic_store(&at->next, record->offset + 1);
    note_progress(m->seen, at);
    return BR_OK;
}

static void on_assigned(void *self, const br_tp *at, size_t count)
{
    member *m = self;
    br_err err;
    for (size_t i = 0; i < count; i++) {
        partition *slot = &m->seen->partitions[at[i].partition];
        atomic_store(&slot->owner, m->index);
        assert_ok(br_consumer_start(m->consumer, at[i], atomic_load(&slot->next), slot, &err));
    }
}

static void commit(member *m, const br_tp *at, size_t count)
{
    br_err err;
    int64_t offsets[PARTITIONS];
    for (size_t i = 0; i < count; i++)
        offsets[i] = atomic_load(&m->seen->partitions[at[i].partition].next);
    if (br_consumer_commit(m->consumer, at, offsets, count, &err) < 0) fail_msg("%s", err.message);
}

static void forget(member *m, const br_tp *at, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int mine = m->index;
        atomic_compare_exchange_strong(&m->seen->partitions[at[i].partition].owner, &mine, -1);
    }
}

static void on_revoked(void *self, const br_tp *at, size_t count)
{
    commit(self, at, count);
    forget(self, at, count);
}

static void on_lost(void *self, const br_tp *at, size_t count)
{
    forget(self, at, count);
}

static void commit_owned(member *m)
{
    br_tp at[PARTITIONS];
    size_t count = 0;
    for (int32_t p = 0; p < PARTITIONS; p++)
        if (atomic_load(&m->seen->partitions[p].owner) == m->index)
            at[count++] = (br_tp){m->topic, p};
    commit(m, at, count);
}

static int be_member(shared *seen, int index, const protocol *by, const char *topic)
{
    member m = {.seen = seen, .index = index, .topic = topic};
    br_err err;
    br_log *log = NULL;
    br_consumer_opts opts = {
        .group = topic,
        .topics = &topic,
        .topic_count = 1,
        .listener = {&m, on_assigned, on_revoked, on_lost, NULL},
    };
    assert_ok(br_log_open_kafka(&log, test_brokers(), by->settings, by->setting_count, &err));
    assert_ok(br_consumer_open(&m.consumer, log, &opts, &err));
    int64_t committed_ms = now_ms();
    while (!atomic_load(&seen->stop)) {
        if (br_consumer_poll(m.consumer, 20, 1000, take, &m, &err) < 0) fail_msg("%s", err.message);
        if (now_ms() - committed_ms < COMMIT_EVERY_MS) continue;
        commit_owned(&m);
        committed_ms = now_ms();
    }
    br_consumer_close(m.consumer);
    br_log_close(log);
    return 0;
}

/* ---- this process ---- */

typedef struct run {
    shared *seen;
    int memory; /* its file descriptor */
    br_log *log;
    const char *topic;
    const protocol *by;
    pid_t members[MEMBERS];
    pthread_t producer;
    atomic_bool produced;
    int64_t stayed_ms, moved_ms;
} run;

static void *produce(void *arg)
{
    run *r = arg;
    br_err err;
    br_producer *producer = NULL;
    br_topic_ref *ref = NULL;
    assert_ok(br_producer_open(&producer, r->log, &err));
    assert_ok(br_producer_topic(producer, r->topic, &ref, &err));
    while (!atomic_load(&r->produced)) {
        for (int32_t p = 0; p < PARTITIONS; p++) {
            br_out_record record = {.partition = p, .value = BR_LITERAL("v"), .timestamp_ms = -1};
            assert_ok(br_producer_send(producer, ref, &record, &err));
        }
        assert_ok(br_producer_flush(producer, &err));
        sleep_ms(STEP_MS);
    }
    br_producer_close(producer);
    return NULL;
}

static pid_t spawn_member(const run *r, int index)
{
    char memory[16], number[16], at[16];
    snprintf(memory, sizeof(memory), "%d", r->memory);
    snprintf(number, sizeof(number), "%d", index);
    snprintf(at, sizeof(at), "%d", (int)(r->by - protocols));
    pid_t child = fork();
    if (child != 0) return child;
    execl("/proc/self/exe", "test_rebalance_gap", memory, number, at, r->topic, (char *)NULL);
    _exit(1);
}

/* Each living member has as many partitions as the others, or one more. */
static bool is_balanced(const run *r, int living)
{
    int owned[MEMBERS] = {0};
    for (int p = 0; p < PARTITIONS; p++) {
        int owner = atomic_load(&r->seen->partitions[p].owner);
        if (owner < 0 || r->members[owner] == 0) return false;
        owned[owner]++;
    }
    for (int m = 0; m < MEMBERS; m++)
        if (r->members[m] != 0 && owned[m] < PARTITIONS / living) return false;
    return true;
}

static void await_balance(const run *r, int living)
{
    int64_t until = now_ms() + WAIT_MS, since = now_ms();
    while (now_ms() - since < SETTLED_MS) {
        if (!is_balanced(r, living)) since = now_ms();
        if (now_ms() > until) fail_msg("%s: the group does not settle", r->by->name);
        sleep_ms(STEP_MS);
    }
}

static void note_longest(run *r, const bool *moves)
{
    for (int p = 0; p < PARTITIONS; p++) {
        int64_t pause = atomic_load(&r->seen->partitions[p].pause_ms);
        int64_t *longest = moves[p] ? &r->moved_ms : &r->stayed_ms;
        if (pause > *longest) *longest = pause;
    }
}

static void kill_one(run *r)
{
    enum { VICTIM = 2 };
    bool moves[PARTITIONS];
    int moving = 0;
    for (int p = 0; p < PARTITIONS; p++) {
        moves[p] = atomic_load(&r->seen->partitions[p].owner) == VICTIM;
        moving += moves[p];
    }
    assert_int_equal(moving, PARTITIONS / MEMBERS);
    atomic_store(&r->seen->measuring, true);
    kill(r->members[VICTIM], SIGKILL);
    waitpid(r->members[VICTIM], NULL, 0);
    r->members[VICTIM] = 0;
    await_balance(r, MEMBERS - 1);
    atomic_store(&r->seen->measuring, false);
    note_longest(r, moves);
}

/* Nothing is lost: every partition is read up to its end. */
static void await_ends(const run *r)
{
    br_err err;
    int64_t until = now_ms() + WAIT_MS;
    for (int32_t p = 0; p < PARTITIONS; p++) {
        int64_t low = 0, end = 0;
        assert_ok(br_log_offsets(r->log, r->topic, p, &low, &end, &err));
        assert_true(end > 0);
        while (atomic_load(&r->seen->partitions[p].next) < end) {
            if (now_ms() > until)
                fail_msg("%s: %d is read up to %lld, not to its end %lld", r->by->name, p,
                         atomic_load(&r->seen->partitions[p].next), (long long)end);
            sleep_ms(STEP_MS);
        }
    }
}

static void do_run(run *r)
{
    memset(r->seen, 0, sizeof(*r->seen));
    for (int p = 0; p < PARTITIONS; p++) atomic_store(&r->seen->partitions[p].owner, -1);
    r->topic = new_topic(r->log, PARTITIONS, NULL, 0);
    assert_int_equal(pthread_create(&r->producer, NULL, produce, r), 0);
    for (int m = 0; m < MEMBERS; m++) r->members[m] = spawn_member(r, m);
    await_balance(r, MEMBERS);
    kill_one(r);
    atomic_store(&r->produced, true);
    pthread_join(r->producer, NULL);
    await_ends(r);
    atomic_store(&r->seen->stop, true);
    for (int m = 0; m < MEMBERS; m++) {
        int code = 0;
        if (r->members[m] == 0) continue;
        assert_int_equal(waitpid(r->members[m], &code, 0), r->members[m]);
        assert_int_equal(code, 0);
    }
    assert_int_equal(atomic_load(&r->seen->wrong), 0);
}

static int64_t median(const int64_t *of)
{
    int64_t low = of[0] < of[1] ? of[0] : of[1], high = of[0] < of[1] ? of[1] : of[0];
    return of[2] < low ? low : of[2] > high ? high : of[2];
}

/* Returns the median of the partitions that stay. */
static int64_t measure(br_log *log, int memory, shared *seen, const protocol *by)
{
    int64_t stayed[RUNS], moved[RUNS];
    for (int i = 0; i < RUNS; i++) {
        run r = {.seen = seen, .memory = memory, .log = log, .by = by};
        do_run(&r);
        stayed[i] = r.stayed_ms;
        moved[i] = r.moved_ms;
    }
    printf("%-24s %8lld (%lld, %lld, %lld) %8lld\n", by->name, (long long)median(stayed),
           (long long)stayed[0], (long long)stayed[1], (long long)stayed[2],
           (long long)median(moved));
    return median(stayed);
}

static void rebalance__one_of_six_killed__the_others_go_on(void **state)
{
    /* Claim: where partitions are handed over one by one, those that need not move stand still no
     * longer than where all are given back first; and in no way is a record lost or doubled. */
    (void)state;
    int memory = memfd_create("rebalance_gap", 0); /* members inherit it */
    assert_true(memory >= 0);
    assert_int_equal(ftruncate(memory, sizeof(shared)), 0);
    shared *seen = mmap(NULL, sizeof(shared), PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    assert_true(seen != MAP_FAILED);
    br_log *log = open_log();
    int64_t longest[BR_COUNTOF(protocols)] = {0};
    printf("librdkafka %s: longest pause in ms, median (runs)\n%-24s %8s %26s\n",
           br_kafka_version(), "", "ten stay", "two move");
    for (size_t i = 0; i < BR_COUNTOF(protocols); i++)
        if (br_kafka_version_number() >= protocols[i].since)
            longest[i] = measure(log, memory, seen, &protocols[i]);
    br_log_close(log);
    munmap(seen, sizeof(shared));
    close(memory);
    if (longest[0] > longest[1] + NOISE_MS)
        fail_msg("cooperative-sticky pauses for %lld ms, eager range for %lld",
                 (long long)longest[0], (long long)longest[1]);
}

int main(int argc, char **argv)
{
    if (argc == 5) {
        long given[3]; /* by this program: file, member, protocol */
        for (size_t i = 0; i < BR_COUNTOF(given); i++) given[i] = strtol(argv[i + 1], NULL, 10);
        shared *seen =
            mmap(NULL, sizeof(shared), PROT_READ | PROT_WRITE, MAP_SHARED, (int)given[0], 0);
        if (seen == MAP_FAILED) return 1;
        return be_member(seen, (int)given[1], &protocols[given[2]], argv[4]);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rebalance__one_of_six_killed__the_others_go_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
