/* tests/sim/check.h - what must hold in the end: every total in the sinks equals the plain
 * program's, and what the compacted topics hold gives the same stores as those that are there. */
#ifndef BR_TESTS_SIM_CHECK_H
#define BR_TESTS_SIM_CHECK_H

#include "tests/sim/world.h"

/* Of every record as it reaches a sink: its group is in the input, its total no step back. */
void check_sent(world *w, const char *topic, const memory_record *record);
/* The world is settled, with all input. */
void check_totals(world *w);
/* Ends all workers, cleans the topics, and starts again from nothing. */
void check_fresh_restore(world *w);

#endif
