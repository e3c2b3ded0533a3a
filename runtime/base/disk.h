/* runtime/base/disk.h - whether a failed write means a full disk.
 * LMDB reports a write that a full disk cut short as an input/output error (EIO). */
#ifndef BR_BASE_DISK_H
#define BR_BASE_DISK_H

/* code, or ENOSPC where it is EIO and the file system that holds path is (all but) full. */
int br_disk_error(int code, const char *path);

#endif
