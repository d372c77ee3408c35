/* Functions by which tests say what Mach calls on the stand-in find, and ask what the calls have
 * done. */
#ifndef STANDIN_H
#define STANDIN_H

#include <mach/mach.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum standin_call {
    STANDIN_GET_STATE,
    STANDIN_INFO,
    STANDIN_SUSPEND,
    STANDIN_RESUME,
    STANDIN_READ,
    STANDIN_CLOCK,
    STANDIN_THREADS,
    STANDIN_DEALLOCATE, /* mach_port_deallocate */
    STANDIN_FREE,       /* vm_deallocate */
    STANDIN_SELF,
    STANDIN_TASK_INFO,
    STANDIN_SEMAPHORE,
    STANDIN_CALLS
};

enum {
    STANDIN_THREADS_MAX = 320,
    STANDIN_START_S = 1700000000 /* the process began 250 ms after this time, in s since 1970 */
};

struct standin_thread {
    uint64_t id;
    const char *name;
    integer_t run_state;
    uint64_t cpu_ns;
    arm_thread_state64_t state;
    bool dead;
    /* The stand-in sets the members below. */
    unsigned rights;   /* port rights that the recorder has got and not given back */
    unsigned suspends; /* suspensions of the thread without a resume */
};

/* Removes all threads and memory, and sets all counts to 0. The recorder must hold no right and no
 * list of threads, and no thread may be suspended. */
void standin_reset(void);

/* Adds a thread that waits; no real thread belongs to it until standin_be. NULL: there is no
 * room. */
struct standin_thread *standin_add(uint64_t id, const char *name);
/* Makes the caller this thread. A caller that is no thread yet is added by its first call, with an
 * id of 90000 or more. */
void standin_be(const struct standin_thread *thread);
mach_port_t standin_port(const struct standin_thread *thread);

/* Lets calls read `size` bytes at `address`, which are those at `bytes`, borrowed. Where regions
 * overlap, the one that was added last counts. */
void standin_map(uint64_t address, const void *bytes, size_t size);
void standin_unmap(uint64_t address);
/* Sets the address and the size of dyld's list that TASK_DYLD_INFO gives. */
void standin_set_infos(uint64_t address, uint64_t size);
void standin_set_program(const char *path);

/* Sets a hook that each call calls first, with the number of the call, the next call being number
 * 1; NULL = none. */
void standin_on_call(void (*hook)(void *arg, unsigned number), void *arg);
/* Makes the nth call of this kind from now on (1 = the next) return `result` and do nothing. */
void standin_fail(enum standin_call call, unsigned nth, kern_return_t result);

struct standin_counts {
    unsigned calls[STANDIN_CALLS];
    unsigned rights;    /* port rights of threads that the recorder holds */
    unsigned lists;     /* lists of threads whose memory the recorder holds */
    unsigned suspended; /* suspensions without a resume */
    /* Number of acts that a kernel or a suspended thread would not survive: calls that are not
     * allowed, allocations and locks while a thread was suspended, the return of rights that were
     * not held or of memory that was not the kernel's, and copies so large that the kernel would
     * share the memory. */
    unsigned forbidden;
    unsigned pieces; /* largest number of reads in one suspension */
};
struct standin_counts standin_counts(void);

#endif
