/* Makes the memory that stallrec shares with the processes that it records, and its file. */
#include "record/shared_report.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "recorder/preload/preload.h"

#define PREFIX ".stallrec-report-"

enum { FD_FROM = 100, FD_LEAST = 3 };

int raise_descriptor(int low) {
    int high = low >= 0 ? fcntl(low, F_DUPFD, FD_FROM) : -1;
    if (low >= 0 && high < 0) { /* RLIMIT_NOFILE is low */
        high = fcntl(low, F_DUPFD, FD_LEAST);
    }
    if (low >= 0) {
        close(low);
    }
    return high;
}

/* Removes a report file that a killed command left, that is, a file of this user whose lock no
 * process holds. */
static void remove_stale(int folder, const char *name) {
    struct stat sb;
    int fd = openat(folder, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        return;
    }
    if (fstat(fd, &sb) == 0 && S_ISREG(sb.st_mode) && sb.st_uid == geteuid() &&
        flock(fd, LOCK_EX | LOCK_NB) == 0) {
        unlinkat(folder, name, 0);
    }
    close(fd);
}

static void remove_all_stale(const char *folder) {
    DIR *dir = opendir(folder);
    for (struct dirent *entry; dir && (entry = readdir(dir)) != NULL;) {
        if (strncmp(entry->d_name, PREFIX, sizeof PREFIX - 1) == 0) {
            remove_stale(dirfd(dir), entry->d_name);
        }
    }
    if (dir) {
        closedir(dir);
    }
}

/* Makes the report file with all its blocks allocated, since writing to a mapping for which the
 * disk has no room would end the process (SIGBUS). Returns its descriptor, which holds a shared
 * lock on it; -1: the file cannot be made. */
static int make_report_file(struct shared_report *r, const char *folder) {
    struct strbuf path = {0};
    strbuf_addf(&path, "%s/" PREFIX "XXXXXX", folder);
    r->path = path.failed ? NULL : strdup(strbuf_cstr(&path));
    strbuf_release(&path);
    int fd = r->path ? mkstemp(r->path) : -1;
    if (fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) == 0 &&
        posix_fallocate(fd, 0, sizeof *r->memory) == 0) {
        return fd;
    }
    if (fd >= 0) {
        unlink(r->path);
        close(fd);
    }
    free(r->path);
    r->path = NULL;
    return -1;
}

bool shared_report_make(struct shared_report *r, const char *folder) {
    *r = (struct shared_report){.fd = -1};
    int fd = -1;
    if (folder) {
        remove_all_stale(folder);
        fd = make_report_file(r, folder);
    }
    if (fd < 0) {
        fd = (int)syscall(SYS_memfd_create, "stallrec", MFD_CLOEXEC);
    }
    r->fd = raise_descriptor(fd);
    if (r->fd < 0 || (!r->path && ftruncate(r->fd, sizeof *r->memory) != 0)) {
        return false;
    }
    void *memory = mmap(NULL, sizeof *r->memory, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
    if (memory == MAP_FAILED) {
        return false;
    }
    r->memory = memory;
    r->memory->size = sizeof *r->memory;
    return true;
}

void shared_report_release(struct shared_report *r) {
    if (r->path) {
        unlink(r->path);
    }
    free(r->path);
    r->path = NULL;
}
