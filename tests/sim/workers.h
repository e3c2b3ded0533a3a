/* tests/sim/workers.h - the processes: one pipeline each, with a state folder, that start, stop,
 * die and freeze. A process that fails for want of the log is ended and its tasks given away. */
#ifndef BR_TESTS_SIM_WORKERS_H
#define BR_TESTS_SIM_WORKERS_H

#include "tests/sim/world.h"

/* Each may end the process, or the run (world->failed). */
void worker_start(worker *one);
void worker_step(worker *one);
void worker_stop(worker *one); /* commits and leaves */
void worker_kill(worker *one); /* at once; fine where none runs */
/* Assigns a partition, with what its task finds: the last owner's state, an older one, or none. */
void worker_give(worker *one, place *at);
/* Lost: without a commit. */
void worker_take_away(place *at, bool lost);

#endif
