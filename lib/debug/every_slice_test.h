/* Calls a check for every slice with DWARF below a folder, for tests. */
#ifndef STALLKIT_DEBUG_EVERY_SLICE_TEST_H
#define STALLKIT_DEBUG_EVERY_SLICE_TEST_H

#include <fts.h>
#include <stdio.h>
#include <stdlib.h>

#include "debug/dwarf_build_test.h"

typedef void (*slice_check)(const char *path, const struct sections *s);

static inline unsigned every_slice_of(const char *path, slice_check check) {
    struct object *o;
    struct err e = {0};
    unsigned slices = 0;
    if (object_open(&o, path, &e) != ST_OK) {
        return 0;
    }
    for (size_t i = 0; i < object_slice_count(o); i++) {
        struct sections s;
        if (sections_load(&s, object_slice(o, i), path, NULL, &e) == ST_OK) {
            check(path, &s);
            slices++;
        }
    }
    object_close(o);
    return slices;
}

/* Checks every slice below a folder; returns how many there were. */
static inline unsigned every_slice_below(const char *folder, slice_check check) {
    char *root = strdup(folder);
    char *const roots[] = {root, NULL};
    unsigned slices = 0;
    assert_non_null(root);
    FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    assert_non_null(walk);
    for (FTSENT *f; (f = fts_read(walk)) != NULL;) {
        slices += f->fts_info == FTS_F ? every_slice_of(f->fts_path, check) : 0;
    }
    fts_close(walk);
    free(root);
    return slices;
}

/* Checks every slice of the third-party files, if REAL names their folder; else skips the test. */
static inline unsigned every_real_slice(slice_check check) {
    const char *real = getenv("REAL");
    char folder[4096];
    if (!real || !*real) {
        skip();
    }
    snprintf(folder, sizeof folder, "%s/objects", real);
    return every_slice_below(folder, check);
}

#endif
