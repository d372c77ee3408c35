/* Compiles and matches globs of the rule language: `*` is any run of bytes, `?` one byte, and a
 * backslash takes the next byte as it is. */
#ifndef STALLKIT_CLASSIFY_PATTERN_H
#define STALLKIT_CLASSIFY_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/strbuf.h"

/* A compiled glob: bytes and, parallel to them, the meaning of each byte. It belongs to the arena
 * in which it was made. */
struct pattern {
    const char *text;
    const uint8_t *wild; /* enum pattern_wild of each byte of text */
    size_t len;
    size_t prefix, suffix; /* numbers of literal bytes at its start and end */
    size_t stars;
    bool exact; /* the glob has no wildcard: text is the name itself */
};

/* Compiles a glob. False: out of memory. */
bool pattern_compile(struct pattern *p, const char *glob, size_t len, struct arena *a);
/* Does the pattern match the whole name? At worst it takes time in proportion to len * pattern
 * length, for patterns with several stars. */
bool pattern_match(const struct pattern *p, const char *name, size_t len);
/* Is the pattern a single star? */
static inline bool pattern_is_star(const struct pattern *p) {
    return p->len == 1 && p->stars == 1;
}
/* Does a match every name that b matches? The answer true is certain. False may be wrong for
 * patterns in which ? stands beside a star. */
bool pattern_covers(const struct pattern *a, const struct pattern *b);
/* Sets *out to the part of a matching name that the pattern's only star matches. If the pattern has
 * no star or several, *out is the whole name. */
void pattern_captured(const struct pattern *p, const char *name, size_t len, const char **out,
                      size_t *out_len);
/* Appends the glob of a pattern, as it could be written. */
void pattern_text(const struct pattern *p, struct strbuf *out);

#endif
