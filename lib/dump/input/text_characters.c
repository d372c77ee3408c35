/* Restores characters that web pages, mail and editors have changed. */
#include "dump/input/text_characters.h"

#include <string.h>

#include "base/parse.h"
#include "base/utf8.h"

/* The characters, in UTF-8, that web pages, mail and editors of East Asian text use in place of
 * blanks, and six entities of HTML. U+200C and U+200D, which join letters, are not in the table,
 * because names may contain them. */
static const struct {
    const char *bytes;
    const char *plain; /* the replacement; never longer than the changed character or 4 bytes */
    bool space;
} characters[] = {
    {"\xc2\xa0", " ", true},      /* U+00A0, no-break space */
    {"\xe2\x80\xaf", " ", true},  /* U+202F, narrow no-break space */
    {"\xe2\x80\x87", " ", true},  /* U+2007, figure space */
    {"\xe3\x80\x80", "  ", true}, /* U+3000, ideographic space, two columns wide */
    {"\xe2\x80\x8b", "", true},   /* U+200B, zero-width space */
    {"\xe2\x81\xa0", "", true},   /* U+2060, word joiner */
    {"\xef\xbb\xbf", "", true},   /* U+FEFF, zero-width no-break space */
    {"&lt;", "<", false},         {"&gt;", ">", false},   {"&amp;", "&", false},
    {"&quot;", "\"", false},      {"&apos;", "'", false}, {"&nbsp;", " ", true},
};

/* The first bytes of all changed characters. */
static const char firsts[] = {'\xc2', '\xe2', '\xe3', '\xef', '&'};

/* The plain text that replaces a changed character. */
struct plain {
    char bytes[4];
    size_t len;
    bool space;
};

/* Looks the bytes at p up in the table; returns their length, or 0: they are not changed. */
static size_t listed_at(const char *p, const char *end, struct plain *out) {
    for (size_t i = 0; i < sizeof characters / sizeof *characters; i++) {
        size_t len = strlen(characters[i].bytes);
        if ((size_t)(end - p) >= len && memcmp(p, characters[i].bytes, len) == 0) {
            *out = (struct plain){.len = strlen(characters[i].plain), .space = characters[i].space};
            memcpy(out->bytes, characters[i].plain, out->len);
            return len;
        }
    }
    return 0;
}

/* Decodes HTML's "&#39;" or "&#x27;" at p, but no control character except the tab; returns its
 * length, or 0. */
static size_t number_at(const char *p, const char *end, struct plain *out) {
    enum { DIGITS_MAX = 7, UNICODE_MAX = 0x10ffff };
    const size_t left = (size_t)(end - p);
    const bool hex = left > 2 && (p[2] | ' ') == 'x';
    const size_t head = hex ? 3 : 2;
    size_t digits = 0;
    uint64_t c = 0;
    if (left <= head || memcmp(p, "&#", 2) != 0) {
        return 0;
    }
    while (digits < left - head && digits <= DIGITS_MAX && p[head + digits] != ';') {
        digits++;
    }
    if (digits == left - head || digits > DIGITS_MAX ||
        !(hex ? parse_hex(p + head, digits, &c) : parse_u64(p + head, digits, UINT32_MAX, &c))) {
        return 0;
    }
    if ((c < ' ' && c != '\t') || (c >= 0x7f && c < 0xa0) || (c >= 0xd800 && c < 0xe000) ||
        c > UNICODE_MAX) {
        return 0;
    }
    char bytes[4];
    const size_t len = utf8_encode((uint32_t)c, bytes);
    if (listed_at(bytes, bytes + len, out) != len) {
        *out = (struct plain){.len = len};
        memcpy(out->bytes, bytes, len);
    }
    return head + digits + 1;
}

/* Returns the length of the changed character at p, and sets *out to the plain text that replaces
 * it; 0: there is none. The first byte alone rules out most text. */
static size_t changed_at(const char *p, const char *end, struct plain *out) {
    if (p == end || !memchr(firsts, *p, sizeof firsts)) {
        return 0;
    }
    const size_t len = listed_at(p, end, out);
    return len > 0 || *p != '&' ? len : number_at(p, end, out);
}

size_t text_space_at(const char *p, const char *end) {
    struct plain plain;
    const size_t len = changed_at(p, end, &plain);
    return len > 0 && plain.space ? len : 0;
}

bool text_is_changed(struct span text) {
    struct plain plain;
    for (size_t i = 0; i < sizeof firsts; i++) {
        const char *p = text.p;
        while (p < text.end && (p = memchr(p, firsts[i], (size_t)(text.end - p))) != NULL) {
            if (changed_at(p, text.end, &plain)) {
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
        struct plain plain;
        const size_t len = changed_at(p, text.end, &plain);
        if (len == 0) {
            p++;
            continue;
        }
        strbuf_add(out, from, (size_t)(p - from));
        strbuf_add(out, plain.bytes, plain.len);
        from = p += len;
    }
    strbuf_add(out, from, (size_t)(text.end - from));
}
