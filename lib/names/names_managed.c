/* Folds what differs between two builds, or two runs, in names of code that a virtual machine runs:
 * the optimiser's marks and the positions of V8, the numbers of lambdas and anonymous classes of
 * Java, Kotlin and C#, what Kotlin's compiler adds to a function's name, Dart's nested closures,
 * and Python's comprehensions. */
#include <string.h>

#include "names/names_private.h"

/* Returns the index behind the digits at s[at]. */
static size_t managed_skip_digits(const char *s, size_t len, size_t at) {
    while (at < len && names_is_digit(s[at])) {
        at++;
    }
    return at;
}

/* Returns the length of the text without the line and column at its end, ":148" or ":148:16". */
static size_t v8_without_position(const char *s, size_t len) {
    size_t end = len;
    for (int numbers = 0; numbers < 2; numbers++) {
        size_t digits = end;
        while (digits > 0 && names_is_digit(s[digits - 1])) {
            digits--;
        }
        if (digits == end || digits < 2 || s[digits - 1] != ':') {
            break;
        }
        end = digits - 1;
    }
    return end;
}

/* Appends "draw file:///home/ann/app/src/map.js:12:3", the rest of a name of V8's profiles behind
 * its mark, as "draw src/map.js": lines move from one version to the next, and where the app was
 * installed differs between users. */
static void add_v8_place(const char *s, size_t len, struct strbuf *out) {
    size_t space = names_find(s, len, 0, " "), end = v8_without_position(s, len);
    if (space >= end) {
        strbuf_add(out, s, len); /* there is no place */
        return;
    }
    size_t from = end;
    for (int parts = 0; from > space + 1; from--) {
        parts += s[from - 1] == '/' || s[from - 1] == '\\';
        if (parts == 2) {
            break;
        }
    }
    strbuf_add(out, s, space + 1);
    strbuf_add(out, s + from, end - from);
}

/* Appends a name of V8's profiles, "JS:*draw" or "LazyCompile:~draw", without the mark that says
 * how far the function was optimised, without its position in the file, and with "JS:" for
 * "LazyCompile:" and "Function:". False: the name begins with none of `kinds`, or with one that is
 * not `always` and has no mark after it. */
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
        add_v8_place(s + at, len - at, out);
        return true;
    }
    return false;
}

/* Returns the index behind the numbers of an anonymous class, "$1" or "$1$2", at s[at]; at if there
 * are none. Each number must be followed by '$', '.' or the end of the text. */
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

/* Returns how many bytes at the start of the text belong to a Java name with dots: bytes of
 * identifiers, and . $ - < >. */
static size_t java_length(const char *s, size_t len) {
    size_t at = 0;
    while (at < len && (names_is_ident(s[at]) || (s[at] && strchr(".$-<>", s[at])))) {
        at++;
    }
    return at;
}

/* Returns the index behind the number of a composable lambda, "lambda-12" or "lambda$-12", at
 * s[at]; at if there is none. */
static size_t skip_composable(const char *s, size_t len, size_t at) {
    static const char *const words[] = {"lambda$-", "lambda-", NULL};
    size_t first = at + names_starts_any(s + at, len - at, words);
    size_t end = first > at ? managed_skip_digits(s, len, first) : at;
    return end > first ? end : at;
}

/* Is the text what Kotlin appends to the name of an internal function in an Android build: '$' and
 * the module, which is the Gradle project, '_' and the build's variant, app_release or
 * app_freeDebug? The variant must end in debug or release, capitalised or not. */
static bool managed_is_module(const char *s, size_t len) {
    static const char *const variants[] = {"debug", "Debug", "release", "Release", NULL};
    if (len < 2 || s[0] != '$' || !memchr(s, '_', len)) {
        return false;
    }
    for (size_t i = 1; i < len; i++) {
        if (!names_is_ident(s[i])) {
            return false;
        }
    }
    for (size_t i = 0; variants[i]; i++) {
        if (names_ends(s, len, variants[i])) {
            return true;
        }
    }
    return false;
}

/* Returns the length of a Java or Kotlin name without what Kotlin's compiler adds to the function's
 * name: load$default passes default arguments to load, load$app_debug is an internal load. */
static size_t kotlin_length(const char *s, size_t len) {
    static const char bridge[] = "$default";
    size_t method = len;
    while (method > 0 && s[method - 1] != '.') {
        method--;
    }
    if (names_ends(s + method, len - method, bridge) && len - method > sizeof bridge - 1) {
        len -= sizeof bridge - 1;
    }
    for (size_t i = len; i-- > method + 1;) {
        if (s[i] == '$') {
            return managed_is_module(s + i, len - i) ? i : len;
        }
    }
    return len;
}

/* Returns the index behind the numbers at s[at] that a name of Java or Kotlin is folded without,
 * and appends what stands for them; at if there are none. */
static size_t fold_numbers(const char *s, size_t len, size_t at, struct strbuf *out) {
    size_t behind = skip_composable(s, len, at);
    if (behind > at) {
        strbuf_addstr(out, "lambda-_");
        return behind;
    }
    behind = skip_numbers(s, len, at);
    if (behind > at) {
        strbuf_addstr(out, "$_");
    }
    return behind;
}

/* Returns the length of "lambda$NAME", the name that Java's compiler gives to a lambda in a
 * function, without the number and the class that follow; 0 = none is at s[at] after a '.'. */
static size_t lambda_length(const char *s, size_t len, size_t at) {
    static const char lambda[] = "lambda$";
    size_t first = at + sizeof lambda - 1;
    if (at == 0 || s[at - 1] != '.' || !names_starts(s + at, len - at, lambda)) {
        return 0;
    }
    while (first < len && skip_numbers(s, len, first) == first) {
        first++;
    }
    return first - at;
}

/* Appends a Java or Kotlin name, Fetcher.lambda$load$0$Fetcher or Map$onCreate$1$2.invoke, without
 * numbers, without the class that dexers append to a lambda's name, and without what Kotlin's
 * compiler adds to a function's. False: the name has none of these. */
static bool fold_java(const char *s, size_t len, struct strbuf *out) {
    size_t n = java_length(s, len), base = out->len, at = 0;
    const char *dot = memchr(s, '.', n), *mark = memchr(s, '$', n);
    if (!dot || !mark || dot > mark) {
        return false;
    }
    size_t kept = kotlin_length(s, n);
    bool folded = kept < n;
    while (at < kept) {
        size_t composable = skip_composable(s, kept, at);
        size_t lambda = composable > at ? 0 : lambda_length(s, kept, at);
        size_t behind = lambda ? at : fold_numbers(s, kept, at, out);
        if (lambda) {
            strbuf_add(out, s + at, lambda);
            folded = folded || at + lambda < kept;
            at = kept;
        } else if (behind > at) {
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

/* Returns the index behind numbers such as "7" or "4_0" at s[at]; at if there are none. */
static size_t skip_ordinals(const char *s, size_t len, size_t at) {
    size_t end = managed_skip_digits(s, len, at);
    while (end > at && end + 1 < len && s[end] == '_' && names_is_digit(s[end + 1])) {
        end = managed_skip_digits(s, len, end + 1);
    }
    return end;
}

/* Returns the index of the numbers that C#'s compiler puts into the name of a lambda, a local
 * function, an iterator or async method, or a closure's class, whose mark begins at s[at]: the text
 * from at up to that index stays. 0 = no mark with numbers begins there. */
static size_t csharp_ordinals(const char *s, size_t len, size_t at) {
    /* ">" is "U3E" in names that il2cpp writes in C++. */
    static const char *const marks[] = {
        ">b__", ">d__", ">c__DisplayClass", "U3Eb__", "U3Ed__", "U3Ec__DisplayClass", NULL};
    static const char *const locals[] = {">g__", "U3Eg__", NULL};
    size_t behind = at + names_starts_any(s + at, len - at, marks);
    if (behind == at) {
        behind = at + names_starts_any(s + at, len - at, locals);
        const char *bar = behind > at ? memchr(s + behind, '|', len - behind) : NULL;
        behind = bar ? (size_t)(bar - s) + 1 : at;
    }
    return behind > at && skip_ordinals(s, len, behind) > behind ? behind : 0;
}

/* Appends a name of C# without the ordinals of its lambdas, <Load>b__4_0 -> <Load>b__, which count
 * all that the class has. False: the name has none. */
static bool fold_csharp(const char *s, size_t len, struct strbuf *out) {
    size_t copied = 0;
    for (size_t at = 0; at < len; at++) {
        size_t numbers = s[at] == '>' || s[at] == 'U' ? csharp_ordinals(s, len, at) : 0;
        if (numbers) {
            strbuf_add(out, s + copied, numbers - copied);
            copied = skip_ordinals(s, len, numbers);
            at = copied - 1;
        }
    }
    if (copied) {
        strbuf_add(out, s + copied, len - copied);
    }
    return copied > 0;
}

/* Appends a name of Dart without the closures that are written in a closure, load.<anonymous
 * closure>.<anonymous closure> -> load.<anonymous closure>: how deep they nest changes with the
 * code around them. False: none nest. */
static bool fold_dart(const char *s, size_t len, struct strbuf *out) {
    static const char closure[] = ".<anonymous closure>", nested[] = ".<anonymous closure>.<";
    size_t at = names_find(s, len, 0, nested), n = sizeof closure - 1;
    if (at >= len) {
        return false;
    }
    size_t end = at + n;
    while (names_starts(s + end, len - end, closure)) {
        end += n;
    }
    if (end == at + n) {
        return false;
    }
    strbuf_add(out, s, at + n);
    strbuf_add(out, s + end, len - end);
    return true;
}

/* Returns the index behind the comprehension ".<locals>.<listcomp>" at s[at], or one like it; at if
 * there is none. */
static size_t skip_comprehension(const char *s, size_t len, size_t at) {
    static const char *const kinds[] = {".<locals>.<listcomp>", ".<locals>.<dictcomp>",
                                        ".<locals>.<setcomp>", NULL};
    size_t end = at + names_starts_any(s + at, len - at, kinds);
    return end == len || s[end] == '.' ? end : at;
}

/* Appends a name of Python without its comprehensions, load.<locals>.<listcomp> -> load: since 3.12
 * they run in the function that they are written in (PEP 709). False: it has none. */
static bool fold_python(const char *s, size_t len, struct strbuf *out) {
    size_t copied = 0;
    for (size_t at = 1; at < len; at++) {
        size_t end = s[at] == '.' ? skip_comprehension(s, len, at) : at;
        if (end > at) {
            strbuf_add(out, s + copied, at - copied);
            copied = end;
            at = end - 1;
        }
    }
    if (copied) {
        strbuf_add(out, s + copied, len - copied);
    }
    return copied > 0;
}

bool names_fold_managed(const char *s, size_t len, struct strbuf *out) {
    return fold_v8(s, len, out) || fold_dart(s, len, out) || fold_python(s, len, out) ||
           fold_csharp(s, len, out) || fold_java(s, len, out);
}
