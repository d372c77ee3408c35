/* Prints the facts about a bucket that a history (stall-history(5)) has, besides the counts of this
 * run. */
#ifndef STALLKIT_CLASSIFY_BUCKET_NOTE_H
#define STALLKIT_CLASSIFY_BUCKET_NOTE_H

#include <stdbool.h>

#include "base/jsonw.h"
#include "base/strbuf.h"

/* The facts about a bucket that a history has. Texts are borrowed from the history; NULL and "" =
 * unknown. */
struct bucket_note {
    const char *first_day, *last_day; /* days such as "2026-11-20", in UTC */
    const char *first_version,
        *last_version; /* lowest and highest version with the bucket, by version_compare */
    /* Version in which the bucket appeared again although it is marked as fixed. */
    const char *back_in;
    /* Version in which the bucket appeared again although it is marked as fixed, but of which the
     * history has only one dump, so that the version may be invented. */
    const char *back_alone;
    /* According to the counts (gone.h), the version since which the bucket is gone, and the later
     * version in which it returned. */
    const char *gone_in, *returned_in;
    /* According to the counts, a version after `gone_in` that has the bucket again, if that is too
     * little to tell whether it returned. */
    const char *again_in;
    const char *unwatched_in; /* one of the versions from `gone_in` on of which too little time was
                                 watched to rely on that */
    const char *fixed_in, *owner, *note, *link; /* words that people wrote */
    const char *ignore; /* day until which people ignore the bucket, or "ever" */
    bool ignored;       /* `ignore` holds today */
};
/* A callback that looks up the bucket of an id. False: the history does not know it. Texts are
 * valid until the next call. */
typedef bool (*bucket_note_of)(void *ctx, const char *id, struct bucket_note *out);

/* Appends the note as text: "back again in 5.6, marked as fixed in 5.4; seen since 2026-11-10
 * in 5.1, last 2026-11-18 in 5.6; owner payments; …". */
void bucket_note_add(struct strbuf *b, const struct bucket_note *n);
/* Writes the note as the member "history" of an object. */
void bucket_note_json(struct jsonw *w, const struct bucket_note *n);

#endif
