/* Folds what differs between two builds, or two runs, in names of code that a virtual machine runs:
 * the optimiser's marks of V8, and the numbers of Java's and Kotlin's lambdas and anonymous
 * classes. */
#include <string.h>

#include "names/names_private.h"

/* Appends a name of V8's profiles, "JS:*draw" or "LazyCompile:~draw", without the mark that says
 * how far the function was optimised. False: the name is not one of these. */
static bool fold_v8(const char *s, size_t len, struct strbuf *out) {
    static const struct {
        const char *kind, *shown;
        bool always; /* true: no other name begins so, with a mark or without */
    } kinds[] = {{"JS:", "JS:", true},
                 {"LazyCompile:", "JS:", true},
                 {"Function:", "JS:", false},
                 {"Script:", "Script:", false},
                 {"Eval:", "Eval:", false}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        size_t at = strlen(kinds[i].kind);
        if (!names_starts(s, len, kinds[i].kind) || at == len) {
            continue;
        }
        bool marked = s[at] && strchr("*^~+", s[at]);
        if (!marked && (!kinds[i].always || s[at] == ':')) {
            return false;
        }
        at += marked;
        at += marked && at < len && s[at] == '\'';
        strbuf_addstr(out, kinds[i].shown);
        strbuf_add(out, s + at, len - at);
        return true;
    }
    return false;
}

/* Returns the index behind the digits at s[at]. */
static size_t managed_skip_digits(const char *s, size_t len, size_t at) {
    while (at < len && names_is_digit(s[at])) {
        at++;
    }
    return at;
}

/* Returns the index behind the numbers of an anonymous class, "$1" or "$1$2", at s[at]; at if there
 * are none. */
static size_t skip_numbers(const char *s, size_t len, size_t at) {
    size_t end = at;
    while (end + 1 < len && s[end] == '$' && names_is_digit(s[end + 1])) {
        size_t next = managed_skip_digits(s, len, end + 1);
        if (next < len && s[next] != '$' && s[next] != '.') {
            break;
        }
        end = next;
    }
    return end;
}

/* Returns the length of the part that is one word of a Java name with dots: identifiers. */
static size_t java_length(const char *s, size_t len) {
    size_t at = 0;
    while (at < len && (names_is_ident(s[at]) || (s[at] && strchr(".$-<>", s[at])))) {
        at++;
    }
    return at;
}

/* Appends a Java or Kotlin name, Fetcher.lambda$load$0$Fetcher or Map$onCreate$1$2.invoke, without
 * numbers, and without the class that dexers append to a lambda's name. False: the name has none of
 * these. */
static bool fold_java(const char *s, size_t len, struct strbuf *out) {
    static const char lambda[] = "lambda$";
    size_t n = java_length(s, len), base = out->len, at = 0;
    const char *dot = memchr(s, '.', n), *mark = memchr(s, '$', n);
    bool folded = false;
    if (!dot || !mark || dot > mark) {
        return false;
    }
    while (at < n) {
        bool method =
            s[at] == 'l' && s[at ? at - 1 : 0] == '.' && names_starts(s + at, n - at, lambda);
        size_t behind = skip_numbers(s, n, at);
        if (method) {
            size_t first = at + sizeof lambda - 1;
            while (first < n && skip_numbers(s, n, first) == first) {
                first++;
            }
            strbuf_add(out, s + at, first - at);
            folded = folded || first < n;
            at = n;
        } else if (behind > at) {
            strbuf_addstr(out, "$_");
            folded = true;
            at = behind;
        } else {
            strbuf_addc(out, s[at++]);
        }
    }
    strbuf_add(out, s + n, len - n);
    if (!folded) {
        strbuf_truncate(out, base);
    }
    return folded;
}

bool names_fold_managed(const char *s, size_t len, struct strbuf *out) {
    return fold_v8(s, len, out) || fold_java(s, len, out);
}
