/* Simplifies C++, Rust, Go and C names in one scan over the text, which keeps the declared name
 * and drops the rest.
 *
 * Outside of brackets a space ends a word. When an argument list follows a word, that word is the
 * name, and the words in front of it are the return type and are dropped. Brackets are skipped
 * whole, so each byte is read at most twice. */
#include "names/names_private.h"

#include <string.h>

struct cxx_scan {
    const char *s;
    size_t len, at;
    struct strbuf *out;
    size_t base; /* offset in out at which this name begins */
    size_t word; /* offset in out at which the word being read begins */
};

static bool cxx_rest_starts(const struct cxx_scan *sc, const char *prefix) {
    return names_starts(sc->s + sc->at, sc->len - sc->at, prefix);
}

static bool cxx_out_ends(const struct cxx_scan *sc, const char *suffix) {
    return names_ends(sc->out->data ? sc->out->data + sc->base : "", sc->out->len - sc->base,
                      suffix);
}

static bool at_word_start(const struct cxx_scan *sc) {
    return sc->out->len == sc->word;
}

static void skip_spaces(struct cxx_scan *sc) {
    while (sc->at < sc->len && sc->s[sc->at] == ' ') {
        sc->at++;
    }
}

/* Moves the scan past the bracket that closes the group at the scan, but not past `end`. */
static void skip_group_to(struct cxx_scan *sc, size_t end) {
    size_t close = names_close(sc->s, end, sc->at);
    sc->at = close < end ? close + 1 : end;
}

static void cxx_skip_group(struct cxx_scan *sc) {
    skip_group_to(sc, sc->len);
}

static void add_template(struct cxx_scan *sc) {
    if (cxx_out_ends(sc, "::")) { /* Rust's Vec::<u8> loses the :: */
        strbuf_truncate(sc->out, sc->out->len - 2);
    }
    if (!cxx_out_ends(sc, "<T>")) {
        /* A space keeps operator< and its template arguments apart: operator< <T>. */
        strbuf_addstr(sc->out, cxx_out_ends(sc, "<") ? " <T>" : "<T>");
    }
}

/* Copies the bracketed group at the scan, whose text is part of the name (<A<B> as C>, Go's
 * (*T[…])), and makes template arguments nested in it constant. */
static void add_kept_group(struct cxx_scan *sc) {
    size_t close = names_close(sc->s, sc->len, sc->at);
    size_t end = close < sc->len ? close : sc->len;
    strbuf_addc(sc->out, sc->s[sc->at++]);
    while (sc->at < end) {
        char c = sc->s[sc->at];
        if (c == '<' && sc->at > 0 && names_is_ident(sc->s[sc->at - 1])) {
            skip_group_to(sc, end);
            add_template(sc);
        } else if (c == '[' && names_is_ident(sc->s[sc->at - 1])) {
            skip_group_to(sc, end);
            strbuf_addstr(sc->out, "[T]");
        } else {
            strbuf_addc(sc->out, c);
            sc->at++;
        }
    }
    if (close < sc->len) {
        strbuf_addc(sc->out, sc->s[sc->at++]);
    }
}

/* Skips what may follow an argument list: const, volatile, restrict, noexcept, & and &&, [abi:…]
 * and [clone…]. Returns true if the name continues with "::". */
static bool skip_qualifiers(struct cxx_scan *sc) {
    static const char *const words[] = {"const", "volatile", "restrict", "noexcept",
                                        "&&",    "&",        NULL};
    for (bool more = true; more;) {
        skip_spaces(sc);
        size_t word = names_starts_any(sc->s + sc->at, sc->len - sc->at, words);
        sc->at += word;
        more = word > 0;
        if (!more && (cxx_rest_starts(sc, "[abi:") || cxx_rest_starts(sc, "[clone"))) {
            cxx_skip_group(sc);
            more = true;
        }
    }
    return cxx_rest_starts(sc, "::");
}

/* Drops the words in front of the word being read: they are a return type. */
static void drop_return_type(struct cxx_scan *sc) {
    if (sc->word > sc->base) {
        size_t keep = sc->out->len - sc->word;
        memmove(sc->out->data + sc->base, sc->out->data + sc->word, keep);
        strbuf_truncate(sc->out, sc->base + keep);
        sc->word = sc->base;
    }
}

/* Scans an opening round bracket. False: the name ends here. */
static bool scan_round(struct cxx_scan *sc) {
    if (cxx_rest_starts(sc, "(anonymous") || (sc->at > 0 && sc->s[sc->at - 1] == '.')) {
        add_kept_group(sc);
        return true;
    }
    if (!at_word_start(sc)) {
        cxx_skip_group(sc);
        drop_return_type(sc);
        return skip_qualifiers(sc);
    }
    char next = sc->at + 1 < sc->len ? sc->s[sc->at + 1] : 0;
    if (next == '*' || next == '&' || next == '^') {
        /* This is a function that returns a pointer to a function: int (*name(args))(args). */
        sc->at += 2;
        skip_qualifiers(sc);
        sc->word = sc->out->len;
    } else if (sc->out->len == sc->base) {
        add_kept_group(sc); /* keeps (program), (idle) */
    } else {
        cxx_skip_group(sc);
    }
    return true;
}

/* Is the scan at a name of a virtual machine: behind a dot, Cart.<init>, Object.<anonymous>,
 * load.<locals>.inner, or behind the plus of a nested type, Cart+<Load>d__7, which is no part of
 * an operator's name? */
static bool at_managed_name(const struct cxx_scan *sc) {
    static const char word[] = "operator";
    size_t at = sc->at, n = sizeof word - 1;
    if (at > 0 && sc->s[at - 1] == '.') {
        return true;
    }
    while (at > 0 && sc->s[at - 1] == '+') {
        at--;
    }
    return at > 0 && at < sc->at && !(at >= n && memcmp(sc->s + at - n, word, n) == 0);
}

static void scan_angle(struct cxx_scan *sc) {
    if (cxx_rest_starts(sc, "<lambda")) {
        cxx_skip_group(sc);
        strbuf_addstr(sc->out, "{lambda}");
    } else if (cxx_rest_starts(sc, "<unnamed>")) {
        cxx_skip_group(sc);
        strbuf_addstr(sc->out, "(anonymous namespace)");
    } else if (at_word_start(sc) || cxx_rest_starts(sc, "<impl ") || at_managed_name(sc)) {
        /* Rust: <T as Trait>::f, a::<impl Trait for T>::f. */
        add_kept_group(sc);
    } else {
        cxx_skip_group(sc);
        add_template(sc);
    }
}

/* Writes a name in curly brackets without its number, and {anonymous…} as "(anonymous namespace)":
 * {lambda(int)#2}, {{closure}}, {closure#0}, {unnamed type#1}, {impl#3}. */
static void scan_curly(struct cxx_scan *sc) {
    size_t at = sc->at, start;
    cxx_skip_group(sc);
    while (at < sc->at && sc->s[at] == '{') {
        at++;
    }
    start = at;
    while (at < sc->at && sc->s[at] != '#' && sc->s[at] != '(' && sc->s[at] != '}') {
        at++;
    }
    if (names_starts(sc->s + start, at - start, "anonymous")) {
        strbuf_addstr(sc->out, "(anonymous namespace)");
        return;
    }
    strbuf_addc(sc->out, '{');
    strbuf_add(sc->out, sc->s + start, at - start);
    strbuf_addc(sc->out, '}');
}

/* Writes LLVM's names in quotes, 'lambda0'(int), 'unnamed', 'block-literal', as {lambda},
 * {unnamed type}, {block}. False: the quote begins none of these. */
static bool scan_quoted(struct cxx_scan *sc) {
    static const char *const kinds[][2] = {
        {"'lambda", "{lambda}"}, {"'unnamed", "{unnamed type}"}, {"'block-literal", "{block}"}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (cxx_rest_starts(sc, kinds[i][0])) {
            size_t at = sc->at + strlen(kinds[i][0]);
            while (at < sc->len && names_is_digit(sc->s[at])) {
                at++;
            }
            if (at < sc->len && sc->s[at] == '\'') {
                strbuf_addstr(sc->out, kinds[i][1]);
                sc->at = at + 1;
                return true;
            }
        }
    }
    return false;
}

static bool is_hex_group(const char *s, size_t from, size_t to) {
    if (to - from < 8) {
        return false;
    }
    for (; from < to; from++) {
        if (!names_is_digit(s[from]) && (s[from] < 'a' || s[from] > 'f')) {
            return false;
        }
    }
    return true;
}

/* Scans an opening square bracket. At the start of a word the group is kept; elsewhere [abi:cxx11]
 * and Rust's crate hash are dropped, and any other group, as Go's type arguments, becomes [T]. */
static void scan_square(struct cxx_scan *sc) {
    size_t open = sc->at;
    if (at_word_start(sc)) {
        add_kept_group(sc);
        return;
    }
    bool drop = cxx_rest_starts(sc, "[abi:");
    cxx_skip_group(sc);
    if (!drop && !is_hex_group(sc->s, open + 1, sc->at - 1)) {
        strbuf_addstr(sc->out, "[T]");
    }
}

/* Returns the length of the operator's symbol at the scan, the longest that matches; 0 if none
 * does. */
static size_t operator_symbols(const struct cxx_scan *sc) {
    static const char *const symbols[] = {
        "<=>", "<<=", ">>=", "->*", "()", "[]", "<<", ">>", "<=", ">=", "->", "==", "!=", "&&",
        "||",  "++",  "--",  "+=",  "-=", "*=", "/=", "%=", "^=", "&=", "|=", "+",  "-",  "*",
        "/",   "%",   "^",   "&",   "|",  "~",  "!",  "=",  "<",  ">",  ",",  NULL};
    return names_starts_any(sc->s + sc->at, sc->len - sc->at, symbols);
}

/* Copies the type of a conversion operator, up to its argument list. */
static void scan_conversion_type(struct cxx_scan *sc) {
    strbuf_addc(sc->out, ' ');
    while (sc->at < sc->len) {
        char c = sc->s[sc->at];
        if (c == '(' && !cxx_rest_starts(sc, "(anonymous")) {
            break;
        }
        if (c == '(') {
            add_kept_group(sc);
        } else if (c == '<') {
            cxx_skip_group(sc);
            add_template(sc);
        } else if (c == '{') {
            scan_curly(sc);
        } else if (c == '[') {
            scan_square(sc);
        } else {
            strbuf_addc(sc->out, c);
            sc->at++;
        }
    }
}

/* Copies the whole name of an operator; the scan is at the word `operator`. */
static void scan_operator(struct cxx_scan *sc) {
    strbuf_addstr(sc->out, "operator");
    sc->at += 8;
    skip_spaces(sc);
    size_t n = operator_symbols(sc);
    if (n) {
        strbuf_add(sc->out, sc->s + sc->at, n);
        sc->at += n;
        size_t at = sc->at;
        skip_spaces(sc);
        /* Spaces are skipped only in front of template arguments: operator< <int>. */
        if (!cxx_rest_starts(sc, "<")) {
            sc->at = at;
        }
    } else if (cxx_rest_starts(sc, "\"\"")) {
        strbuf_addstr(sc->out, "\"\"");
        sc->at += 2;
        skip_spaces(sc);
    } else if (cxx_rest_starts(sc, "new") || cxx_rest_starts(sc, "delete") ||
               cxx_rest_starts(sc, "co_await")) {
        strbuf_addc(sc->out, ' ');
        while (sc->at < sc->len && names_is_ident(sc->s[sc->at])) {
            strbuf_addc(sc->out, sc->s[sc->at++]);
        }
        if (cxx_rest_starts(sc, "[]")) {
            strbuf_addstr(sc->out, "[]");
            sc->at += 2;
        }
    } else if (sc->at < sc->len) {
        scan_conversion_type(sc);
    }
}

static bool at_operator(const struct cxx_scan *sc) {
    size_t end = sc->at + 8;
    return cxx_rest_starts(sc, "operator") && (sc->at == 0 || !names_is_ident(sc->s[sc->at - 1])) &&
           end < sc->len && !names_is_ident(sc->s[end]) && sc->s[end] != '.' && sc->s[end] != ':';
}

/* Scans the next part of the name. False: the name is complete. */
static bool cxx_step(struct cxx_scan *sc) {
    char c = sc->s[sc->at];
    if (c == 'o' && at_operator(sc)) {
        scan_operator(sc);
        return true;
    }
    switch (c) {
    case '(':
        return scan_round(sc);
    case ')':
        return false;
    case '<':
        scan_angle(sc);
        return true;
    case '{':
        scan_curly(sc);
        return true;
    case '[':
        scan_square(sc);
        return true;
    case '\'':
        if (scan_quoted(sc)) {
            return true;
        }
        break;
    case ' ':
        skip_spaces(sc);
        if (!at_word_start(sc)) {
            strbuf_addc(sc->out, ' ');
            sc->word = sc->out->len;
        }
        return true;
    case '$':
        /* Clang on Darwin numbers its lambdas $_0, $_1 … */
        if (cxx_rest_starts(sc, "$_") && sc->at + 2 < sc->len &&
            names_is_digit(sc->s[sc->at + 2])) {
            for (sc->at += 2; sc->at < sc->len && names_is_digit(sc->s[sc->at]);) {
                sc->at++;
            }
            strbuf_addstr(sc->out, "{lambda}");
            return true;
        }
        break;
    default:
        break;
    }
    strbuf_addc(sc->out, c);
    sc->at++;
    return true;
}

/* Returns the length of a Go name without the numbers of its closures: main.serve.func1.2 ->
 * main.serve.func; the same for gowrap and deferwrap. The wrapper of a method that is used as a
 * value, main.(*Server).serve-fm, gets the method's name. */
static size_t trim_go(const char *s, size_t len) {
    if (len > 3 && memcmp(s + len - 3, "-fm", 3) == 0 && names_find(s, len, 1, ".") < len) {
        len -= 3;
    }
    static const char *const kinds[] = {".func", ".gowrap", ".deferwrap"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        size_t n = strlen(kinds[i]);
        for (size_t at = names_find(s, len, 1, kinds[i]); at < len;
             at = names_find(s, len, at + 1, kinds[i])) {
            size_t end = at + n;
            while (end < len && names_is_digit(s[end])) {
                end++;
            }
            if (end > at + n && (end == len || s[end] == '.' || s[end] == '-')) {
                return at + n;
            }
        }
    }
    return len;
}

void names_cxx(const char *s, size_t len, struct strbuf *out) {
    static const struct {
        const char *prefix, *shown;
    } prefixes[] = {{"virtual thunk to ", ""},
                    {"non-virtual thunk to ", ""},
                    {"covariant return thunk to ", ""},
                    {"hidden alias for ", ""},
                    {"transaction clone for ", ""},
                    {"invocation function for block in ", "block in "},
                    {"guard variable for ", "guard variable for "},
                    {"vtable for ", "vtable for "},
                    {"typeinfo name for ", "typeinfo name for "},
                    {"typeinfo for ", "typeinfo for "},
                    {"VTT for ", "VTT for "},
                    {"TLS init function for ", "TLS init function for "},
                    {"TLS wrapper function for ", "TLS wrapper function for "}};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        size_t n = strlen(prefixes[i].prefix);
        if (len > n && names_starts(s, len, prefixes[i].prefix)) {
            strbuf_addstr(out, prefixes[i].shown);
            s += n;
            len -= n;
            i = (size_t)-1; /* a thunk of a thunk has several prefixes */
        }
    }
    len = trim_go(s, len);
    struct cxx_scan sc = {.s = s, .len = len, .out = out, .base = out->len, .word = out->len};
    while (sc.at < sc.len && !out->failed && cxx_step(&sc)) {
    }
    while (out->len > sc.base && out->data[out->len - 1] == ' ') {
        strbuf_truncate(out, out->len - 1);
    }
}
