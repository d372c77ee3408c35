/* Finds the words of a text that may be mangled names, and demangles them. */
#include "demangle/demangle_text.h"

#include <stdbool.h>
#include <string.h>

static bool is_word_byte(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '$' || c == '.' || (unsigned char)c >= 0x80;
}

/* Returns the length of Objective-C's prefix for symbols of a class, such as _OBJC_CLASS_$_; 0 if
 * the word has none. */
static size_t objc_prefix(const char *word, size_t len) {
    static const char *const prefixes[] = {"OBJC_CLASS_$_", "OBJC_METACLASS_$_", "OBJC_IVAR_$_",
                                           "OBJC_EHTYPE_$_"};
    size_t underscore = len > 0 && word[0] == '_';
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        size_t n = strlen(prefixes[i]);
        if (len - underscore >= n && memcmp(word + underscore, prefixes[i], n) == 0) {
            return underscore + n;
        }
    }
    return 0;
}

/* Does the word begin with `$` or `_T`, and is it shorter than any Swift symbol, which has a type
 * and an operator on it, such as `$sSiN`? Shorter words are types alone, and words of other
 * languages look like them: `$sx`. */
static bool is_short_word(const char *word, size_t len) {
    enum { SYMBOL_MIN = 5 };
    return len < SYMBOL_MIN && len > 1 && (word[0] == '$' || (word[0] == '_' && word[1] == 'T'));
}

static enum st add_word(const char *word, size_t len, enum demangle_style style, struct strbuf *out,
                        struct err *e) {
    size_t prefix = objc_prefix(word, len), end = len;
    while (end > prefix && word[end - 1] == '.') {
        end--; /* a '.' that ends a sentence is not part of the name */
    }
    strbuf_add(out, word, prefix);
    enum st st = ST_NONE;
    if (!is_short_word(word + prefix, end - prefix)) {
        st = demangle(word + prefix, end - prefix, style, out, e);
    }
    if (st == ST_ERR) {
        return ST_ERR;
    }
    size_t done = st == ST_OK ? end : prefix;
    strbuf_add(out, word + done, len - done);
    return strbuf_check(out, e);
}

enum st demangle_text(const char *text, size_t len, enum demangle_style style, struct strbuf *out,
                      struct err *e) {
    for (size_t at = 0; at < len;) {
        size_t start = at;
        while (at < len && !is_word_byte(text[at]) && text[at] != '@') {
            at++;
        }
        strbuf_add(out, text + start, at - start);
        start = at;
        at += at < len && text[at] == '@';
        while (at < len && is_word_byte(text[at])) {
            at++;
        }
        if (add_word(text + start, at - start, style, out, e) != ST_OK) {
            return ST_ERR;
        }
    }
    return strbuf_check(out, e);
}

size_t demangle_text_whole(const char *text, size_t len) {
    while (len > 0 && is_word_byte(text[len - 1])) {
        len--;
    }
    return len > 0 && text[len - 1] == '@' ? len - 1 : len;
}
