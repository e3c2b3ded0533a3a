/* runtime/main.c - the brine command; everything is behind runtime/cli/. */
#include "runtime/cli/cli.h"

#ifdef BR_MIMALLOC
#include <mimalloc.h>

/* How long freed memory is kept before the system gets it back. mimalloc's 25 ms is less than the
 * time between two fills of librdkafka's queue, so that each faults its pages in anew, which took
 * a tenth of all CPU time. MIMALLOC_DECOMMIT_DELAY in the environment goes before it. */
enum { KEEP_FREED_MS = 500 };
#endif

int main(int argc, char **argv)
{
#ifdef BR_MIMALLOC
    mi_option_set_default(mi_option_decommit_delay, KEEP_FREED_MS);
#endif
    return br_cli_main(argc, argv);
}
