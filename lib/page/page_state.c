/* Finds out what each bucket is, new, fixed, back again or ignored, by the counts of the versions
 * and by what people have noted of it, and writes that as words. */
#include <stdlib.h>
#include <string.h>

#include "classify/keys/version.h"
#include "page/page_private.h"

/* ---- notes ---- */

/* Copies the note n to *to, and its texts to p->note_texts, because the texts of n are valid only
 * until the next note is read; a text that is NULL becomes "". */
static void keep_note(struct page_writer *p, struct bucket_note *to, const struct bucket_note *n) {
    const char **const texts[] = {
        &to->first_day,  &to->last_day, &to->first_version, &to->last_version, &to->back_in,
        &to->back_alone, &to->gone_in,  &to->returned_in,   &to->again_in,     &to->unwatched_in,
        &to->fixed_in,   &to->owner,    &to->note,          &to->link,         &to->ignore};
    *to = *n;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *text = *texts[i] ? *texts[i] : "";
        size_t index = map_intern(&p->note_texts, text, strlen(text));
        p->failed = p->failed || index >= PAGE_NONE;
        *texts[i] = index < PAGE_NONE ? map_string(&p->note_texts, index) : "";
    }
}

/* Was the bucket seen again in the version that is marked as fixed, or in a later one? */
static bool is_seen_after(const struct page_state *state, const char *fixed_in) {
    return (state->marks & SUMMARY_AGAIN) && version_compare(fixed_in, state->in) <= 0;
}

/* Reads the note on the bucket at `rank` if it is in detail or o->is_marked holds, and takes its
 * owner and marks from it; the note is kept only of a bucket in detail. */
static void read_note(struct page_writer *p, size_t rank) {
    const char *id = p->s->buckets.data[rank].id;
    struct page_state *state = &p->states[rank];
    struct bucket_note note = {0}, kept = {0};
    bool detail = rank < p->details;
    if (!p->o->note || !(detail || (p->o->is_marked && p->o->is_marked(p->o->note_ctx, id))) ||
        !p->o->note(p->o->note_ctx, id, &note)) {
        return;
    }
    keep_note(p, &kept, &note);
    state->marks |= note.ignored ? SUMMARY_IGNORED : 0u;
    p->owners[rank] = *kept.owner ? kept.owner : NULL;
    if (state->marks & SUMMARY_BACK) {
        state->in = *kept.back_in ? kept.back_in : state->in;
    } else if (*kept.fixed_in && !is_seen_after(state, kept.fixed_in)) {
        state->marks = (state->marks & ~(unsigned)SUMMARY_AGAIN) | SUMMARY_FIXED;
        state->in = kept.fixed_in;
    }
    if (detail) {
        p->notes[rank] = kept;
    }
}

/* ---- states ---- */

static void read_bucket_state(struct page_writer *p, size_t rank) {
    const struct summary_bucket *b = &p->s->buckets.data[rank];
    struct page_state *state = &p->states[rank];
    struct gone_bucket gone = {0};
    bool known = p->o->is_gone && p->o->is_gone(p->o->gone_ctx, b->id, &gone);
    state->marks = b->marks;
    if (p->o->is_back && p->o->is_back(p->o->note_ctx, b->id)) {
        state->marks |= SUMMARY_BACK;
        state->in = known ? gone.returned_in : NULL;
        state->unwatched = known ? gone.unwatched_in : NULL;
    } else if (known && gone.gone_in) {
        state->marks |= gone.returned_in ? SUMMARY_BACK
                        : gone.again_in  ? SUMMARY_AGAIN
                                         : SUMMARY_FIXED;
        state->in = gone.returned_in ? gone.returned_in
                    : gone.again_in  ? gone.again_in
                                     : gone.gone_in;
        state->unwatched = gone.unwatched_in;
    } else if (known && gone.new_in && !p->s->outcome) {
        state->marks |= SUMMARY_NEW;
        state->in = gone.new_in;
    }
    read_note(p, rank);
}

bool page_read_states(struct page_writer *p) {
    size_t count = p->s->buckets.len;
    p->states = calloc(count + 1, sizeof *p->states);
    p->notes = calloc(p->details + 1, sizeof *p->notes);
    p->owners = calloc(count + 1, sizeof *p->owners);
    for (size_t i = 0; p->states && p->notes && p->owners && i < count; i++) {
        read_bucket_state(p, i);
    }
    return p->states && p->notes && p->owners && !p->failed;
}

unsigned page_marks_of(const struct page_writer *p, const struct summary_bucket *b) {
    return p->states[b - p->s->buckets.data].marks;
}

void page_put_marks(struct page_writer *p, unsigned marks, const char *in) {
    /* The script's MARKS lists the same words in ascending order of their bits. */
    static const struct {
        unsigned mark;
        const char *word, *class;
        bool has_version;
    } words[] = {{SUMMARY_BACK, "back", "back", true},
                 {SUMMARY_NEW, "new", "new", true},
                 {SUMMARY_WORSE, "worse", "worse", false},
                 {SUMMARY_NEW_INSIDE, "new inside", "new", false},
                 {SUMMARY_WORSE_INSIDE, "worse inside", "worse", false},
                 {SUMMARY_SUSPECT, "may be worse", "suspect", false},
                 {SUMMARY_AGAIN, "seen again", "suspect", true},
                 {SUMMARY_FIXED, "fixed", "better", true},
                 {SUMMARY_BETTER, "better", "better", false},
                 {SUMMARY_IGNORED, "ignored", "ignored", false}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (marks & words[i].mark) {
            strbuf_addf(&p->text, "<b class=%s>%s</b> ", words[i].class, words[i].word);
            if (words[i].has_version && in) {
                page_markup(p, "in <bdi>");
                page_put(p, in);
                page_markup(p, "</bdi> ");
            }
        }
    }
}

void page_put_state(struct page_writer *p, const struct summary_bucket *b) {
    const struct page_state *state = &p->states[b - p->s->buckets.data];
    page_put_marks(p, state->marks, state->in);
    if (state->unwatched) {
        page_markup(p, "<small class=warns title=\"less than 90 % of the time of this version was"
                       " watched\">little watched in <bdi>");
        page_put(p, state->unwatched);
        page_markup(p, "</bdi></small> ");
    }
    if (b->fatal) {
        page_markup(p, "<b class=worse title=\"stalls in which the process died\">");
        page_put_number(p, b->fatal);
        page_markup(p, " fatal</b> ");
    }
}
