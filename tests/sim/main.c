/* tests/sim/main.c - the simulator: real operators, state and commit code through crashes, holes,
 * moved tasks, frozen owners and compaction, against a plain program's totals.
 * Usage: sim SEED                                     one seed, with its transcript
 *        sim --seeds FROM..TO [--without RULE] [--no-stalls]
 * Without --without every seed must be right: exit 0, else 1 at the first that is not. With it, a
 * wrong one is looked for: exit 0 when one is found, 1 when there is none. */
#include "runtime/base/logger.h"
#include "runtime/base/rules.h"
#include "tests/sim/check.h"
#include "tests/sim/workers.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { TICKS_MIN = 20, TICKS_MORE = 160, PROGRESS_SEEDS = 1000, REPEAT_EVERY = 50 };

uint32_t br_rules_off;

static char dir[64];

typedef struct sim_opts {
    uint64_t from, to;
    bool print, stalls;
} sim_opts;

/* true: all totals and stores are right; else world->err says what is not. */
static bool run_seed(world *w, const world_opts *opts)
{
    world_open(w, opts);
    uint64_t ticks = TICKS_MIN + br_rng_below(&w->rng, TICKS_MORE);
    for (uint64_t i = 0; i < ticks && !w->failed; i++) world_tick(w);
    world_arrive_all(w);
    if (!w->failed) world_settle(w);
    if (!w->failed) check_totals(w);
    if (!w->failed) check_fresh_restore(w);
    if (opts->print) printf("hash %016" PRIx64 "\n", w->hash);
    world_close(w);
    return !w->failed;
}

/* What a seed did once it does again, or no failure could be looked at. */
static bool repeats(world *w, const world_opts *opts)
{
    uint64_t hash = w->hash;
    if (opts->print || opts->seed % REPEAT_EVERY != 0) return true;
    (void)run_seed(w, opts);
    if (w->hash == hash) return true;
    w->failed = false; /* what is to be told now */
    world_fail(w, "not the same twice");
    return false;
}

/* Goes through the seeds up to the first that is wrong; false: there is none. */
static bool find_wrong(const sim_opts *opts)
{
    static world w;
    uint64_t count = opts->to - opts->from + 1, done = 0, hash = 0;
    bool right = true;
    while (right && done < count) {
        world_opts one = {
            .seed = opts->from + done, .dir = dir, .stalls = opts->stalls, .print = opts->print};
        right = run_seed(&w, &one) && repeats(&w, &one);
        hash ^= w.hash;
        done++;
        if (done % PROGRESS_SEEDS == 0) fprintf(stderr, "%" PRIu64 " seeds\n", done);
    }
    if (right)
        printf("%" PRIu64 " seeds exact, hash %016" PRIx64 "\n", done, hash);
    else
        printf("seed %" PRIu64 ": %s\n", w.opts.seed, w.err.message);
    world_dispose(&w);
    return !right;
}

static bool take_out(const char *words)
{
#define X(name, text)                                                                              \
    if (strcmp(words, text) == 0) br_rules_off |= UINT32_C(1) << BR_RULE_##name;
    BR_RULES_LIST(X)
#undef X
    return br_rules_off != 0;
}

static bool read_range(const char *text, sim_opts *out)
{
    char *end;
    out->from = strtoull(text, &end, 10);
    if (end == text || strncmp(end, "..", 2) != 0) return false;
    text = end + 2;
    out->to = strtoull(text, &end, 10);
    return end != text && *end == '\0' && out->to >= out->from;
}

static bool read_seed(const char *text, sim_opts *out)
{
    char *end;
    out->from = out->to = strtoull(text, &end, 10);
    out->print = true;
    return end != text && *end == '\0';
}

static bool read_args(int argc, char **argv, sim_opts *out)
{
    bool ranged = false;
    for (int i = 1; i < argc; i++) {
        bool more = i + 1 < argc;
        if (strcmp(argv[i], "--no-stalls") == 0)
            out->stalls = false;
        else if (strcmp(argv[i], "--seeds") == 0 && more && read_range(argv[i + 1], out))
            ranged = ++i > 0;
        else if (strcmp(argv[i], "--without") == 0 && more && take_out(argv[i + 1]))
            i++;
        else if (!ranged && read_seed(argv[i], out))
            ranged = true;
        else
            return false;
    }
    return ranged;
}

static void remove_dir(void)
{
    disk_remove_dirs(dir);
}

static void on_signal(int number)
{
    (void)number;
    exit(2); /* NOLINT(bugprone-signal-handler): removes the folders; nothing runs on */
}

int main(int argc, char **argv)
{
    sim_opts opts = {.stalls = true};
    if (!read_args(argc, argv, &opts)) {
        fprintf(stderr,
                "usage: sim SEED | sim --seeds FROM..TO [--without RULE] [--no-stalls]\nrules:"
#define X(name, words) " \"" words "\""
                BR_RULES_LIST(X)
#undef X
                    "\n");
        return 2;
    }
    (void)snprintf(dir, sizeof(dir), "%s/brine-sim-XXXXXX",
                   access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (!mkdtemp(dir)) {
        fprintf(stderr, "sim: cannot make a folder for state in %s\n", dir);
        return 2;
    }
    (void)atexit(remove_dir);
    (void)signal(SIGINT, on_signal);
    (void)signal(SIGTERM, on_signal);
    br_log_set_level(BR_ERROR);
    return find_wrong(&opts) == (br_rules_off != 0) ? 0 : 1;
}
