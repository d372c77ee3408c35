/* Escapes text for each kind of output. */
#include "base/escape.h"

#include <string.h>

#include "base/utf8.h"

#define REPLACEMENT "\xef\xbf\xbd"
#define ELLIPSIS    "\xe2\x80\xa6"

/* ---- what may be shown ---- */

size_t text_next_shown(const char *text, size_t len, uint32_t *c) {
    size_t n = utf8_decode(text, len, c);
    if (n == 0 || !utf8_is_printable(*c)) {
        *c = 0xfffd;
    }
    return n ? n : 1;
}

static bool is_plain_ascii(char c) {
    return c >= ' ' && c <= '~';
}

static void add_shown(struct strbuf *out, const char *text, size_t len, const char *hidden) {
    uint32_t c;
    size_t plain = 0;
    while (plain < len && is_plain_ascii(text[plain])) {
        plain++;
    }
    strbuf_add(out, text, plain);
    for (size_t i = plain, n; i < len; i += n) {
        n = text_next_shown(text + i, len - i, &c);
        if (c == 0xfffd) {
            strbuf_addstr(out, hidden);
        } else {
            strbuf_add(out, text + i, n);
        }
    }
}

void text_add_shown(struct strbuf *out, const char *text, size_t len) {
    add_shown(out, text, len, "?");
}

void text_add_replaced(struct strbuf *out, const char *text, size_t len) {
    add_shown(out, text, len, REPLACEMENT);
}

/* ---- XML ---- */

static void add_char(struct strbuf *out, uint32_t c, const char *bytes, size_t n) {
    switch (c) {
    case '<':
        strbuf_addstr(out, "&lt;");
        break;
    case '>':
        strbuf_addstr(out, "&gt;");
        break;
    case '&':
        strbuf_addstr(out, "&amp;");
        break;
    case '"':
        strbuf_addstr(out, "&quot;");
        break;
    case '\'':
        strbuf_addstr(out, "&#39;");
        break;
    case 0xfffd:
        strbuf_addstr(out, REPLACEMENT);
        break;
    default:
        strbuf_add(out, bytes, n);
    }
}

/* Returns how many bytes at the start of text are printable ASCII that needs no escape in XML. */
static size_t xml_plain_length(const char *text, size_t len) {
    size_t n = 0;
    while (n < len && is_plain_ascii(text[n]) && text[n] != '<' && text[n] != '>' &&
           text[n] != '&' && text[n] != '"' && text[n] != '\'') {
        n++;
    }
    return n;
}

void xml_text_add(struct strbuf *out, const char *text, size_t len) {
    uint32_t c;
    for (size_t i = 0, n; i < len; i += n) {
        size_t plain = xml_plain_length(text + i, len - i);
        strbuf_add(out, text + i, plain);
        i += plain;
        n = 0;
        if (i < len) {
            n = text_next_shown(text + i, len - i, &c);
            add_char(out, c, text + i, n);
        }
    }
}

/* Returns the cells that a character counts. A combining mark counts one, too: a name of marks
 * only must be cut somewhere. */
static size_t cells_of(uint32_t c) {
    return utf8_columns(c) == 2 ? 2 : 1;
}

size_t xml_text_cells(const char *text, size_t len) {
    uint32_t c;
    size_t cells = 0;
    for (size_t i = 0; i < len; cells += cells_of(c)) {
        i += text_next_shown(text + i, len - i, &c);
    }
    return cells;
}

size_t xml_text_next(const char *text, size_t len, size_t *cells) {
    uint32_t c;
    size_t n = text_next_shown(text, len, &c);
    *cells -= cells_of(c);
    return n;
}

void xml_text_add_short(struct strbuf *out, const char *text, size_t len, size_t cells,
                        size_t least) {
    uint32_t c;
    size_t used = 0, keep = 0, keep_cells = 0, i = 0;
    if (len <= cells) { /* no character has more cells than bytes */
        i = len;
    }
    for (size_t n; i < len; i += n) {
        n = text_next_shown(text + i, len - i, &c);
        used += cells_of(c);
        if (used > cells) {
            break;
        }
        if (used < cells) { /* the text up to here leaves a cell for the ellipsis */
            keep = i + n;
            keep_cells = used;
        }
    }
    if (i >= len) {
        xml_text_add(out, text, len);
    } else if (keep_cells >= least && keep > 0) {
        xml_text_add(out, text, keep);
        strbuf_addstr(out, ELLIPSIS);
    }
}

/* ---- CSV ---- */

/* Would a spreadsheet take the text for a formula? Some pass over blanks in front, and those of
 * East Asia take the wide forms of the characters, too. */
static bool begins_formula(const char *s, size_t len) {
    uint32_t c;
    for (size_t i = 0; i < len;) {
        i += text_next_shown(s + i, len - i, &c);
        bool blank = c == ' ' || c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) ||
                     c == 0x202f || c == 0x205f || c == 0x3000;
        if (!blank) {
            return c == '=' || c == '+' || c == '-' || c == '@' || c == 0xff1d || c == 0xff0b ||
                   c == 0xff0d || c == 0xff20;
        }
    }
    return false;
}

void csv_put_field(struct sink *out, const char *s, bool plain) {
    uint32_t c;
    size_t len = strlen(s);
    bool quoted = strpbrk(s, ",\"") != NULL;
    sink_str(out, quoted ? "\"" : "");
    sink_str(out, !plain && begins_formula(s, len) ? "'" : "");
    for (size_t i = 0, n; i < len; i += n) {
        n = text_next_shown(s + i, len - i, &c);
        sink_str(out, c == '"' ? "\"" : "");
        sink_write(out, c == 0xfffd ? REPLACEMENT : s + i, c == 0xfffd ? strlen(REPLACEMENT) : n);
    }
    sink_str(out, quoted ? "\"" : "");
}

/* ---- Markdown ---- */

static bool is_digit_or_letter(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Would GitHub or GitLab take the mark at s for the start of a reference? A backslash does not
 * prevent it, because they search the text that Markdown has rendered. */
static bool begins_reference(const char *s) {
    bool digit = s[1] >= '0' && s[1] <= '9';
    switch (*s) {
    case '@':
        return true;
    case '#':
    case '%':
    case '~':
        return is_digit_or_letter(s[1]) || s[1] == '"' || s[1] == '_';
    case '!':
    case '$':
    case '&':
        return digit;
    default:
        return false;
    }
}

/* Writes the character at s, which has `len` bytes, escaped if it is markup, and an HTML comment
 * after it if it would begin a reference. */
static void markdown_put_char(struct sink *out, const char *s, size_t len) {
    if (*s == '<') {
        sink_str(out, "&lt;");
    } else if (*s == '&') {
        sink_str(out, "&amp;");
    } else {
        sink_str(out, strchr("\\`*_[]|~#>", *s) ? "\\" : "");
        sink_write(out, s, len);
    }
    sink_str(out, begins_reference(s) ? "<!-- -->" : "");
}

void markdown_put_text(struct sink *out, const char *s) {
    size_t len = strlen(s);
    uint32_t c;
    for (size_t i = 0, n; i < len; i += n) {
        const char *at = s + i;
        n = text_next_shown(at, len - i, &c);
        if (c == 0xfffd) {
            sink_char(out, '?');
        } else if (*at == ':' && at[1] == '/') {
            sink_str(out, "\\:"); /* prevents a link to a URL */
        } else if (strncmp(at, "www.", 4) == 0) {
            sink_str(out, "www\\.");
            n = 4;
        } else if (strncmp(at, "GH-", 3) == 0) {
            sink_str(out, "GH<!-- -->-");
            n = 3;
        } else {
            markdown_put_char(out, at, n);
        }
    }
}

/* Writes code as HTML, since a span of backticks ends at a backtick of the name, and a | ends
 * the cell of a table. */
void markdown_put_code(struct sink *out, const char *s) {
    sink_str(out, "<code>");
    markdown_put_text(out, s);
    sink_str(out, "</code>");
}
