/* The stand-in's part of Darwin's C library that needs no Mach kernel: see README.md. */
#include "standin.h"

#include <errno.h>
#include <mach/vm_inherit.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysctl.h>
#include <unistd.h>

#include "darwin.h"

int pthread_set_qos_class_self_np(unsigned qos, int priority) {
    return qos == QOS_CLASS_USER_INTERACTIVE && priority == 0 ? 0 : EINVAL;
}

static pthread_t main_thread;

__attribute__((constructor)) static void keep_main_thread(void) {
    main_thread = pthread_self();
}

int pthread_main_np(void) {
    return pthread_equal(pthread_self(), main_thread);
}

void standin_random(void *to, size_t size) {
    static atomic_uint next = 1;
    for (size_t i = 0; i < size; i++) {
        ((uint8_t *)to)[i] = (uint8_t)(atomic_fetch_add(&next, 7) * 37);
    }
}

const char *standin_progname(void) {
    return "Shop";
}

int sysctlbyname(const char *name, void *old, size_t *old_size, void *value, size_t size) {
    static const struct {
        const char *name, *text;
    } texts[] = {{"hw.machine", "iPhone13,3"},
                 {"kern.osproductversion", "18.7"},
                 {"kern.osversion", "22H20"}};
    int32_t cpus = 6;
    const void *found = strcmp(name, "hw.ncpu") == 0 ? &cpus : NULL;
    size_t found_size = sizeof cpus;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (strcmp(name, texts[i].name) == 0) {
            found = texts[i].text;
            found_size = strlen(texts[i].text) + 1;
        }
    }
    if (found == NULL || value != NULL || size != 0 || *old_size < found_size) {
        errno = found == NULL ? ENOENT : EINVAL;
        return -1;
    }
    memcpy(old, found, found_size);
    *old_size = found_size;
    return 0;
}

int sysctl(const int *name, unsigned count, void *old, size_t *old_size, void *value, size_t size) {
    struct kinfo_proc *process = old;
    if (count != 4 || name[0] != CTL_KERN || name[1] != KERN_PROC || name[2] != KERN_PROC_PID ||
        value != NULL || size != 0 || *old_size < sizeof *process) {
        errno = EINVAL;
        return -1;
    }
    if (name[3] != getpid()) {
        *old_size = 0; /* the kernel does not fail for a process that is not there */
        return 0;
    }
    process->kp_proc.p_starttime = (struct timeval){STANDIN_START_S, 250000};
    *old_size = sizeof *process;
    return 0;
}

static int preallocate(int fd, const fstore_t *store) {
    if (store->fst_flags != F_ALLOCATEALL || store->fst_posmode != F_PEOFPOSMODE) {
        errno = EINVAL;
        return -1;
    }
    errno = posix_fallocate(fd, 0, store->fst_length);
    return errno == 0 ? 0 : -1;
}

int standin_fcntl(int fd, int command, ...) {
    va_list arguments;
    int result = -1;
    va_start(arguments, command);
    if (command == F_PREALLOCATE) {
        result = preallocate(fd, va_arg(arguments, const fstore_t *));
    } else if (command == F_SETPROTECTIONCLASS && va_arg(arguments, int) == 3) {
        result = 0;
    } else {
        errno = EINVAL;
    }
    va_end(arguments);
    return result;
}

int minherit(void *address, size_t size, int inherit) {
    return inherit == VM_INHERIT_NONE ? madvise(address, size, MADV_DONTFORK) : EINVAL;
}
