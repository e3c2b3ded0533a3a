/* runtime/base/failpoint.c - see failpoint.h. */
#include "runtime/base/failpoint.h"

typedef int br_failpoint_unit_not_empty; /* ISO C wants a declaration when the option is off */

#ifdef BR_FAILPOINTS
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How often each armed entry was reached, by all pipeline threads together. */
static atomic_int reached[16];

void (*br_failpoint_hook)(const char *name);

static int signal_of(const char *entry)
{
    static const char stop[] = ":stop";
    size_t len = strcspn(entry, ","), end = sizeof(stop) - 1;
    return len > end && memcmp(entry + len - end, stop, end) == 0 ? SIGSTOP : SIGKILL;
}

void br_failpoint(const char *name)
{
    if (br_failpoint_hook) br_failpoint_hook(name);
    const char *at = getenv("BRINE_FAILPOINT");
    size_t len = strlen(name);
    for (size_t i = 0; at && *at && i < sizeof(reached) / sizeof(reached[0]); i++) {
        size_t n = strcspn(at, ":=,");
        int number = at[n] == ':' || at[n] == '=' ? (int)strtol(at + n + 1, NULL, 10) : 1;
        bool here = n == len && memcmp(at, name, n) == 0;
        if (here && at[n] == '=')
            (void)usleep((useconds_t)number * 1000);
        else if (here && atomic_fetch_add(&reached[i], 1) + 1 == number)
            (void)kill(getpid(), signal_of(at));
        at += strcspn(at, ",");
        if (*at) at++;
    }
}
#endif
