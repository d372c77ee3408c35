/* Globs of the rule language: `*` any run of bytes, `?` one byte, a backslash takes the next byte
 * as it is. */
#ifndef STALLKIT_CLASSIFY_PATTERN_H
#define STALLKIT_CLASSIFY_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/strbuf.h"

/* A compiled glob: bytes and, parallel to them, what each one means. Owned by the arena it was made
 * in. */
struct pattern {
    const char *text;
    const uint8_t *wild; /* enum pattern_wild per byte of text */
    size_t len;
    size_t prefix, suffix; /* literal bytes at its start and end */
    size_t stars;
    bool exact; /* no wildcard: text is the name itself */
};

/* Compiles a glob as written; false when memory runs out. */
bool pattern_compile(struct pattern *p, const char *glob, size_t len, struct arena *a);
/* Does the whole name match? Worst case O(len * pattern), for patterns with several stars. */
bool pattern_match(const struct pattern *p, const char *name, size_t len);
/* Is it a lone star? */
static inline bool pattern_is_star(const struct pattern *p) {
    return p->len == 1 && p->stars == 1;
}
/* Does a match every name that b matches? True is certain; false may be wrong for patterns in which
 * ? stands beside a star. */
bool pattern_covers(const struct pattern *a, const struct pattern *b);
/* The part of a matching name that the only star of a pattern stands for; the whole name without a
 * star. */
void pattern_captured(const struct pattern *p, const char *name, size_t len, const char **out,
                      size_t *out_len);
/* Appends the glob as it could be written. */
void pattern_text(const struct pattern *p, struct strbuf *out);

#endif
