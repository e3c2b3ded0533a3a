/* runtime/base/failpoint.h - named places where a test ends the process at once, as kill -9 would.
 * Compiled out unless BR_FAILPOINTS is on. BRINE_FAILPOINT="name[:N][,name…]" in the environment
 * arms one: the N-th time (default the first) that it is reached, the process is gone; with
 * name:N:stop it stands still until SIGCONT: a zombie. With name=MS it only waits so long, each
 * time: a slow disk, a slow log. */
#ifndef BR_BASE_FAILPOINT_H
#define BR_BASE_FAILPOINT_H

#ifdef BR_FAILPOINTS
/* [optional] Is told first; the simulator's, whose processes die without ending the real one. */
extern void (*br_failpoint_hook)(const char *name);
void br_failpoint(const char *name);
#define BR_FAILPOINT(name) br_failpoint(name)
#else
#define BR_FAILPOINT(name) ((void)0)
#endif

#endif
