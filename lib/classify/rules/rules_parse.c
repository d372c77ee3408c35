/* Parses the rule language, stall-rules(5): a line is an action, function patterns, then
 * clauses.
 *
 *     skip       poll ppoll "-[NSLock lock]"     in libc.so system   cause lock 90%
 *     normalise  __GI___*                        as *
 *     cause      lock Mutex::lock                because "waits for the cache" */
#include <string.h>

#include "base/parse.h"
#include "base/utf8.h"
#include "classify/rules/rules_private.h"

enum {
    RULE_TEXT_MAX = 4 * 1024 * 1024,
    RULE_LINE_MAX = 16 * 1024,
    RULE_WORD_MAX = 512,
    LANGUAGE_VERSION = 1
};

struct word {
    const char *text; /* without the quotes */
    size_t len;
    bool quoted;
};

struct rule_line {
    struct rules *rules;
    const char *file; /* name of the file, in the set's arena */
    uint32_t number;
    enum rule_os os; /* system that the last line with nothing but `on OS` has set */
    VEC(struct word) words;
    struct err *e;
};

static const struct action {
    const char *name;
    struct rule rule; /* members that the action sets */
} actions[] = {
    {"skip", {.kind = RULE_PLACE, .place = PLACE_SKIP}},
    {"cut", {.kind = RULE_PLACE, .place = PLACE_CUT}},
    {"prefix", {.kind = RULE_PLACE, .place = PLACE_PREFIX}},
    {"keep", {.kind = RULE_PLACE, .place = PLACE_KEEP}},
    {"in-app", {.kind = RULE_SIDE, .side = SIDE_APP}},
    {"not-in-app", {.kind = RULE_SIDE, .side = SIDE_SYSTEM}},
    {"vendor", {.kind = RULE_SIDE, .side = SIDE_VENDOR}},
    {"normalise", {.kind = RULE_NORMALISE}},
    {"cause", {.kind = RULE_CAUSE}},
    {"framework", {.kind = RULE_FRAMEWORK}},
    {"runtime", {.kind = RULE_FRAMEWORK, .framework = ""}},
    {"callout", {.kind = RULE_CALLOUT}},
    {"hide", {.kind = RULE_HIDE}},
    {"exclusive", {.kind = RULE_EXCLUSIVE}},
    {"holder", {.kind = RULE_HOLDER}},
    {"memory", {.kind = RULE_MEMORY}},
    {"wait", {.kind = RULE_WAIT}},
    {"kernel", {.kind = RULE_KERNEL}},
    {"user", {.kind = RULE_USER}},
    {"modal",
     {.kind = RULE_PLACE,
      .place = PLACE_CUT,
      .modal = true,
      .cause = CAUSE_IDLE,
      .confidence = CONFIDENCE_DEFAULT}},
};

static bool rule_is_word(const struct word *w, const char *text) {
    return !w->quoted && parse_is(w->text, w->len, text);
}

static enum st rule_fail(struct rule_line *l, const char *what, const struct word *w) {
    if (w) {
        return err_set(l->e, ERR_FORMAT, "%s:%u: %s '%.*s'", l->file, (unsigned)l->number, what,
                       (int)(w->len < 80 ? w->len : 80), w->text);
    }
    return err_set(l->e, ERR_FORMAT, "%s:%u: %s", l->file, (unsigned)l->number, what);
}

/* Splits a line into words. "…" is one word, in which a backslash keeps the next byte from ending
 * it; a # at the start of a word begins a comment. ST_ERR: a quote has no end, or out of memory. */
static enum st split(struct rule_line *l, const char *s, size_t len) {
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
                return rule_fail(l, "a quote is not closed", NULL);
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
            return rule_fail(l, "an empty pattern", NULL);
        }
        if (w.len > RULE_WORD_MAX) {
            return rule_fail(l, "a pattern of more than 512 bytes", NULL);
        }
        if (!VEC_PUSH(&l->words, w)) {
            return err_nomem(l->e);
        }
    }
    return ST_OK;
}

static enum st find_action(struct rule_line *l, struct rule *rule) {
    const struct word *w = &l->words.data[0];
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++) {
        if (rule_is_word(w, actions[i].name)) {
            *rule = actions[i].rule;
            return ST_OK;
        }
    }
    return err_set(l->e, ERR_FORMAT,
                   "%s:%u: unknown action '%.*s' (skip, cut, prefix, keep, in-app, not-in-app, "
                   "vendor, normalise, cause, framework, runtime, callout, modal, hide, exclusive, "
                   "holder, memory, wait, kernel or user)",
                   l->file, (unsigned)l->number, (int)(w->len < 80 ? w->len : 80), w->text);
}

static enum st find_cause(struct rule_line *l, const struct word *w, enum rule_cause *out) {
    if (!w->quoted && rule_cause_parse(w->text, w->len, out) && *out != CAUSE_NONE &&
        *out < CAUSE_OF_RULES_END) {
        return ST_OK;
    }
    struct strbuf what = {0};
    strbuf_addf(&what, "unknown cause (%s", rule_cause_text(CAUSE_NONE + 1));
    for (int c = CAUSE_NONE + 2; c < CAUSE_OF_RULES_END; c++) {
        strbuf_addstr(&what, c + 1 < CAUSE_OF_RULES_END ? ", " : " or ");
        strbuf_addstr(&what, rule_cause_text((enum rule_cause)c));
    }
    strbuf_addc(&what, ')');
    enum st st = strbuf_check(&what, l->e);
    if (st == ST_OK) {
        st = rule_fail(l, strbuf_cstr(&what), w);
    }
    strbuf_release(&what);
    return st;
}

static enum st find_os(struct rule_line *l, const struct word *words, size_t count,
                       enum rule_os *out) {
    static const char *const texts[] = {"any", "darwin", "linux"};
    for (int os = OS_ANY; count == 1 && os <= OS_LINUX; os++) {
        if (rule_is_word(&words[0], texts[os])) {
            *out = (enum rule_os)os;
            return ST_OK;
        }
    }
    return rule_fail(l, "'on' needs darwin, linux or any", NULL);
}

/* Reads `CAUSE [PERCENT%]` at the start of the words into the rule, and sets *used to the number
 * of words read. */
static enum st read_cause_words(struct rule_line *l, const struct word *words, size_t count,
                                struct rule *rule, size_t *used) {
    if (count == 0) {
        return rule_fail(l, "'cause' needs a cause", NULL);
    }
    enum st st = find_cause(l, &words[0], &rule->cause);
    rule->confidence = CONFIDENCE_DEFAULT;
    *used = 1;
    if (st == ST_OK && count > 1 && !words[1].quoted && words[1].len > 1 &&
        words[1].text[words[1].len - 1] == '%') {
        uint64_t percent;
        if (!parse_u64(words[1].text, words[1].len - 1, 100, &percent) || percent == 0) {
            return rule_fail(l, "a confidence is 1% to 100%, not", &words[1]);
        }
        rule->confidence = (unsigned)percent * 10;
        *used = 2;
    }
    return st;
}

/* ---- clauses ---- */

static bool rule_add_image(struct rule_line *l, struct rule *rule, enum rule_image_by by,
                           const char *text, size_t len) {
    struct rule_image *image = &rule->images[rule->image_count];
    image->by = by;
    rule->image_count++;
    rule->by_place = rule->by_place || by != IMAGE_BY_NAME;
    return pattern_compile(&image->pattern, text, len, &l->rules->arena);
}

/* Adds the image of a word `id:ID`, a UUID or build-id in any spelling; 32 digits without dashes
 * may be either. */
static enum st add_id(struct rule_line *l, struct rule *rule, const struct word *w) {
    struct image_id id;
    char text[IMAGE_ID_TEXT];
    size_t before = rule->image_count;
    if (parse_uuid(w->text + 3, w->len - 3, &id)) {
        image_id_text(&id, text);
        if (!rule_add_image(l, rule, IMAGE_BY_ID, text, strlen(text))) {
            return err_nomem(l->e);
        }
    }
    if (parse_build_id(w->text + 3, w->len - 3, &id)) {
        image_id_text(&id, text);
        if (!rule_add_image(l, rule, IMAGE_BY_ID, text, strlen(text))) {
            return err_nomem(l->e);
        }
    }
    return rule->image_count > before ? ST_OK : rule_fail(l, "no UUID and no build-id:", w);
}

/* Reads the words after `in`: globs of names or paths, ids, or `app`, `vendor`, `system`. */
static enum st rule_read_images(struct rule_line *l, const struct word *words, size_t count,
                                struct rule *rule) {
    static const char *const sides[] = {"system", "vendor", "app"};
    if (count == 0) {
        return rule_fail(l, "'in' needs an image", NULL);
    }
    rule->images = arena_array(&l->rules->arena, 2 * count, sizeof *rule->images);
    if (!rule->images) {
        return err_nomem(l->e);
    }
    for (size_t i = 0; i < count; i++) {
        const struct word *w = &words[i];
        int side = 0;
        while (side <= SIDE_APP && !rule_is_word(w, sides[side])) {
            side++;
        }
        if (side <= SIDE_APP) {
            rule->sides |= 1U << side;
        } else if (w->len > 3 && memcmp(w->text, "id:", 3) == 0) {
            enum st st = add_id(l, rule, w);
            if (st != ST_OK) {
                return st;
            }
        } else if (!rule_add_image(l, rule,
                                   memchr(w->text, '/', w->len) ? IMAGE_BY_PATH : IMAGE_BY_NAME,
                                   w->text, w->len)) {
            return err_nomem(l->e);
        }
    }
    if (rule->by_place && (rule->kind != RULE_SIDE || rule->sides)) {
        return rule_fail(l, "paths and ids are for in-app, not-in-app and vendor, and stand alone",
                         NULL);
    }
    return ST_OK;
}

static enum st read_os(struct rule_line *l, const struct word *words, size_t count,
                       struct rule *rule) {
    return find_os(l, words, count, &rule->os);
}

/* Compiles the words into *patterns and sets *used to their number. */
static enum st read_patterns(struct rule_line *l, const struct word *words, size_t count,
                             struct pattern **patterns, size_t *used) {
    struct arena *a = &l->rules->arena;
    *patterns = arena_array(a, count, sizeof **patterns);
    for (*used = 0; *patterns && *used < count; ++*used) {
        if (!pattern_compile(&(*patterns)[*used], words[*used].text, words[*used].len, a)) {
            break;
        }
    }
    return *used == count ? ST_OK : err_nomem(l->e);
}

static enum st read_callers(struct rule_line *l, const struct word *words, size_t count,
                            struct rule *rule) {
    if (rule->kind != RULE_PLACE && rule->kind != RULE_CAUSE) {
        return rule_fail(l, "only skip, cut, prefix, keep and cause take 'from'", NULL);
    }
    if (count == 0) {
        return rule_fail(l, "'from' needs a function", NULL);
    }
    return read_patterns(l, words, count, &rule->callers, &rule->caller_count);
}

static enum st read_frameworks(struct rule_line *l, const struct word *words, size_t count,
                               struct rule *rule) {
    if (rule->kind != RULE_CAUSE) {
        return rule_fail(l, "only cause takes 'under'", NULL);
    }
    if (count == 0) {
        return rule_fail(l, "'under' needs a framework", NULL);
    }
    return read_patterns(l, words, count, &rule->frameworks, &rule->framework_count);
}

static enum st read_replacement(struct rule_line *l, const struct word *words, size_t count,
                                struct rule *rule) {
    if (rule->kind != RULE_NORMALISE) {
        return rule_fail(l, "only 'normalise' takes 'as'", NULL);
    }
    if (count != 1) {
        return rule_fail(l, "'as' needs one name", NULL);
    }
    rule->replacement = arena_strdup(&l->rules->arena, words[0].text, words[0].len);
    return rule->replacement ? ST_OK : err_nomem(l->e);
}

/* Reads the clause `cause disk 90%` of a skip, cut, prefix or keep rule. The clause makes a second
 * rule for the same frames. */
static enum st rule_read_cause(struct rule_line *l, const struct word *words, size_t count,
                               struct rule *rule) {
    size_t used = 0;
    if (rule->kind != RULE_PLACE) {
        return rule_fail(l, "only skip, cut, prefix and keep take 'cause'", NULL);
    }
    enum st st = read_cause_words(l, words, count, rule, &used);
    return st == ST_OK && used < count
               ? rule_fail(l, "'cause' takes one cause and a confidence, not", &words[used])
               : st;
}

static enum st read_reason(struct rule_line *l, const struct word *words, size_t count,
                           struct rule *rule) {
    if (count != 1) {
        return rule_fail(l, "'because' needs one text in quotes", NULL);
    }
    rule->reason = arena_strdup(&l->rules->arena, words[0].text, words[0].len);
    return rule->reason ? ST_OK : err_nomem(l->e);
}

/* The clauses that may follow the patterns: name, message if it occurs twice, reader. */
static const struct clause {
    const char *name, *twice;
    enum st (*read)(struct rule_line *l, const struct word *words, size_t count, struct rule *rule);
} clauses[] = {
    {"in", "'in' twice", rule_read_images},      {"on", "'on' twice", read_os},
    {"from", "'from' twice", read_callers},      {"as", "'as' twice", read_replacement},
    {"cause", "'cause' twice", rule_read_cause}, {"because", "'because' twice", read_reason},
    {"under", "'under' twice", read_frameworks},
};
enum { CLAUSES = sizeof clauses / sizeof *clauses };

/* Returns the index of the clause that the word begins; CLAUSES if none. */
static size_t clause_of(const struct word *w) {
    size_t c = 0;
    while (c < CLAUSES && !rule_is_word(w, clauses[c].name)) {
        c++;
    }
    return c;
}

/* Checks that the clauses are compatible with each other, and sets the cause's own reason if
 * none is given. */
static enum st check_clauses(struct rule_line *l, struct rule *rule) {
    if (rule->kind == RULE_NORMALISE && !rule->replacement) {
        return rule_fail(l, "'normalise' needs 'as NAME'", NULL);
    }
    if (rule->reason && rule->cause == CAUSE_NONE) {
        return rule_fail(l, "'because' needs a cause", NULL);
    }
    if (!rule->reason) {
        rule->reason = rule_cause_reason(rule->cause);
    }
    return ST_OK;
}

/* Reads the clauses of a line, and sets *patterns_end to the index of the first word that is no
 * pattern. */
static enum st read_clauses(struct rule_line *l, size_t first, size_t *patterns_end,
                            struct rule *rule) {
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
            return rule_fail(l, clauses[c].twice, NULL);
        }
        seen[c] = true;
        enum st st = clauses[c].read(l, words + start, i - start, rule);
        if (st != ST_OK) {
            return st;
        }
    }
    return check_clauses(l, rule);
}

/* ---- rules ---- */

static void add_canonical_pattern(struct strbuf *b, const struct pattern *p) {
    strbuf_addu64(b, p->len);
    strbuf_addc(b, ':');
    for (size_t i = 0; i < p->len; i++) {
        strbuf_addc(b, p->text[i]);
        strbuf_addc(b, (char)('0' + p->wild[i]));
    }
}

static void add_canonical_images(struct strbuf *b, const struct rule *r) {
    for (size_t i = 0; i < r->image_count; i++) {
        strbuf_addf(b, " %d ", (int)r->images[i].by);
        add_canonical_pattern(b, &r->images[i].pattern);
    }
    for (size_t i = 0; i < r->caller_count; i++) {
        strbuf_addstr(b, " from ");
        add_canonical_pattern(b, &r->callers[i]);
    }
    for (size_t i = 0; i < r->framework_count; i++) {
        strbuf_addstr(b, " under ");
        add_canonical_pattern(b, &r->frameworks[i]);
    }
}

/* Appends a rule's canonical line, for rules_hash. The line has only the conditions and the
 * decision of the rule. */
static void add_canonical(struct strbuf *b, const struct rule *r) {
    strbuf_addf(b, "%d %d %d %d %u %u %d %d ", (int)r->kind, (int)r->place, (int)r->side,
                (int)r->cause, r->confidence, r->sides, (int)r->os, r->unresolved);
    add_canonical_pattern(b, &r->function);
    add_canonical_images(b, r);
    strbuf_addf(b, " as %s of %s in %s%s\n", r->replacement ? r->replacement : "",
                r->vendor ? r->vendor : "", r->framework ? r->framework : "-",
                r->modal ? " modal" : "");
}

static enum st add_rule(struct rule_line *l, const struct rule *rule) {
    add_canonical(&l->rules->canonical, rule);
    return rules_append(l->rules, rule) ? ST_OK : err_nomem(l->e);
}

/* Adds the rule of one pattern; if the line gives both a place and a cause, adds two rules. */
static enum st rule_add_pattern(struct rule_line *l, const struct word *w,
                                const struct rule *rule) {
    struct rule one = *rule;
    one.unresolved = rule_is_word(w, "unresolved");
    if (!pattern_compile(&one.function, w->text, w->len, &l->rules->arena)) {
        return err_nomem(l->e);
    }
    if (one.replacement && (one.unresolved || one.function.stars > 1)) {
        return rule_fail(l, "'normalise' takes named functions, with one * at most, not", w);
    }
    if (one.by_place && (one.unresolved || !pattern_is_star(&one.function))) {
        return rule_fail(l, "paths and ids are for whole images: the pattern is *, not", w);
    }
    if (rule->kind == RULE_PLACE && rule->cause != CAUSE_NONE) {
        struct rule cause = one;
        cause.kind = RULE_CAUSE;
        cause.place = PLACE_KEEP;
        one.cause = CAUSE_NONE;
        one.confidence = 0;
        one.reason = "";
        enum st st = add_rule(l, &cause);
        if (st != ST_OK) {
            return st;
        }
    }
    return add_rule(l, &one);
}

static enum st add_rules(struct rule_line *l, size_t first, size_t end, const struct rule *rule) {
    enum st st = first < end ? ST_OK : rule_fail(l, "no pattern", NULL);
    for (size_t i = first; i < end && st == ST_OK; i++) {
        st = rule_add_pattern(l, &l->words.data[i], rule);
    }
    return st;
}

/* Reads the words that some actions have before their patterns, and moves *first past these
 * words. */
static enum st rule_read_operand(struct rule_line *l, struct rule *rule, size_t *first) {
    const struct word *words = l->words.data;
    if (rule->kind == RULE_CAUSE) {
        size_t used = 0;
        enum st st = read_cause_words(l, words + 1, l->words.len - 1, rule, &used);
        *first += used;
        return st;
    }
    if (rule->kind == RULE_SIDE && rule->side == SIDE_VENDOR) {
        if (l->words.len < 2) {
            return rule_fail(l, "'vendor' needs a name", NULL);
        }
        rule->vendor = arena_strdup(&l->rules->arena, words[1].text, words[1].len);
        ++*first;
        return rule->vendor ? ST_OK : err_nomem(l->e);
    }
    if (rule->kind == RULE_HOLDER || (rule->kind == RULE_FRAMEWORK && !rule->framework)) {
        if (l->words.len < 2) {
            return rule_fail(l,
                             rule->kind == RULE_HOLDER ? "'holder' needs a framework"
                                                       : "'framework' needs a name",
                             NULL);
        }
        rule->framework = arena_strdup(&l->rules->arena, words[1].text, words[1].len);
        ++*first;
        return rule->framework ? ST_OK : err_nomem(l->e);
    }
    return ST_OK;
}

/* Reads a line `version N` or `on OS`. ST_NONE: the line is neither. */
static enum st read_directive(struct rule_line *l) {
    const struct word *words = l->words.data;
    if (rule_is_word(&words[0], "on")) {
        return find_os(l, words + 1, l->words.len - 1, &l->os);
    }
    if (rule_is_word(&words[0], "version")) {
        uint64_t version;
        if (l->words.len != 2 || !parse_u64(words[1].text, words[1].len, UINT32_MAX, &version)) {
            return rule_fail(l, "'version' needs a number", NULL);
        }
        return version == LANGUAGE_VERSION
                   ? ST_OK
                   : rule_fail(l, "rules of another version than 1:", &words[1]);
    }
    return ST_NONE;
}

static enum st rule_read_line(struct rule_line *l, const char *s, size_t len) {
    if (len > RULE_LINE_MAX) {
        return rule_fail(l, "a line of more than 16 KiB", NULL);
    }
    if (!utf8_valid(s, len) || memchr(s, 0, len)) {
        return rule_fail(l, "not UTF-8 text", NULL);
    }
    enum st st = split(l, s, len);
    if (st != ST_OK || l->words.len == 0 || (st = read_directive(l)) != ST_NONE) {
        return st;
    }
    struct rule rule = {0};
    size_t first = 1, end = 0;
    if ((st = find_action(l, &rule)) != ST_OK ||
        (st = rule_read_operand(l, &rule, &first)) != ST_OK) {
        return st;
    }
    rule.file = l->file;
    rule.line = l->number;
    rule.os = l->os;
    st = read_clauses(l, first, &end, &rule);
    return st == ST_OK ? add_rules(l, first, end, &rule) : st;
}

enum st rules_read(struct rules *r, const char *file, const char *text, size_t len,
                   rules_on_bad on_bad, void *ctx, struct err *e) {
    struct err why = {0};
    struct rule_line l = {.rules = r, .e = &why};
    enum st st = ST_OK;
    l.file = arena_strdup(&r->arena, file, strlen(file));
    if (!l.file) {
        return err_nomem(e);
    }
    if (len > RULE_TEXT_MAX) {
        return err_set(e, ERR_LIMIT, "%s: more than 4 MiB of rules", file);
    }
    for (size_t at = utf8_mark(text, len); at < len && st == ST_OK;) {
        const char *newline = memchr(text + at, '\n', len - at);
        size_t end = newline ? (size_t)(newline - text) : len;
        l.number++;
        st = rule_read_line(&l, text + at, end - at);
        if (st == ST_ERR && on_bad && why.code == ERR_FORMAT) {
            on_bad(ctx, l.number, &why);
            err_clear(&why);
            st = ST_OK;
        }
        at = end + 1;
    }
    VEC_RELEASE(&l.words);
    if (st == ST_ERR) {
        return err_copy(e, &why);
    }
    return strbuf_check(&r->canonical, e);
}

enum st rules_add(struct rules *r, const char *file, const char *text, size_t len, struct err *e) {
    return rules_read(r, file, text, len, NULL, NULL, e);
}
