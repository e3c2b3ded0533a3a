/* runtime/task.h - all that reads one input topic-partition: its state, its operators, where it is.
 * Shape:     create -> restore (restorer's thread) -> prepare -> [emit all] -> run -> close
 * Invariant: a task starts at the group's committed offset, and has committed that offset before it
 *            handles a record (DESIGN.md section 5).
 * Thread:    one at a time: the restorer's until br_restorer_take, then the pipeline's. */
#ifndef BR_RUNTIME_TASK_H
#define BR_RUNTIME_TASK_H

#include "jobs/chain.h"
#include "runtime/counters.h"
#include "runtime/log/log.h"
#include "state/restore.h"

typedef enum br_task_phase {
    BR_TASK_RESTORING, /* belongs to the restorer */
    BR_TASK_READY,     /* restored; its start offset is to be found and committed */
    BR_TASK_EMITTING,  /* no committed offset: every row goes out, and a marker, before the start */
    BR_TASK_STARTING,  /* start offset known, not yet committed */
    BR_TASK_RUNNING,
} br_task_phase;

typedef struct br_task_opts {
    const br_stage *stage;
    br_tp at; /* topic borrows the stage */
    const char *job;
    const char *state_dir;
    br_log *log;
    const br_clock *clock;
    br_counters *counters;
    uint32_t incarnation;
} br_task_opts;

typedef struct br_task {
    br_task_opts opts;
    br_task_phase phase;
    char *dir;
    br_env *env; /* NULL where the stage has no stores */
    br_chain chain;
    br_task_context context;
    br_outlet outlet;
    void *outlet_arg; /* the stage's handles; the pipeline's */
    br_buf partial_id;

    int64_t next_offset; /* first input offset that is not in the stores */
    int64_t stored_next; /* next_offset as in the last checkpoint; -1: none */
    int64_t committed;   /* of the group; -1: none */
    int64_t stream_time; /* highest event time seen; BR_NO_TIME: none */
    int64_t gate;        /* stage two: no emission before this offset is read */
    uint64_t last_hash;  /* of the record at next_offset - 1; 0: unknown */
    /* Changelogs, one per store: the first offset that is not in the store, and what was sent
     * since. More than that between our records is a zombie's (task_repair.c). */
    int64_t *changelog_next;
    uint64_t *changelog_sent;
    bool foreign;    /* a gap was seen */
    bool mark_again; /* a zombie's marker may stand behind ours: the next commit says ours again */
    int64_t looked_ms; /* monotonic: when the changelogs' ends were last looked at */

    /* What the restorer found. */
    br_restore **restores; /* one per store; keep the mend lists alive until the start */
    br_restored *found;
    int64_t low, end; /* of the input when the task was restored */
    br_status restore_status;
    br_err restore_err;
    atomic_bool abandoned; /* the partition is gone: stop and free */
} br_task;

/* What a record is recognised by when it is read again: the same value under another key, or at
 * another time, is another record. */
uint64_t br_task_record_hash(br_bytes key, br_bytes value, int64_t timestamp_ms);

br_task *br_task_create(const br_task_opts *opts);
/* clean: all that it did is committed. NULL is fine. */
void br_task_destroy(br_task *task, bool clean);

/* Opens the environment and brings the stores up to the changelog's end. Blocks; stops early when
 * `abandoned`, keeping its progress. BR_ERR_CONFIG: the state is another job's or the topic was
 * made again, with the remedy; BR_ERR_CORRUPT: topic, partition and offset of the bad record. */
BR_MUST_USE br_status br_task_restore(br_task *task, br_err *err);
/* Builds the operators and finds the start offset; `committed` is the group's (-1: none). Sets
 * next_offset and phase (EMITTING or STARTING). */
BR_MUST_USE br_status br_task_prepare(br_task *task, int64_t committed, br_arena *arena,
                                      br_budget *budget, br_err *err);
/* Before a commit: joins what others wrote into the changelogs, where a gap shows it or it is time
 * to look. Not with exactly_once, where zombies are fenced. */
BR_MUST_USE br_status br_task_repair(br_task *task, br_err *err);
/* After the acknowledgements; `last`: the offset of the last record sent to the changelog. */
void br_task_note_changelog(br_task *task, size_t store, int64_t last);
/* Anything to store or to commit since the last commit? */
bool br_task_changed(const br_task *task);
/* The operators' tables that hold something dirty or marked. */
bool br_task_dirty(const br_task *task);

#endif
