/* Writes Markdown with a table, as GitHub and GitLab render it, for pull requests and tickets. */
#include <inttypes.h>

#include "classify/print/apart_text.h"
#include "classify/print/holder_text.h"
#include "base/escape.h"
#include "classify/print/triage_text.h"
#include "classify/print/usage_print.h"
#include "classify/print/usage_text.h"

struct triage_page {
    const struct triage *t;
    struct sink *out;
    struct strbuf text; /* scratch */
};

static void triage_markdown_put_key(struct triage_page *m, const struct bucket *b) {
    for (size_t i = 0; i < b->frame_count; i++) {
        strbuf_clear(&m->text);
        text_add_frame(&m->text, b->frames[i]);
        sink_str(m->out, i ? " \xe2\x86\x90 " : "");
        markdown_put_code(m->out, strbuf_cstr(&m->text));
    }
}

/* Writes the reason of a bucket below its key, and below that, in small letters, its place, its
 * main action, its versions, systems and devices, the time that it may lack, and its id. */
static void put_details(struct triage_page *m, const struct bucket *b) {
    struct strbuf *text = &m->text;
    strbuf_clear(text);
    text_add_why(text, b);
    if (text->len) {
        sink_str(m->out, "<br>");
        markdown_put_text(m->out, strbuf_cstr(text));
    }
    strbuf_clear(text);
    text_add_place(text, b);
    if (b->actions.len) {
        strbuf_addstr(text, text->len ? ", from " : "from ");
        text_add_frame(text, m->t->actions.buckets.data[b->actions.data[0].action]->frames[0]);
    }
    text_add_values(text, m->t, b->tally, &m->t->total);
    if (bucket_error_ms(&m->t->level[0], b)) {
        strbuf_addstr(text, text->len ? ", " : "");
        text_add_error(text, m->t, b);
    }
    sink_str(m->out, "<br><sub>");
    markdown_put_text(m->out, strbuf_cstr(text));
    sink_printf(m->out, "%s%s</sub>", text->len ? ", " : "", b->id);
}

static void triage_markdown_put_bucket(struct triage_page *m, const struct bucket *b) {
    const struct tally *t = b->tally;
    char share[NUMBER_SIZE], ms[NUMBER_SIZE], stalls[NUMBER_SIZE], users[NUMBER_SIZE],
        p50[NUMBER_SIZE], p95[NUMBER_SIZE];
    unsigned confidence;
    sink_printf(m->out, "| %s | %s | %s | %s | %s | %s | %s | ", text_weight_share(m->t, t, share),
                text_stalled(t, ms), text_grouped(t->stalls, stalls),
                text_users(b->users, 0, users), text_duration(tally_percentile(t, 500), p50),
                text_duration(tally_percentile(t, 950), p95),
                rule_cause_text(tally_cause(t, &confidence)));
    triage_markdown_put_key(m, b);
    put_details(m, b);
    sink_str(m->out, " |\n");
}

/* Writes the rates, a list item for each sentence; nothing if there is no exposure. */
static void triage_markdown_put_usage(struct triage_page *m) {
    const char *before = "\n";
    for (const struct usage_sentence *s = usage_sentences; s->title && usage_is_known(m->t); s++) {
        strbuf_clear(&m->text);
        if (!s->add(&m->text, m->t)) {
            err_nomem(&m->out->err);
        }
        if (m->text.len) {
            sink_printf(m->out, "%s* %s: ", before, s->title);
            markdown_put_text(m->out, strbuf_cstr(&m->text));
            sink_char(m->out, '\n');
            before = "";
        }
    }
}

typedef void (*markdown_add)(struct strbuf *b, const struct triage *t);

/* Writes the totals in bold letters, then the text of add_more, then versions, systems, devices
 * and days. */
static void triage_markdown_put_head(struct triage_page *m, markdown_add add,
                                     markdown_add add_more) {
    struct strbuf *text = &m->text;
    strbuf_clear(text);
    add(text, m->t);
    sink_str(m->out, "**");
    markdown_put_text(m->out, strbuf_cstr(text));
    sink_str(m->out, "**");
    strbuf_clear(text);
    add_more(text, m->t);
    sink_str(m->out, text->len ? ": " : "");
    markdown_put_text(m->out, strbuf_cstr(text));
    strbuf_clear(text);
    text_add_values(text, m->t, &m->t->total, NULL);
    text_add_seen(text, &m->t->total);
    sink_str(m->out, text->len ? "; " : "");
    markdown_put_text(m->out, strbuf_cstr(text));
    sink_str(m->out, ".\n");
}

static void add_apart(struct strbuf *b, const struct triage *t) {
    apart_text_add(b, t->apart);
}

/* Appends a title and the text that `add` appends; nothing if that is empty. */
static void add_sentence(struct strbuf *text, const struct triage *t, const char *title,
                         markdown_add add) {
    size_t before = text->len;
    strbuf_addstr(text, title);
    size_t empty = text->len;
    add(text, t);
    if (text->len > empty) {
        strbuf_addstr(text, ". ");
    } else if (!text->failed) {
        strbuf_truncate(text, before);
    }
}

static void put_foot(struct triage_page *m, size_t more, const char *of_what) {
    struct strbuf *text = &m->text;
    strbuf_clear(text);
    if (more) {
        strbuf_addf(text, "%zu more %s. ", more, of_what);
    }
    add_sentence(text, m->t, "Threshold: ", text_add_threshold);
    add_sentence(text, m->t, "Set apart: ", add_apart);
    strbuf_addf(text, "Rules: %s, %012" PRIx64 ".", m->t->options.rules,
                m->t->options.rules_hash >> 16);
    sink_str(m->out, "\n<sub>");
    markdown_put_text(m->out, strbuf_cstr(text));
    sink_str(m->out, "</sub>\n");
}

void triage_print_markdown(const struct triage *t, const struct triage_view *v, struct sink *out) {
    struct triage_page m = {.t = t, .out = out};
    const struct bucket_set *set = &t->level[0];
    size_t shown = v->top && v->top < set->buckets.len ? v->top : set->buckets.len;
    triage_markdown_put_head(&m, text_add_totals, text_add_causes);
    triage_markdown_put_usage(&m);
    usage_print_markdown(t, v, out);
    if (shown) {
        sink_str(out, "\n| share | stalled | stalls | users | p50 | p95 | cause | innermost frame "
                      "first |\n|--:|--:|--:|--:|--:|--:|:--|:--|\n");
    }
    for (size_t i = 0; i < shown; i++) {
        triage_markdown_put_bucket(&m, set->buckets.data[set->ranked[i]]);
    }
    put_foot(&m, set->buckets.len - shown, "buckets");
    if (m.text.failed) {
        err_nomem(&out->err);
    }
    strbuf_release(&m.text);
}

/* ---- holders of locks ---- */

static void markdown_put_holder(struct triage_page *m, const struct bucket *b) {
    const struct tally *t = b->tally;
    const struct holder_row row = holder_row_of(b);
    struct strbuf *text = &m->text;
    char share[NUMBER_SIZE], ms[NUMBER_SIZE], dumps[NUMBER_SIZE], users[NUMBER_SIZE],
        threads[NUMBER_SIZE], p95[NUMBER_SIZE];
    sink_printf(m->out, "| %s | %s | %s | %s | %s | %s | ", text_weight_share(m->t, t, share),
                text_stalled(t, ms), text_grouped(t->dumps, dumps), text_users(b->users, 0, users),
                text_users(b->waiters, 0, threads), text_duration(tally_percentile(t, 950), p95));
    strbuf_clear(text);
    holder_add_who(text, &row);
    markdown_put_text(m->out, strbuf_cstr(text));
    for (size_t i = 0; i < row.frame_count; i++) {
        strbuf_clear(text);
        text_add_frame(text, row.frames[i]);
        sink_str(m->out, i ? " \xe2\x86\x90 " : "<br>");
        markdown_put_code(m->out, strbuf_cstr(text));
    }
    strbuf_clear(text);
    text_add_why(text, b);
    sink_str(m->out, text->len ? "<br>" : "");
    markdown_put_text(m->out, strbuf_cstr(text));
    strbuf_clear(text);
    holder_add_action(text, m->t, b);
    text_add_values(text, m->t, t, &m->t->total);
    sink_str(m->out, "<br><sub>");
    markdown_put_text(m->out, strbuf_cstr(text));
    sink_printf(m->out, "%s%s</sub> |\n", text->len ? ", " : "", b->id);
}

void holders_print_markdown(const struct triage *t, const struct triage_view *v, struct sink *out) {
    struct triage_page m = {.t = t, .out = out};
    const struct bucket_set *set = &t->holders;
    size_t shown = v->top && v->top < set->buckets.len ? v->top : set->buckets.len;
    triage_markdown_put_head(&m, holder_add_totals, holder_add_unknown);
    if (shown) {
        sink_str(out, "\n| share | waited | dumps | users | threads | p95 | holder |\n"
                      "|--:|--:|--:|--:|--:|--:|:--|\n");
    }
    for (size_t i = 0; i < shown; i++) {
        markdown_put_holder(&m, set->buckets.data[set->ranked[i]]);
    }
    put_foot(&m, set->buckets.len - shown, "holders");
    if (m.text.failed) {
        err_nomem(&out->err);
    }
    strbuf_release(&m.text);
}
