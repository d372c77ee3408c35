/* Text that goes into XML. */
#include "base/xml_text.h"

#include "base/utf8.h"

#define REPLACEMENT "\xef\xbf\xbd"
#define ELLIPSIS    "\xe2\x80\xa6"

static bool is_drawable(uint32_t c) {
    if (c < 0x20 || (c >= 0x7f && c <= 0x9f)) {
        return false;
    }
    if ((c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
        (c >= 0x2060 && c <= 0x206f) || c == 0x061c || c == 0xfeff) {
        return false; /* zero width, separators, bidirectional controls, byte order mark */
    }
    return (c & 0xfffe) != 0xfffe && !(c >= 0xfdd0 && c <= 0xfdef) &&
           !(c >= 0xfff9 && c <= 0xfffb) && !(c >= 0xe0000 && c <= 0xe0fff);
}

/* The next character as it is drawn: its bytes in text, and its code point. */
static size_t next_char(const char *text, size_t len, uint32_t *c) {
    size_t n = utf8_decode(text, len, c);
    if (n == 0 || !is_drawable(*c)) {
        *c = 0xfffd;
    }
    return n ? n : 1;
}

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

void xml_text_add(struct strbuf *out, const char *text, size_t len) {
    uint32_t c;
    for (size_t i = 0, n; i < len; i += n) {
        n = next_char(text + i, len - i, &c);
        add_char(out, c, text + i, n);
    }
}

/* A combining mark counts a cell, too: a name of marks only must be cut somewhere. */
static size_t cells_of(uint32_t c) {
    return utf8_columns(c) == 2 ? 2 : 1;
}

size_t xml_text_cells(const char *text, size_t len) {
    uint32_t c;
    size_t cells = 0;
    for (size_t i = 0; i < len; cells += cells_of(c)) {
        i += next_char(text + i, len - i, &c);
    }
    return cells;
}

size_t xml_text_next(const char *text, size_t len, size_t *cells) {
    uint32_t c;
    size_t n = next_char(text, len, &c);
    *cells -= cells_of(c);
    return n;
}

void xml_text_add_short(struct strbuf *out, const char *text, size_t len, size_t cells,
                        size_t least) {
    uint32_t c;
    size_t used = 0, keep = 0, keep_cells = 0, i = 0;
    for (size_t n; i < len; i += n) {
        n = next_char(text + i, len - i, &c);
        used += cells_of(c);
        if (used > cells) {
            break;
        }
        if (used < cells) { /* an ellipsis still fits behind it */
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
