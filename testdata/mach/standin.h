/* The scripts of the stand-in: what the process looks like to Mach calls, and what they cost. */
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
    STANDIN_DEALLOCATE, /* of a right */
    STANDIN_FREE,       /* of memory */
    STANDIN_SELF,
    STANDIN_TASK_INFO,
    STANDIN_SEMAPHORE,
    STANDIN_CALLS
};

enum {
    STANDIN_THREADS_MAX = 320,
    STANDIN_START_S = 1700000000 /* when the process began, and 250 ms */
};

struct standin_thread {
    uint64_t id;
    const char *name;
    integer_t run_state;
    uint64_t cpu_ns;
    arm_thread_state64_t state;
    bool dead;
    /* Kept by the stand-in. */
    unsigned rights;   /* that the recorder has been given and has not given back */
    unsigned suspends; /* and not resumed */
};

/* Nothing is there any more; no right, no memory and no thread may be held. */
void standin_reset(void);

/* Adds a thread that waits; one that nobody runs. NULL: no room. */
struct standin_thread *standin_add(uint64_t id, const char *name);
/* The caller is this thread from now on. Others that call are added by themselves, by ids from
 * 90000. */
void standin_be(const struct standin_thread *thread);
mach_port_t standin_port(const struct standin_thread *thread);

/* Memory that can be read: `size` bytes at `address`, which are at `bytes`. The latest wins. */
void standin_map(uint64_t address, const void *bytes, size_t size);
void standin_unmap(uint64_t address);
/* Where TASK_DYLD_INFO says that dyld's list is. */
void standin_set_infos(uint64_t address, uint64_t size);
void standin_set_program(const char *path);

/* Called at the begin of each call with its number, from 1 since the reset; NULL = nothing. */
void standin_on_call(void (*hook)(void *arg, unsigned number), void *arg);
/* From now on the nth call of this kind (1 = the next) returns `result` and does nothing. */
void standin_fail(enum standin_call call, unsigned nth, kern_return_t result);

struct standin_counts {
    unsigned calls[STANDIN_CALLS];
    unsigned rights;    /* held by the recorder */
    unsigned lists;     /* of threads, whose memory the recorder holds */
    unsigned suspended; /* suspensions without a resume */
    unsigned forbidden; /* calls, allocations and locks while a thread was suspended; rights given
                           back that were not held; memory that was not the kernel's; copies that
                           the kernel would share */
    unsigned pieces;    /* most reads in one suspension */
};
struct standin_counts standin_counts(void);

#endif
