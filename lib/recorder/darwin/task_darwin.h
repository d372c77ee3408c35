/* Threads and memory of this process, read by Mach calls, which check all addresses. All functions
 * but task_memory and task_prepare run on the monitor thread only.
 *
 * A thread_t here is the name of a port right that the caller holds during the call. No function
 * here takes or gives up such a right, except those of struct task_list. */
#ifndef STALLREC_TASK_DARWIN_H
#define STALLREC_TASK_DARWIN_H

#include <mach/mach.h>

#include "core/capture.h"
#include "darwin/fp_walk.h"
#include "darwin/xnu_wait.h"

#if defined(__arm64__)
#define TASK_CPU UNWIND_ARM64
#else
#define TASK_CPU UNWIND_X86_64
#endif

/* Returns a reader of this process's memory, which fails where memory is not mapped. It may be
 * called on any thread. */
struct memory task_memory(void);

struct task_registers {
    struct fp_registers walk;
    struct xnu_call call; /* meaningful if the thread is blocked in a system call */
};

/* Reads the registers of a thread, which must be suspended or blocked, as those of a running thread
 * would be out of date at once. False: there is no such thread. */
bool task_registers_async(thread_t thread, struct task_registers *out);

struct task_usage {
    bool waiting;   /* the thread is blocked, and `ticks` covers all of its running time */
    uint64_t ticks; /* CPU time in a unit of the kernel; only whether it changed has a meaning */
};
/* Reads whether a thread is blocked, and its CPU time. False: there is no such thread. */
bool task_usage_async(thread_t thread, struct task_usage *out);

/* Returns the thread's system-wide id; 0 if there is no such thread. */
uint64_t task_thread_id_async(thread_t thread);
/* Returns the CPU time that the thread has used, in ns, in steps of 1 us; UINT64_MAX if there is
 * no such thread. */
uint64_t task_cpu_ns_async(thread_t thread);

/* All threads of the process: a port right for each, in memory that the kernel mapped;
 * task_list_release_async releases both. Empty if the list cannot be read. */
struct task_list {
    thread_t *threads;
    uint32_t count;
};
/* Lists the threads of the process. */
struct task_list task_list_async(void);
/* Gives the rights and the memory back; the list is empty then. */
void task_list_release_async(struct task_list *list);

/* Sets id, name, state and cpu_ns of *out. False: there is no such thread. */
bool task_describe_async(thread_t thread, struct rec_thread *out);
/* Returns the lock or thread for which the thread waits; an owner that is no thread of the process
 * becomes -1. REC_WAIT_NONE: the thread runs, waits for neither, or cannot be read. */
struct rec_wait task_wait_async(thread_t thread);

/* ---- copies ---- */

struct task_copier {
    uint8_t *buffer; /* [room] memory for a copy of a stack */
    size_t room;
    uint32_t max_frames;
};

struct task_copy {
    struct task_registers registers;
    struct fp_stack stack; /* the copied stack, in the copier's buffer, valid until its next copy */
    uint64_t pause_ns;     /* ns between suspend and resume */
};

/* Makes each kernel call once that task_copy_async makes while the thread is suspended. In a
 * program linked for systems before iOS 15, the first call of a function looks up its address in
 * dyld, and the suspended thread may hold dyld's lock. It may be called on any thread. */
void task_prepare(const struct task_copier *copier);

/* Copies the registers and as much of the stack as the chain of frames needs. The thread is
 * suspended meanwhile; for a usual stack, the code that runs then makes at most four kernel calls,
 * and it takes no lock and no memory of the process. A stack that cannot be read is empty. False:
 * the thread cannot be suspended, or its registers cannot be read. */
bool task_copy_async(const struct task_copier *copier, thread_t thread, struct task_copy *out);

#endif
