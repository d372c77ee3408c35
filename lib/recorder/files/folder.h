/* The recorder's folder, held open while the recorder runs, so that files in it are found wherever
 * the program's working directory is. POSIX only. */
#ifndef STALLREC_FOLDER_H
#define STALLREC_FOLDER_H

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "support/rec_fd.h"

enum { REC_PATH_MAX = 4096 };

struct rec_folder {
    struct rec_fd fd;
    char path[REC_PATH_MAX]; /* the folder's absolute path */
};

/* Opens the folder at the absolute path. False: see errno; the folder is not open. */
bool rec_folder_open(struct rec_folder *folder, const char *path);
/* Returns the folder's descriptor, borrowed until the next call. If the program closed the
 * descriptor, or the folder was removed and made again, the folder is opened again by its path. -1:
 * that failed; see errno. */
int rec_folder_fd(struct rec_folder *folder);
/* Closes the folder; may be called twice. */
void rec_folder_close(struct rec_folder *folder);

/* Returns the mode of the files to make for a file_mode of struct stallrec_config: file_mode
 * itself, or 0600 if it is 0. The umask applies. */
mode_t rec_file_mode(uint32_t file_mode);
/* Returns the mode of a folder for files of this file_mode: whoever may read the files may search
 * the folder. */
mode_t rec_folder_mode(uint32_t file_mode);

/* Opens a stream of the entries of the folder `dir`; closing it leaves `dir` open. NULL: see
 * errno. */
DIR *rec_folder_list(int dir);

#endif
