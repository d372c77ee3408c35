/* Compiles and matches globs of the rule language. */
#include "classify/rules/pattern.h"

#include <string.h>

enum pattern_wild { WILD_NONE = 0, WILD_ONE, WILD_RUN };

bool pattern_compile(struct pattern *p, const char *glob, size_t len, struct arena *a) {
    char *text = arena_alloc(a, len + 1);
    uint8_t *wild = arena_alloc(a, len + 1);
    if (!text || !wild) {
        return false;
    }
    *p = (struct pattern){.text = text, .wild = wild, .exact = true};
    for (size_t i = 0; i < len; i++) {
        uint8_t kind = glob[i] == '*' ? WILD_RUN : WILD_NONE;
        kind = glob[i] == '?' ? WILD_ONE : kind;
        if (glob[i] == '\\' && i + 1 < len) {
            i++;
        }
        if (kind == WILD_RUN && p->len && wild[p->len - 1] == WILD_RUN) {
            continue;
        }
        text[p->len] = glob[i];
        wild[p->len++] = kind;
        p->exact = p->exact && kind == WILD_NONE;
        p->stars += kind == WILD_RUN;
    }
    while (p->prefix < p->len && wild[p->prefix] == WILD_NONE) {
        p->prefix++;
    }
    while (p->suffix < p->len - p->prefix && wild[p->len - 1 - p->suffix] == WILD_NONE) {
        p->suffix++;
    }
    return true;
}

bool pattern_match(const struct pattern *p, const char *name, size_t len) {
    if (len < p->prefix + p->suffix || memcmp(name, p->text, p->prefix) != 0 ||
        memcmp(name + len - p->suffix, p->text + p->len - p->suffix, p->suffix) != 0) {
        return false;
    }
    if (p->exact) {
        return len == p->len;
    }
    /* Matches the part between the literal ends. On a mismatch, the last star is made to match one
     * byte more. */
    size_t end = len - p->suffix, last = p->len - p->suffix;
    size_t n = p->prefix, i = p->prefix, star = SIZE_MAX, star_n = 0;
    while (n < end) {
        if (i < last && p->wild[i] == WILD_RUN) {
            star = i++;
            star_n = n;
        } else if (i < last && (p->wild[i] == WILD_ONE || p->text[i] == name[n])) {
            i++;
            n++;
        } else if (star != SIZE_MAX) {
            i = star + 1;
            n = ++star_n;
        } else {
            return false;
        }
    }
    while (i < last && p->wild[i] == WILD_RUN) {
        i++;
    }
    return i == last;
}

/* Matches a against b's text as if it was a name. A star of b can be matched only by a star of a,
 * and a ? of b only by a star or a ? of a. */
bool pattern_covers(const struct pattern *a, const struct pattern *b) {
    size_t n = 0, i = 0, star = SIZE_MAX, star_n = 0;
    while (n < b->len) {
        bool same = i < a->len && a->wild[i] == WILD_NONE && b->wild[n] == WILD_NONE &&
                    a->text[i] == b->text[n];
        if (i < a->len && a->wild[i] == WILD_RUN) {
            star = i++;
            star_n = n;
        } else if (same || (i < a->len && a->wild[i] == WILD_ONE && b->wild[n] != WILD_RUN)) {
            i++;
            n++;
        } else if (star != SIZE_MAX) {
            i = star + 1;
            n = ++star_n;
        } else {
            return false;
        }
    }
    while (i < a->len && a->wild[i] == WILD_RUN) {
        i++;
    }
    return i == a->len;
}

void pattern_captured(const struct pattern *p, const char *name, size_t len, const char **out,
                      size_t *out_len) {
    *out = name;
    *out_len = len;
    if (p->stars == 1) {
        const uint8_t *star = memchr(p->wild, WILD_RUN, p->len);
        size_t before = (size_t)(star - p->wild), after = p->len - before - 1;
        *out = name + before;
        *out_len = len - before - after;
    }
}

void pattern_text(const struct pattern *p, struct strbuf *out) {
    for (size_t i = 0; i < p->len; i++) {
        if (p->wild[i] == WILD_NONE && memchr("*?\\", p->text[i], 3)) {
            strbuf_addc(out, '\\');
        }
        strbuf_addc(out, p->text[i]);
    }
}
