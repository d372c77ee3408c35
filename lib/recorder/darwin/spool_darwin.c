/* The spool's functions for Darwin. A lock there ends when its descriptor is closed, even while the
 * file stays mapped, and the spool keeps no descriptor, so a spool counts as in use as long as its
 * process lives. */
#include "platform.h"

#include <errno.h>
#include <fcntl.h>
#include <mach/mach.h>
#include <mach/vm_inherit.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sysctl.h>
#include <unistd.h>

enum {
    UNTIL_FIRST_UNLOCK = 3, /* "Complete Until First User Authentication" */
    PIECE = 16384 /* maximum number of bytes that the kernel copies through a buffer of its own */
};

/* Gives the mapped spool a data protection class that allows reading it while the device is
 * locked, as the app's files may not. Failure is ignored, as Macs have no such classes. */
static void let_be_read_when_locked(int fd) {
    fcntl(fd, F_SETPROTECTIONCLASS, UNTIL_FIRST_UNLOCK);
}

int rec_spool_allocate(int fd, off_t size) {
    let_be_read_when_locked(fd);
    fstore_t store = {.fst_flags = F_ALLOCATEALL, .fst_posmode = F_PEOFPOSMODE, .fst_length = size};
    if (fcntl(fd, F_PREALLOCATE, &store) != 0) {
        return errno == ENOTSUP ? EOPNOTSUPP : errno;
    }
    return ftruncate(fd, size) == 0 ? 0 : errno;
}

bool rec_spool_lock(int fd) {
    return flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

void rec_spool_keep_from_children(void *map, size_t size) {
    minherit(map, size, VM_INHERIT_NONE);
}

/* Copies by the kernel, which returns an error where a store of this process would raise a
 * signal. */
bool rec_spool_store(unsigned char *to, const unsigned char *from, size_t len) {
    for (size_t done = 0; done < len;) {
        vm_size_t size = len - done < PIECE ? len - done : PIECE, got = 0;
        if (vm_read_overwrite(mach_task_self(), (vm_address_t)(uintptr_t)(from + done), size,
                              (vm_address_t)(uintptr_t)(to + done), &got) != KERN_SUCCESS ||
            got != size) {
            return false;
        }
        done += size;
    }
    return true;
}

uint64_t rec_process_start(uint32_t pid) {
    struct kinfo_proc process;
    size_t size = sizeof process;
    int name[] = {CTL_KERN, KERN_PROC, KERN_PROC_PID, (int)pid};
    if (sysctl(name, 4, &process, &size, NULL, 0) != 0 || size != sizeof process) {
        return 0;
    }
    return (uint64_t)process.kp_proc.p_starttime.tv_sec * 1000000 +
           (uint64_t)process.kp_proc.p_starttime.tv_usec;
}
