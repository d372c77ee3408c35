/* Counts a whole table of exposure, line by line, for tests. */
#ifndef STALLKIT_EXPOSURE_TEXT_TEST_H
#define STALLKIT_EXPOSURE_TEXT_TEST_H

#include <string.h>

#include "classify/stats/triage.h"

static inline enum st add_exposure_text(struct triage *t, const struct exposure_filter *filter,
                                        const char *text, size_t len, struct err *e) {
    struct exposure_table *table = NULL;
    const char *end = text + len;
    enum st st = exposure_table_new(&table, t, filter, e);
    for (const char *at = text; st == ST_OK && at < end;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *stop = newline ? newline : end;
        st = exposure_table_line(table, at, (size_t)(stop - at), e);
        at = stop + 1;
    }
    exposure_table_free(table);
    return st;
}

#endif
