/* Another process, seen from outside: its files of /proc and its memory. Nothing is written to it.
 * Needs the rights of ptrace(2) over it to read (PTRACE_MODE_READ, PTRACE_MODE_ATTACH). */
#ifndef STALLREC_REMOTE_PROCESS_H
#define STALLREC_REMOTE_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "linux/proc_linux.h"

/* Zero-initialised is not valid: REMOTE_PROCESS_NONE is. */
struct remote_process {
    pid_t pid;
    int folder;  /* /proc/PID: of this process, whoever has its number later */
    int ends_fd; /* a pidfd: readable when the process has ended */
};

#define REMOTE_PROCESS_NONE ((struct remote_process){.folder = -1, .ends_fd = -1})

/* False: see errno; ESRCH: there is no such process. */
bool remote_process_open(struct remote_process *process, pid_t pid);
void remote_process_close(struct remote_process *process);

/* Has it ended, as a zombie too? */
bool remote_process_ended(const struct remote_process *process);

/* Opens /proc/PID/NAME for reading; -1: see errno. */
int remote_process_file(const struct remote_process *process, const char *name);
/* Opens /proc/PID/task/TID/NAME. */
int remote_thread_file(const struct remote_process *process, pid_t tid, const char *name);
/* Reads the start of an open file of /proc; the text is NUL-terminated and cut to fit. Returns its
 * length, 0 on failure. */
size_t remote_text(int fd, char *text, size_t room);

/* The decimal number that a text of /proc or tracefs begins with. False: there is none, or it is
 * too large. */
bool remote_number(const char *text, uint64_t *value);

/* A number of a line of /proc/PID/status, which begins with `name`; of several its first, or with
 * `last` its last, which of NSpid is the id as the process sees it. False: there is none. */
bool remote_status_number(const char *status, const char *name, bool last, uint64_t *value);

/* The file that the process runs, as it names it; "" if that cannot be read. */
void remote_process_program(const struct remote_process *process, char *path, size_t room);

/* Copies memory of the process. False: not all of it can be read. */
bool remote_read(const struct remote_process *process, uint64_t address, void *to, size_t size);
/* Copies what can be read from `address` on, up to the first page that cannot, at most `size`
 * bytes. Returns how many. */
size_t remote_read_some(const struct remote_process *process, uint64_t address, uint8_t *to,
                        size_t size);

/* Its threads, by rising id, malloc'ed; the caller's to free. Returns how many, 0: none, or no
 * memory. */
size_t remote_threads(const struct remote_process *process, pid_t **out);

#endif
