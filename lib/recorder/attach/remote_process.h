/* Another process, seen from outside: its files of /proc and its memory. Nothing is written to the
 * process. Reading needs the rights of ptrace(2) over it (PTRACE_MODE_READ, PTRACE_MODE_ATTACH). */
#ifndef STALLREC_REMOTE_PROCESS_H
#define STALLREC_REMOTE_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "linux/proc_linux.h"

/* Another process. REMOTE_PROCESS_NONE means none; a zeroed struct is not valid. */
struct remote_process {
    pid_t pid;
    int folder;  /* /proc/PID, opened; it stays this process's, even if another process gets the pid
                    later */
    int ends_fd; /* a pidfd: readable when the process has ended */
};

#define REMOTE_PROCESS_NONE ((struct remote_process){.folder = -1, .ends_fd = -1})

/* Is /proc that of another namespace of process ids, where a process's id is another process's? */
bool remote_process_is_foreign(void);

/* Opens the process. False: see errno; ESRCH: there is no such process, or
 * remote_process_is_foreign. */
bool remote_process_open(struct remote_process *process, pid_t pid);
void remote_process_close(struct remote_process *process);

/* Has the process ended? True also for a zombie. */
bool remote_process_ended(const struct remote_process *process);

/* Opens /proc/PID/NAME for reading; -1: see errno. */
int remote_process_file(const struct remote_process *process, const char *name);
/* Opens /proc/PID/task/TID/NAME for reading; -1: see errno. */
int remote_thread_file(const struct remote_process *process, pid_t tid, const char *name);
/* Returns the inode number of the file to which a descriptor of the process refers now; 0 = not
 * known, or one that several files share, as eventfd(2)'s do, which have no type. */
uint64_t remote_process_inode(const struct remote_process *process, uint32_t descriptor);
/* Is a descriptor of the process open now? True also if that is not known. */
bool remote_process_is_open(const struct remote_process *process, uint32_t descriptor);
/* Reads the start of an open file of /proc; the text is NUL-terminated and cut to fit. Returns its
 * length, 0 on failure. */
size_t remote_text(int fd, char *text, size_t room);

/* Reads the decimal number at the start of a text of /proc or tracefs. False: there is no number,
 * or it is too large. */
bool remote_number(const char *text, uint64_t *value);

/* Reads a number from the line of /proc/PID/status that begins with `name`: the first one, or,
 * with `last`, the last one, which in NSpid is the id inside the innermost namespace. False: there
 * is no such number. */
bool remote_status_number(const char *status, const char *name, bool last, uint64_t *value);

/* Copies the path of the file that the process runs, without the mark " (deleted)", cut to fit; ""
 * if it cannot be read. */
void remote_process_program(const struct remote_process *process, char *path, size_t room);

/* Copies memory of the process. False: not all of it can be read. */
bool remote_read(const struct remote_process *process, uint64_t address, void *to, size_t size);
/* Copies at most `size` bytes from `address` on, up to the first page that cannot be read. Returns
 * the number of bytes copied. */
size_t remote_read_some(const struct remote_process *process, uint64_t address, uint8_t *to,
                        size_t size);

/* Lists the ids of the process's threads in *out, in rising order; the caller frees *out. Returns
 * their number; 0: there are none, or they cannot be read. If memory runs out, ids are missing. */
size_t remote_threads(const struct remote_process *process, pid_t **out);

/* Lists the ids of the threads' child processes, zombies included, in *out, which the caller frees
 * (NULL if there are none). Returns their number. If memory runs out, ids are missing. */
size_t remote_children(const struct remote_process *process, pid_t **out);

#endif
