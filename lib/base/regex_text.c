/* Compiles regular expressions to a program of small steps (Thompson 1968), in one pass over their
 * text: an operator moves or copies the steps of its operand, which may be moved because their
 * jumps are relative. A search follows all ways through the steps at once, so that its time is at
 * most the steps times the bytes. */
#include "base/regex_text.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/vec.h"

/* ---- the program ---- */

enum { STEPS_MAX = 2 * REGEX_SIZE_MAX };

enum regex_op {
    REGEX_BYTE, /* takes the byte `value` */
    REGEX_SET,  /* matches a byte that is in set `value` */
    REGEX_ANY,  /* takes any byte */
    REGEX_AT,   /* matches no byte, but a position: enum regex_place in `value` */
    REGEX_SPLIT /* continues at both x and y, which are relative to this step; x == y: a jump */
};
enum regex_place {
    PLACE_START,
    PLACE_END,
    PLACE_EDGE,     /* \b: start or end of a word */
    PLACE_NO_EDGE,  /* \B */
    PLACE_WORD,     /* \<: start of a word */
    PLACE_WORD_END, /* \> */
};
struct regex_step {
    enum regex_op op;
    uint32_t value;
    int32_t x, y;
};
struct regex_set {
    uint32_t bits[256 / 32];
};

/* A set of step numbers in the order of their insertion. A step is in it if at[step] < count and
 * list[at[step]] is the step. */
struct regex_states {
    uint32_t *list, *at;
    uint32_t count;
};

struct regex {
    VEC(struct regex_step) steps; /* a search that gets past the last step has found a match */
    VEC(struct regex_set) sets;
    pthread_mutex_t lock; /* guards all below */
    struct map known;     /* text -> enum st of its search */
    size_t known_bytes;   /* bytes of the texts and entries in `known` */
    struct regex_states now, next;
    uint32_t *open; /* steps whose successors are not listed yet */
};

static bool regex_set_has(const struct regex_set *s, unsigned char byte) {
    return s->bits[byte / 32] >> byte % 32 & 1;
}
/* Is the byte part of a word: a letter, digit or underscore of ASCII? */
static bool regex_is_word(unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

struct regex_parser {
    struct regex *r;
    const char *at;
    unsigned depth;
    struct err *e;
};

static enum st regex_refuse(struct regex_parser *p, const char *why) {
    return err_set(p->e, ERR_USAGE, "no regular expression: %s", why);
}

/* ---- making steps ---- */

/* Makes room for `count` steps at index `at`, which the caller fills. */
static enum st insert_steps(struct regex_parser *p, size_t at, size_t count) {
    struct regex *r = p->r;
    if (count > STEPS_MAX || r->steps.len + count > STEPS_MAX) {
        return regex_refuse(p, "too many repetitions");
    }
    if (!VEC_RESERVE(&r->steps, count)) {
        return err_nomem(p->e);
    }
    struct regex_step *steps = r->steps.data;
    memmove(steps + at + count, steps + at, (r->steps.len - at) * sizeof *steps);
    r->steps.len += count;
    return ST_OK;
}

static enum st insert_split(struct regex_parser *p, size_t at, size_t x, size_t y) {
    if (insert_steps(p, at, 1) != ST_OK) {
        return ST_ERR;
    }
    p->r->steps.data[at] = (struct regex_step){REGEX_SPLIT, 0, (int32_t)((int64_t)x - (int64_t)at),
                                               (int32_t)((int64_t)y - (int64_t)at)};
    return ST_OK;
}

static enum st append_step(struct regex_parser *p, enum regex_op op, uint32_t value) {
    size_t at = p->r->steps.len;
    if (insert_steps(p, at, 1) != ST_OK) {
        return ST_ERR;
    }
    p->r->steps.data[at] = (struct regex_step){op, value, 0, 0};
    return ST_OK;
}

/* Appends a copy of the `len` steps at `from`. */
static enum st copy_steps(struct regex_parser *p, size_t from, size_t len) {
    size_t at = p->r->steps.len;
    if (insert_steps(p, at, len) != ST_OK) {
        return ST_ERR;
    }
    memcpy(p->r->steps.data + at, p->r->steps.data + from, len * sizeof *p->r->steps.data);
    return ST_OK;
}

/* ---- sets of bytes ---- */

static void add_range(struct regex_set *s, unsigned char first, unsigned char last) {
    for (unsigned c = first; c <= last; c++) {
        s->bits[c / 32] |= (uint32_t)1 << c % 32;
    }
}

static bool add_named_class(struct regex_set *s, const char *name, size_t len) {
    static const struct {
        const char *name, *ranges; /* pairs of first and last byte */
    } classes[] = {
        {"alpha", "azAZ"},    {"digit", "09"},       {"alnum", "azAZ09"},
        {"upper", "AZ"},      {"lower", "az"},       {"space", "\t\r  "},
        {"blank", "\t\t  "},  {"punct", "!/:@[`{~"}, {"print", " ~"},
        {"graph", "!~"},      {"xdigit", "09afAF"},  {"cntrl", "\x01\x1f\x7f\x7f"},
        {"word", "azAZ09__"},
    };
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        if (strlen(classes[i].name) == len && memcmp(classes[i].name, name, len) == 0) {
            for (const char *r = classes[i].ranges; *r; r += 2) {
                add_range(s, (unsigned char)r[0], (unsigned char)r[1]);
            }
            return true;
        }
    }
    return false;
}

static enum st append_set(struct regex_parser *p, struct regex_set set, bool negated) {
    for (size_t i = 0; negated && i < sizeof set.bits / sizeof *set.bits; i++) {
        set.bits[i] = ~set.bits[i];
    }
    uint32_t index = (uint32_t)p->r->sets.len;
    return VEC_PUSH(&p->r->sets, set) ? append_step(p, REGEX_SET, index) : err_nomem(p->e);
}

/* Reads "[.x.]" or "[=x=]", or the byte at p->at, as one end of a range. */
static enum st set_byte(struct regex_parser *p, unsigned char *out) {
    if (p->at[0] == '[' && (p->at[1] == '.' || p->at[1] == '=')) {
        if (!p->at[2] || p->at[3] != p->at[1] || p->at[4] != ']') {
            return regex_refuse(p, "an element of a bracket expression is one byte");
        }
        *out = (unsigned char)p->at[2];
        p->at += 5;
        return ST_OK;
    }
    *out = (unsigned char)*p->at++;
    return ST_OK;
}

static enum st parse_range(struct regex_parser *p, struct regex_set *set) {
    unsigned char first, last;
    if (set_byte(p, &first) != ST_OK) {
        return ST_ERR;
    }
    last = first;
    if (p->at[0] == '-' && p->at[1] && p->at[1] != ']') {
        p->at++;
        if (set_byte(p, &last) != ST_OK) {
            return ST_ERR;
        }
    }
    if (last < first) {
        return regex_refuse(p, "a range in brackets ends before it begins");
    }
    add_range(set, first, last);
    return ST_OK;
}

static enum st parse_set(struct regex_parser *p) {
    struct regex_set set = {0};
    p->at++;
    bool negated = *p->at == '^';
    p->at += negated;
    for (bool first = true; first || *p->at != ']'; first = false) {
        const char *end = p->at[0] == '[' && p->at[1] == ':' ? strstr(p->at + 2, ":]") : NULL;
        if (!*p->at) {
            return regex_refuse(p, "a bracket has no end");
        }
        if (end) {
            if (!add_named_class(&set, p->at + 2, (size_t)(end - p->at) - 2)) {
                return regex_refuse(p, "no class of characters has this name");
            }
            p->at = end + 2;
        } else if (parse_range(p, &set) != ST_OK) {
            return ST_ERR;
        }
    }
    p->at++;
    return append_set(p, set, negated);
}

/* ---- grammar ---- */

static enum st parse_choice(struct regex_parser *p);

static enum st parse_escape(struct regex_parser *p) {
    static const char places[] = "`'bB<>"; /* in the order of enum regex_place */
    char c = p->at[1];
    if (!c) {
        return regex_refuse(p, "a backslash ends it");
    }
    p->at += 2;
    const char *place = strchr(places, c);
    if (place) {
        return append_step(p, REGEX_AT, (uint32_t)(place - places));
    }
    if (c == 'w' || c == 'W' || c == 's' || c == 'S') {
        struct regex_set set = {0};
        bool word = c == 'w' || c == 'W';
        (void)add_named_class(&set, word ? "word" : "space", word ? 4 : 5);
        return append_set(p, set, c == 'W' || c == 'S');
    }
    if (c >= '0' && c <= '9') {
        return regex_refuse(p, "there are no back-references");
    }
    if (regex_is_word((unsigned char)c) && c != '_') {
        return regex_refuse(p, "a backslash before this letter means nothing");
    }
    return append_step(p, REGEX_BYTE, (unsigned char)c);
}

static enum st parse_group(struct regex_parser *p) {
    if (++p->depth >= REGEX_DEPTH_MAX) {
        return regex_refuse(p, "too many levels of parentheses");
    }
    p->at++;
    if (parse_choice(p) != ST_OK) {
        return ST_ERR;
    }
    if (*p->at != ')') {
        return regex_refuse(p, "a parenthesis has no end");
    }
    p->at++;
    p->depth--;
    return ST_OK;
}

static enum st parse_atom(struct regex_parser *p) {
    switch (*p->at) {
    case '(':
        return parse_group(p);
    case '[':
        return parse_set(p);
    case '\\':
        return parse_escape(p);
    case '.':
        p->at++;
        return append_step(p, REGEX_ANY, 0);
    case '^':
    case '$':
        return append_step(p, REGEX_AT, *p->at++ == '^' ? PLACE_START : PLACE_END);
    case '*':
    case '+':
    case '?':
    case '{':
        return regex_refuse(p, "nothing stands before a repetition");
    default:
        return append_step(p, REGEX_BYTE, (unsigned char)*p->at++);
    }
}

/* Reads a number of a repetition; a larger one than STEPS_MAX is read as STEPS_MAX + 1. False:
 * there is no number. */
static bool parse_times(struct regex_parser *p, size_t *out) {
    const char *start = p->at;
    for (*out = 0; *p->at >= '0' && *p->at <= '9'; p->at++) {
        *out = *out > STEPS_MAX ? *out : *out * 10 + (size_t)(*p->at - '0');
    }
    *out = *out > STEPS_MAX ? STEPS_MAX + 1 : *out;
    return p->at > start;
}

/* Makes "x{least,most}" of the steps from `start` on; most SIZE_MAX = no upper bound. */
static enum st repeat_steps(struct regex_parser *p, size_t start, size_t least, size_t most) {
    size_t len = p->r->steps.len - start;
    size_t copies = most == SIZE_MAX ? least : most;
    if (len == 0 || most == 0) {
        p->r->steps.len = start;
        return ST_OK;
    }
    if (copies > STEPS_MAX / len) {
        return regex_refuse(p, "too many repetitions");
    }
    if (least == 0 &&
        most == SIZE_MAX) { /* the steps become: a split, x, a jump back to the split */
        return insert_split(p, start, start + 1, start + len + 2) != ST_OK
                   ? ST_ERR
                   : insert_split(p, start + len + 1, start, start);
    }
    for (size_t i = 1; i < least; i++) {
        if (copy_steps(p, start, len) != ST_OK) {
            return ST_ERR;
        }
    }
    if (most == SIZE_MAX) {
        size_t end = p->r->steps.len;
        return insert_split(p, end, end - len, end + 1);
    }
    /* Each optional copy begins with a split whose other target is the step after the last copy;
     * its position is computed before the copies are made. */
    size_t optional = most - least;
    size_t end = start + least * len + optional * (len + 1);
    size_t from = start;
    if (least == 0) { /* the steps from `start` on are the first optional copy */
        if (insert_split(p, start, start + 1, end) != ST_OK) {
            return ST_ERR;
        }
        from = start + 1;
        optional--;
    }
    for (; optional > 0; optional--) {
        size_t at = p->r->steps.len;
        if (insert_split(p, at, at + 1, end) != ST_OK || copy_steps(p, from, len) != ST_OK) {
            return ST_ERR;
        }
    }
    return ST_OK;
}

/* Reads "{N}", "{N,}", "{,M}" or "{N,M}"; a missing N is 0, a missing M SIZE_MAX. */
static enum st parse_bounds(struct regex_parser *p, size_t *least, size_t *most) {
    p->at++;
    bool number = parse_times(p, least);
    *most = *least;
    if (*p->at == ',') {
        p->at++;
        if (!parse_times(p, most)) {
            *most = SIZE_MAX;
        }
    } else if (!number) {
        return regex_refuse(p, "a repetition is {N}, {N,} or {N,M}");
    }
    if (*p->at != '}' || *most < *least) {
        return regex_refuse(p, "a repetition is {N}, {N,} or {N,M}");
    }
    return ST_OK;
}

/* Reads the repetitions after the atom whose steps begin at `start`. */
static enum st parse_repetitions(struct regex_parser *p, size_t start) {
    for (;; p->at++) {
        size_t least = 0, most = SIZE_MAX;
        if (*p->at == '+') {
            least = 1;
        } else if (*p->at == '?') {
            most = 1;
        } else if (*p->at == '{') {
            if (parse_bounds(p, &least, &most) != ST_OK) {
                return ST_ERR;
            }
        } else if (*p->at != '*') {
            return ST_OK;
        }
        if (repeat_steps(p, start, least, most) != ST_OK) {
            return ST_ERR;
        }
    }
}

/* Reads the branches up to the end of the text or of the group. */
static enum st parse_choice(struct regex_parser *p) {
    size_t start = p->r->steps.len;
    uint32_t chain = UINT32_MAX; /* index of the jump that ends the branch before; UINT32_MAX =
                                    there is none */
    for (;;) {
        while (*p->at && *p->at != '|' && (*p->at != ')' || p->depth == 0)) {
            size_t atom = p->r->steps.len;
            if (parse_atom(p) != ST_OK || parse_repetitions(p, atom) != ST_OK) {
                return ST_ERR;
            }
        }
        if (*p->at != '|') {
            break;
        }
        p->at++;
        /* A branch that is followed by another one becomes a split, whose other target is the next
         * branch, then the branch, then a jump to the step after the last branch. That position is
         * not known yet: until it is, the jump's value is the index of the jump before. */
        size_t after = p->r->steps.len + 2;
        if (insert_split(p, start, start + 1, after) != ST_OK ||
            append_step(p, REGEX_SPLIT, chain) != ST_OK) {
            return ST_ERR;
        }
        chain = (uint32_t)p->r->steps.len - 1;
        start = after;
    }
    struct regex_step *steps = p->r->steps.data;
    for (size_t end = p->r->steps.len; chain != UINT32_MAX;) {
        uint32_t before = steps[chain].value;
        steps[chain].x = steps[chain].y = (int32_t)(end - chain);
        steps[chain].value = 0;
        chain = before;
    }
    return ST_OK;
}

enum st regex_compile(struct regex **out, const char *text, struct err *e) {
    struct regex *r = calloc(1, sizeof *r);
    struct regex_parser p = {.r = r, .at = text, .e = e};
    if (!r || pthread_mutex_init(&r->lock, NULL) != 0) {
        free(r);
        return err_nomem(e);
    }
    if (parse_choice(&p) != ST_OK) {
        regex_free(r);
        return ST_ERR;
    }
    size_t count = r->steps.len + 1; /* a search also has a state past the last step */
    r->now.list = calloc(count, sizeof *r->now.list);
    r->now.at = calloc(count, sizeof *r->now.at);
    r->next.list = calloc(count, sizeof *r->next.list);
    r->next.at = calloc(count, sizeof *r->next.at);
    r->open = calloc(count, sizeof *r->open);
    if (!r->now.list || !r->now.at || !r->next.list || !r->next.at || !r->open) {
        regex_free(r);
        return err_nomem(e);
    }
    *out = r;
    return ST_OK;
}

void regex_free(struct regex *r) {
    if (!r) {
        return;
    }
    VEC_RELEASE(&r->steps);
    VEC_RELEASE(&r->sets);
    map_release(&r->known);
    pthread_mutex_destroy(&r->lock);
    free(r->now.list);
    free(r->now.at);
    free(r->next.list);
    free(r->next.at);
    free(r->open);
    free(r);
}

/* ---- the search ---- */

enum { KNOWN_BYTES_MAX = 4 << 20 };

struct regex_place_at {
    const char *text;
    size_t len, at;
};

static bool holds_at(enum regex_place place, const struct regex_place_at *p) {
    bool before = p->at > 0 && regex_is_word((unsigned char)p->text[p->at - 1]);
    bool behind = p->at < p->len && regex_is_word((unsigned char)p->text[p->at]);
    switch (place) {
    case PLACE_START:
        return p->at == 0;
    case PLACE_END:
        return p->at == p->len;
    case PLACE_EDGE:
        return before != behind;
    case PLACE_NO_EDGE:
        return before == behind;
    case PLACE_WORD:
        return !before && behind;
    case PLACE_WORD_END:
        return before && !behind;
    }
    return false;
}

/* Adds a step to the set; false: the set had it already. */
static bool add_state(struct regex_states *s, uint32_t step) {
    uint32_t at = s->at[step];
    if (at < s->count && s->list[at] == step) {
        return false;
    }
    s->at[step] = s->count;
    s->list[s->count++] = step;
    return true;
}

/* Adds a step, and all steps that can be reached from it without a byte. Returns whether the end of
 * the expression is among them. */
static bool add_reachable(struct regex *r, struct regex_states *s, uint32_t step,
                          const struct regex_place_at *place) {
    size_t open = 0;
    uint32_t end = (uint32_t)r->steps.len;
    if (add_state(s, step)) {
        r->open[open++] = step;
    }
    while (open > 0) {
        uint32_t i = r->open[--open];
        if (i == end) {
            return true;
        }
        const struct regex_step *t = &r->steps.data[i];
        uint32_t targets[2];
        size_t count = 0;
        if (t->op == REGEX_SPLIT) {
            targets[count++] = (uint32_t)((int64_t)i + t->x);
            targets[count++] = (uint32_t)((int64_t)i + t->y);
        } else if (t->op == REGEX_AT && holds_at((enum regex_place)t->value, place)) {
            targets[count++] = i + 1;
        }
        while (count > 0) {
            if (add_state(s, targets[--count])) {
                r->open[open++] = targets[count];
            }
        }
    }
    return false;
}

static bool takes_byte(const struct regex *r, const struct regex_step *t, unsigned char byte) {
    return t->op == REGEX_ANY || (t->op == REGEX_BYTE && t->value == byte) ||
           (t->op == REGEX_SET && regex_set_has(&r->sets.data[t->value], byte));
}

static enum st takes_too_long(size_t len, struct err *e) {
    return err_set(e, ERR_LIMIT, "the regular expression takes too long on %zu bytes", len);
}

static enum st run_steps(struct regex *r, const char *text, size_t len, struct err *e) {
    struct regex_place_at place = {text, len, 0};
    size_t work = 0;
    r->now.count = 0;
    for (;; place.at++) {
        if (add_reachable(r, &r->now, 0, &place)) { /* the expression may begin here */
            return ST_OK;
        }
        if (place.at == len) {
            return ST_NONE;
        }
        work += r->now.count;
        if (work > REGEX_STEPS_MAX) {
            return takes_too_long(len, e);
        }
        struct regex_place_at behind = {text, len, place.at + 1};
        r->next.count = 0;
        for (uint32_t i = 0; i < r->now.count; i++) {
            uint32_t step = r->now.list[i];
            if (step < r->steps.len &&
                takes_byte(r, &r->steps.data[step], (unsigned char)text[place.at]) &&
                add_reachable(r, &r->next, step + 1, &behind)) {
                return ST_OK;
            }
        }
        struct regex_states done = r->now;
        r->now = r->next;
        r->next = done;
    }
}

/* Searches, unless r->known has the answer of this text; the answer ERR_LIMIT is kept, too. */
static enum st search_once(struct regex *r, const char *text, size_t len, struct err *e) {
    const struct map_entry *known = map_get(&r->known, text, len);
    if (known && known->value != ST_ERR) {
        return (enum st)known->value;
    }
    if (known) {
        return takes_too_long(len, e);
    }
    enum st st = run_steps(r, text, len, e);
    if (r->known_bytes + len > KNOWN_BYTES_MAX) {
        map_release(&r->known);
        r->known_bytes = 0;
    }
    r->known_bytes += len + sizeof(struct map_entry);
    return map_put(&r->known, text, len, st, NULL) ? st : err_nomem(e);
}

enum st regex_search(struct regex *r, const char *text, size_t len, struct err *e) {
    pthread_mutex_lock(&r->lock);
    enum st st = search_once(r, text, len < REGEX_TEXT_MAX ? len : REGEX_TEXT_MAX, e);
    pthread_mutex_unlock(&r->lock);
    return st;
}
