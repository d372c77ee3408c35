/* The program that stallrec is asked to run, and the files around it. */
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

/* ---- the files around it: paths are absolute and the caller's to free ---- */

/* The library to preload, beside the command: as built (bin and lib), as installed (bin and
 * lib/stallkit), or where this build would have installed it. NULL: it is nowhere there. */
char *recorder_find_library(void);
/* Makes the folder if it is missing. False, with errno set: there is none that we may write to. */
bool recorder_make_folder(const char *path);
/* Makes the file, empty, so that it can be written; NULL with errno set. */
char *recorder_make_trace(const char *path);

#endif
