/* tests/sim/world.h - a job's whole world for one seed: the log, the workers, and what is left of
 * their state folders.
 * Shape:     open -> world_tick … (everything may go wrong) -> world_settle (nothing more does)
 *            -> check.h
 * Invariant: one thread, one generator: the same seed does the same, which `hash` shows.
 * Time:      simulated; it moves only between steps. */
#ifndef BR_TESTS_SIM_WORLD_H
#define BR_TESTS_SIM_WORLD_H

#include "runtime/pipeline.h"
#include "tests/sim/disk.h"
#include "tests/sim/memory_log.h"
#include "tests/sim/scenario.h"

enum { WORKERS_MAX = 3, PLACES_MAX = 16, DISKS_MAX = 5 };

typedef struct worker {
    struct world *world;
    size_t index;
    char state_dir[64];
    memory_client client;
    br_pipeline *pipeline; /* NULL: no process runs */
} worker;

/* An input partition: who reads it, and the state of its task on every machine that had it. */
typedef struct place {
    const br_stage *stage;
    br_tp at;
    worker *owner; /* NULL: nobody */
    disk disks[DISKS_MAX];
    size_t disk_count; /* the first is the last owner's */
} place;

typedef struct world_opts {
    uint64_t seed;
    const char *dir; /* in a memory file system */
    bool stalls;     /* owners may freeze, and wake up when others have their partitions */
    bool print;      /* the transcript, to standard output */
} world_opts;

typedef struct world {
    world_opts opts;
    br_rng rng;
    int64_t wall_ms, mono_ms;
    br_clock clock;
    scenario scenario;
    br_job *job;
    br_plan *plan;
    memory_log log;
    br_counters counters;
    worker workers[WORKERS_MAX];
    size_t worker_count;
    place places[PLACES_MAX];
    size_t place_count;
    size_t arrived; /* input records */
    bool calm;      /* nothing goes wrong any more */
    bool stalled;   /* since the last time that everything was settled */
    bool small_cache;
    bool failed; /* why: err */
    br_err err;
    uint64_t hash; /* of all that happened */
} world;

/* world is zeroed, or was closed. */
void world_open(world *w, const world_opts *opts);
void world_close(world *w);
void world_dispose(world *w); /* after the last close: what is kept from seed to seed */
/* Something happens: input arrives, a worker starts, does a step or dies, a task moves, … */
void world_tick(world *w);
/* Goes on without mishaps until everything that has arrived is read and committed, and frozen
 * owners have sent all. */
void world_settle(world *w);
void world_arrive_all(world *w);
/* Ends all workers cleanly; nobody owns anything then. */
void world_stop(world *w);
/* Nothing of any task's state is left but what the topics hold. */
void world_forget_disks(world *w);
void world_place_dir(const world *w, const place *at, const worker *owner, br_buf *out);
bool world_chance(world *w, uint32_t percent);
/* For the transcript; hashed as well. */
void world_say(world *w, const char *fmt, ...) BR_PRINTF(2, 3);
void world_fail(world *w, const char *fmt, ...) BR_PRINTF(2, 3);

#endif
