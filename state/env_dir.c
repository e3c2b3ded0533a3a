/* state/env_dir.c - see env_dir.h. */
#include "state/env_dir.h"

#include "runtime/base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOCK_FILE "lock"
#define CLEAN_FILE "clean"
#define BOOT_ID_FILE "/proc/sys/kernel/random/boot_id"

static pthread_mutex_t claims_mutex = PTHREAD_MUTEX_INITIALIZER;
static br_env_claim *claims; /* @locks claims_mutex */

/* false: this process has it open already. */
static bool claim_take(br_env_claim *claim, const struct stat *at)
{
    *claim = (br_env_claim){.device = at->st_dev, .inode = at->st_ino};
    pthread_mutex_lock(&claims_mutex);
    br_env_claim *other = claims;
    while (other && (other->device != claim->device || other->inode != claim->inode))
        other = other->next;
    if (!other) {
        claim->next = claims;
        claim->held = true;
        claims = claim;
    }
    pthread_mutex_unlock(&claims_mutex);
    return claim->held;
}

static void claim_drop(br_env_claim *claim)
{
    if (!claim->held) return;
    pthread_mutex_lock(&claims_mutex);
    br_env_claim **at = &claims;
    while (*at != claim) at = &(*at)->next;
    *at = claim->next;
    pthread_mutex_unlock(&claims_mutex);
    claim->held = false;
}

char *br_env_dir_file(const br_env_dir *dir, const char *name)
{
    br_buf path = {0};
    br_buf_printf(&path, "%s/%s", dir->path, name);
    (void)br_buf_cstr(&path);
    return path.data;
}

static br_status make_dirs(const char *path, br_err *err)
{
    char *part = br_strdup(path);
    int failure = 0;
    for (char *at = part; *at && failure == 0; at++) {
        if (*at != '/' || at == part) continue;
        *at = '\0';
        if (mkdir(part, 0700) != 0 && errno != EEXIST) failure = errno;
        if (failure == 0) *at = '/';
    }
    if (failure == 0 && mkdir(part, 0700) != 0 && errno != EEXIST) failure = errno;
    br_status status = BR_OK;
    if (failure != 0)
        status = br_fail_errno(err, BR_ERR_IO, failure, "cannot make the state directory %s", part);
    br_free(part);
    return status;
}

static br_status fail_in_use(const char *path, int fd, br_err *err)
{
    char owner[300];
    ssize_t n = pread(fd, owner, sizeof(owner) - 1, 0);
    owner[n > 0 ? n : 0] = '\0';
    owner[strcspn(owner, "\n")] = '\0';
    return br_fail(err, BR_ERR_IN_USE,
                   "state directory %s is in use by %s; stop that worker or give this one another "
                   "state directory",
                   path, owner[0] ? owner : "another worker");
}

/* Whether fd is (still) the file at path: its owner's directory may have been removed meanwhile. */
static bool is_file_at(int fd, const char *path)
{
    struct stat ours, there;
    return fstat(fd, &ours) == 0 && stat(path, &there) == 0 && ours.st_dev == there.st_dev &&
           ours.st_ino == there.st_ino;
}

static void write_owner(int fd)
{
    char host[HOST_NAME_MAX + 1] = "", line[HOST_NAME_MAX + 64];
    (void)gethostname(host, sizeof(host) - 1);
    int n = snprintf(line, sizeof(line), "pid %ld on host %s\n", (long)getpid(), host);
    /* Only for messages: on a full disk the lock holds without its owner's name. */
    if (ftruncate(fd, 0) != 0 || pwrite(fd, line, (size_t)n, 0) != n) (void)ftruncate(fd, 0);
}

/* Takes the lock at file, or leaves *fd at -1. */
static br_status lock_file(const char *dir, const char *file, int *fd, br_err *err)
{
    *fd = -1;
    for (;;) {
        int opened = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (opened < 0)
            return br_fail_errno(err, BR_ERR_IO, errno, "cannot open the lock file %s", file);
        br_status status = BR_OK;
        if (flock(opened, LOCK_EX | LOCK_NB) != 0) {
            status = errno == EWOULDBLOCK
                         ? fail_in_use(dir, opened, err)
                         : br_fail_errno(err, BR_ERR_IO, errno, "cannot lock %s", file);
        } else if (is_file_at(opened, file)) {
            *fd = opened;
            return BR_OK;
        }
        (void)close(opened);
        if (status != BR_OK) return status;
    }
}

static br_status claim_dir(br_env_dir *dir, br_err *err)
{
    struct stat at;
    if (stat(dir->path, &at) != 0)
        return br_fail_errno(err, BR_ERR_IO, errno, "cannot look at the state directory %s",
                             dir->path);
    if (!S_ISDIR(at.st_mode))
        return br_fail_errno(err, BR_ERR_IO, ENOTDIR, "the state directory %s is a file",
                             dir->path);
    if (!claim_take(&dir->claim, &at))
        return br_fail(err, BR_ERR_IN_USE,
                       "state directory %s is in use by this process (pid %ld) already", dir->path,
                       (long)getpid());
    return BR_OK;
}

br_status br_env_dir_own(br_env_dir *dir, const char *path, br_err *err)
{
    *dir = (br_env_dir){.path = br_strdup(path), .lock_fd = -1};
    br_status status = make_dirs(path, err);
    if (status == BR_OK) status = claim_dir(dir, err);
    if (status == BR_OK) {
        char *file = br_env_dir_file(dir, LOCK_FILE);
        status = lock_file(dir->path, file, &dir->lock_fd, err);
        br_free(file);
    }
    if (status == BR_OK)
        write_owner(dir->lock_fd);
    else
        br_env_dir_release(dir);
    return status;
}

br_status br_env_dir_visit(br_env_dir *dir, const char *path, br_err *err)
{
    *dir = (br_env_dir){.path = br_strdup(path), .lock_fd = -1};
    br_status status = BR_NOT_FOUND;
    if (access(path, F_OK) == 0 || errno != ENOENT) status = claim_dir(dir, err);
    if (status != BR_OK) br_env_dir_release(dir);
    return status;
}

void br_env_dir_release(br_env_dir *dir)
{
    if (!dir->path) return;
    if (dir->lock_fd >= 0) (void)close(dir->lock_fd);
    claim_drop(&dir->claim);
    br_free(dir->path);
    *dir = (br_env_dir){.lock_fd = -1};
}

/* ---- the mark ---- */

/* Makes names that came or went in the directory durable. */
static br_status sync_dir(const br_env_dir *dir, br_err *err)
{
    int fd = open(dir->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int failure = fd < 0 || fsync(fd) != 0 ? errno : 0;
    if (fd >= 0) (void)close(fd);
    if (failure == 0) return BR_OK;
    return br_fail_errno(err, BR_ERR_IO, failure, "cannot sync the state directory %s", dir->path);
}

bool br_env_dir_is_clean(const br_env_dir *dir, uint64_t txn_id)
{
    char *file = br_env_dir_file(dir, CLEAN_FILE);
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    br_free(file);
    if (fd < 0) return false;
    char found[32], expected[32];
    ssize_t n = read(fd, found, sizeof(found) - 1);
    (void)close(fd);
    found[n > 0 ? n : 0] = '\0';
    (void)snprintf(expected, sizeof(expected), "%" PRIu64 "\n", txn_id);
    return strcmp(found, expected) == 0;
}

static int write_synced(const char *file, const char *text, size_t len)
{
    int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0) return errno;
    errno = ENOSPC; /* what a short write means */
    int failure = write(fd, text, len) != (ssize_t)len || fsync(fd) != 0 ? errno : 0;
    (void)close(fd);
    if (failure != 0) (void)unlink(file);
    return failure;
}

br_status br_env_dir_mark_clean(const br_env_dir *dir, uint64_t txn_id, br_err *err)
{
    char text[32];
    int len = snprintf(text, sizeof(text), "%" PRIu64 "\n", txn_id);
    char *file = br_env_dir_file(dir, CLEAN_FILE);
    int failure = write_synced(file, text, (size_t)len);
    br_status status = failure == 0 ? sync_dir(dir, err)
                                    : br_fail_errno(err, BR_ERR_IO, failure,
                                                    "cannot write the clean-close mark %s", file);
    br_free(file);
    return status;
}

br_status br_env_dir_unmark(const br_env_dir *dir, br_err *err)
{
    char *file = br_env_dir_file(dir, CLEAN_FILE);
    int failure = unlink(file) == 0 ? 0 : errno;
    br_status status = BR_OK;
    if (failure == 0)
        status = sync_dir(dir, err);
    else if (failure != ENOENT)
        status =
            br_fail_errno(err, BR_ERR_IO, failure, "cannot remove the clean-close mark %s", file);
    br_free(file);
    return status;
}

br_status br_boot_id(char out[BR_BOOT_ID_MAX], br_err *err)
{
    int fd = open(BOOT_ID_FILE, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, out, BR_BOOT_ID_MAX - 1);
    int failure = errno;
    if (fd >= 0) (void)close(fd);
    if (n <= 0)
        return br_fail_errno(err, BR_ERR_IO, n == 0 ? ENODATA : failure, "cannot read %s",
                             BOOT_ID_FILE);
    out[n] = '\0';
    out[strcspn(out, "\n")] = '\0';
    return BR_OK;
}
