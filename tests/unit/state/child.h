/* tests/unit/state/child.h - a forked process that does something with an environment of its own,
 * for locks, kills and limits. */
#ifndef BR_TESTS_UNIT_STATE_CHILD_H
#define BR_TESTS_UNIT_STATE_CHILD_H

#include "unit/state/fixture.h"

#include <signal.h>
#include <sys/wait.h>

typedef struct child {
    pid_t pid;
    int from; /* what it says */
} child;

/* body gets where to write, and ends the process with its result; it never returns to cmocka. */
static inline child child_start(fixture *f, int (*body)(fixture *f, int say))
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)close(ends[0]);
        _exit(body(f, ends[1]));
    }
    (void)close(ends[1]);
    return (child){.pid = pid, .from = ends[0]};
}

/* Waits for one byte; false: it ended without. */
static inline bool child_heard(const child *c)
{
    char byte;
    return read(c->from, &byte, 1) == 1;
}

/* Its exit code; -SIGNAL where it was killed. */
static inline int child_end(const child *c)
{
    int status = 0;
    (void)close(c->from);
    assert_int_equal(waitpid(c->pid, &status, 0), c->pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static inline int child_kill(const child *c)
{
    (void)kill(c->pid, SIGKILL);
    return child_end(c);
}

/* In a child: says that it is so far, then waits to be killed. */
static inline void say_and_wait(int say)
{
    if (write(say, "x", 1) != 1) _exit(1);
    for (;;) (void)pause();
}

#endif
