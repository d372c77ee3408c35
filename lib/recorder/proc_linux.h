/* What /proc tells about a thread of this process, as text and parsed. */
#ifndef STALLREC_PROC_LINUX_H
#define STALLREC_PROC_LINUX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "capture.h"

/* /proc/self/task/TID/syscall of a thread that is blocked: proc(5). */
struct proc_syscall {
    int64_t number; /* of the system call; -1: blocked elsewhere, as by a page fault */
    uint64_t args[6];
    uint64_t sp, pc;
};

/* Parses the file's text. False for "running" and for anything else that is not such a line: the
 * descriptor may have been closed by the program and its number be another file's now. */
bool proc_parse_syscall_async(const char *text, size_t size, struct proc_syscall *out);

/* The state letter of /proc/self/task/TID/stat, which follows a name that may hold anything. */
enum rec_thread_state proc_parse_state_async(const char *text, size_t size);

/* Does the thread block the signal, by the text of its /proc/self/task/TID/status? True, too, if
 * the text does not tell: the thread is gone then. */
bool proc_parse_blocked_async(const char *text, size_t size, int signal_number);

/* A file of one thread, kept open: with a descriptor from the start it can be read in a process
 * that may not open files any more. Zero-initialised is not valid; use proc_file_open_async. */
struct proc_file {
    int fd;       /* -1: closed */
    dev_t device; /* of the file: the number alone may be another file's by now */
    ino_t inode;
    char path[64];
};

/* Opens /proc/self/task/TID/NAME (a short name). A file that cannot be opened reads as failing;
 * errno says why. */
void proc_file_open_async(struct proc_file *f, pid_t tid, const char *name);
/* Closes the descriptor, unless it is another file's by now. */
void proc_file_close_async(struct proc_file *f);
/* Reads from the start of the file; returns the size, 0 on failure. Does not allocate. Nothing is
 * read from a file that took the descriptor's number: of an event descriptor or a terminal, even a
 * read at an offset takes what is there. */
size_t proc_file_read_async(const struct proc_file *f, char *buffer, size_t size);
/* Opens the file again, if the descriptor no longer is what it was: some programs close every
 * descriptor that they did not open. */
void proc_file_check_async(struct proc_file *f);

#endif
