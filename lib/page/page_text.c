/* Appends texts and numbers to the page, which is written to the sink in pieces, and reads the
 * notes and marks of buckets. */
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/hash.h"
#include "classify/text/number_text.h"
#include "page/page_private.h"

enum { FLUSH_FROM = 1 << 16 };

void page_put(struct page_writer *p, const char *text) {
    xml_text_add_short(&p->text, text, strlen(text), PAGE_CELLS, 1);
}

void page_put_all(struct page_writer *p, const char *text) {
    xml_text_add(&p->text, text, strlen(text));
}

void page_put_ms(struct page_writer *p, uint64_t ms) {
    char number[NUMBER_SIZE];
    page_markup(p, text_ms(ms, number));
}

void page_put_lost(struct page_writer *p, uint64_t ms) {
    char number[NUMBER_SIZE];
    page_markup(p, text_duration((struct tally_duration){.ms = ms}, number));
}

void page_put_number(struct page_writer *p, uint64_t v) {
    char number[NUMBER_SIZE];
    page_markup(p, text_grouped(v, number));
}

void page_put_counted(struct page_writer *p, uint64_t v, const char *one, const char *many) {
    page_put_number(p, v);
    page_markup(p, " ");
    page_markup(p, v == 1 ? one : many);
}

void page_put_share(struct page_writer *p, uint64_t part, uint64_t whole) {
    char number[NUMBER_SIZE];
    page_markup(p, text_share(part, whole, number));
}

void page_flush(struct page_writer *p) {
    if (p->text.len >= FLUSH_FROM) {
        sink_write(p->out, strbuf_cstr(&p->text), p->text.len);
        p->failed = p->failed || p->text.failed;
        strbuf_clear(&p->text);
    }
}

uint32_t page_text_number(struct page_writer *p, const char *text) {
    struct page_text *known = &p->known[hash_u64((uintptr_t)text) % PAGE_KNOWN_TEXTS];
    if (known->text == text) {
        return known->number;
    }
    size_t index = map_intern(&p->texts, text, strlen(text));
    p->failed = p->failed || index >= PAGE_NONE;
    *known = (struct page_text){text, index < PAGE_NONE ? (uint32_t)index : 0};
    return known->number;
}

static void put_sentence_lines(struct page_writer *p, const char *text) {
    for (size_t len; *text; text += len + (text[len] == '\n')) {
        len = strcspn(text, "\n");
        xml_text_add(&p->text, text, len);
        page_markup(p, text[len] && text[len + 1] ? "<br>" : "");
    }
}

void page_put_sentences(struct page_writer *p, const struct summary_sentence *s, size_t count) {
    page_markup(p, count ? "<dl class=facts>" : "");
    for (size_t i = 0; i < count; i++) {
        page_markup(p, "<dt>");
        page_put(p, s[i].title);
        page_markup(p, "<dd>");
        put_sentence_lines(p, s[i].text);
    }
    page_markup(p, count ? "</dl>\n" : "\n");
}

/* Copies the note n to *to, and its texts to p->note_texts, because the texts of n are valid only
 * until the next note is read; a text that is NULL becomes "". */
static void keep_note(struct page_writer *p, struct bucket_note *to, const struct bucket_note *n) {
    const char **const texts[] = {
        &to->first_day,  &to->last_day, &to->first_version, &to->last_version, &to->back_in,
        &to->back_alone, &to->gone_in,  &to->returned_in,   &to->fixed_in,     &to->owner,
        &to->note,       &to->link,     &to->ignore};
    *to = *n;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *text = *texts[i] ? *texts[i] : "";
        size_t index = map_intern(&p->note_texts, text, strlen(text));
        p->failed = p->failed || index >= PAGE_NONE;
        *texts[i] = index < PAGE_NONE ? map_string(&p->note_texts, index) : "";
    }
}

/* Computes the marks of the bucket at `rank`. Reads its note if the bucket is in detail or
 * o->is_marked holds, and takes its owner from the note; a note is kept only of a bucket in
 * detail. */
static void read_note(struct page_writer *p, size_t rank) {
    const char *id = p->s->buckets.data[rank].id;
    struct bucket_note note = {0}, kept = {0};
    bool detail = rank < p->details, back = p->o->is_back && p->o->is_back(p->o->note_ctx, id);
    p->marks[rank] = p->s->buckets.data[rank].marks | (back ? SUMMARY_BACK : 0u);
    if (!p->o->note || !(detail || (p->o->is_marked && p->o->is_marked(p->o->note_ctx, id))) ||
        !p->o->note(p->o->note_ctx, id, &note)) {
        return;
    }
    keep_note(p, &kept, &note);
    p->marks[rank] |= note.ignored ? SUMMARY_IGNORED : 0u;
    p->owners[rank] = *kept.owner ? kept.owner : NULL;
    if (detail) {
        p->notes[rank] = kept;
    }
}

bool page_read_marks(struct page_writer *p) {
    size_t count = p->s->buckets.len;
    p->marks = calloc(count + 1, sizeof *p->marks);
    p->notes = calloc(p->details + 1, sizeof *p->notes);
    p->owners = calloc(count + 1, sizeof *p->owners);
    for (size_t i = 0; p->marks && p->notes && p->owners && i < count; i++) {
        read_note(p, i);
    }
    return p->marks && p->notes && p->owners && !p->failed;
}

unsigned page_marks_of(const struct page_writer *p, const struct summary_bucket *b) {
    return p->marks[b - p->s->buckets.data];
}

void page_put_marks(struct page_writer *p, unsigned marks) {
    /* The script's MARKS lists the same words in ascending order of their bits. */
    static const struct {
        unsigned mark;
        const char *word, *class;
    } words[] = {{SUMMARY_NEW, "new", "new"},
                 {SUMMARY_WORSE, "worse", "worse"},
                 {SUMMARY_NEW_INSIDE, "new inside", "new"},
                 {SUMMARY_WORSE_INSIDE, "worse inside", "worse"},
                 {SUMMARY_SUSPECT, "may be worse", "suspect"},
                 {SUMMARY_BETTER, "better", "better"},
                 {SUMMARY_BACK, "back", "back"},
                 {SUMMARY_IGNORED, "ignored", "ignored"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (marks & words[i].mark) {
            strbuf_addf(&p->text, "<b class=%s>%s</b> ", words[i].class, words[i].word);
        }
    }
}
