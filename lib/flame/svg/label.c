/* Shortens names from the left or in the middle; a shortened name ends with its whole parameter
 * list, with (…), or without a list. */
#include "flame/svg/label.h"

#include <string.h>

#include "base/escape.h"

#define ELLIPSIS "\xe2\x80\xa6"

/* Returns where the last part of a name begins: after the last "::", '.' or '/' outside of (), <>,
 * [] and {}, or after the class of an Objective-C method. */
static size_t last_part(const char *s, size_t len) {
    size_t part = 0, depth = 0;
    if (len > 2 && (s[0] == '-' || s[0] == '+') && s[1] == '[') {
        const char *space = memchr(s, ' ', len);
        return space ? (size_t)(space - s) + 1 : 0;
    }
    for (size_t i = 0; i + 1 < len; i++) {
        if (strchr("(<[{", s[i]) && s[i]) {
            depth++;
        } else if (depth > 0 && strchr(")>]}", s[i]) && s[i]) {
            depth--;
        } else if (depth == 0 && i > 0) {
            bool scope = s[i] == ':' && s[i - 1] == ':';
            part = scope || s[i] == '.' || s[i] == '/' ? i + 1 : part;
        }
    }
    return part;
}

/* Returns the length of a part up to its first '(', the parameter list; the whole length if the
 * part has no '(' or begins with one. The first parentheses of `operator()` belong to the name. */
static size_t before_brackets(const char *part, size_t len) {
    static const char call[] = "operator";
    const char *open = len ? memchr(part, '(', len) : NULL;
    size_t at = open ? (size_t)(open - part) : len;
    if (open && at >= sizeof call - 1 && len - at > 1 && open[1] == ')' &&
        memcmp(open - (sizeof call - 1), call, sizeof call - 1) == 0) {
        open = memchr(open + 1, '(', len - at - 1);
        at = open ? (size_t)(open - part) : len;
    }
    return at > 0 ? at : len;
}

/* Returns the offset at which the longest end of a text that is at most `cells` cells wide begins.
 */
static size_t end_of_width(const char *s, size_t len, size_t cells) {
    size_t all = xml_text_cells(s, len);
    size_t at = 0;
    while (all > cells && at < len) {
        at += xml_text_next(s + at, len - at, &all);
    }
    return at;
}

static void add_middle(struct strbuf *out, const char *s, size_t len, size_t cells) {
    size_t right = (cells - 1) / 3;
    size_t at = end_of_width(s, len, right);
    xml_text_add_short(out, s, len, cells - xml_text_cells(s + at, len - at), 1);
    xml_text_add(out, s + at, len - at);
}

void label_add(struct strbuf *out, const char *name, size_t len, size_t cells, size_t least) {
    if (cells < least || cells == 0) {
        return;
    }
    /* no character has more cells than bytes */
    if (len <= cells || xml_text_cells(name, len) <= cells) {
        xml_text_add(out, name, len);
        return;
    }
    size_t part = last_part(name, len);
    const char *last = name + part;
    size_t last_len = len - part;
    if (part > 0 && xml_text_cells(last, last_len) < cells) {
        size_t at = end_of_width(name, len, cells - 1);
        strbuf_addstr(out, ELLIPSIS);
        xml_text_add(out, name + at, len - at);
        return;
    }
    size_t word = before_brackets(last, last_len);
    size_t word_cells = xml_text_cells(last, word);
    bool brackets = word < last_len;
    if (brackets && word_cells + 3 + (part > 0) <= cells) {
        strbuf_addstr(out, part > 0 ? ELLIPSIS : "");
        xml_text_add(out, last, word);
        strbuf_addstr(out, "(" ELLIPSIS ")");
    } else if (word_cells < cells) {
        strbuf_addstr(out, ELLIPSIS);
        xml_text_add(out, last, word);
    } else {
        add_middle(out, last, word, cells);
    }
}
