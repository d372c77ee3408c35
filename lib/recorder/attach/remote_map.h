/* A line of /proc/PID/maps (proc(5)). Pure. */
#ifndef STALLREC_REMOTE_MAP_H
#define STALLREC_REMOTE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { REMOTE_PATH_MAX = 4096 };

struct remote_map {
    uint64_t lo, hi; /* the mapping's first address, and the address after its last; lo < hi */
    uint64_t offset; /* offset of the mapping in the file */
    uint64_t device; /* the file's device: major << 32 | minor */
    uint64_t inode;  /* 0: the mapping is of no file */
    bool read, execute;
    char path[REMOTE_PATH_MAX]; /* path of the file as /proc writes it, a newline as \012; "": none
                                 */
    bool deleted; /* the file was removed, or another one has its name now; path lacks the mark "
                     (deleted)" */
};

/* Reads one line of /proc/PID/maps, with or without its newline. False: the line has another form,
 * or its path is too long. */
bool remote_map_read(const char *line, size_t size, struct remote_map *out);

#endif
