/* The loaded modules as the dynamic linker knows them, for the unwinder. */
#ifndef STALLREC_MODULES_LINUX_H
#define STALLREC_MODULES_LINUX_H

#include "unwind/unwind.h"

struct dl_phdr_info; /* of <link.h>, which declares it for _GNU_SOURCE only */

struct unwind_modules modules_linux(void);

/* dl_iterate_phdr, but never while the process forks. The dynamic linker's lock would be locked in
 * the child for good, where its holder, the monitor, does not exist: glibc makes only its other
 * lock anew, and the child would hang in its first dlopen or C++ exception. Not recursive. */
int modules_iterate_async(int (*visit)(struct dl_phdr_info *, size_t, void *), void *arg);

/* A number that rises whenever a module comes or goes. */
uint64_t modules_generation_async(void);

/* Does the work while modules can neither come nor go, where the dynamic linker's lock keeps them
 * (glibc; musl never unloads). A thread that loads one meanwhile waits, so the work has to be
 * short. */
void modules_hold_async(void (*work_async)(void *), void *arg);

/* The handlers for pthread_atfork that keep the lock sound. */
void modules_before_fork(void);
void modules_after_fork(void);
void modules_in_forked_child(void);

#endif
