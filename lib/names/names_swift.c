/* Readable Swift names, full (`Shop.Cart.add(item: Shop.Item) -> ()`) and simplified
 * (`Cart.add(item:)`). Kept: the path, the argument labels (they are part of a Swift name) and what
 * kind of thing it is. Dropped: types, thunk and specialisation wrappers, closure numbers, private
 * discriminators. The forms are those of Swift's own demangler (swift:
 * lib/Demangling/NodePrinter.cpp). */
#include "names/names_private.h"

#include <string.h>

struct swift_scan {
    const char *s;
    size_t len, at;
    struct strbuf *out;
    size_t base;
};

static bool swift_rest_starts(const struct swift_scan *sc, const char *prefix) {
    return names_starts(sc->s + sc->at, sc->len - sc->at, prefix);
}

static bool swift_out_ends(const struct swift_scan *sc, const char *suffix) {
    return names_ends(sc->out->data ? sc->out->data + sc->base : "", sc->out->len - sc->base,
                      suffix);
}

static void swift_skip_group(struct swift_scan *sc) {
    size_t close = names_close(sc->s, sc->len, sc->at);
    sc->at = close < sc->len ? close + 1 : sc->len;
}

bool names_is_swift(const char *s, size_t len) {
    static const char *const prefixes[] = {
        "closure #",          "implicit closure #",
        "partial apply ",     "reabstraction thunk ",
        "specialized ",       "merged ",
        "dispatch thunk of ", "protocol witness for ",
        "thunk for @",        "@objc ",
        "outlined ",          "generic specialization <",
        "vtable thunk for ",  "function signature specialization <",
        "(extension in ",     NULL};
    static const char *const signs[] = {" -> ",
                                        ":)",
                                        ".getter",
                                        ".setter",
                                        ".modify",
                                        " : ",
                                        ".init(",
                                        ".deinit",
                                        "_allocating_init",
                                        "_deallocating_deinit",
                                        " in conformance ",
                                        " resume partial function for ",
                                        NULL};
    if (names_find(s, len, 0, "::") < len) {
        return false;
    }
    for (size_t i = 0; prefixes[i]; i++) {
        if (names_starts(s, len, prefixes[i])) {
            return true;
        }
    }
    for (size_t i = 0; signs[i]; i++) {
        if (names_find(s, len, 0, signs[i]) < len) {
            return true;
        }
    }
    return false;
}

/* One wrapper around the name at the scan: a thunk, a specialisation, an attribute. False: none. */
static bool skip_wrapper(struct swift_scan *sc) {
    static const char *const plain[] = {"@objc ",
                                        "@nonobjc ",
                                        "dynamic ",
                                        "merged ",
                                        "specialized ",
                                        "partial apply forwarder for ",
                                        "partial apply for ",
                                        "dispatch thunk of ",
                                        "vtable thunk for ",
                                        "protocol witness for ",
                                        "suspend resume partial function for ",
                                        "await resume partial function for ",
                                        NULL};
    static const char *const grouped[] = {"generic specialization <",
                                          "generic partial specialization <",
                                          "generic not re-abstracted specialization <",
                                          "function signature specialization <",
                                          "inlined generic function <",
                                          NULL};
    for (size_t i = 0; plain[i]; i++) {
        if (swift_rest_starts(sc, plain[i])) {
            sc->at += strlen(plain[i]);
            return true;
        }
    }
    for (size_t i = 0; grouped[i]; i++) {
        if (swift_rest_starts(sc, grouped[i])) {
            size_t open = sc->at + strlen(grouped[i]) - 1;
            sc->at = open;
            swift_skip_group(sc);
            if (sc->at == sc->len) {
                /* Swift's demangler leaves out a bracket: "[Closure Propagated : … : [Swift.Int]>".
                 */
                size_t of = names_find(sc->s, sc->len, open, "> of ");
                sc->at = of < sc->len ? of + 1 : sc->len;
            }
            sc->at += swift_rest_starts(sc, " of ") ? 4 : 0;
            return true;
        }
    }
    char c = sc->s[sc->at];
    bool numbered = c == '(' && sc->at + 1 < sc->len && names_is_digit(sc->s[sc->at + 1]);
    if (c == '{' || numbered || swift_rest_starts(sc, "(extension in ")) { /* {T:…}, (1) */
        swift_skip_group(sc);
        while (sc->at < sc->len && (sc->s[sc->at] == ' ' || sc->s[sc->at] == ':')) {
            sc->at++;
        }
        return true;
    }
    return false;
}

/* The argument list at the scan as labels: (zim: foo.zim, Swift.Int) -> (zim:_:); () -> nothing. */
static void add_labels(struct swift_scan *sc) {
    size_t close = names_close(sc->s, sc->len, sc->at);
    size_t end = close < sc->len ? close : sc->len;
    const char *s = sc->s;
    size_t at = sc->at + 1;
    sc->at = close < sc->len ? close + 1 : sc->len;
    if (at >= end) {
        return;
    }
    strbuf_addc(sc->out, '(');
    if (s[end - 1] == ':') { /* simplified already */
        strbuf_add(sc->out, s + at, end - at);
        at = end;
    }
    while (at < end) {
        while (at < end && s[at] == ' ') {
            at++;
        }
        size_t label = at;
        while (at < end && names_is_ident(s[at])) {
            at++;
        }
        bool labelled = at > label && at + 1 < end && s[at] == ':' && s[at + 1] == ' ';
        strbuf_add(sc->out, labelled ? s + label : "_", labelled ? at - label : 1);
        strbuf_addc(sc->out, ':');
        while (at < end && s[at] != ',') {
            size_t inner = strchr("(<[{", s[at]) && s[at] ? names_close(s, end, at) : at;
            at = inner < end ? inner + 1 : end;
        }
        at += at < end;
    }
    strbuf_addc(sc->out, ')');
}

/* Moves over a type to the " in " that follows it at depth 0, or to the end. */
static void skip_type(struct swift_scan *sc) {
    while (sc->at < sc->len && !swift_rest_starts(sc, " in ")) {
        char c = sc->s[sc->at];
        if (c == '(' || c == '<' || c == '[' || c == '{') {
            swift_skip_group(sc);
        } else {
            sc->at++;
        }
    }
}

/* (C in _83378C43…) -> C; (extension in M): -> nothing; (in _PRIVATE).x -> x. */
static void add_private(struct swift_scan *sc) {
    size_t close = names_close(sc->s, sc->len, sc->at);
    size_t end = close < sc->len ? close : sc->len;
    size_t in = names_find(sc->s, end, sc->at, " in ");
    if (swift_rest_starts(sc, "(extension in ")) {
        sc->at = end + (close < sc->len);
        sc->at += sc->at < sc->len && sc->s[sc->at] == ':';
        return;
    }
    if (swift_rest_starts(sc, "(in ")) {
        in = sc->at + 1;
    }
    strbuf_add(sc->out, sc->s + sc->at + 1, in - sc->at - 1);
    sc->at = end + (close < sc->len);
    if (in == end - (end - in) && swift_out_ends(sc, ".") && sc->at < sc->len &&
        sc->s[sc->at] == '.') {
        sc->at++;
    }
}

/* One step; false: the name is complete. */
static bool swift_step(struct swift_scan *sc) {
    char c = sc->s[sc->at];
    bool at_start = sc->out->len == sc->base;
    if (c == '(' && (at_start || swift_out_ends(sc, "."))) {
        add_private(sc);
    } else if (c == '(' && swift_out_ends(sc, " ")) {
        /* A closure's or local function's signature stands behind a space. */
        strbuf_truncate(sc->out, sc->out->len - 1);
        if (swift_out_ends(sc, "closure")) {
            swift_skip_group(sc);
        } else {
            add_labels(sc);
        }
        skip_type(sc);
    } else if (c == '(') {
        add_labels(sc);
        skip_type(sc);
    } else if (c == '<') {
        swift_skip_group(sc);
        if (!swift_out_ends(sc, "<T>")) {
            strbuf_addstr(sc->out, "<T>");
        }
    } else if (swift_rest_starts(sc, " #") && sc->at + 2 < sc->len &&
               names_is_digit(sc->s[sc->at + 2])) {
        for (sc->at += 2; sc->at < sc->len && names_is_digit(sc->s[sc->at]);) {
            sc->at++;
        }
    } else if (swift_rest_starts(sc, " in conformance ")) {
        return false;
    } else if (swift_rest_starts(sc, " : ") || swift_rest_starts(sc, " -> ")) {
        skip_type(sc);
    } else if (swift_rest_starts(sc, " in ")) {
        strbuf_addstr(sc->out, " in ");
        sc->at += 4;
        while (sc->at < sc->len && skip_wrapper(sc)) {
        }
    } else {
        strbuf_addc(sc->out, c);
        sc->at++;
    }
    return true;
}

void names_swift(const char *s, size_t len, struct strbuf *out) {
    struct swift_scan sc = {.s = s, .len = len, .out = out, .base = out->len};
    while (sc.at < sc.len && skip_wrapper(&sc)) {
    }
    if (swift_rest_starts(&sc, "completion handler block implementation")) {
        strbuf_addstr(out, "completion handler block");
        return;
    }
    if (swift_rest_starts(&sc, "reabstraction thunk") || swift_rest_starts(&sc, "thunk for @")) {
        strbuf_addstr(out, "reabstraction thunk");
        return;
    }
    while (sc.at < sc.len && !out->failed && swift_step(&sc)) {
    }
    while (out->len > sc.base && out->data[out->len - 1] == ' ') {
        strbuf_truncate(out, out->len - 1);
    }
}
