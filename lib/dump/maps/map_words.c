/* Splits the lines of a map into words, and parses the clauses that several statements share. */
#include "dump/maps/map_words.h"

#include <string.h>

#include "base/parse.h"

/* ---- faults ---- */

/* Reports a fault of the line; the map is then not used. Returns ST_NONE. */
enum st map_fault(struct map_parse *p, const char *what, const struct map_word *w) {
    struct err text = {0};
    if (w) {
        err_set(&text, ERR_FORMAT, "%s '%.*s'", what, (int)(w->len < 80 ? w->len : 80), w->text);
    } else {
        err_set(&text, ERR_FORMAT, "%s", what);
    }
    if (p->on_fault) {
        p->on_fault(p->ctx, p->file, p->line, text.text);
    }
    if (!p->faulty) {
        err_set(p->e, ERR_FORMAT, "%s:%u: %s", p->file, (unsigned)p->line, text.text);
    }
    p->faulty = true;
    return ST_NONE;
}

/* Reports a fault in a path; ST_NONE, or ST_ERR if memory ran out. */
static enum st map_path_fault(struct map_parse *p, const struct err *why,
                              const struct map_word *w) {
    return why->code == ERR_NOMEM ? err_nomem(p->e) : map_fault(p, why->text, w);
}

/* ---- words ---- */

static bool is_blank_char(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}

/* Returns the end of the word that begins at s[i]. Text in brackets or quotes belongs to the word,
 * and so does the rest of a line on which they are not closed. */
static size_t word_end(const char *s, size_t len, size_t i) {
    char until = 0;
    for (; i < len; i++) {
        char c = s[i];
        if (until) {
            until = c == until ? 0 : until;
        } else if (c == '[') {
            until = ']';
        } else if (c == '"') {
            until = '"';
        } else if (is_blank_char(c) || strchr("=|+,#", c)) {
            break;
        }
    }
    return i;
}

/* Splits a line into words; outside quotes and brackets, =, |, + and the comma are words by
 * themselves, and # ends the line. */
enum st map_split_line(struct map_parse *p, const char *s, size_t len) {
    p->words.len = p->at = 0;
    for (size_t i = 0; i < len && s[i] != '#';) {
        struct map_word w = {.text = s + i};
        if (is_blank_char(s[i])) {
            i++;
            continue;
        }
        if (s[i] == '"') {
            const char *close = memchr(s + i + 1, '"', len - i - 1);
            if (!close) {
                return map_fault(p, "a quote is not closed", NULL);
            }
            w = (struct map_word){s + i + 1, (size_t)(close - s) - i - 1, true};
            i += w.len + 2;
        } else if (strchr("=|+,", s[i])) {
            w.len = 1;
            i++;
        } else {
            w.len = word_end(s, len, i) - i;
            i += w.len;
        }
        if (!VEC_PUSH(&p->words, w)) {
            return err_nomem(p->e);
        }
    }
    return ST_OK;
}

const struct map_word *map_next_word(struct map_parse *p) {
    return p->at < p->words.len ? &p->words.data[p->at++] : NULL;
}

/* Returns the next word without taking it; NULL at the end of the line. */
const struct map_word *map_peek_word(const struct map_parse *p) {
    return p->at < p->words.len ? &p->words.data[p->at] : NULL;
}

bool map_word_is(const struct map_word *w, const char *text) {
    return w && !w->quoted && parse_is(w->text, w->len, text);
}

bool map_take_word(struct map_parse *p, const char *text) {
    bool is = map_word_is(map_peek_word(p), text);
    p->at += is;
    return is;
}

static bool map_word_is_mark(const struct map_word *w) {
    return !w->quoted && w->len == 1 && strchr("=|+,", *w->text);
}

const char *map_copy_word(struct map_parse *p, const struct map_word *w) {
    return arena_strdup(&p->maps->arena, w->text, w->len);
}

/* Takes a word that is a value, not a mark such as =; *out is a copy. */
enum st map_take_value(struct map_parse *p, const char *what, const char **out) {
    const struct map_word *w = map_next_word(p);
    if (!w || map_word_is_mark(w)) {
        return map_fault(p, what, w);
    }
    *out = map_copy_word(p, w);
    return *out ? ST_OK : err_nomem(p->e);
}

enum st map_take_path(struct map_parse *p, struct member_path *out) {
    struct err why = {0};
    const struct map_word *w = map_next_word(p);
    if (!w || w->quoted || map_word_is_mark(w)) {
        return map_fault(p, "a path is missing", w);
    }
    return member_path_parse(out, w->text, w->len, &p->maps->arena, &why) == ST_OK
               ? ST_OK
               : map_path_fault(p, &why, w);
}

enum st map_take_one_path(struct map_parse *p, struct map_paths *paths) {
    struct member_path path;
    enum st st = map_take_path(p, &path);
    if (st == ST_OK && !VEC_PUSH(paths, path)) {
        st = err_nomem(p->e);
    }
    return st;
}

/* Takes PATH [| PATH]... */
enum st map_take_paths(struct map_parse *p, struct map_paths *paths) {
    enum st st;
    do {
        st = map_take_one_path(p, paths);
    } while (st == ST_OK && map_take_word(p, "|"));
    return st;
}

/* Takes the values after "is", at least one, up to a mark or the end of the line. */
enum st map_take_texts(struct map_parse *p, struct map_texts *list) {
    enum st st;
    do {
        const char *text = NULL;
        st = map_take_value(p, "'is' needs a value", &text);
        if (st == ST_OK && !VEC_PUSH(list, text)) {
            st = err_nomem(p->e);
        }
    } while (st == ST_OK && map_peek_word(p) && !map_word_is_mark(map_peek_word(p)));
    return st;
}

enum st map_end_line(struct map_parse *p) {
    const struct map_word *w = map_next_word(p);
    return w ? map_fault(p, "not expected here:", w) : ST_OK;
}
