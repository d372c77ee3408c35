/* Declares the writer of the page and the functions that its files share. */
#ifndef STALLKIT_PAGE_PAGE_PRIVATE_H
#define STALLKIT_PAGE_PAGE_PRIVATE_H

#include <string.h>

#include "base/map.h"
#include "base/strbuf.h"
#include "page/page.h"

enum {
    /* Maximum number of character cells (xml_text_add_short) that page_put shows of a text; names
     * of templates are long. */
    PAGE_CELLS = 400,
    PAGE_KNOWN_TEXTS = 512,
    PAGE_KNOWN_LISTS = 512,
    PAGE_LIST_TEXT = 40, /* maximum number of characters of a list in the cache */
    PAGE_VERSIONS = 8    /* maximum number of versions in a trend: the newest ones */
};
#define PAGE_NONE UINT32_MAX

/* Gives places 0, 1, 2 … to the stored objects to which the page refers, in the order of first use.
 */
struct page_places {
    uint32_t *place; /* place of each stored index; PAGE_NONE = not used */
    VEC(uint32_t) order;
};

struct page_writer {
    const struct summary *s;
    const struct page_options *o;
    struct sink *out;
    struct strbuf text; /* HTML that is about to be written */
    struct map texts;   /* texts that the script uses; a text's index is its line number, from 0 */
    /* A cache of line numbers, indexed by a hash of a text's address. A text's address stays the
     * same and valid while the page is written. */
    struct page_text {
        const char *text;
        uint32_t number;
    } known[PAGE_KNOWN_TEXTS];
    /* A cache of lists of systems and of devices as the script gets them, indexed by a hash of the
     * address of their values, which rows that a history kept share. */
    struct page_list {
        const struct summary_value *values;
        size_t count, len;
        char text[PAGE_LIST_TEXT];
    } lists[PAGE_KNOWN_LISTS];
    struct page_places frames, stacks;
    struct strbuf dumps; /* stored dumps of the detailed buckets, as numbers for the script */
    const struct summary_stack *stack; /* heaviest stack of the current bucket */
    struct summary_stack own_stack;    /* its memory, if the summary has not explained the stack */
    size_t details;                    /* number of buckets shown in detail */
    size_t rows;                       /* number of buckets in the table */
    const struct summary_version *trend; /* newest versions of the summary */
    size_t trend_count;
    bool has_trend; /* at least two of these versions carry a trend */
    struct page_state {
        unsigned marks;
        const char *in; /* version in which the bucket is new, fixed or back; NULL = unknown */
        const char *unwatched; /* unwatched_in of struct gone_bucket */
    } * states;                /* of each bucket */
    /* Notes on the buckets in detail; each is read once, because reading a history is slow. Their
     * texts are kept in note_texts. */
    struct bucket_note *notes;
    struct map note_texts;
    const char **owners; /* owner of each bucket; NULL = it has none, or its note was not read */
    bool failed;         /* an allocation failed */
};

/* ---- page_text.c: appending to p->text ---- */

/* Appends markup as it is; it must be the page's own, never text of a dump. */
static inline void page_markup(struct page_writer *p, const char *markup) {
    strbuf_add(&p->text, markup, strlen(markup));
}
/* Appends a text of any origin, escaped, cut to PAGE_CELLS character cells. */
void page_put(struct page_writer *p, const char *text);
/* Appends a text of any origin, escaped, without cutting it. */
void page_put_all(struct page_writer *p, const char *text);
/* Appends a duration, "2.1s". */
void page_put_ms(struct page_writer *p, uint64_t ms);
/* Appends stalled time as a duration, with "–" for 0, which means unknown. */
void page_put_lost(struct page_writer *p, uint64_t ms);
/* Appends a dump's time without its fraction: "2026-11-20 10:00:00", which is UTC if it ended in
 * "Z", else what the dump has. */
void page_put_time(struct page_writer *p, const char *time);
/* Appends a number, "1,234". */
void page_put_number(struct page_writer *p, uint64_t v);
/* Appends a number and a noun: "1 stall", "2,000 stalls". */
void page_put_counted(struct page_writer *p, uint64_t v, const char *one, const char *many);
/* Appends the share that `part` has of `whole`, "4.1%". */
void page_put_share(struct page_writer *p, uint64_t part, uint64_t whole);
/* Hands p->text to the sink and clears it if it has FLUSH_FROM bytes or more. */
void page_flush(struct page_writer *p);
/* Returns the line number of a text for the script; a new text is added. Without memory, sets
 * p->failed and returns 0. */
uint32_t page_text_number(struct page_writer *p, const char *text);

/* Writes a list of sentences with their titles. */
void page_put_sentences(struct page_writer *p, const struct summary_sentence *s, size_t count);

/* ---- page_state.c: what a bucket is: new, fixed, back … ---- */

/* Reads the notes on the buckets in detail and on those for which o->is_marked holds, and makes
 * p->states, p->notes and p->owners. The marks of a bucket are those of the summary, and
 * SUMMARY_BACK if o->is_back holds, SUMMARY_FIXED or SUMMARY_AGAIN if o->is_gone says that it is
 * gone, or gone and seen again, SUMMARY_FIXED, and not SUMMARY_AGAIN, if its note says
 * that it is marked as fixed in a later version than it was seen again, SUMMARY_IGNORED if its note
 * says so, and, unless there is a comparison with a baseline, SUMMARY_NEW if o->is_gone says so.
 * False: out of memory.
 */
bool page_read_states(struct page_writer *p);
/* Returns the marks of a bucket of the summary. */
unsigned page_marks_of(const struct page_writer *p, const struct summary_bucket *b);
/* Writes marks as words. in: version that follows new, fixed and back; NULL = none. */
void page_put_marks(struct page_writer *p, unsigned marks, const char *in);
/* Writes the marks of a bucket, and the number of its stalls in which the process died. */
void page_put_state(struct page_writer *p, const struct summary_bucket *b);

/* ---- page_chart.c: small pictures ---- */

/* Draws the values of v at each of `count` places, which are versions or days, as a row of bars; v
 * has ms, and `all` is the number of places of which these are the last. behind: what follows the
 * amounts, such as " in an hour". Draws nothing if there are fewer than two places, or if v has no
 * ms. */
struct page_bars {
    const char *caption, *behind; /* caption: "stalled time by day" */
    const char *note;             /* what follows the caption; NULL = nothing */
    const char *const *places;
    size_t count;
    uint64_t all;
};
void page_put_bars(struct page_writer *p, const struct page_bars *bars,
                   const struct summary_values *v);
/* Draws the time of v by day as bars: one for each of the days from the run's first to its last, at
 * most the newest BARS_MOST, with a gap where v has no time. */
void page_put_days(struct page_writer *p, const struct summary_values *v);
/* Draws the time of the first RANKED_MOST values of v as rows with names, in v's order; nothing if
 * v has no time. */
void page_put_ranking(struct page_writer *p, const char *caption, const struct summary_values *v);
/* Draws how long stalls last, as columns on a logarithmic scale; nothing if no length is known. */
void page_put_distribution(struct page_writer *p, const struct histogram *h);

/* ---- page_versions.c: numbers by version ---- */

enum { BARS_MOST = 60 /* maximum number of values in a row of bars: the newest ones */ };
/* Draws the stalled time of all stalls by version: in an hour of the version's time in the
 * foreground if that is known, else its sum, and says which. A version that does not carry it
 * (summary_version.carries) has a gap. */
void page_put_release_chart(struct page_writer *p);
/* Draws the stalled time of a bucket by version in the same way. */
void page_put_versions(struct page_writer *p, const struct summary_values *v);
/* Writes a table of the versions, the newest first: hours, stalls and stalled time, with rates
 * where the version carries them; nothing if there is no version. */
void page_put_releases(struct page_writer *p);
/* Writes for each version of p->trend how much of a bucket it has, as a row of characters, or with
 * `told` as versions and amounts: its stalled time (or, if that is not known by version, dumps) in
 * an hour of the version's time in the foreground; if no such time is known, its share of all of
 * the version's. A version that does not carry the amount has a dot, one without any an underscore.
 * Writes nothing unless p->has_trend. */
void page_put_trend(struct page_writer *p, const struct summary_bucket *b, bool told);
/* Has some value of v its stalled time? */
bool page_knows_ms(const struct summary_values *v);

/* ---- page_gate.c ---- */

/* Writes the verdict on the run, its counts, the rows and returned buckets that it lists, and the
 * sentences about the comparison; nothing if there is no verdict. */
void page_put_gate(struct page_writer *p);
/* Writes a table of the buckets that got better, or are gone and marked better; nothing if there
 * are none. */
void page_put_better(struct page_writer *p);

/* ---- page_table.c ---- */

void page_put_table(struct page_writer *p);

/* ---- page_detail.c ---- */

/* Writes the command that shows more of the bucket of an id, which is no text of a dump, between
 * this markup. */
void page_put_explaining(struct page_writer *p, const char *id, const char *before,
                         const char *behind);
enum st page_put_detail(struct page_writer *p, size_t rank, struct err *e) BASE_MUST_USE;

/* ---- page_stack.c ---- */

/* Writes at most the innermost STACK_FRAMES_MOST frames of p->stack, and the number of the others.
 * version: the app's version in links to source. */
void page_put_stack(struct page_writer *p, const char *version);
/* Writes at most the innermost `most` frames of a stored stack, and the number of the others; "no
 * stack" for STORED_NONE. */
void page_put_stored(struct page_writer *p, uint32_t stack, size_t most, const char *version);
/* Looks at the first THREADS_MOST threads of a dump, and writes the number of the others. A thread
 * other than the main one is written with its stack if it owns what a thread of the dump waits for,
 * else with its innermost functions. The main thread is written without a stack, and only if it
 * waits for something. If the dump has less than two threads, a sentence says that there are no
 * others.
 */
void page_put_threads(struct page_writer *p, const struct stored_dump *d);

/* ---- page_data.c: the data for the page's script ---- */

/* Numbers the texts that many rows have before all others, so that their numbers are short. */
void page_number_common(struct page_writer *p);
/* Adds the stored dumps of a bucket to the script's data. b->stored and b->stored->worst must not
 * be NULL. */
void page_add_dumps(struct page_writer *p, const struct summary_bucket *b);
void page_put_data(struct page_writer *p);

#endif
