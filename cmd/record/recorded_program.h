/* Finds the program that stallrec is asked to run, checks whether a preloaded library can record
 * it, finds that library, and makes the folder of the dumps and the file of the trace. */
#ifndef STALLKIT_CMD_RECORDED_PROGRAM_H
#define STALLKIT_CMD_RECORDED_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

/* These exit statuses equal those of env(1). */
enum { PROGRAM_CANNOT_RUN = 126, PROGRAM_NOT_FOUND = 127 };

/* Returns the file that execvp would run for the name, malloc'ed. NULL, with the error printed:
 * *status is then PROGRAM_CANNOT_RUN or PROGRAM_NOT_FOUND. */
char *program_find(const char *name, int *status);

/* Can a preloaded library record the program? An ELF file is refused if it is for another
 * machine, is linked statically, or is linked for musl while this build is for glibc; a script, if
 * its interpreter is; and each, if it gains rights when it is run (set-user-id, set-group-id,
 * capabilities). Any other file is accepted, as is one that cannot be read. False: an error was
 * printed. */
bool program_check(const char *path);

/* ---- files that recording needs: paths are absolute, and the caller frees them ---- */

/* Returns the path of the library to preload: beside the command as built (bin and lib) or as
 * installed (bin and lib/stallkit), else where this build would install it. NULL: it is in none of
 * these places. */
char *recorder_find_library(void);
/* Makes the folder if it is missing, for dumps of this file_mode (struct stallrec_config). False,
 * with errno set: it cannot be made, is no folder, or cannot be written to. */
bool recorder_make_folder(const char *path, uint32_t file_mode);
/* Makes the file of the trace, or empties it, and returns its absolute path, which the caller
 * frees; NULL with errno set. */
char *recorder_make_trace(const char *path);

#endif
