/* The program that stallrec is asked to run. */
#ifndef STALLKIT_CMD_RECORDED_PROGRAM_H
#define STALLKIT_CMD_RECORDED_PROGRAM_H

#include <stdbool.h>

/* Exit statuses of env(1). */
enum { PROGRAM_CANNOT_RUN = 126, PROGRAM_NOT_FOUND = 127 };

/* The file that execvp would run for the name, malloc'ed. NULL after a printed message: *status is
 * then one of the above. */
char *program_find(const char *name, int *status);

/* Can a preloaded library record it (an ELF file of our kind with a dynamic linker, or a script of
 * one; not set-user-id)? Else prints why, one line, and returns false. */
bool program_check(const char *path);

#endif
