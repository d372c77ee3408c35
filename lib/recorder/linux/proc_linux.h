/* What /proc tells about a thread of this process, as text and parsed. */
#ifndef STALLREC_PROC_LINUX_H
#define STALLREC_PROC_LINUX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/capture.h"
#include "support/rec_fd.h"

/* /proc/self/task/TID/syscall of a thread that is blocked: proc(5). */
struct proc_syscall {
    int64_t number; /* of the system call; -1: blocked elsewhere, as by a page fault */
    uint64_t args[6];
    uint64_t sp, pc;
};

/* Parses the file's text. False for "running" and for anything else that is not such a line: the
 * descriptor may have been closed by the program and its number be another file's now. */
bool proc_parse_syscall_async(const char *text, size_t size, struct proc_syscall *out);

/* Are two answers of one thread's file of the same call, from the same place? */
bool proc_same_call_async(const struct proc_syscall *a, const struct proc_syscall *b);

/* The state letter of /proc/self/task/TID/stat, which follows a name that may hold anything. */
enum rec_thread_state proc_parse_state_async(const char *text, size_t size);

/* The start of the process or thread, field 22 of the same text: clock ticks since the system's
 * boot. UINT64_MAX if the text does not tell. */
uint64_t proc_parse_start_async(const char *text, size_t size);

/* Is the process a zombie, as the same text says? */
bool proc_parse_dead_async(const char *text, size_t size);

/* Does the thread block the signal, by the text of its /proc/self/task/TID/status? True also if the
 * text does not tell: the thread is then gone. */
bool proc_parse_blocked_async(const char *text, size_t size, int signal_number);

/* May the thread be in a signal handler, by the same text: does it block a signal that the process
 * handles? True, too, if the text does not tell. A handler that blocks nothing, not even its own
 * signal, is not seen. */
bool proc_parse_handling_async(const char *text, size_t size);

/* Are the thread's system calls judged by a seccomp filter, or is it in strict mode, by the same
 * text? True, too, if there is no text; a kernel without seccomp tells nothing of it, which is no.
 */
bool proc_parse_filtered_async(const char *text, size_t size);

/* Copies memory of this process (pid) through the kernel, since it may have been unmapped
 * meanwhile. False if not all of it can be read. */
bool proc_read_memory_async(pid_t pid, uint64_t from, void *to, size_t size);

/* A file of one thread, kept open: with a descriptor from the start it can be read in a process
 * that may not open files any more. Zero-initialised is not valid; use proc_file_open_async. */
struct proc_file {
    struct rec_fd fd;
    char path[64];
};

/* Opens /proc/self/task/TID/NAME (a short name). Reads of a file that cannot be opened fail; errno
 * says why. */
void proc_file_open_async(struct proc_file *f, pid_t tid, const char *name);
/* Closes the descriptor, unless its number is another file's by now. */
void proc_file_close_async(struct proc_file *f);
/* Reads from the start of the file; returns the size, 0 on failure. Does not allocate. Nothing is
 * read from a file that took the descriptor's number: of an event descriptor or a terminal, even a
 * read at an offset takes what is there. */
size_t proc_file_read_async(const struct proc_file *f, char *buffer, size_t size);
/* Opens the file again, if the descriptor no longer is what it was: some programs close every
 * descriptor that they did not open. */
void proc_file_check_async(struct proc_file *f);

#endif
