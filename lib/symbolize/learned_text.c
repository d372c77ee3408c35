/* Reads and prints the learned names of an image. */
#include "symbolize/learned_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/checked.h"
#include "base/parse.h"
#include "base/vec.h"

static const char kind_of_file[] = "stall-learned/";

static void learned_print_told(const struct learned_function *f, struct strbuf *out) {
    strbuf_addf(out, " %08" PRIx32, f->told_by[0]);
    if (f->told_by[1]) {
        strbuf_addf(out, ",%08" PRIx32, f->told_by[1]);
    }
}

void learned_text_print(const struct image_id *id, const struct learned_list *functions,
                        struct strbuf *out) {
    char id_text[IMAGE_ID_TEXT];
    strbuf_addf(out, "%s2\t%s\n", kind_of_file, image_id_text(id, id_text));
    for (size_t i = 0; i < functions->len; i++) {
        const struct learned_function *f = &functions->data[i];
        char kind = f->conflict ? 'c' : 's';
        strbuf_addc(out, f->name ? 'f' : kind);
        strbuf_addc(out, ' ');
        strbuf_addhex(out, f->start);
        if (f->name) {
            strbuf_addc(out, ' ');
            strbuf_addhex(out, f->end - f->start);
        }
        if (!f->conflict) {
            learned_print_told(f, out);
        }
        if (f->name) {
            strbuf_addc(out, ' ');
            strbuf_addstr(out, f->name);
        }
        strbuf_addc(out, '\n');
    }
}

/* ---- reading ---- */

struct learned_reading {
    const struct image_id *id;
    VEC(struct learned_fact) facts;
    struct arena arena; /* holds the names of facts */
    bool told;          /* do lines have TOLD (version 2)? */
};

/* Takes hexadecimal digits and the space after them off the line; `end`: the space, or 0 if the
 * line must end after the digits. False: the text is something else. */
static bool learned_text_number(const char **at, const char *line_end, char end, uint64_t *out) {
    const char *stop = *at;
    while (stop < line_end && *stop != ' ') {
        stop++;
    }
    bool ended = end ? stop < line_end : stop == line_end;
    if (!ended || !parse_hex(*at, (size_t)(stop - *at), out)) {
        return false;
    }
    *at = stop + (end != 0);
    return true;
}

/* Returns the rest of a line as a name, in the arena; NULL: the rest is no name (*e is empty), or
 * out of memory. */
static const char *learned_text_name(struct learned_reading *r, const char *at, size_t len,
                                     struct err *e) {
    if (len == 0 || len > LEARNED_NAME_MAX || memchr(at, '\0', len)) {
        return NULL;
    }
    const char *name = arena_strdup(&r->arena, at, len);
    if (!name) {
        err_nomem(e);
        return NULL;
    }
    return learned_is_name(name) ? name : NULL;
}

/* Takes TOLD, and the space after it if `end` is one, off the line; if `end` is 0, the line must
 * end after TOLD. False: the text is something else. */
static bool learned_text_told(const char **at, const char *line_end, char end, uint32_t told[2]) {
    enum { DIGITS = 8 };
    for (size_t i = 0; i < 2; i++) {
        uint64_t number;
        if (line_end - *at < DIGITS || !parse_hex(*at, DIGITS, &number) || number == 0 ||
            (i > 0 && number <= told[0])) {
            return false;
        }
        told[i] = (uint32_t)number;
        *at += DIGITS;
        if (*at == line_end || **at != ',') {
            break;
        }
        *at += 1;
    }
    if (end == 0 || *at == line_end || **at != end) {
        return end == 0 && *at == line_end;
    }
    *at += 1;
    return true;
}

/* May the line of f follow the line that was read before it (the order is in learned_text.h)? */
static bool learned_text_ascends(const struct learned_reading *r,
                                 const struct learned_function *f) {
    if (r->facts.len == 0) {
        return true;
    }
    const struct learned_function *last = &r->facts.data[r->facts.len - 1].function;
    if (last->start != f->start) {
        return last->start < f->start;
    }
    return r->told && !last->conflict && f->name &&
           (!last->name || strcmp(last->name, f->name) < 0);
}

/* Reads the line of a function. False: the line is damaged, or out of memory (*e is then set). */
static bool learned_text_function(struct learned_reading *r, const char *line, const char *end,
                                  struct err *e) {
    struct learned_fact fact = {.id = r->id};
    struct learned_function *f = &fact.function;
    uint64_t length = 0;
    if (end - line < 3 || line[1] != ' ') {
        return false;
    }
    const char *at = line + 2;
    bool named = line[0] == 'f';
    f->conflict = line[0] == 'c';
    bool told = r->told && !f->conflict;
    if ((!named && !f->conflict && line[0] != 's') ||
        !learned_text_number(&at, end, named || told ? ' ' : 0, &f->start)) {
        return false;
    }
    if (named &&
        (!learned_text_number(&at, end, ' ', &length) || length > LEARNED_OFFSET_MAX + 1)) {
        return false;
    }
    if ((told && !learned_text_told(&at, end, named ? ' ' : 0, f->told_by)) ||
        (named && !(f->name = learned_text_name(r, at, (size_t)(end - at), e)))) {
        return false;
    }
    if (!checked_add_u64(f->start, length, &f->end) || !learned_text_ascends(r, f)) {
        return false;
    }
    if (!VEC_PUSH(&r->facts, fact)) {
        err_nomem(e);
        return false;
    }
    return true;
}

/* Checks the kind of file, the version and the image's id in the first line, and sets r->told by
 * the version. ST_ERR: one of them is another. */
static enum st learned_text_title(struct learned_reading *r, const char *line, size_t len,
                                  struct err *e) {
    enum { VERSION_LEN = 2 };
    const size_t kind_len = sizeof kind_of_file - 1;
    char own[IMAGE_ID_TEXT];
    if (len < kind_len || memcmp(line, kind_of_file, kind_len) != 0) {
        return err_set(e, ERR_FORMAT, "not a file of learned names");
    }
    line += kind_len;
    len -= kind_len;
    r->told = len >= VERSION_LEN && memcmp(line, "2\t", VERSION_LEN) == 0;
    if (!r->told && (len < VERSION_LEN || memcmp(line, "1\t", VERSION_LEN) != 0)) {
        return err_set(e, ERR_UNSUPPORTED, "learned names of another version");
    }
    line += VERSION_LEN;
    len -= VERSION_LEN;
    if (!parse_is(line, len, image_id_text(r->id, own))) {
        return err_set(e, ERR_FORMAT, "learned names of another image");
    }
    return ST_OK;
}

static enum st learned_text_lines(struct learned_reading *r, const char *text, size_t len,
                                  struct err *e) {
    const char *end = text + len;
    for (size_t number = 1; text < end; number++) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        if (!stop) {
            return err_set(e, ERR_FORMAT, "learned names end within line %zu", number);
        }
        if (number == 1) {
            if (learned_text_title(r, text, (size_t)(stop - text), e) != ST_OK) {
                return ST_ERR;
            }
        } else if (!learned_text_function(r, text, stop, e)) {
            return err_set(e, ERR_FORMAT, "learned names are damaged in line %zu", number);
        }
        text = stop + 1;
    }
    return ST_OK;
}

enum st learned_text_read(struct learned_names *n, const struct image_id *id, const char *text,
                          size_t len, struct err *e) {
    struct learned_reading r = {.id = id};
    enum st st = len > 0 ? learned_text_lines(&r, text, len, e)
                         : err_set(e, ERR_FORMAT, "not a file of learned names");
    if (st == ST_OK) {
        st = learned_names_add(n, r.facts.data, r.facts.len, e);
    }
    VEC_RELEASE(&r.facts);
    arena_release(&r.arena);
    return st;
}
