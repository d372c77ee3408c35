/* Reads the files in /proc about a thread of this process, and parses such files of any process. */
#ifndef STALLREC_PROC_LINUX_H
#define STALLREC_PROC_LINUX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/capture.h"
#include "support/rec_fd.h"

/* The content of /proc/self/task/TID/syscall for a blocked thread: proc(5). */
struct proc_syscall {
    int64_t number; /* number of the system call; -1: the thread is blocked elsewhere, as by a page
                       fault */
    uint64_t args[6];
    uint64_t sp, pc;
};

/* Parses the text of /proc/self/task/TID/syscall. False: the text is "running", or no such line,
 * since the program may have closed the descriptor, and its number may be another file's. */
bool proc_parse_syscall_async(const char *text, size_t size, struct proc_syscall *out);

/* Do two readings of one thread's file show the same system call, with the same arguments, pc and
 * sp? */
bool proc_same_call_async(const struct proc_syscall *a, const struct proc_syscall *b);

/* Parses the state letter in a text of /proc/self/task/TID/stat; it follows the name, which may
 * hold any bytes. REC_STATE_UNKNOWN: the text has no letter that is known. */
enum rec_thread_state proc_parse_state_async(const char *text, size_t size);

/* Parses field 22 of a text of stat: the start of the process or thread in clock ticks since the
 * system's boot. UINT64_MAX: the text does not have it. */
uint64_t proc_parse_start_async(const char *text, size_t size);

/* Is the process or thread a zombie or dead, by its text of stat? */
bool proc_parse_dead_async(const char *text, size_t size);

/* Does the thread block the signal, by the text of its /proc/self/task/TID/status? True also if the
 * text lacks the mask of blocked signals, as the thread is then gone. */
bool proc_parse_blocked_async(const char *text, size_t size, int signal_number);

/* May the thread be in a signal handler: does it, by its text of status, block a signal that the
 * process handles? True also if the text lacks the masks. A handler that blocks nothing, not even
 * its own signal, is not noticed. */
bool proc_parse_handling_async(const char *text, size_t size);

/* Does a seccomp filter judge the thread's system calls, or is the thread in strict mode, by its
 * text of status? True also if the text is empty; false if the text does not mention seccomp, as
 * under a kernel without it. */
bool proc_parse_filtered_async(const char *text, size_t size);

/* Returns this process's id as /proc has it. That is another than getpid() in a namespace of
 * process ids without a /proc of its own, where /proc/PID is another process. 0: /proc is not
 * there. */
pid_t proc_listed_pid_async(void);

/* Writes the path of the folder of process `pid` in /proc to `to`, with a NUL; this process's is
 * "/proc/self". Returns the end, where the NUL is. */
char *proc_put_folder_async(char *to, pid_t pid);

/* Copies memory of the process `pid`, through the kernel, since it may be unmapped by now. False:
 * not all of it can be read. */
bool proc_read_memory_async(pid_t pid, uint64_t from, void *to, size_t size);

/* A file of one thread, kept open from the start, so that it can still be read when the process
 * may no longer open files. A zeroed struct is not valid; use proc_file_open_async. */
struct proc_file {
    struct rec_fd fd;
    char path[64];
};

/* Opens /proc/self/task/TID/NAME (a short name). The main thread and the calling one are found also
 * where /proc has other ids for them (proc_listed_pid_async), others are not. If it cannot be
 * opened, errno is the reason, and reads of it fail. */
void proc_file_open_async(struct proc_file *f, pid_t tid, const char *name);
/* Closes the descriptor, unless its number is another file's by now. */
void proc_file_close_async(struct proc_file *f);
/* Reads from the start of the file; returns the number of bytes, 0 on failure. Does not allocate.
 * If another file has the descriptor's number, nothing is read from it, as reading from an event
 * descriptor or a terminal, even at an offset, would consume its data. */
size_t proc_file_read_async(const struct proc_file *f, char *buffer, size_t size);
/* Opens the file again if its descriptor was closed or is another file's, as some programs close
 * all descriptors that they did not open. */
void proc_file_check_async(struct proc_file *f);

#endif
