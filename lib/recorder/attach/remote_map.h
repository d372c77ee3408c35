/* A line of /proc/PID/maps (proc(5)). Pure. */
#ifndef STALLREC_REMOTE_MAP_H
#define STALLREC_REMOTE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { REMOTE_PATH_MAX = 4096 };

struct remote_map {
    uint64_t lo, hi; /* lo < hi */
    uint64_t offset; /* in the file */
    uint64_t device; /* major << 32 | minor */
    uint64_t inode;  /* 0: not of a file */
    bool read, execute;
    char path[REMOTE_PATH_MAX]; /* as it stands there, a newline as \012; "": none */
    bool deleted; /* the file is gone, or another one has its name; "path" is without the mark */
};

/* Reads one line, with or without its newline. False: it is none, or the path is too long. */
bool remote_map_read(const char *line, size_t size, struct remote_map *out);

#endif
