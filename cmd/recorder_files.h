/* The files around a recorded program. Paths are absolute and the caller's to free. */
#ifndef STALLKIT_CMD_RECORDER_FILES_H
#define STALLKIT_CMD_RECORDER_FILES_H

#include <stdbool.h>

/* The library to preload, beside the command: as built (bin and lib), as installed (bin and
 * lib/stallkit), or where this build would have installed it. NULL: it is nowhere there. */
char *recorder_find_library(void);
/* Makes the folder if it is missing. False, with errno set: there is none that we may write to. */
bool recorder_make_folder(const char *path);
/* Makes the file, empty, so that it can be written; NULL with errno set. */
char *recorder_make_trace(const char *path);

#endif
