/* Threads and memory of this process through Mach, by the kernel's own checks. Monitor thread only,
 * but for task_memory.
 *
 * A thread_t here is a name of a right that the caller holds for the call. None of these functions
 * takes or gives up rights. */
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

/* Memory of the process: reading what is not mapped fails. Any thread. */
struct memory task_memory(void);

struct task_registers {
    struct fp_registers walk;
    struct xnu_call call; /* meaningful if the thread is blocked in a system call */
};

/* The thread must be suspended or blocked; registers of a running one would be outdated at once. */
bool task_registers_async(thread_t thread, struct task_registers *out);

struct task_usage {
    bool waiting;   /* it is blocked, and has been charged for all it ran */
    uint64_t ticks; /* CPU time in the kernel's unit: good for "has it run since" only */
};
bool task_usage_async(thread_t thread, struct task_usage *out);

/* System-wide id, 0 if there is no such thread. */
uint64_t task_thread_id_async(thread_t thread);
/* CPU time used, in ns, by steps of 1 us; UINT64_MAX if there is no such thread. */
uint64_t task_cpu_ns_async(thread_t thread);

/* All threads of the process: a right for each, in memory that the kernel mapped. Empty if it
 * cannot be had. Both go back by task_list_release_async. */
struct task_list {
    thread_t *threads;
    uint32_t count;
};
struct task_list task_list_async(void);
void task_list_release_async(struct task_list *list);

/* Describes everything but main and stack. False: there is no such thread. */
bool task_describe_async(thread_t thread, struct rec_thread *out);
/* What the thread waits for. An owner that is not a thread of the process is none. */
struct rec_wait task_wait_async(thread_t thread);

/* ---- copies ---- */

struct task_copier {
    uint8_t *buffer; /* [room] */
    size_t room;
    uint32_t max_frames;
};

struct task_copy {
    struct task_registers registers;
    struct fp_stack stack; /* in the copier's buffer: until its next copy */
    uint64_t pause_ns;     /* between suspend and resume */
};

/* Makes each call that task_copy_async makes while the thread is suspended once before: where the
 * program is linked for systems before iOS 15, the first call of a function asks dyld for it, and
 * the suspended thread may hold dyld's lock. Any thread. */
void task_prepare(const struct task_copier *copier);

/* Copies registers and as much of the stack as the chain of frames needs. The thread is suspended
 * meanwhile; what runs then makes four kernel calls at most for a usual stack, and takes no lock
 * and no memory of the process. */
bool task_copy_async(const struct task_copier *copier, thread_t thread, struct task_copy *out);

#endif
