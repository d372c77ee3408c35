/* Reads and prints the learned names of an image. */
#include "symbolize/learned_text.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/checked.h"
#include "base/parse.h"
#include "base/vec.h"

static const char kind_of_file[] = "stall-learned/", version[] = "1\t";

void learned_text_print(const struct image_id *id, const struct learned_list *functions,
                        struct strbuf *out) {
    char id_text[IMAGE_ID_TEXT];
    strbuf_addf(out, "%s%s%s\n", kind_of_file, version, image_id_text(id, id_text));
    for (size_t i = 0; i < functions->len; i++) {
        const struct learned_function *f = &functions->data[i];
        char kind = f->conflict ? 'c' : 's';
        strbuf_addc(out, f->name ? 'f' : kind);
        strbuf_addc(out, ' ');
        strbuf_addhex(out, f->start);
        if (f->name) {
            strbuf_addc(out, ' ');
            strbuf_addhex(out, f->end - f->start);
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
    if ((!named && !f->conflict && line[0] != 's') ||
        !learned_text_number(&at, end, named ? ' ' : 0, &f->start)) {
        return false;
    }
    if (named && (!learned_text_number(&at, end, ' ', &length) || length > LEARNED_OFFSET_MAX + 1 ||
                  !(f->name = learned_text_name(r, at, (size_t)(end - at), e)))) {
        return false;
    }
    const struct learned_fact *last = r->facts.len > 0 ? &r->facts.data[r->facts.len - 1] : NULL;
    if (!checked_add_u64(f->start, length, &f->end) || (last && last->function.start >= f->start)) {
        return false;
    }
    if (!VEC_PUSH(&r->facts, fact)) {
        err_nomem(e);
        return false;
    }
    return true;
}

/* Checks the first line: the kind of file, its version, and the id of the image. */
static enum st learned_text_title(const struct image_id *id, const char *line, size_t len,
                                  struct err *e) {
    const size_t kind_len = sizeof kind_of_file - 1, version_len = sizeof version - 1;
    char own[IMAGE_ID_TEXT];
    if (len < kind_len || memcmp(line, kind_of_file, kind_len) != 0) {
        return err_set(e, ERR_FORMAT, "not a file of learned names");
    }
    line += kind_len;
    len -= kind_len;
    if (len < version_len || memcmp(line, version, version_len) != 0) {
        return err_set(e, ERR_UNSUPPORTED, "learned names of another version");
    }
    line += version_len;
    len -= version_len;
    if (!parse_is(line, len, image_id_text(id, own))) {
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
            if (learned_text_title(r->id, text, (size_t)(stop - text), e) != ST_OK) {
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
