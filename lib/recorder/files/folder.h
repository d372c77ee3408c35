/* The recorder's folder, held open while the recorder runs: what it looks at and removes is found
 * from there, wherever the program's working directory is. POSIX only. */
#ifndef STALLREC_FOLDER_H
#define STALLREC_FOLDER_H

#include <dirent.h>
#include <stdbool.h>

#include "support/rec_fd.h"

enum { REC_PATH_MAX = 4096 };

struct rec_folder {
    struct rec_fd fd;
    char path[REC_PATH_MAX]; /* absolute */
};

/* path: absolute. False: see errno; the folder is closed. */
bool rec_folder_open(struct rec_folder *folder, const char *path);
/* The folder's descriptor, lent for one piece of work. If the program closed it, or the folder was
 * removed and made again, it is opened again by its path. -1: the folder is gone. */
int rec_folder_fd(struct rec_folder *folder);
/* May be called twice. */
void rec_folder_close(struct rec_folder *folder);

/* The files of a folder, as a stream of its own: closing it leaves `dir` open. NULL: see errno. */
DIR *rec_folder_list(int dir);

#endif
