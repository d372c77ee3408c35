/* Finds the last part of a path. */
#ifndef STALLKIT_BASE_PATH_H
#define STALLKIT_BASE_PATH_H

#include <string.h>

/* Returns the part of a path after the last '/', the whole path without one; "" if a '/' ends the
 * path. */
static inline const char *path_base(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Returns the part of a path after the last '/', but the whole path if a '/' ends it; NULL for
 * NULL. */
static inline const char *path_name(const char *path) {
    const char *base = path ? path_base(path) : "";
    return *base ? base : path;
}

#endif
