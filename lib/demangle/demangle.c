/* Recognises the mangling scheme of a name and calls its demangler. */
#include "demangle/demangle.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "demangle/scheme_private.h"
#include "demangle/swift_name.h"

static bool starts(const char *s, size_t len, const char *prefix) {
    size_t n = strlen(prefix);
    return len >= n && memcmp(s, prefix, n) == 0;
}

/* Does the name have the hash of Rust's legacy mangling? Such a name is an Itanium name that ends
 * in "17h", 16 hex digits and 'E', perhaps with a suffix such as .llvm.123 after them; what follows
 * the 'E' is not checked. */
static bool has_rust_hash(const char *s, size_t len) {
    for (size_t i = 0; i + 20 <= len; i++) {
        if (memcmp(s + i, "17h", 3) == 0 && s[i + 19] == 'E' &&
            strspn(s + i + 3, "0123456789abcdef") >= 16) {
            return true;
        }
    }
    return false;
}

/* Returns 1 if an underscore stands in front of a prefix that itself begins with one (_Z, _R, _$s,
 * _T), as in Mach-O names, else 0; also 0 for Mach-O's _$s alone, whose underscore counts as part
 * of the prefix. */
static size_t extra_underscore(const char *s, size_t len) {
    bool swift = starts(s, len, "__") && swift_has_prefix(s + 1, len - 1);
    return swift || starts(s, len, "__Z") || starts(s, len, "__R") ? 1 : 0;
}

static enum demangle_scheme scheme_at(const char *s, size_t len) {
    if (starts(s, len, "_Z")) {
        return has_rust_hash(s, len) ? DEMANGLE_RUST : DEMANGLE_ITANIUM;
    }
    if (starts(s, len, "_R") && len > 2 && (s[2] >= 'A' && s[2] <= 'Z')) {
        return DEMANGLE_RUST;
    }
    if (swift_has_prefix(s, len)) {
        return DEMANGLE_SWIFT;
    }
    return DEMANGLE_NONE;
}

enum demangle_scheme demangle_scheme_of(const char *name, size_t len) {
    size_t skip = extra_underscore(name, len);
    return scheme_at(name + skip, len - skip);
}

/* Finds the mangled function name in the name of a block's code, such as
 * ___ZN1A1fEv_block_invoke_2, which Clang makes: two to four underscores, "Z", the rest of the
 * function name and "_block_invoke", which ends the name or is followed by '_' or '.'. Returns the
 * length of the function name, with its start, "_Z", in *inner; 0 if the name is no such name. */
static size_t block_inner(const char *name, size_t len, const char **inner) {
    size_t skip = 0;
    while (skip < len && name[skip] == '_') {
        skip++;
    }
    if (skip < 2 || skip > 4 || skip == len || name[skip] != 'Z') {
        return 0;
    }
    skip--; /* keep the scheme's own underscore */
    static const char mark[] = "_block_invoke";
    for (size_t i = skip; i + sizeof mark - 1 <= len; i++) {
        if (memcmp(name + i, mark, sizeof mark - 1) == 0) {
            size_t rest = i + sizeof mark - 1;
            bool numbered = rest == len || name[rest] == '_' || name[rest] == '.';
            *inner = name + skip;
            return numbered ? i - skip : 0;
        }
    }
    return 0;
}

static enum st demangle_swift(const char *name, size_t len, enum demangle_style style,
                              struct strbuf *out, struct err *e) {
    struct swift_scratch scratch = {0};
    enum st st = swift_demangle(&scratch, name, len, style == DEMANGLE_SIMPLIFIED, out, e);
    swift_scratch_release(&scratch);
    return st;
}

enum st demangle(const char *name, size_t len, enum demangle_style style, struct strbuf *out,
                 struct err *e) {
    char usual[1024], *copy = usual;
    size_t skip = extra_underscore(name, len);
    if (scheme_at(name + skip, len - skip) == DEMANGLE_SWIFT) {
        return demangle_swift(name + skip, len - skip, style, out, e);
    }
    if (len < 3 || len > DEMANGLE_IN_MAX || memchr(name, 0, len)) {
        return ST_NONE;
    }
    const char *inner = NULL;
    size_t inner_len = block_inner(name, len, &inner);
    if (inner_len == 0) {
        inner = name + skip;
        inner_len = len - skip;
    }
    enum demangle_scheme scheme = scheme_at(inner, inner_len);
    if (scheme != DEMANGLE_ITANIUM && scheme != DEMANGLE_RUST) {
        return ST_NONE;
    }
    if (inner_len >= sizeof usual && !(copy = malloc(inner_len + 1))) {
        return err_nomem(e);
    }
    memcpy(copy, inner, inner_len);
    copy[inner_len] = 0;
    size_t before = out->len;
    if (inner + inner_len != name + len) {
        strbuf_addstr(out, "invocation function for block in ");
    }
    enum st st = scheme == DEMANGLE_RUST ? demangle_rust(copy, out, e) : ST_NONE;
    if (st == ST_NONE && copy[1] == 'Z') {
        size_t start = out->len;
        st = demangle_itanium(copy, out, e);
        if (st == ST_NONE && !out->failed) {
            strbuf_truncate(out, start);
            st = demangle_constrained(copy, out, e);
        }
    }
    if (copy != usual) {
        free(copy);
    }
    if (st != ST_OK && !out->failed) {
        strbuf_truncate(out, before);
    }
    return st;
}
