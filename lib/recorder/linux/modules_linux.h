/* The loaded modules as the dynamic linker knows them, for the unwinder. */
#ifndef STALLREC_MODULES_LINUX_H
#define STALLREC_MODULES_LINUX_H

#include "unwind/unwind.h"

struct dl_phdr_info; /* <link.h> declares it for _GNU_SOURCE only */

struct unwind_modules modules_linux(void);

/* Calls dl_iterate_phdr, but never while the process forks. Otherwise the dynamic linker's lock
 * could stay locked for good in the child, in which its holder, the monitor, does not exist: glibc
 * reinitialises only its other lock, and the child would hang in its first dlopen or C++
 * exception. `visit` may call this function again. */
int modules_iterate_async(int (*visit)(struct dl_phdr_info *, size_t, void *), void *arg);

/* Calls visit(arg, module) with the module that has a segment around `pc`, and keeps that module
 * mapped during the call. False: no module holds `pc`. */
bool modules_find_async(uint64_t pc, unwind_visit_fn *visit, void *arg);

/* The rule that gives the canonical frame address of a function that is at one of its calls. This
 * address is the value of the stack pointer before the call of the function itself. */
struct modules_entry {
    int32_t offset;  /* distance of the address from sp, or from the frame pointer; 0: not known */
    bool from_frame; /* `offset` counts from the frame pointer */
};
/* Returns the rule for the call that returns to `pc`, from the call frame information of its
 * module; offset 0: there is none, or another kind of rule. */
struct modules_entry modules_entry_async(uint64_t pc);

/* Returns a number that rises whenever a module comes or goes. */
uint64_t modules_generation_async(void);

/* Calls work_async(arg) while no module can come or go, under the dynamic linker's lock (glibc;
 * musl never unloads). A thread that loads a module meanwhile waits, so the work must be short. */
void modules_hold_async(void (*work_async)(void *), void *arg);

/* Takes the lock of modules_iterate_async, until modules_release, if no other thread holds it. A
 * thread of the program may hold the dynamic linker's lock, or be awaited by a thread that forks,
 * so it must not wait for this one. False: another thread holds it. */
bool modules_try_hold(void);
void modules_release(void);

/* Handlers for pthread_atfork, which keep the lock of modules_iterate_async usable in parent and
 * child. */
void modules_before_fork(void);
void modules_after_fork(void);
void modules_in_forked_child(void);

#endif
