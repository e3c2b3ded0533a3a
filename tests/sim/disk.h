/* tests/sim/disk.h - what is left of a task's state folder: its files as bytes.
 * LMDB writes with write() (no MDB_WRITEMAP), so between two transactions a copy of its file is
 * what a killed process leaves behind. lock.mdb says nothing once nobody has it open. */
#ifndef BR_TESTS_SIM_DISK_H
#define BR_TESTS_SIM_DISK_H

#include "runtime/base/bytes.h"

typedef struct disk {
    br_buf data; /* data.mdb; empty: no state */
    br_buf mark; /* the clean-close mark; empty: none */
} disk;

void disk_read(disk *out, const char *dir); /* a folder that is not there is an empty disk */
void disk_write(const disk *from, const char *dir);
void disk_dispose(disk *at);
void disk_make_dirs(const char *path);
void disk_remove_dirs(const char *path); /* with all that is in them */

#endif
