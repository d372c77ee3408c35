/* Writes a bucket in detail: its cause, place, users and devices, and commands to run next. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "base/escape.h"
#include "base/parse.h"
#include "classify/text/number_text.h"
#include "page/page_private.h"

enum {
    VALUES_MOST = 8,  /* maximum number of values shown of a facet: version, system, device … */
    OTHER_STACKS = 4, /* maximum number of stacks shown besides the heaviest */
    OTHER_FRAMES_MOST = 25,
    RULE_CELLS = 96, /* maximum number of character cells of an explanation's line */
    DRAWN_STACKS = 64,
    MAIN_FRAMES_MOST = 60
};

static void put_term(struct page_writer *p, const char *title) {
    page_markup(p, "<dt>");
    page_markup(p, title);
    page_markup(p, "<dd>");
}

/* ---- facts ---- */

static void put_seen(struct page_writer *p, const struct summary_bucket *b) {
    const struct summary_values *v = &b->by[SUMMARY_VERSION];
    if (v->count) {
        page_put(p, v->values[0].text);
        if (v->count > 1) {
            page_markup(p, " \xe2\x80\x93 ");
            page_put(p, v->values[v->count - 1].text);
        }
        page_markup(p, v->count == 1 ? " only" : "");
    }
    if (*b->first) {
        page_markup(p, v->count ? ", <time>" : "<time>");
        page_put_time(p, b->first);
        page_markup(p, "</time> to <time>");
        page_put_time(p, b->last);
        page_markup(p, "</time>");
    }
}

static void put_durations(struct page_writer *p, const struct summary_bucket *b) {
    const struct {
        const char *title;
        struct tally_duration d;
    } rows[] = {{"p50", b->p50}, {"p95", b->p95}, {"p99", b->p99}, {"longest", b->max}};
    char number[NUMBER_SIZE];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        strbuf_addf(&p->text, "%s%s %s", i ? ", " : "", rows[i].title,
                    text_duration(rows[i].d, number));
    }
    if (b->fatal) {
        page_markup(p, "; the process died in ");
        page_put_number(p, b->fatal);
    }
}

/* Writes the address that a user has noted for the bucket: as a link if it begins with "https://"
 * or "http://", else as text, because a browser could take another address for a script. */
static void put_noted_link(struct page_writer *p, const char *link) {
    bool links = strncmp(link, "https://", 8) == 0 || strncmp(link, "http://", 7) == 0;
    put_term(p, "link");
    if (links) {
        page_markup(p, "<a rel=\"noreferrer noopener\" href=\"");
        page_put_all(p, link);
        page_markup(p, "\">");
    }
    page_put(p, link);
    page_markup(p, links ? "</a>" : "");
}

/* Writes the facts that the history has about the bucket, together with the marks that users
 * gave. */
static void put_history(struct page_writer *p, const struct summary_bucket *b) {
    struct bucket_note note = p->notes[b - p->s->buckets.data];
    struct strbuf text = {0};
    const char *link = note.link, *said = note.note;
    note.link = note.note = NULL;
    bucket_note_add(&text, &note);
    if (text.len) {
        put_term(p, "history");
        page_put(p, strbuf_cstr(&text));
    }
    if (said && *said) {
        put_term(p, "note");
        page_put(p, said);
    }
    if (link && *link) {
        put_noted_link(p, link);
    }
    p->failed = p->failed || text.failed;
    strbuf_release(&text);
}

/* Does the note say the same days in which the bucket was seen? The page may have only some days of
 * a history. */
static bool is_seen_by_note(const struct page_writer *p, const struct summary_bucket *b) {
    const struct bucket_note *n = &p->notes[b - p->s->buckets.data];
    return n->first_day && *n->first_day && n->last_day &&
           strncmp(b->first, n->first_day, DAY_LENGTH) == 0 &&
           strncmp(b->last, n->last_day, DAY_LENGTH) == 0;
}

static void put_facts(struct page_writer *p, const struct summary_bucket *b) {
    char users[NUMBER_SIZE];
    page_markup(p, "<dl class=facts>");
    put_term(p, "lost");
    page_put_lost(p, b->ms);
    page_markup(p, ", ");
    page_put_share(p, b->weight, p->s->weight);
    strbuf_addf(&p->text, " of all%s; %s user%s, ", p->s->by_stalls ? " stalls" : "",
                text_users(b->users, 0, users), b->users == 1 ? "" : "s");
    page_put_counted(p, b->stalls, "stall in ", "stalls in ");
    page_put_counted(p, b->dumps, "dump", "dumps");
    put_term(p, "how long");
    put_durations(p, b);
    put_term(p, "cause");
    page_put(p, b->causes);
    if (*b->why) {
        page_markup(p, ": ");
        page_put(p, b->why);
    }
    if (*b->place) {
        put_term(p, "where");
        page_put(p, b->place);
    }
    if (!is_seen_by_note(p, b)) {
        put_term(p, "seen");
        put_seen(p, b);
    }
    if (page_marks_of(p, b) || b->fatal) {
        put_term(p, "marks");
        page_put_state(p, b);
    }
    put_history(p, b);
    page_markup(p, "</dl>");
}

static void put_change(struct page_writer *p, const struct summary_change *c) {
    if (!c->verdict) {
        return;
    }
    page_markup(p, "<h3>Before and after</h3><p>");
    page_put(p, c->verdict);
    if (*c->remark) {
        page_markup(p, ": ");
        page_put(p, c->remark);
    }
    page_markup(p, "<ul>");
    for (size_t i = 0; i < GATE_MEASURES; i++) {
        page_markup(p, "<li>");
        page_put(p, c->measures[i]);
    }
    page_markup(p, "</ul>");
}

/* ---- values ---- */

static uint64_t amount_of(const struct summary_value *v, bool ms) {
    return ms ? v->ms : v->dumps;
}

/* Chooses up to VALUES_MOST values with the most time (ms) or dumps, the largest first; *sum
 * becomes the sum over all values. Returns how many were chosen. */
static size_t choose_most(const struct summary_values *v, bool ms,
                          const struct summary_value *most[VALUES_MOST], uint64_t *sum) {
    size_t count = 0;
    *sum = 0;
    for (size_t i = 0; i < v->count; i++) {
        const struct summary_value *at = &v->values[i];
        size_t to = count;
        *sum += amount_of(at, ms);
        while (to > 0 && amount_of(most[to - 1], ms) < amount_of(at, ms)) {
            to--;
        }
        if (to < VALUES_MOST) {
            size_t moved = (count < VALUES_MOST ? count : VALUES_MOST - 1) - to;
            memmove(most + to + 1, most + to, moved * sizeof *most);
            most[to] = at;
            count += count < VALUES_MOST;
        }
    }
    return count;
}

/* Writes, in brackets, the share that the value has of all dumps, with which the bucket's is to be
 * compared: most stalls of a bucket are on the system that most users have. */
static void put_usual_share(struct page_writer *p, const struct summary_values *all,
                            const char *text) {
    uint64_t own = 0, sum = 0;
    for (size_t i = 0; all && i < all->count; i++) {
        own += strcmp(all->values[i].text, text) == 0 ? all->values[i].dumps : 0;
        sum += all->values[i].dumps;
    }
    if (own) {
        page_markup(p, " (all ");
        page_put_share(p, own, sum);
        page_markup(p, ")");
    }
}

/* all: the values of the dumps of all buckets; NULL = they are not told. */
static void put_values(struct page_writer *p, const char *title, const struct summary_values *v,
                       const struct summary_values *all) {
    const struct summary_value *most[VALUES_MOST];
    uint64_t sum;
    bool ms = v->count && v->values[0].ms;
    size_t count = choose_most(v, ms, most, &sum);
    if (!count || !sum) {
        return;
    }
    put_term(p, title);
    for (size_t i = 0; i < count; i++) {
        page_markup(p, i ? ", <bdi>" : "<bdi>");
        page_put(p, most[i]->text);
        page_markup(p, v->count > 1 ? "</bdi> <small>" : "</bdi> only<small>");
        if (v->count > 1) {
            page_put_share(p, amount_of(most[i], ms), sum);
        }
        put_usual_share(p, all, most[i]->text);
        page_markup(p, "</small>");
    }
    if (v->count > count) {
        strbuf_addf(&p->text, " and %zu more", v->count - count);
    }
    if (v->count > 1) {
        page_markup(p, ms ? " <small>of its stalled time</small>" : " <small>of its dumps</small>");
    }
}

static void put_facets(struct page_writer *p, const struct summary_bucket *b) {
    const struct {
        const char *title;
        enum summary_facet facet;
        const struct summary_values *all;
    } rows[] = {
        {"versions", SUMMARY_VERSION, NULL},         {"systems", SUMMARY_OS, &p->s->oses},
        {"devices", SUMMARY_DEVICE, &p->s->devices}, {"screens", SUMMARY_SCREEN, NULL},
        {"actions", SUMMARY_ACTION, NULL},           {"framework", SUMMARY_FRAMEWORK, NULL}};
    page_markup(p, "<h3>Who has it</h3><div class=charts>");
    page_put_distribution(p, b->durations);
    page_put_versions(p, &b->by[SUMMARY_VERSION]);
    page_put_days(p, &b->by[SUMMARY_DAY]);
    page_markup(p, "</div><dl class=facts>");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        put_values(p, rows[i].title, &b->by[rows[i].facet], rows[i].all);
    }
    if (p->has_trend) {
        bool knows = page_knows_ms(&b->by[SUMMARY_VERSION]);
        put_term(p, p->s->rated ? "in an hour" : "share of each version");
        page_put_trend(p, b, true);
        page_markup(p, p->s->rated ? (knows ? " <small>stalled, in an hour of each version</small>"
                                            : " <small>dumps, in an hour of each version</small>")
                       : knows     ? " <small>of the version's stalled time</small>"
                                   : " <small>of the version's dumps</small>");
    }
    if (b->parts.count > 1) {
        put_values(p, "more exactly", &b->parts, NULL);
    }
    page_markup(p, "</dl>");
}

/* ---- stacks ---- */

static int by_stack_time(const void *a, const void *b) {
    const struct stored_weight *x = a, *y = b;
    return x->ms != y->ms ? COMPARE(y->ms, x->ms) : COMPARE(x->stack, y->stack);
}

/* Returns a copy of the bucket's stacks, most time first, which the caller frees; NULL: there are
 * none, or memory ran out, which sets p->failed. */
static struct stored_weight *rank_stacks(struct page_writer *p, const struct stored_bucket *b) {
    if (!b || !b->stacks.len) {
        return NULL;
    }
    struct stored_weight *ranked = calloc(b->stacks.len, sizeof *ranked);
    p->failed = p->failed || !ranked;
    if (ranked) {
        memcpy(ranked, b->stacks.data, b->stacks.len * sizeof *ranked);
        qsort(ranked, b->stacks.len, sizeof *ranked, by_stack_time);
    }
    return ranked;
}

/* Returns how many innermost frames of `stack` to show next to `other`: all but the outermost
 * frames that both have in common, and one more, the innermost of those in common, if there are
 * any. */
static size_t count_own(const struct stored_dumps *s, uint32_t stack, uint32_t other) {
    size_t count, other_count, same = 0;
    const uint32_t *frames = stored_stack(s, stack, &count);
    const uint32_t *others = stored_stack(s, other, &other_count);
    while (same < count && same < other_count &&
           frames[count - 1 - same] == others[other_count - 1 - same]) {
        same++;
    }
    return count - same + (same > 0);
}

/* Returns the time of all stacks of a bucket, also of those that were dropped. */
static uint64_t stacks_time(const struct stored_bucket *b) {
    uint64_t ms = b->dropped_ms;
    for (size_t i = 0; i < b->stacks.len; i++) {
        ms += b->stacks.data[i].ms;
    }
    return ms;
}

/* Writes the number of dumps from which the stacks are, unless they are from all. */
static void put_chosen(struct page_writer *p, const struct summary_bucket *b) {
    if (b->stored->chosen) {
        page_markup(p, "<p class=more>of the ");
        page_put_number(p, b->stored->chosen);
        page_markup(p, b->stored->chosen == 1 ? " dump of it that the history keeps"
                                              : " dumps of it that the history keeps");
    }
}

static void put_other_stacks(struct page_writer *p, const struct summary_bucket *b,
                             const struct stored_weight *ranked, const char *version) {
    size_t count = ranked ? b->stored->stacks.len : 0;
    if (count < 2) {
        return;
    }
    page_markup(p, "<h3>Its other stacks, up to where they join the heaviest</h3>");
    put_chosen(p, b);
    uint64_t whole = b->stored->chosen ? stacks_time(b->stored) : b->ms;
    for (size_t i = 1; i < count && i <= OTHER_STACKS; i++) {
        page_markup(p, "<details class=thread><summary>");
        page_put_share(p, ranked[i].ms, whole);
        page_markup(p, b->stored->chosen ? " of their time, " : " of its time, ");
        page_put_ms(p, ranked[i].ms);
        page_markup(p, "</summary>");
        size_t own = count_own(p->s->stored, ranked[i].stack, ranked[0].stack);
        page_put_stored(p, ranked[i].stack, own < OTHER_FRAMES_MOST ? own : OTHER_FRAMES_MOST,
                        version);
        page_markup(p, "</details>");
    }
    if (count > OTHER_STACKS + 1) {
        strbuf_addf(&p->text, "<p class=more>%zu more", count - OTHER_STACKS - 1);
    }
}

static struct page_frame frame_of(const struct stored_dumps *s, uint32_t index) {
    const struct stored_frame *f = stored_frame_at(s, index);
    return (struct page_frame){stored_text(s, f->function), stored_text(s, f->image),
                               f->flags & STORED_INLINED};
}

/* Draws the first `count` stacks of a ranking. Their frames are copied to one array, those of each
 * stack outermost first. */
static enum st draw_stored(struct page_writer *p, const struct stored_weight *ranked, size_t count,
                           struct sink *out, struct err *e) {
    const struct stored_dumps *s = p->s->stored;
    struct page_stack *stacks = calloc(count, sizeof *stacks);
    struct page_frame *frames = calloc(count * STORED_FRAMES, sizeof *frames);
    enum st st = stacks && frames ? ST_OK : err_nomem(e);
    for (size_t i = 0; st == ST_OK && i < count; i++) {
        const uint32_t *from = stored_stack(s, ranked[i].stack, &stacks[i].count);
        struct page_frame *to = frames + i * STORED_FRAMES;
        for (size_t k = 0; k < stacks[i].count; k++) {
            to[stacks[i].count - 1 - k] = frame_of(s, from[k]);
        }
        stacks[i].frames = to;
        stacks[i].ms = ranked[i].ms;
    }
    if (st == ST_OK) {
        st = p->o->drawing.stacks(p->o->drawing.ctx, stacks, count, out, e);
    }
    free(stacks);
    free(frames);
    return st;
}

static enum st put_flame(struct page_writer *p, const struct summary_bucket *b,
                         const struct stored_weight *ranked, struct err *e) {
    struct sink sink = sink_to_strbuf(&p->text);
    size_t count = ranked ? b->stored->stacks.len : 0;
    if (count < 2 || !p->o->drawing.stacks) {
        return ST_OK; /* nothing is drawn, as a drawing of one stack would only repeat the frames */
    }
    page_markup(p, "<details class=flame-graph open><summary>Flame graph</summary>");
    put_chosen(p, b);
    enum st st = draw_stored(p, ranked, count < DRAWN_STACKS ? count : DRAWN_STACKS, &sink, e);
    if (sink_close(&sink, e) != ST_OK) {
        return ST_ERR;
    }
    page_markup(p, "</details>");
    return st;
}

static void put_main_stack(struct page_writer *p, const struct stored_weight *ranked,
                           const char *version) {
    if (p->stack->frames.len) {
        page_put_stack(p, version);
    } else if (ranked) {
        page_put_stored(p, ranked[0].stack, MAIN_FRAMES_MOST, version);
    } else {
        page_markup(p, "<p class=more>no stack of it is kept");
    }
}

/* ---- stored dumps ---- */

static void put_dump(struct page_writer *p, const struct stored_dump *d, const char *why) {
    const struct stored_dumps *s = p->s->stored;
    const uint32_t texts[] = {d->version, d->os, d->device, d->screen};
    page_markup(p, "<li>");
    page_markup(p, why);
    page_markup(p, ": ");
    page_put_ms(p, d->span_ms > 0 ? (uint64_t)d->span_ms : 0);
    if (d->time != STORED_NONE) {
        page_markup(p, ", ");
        page_put_time(p, stored_text(s, d->time));
    }
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (texts[i] != STORED_NONE) {
            page_markup(p, ", ");
            page_put(p, stored_text(s, texts[i]));
        }
    }
    page_markup(p, " <code>");
    page_put(p, stored_text(s, d->id));
    page_markup(p, "</code>");
}

static void put_dumps(struct page_writer *p, const struct summary_bucket *b, size_t rank) {
    const struct stored_bucket *stored = b->stored;
    if (!stored || !stored->worst) {
        return;
    }
    strbuf_addf(&p->text, "<h3>Stored dumps</h3><div class=dumps data-rank=%zu><ul>", rank);
    put_dump(p, stored->worst, "worst");
    if (stored->newest != stored->worst) {
        put_dump(p, stored->newest, "newest");
    }
    for (size_t i = 0; i < stored->of_version.len; i++) {
        struct stored_dump *d = stored->of_version.data[i];
        if (d != stored->worst && d != stored->newest) {
            put_dump(p, d, "worst of its version");
        }
    }
    page_markup(p, "</ul></div>");
    page_add_dumps(p, b);
}

/* ---- commands to run next ---- */

void page_put_explaining(struct page_writer *p, const char *id, const char *before,
                         const char *behind) {
    page_markup(p, before);
    if (*p->o->inputs || !*p->o->history) {
        strbuf_addf(&p->text, "stallclassify --explain %s ", id);
        page_put_all(p, *p->o->inputs ? p->o->inputs : "DUMPS");
    } else {
        page_markup(p, "stallclassify --history ");
        page_put_all(p, p->o->history);
        strbuf_addf(&p->text, " --explain %s", id);
    }
    page_markup(p, behind);
}

/* Writes the commands that show more of a bucket, and that note something about it. */
static void put_commands(struct page_writer *p, const char *id) {
    page_put_explaining(p, id, "<pre class=paste>", "</pre>");
    if (*p->o->inputs || !*p->o->history) {
        strbuf_addf(&p->text, "<pre class=paste>stallclassify --annotate --where level1=%s ", id);
        page_put_all(p, *p->o->inputs ? p->o->inputs : "DUMPS");
        page_markup(p, "</pre>");
    }
    if (*p->o->history) {
        page_markup(p, "<pre class=paste>stallclassify --history ");
        page_put_all(p, p->o->history);
        strbuf_addf(&p->text, " --mark %s owner=NAME fixed-in=VERSION note=TEXT</pre>", id);
    }
}

/* Does a line of an explanation begin with a frame's number, right-aligned in four columns? */
static bool starts_frame(const char *line) {
    size_t digits = strspn(line, " ");
    return digits < 4 && line[digits] >= '0' && line[digits] <= '9' && line[4] == ' ';
}

/* Is the line about a decision of the dump rather than of a rule? The drawn stack marks such frames
 * already. */
static bool is_dump_line(const char *line, size_t len) {
    static const char said[] = "as the dump says of its image";
    return len >= sizeof said - 1 &&
           memcmp(line + len - (sizeof said - 1), said, sizeof said - 1) == 0;
}

/* Writes an explanation without the frames on which no rule decided. */
static void put_explanation(struct page_writer *p, const char *text) {
    const char *frame = NULL; /* the frame's line, kept until a rule's line follows */
    /* skips the lines before the frames, which name the dump, as the page names it elsewhere */
    while (*text && !starts_frame(text)) {
        text += strcspn(text, "\n");
        text += *text == '\n';
    }
    while (*text) {
        size_t len = strcspn(text, "\n");
        bool starts = starts_frame(text);
        if (starts || len == 0) {
            frame = NULL;
        }
        if (frame && !is_dump_line(text, len)) {
            xml_text_add_short(&p->text, frame, strcspn(frame, "\n"), RULE_CELLS, 0);
            page_markup(p, "\n");
            frame = NULL;
        }
        if (!starts && !is_dump_line(text, len)) {
            xml_text_add_short(&p->text, text, len, RULE_CELLS, 0);
            page_markup(p, "\n");
        }
        frame = starts ? text : frame;
        text += len + (text[len] == '\n');
    }
}

static void put_next(struct page_writer *p, const struct summary_bucket *b) {
    page_markup(p, "<h3>To look further</h3>");
    if (*b->evidence && !(b->stored && b->stored->worst)) {
        page_markup(p, "<p>The dump that lost most: <code>");
        page_put(p, b->evidence);
        page_markup(p, "</code>");
    }
    put_commands(p, b->id);
    if (p->stack->explanation.len) {
        page_markup(p, "<details class=rules><summary>The rules that made it</summary><pre>");
        put_explanation(p, strbuf_cstr(&p->stack->explanation));
        page_markup(p, "</pre></details>");
    }
}

/* Sets p->stack to the explained stack of a bucket. */
static enum st take_detail_stack(struct page_writer *p, size_t rank, struct err *e) {
    if (rank < p->s->explained.len) {
        p->stack = &p->s->explained.data[rank];
        return ST_OK;
    }
    p->stack = &p->own_stack;
    summary_stack_clear(&p->own_stack);
    return p->o->keyer
               ? summary_explain(p->s, &p->s->buckets.data[rank], p->o->keyer, &p->own_stack, e)
               : ST_OK;
}

enum st page_put_detail(struct page_writer *p, size_t rank, struct err *e) {
    const struct summary_bucket *b = &p->s->buckets.data[rank];
    const struct stored_dump *worst = b->stored ? b->stored->worst : NULL;
    const struct summary_values *versions = &b->by[SUMMARY_VERSION];
    const char *version = versions->count ? versions->values[versions->count - 1].text : "";
    if (take_detail_stack(p, rank, e) != ST_OK) {
        return ST_ERR;
    }
    if (worst && worst->version != STORED_NONE) {
        version = stored_text(p->s->stored, worst->version);
    }
    struct stored_weight *ranked = rank_stacks(p, b->stored);
    strbuf_addf(&p->text, "<details class=bucket data-rank=%zu><summary>%zu. ", rank, rank + 1);
    page_put(p, b->title);
    strbuf_addf(&p->text, "</summary><div id=%s>", b->id);
    put_facts(p, b);
    put_change(p, &b->change);
    put_facets(p, b);
    page_markup(p, "<h3>Heaviest stack, innermost frame first <small>key: is part of the bucket's "
                   "id</small></h3>");
    put_main_stack(p, ranked, version);
    if (worst) {
        page_markup(p, "<h3>Other threads, in its worst dump</h3>");
        page_put_threads(p, worst);
    }
    enum st st = put_flame(p, b, ranked, e);
    put_other_stacks(p, b, ranked, version);
    put_dumps(p, b, rank);
    put_next(p, b);
    page_markup(p, "</div></details>\n");
    free(ranked);
    page_flush(p);
    return st;
}
