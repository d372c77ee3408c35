/* The rule language, stall-rules(5): one action a line, then function patterns, then clauses.
 *
 *     skip       poll ppoll "-[NSLock lock]"     in libc.so system   cause lock
 *     normalise  __GI___*                        as *
 *     cause      lock Mutex::lock
 */
#include <string.h>

#include "base/utf8.h"
#include "base/vec.h"
#include "classify/rules.h"
#include "classify/rules_private.h"

enum { RULE_TEXT_MAX = 4 * 1024 * 1024, RULE_LINE_MAX = 16 * 1024, RULE_WORD_MAX = 512 };

struct word {
    const char *text; /* without the quotes */
    size_t len;
    bool quoted;
};

struct line {
    struct rules *rules;
    const char *file; /* in the set's arena */
    uint32_t number;
    VEC(struct word) words;
    struct err *e;
};

static const struct action {
    const char *name;
    struct rule rule; /* what the action sets */
} actions[] = {
    {"skip", {.kind = RULE_PLACE, .place = PLACE_SKIP}},
    {"cut", {.kind = RULE_PLACE, .place = PLACE_CUT}},
    {"prefix", {.kind = RULE_PLACE, .place = PLACE_PREFIX}},
    {"keep", {.kind = RULE_PLACE, .place = PLACE_KEEP}},
    {"in-app", {.kind = RULE_IN_APP, .in_app = true}},
    {"not-in-app", {.kind = RULE_IN_APP, .in_app = false}},
    {"normalise", {.kind = RULE_NORMALISE}},
    {"cause", {.kind = RULE_CAUSE}},
};

static bool is_word(const struct word *w, const char *text) {
    return !w->quoted && strlen(text) == w->len && memcmp(w->text, text, w->len) == 0;
}

static enum st fail(struct line *l, const char *what, const struct word *w) {
    if (w) {
        return err_set(l->e, ERR_FORMAT, "%s:%u: %s '%.*s'", l->file, (unsigned)l->number, what,
                       (int)(w->len < 80 ? w->len : 80), w->text);
    }
    return err_set(l->e, ERR_FORMAT, "%s:%u: %s", l->file, (unsigned)l->number, what);
}

/* Splits a line into words. "…" is one word in which only \" is special; # starts a comment at a
 * word's start. */
static enum st split(struct line *l, const char *s, size_t len) {
    l->words.len = 0;
    for (size_t i = 0; i < len;) {
        if (s[i] == ' ' || s[i] == '\t' || s[i] == '\r') {
            i++;
            continue;
        }
        if (s[i] == '#') {
            break;
        }
        struct word w = {.quoted = s[i] == '"'};
        size_t start = i += w.quoted;
        if (w.quoted) {
            while (i < len && s[i] != '"') {
                i += s[i] == '\\' && i + 1 < len ? 2 : 1;
            }
            if (i >= len) {
                return fail(l, "a quote is not closed", NULL);
            }
        } else {
            while (i < len && s[i] != ' ' && s[i] != '\t' && s[i] != '\r') {
                i++;
            }
        }
        w.text = s + start;
        w.len = i - start;
        i += w.quoted;
        if (w.len == 0) {
            return fail(l, "an empty pattern", NULL);
        }
        if (w.len > RULE_WORD_MAX) {
            return fail(l, "a pattern of more than 512 bytes", NULL);
        }
        if (!VEC_PUSH(&l->words, w)) {
            return err_nomem(l->e);
        }
    }
    return ST_OK;
}

static enum st find_action(struct line *l, struct rule *rule) {
    const struct word *w = &l->words.data[0];
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++) {
        if (is_word(w, actions[i].name)) {
            *rule = actions[i].rule;
            return ST_OK;
        }
    }
    return err_set(
        l->e, ERR_FORMAT,
        "%s:%u: unknown action '%.*s' (skip, cut, prefix, keep, in-app, not-in-app, normalise or "
        "cause)",
        l->file, (unsigned)l->number, (int)(w->len < 80 ? w->len : 80), w->text);
}

static enum st find_cause(struct line *l, const struct word *w, enum rule_cause *out) {
    for (int c = CAUSE_LOCK; c < CAUSE_COUNT; c++) {
        if (is_word(w, rule_cause_text((enum rule_cause)c))) {
            *out = (enum rule_cause)c;
            return ST_OK;
        }
    }
    return fail(l, "unknown cause (lock, disk, network, io, ipc, render, sleep, launch or idle)",
                w);
}

/* The words behind `in`: image globs, or `app` or `system`. */
static enum st read_images(struct line *l, const struct word *words, size_t count,
                           struct rule *rule) {
    if (count == 0) {
        return fail(l, "'in' needs an image", NULL);
    }
    rule->images = arena_array(rules_arena(l->rules), count, sizeof *rule->images);
    if (!rule->images) {
        return err_nomem(l->e);
    }
    for (size_t i = 0; i < count; i++) {
        if (is_word(&words[i], "app")) {
            rule->only_app = true;
        } else if (is_word(&words[i], "system")) {
            rule->only_system = true;
        } else if (!pattern_compile(&rule->images[rule->image_count++], words[i].text, words[i].len,
                                    rules_arena(l->rules))) {
            return err_nomem(l->e);
        }
    }
    if (rule->only_app && rule->only_system) {
        return fail(l, "'app' and 'system' exclude each other", NULL);
    }
    return ST_OK;
}

static enum st read_replacement(struct line *l, const struct word *words, size_t count,
                                struct rule *rule) {
    if (rule->kind != RULE_NORMALISE) {
        return fail(l, "only 'normalise' takes 'as'", NULL);
    }
    if (count != 1) {
        return fail(l, "'as' needs one name", NULL);
    }
    rule->replacement = arena_strdup(rules_arena(l->rules), words[0].text, words[0].len);
    return rule->replacement ? ST_OK : err_nomem(l->e);
}

/* `cause disk` behind the patterns of a skip, cut, prefix or keep: a second rule for the same
 * frames. */
static enum st read_cause(struct line *l, const struct word *words, size_t count,
                          struct rule *rule) {
    if (rule->kind != RULE_PLACE) {
        return fail(l, "only skip, cut, prefix and keep take 'cause'", NULL);
    }
    if (count != 1) {
        return fail(l, "'cause' needs one cause", NULL);
    }
    return find_cause(l, &words[0], &rule->cause);
}

/* The clauses that may follow the patterns. */
static const struct clause {
    const char *name, *twice;
    enum st (*read)(struct line *l, const struct word *words, size_t count, struct rule *rule);
} clauses[] = {
    {"in", "'in' twice", read_images},
    {"as", "'as' twice", read_replacement},
    {"cause", "'cause' twice", read_cause},
};
enum { CLAUSES = sizeof clauses / sizeof *clauses };

/* Index of the clause that the word begins, CLAUSES if none. */
static size_t clause_of(const struct word *w) {
    size_t c = 0;
    while (c < CLAUSES && !is_word(w, clauses[c].name)) {
        c++;
    }
    return c;
}

/* Reads the clauses; *patterns_end = index of the first word that is no pattern. */
static enum st read_clauses(struct line *l, size_t first, size_t *patterns_end, struct rule *rule) {
    const struct word *words = l->words.data;
    size_t count = l->words.len, i = first;
    bool seen[CLAUSES] = {false};
    while (i < count && clause_of(&words[i]) == CLAUSES) {
        i++;
    }
    *patterns_end = i;
    while (i < count) {
        size_t c = clause_of(&words[i]), start = ++i;
        while (i < count && clause_of(&words[i]) == CLAUSES) {
            i++;
        }
        if (seen[c]) {
            return fail(l, clauses[c].twice, NULL);
        }
        seen[c] = true;
        enum st st = clauses[c].read(l, words + start, i - start, rule);
        if (st != ST_OK) {
            return st;
        }
    }
    return rule->kind == RULE_NORMALISE && !rule->replacement
               ? fail(l, "'normalise' needs 'as NAME'", NULL)
               : ST_OK;
}

static void add_canonical_pattern(struct strbuf *b, const struct pattern *p) {
    strbuf_addu64(b, p->len);
    strbuf_addc(b, ':');
    for (size_t i = 0; i < p->len; i++) {
        strbuf_addc(b, p->text[i]);
        strbuf_addc(b, (char)('0' + p->wild[i]));
    }
}

/* One line per rule, of what it decides and nothing else. */
static void add_canonical(struct strbuf *b, const struct rule *r) {
    strbuf_addf(b, "%d %d %d %d %d %d %d ", (int)r->kind, (int)r->place, r->in_app, (int)r->cause,
                r->only_app, r->only_system, r->unresolved);
    add_canonical_pattern(b, &r->function);
    for (size_t i = 0; i < r->image_count; i++) {
        strbuf_addc(b, ' ');
        add_canonical_pattern(b, &r->images[i]);
    }
    strbuf_addf(b, " as %s\n", r->replacement ? r->replacement : "");
}

static enum st add_rule(struct line *l, const struct rule *rule) {
    add_canonical(rules_canonical(l->rules), rule);
    return rules_append(l->rules, rule) ? ST_OK : err_nomem(l->e);
}

/* One rule per pattern of the line, two where a cause is given with a place. */
static enum st add_rules(struct line *l, size_t first, size_t end, const struct rule *rule) {
    enum st st = ST_OK;
    if (first == end) {
        return fail(l, "no pattern", NULL);
    }
    for (size_t i = first; i < end && st == ST_OK; i++) {
        const struct word *w = &l->words.data[i];
        struct rule one = *rule, cause = *rule;
        one.unresolved = is_word(w, "unresolved");
        if (!pattern_compile(&one.function, w->text, w->len, rules_arena(l->rules))) {
            return err_nomem(l->e);
        }
        if (one.replacement && (one.unresolved || one.function.stars > 1)) {
            return fail(l, "'normalise' takes named functions, with one * at most, not", w);
        }
        if (rule->kind == RULE_PLACE && rule->cause != CAUSE_NONE) {
            one.cause = CAUSE_NONE;
            cause.kind = RULE_CAUSE;
            cause.place = PLACE_KEEP;
            cause.function = one.function;
            cause.unresolved = one.unresolved;
            st = add_rule(l, &cause);
        }
        st = st == ST_OK ? add_rule(l, &one) : st;
    }
    return st;
}

static enum st read_line(struct line *l, const char *s, size_t len) {
    if (len > RULE_LINE_MAX) {
        return fail(l, "a line of more than 16 KiB", NULL);
    }
    if (!utf8_valid(s, len) || memchr(s, 0, len)) {
        return fail(l, "not UTF-8 text", NULL);
    }
    enum st st = split(l, s, len);
    if (st != ST_OK || l->words.len == 0) {
        return st;
    }
    struct rule rule = {0};
    size_t first = 1, end = 0;
    if ((st = find_action(l, &rule)) != ST_OK) {
        return st;
    }
    if (rule.kind == RULE_CAUSE) {
        if (l->words.len < 2) {
            return fail(l, "'cause' needs a cause", NULL);
        }
        if ((st = find_cause(l, &l->words.data[first++], &rule.cause)) != ST_OK) {
            return st;
        }
    }
    rule.file = l->file;
    rule.line = l->number;
    st = read_clauses(l, first, &end, &rule);
    return st == ST_OK ? add_rules(l, first, end, &rule) : st;
}

enum st rules_add(struct rules *r, const char *file, const char *text, size_t len, struct err *e) {
    struct line l = {.rules = r, .e = e};
    enum st st = ST_OK;
    l.file = arena_strdup(rules_arena(r), file, strlen(file));
    if (!l.file) {
        return err_nomem(e);
    }
    if (len > RULE_TEXT_MAX) {
        return err_set(e, ERR_LIMIT, "%s: more than 4 MiB of rules", file);
    }
    for (size_t at = 0; at < len && st == ST_OK;) {
        const char *newline = memchr(text + at, '\n', len - at);
        size_t end = newline ? (size_t)(newline - text) : len;
        l.number++;
        st = read_line(&l, text + at, end - at);
        at = end + 1;
    }
    VEC_RELEASE(&l.words);
    return st == ST_OK ? strbuf_check(rules_canonical(r), e) : st;
}
