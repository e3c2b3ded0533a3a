/* runtime/base/disk.c - see disk.h. */
#include "runtime/base/disk.h"

#include <errno.h>
#include <sys/statvfs.h>

enum { FULL_BYTES = 1024 * 1024 }; /* less than this is left: the write was a larger one */

int br_disk_error(int code, const char *path)
{
    struct statvfs disk;
    if (code != EIO || statvfs(path, &disk) != 0) return code;
    return disk.f_bavail * disk.f_frsize < FULL_BYTES ? ENOSPC : code;
}
