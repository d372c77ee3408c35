/* Restores characters that web pages, mail and editors have changed. */
#include "dump/input/text_characters.h"

#include <string.h>

/* The characters, in UTF-8, that web pages, mail and editors of East Asian text use in place of
 * blanks, and the entities of HTML. U+200C and U+200D, which join letters, are not in the table,
 * because names may contain them. */
static const struct {
    const char *bytes;
    const char *plain; /* the replacement; never longer than the changed character */
    bool space;
} characters[] = {
    {"\xc2\xa0", " ", true},      /* U+00A0, no-break space */
    {"\xe2\x80\xaf", " ", true},  /* U+202F, narrow no-break space */
    {"\xe2\x80\x87", " ", true},  /* U+2007, figure space */
    {"\xe3\x80\x80", "  ", true}, /* U+3000, ideographic space, two columns wide */
    {"\xe2\x80\x8b", "", true},   /* U+200B, zero-width space */
    {"\xe2\x81\xa0", "", true},   /* U+2060, word joiner */
    {"\xef\xbb\xbf", "", true},   /* U+FEFF, zero-width no-break space */
    {"&lt;", "<", false},         {"&gt;", ">", false},  {"&amp;", "&", false},
    {"&quot;", "\"", false},      {"&#39;", "'", false}, {"&nbsp;", " ", true},
};

/* The first bytes of all changed characters. */
static const char firsts[] = {'\xc2', '\xe2', '\xe3', '\xef', '&'};

/* Returns the length of the changed character at p, and sets *i to its row in the table; 0:
 * there is none. The first byte alone rules out most text. */
static size_t changed_at(const char *p, const char *end, size_t *i) {
    if (p == end || !memchr(firsts, *p, sizeof firsts)) {
        return 0;
    }
    for (*i = 0; *i < sizeof characters / sizeof *characters; (*i)++) {
        size_t len = strlen(characters[*i].bytes);
        if ((size_t)(end - p) >= len && memcmp(p, characters[*i].bytes, len) == 0) {
            return len;
        }
    }
    return 0;
}

size_t text_space_at(const char *p, const char *end) {
    size_t i, len = changed_at(p, end, &i);
    return len > 0 && characters[i].space ? len : 0;
}

bool text_is_changed(struct span text) {
    size_t which;
    for (size_t i = 0; i < sizeof firsts; i++) {
        const char *p = text.p;
        while (p < text.end && (p = memchr(p, firsts[i], (size_t)(text.end - p))) != NULL) {
            if (changed_at(p, text.end, &which)) {
                return true;
            }
            p++;
        }
    }
    return false;
}

void text_add_plain(struct strbuf *out, struct span text) {
    const char *from = text.p;
    for (const char *p = text.p; p < text.end;) {
        size_t i, len = changed_at(p, text.end, &i);
        if (len == 0) {
            p++;
            continue;
        }
        strbuf_add(out, from, (size_t)(p - from));
        strbuf_addstr(out, characters[i].plain);
        from = p += len;
    }
    strbuf_add(out, from, (size_t)(text.end - from));
}
