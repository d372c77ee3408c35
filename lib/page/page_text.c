/* Appends texts and numbers to the page, which is written to the sink in pieces. */
#include <string.h>

#include "base/parse.h"
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

void page_put_time(struct page_writer *p, const char *time) {
    enum { SECOND = 19 }; /* length of "2026-11-20T10:00:00" */
    char text[SECOND + 1];
    size_t len = strlen(time);
    if (len <= SECOND || time[DAY_LENGTH] != 'T' || time[len - 1] != 'Z' ||
        !day_is_told(time, len)) {
        page_put(p, time);
        return;
    }
    memcpy(text, time, SECOND);
    text[DAY_LENGTH] = ' ';
    text[SECOND] = '\0';
    page_put(p, text);
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
        page_markup(p, s[i].warns ? "<dd class=warns>" : "<dd>");
        put_sentence_lines(p, s[i].text);
    }
    page_markup(p, count ? "</dl>\n" : "\n");
}
