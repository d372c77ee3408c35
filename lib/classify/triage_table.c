/* The table that a person reads: buckets by stalled time, each with its key, where it is, and what
 * led to it. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "classify/triage_private.h"

/* INDENT: the column where keys begin. */
enum { NUMBER_SIZE = 32, INDENT = 47, DETAIL_INDENT = 8, CHILDREN_MAX = 5 };

struct table {
    const struct triage *t;
    const struct triage_view *v;
    struct sink *out;
    struct strbuf text; /* a line's key, before it is wrapped */
};

static const char bold[] = "\x1b[1m", dim[] = "\x1b[2m", plain[] = "\x1b[0m";

static void style(struct table *tb, const char *code) {
    if (tb->v->colour) {
        sink_str(tb->out, code);
    }
}

/* 1234567 -> "1,234,567". */
static const char *grouped(uint64_t v, char out[NUMBER_SIZE]) {
    char digits[NUMBER_SIZE];
    int n = snprintf(digits, sizeof digits, "%" PRIu64, v);
    char *to = out;
    for (int i = 0; i < n; i++) {
        if (i && (n - i) % 3 == 0) {
            *to++ = ',';
        }
        *to++ = digits[i];
    }
    *to = 0;
    return out;
}

/* 850 -> "850ms", 2140 -> "2.1s", 131000 -> "2m11s", 43500000 -> "12h05m", more -> "9d04h". */
static const char *human(uint64_t ms, char out[NUMBER_SIZE]) {
    uint64_t s = ms / 1000;
    if (ms < 1000) {
        snprintf(out, NUMBER_SIZE, "%" PRIu64 "ms", ms);
    } else if (ms < 59950) {
        snprintf(out, NUMBER_SIZE, "%" PRIu64 ".%" PRIu64 "s", (ms + 50) / 1000,
                 (ms + 50) / 100 % 10);
    } else if (s < 3600) {
        snprintf(out, NUMBER_SIZE, "%" PRIu64 "m%02" PRIu64 "s", s / 60, s % 60);
    } else if (s < 100 * 3600) {
        snprintf(out, NUMBER_SIZE, "%" PRIu64 "h%02" PRIu64 "m", s / 3600, s / 60 % 60);
    } else {
        snprintf(out, NUMBER_SIZE, "%" PRIu64 "d%02" PRIu64 "h", s / 86400, s / 3600 % 24);
    }
    return out;
}

/* part / whole in permille, rounded; 0 for an empty whole. */
static unsigned permille(uint64_t part, uint64_t whole) {
    return whole ? (unsigned)(((unsigned __int128)part * 1000 + whole / 2) / whole) : 0;
}

/* Columns that a text takes, one per character. */
static size_t columns(const char *s, size_t len) {
    size_t n = 0;
    for (size_t i = 0; i < len; i++) {
        n += ((unsigned char)s[i] & 0xc0) != 0x80;
    }
    return n;
}

/* Appends text that came from a file: control characters, bidi overrides and broken UTF-8 must not
 * reach the terminal. */
static void add_clean(struct strbuf *b, const char *s) {
    size_t len = strlen(s);
    for (size_t i = 0; i < len;) {
        uint32_t c;
        size_t n = utf8_decode(s + i, len - i, &c);
        if (n == 0 || !utf8_is_printable(c)) {
            strbuf_addc(b, '?');
            i += n ? n : 1;
        } else {
            strbuf_add(b, s + i, n);
            i += n;
        }
    }
}

static void add_frame(struct strbuf *b, const struct bucket_frame *f) {
    if (!f->resolved) {
        add_clean(b, f->image_name); /* Shop+0x1a2b */
        add_clean(b, f->function);
    } else {
        add_clean(b, f->function);
        if (!f->in_app && strcmp(f->image_name, "?") != 0) {
            strbuf_addstr(b, " (");
            add_clean(b, f->image_name);
            strbuf_addc(b, ')');
        }
    }
}

static void spaces(struct table *tb, size_t n) {
    sink_printf(tb->out, "%*s", (int)n, "");
}

/* Where a text that is longer than `width` columns is best broken: between frames or clauses, else
 * at a space, else at the width. */
static size_t break_at(const char *s, size_t len, size_t width) {
    size_t clause = 0, space = 0, n = 0;
    for (size_t i = 0; i < len; i++) {
        if (((unsigned char)s[i] & 0xc0) != 0x80 && n++ == width) {
            return clause ? clause : space ? space : i;
        }
        if (s[i] == ' ') {
            space = i + 1;
            bool arrow = i >= 3 && memcmp(s + i - 3, "\xe2\x86\x90", 3) == 0;
            clause = arrow || (i > 0 && s[i - 1] == ',') ? i + 1 : clause;
        }
    }
    return len;
}

/* Prints table.text from column `at`, wrapped to the width with later lines two columns further in.
 */
static void print_wrapped(struct table *tb, size_t at) {
    const char *s = strbuf_cstr(&tb->text);
    size_t len = tb->text.len, width = tb->v->width > at + 20 ? tb->v->width - at : 20;
    while (columns(s, len) > width) {
        size_t n = break_at(s, len, width), shown = n;
        while (shown > 0 && s[shown - 1] == ' ') {
            shown--;
        }
        sink_write(tb->out, s, shown);
        sink_char(tb->out, '\n');
        spaces(tb, at + 2);
        s += n;
        len -= n;
        width = tb->v->width > at + 22 ? tb->v->width - at - 2 : 20;
    }
    sink_write(tb->out, s, len);
    sink_char(tb->out, '\n');
}

/* ---- head ---- */

static void add_counted(struct strbuf *b, uint64_t n, const char *one, const char *many) {
    char number[NUMBER_SIZE];
    strbuf_addf(b, "%s %s", grouped(n, number), n == 1 ? one : many);
}

static void print_head(struct table *tb) {
    const struct triage *t = tb->t;
    struct strbuf *b = &tb->text;
    char number[NUMBER_SIZE];
    strbuf_clear(b);
    add_counted(b, t->total.stalls, "stall", "stalls");
    strbuf_addstr(b, " in ");
    add_counted(b, t->total.dumps, "dump", "dumps");
    strbuf_addf(b, ", %s stalled, ", human(t->total.ms, number));
    if (t->total_users) {
        add_counted(b, t->total_users, "user", "users");
        strbuf_addstr(b, ", ");
    }
    add_counted(b, t->level[0].buckets.len, "bucket", "buckets");
    strbuf_addf(b, "; rules: %s, %012" PRIx64, t->options.rules, t->options.rules_hash >> 16);
    style(tb, bold);
    print_wrapped(tb, 0);
    style(tb, plain);
}

static void print_apart(struct table *tb) {
    static const struct {
        enum triage_apart why;
        const char *one, *many;
    } rows[] = {{APART_CRASH, "crash", "crashes"},
                {APART_BACKGROUND, "in the background", "in the background"},
                {APART_PREWARMED, "prewarmed", "prewarmed"},
                {APART_IDLE, "idle (only the loop waiting)", "idle (only the loop waiting)"},
                {APART_LATE, "captured too late", "captured too late"},
                {APART_NO_STACK, "without a stack", "without a stack"},
                {APART_DUPLICATE, "duplicate", "duplicates"},
                {APART_LEFT_OUT, "left out by --where", "left out by --where"}};
    struct strbuf *b = &tb->text;
    strbuf_clear(b);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (tb->t->apart[rows[i].why]) {
            strbuf_addstr(b, b->len ? ", " : "set apart: ");
            add_counted(b, tb->t->apart[rows[i].why], rows[i].one, rows[i].many);
        }
    }
    if (b->len) {
        print_wrapped(tb, 0);
    }
    if (tb->t->unresolved) {
        strbuf_clear(b);
        add_counted(b, tb->t->unresolved, "dump has", "dumps have");
        strbuf_addstr(b, " frames without names in the key: stallsym -d SYMBOLS first, ids change "
                         "with the names");
        print_wrapped(tb, 0);
    }
}

/* ---- rows ---- */

static void print_numbers(struct table *tb, const struct bucket *b) {
    char stalled[NUMBER_SIZE], stalls[NUMBER_SIZE], users[NUMBER_SIZE], p50[NUMBER_SIZE],
        p95[NUMBER_SIZE];
    unsigned share = permille(b->tally.ms, tb->t->total.ms);
    sink_printf(tb->out, "%3u.%u%%", share / 10, share % 10);
    /* An en dash, three bytes of one column, where no user is known. */
    sink_printf(tb->out, " %8s %7s %*s %6s %6s  ", human(b->tally.ms, stalled),
                grouped(b->tally.stalls, stalls), b->users ? 7 : 9,
                b->users ? grouped(b->users, users) : "\xe2\x80\x93",
                human(tally_percentile(&b->tally, 500).ms, p50),
                human(tally_percentile(&b->tally, 950).ms, p95));
}

/* Directory and file: enough to find it, short enough to read. */
static const char *short_path(const char *path) {
    const char *last = strrchr(path, '/');
    while (last && last > path && last[-1] != '/') {
        last--;
    }
    return last && last > path ? last : path;
}

/* The second line of a bucket: the key frame's file and line, the main action, versions, a dump to
 * look at. */
static void print_detail(struct table *tb, const struct bucket *b) {
    struct strbuf *text = &tb->text;
    const struct bucket_frame *at = NULL;
    strbuf_clear(text);
    for (size_t i = 0; i < b->frame_count; i++) {
        const struct bucket_frame *f = &b->frames[i];
        if (f->file && (!at || (f->in_app && !at->in_app))) {
            at = f;
        }
    }
    if (at) {
        strbuf_addstr(text, "at ");
        add_clean(text, short_path(at->file));
        strbuf_addf(text, ":%" PRIu32, at->line);
    }
    if (b->actions.len) {
        const struct action_share *main = &b->actions.data[0];
        unsigned share = permille(main->ms, b->tally.ms);
        const struct bucket *action = tb->t->actions.buckets.data[main->action];
        strbuf_addstr(text, text->len ? ", from " : "from ");
        add_frame(text, &action->frames[0]);
        if (share < 1000) {
            strbuf_addf(text, " (%u%%)", share / 10);
        }
    }
    const struct facet *versions = &b->tally.facets[FACET_VERSION];
    if (versions->values.len) {
        const struct facet_value *first = versions->values.data;
        strbuf_addstr(text, text->len ? ", in " : "in ");
        add_clean(text, map_string(&tb->t->strings, first->text));
        if (versions->values.len > 1) {
            strbuf_addstr(text, "\xe2\x80\x93");
            add_clean(text, map_string(&tb->t->strings, first[versions->values.len - 1].text));
        }
    }
    if (b->evidence.id && *b->evidence.id) {
        strbuf_addstr(text, text->len ? ", e.g. " : "e.g. ");
        add_clean(text, b->evidence.id);
    }
    if (text->len) {
        style(tb, dim);
        spaces(tb, DETAIL_INDENT);
        print_wrapped(tb, DETAIL_INDENT);
        style(tb, plain);
    }
}

static bool has_frame(const struct bucket *b, const struct bucket_frame *f) {
    for (size_t i = 0; i < b->frame_count; i++) {
        /* Interned: equal texts are one pointer. */
        if (b->frames[i].function == f->function && b->frames[i].image == f->image) {
            return true;
        }
    }
    return false;
}

/* What a level-2 bucket adds to its parent's key; false if nothing. */
static bool add_further_frames(struct strbuf *text, const struct bucket *child,
                               const struct bucket *parent) {
    bool any = false;
    strbuf_addstr(text, "\xe2\x80\xa6");
    for (size_t i = 0; i < child->frame_count; i++) {
        if (!has_frame(parent, &child->frames[i])) {
            strbuf_addstr(text, " \xe2\x86\x90 ");
            add_frame(text, &child->frames[i]);
            any = true;
        }
    }
    return any;
}

/* One line for the level-2 buckets from `first` on. */
static void print_rest(struct table *tb, const struct bucket *b, size_t first) {
    uint64_t ms = 0;
    for (size_t i = first; i < b->children.len; i++) {
        ms += tb->t->level[1].buckets.data[b->children.data[i]]->tally.ms;
    }
    unsigned share = permille(ms, tb->t->total.ms);
    char stalled[NUMBER_SIZE], more[NUMBER_SIZE];
    sink_printf(tb->out, "%3u.%u%% %8s%*s\xe2\x94\x94 %s more, see -F json\n", share / 10,
                share % 10, human(ms, stalled), INDENT - 15, "",
                grouped(b->children.len - first, more));
}

static void print_children(struct table *tb, const struct bucket *b) {
    size_t shown = b->children.len <= CHILDREN_MAX + 1 ? b->children.len : CHILDREN_MAX;
    for (size_t i = 0; i < shown; i++) {
        const struct bucket *child = tb->t->level[1].buckets.data[b->children.data[i]];
        bool last = i + 1 == b->children.len;
        strbuf_clear(&tb->text);
        strbuf_addf(&tb->text, "%s %s  ", last ? "\xe2\x94\x94" : "\xe2\x94\x9c", child->id);
        bool further = add_further_frames(&tb->text, child, b);
        if (b->children.len == 1 && !further) {
            return; /* nothing that the bucket itself does not say */
        }
        if (!further) {
            strbuf_truncate(&tb->text, tb->text.len - 3);
            strbuf_addstr(&tb->text, "no further frames");
        }
        if (b->children.len == 1) {
            spaces(tb, DETAIL_INDENT);
        } else {
            print_numbers(tb, child);
        }
        print_wrapped(tb, b->children.len == 1 ? DETAIL_INDENT : INDENT);
    }
    if (shown < b->children.len) {
        print_rest(tb, b, shown);
    }
}

static void print_bucket(struct table *tb, const struct bucket *b) {
    style(tb, bold);
    print_numbers(tb, b);
    strbuf_clear(&tb->text);
    strbuf_addf(&tb->text, "%s  ", b->id);
    for (size_t i = 0; i < b->frame_count; i++) {
        strbuf_addstr(&tb->text, i ? " \xe2\x86\x90 " : "");
        add_frame(&tb->text, &b->frames[i]);
    }
    print_wrapped(tb, INDENT);
    style(tb, plain);
    print_detail(tb, b);
    print_children(tb, b);
}

void triage_print_table(const struct triage *t, const struct triage_view *v, struct sink *out) {
    struct table tb = {.t = t, .v = v, .out = out};
    const struct bucket_set *set = &t->level[0];
    size_t shown = v->top && v->top < set->buckets.len ? v->top : set->buckets.len;
    print_head(&tb);
    print_apart(&tb);
    if (shown) {
        sink_printf(out, "\n%6s %8s %7s %7s %6s %6s  %s\n", "share", "stalled", "stalls", "users",
                    "p50", "p95", "bucket, innermost frame first");
    }
    uint64_t rest = 0;
    for (size_t i = 0; i < set->buckets.len; i++) {
        const struct bucket *b = set->buckets.data[set->ranked[i]];
        if (i < shown) {
            print_bucket(&tb, b);
        } else {
            rest += b->tally.ms;
        }
    }
    if (shown < set->buckets.len) {
        unsigned share = permille(rest, t->total.ms);
        char number[NUMBER_SIZE];
        sink_printf(out, "%3u.%u%% in %s more, see --top\n", share / 10, share % 10,
                    grouped(set->buckets.len - shown, number));
    }
    if (tb.text.failed) {
        err_nomem(&out->err);
    }
    strbuf_release(&tb.text);
}
