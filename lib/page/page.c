/* Writes the page: its head, its parts in order, and the policy that no other style or script may
 * run. */
#include "page/page.h"

#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "page/page_private.h"
#include "page/sha256.h"

/* The Makefile turns the scripts and the style into these arrays. */
extern const unsigned char embed_page_css[], embed_page_terms_js[], embed_page_rows_js[],
    embed_page_dumps_js[], embed_page_keys_js[];
extern const size_t embed_page_css_len, embed_page_terms_js_len, embed_page_rows_js_len,
    embed_page_dumps_js_len, embed_page_keys_js_len;

/* ---- the style and the script ---- */

/* Writes the style sheet into `style`, and all scripts, as one function, into `script`. */
static enum st make_code(const struct page_options *o, struct strbuf *style, struct strbuf *script,
                         struct err *e) {
    const struct {
        const unsigned char *data;
        size_t len;
    } parts[] = {{embed_page_terms_js, embed_page_terms_js_len},
                 {embed_page_rows_js, embed_page_rows_js_len},
                 {embed_page_dumps_js, embed_page_dumps_js_len},
                 {embed_page_keys_js, embed_page_keys_js_len}};
    struct sink sink = sink_to_strbuf(style);
    strbuf_add(style, embed_page_css, embed_page_css_len);
    if (o->drawing.style) {
        o->drawing.style(o->drawing.ctx, &sink);
    }
    strbuf_addstr(script, "(function () {\n'use strict';\n");
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        strbuf_add(script, parts[i].data, parts[i].len);
    }
    strbuf_addstr(script, "}());\n");
    enum st st = sink_close(&sink, e);
    return st == ST_OK && strbuf_check(style, e) == ST_OK ? strbuf_check(script, e) : ST_ERR;
}

/* ---- head ---- */

static void put_title(struct page_writer *p) {
    page_markup(p, *p->s->app ? "Stalls of " : "Stalls");
    page_put(p, p->s->app);
}

static void put_start(struct page_writer *p, const struct strbuf *style,
                      const struct strbuf *script) {
    char style_hash[SHA256_BASE64_SIZE], script_hash[SHA256_BASE64_SIZE];
    sha256_base64(strbuf_cstr(style), style->len, style_hash);
    sha256_base64(strbuf_cstr(script), script->len, script_hash);
    strbuf_addf(&p->text,
                "<!doctype html>\n<html lang=en>\n<head>\n<meta charset=utf-8>\n"
                "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                "style-src 'sha256-%s'; script-src 'sha256-%s'; worker-src blob:; base-uri 'none'; "
                "form-action 'none'\">\n"
                "<meta name=viewport content=\"width=device-width, initial-scale=1\">\n"
                "<meta name=referrer content=no-referrer>\n<title>",
                style_hash, script_hash);
    put_title(p);
    page_markup(p, "</title>\n<style>");
    strbuf_add(&p->text, strbuf_cstr(style), style->len);
    page_markup(p, "</style>\n</head>\n<body>\n");
}

/* Says which part of the data the page has, unless it has all. */
static void put_narrowed(struct page_writer *p) {
    const size_t all = p->s->buckets.len;
    const char *between = "";
    if (!*p->s->where && !*p->o->narrowed && p->rows == all) {
        return;
    }
    page_markup(p, "<p class=narrowed>Only a part: ");
    if (*p->s->where) {
        page_markup(p, "dumps with ");
        page_put(p, p->s->where);
        between = "; ";
    }
    if (*p->o->narrowed) {
        page_markup(p, between);
        page_put(p, p->o->narrowed);
        between = "; ";
    }
    if (p->rows < all) {
        page_markup(p, between);
        page_markup(p, "the first ");
        page_put_number(p, p->rows);
        page_markup(p, " of ");
        page_put_counted(p, all, "bucket", "buckets");
        page_markup(p, ", while sums and pictures are of all");
    }
}

static void put_head(struct page_writer *p) {
    page_markup(p, "<header><h1>");
    put_title(p);
    page_markup(p, "</h1><p class=totals>");
    page_put(p, p->s->totals);
    if (*p->s->newest) {
        page_markup(p, "; the newest of <time>");
        page_put(p, p->s->newest);
        page_markup(p, "</time> UTC");
    }
    put_narrowed(p);
    page_markup(p, "</header>\n<main>\n");
    page_put_gate(p);
    page_markup(p, "<section class=charts aria-label=\"stalled time\">\n");
    page_put_ranking(p, "stalled time by cause", &p->s->causes);
    page_put_release_chart(p);
    page_put_days(p, &p->s->days);
    page_markup(p, "</section>\n");
    page_put_releases(p);
    page_markup(p, "<section aria-label=\"what was read\">");
    page_put_sentences(p, p->s->head.data, p->s->head.len);
    page_markup(p, "</section>\n");
}

/* ---- the document ---- */

static enum st put_body(struct page_writer *p, struct err *e) {
    put_head(p);
    page_markup(p, "<section aria-label=buckets><h2>Buckets</h2>\n<div id=tools hidden></div>\n"
                   "<p id=status role=status>");
    page_put_number(p, p->rows);
    page_markup(p, " of ");
    page_put_number(p, p->s->buckets.len);
    page_markup(p, " buckets, most lost time first</p>\n");
    page_put_table(p);
    if (p->rows == 0) {
        page_markup(p,
                    "<p>No bucket: nothing that was read counts as a stall. What was set apart is "
                    "said above.");
    }
    page_markup(p, "</section>\n<section id=details aria-label=\"in detail\">\n");
    for (size_t i = 0; i < p->details; i++) {
        if (page_put_detail(p, i, e) != ST_OK) {
            return ST_ERR;
        }
    }
    if (p->details < p->rows) {
        strbuf_addf(&p->text, "<p class=more>The first %zu buckets are in detail. For the others: ",
                    p->details);
        page_put_explaining(p, "ID", "<code>", "</code>");
    }
    page_markup(p, "</section>\n");
    page_put_better(p);
    page_markup(p, "</main>\n<footer><p>stallclassify " STALLKIT_VERSION "; rules: ");
    page_put(p, p->s->rules);
    page_markup(p, "</footer>\n");
    page_put_data(p);
    return ST_OK;
}

static bool make_places(struct page_places *places, size_t count) {
    places->place = calloc(count + 1, sizeof *places->place);
    for (size_t i = 0; places->place && i < count; i++) {
        places->place[i] = PAGE_NONE;
    }
    return places->place != NULL;
}

static void page_release(struct page_writer *p) {
    strbuf_release(&p->text);
    strbuf_release(&p->dumps);
    map_release(&p->texts);
    free(p->states);
    free(p->notes);
    free((void *)p->owners);
    map_release(&p->note_texts);
    free(p->frames.place);
    free(p->stacks.place);
    VEC_RELEASE(&p->frames.order);
    VEC_RELEASE(&p->stacks.order);
    summary_stack_release(&p->own_stack);
}

enum st page_write(const struct summary *s, const struct page_options *o, struct sink *out,
                   struct err *e) {
    struct page_writer p = {.s = s, .o = o, .out = out, .rows = s->buckets.len};
    struct strbuf style = {0}, script = {0};
    p.rows = o->top && o->top < p.rows ? o->top : p.rows;
    p.details = o->detail < p.rows ? o->detail : p.rows;
    p.trend = s->releases.data;
    p.trend_count = s->releases.len;
    if (p.trend_count > PAGE_VERSIONS) {
        p.trend += p.trend_count - PAGE_VERSIONS;
        p.trend_count = PAGE_VERSIONS;
    }
    size_t carrying = 0;
    for (size_t i = 0; i < p.trend_count; i++) {
        carrying += p.trend[i].carries;
    }
    p.has_trend = carrying > 1;
    enum st st = make_code(o, &style, &script, e);
    if (st == ST_OK &&
        (!make_places(&p.frames, s->stored->frames.count) ||
         !make_places(&p.stacks, s->stored->stacks.count) || !page_read_states(&p))) {
        st = err_nomem(e);
    }
    if (st == ST_OK) {
        put_start(&p, &style, &script);
        page_number_common(&p);
        st = put_body(&p, e);
        page_markup(&p, "<script>");
        strbuf_add(&p.text, strbuf_cstr(&script), script.len);
        page_markup(&p, "</script>\n</body>\n</html>\n");
        sink_write(out, strbuf_cstr(&p.text), p.text.len);
        st = st == ST_OK && (p.failed || p.text.failed) ? err_nomem(e) : st;
    }
    strbuf_release(&style);
    strbuf_release(&script);
    page_release(&p);
    return st;
}
