/* Parts of paths. */
#ifndef STALLKIT_BASE_PATH_H
#define STALLKIT_BASE_PATH_H

#include <string.h>

/* What stands behind the last '/', "" if that ends the path. */
static inline const char *path_base(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* As path_base, but the whole path if a '/' ends it; NULL for NULL. */
static inline const char *path_name(const char *path) {
    const char *base = path ? path_base(path) : "";
    return *base ? base : path;
}

#endif
