/* Writes the HTML page of a triage: one file that loads no other resource.
 *
 * It can be read without its script: a table of the buckets, and the first ones in detail. The
 * script (page_*.js) adds sorting, a filter, facets, stored dumps to step through, and the
 * keyboard; it keeps the order, the filter, the facets and the open bucket in the URL's fragment.
 * Every text of a dump goes through escape.h, also those that the script reads; the rest of the
 * script's data is numbers and ids of buckets. The page has a Content-Security-Policy with the
 * hashes of its one style and its one script, so a text that was not escaped still would not run.
 */
#ifndef STALLKIT_PAGE_PAGE_H
#define STALLKIT_PAGE_PAGE_H

#include "base/sink.h"
#include "classify/gate/gone.h"
#include "classify/keys/key.h"
#include "classify/print/bucket_note.h"
#include "classify/summary/summary.h"

/* A frame of a stack to be drawn; a stack's frames begin with the outermost. */
struct page_frame {
    const char *function, *image; /* image "" = none */
    bool inlined;
};
struct page_stack {
    const struct page_frame *frames;
    size_t count;
    uint64_t ms;
};
/* Callbacks that draw stacks as an HTML element without scripts, ids and style attributes; the
 * element's classes are those for which `style` writes CSS. Each callback may write nothing, and
 * may be NULL, which is the same. `stacks` returns ST_ERR if memory ran out. */
struct page_drawing {
    enum st (*stacks)(void *ctx, const struct page_stack *stacks, size_t count, struct sink *out,
                      struct err *e);
    void (*style)(void *ctx, struct sink *out); /* writes the CSS that all drawings share */
    void *ctx;
};

/* The options and the content of the page; all pointers are borrowed. */
struct page_options {
    const char *narrowed; /* words on the part of the data that the page has, besides the summary's
                             filter of dumps; "" = it has all; not NULL */
    const char *history;  /* the history as a word for a shell, for commands to paste; "" = none;
                             not NULL */
    size_t detail; /* maximum number of buckets shown in detail: the first ones of the table */
    size_t top;    /* maximum number of buckets in the table; 0 = all */
    const char *source_url; /* link of a source line: %f is the file, %l the line, %v the app's
                               version, %% a percent sign; NULL = no links */
    const char *inputs;     /* inputs as words for a shell, for the commands to paste; "" = unknown:
                               the commands have "DUMPS" in their place; not NULL */
    struct keyer *keyer;    /* explains by which rules a bucket was made, unless the
                               summary has explained it; NULL = no explanations */
    struct page_drawing drawing;
    /* Returns the facts about a bucket that a history has; NULL = there is no history. */
    bucket_note_of note;
    bool (*is_marked)(void *ctx,
                      const char *id);          /* has the note on this bucket a mark? NULL = no */
    bool (*is_back)(void *ctx, const char *id); /* did this bucket come back? NULL = no */
    /* Is this bucket gone or new by the counts, or did it return? *out says in which versions,
     * borrowed until the page is written. NULL = no. */
    bool (*is_gone)(void *ctx, const char *id, struct gone_bucket *out);
    void *gone_ctx; /* first argument of is_gone */
    /* Does the bucket fail the run because it came back? NULL = the run does not fail for that. */
    bool (*fails_back)(void *ctx, const char *id);
    void *note_ctx; /* first argument of `note`, `is_marked`, `is_back` and `fails_back` */
};

/* Does source_url begin with a scheme (one or more of a-z, 0-9, '+' and '-') and "://", is the
 * scheme none of "javascript", "vbscript" and "data", and does source_url contain %f? */
bool page_source_url_fits(const char *source_url);

/* Writes the page. Equal summaries and options give equal bytes. Write errors stick to the sink.
 * ST_ERR: out of memory, and a part of the page may have been written. */
enum st page_write(const struct summary *s, const struct page_options *o, struct sink *out,
                   struct err *e) BASE_MUST_USE;

#endif
