/* Finds values of lines that may hold a report, and decodes them. */
#include "dump/input/line_value.h"

#include <string.h>

#include "base/parse.h"
#include "base/utf8.h"
#include "dump/json/token_private.h"
#include "dump/reports/report_span_private.h"

/* ---- tags of HTML ---- */

/* The elements whose text may be a report. */
static const char *const holders[] = {"pre", "code", "textarea", "td", "div", "p"};

/* The other elements whose tags may stand within such a text. Other words in angle brackets, such
 * as "<redacted>" and UUIDs, are part of the text. */
static const char *const inner[] = {"br", "wbr", "span", "font", "strong", "em"};

enum { HOLDERS = sizeof holders / sizeof *holders, INNER = sizeof inner / sizeof *inner };

/* A tag of HTML: its length, its element, and whether it is an end tag. */
struct tag {
    size_t len;
    const char *name;
    bool end;
};

/* Parses the tag of the element `name` at the start of the text, which begins with '<'. False: it
 * is another one, or does not end within the text. */
static bool is_tag_of(struct span text, const char *name, struct tag *out) {
    const char *p = text.p + 1;
    const size_t len = strlen(name);
    out->end = p < text.end && *p == '/';
    p += out->end;
    if ((size_t)(text.end - p) <= len || memcmp(p, name, len) != 0 || !strchr("> /", p[len])) {
        return false;
    }
    const char *close = memchr(p, '>', (size_t)(text.end - p));
    out->name = name;
    out->len = close ? (size_t)(close + 1 - text.p) : 0;
    return close != NULL;
}

/* Parses the tag at the start of the text, which begins with '<'. False: it is no tag of `holders`
 * or `inner`, or does not end within TAG_MAX bytes. */
static bool take_tag(struct span text, struct tag *out) {
    enum { TAG_MAX = 512 };
    if (line_len(text) > TAG_MAX) {
        text.end = text.p + TAG_MAX;
    }
    for (size_t i = 0; i < HOLDERS + INNER; i++) {
        if (is_tag_of(text, i < HOLDERS ? holders[i] : inner[i - HOLDERS], out)) {
            return true;
        }
    }
    return false;
}

/* Does the line begin with a mark of quoting, of a list or of numbered lines? Then the lines behind
 * the tag may have such a mark, too, and text_mend.h has to remove these marks. */
static bool begins_with_mark(struct span line) {
    const struct span bare = line_trim(line);
    return bare.p < bare.end && strchr(">-*0123456789", *bare.p);
}

static enum line_value_end read_tagged(size_t tag, struct span *text, bool whole,
                                       struct strbuf *out) {
    enum { TAG_ROOM = 512 /* bytes in which a tag has to end */ };
    struct tag t;
    while (text->p < text->end) {
        const char *open = memchr(text->p, '<', line_len(*text));
        const char *stop = open ? open : text->end;
        strbuf_add(out, text->p, (size_t)(stop - text->p));
        text->p = stop;
        if (!open || (text->end - open < TAG_ROOM && !whole)) {
            return LINE_VALUE_OPEN;
        }
        if (!take_tag(*text, &t)) {
            strbuf_addc(out, *text->p++);
            continue;
        }
        text->p += t.len;
        if (t.end && t.name == holders[tag]) {
            return LINE_VALUE_WHOLE;
        }
        /* a line feed behind <br> is there for readers of the page's source */
        if (strcmp(t.name, "br") == 0 && !(text->p < text->end && *text->p == '\n')) {
            strbuf_addc(out, '\n');
        }
    }
    return LINE_VALUE_OPEN;
}

/* ---- quoted-printable ---- */

/* Does the line begin as the one of a mail's head that says that the text is quoted-printable,
 * whether in capital or small letters? */
static bool says_printable(struct span line) {
    static const char words[] = "content-transfer-encoding: quoted-printable";
    const size_t len = sizeof words - 1;
    bool equal = line_len(line) >= len;
    for (size_t i = 0; i < len && equal; i++) {
        const char c = line.p[i];
        equal = (c >= 'A' && c <= 'Z' ? c | ' ' : c) == words[i];
    }
    return equal;
}

/* Is the line one that separates the parts of a mail: "--" in front, at least LENGTH_MIN bytes, a
 * letter or digit among them, and no blank? */
static bool is_boundary(struct span line) {
    enum { LENGTH_MIN = 12 };
    bool word = false;
    line = line_trim(line);
    if (line_len(line) < LENGTH_MIN || !line_has_head(line, "--")) {
        return false;
    }
    for (const char *p = line.p; p < line.end; p++) {
        if (*p <= ' ') {
            return false;
        }
        word = word || token_is_digit(*p) || ((*p | ' ') >= 'a' && (*p | ' ') <= 'z');
    }
    return word;
}

/* Appends a line of quoted-printable without its end. Returns whether the line goes on in the next
 * one, as '=' at its end says. */
static bool add_printable(struct span line, struct strbuf *out) {
    while (line.p < line.end && line_is_blank_at(line.end - 1)) {
        line.end--;
    }
    const bool soft = line.p < line.end && line.end[-1] == '=';
    line.end -= soft;
    while (line.p < line.end) {
        uint64_t c;
        if (*line.p == '=' && line_len(line) > 2 && parse_hex(line.p + 1, 2, &c)) {
            strbuf_addc(out, (char)c);
            line.p += 3;
        } else {
            strbuf_addc(out, *line.p++);
        }
    }
    return soft;
}

static enum line_value_end read_mailed(struct span *text, bool whole, struct strbuf *out) {
    struct span rest = *text, line;
    bool ended = false;
    while (line_take(&rest, &line, &ended) && (ended || whole)) {
        if (is_boundary(line)) {
            return LINE_VALUE_WHOLE;
        }
        if (!add_printable(line, out) && ended) {
            strbuf_addc(out, '\n');
        }
        text->p = rest.p;
    }
    return LINE_VALUE_OPEN;
}

/* ---- quotes ---- */

static bool ends_cell(char c) {
    return c == ',' || c == ';' || c == '\t';
}

/* Reads a cell behind its quote. A quote in it is doubled, and behind its last one another cell or
 * the end of the line follows. */
static enum line_value_end read_cell(struct span *text, bool whole, struct strbuf *out) {
    while (text->p < text->end) {
        const char *quote = memchr(text->p, '"', line_len(*text));
        const char *stop = quote ? quote : text->end;
        strbuf_add(out, text->p, (size_t)(stop - text->p));
        text->p = stop;
        if (!quote || (quote + 1 == text->end && !whole)) {
            return LINE_VALUE_OPEN;
        }
        text->p++;
        if (text->p == text->end || ends_cell(*text->p) || *text->p == '\n') {
            return LINE_VALUE_WHOLE;
        }
        if (*text->p != '"') {
            return LINE_VALUE_NONE;
        }
        strbuf_addc(out, *text->p++);
    }
    return LINE_VALUE_OPEN;
}

static enum line_value_end read_string(struct span *text, struct strbuf *out) {
    struct token t = {0};
    while (text->p < text->end && *text->p != '"') {
        uint32_t c;
        bool raw;
        char bytes[4];
        const char *next = token_character(text->p, text->end, &c, &raw, &t);
        if (!next && t.wrong == text->end) {
            text->p = text->end; /* an escape that is cut */
            return LINE_VALUE_OPEN;
        }
        if (!next) {
            return LINE_VALUE_NONE;
        }
        if (raw) {
            strbuf_add(out, text->p, (size_t)(next - text->p));
        } else {
            strbuf_add(out, bytes, utf8_encode(c, bytes));
        }
        text->p = next;
    }
    if (text->p == text->end) {
        return LINE_VALUE_OPEN;
    }
    text->p++;
    return LINE_VALUE_WHOLE;
}

/* ---- all values ---- */

static enum line_value_end read_object(struct span *text, struct strbuf *out) {
    const struct span object = span_value(text);
    const bool whole = span_is_container(object);
    strbuf_add(out, object.p, line_len(object));
    return whole ? LINE_VALUE_WHOLE : text->p == text->end ? LINE_VALUE_OPEN : LINE_VALUE_NONE;
}

/* Finds the value that is opened by the character at p of the line; false: none is. */
static bool opens(struct span line, const char *p, struct line_value *out) {
    const char before = p > line.p ? p[-1] : '\n';
    const char *const behind = p + 1;
    if (p == line.p && says_printable(line)) {
        *out = (struct line_value){LINE_MAILED, line.end, 0};
        return true;
    }
    if (*p == '"' && (before == '\n' || ends_cell(before))) {
        *out = (struct line_value){LINE_CELL, behind, 0};
        return true;
    }
    if (*p == '"' && strchr("=: (>[", before)) {
        *out = (struct line_value){LINE_STRING, behind, 0};
        return true;
    }
    if (*p == '{' && before != '\n' && behind < line.end && *behind == '"') {
        *out = (struct line_value){LINE_OBJECT, p, 0};
        return true;
    }
    struct tag t = {0};
    for (size_t i = 0; i < HOLDERS && *p == '<' && !begins_with_mark(line); i++) {
        if (is_tag_of((struct span){p, line.end}, holders[i], &t) && !t.end) {
            *out = (struct line_value){LINE_TAGGED, p + t.len, i};
            return true;
        }
    }
    return false;
}

bool line_value_find(struct span line, const char *from, struct line_value *out) {
    for (const char *p = from; p < line.end; p++) {
        if ((*p == '"' || *p == '{' || *p == '<' || p == line.p) && opens(line, p, out)) {
            return true;
        }
    }
    return false;
}

enum line_value_end line_value_read(const struct line_value *v, struct span *text, bool whole,
                                    struct strbuf *out) {
    switch (v->kind) {
    case LINE_CELL:
        return read_cell(text, whole, out);
    case LINE_STRING:
        return read_string(text, out);
    case LINE_OBJECT:
        return read_object(text, out);
    case LINE_MAILED:
        return read_mailed(text, whole, out);
    default:
        return read_tagged(v->tag, text, whole, out);
    }
}
