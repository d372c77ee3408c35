/* Finds the kind of name that a text is, and simplifies Objective-C names and block names;
 * C++, Rust, Go and Swift have scanners of their own. */
#include "names/names.h"

#include <string.h>

#include "demangle/demangle.h"

#include "names/names_private.h"

static const char block_invoke[] = "_block_invoke";

/* Appends an Objective-C method's name, -[Class(Category) sel:arg:], unchanged; the name of a block
 * in that method, __19-[Class sel:]_block_invoke_2, loses its numbers. False: the name is not
 * Objective-C. */
static bool objc(const char *s, size_t len, struct strbuf *out) {
    size_t at = 0;
    if (names_starts(s, len, "__")) {
        at = 2;
        while (at < len && names_is_digit(s[at])) {
            at++;
        }
        at = at > 2 ? at : 0;
    }
    if (len - at < 5 || (s[at] != '-' && s[at] != '+') || s[at + 1] != '[') {
        return false;
    }
    const char *close = memchr(s + at, ']', len - at);
    if (!close || !memchr(s + at, ' ', (size_t)(close - s) - at)) {
        return false;
    }
    size_t end = (size_t)(close - s) + 1;
    strbuf_add(out, s + at, end - at);
    if (names_starts(s + end, len - end, block_invoke)) {
        strbuf_addstr(out, block_invoke);
    }
    return true;
}

/* Appends a C block's name without its number, and of a block's copy or destroy helper the words in
 * front of the type: __draw_block_invoke_3 -> __draw_block_invoke. False: the name is not a
 * block's. */
static bool block(const char *s, size_t len, struct strbuf *out) {
    static const char *const helpers[] = {"__copy_helper_block_", "__destroy_helper_block_", NULL};
    size_t helper = names_starts_any(s, len, helpers);
    if (helper) {
        strbuf_add(out, s, helper);
        return true;
    }
    size_t at = names_find(s, len, 1, block_invoke), end = at + sizeof block_invoke - 1;
    if (at >= len || memchr(s, '(', at)) {
        return false;
    }
    for (size_t i = end; i < len; i++) {
        if (!names_is_digit(s[i]) && s[i] != '_' && s[i] != '.') {
            return false;
        }
    }
    strbuf_add(out, s, end);
    return true;
}

/* Appends the name of a piece that LLVM's machine outliner made without its number, which
 * differs in every build: OUTLINED_FUNCTION_12, in Mach-O symbols with an underscore in front.
 * False: the name is not one of these. */
static bool outlined(const char *s, size_t len, struct strbuf *out) {
    static const char prefix[] = "OUTLINED_FUNCTION_";
    size_t at = len > 0 && s[0] == '_' ? 1 : 0, end = at + sizeof prefix - 1;
    if (!names_starts(s + at, len - at, prefix) || end == len) {
        return false;
    }
    for (size_t i = end; i < len; i++) {
        if (!names_is_digit(s[i])) {
            return false;
        }
    }
    strbuf_add(out, prefix, sizeof prefix - 1);
    return true;
}

/* Appends the readable form of a mangled name. False: the name has no readable form, and nothing
 * is appended. */
static bool read_mangled(const char *s, size_t len, enum demangle_style style, struct strbuf *out) {
    if (demangle_scheme_of(s, len) == DEMANGLE_NONE) {
        return false;
    }
    enum st st = demangle(s, len, style, out, NULL);
    out->failed = out->failed || st == ST_ERR;
    return st == ST_OK;
}

bool names_expand(const char *name, size_t len, struct strbuf *out) {
    return read_mangled(name, len, DEMANGLE_FULL, out);
}

/* Appends the normalised form of a name that is not mangled. */
static void normalise_readable(const char *s, size_t n, bool modules, struct strbuf *out) {
    size_t base = out->len;
    if (names_starts(s, n, "__hidden#")) {
        strbuf_addstr(out, "__hidden#");
    } else if (objc(s, n, out) || block(s, n, out) || outlined(s, n, out)) {
        return;
    } else if (names_is_swift(s, n)) {
        names_swift(s, n, modules, out);
    } else {
        names_cxx(s, n, out);
    }
    if (out->len == base) {
        strbuf_add(out, s, n);
    }
}

/* Appends the normalised form of a name that is not mangled, of code that a virtual machine may
 * run. */
static void normalise_any(const char *s, size_t n, bool modules, struct strbuf *out) {
    struct strbuf folded = {0};
    if (names_fold_managed(s, n, &folded)) {
        normalise_readable(folded.data, folded.len, modules, out);
    } else {
        normalise_readable(s, n, modules, out);
    }
    out->failed = out->failed || folded.failed;
    strbuf_release(&folded);
}

/* Appends the normalised form of any name; a mangled name counts as its readable form. */
static void normalise(const char *name, size_t len, bool modules, struct strbuf *out) {
    struct strbuf readable = {0};
    while (len > 0 && *name == ' ') {
        name++;
        len--;
    }
    if (read_mangled(name, names_trim(name, len), modules ? DEMANGLE_FULL : DEMANGLE_SIMPLIFIED,
                     &readable)) {
        normalise_readable(readable.data, names_trim(readable.data, readable.len), modules, out);
    } else {
        normalise_any(name, names_trim(name, len), modules, out);
    }
    out->failed = out->failed || readable.failed;
    strbuf_release(&readable);
}

void names_normalise(const char *name, size_t len, struct strbuf *out) {
    size_t base = out->len;
    normalise(name, len, false, out);
    if (out->len == base) {
        strbuf_add(out, name, len);
    }
}

void names_qualify(const char *name, size_t len, struct strbuf *out) {
    size_t base = out->len;
    normalise(name, len, true, out);
    if (out->len == base) {
        strbuf_add(out, name, len);
    }
}
