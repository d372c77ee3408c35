/* The spool's functions of platform.h for Linux. */
#include "platform.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "linux/proc_linux.h"
#include "support/rec_text.h"

enum { TRIES = 8 }; /* tries of an allocation on a slow disk, which signals may interrupt */

int rec_spool_allocate(int fd, off_t size) {
    int why = EINTR;
    for (unsigned i = 0; why == EINTR && i < TRIES; i++) {
        why = posix_fallocate(fd, 0, size);
    }
    return why == EINVAL || why == ENOSYS || why == EINTR ? EOPNOTSUPP : why;
}

bool rec_spool_lock(int fd) {
    return flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

void rec_spool_keep_from_children(void *map, size_t size) {
    madvise(map, size, MADV_DONTFORK);
}

/* Copies by the kernel, from this process to itself: where a store would raise SIGBUS, it copies
 * less (process_vm_readv(2)). Where a sandbox forbids that, memcpy copies. */
bool rec_spool_store(unsigned char *to, const unsigned char *from, size_t len) {
    const struct iovec into = {to, len}, out_of = {(void *)(uintptr_t)from, len};
    ssize_t n = process_vm_readv(getpid(), &into, 1, &out_of, 1, 0);
    if (n < 0 && (errno == ENOSYS || errno == EPERM)) {
        memcpy(to, from, len);
        return true;
    }
    return n == (ssize_t)len;
}

uint64_t rec_process_start(uint32_t pid) {
    char path[32], text[1024];
    if ((pid_t)pid != getpid() && proc_listed_pid_async() != getpid()) {
        return 0; /* the id is another process's in /proc */
    }
    rec_put_text(proc_put_folder_async(path, (pid_t)pid), "/stat");
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text) : -1;
    if (fd >= 0) {
        close(fd);
    }
    size_t size = n > 0 ? (size_t)n : 0;
    uint64_t ticks = proc_parse_start_async(text, size);
    /* A zombie counts as dead, as its parent may never wait for it. */
    if (proc_parse_dead_async(text, size)) {
        return 0;
    }
    return ticks != UINT64_MAX ? ticks : 0;
}
