/* runtime/main.c - the brine command; everything is behind runtime/cli/. */
#include "runtime/cli/cli.h"

int main(int argc, char **argv)
{
    return br_cli_main(argc, argv);
}
