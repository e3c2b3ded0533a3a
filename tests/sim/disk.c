/* tests/sim/disk.c - see disk.h. */
#include "tests/sim/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES_MAX = 512 };

static void path_of(char out[PATH_BYTES_MAX], const char *dir, const char *name)
{
    int n = snprintf(out, PATH_BYTES_MAX, "%s/%s", dir, name);
    BR_ASSERT(n > 0 && n < PATH_BYTES_MAX);
}

static void read_file(br_buf *out, const char *dir, const char *name)
{
    char path[PATH_BYTES_MAX];
    struct stat at;
    path_of(path, dir, name);
    br_buf_reset(out);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    BR_ASSERT(fstat(fd, &at) == 0);
    size_t size = (size_t)at.st_size;
    br_buf_reserve(out, size);
    BR_ASSERT(read(fd, out->data, size) == (ssize_t)size);
    out->len = size;
    (void)close(fd);
}

static void write_file(const br_buf *from, const char *dir, const char *name)
{
    char path[PATH_BYTES_MAX];
    path_of(path, dir, name);
    if (from->len == 0) {
        BR_ASSERT(unlink(path) == 0 || errno == ENOENT);
        return;
    }
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    BR_ASSERT(fd >= 0 && write(fd, from->data, from->len) == (ssize_t)from->len);
    (void)close(fd);
}

void disk_read(disk *out, const char *dir)
{
    read_file(&out->data, dir, "data.mdb");
    read_file(&out->mark, dir, "clean");
}

void disk_write(const disk *from, const char *dir)
{
    write_file(&from->data, dir, "data.mdb");
    write_file(&from->mark, dir, "clean");
}

void disk_dispose(disk *at)
{
    br_buf_dispose(&at->data);
    br_buf_dispose(&at->mark);
}

void disk_make_dirs(const char *path)
{
    char part[PATH_BYTES_MAX];
    path_of(part, path, "");
    for (char *at = strchr(part + 1, '/'); at; at = strchr(at + 1, '/')) {
        *at = '\0';
        BR_ASSERT(mkdir(part, 0700) == 0 || errno == EEXIST);
        *at = '/';
    }
}

static int remove_one(const char *path, const struct stat *at, int type, struct FTW *ftw)
{
    (void)at, (void)type, (void)ftw;
    return remove(path);
}

void disk_remove_dirs(const char *path)
{
    (void)nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}
