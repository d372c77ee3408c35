/* Writes the data that the script reads: texts, escaped as all others, one on each line of a
 * <template>; and numbers, which refer to the texts by line number. A control character in a text
 * becomes U+FFFD, so that each text is one line. */
#include <inttypes.h>
#include <string.h>

#include "base/hash.h"
#include "classify/stored/stored_dumps.h"
#include "page/page_private.h"

/* ROW_VALUES: maximum number of values of one facet in a bucket's row; a filter on a further value
 * does not find the bucket. */
enum { ROW_VALUES = 40, COMMON_ROWS = 1000 /* rows whose texts get the first numbers */ };

static void add_listed(struct strbuf *b, int64_t v) {
    strbuf_addi64(b, v);
    strbuf_addc(b, ',');
}

/* Ends a list, without a comma after its last value, and writes a comma behind the list. */
static void end_list(struct strbuf *b) {
    if (b->len && b->data[b->len - 1] == ',') {
        strbuf_truncate(b, b->len - 1);
    }
    strbuf_addstr(b, "],");
}

/* Returns the line number of a stored text; -1 for STORED_NONE. */
static int64_t stored_number(struct page_writer *p, uint32_t text) {
    return text == STORED_NONE ? -1 : (int64_t)page_text_number(p, stored_text(p->s->stored, text));
}

/* Returns the place of a stored index, the next free one if it has none yet; -1 for STORED_NONE. */
static int64_t next_place(struct page_writer *p, struct page_places *places, uint32_t index) {
    if (index == STORED_NONE) {
        return -1;
    }
    if (places->place[index] == PAGE_NONE) {
        places->place[index] = (uint32_t)places->order.len;
        p->failed = !VEC_PUSH(&places->order, index) || p->failed;
    }
    return (int64_t)places->place[index];
}

/* ---- dumps ---- */

static void list_threads(struct page_writer *p, const struct stored_dump *d) {
    struct strbuf *b = &p->dumps;
    strbuf_addc(b, '[');
    for (size_t i = 0; i < d->threads.len; i++) {
        const struct stored_thread *t = &d->threads.data[i];
        const int64_t values[] = {t->id,
                                  stored_number(p, t->name),
                                  stored_number(p, t->state),
                                  stored_number(p, t->waits),
                                  t->owner,
                                  t->cpu_permille,
                                  t->main,
                                  next_place(p, &p->stacks, t->stack)};
        strbuf_addc(b, '[');
        for (size_t k = 0; k < sizeof values / sizeof *values; k++) {
            /* Browsers read integers of up to 53 bits; thread ids are smaller. */
            add_listed(b, values[k]);
        }
        end_list(b);
    }
    end_list(b);
}

static void list_samples(struct page_writer *p, const struct stored_dump *d) {
    struct strbuf *b = &p->dumps;
    strbuf_addc(b, '[');
    for (size_t i = 0; i < d->samples.len; i++) {
        strbuf_addc(b, '[');
        add_listed(b, (int64_t)(d->samples.data[i].count & INT64_MAX));
        add_listed(b, next_place(p, &p->stacks, d->samples.data[i].stack));
        end_list(b);
    }
    end_list(b);
}

/* Writes one stored dump as numbers. why: 0 = the worst, 1 = the newest, 2 = the worst of its
 * version. */
static void add_dump(struct page_writer *p, const struct stored_dump *d, int why) {
    struct strbuf *b = &p->dumps;
    const uint32_t texts[] = {d->id, d->time,   d->version, d->build,
                              d->os, d->device, d->screen,  d->reason};
    strbuf_addc(b, '[');
    add_listed(b, why);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        add_listed(b, stored_number(p, texts[i]));
    }
    add_listed(b, d->span_ms);
    add_listed(b, d->duration_ms);
    add_listed(b, d->fatal);
    add_listed(b, d->threads_left);
    list_threads(p, d);
    list_samples(p, d);
    end_list(b);
}

void page_add_dumps(struct page_writer *p, const struct summary_bucket *b) {
    const struct stored_bucket *stored = b->stored;
    strbuf_addf(&p->dumps, "\"%s\":[", b->id);
    add_dump(p, stored->worst, 0);
    if (stored->newest != stored->worst) {
        add_dump(p, stored->newest, 1);
    }
    for (size_t i = 0; i < stored->of_version.len; i++) {
        const struct stored_dump *d = stored->of_version.data[i];
        if (d != stored->worst && d != stored->newest) {
            add_dump(p, d, 2);
        }
    }
    end_list(&p->dumps);
}

/* ---- rows ---- */

/* Writes the values of one facet of a row: 0 if there are none, the line number of the text plus 1
 * if there is one, as most rows have, else a list of line numbers. */
static void put_row_values(struct page_writer *p, const struct summary_values *v) {
    if (v->count < 2) {
        add_listed(&p->text, v->count ? page_text_number(p, v->values[0].text) + INT64_C(1) : 0);
        return;
    }
    strbuf_addc(&p->text, '[');
    for (size_t i = 0; i < v->count && i < ROW_VALUES; i++) {
        add_listed(&p->text, page_text_number(p, v->values[i].text));
    }
    end_list(&p->text);
}

/* Writes values as put_row_values does; those of an address that was written before are copied. */
static void put_shared_values(struct page_writer *p, const struct summary_values *v) {
    struct page_list *known = &p->lists[hash_u64((uintptr_t)v->values) % PAGE_KNOWN_LISTS];
    if (v->count > 1 && known->values == v->values && known->count == v->count) {
        strbuf_add(&p->text, known->text, known->len);
        return;
    }
    const size_t written = p->text.len;
    put_row_values(p, v);
    const size_t len = p->text.len - written;
    if (v->count > 1 && len <= sizeof known->text && !p->text.failed) {
        *known = (struct page_list){.values = v->values, .count = v->count, .len = len};
        memcpy(known->text, p->text.data + written, len);
    }
}

/* Writes for the buckets of which that is not plain from their rows: the number of stalls in which
 * the process died, and, unless all dumps of a bucket are of one version, the dumps and the time in
 * ms of each version, in the order of the row's versions. */
static void put_row_parts(struct page_writer *p) {
    for (size_t i = 0; i < p->rows; i++) {
        const struct summary_bucket *b = &p->s->buckets.data[i];
        const struct summary_values *v = &b->by[SUMMARY_VERSION];
        const bool parted = v->count > 1 || (v->count && v->values[0].dumps < b->dumps);
        if (!b->fatal && !parted) {
            continue;
        }
        strbuf_addf(&p->text, "\"%zu\":[", i);
        add_listed(&p->text, (int64_t)(b->fatal & INT64_MAX));
        for (size_t k = 0; parted && k < v->count && k < ROW_VALUES; k++) {
            add_listed(&p->text, (int64_t)(v->values[k].dumps & INT64_MAX));
            add_listed(&p->text, (int64_t)(v->values[k].ms & INT64_MAX));
        }
        end_list(&p->text);
        page_flush(p);
    }
}

/* Writes the versions: text, time in the foreground, stalls and their time in ms, dumps, and
 * whether the version carries a trend. */
static void put_version_numbers(struct page_writer *p) {
    for (size_t i = 0; i < p->s->releases.len; i++) {
        const struct summary_version *r = &p->s->releases.data[i];
        const uint64_t numbers[] = {
            page_text_number(p, r->text), r->foreground_ms, r->stalls, r->ms, r->dumps, r->carries};
        strbuf_addc(&p->text, '[');
        for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
            add_listed(&p->text, (int64_t)(numbers[k] & INT64_MAX));
        }
        end_list(&p->text);
    }
}

static void put_row_numbers(struct page_writer *p, const struct summary_bucket *b) {
    const uint64_t numbers[] = {b->ms,     b->users, b->stalls,          b->p50.ms,
                                b->p95.ms, b->dumps, page_marks_of(p, b)};
    static const enum summary_facet facets[] = {SUMMARY_VERSION, SUMMARY_OS,     SUMMARY_DEVICE,
                                                SUMMARY_SCREEN,  SUMMARY_ACTION, SUMMARY_FRAMEWORK};
    strbuf_addc(&p->text, '[');
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        add_listed(&p->text, (int64_t)(numbers[i] & INT64_MAX));
    }
    add_listed(&p->text, page_text_number(p, b->cause));
    const char *owner = p->owners[b - p->s->buckets.data];
    const struct summary_value own = {.text = owner};
    const struct summary_values owners = {&own, owner != NULL};
    size_t count = sizeof facets / sizeof *facets;
    while (count && !owner && !b->by[facets[count - 1]].count) {
        count--; /* the script takes a facet that is missing at the end of a row for no values */
    }
    for (size_t i = 0; i < count; i++) {
        if (facets[i] == SUMMARY_OS || facets[i] == SUMMARY_DEVICE) {
            put_shared_values(p, &b->by[facets[i]]);
        } else {
            put_row_values(p, &b->by[facets[i]]);
        }
    }
    if (owner) {
        put_row_values(p, &owners);
    }
    end_list(&p->text);
    page_flush(p);
}

/* ---- frames and stacks ---- */

static void put_frame_lists(struct page_writer *p) {
    for (size_t i = 0; i < p->frames.order.len; i++) {
        const struct stored_frame *f = stored_frame_at(p->s->stored, p->frames.order.data[i]);
        strbuf_addc(&p->text, '[');
        add_listed(&p->text, stored_number(p, f->function));
        add_listed(&p->text, stored_number(p, f->image));
        add_listed(&p->text, stored_number(p, f->file));
        add_listed(&p->text, f->line);
        add_listed(&p->text, f->flags);
        end_list(&p->text);
        page_flush(p);
    }
}

static void put_stack_lists(struct page_writer *p) {
    for (size_t i = 0; i < p->stacks.order.len; i++) {
        size_t count;
        const uint32_t *frames = stored_stack(p->s->stored, p->stacks.order.data[i], &count);
        strbuf_addc(&p->text, '[');
        for (size_t k = 0; k < count; k++) {
            add_listed(&p->text, next_place(p, &p->frames, frames[k]));
        }
        end_list(&p->text);
        page_flush(p);
    }
}

static void put_texts(struct page_writer *p) {
    page_markup(p, "<template id=texts>");
    for (size_t i = 0; i < p->texts.count; i++) {
        page_put(p, map_string(&p->texts, i));
        page_markup(p, "\n");
        page_flush(p);
    }
    page_markup(p, "</template>\n");
}

void page_number_common(struct page_writer *p) {
    static const enum summary_facet facets[] = {SUMMARY_VERSION, SUMMARY_OS, SUMMARY_DEVICE};
    for (size_t i = 0; i < p->rows && i < COMMON_ROWS; i++) {
        const struct summary_bucket *b = &p->s->buckets.data[i];
        (void)page_text_number(p, b->cause);
        for (size_t f = 0; f < sizeof facets / sizeof *facets; f++) {
            const struct summary_values *v = &b->by[facets[f]];
            for (size_t k = 0; k < v->count && k < ROW_VALUES; k++) {
                (void)page_text_number(p, v->values[k].text);
            }
        }
    }
}

void page_put_data(struct page_writer *p) {
    page_markup(p, "<script type=\"application/json\" id=data>{\"rows\":[");
    for (size_t i = 0; i < p->rows && !p->text.failed; i++) {
        put_row_numbers(p, &p->s->buckets.data[i]);
    }
    page_markup(p, "0],\"parts\":{");
    put_row_parts(p);
    page_markup(p, "\"\":0},\"versions\":[");
    put_version_numbers(p);
    page_markup(p, "0],\"stacks\":[");
    put_stack_lists(p);
    page_markup(p, "0],\"frames\":[");
    put_frame_lists(p);
    page_markup(p, "0],\"dumps\":{");
    page_flush(p);
    strbuf_add(&p->text, strbuf_cstr(&p->dumps), p->dumps.len);
    p->failed = p->failed || p->dumps.failed;
    strbuf_addf(&p->text,
                "\"\":0},\"total\":%" PRId64
                ",\"by_stalls\":%d,\"inputs\":%u,\"history\":%u,\"source\":%" PRId64 "}</script>\n",
                (int64_t)(p->s->weight & INT64_MAX), p->s->by_stalls,
                page_text_number(p, *p->o->inputs || *p->o->history ? p->o->inputs : "DUMPS"),
                page_text_number(p, p->o->history),
                p->o->source_url ? (int64_t)page_text_number(p, p->o->source_url) : -1);
    put_texts(p);
}
