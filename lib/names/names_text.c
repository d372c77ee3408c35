/* Text helpers of lib/names, the bracket matcher, and the removal of suffixes that compilers and
 * linkers append. */
#include "names/names_private.h"

#include <stdint.h>
#include <string.h>

#include "base/parse.h"

/* Brackets nest at most this deep: no demangler prints more (libiberty stops at 2,048 levels of its
 * own recursion, which give far fewer brackets). Deeper text counts as inside of the brackets. */
enum { BRACKETS_MAX = 1024 };
/* A single suffix is searched for in at most this many bytes: a bound per step keeps the trimming
 * linear. */
enum { SUFFIX_MAX = 64 };

bool names_starts(const char *s, size_t len, const char *prefix) {
    size_t n = strlen(prefix);
    return len >= n && memcmp(s, prefix, n) == 0;
}

size_t names_starts_any(const char *s, size_t len, const char *const *words) {
    while (*words && !names_starts(s, len, *words)) {
        words++;
    }
    return *words ? strlen(*words) : 0;
}

bool names_ends(const char *s, size_t len, const char *suffix) {
    size_t n = strlen(suffix);
    return len >= n && memcmp(s + len - n, suffix, n) == 0;
}

size_t names_find(const char *s, size_t len, size_t from, const char *what) {
    size_t n = strlen(what);
    while (from < len && len - from >= n) {
        const char *hit = memchr(s + from, what[0], len - from - n + 1);
        if (!hit) {
            return len;
        }
        if (memcmp(hit, what, n) == 0) {
            return (size_t)(hit - s);
        }
        from = (size_t)(hit - s) + 1;
    }
    return len;
}

/* Is the < or > at s[at] part of an operator's name (operator<, operator->, operator<=>, ->)? */
static bool is_operator_sign(const char *s, size_t at) {
    if (s[at] == '>' && at > 0 && s[at - 1] == '-') {
        return true;
    }
    size_t from = at;
    while (from > 0 && at - from < 3 &&
           (s[from - 1] == '<' || s[from - 1] == '>' || s[from - 1] == '=')) {
        from--;
    }
    return at - from < 2 && names_ends(s, from, "operator");
}

size_t names_close(const char *s, size_t len, size_t open) {
    char stack[BRACKETS_MAX];
    size_t depth = 0;
    for (size_t i = open; i < len; i++) {
        char c = s[i], closes = 0;
        switch (c) {
        case '<':
            closes = is_operator_sign(s, i) && i != open ? 0 : '>';
            break;
        case '(':
            closes = ')';
            break;
        case '[':
            closes = ']';
            break;
        case '{':
            closes = '}';
            break;
        case '>':
            if (depth && stack[depth - 1] == '>' && !is_operator_sign(s, i)) {
                depth--;
            }
            break;
        case ')':
        case ']':
        case '}':
            /* A < that is still open at this closing bracket is a "less than" sign. */
            while (depth > 1 && stack[depth - 1] == '>') {
                depth--;
            }
            if (depth && stack[depth - 1] == c) {
                depth--;
            }
            break;
        default:
            break;
        }
        if (closes) {
            if (depth == BRACKETS_MAX) {
                return len;
            }
            stack[depth++] = closes;
        }
        if (depth == 0) {
            return i;
        }
    }
    return len;
}

static bool all_digits(const char *s, size_t len) {
    size_t i = 0;
    while (i < len && names_is_digit(s[i])) {
        i++;
    }
    return len > 0 && i == len;
}

static bool all_hex(const char *s, size_t len) {
    size_t i = 0;
    while (i < len &&
           (names_is_digit(s[i]) || (s[i] >= 'a' && s[i] <= 'f') || (s[i] >= 'A' && s[i] <= 'F'))) {
        i++;
    }
    return len > 0 && i == len;
}

/* Returns the index of the last c in s[0 … len), SIZE_MAX if there is none. */
static size_t last_of(const char *s, size_t len, char c) {
    while (len > 0 && s[len - 1] != c) {
        len--;
    }
    return len - 1;
}

/* Returns the length without a last dotted word such as ".cold", ".0" of ".part.0", ".llvm"; len if
 * there is none. is_native: the name is of C++ or Rust, where the words in `native` count, too, as
 * they do behind a ')'. */
static size_t trim_dotted(const char *s, size_t len, bool is_native) {
    /* No language uses these words as the last part of a dotted name. */
    static const char *const always[] = {
        "cold",         "part", "isra",   "constprop", "lto_priv", "localalias", "_omp_fn",
        "omp_outlined", "llvm", "__uniq", "cfi_jt",    "cfi",      "memprof"};
    /* These words are suffixes only after a C++ or Rust name: coroutine parts, inlined exits. */
    static const char *const native[] = {"resume", "destroy", "cleanup", "actor", "exit", "i"};
    size_t dot = len, at;
    while (dot > 0 && len - dot < SUFFIX_MAX && s[dot - 1] != '.') {
        dot--;
    }
    if (dot < 2 || s[dot - 1] != '.') {
        return len;
    }
    dot--;
    const char *word = s + dot + 1;
    size_t word_len = len - dot - 1;
    if (all_digits(word, word_len) || PARSE_WORD(word, word_len, always, &at)) {
        return dot;
    }
    if (all_hex(word, word_len) && (names_ends(s, dot, ".llvm") || names_ends(s, dot, ".__uniq"))) {
        return dot;
    }
    is_native = is_native || s[dot - 1] == ')';
    return is_native && PARSE_WORD(word, word_len, native, &at) ? dot : len;
}

/* Returns the length without a suffix as demanglers show it, [clone .cold], (.cold) or
 * with unmangled suffix ".123", and without the space in front of it; len if there is none. */
static size_t trim_shown(const char *s, size_t len) {
    static const char unmangled[] = " with unmangled suffix ";
    size_t at = len;
    if (s[len - 1] == ']' && (at = last_of(s, len, '[')) != SIZE_MAX) {
        return at > 1 && s[at - 1] == ' ' && names_starts(s + at, len - at, "[clone ") ? at - 1
                                                                                       : len;
    }
    if (s[len - 1] == ')' && (at = last_of(s, len, '(')) != SIZE_MAX) {
        return at > 1 && s[at - 1] == ' ' && s[at + 1] == '.' ? at - 1 : len;
    }
    if (s[len - 1] == '"' && (at = last_of(s, len - 1, '"')) != SIZE_MAX &&
        names_ends(s, at, unmangled) && at > sizeof unmangled - 1) {
        return at - (sizeof unmangled - 1);
    }
    return len;
}

/* Returns the length without a suffix after a mark: "@plt", "@@GLIBC_2.17", "$VARIANT$mp",
 * "$NOCANCEL", "::h0123456789abcdef". */
static size_t trim_marked(const char *s, size_t len) {
    size_t at = len;
    while (at > 0 && len - at < SUFFIX_MAX &&
           (names_is_ident(s[at - 1]) || (s[at - 1] && strchr(".+-", s[at - 1])))) {
        at--;
    }
    if (at > 1 && s[at - 1] == '@') {
        size_t from = at - 1;
        from -= s[from - 1] == '@';
        if (from > 0 && s[from - 1] != ' ' && s[from - 1] != '(' && s[from - 1] != '[') {
            return from;
        }
    }
    if (at > 9 && names_ends(s, at, "$VARIANT$")) {
        return at - 9;
    }
    /* Darwin's symbol variants: open$NOCANCEL, stat$INODE64, fputs$UNIX2003. */
    static const char *const variants[] = {"NOCANCEL", "INODE64", "UNIX2003", "DARWIN_EXTSN"};
    size_t variant;
    if (at > 1 && s[at - 1] == '$' && PARSE_WORD(s + at, len - at, variants, &variant)) {
        return at - 1;
    }
    if (len > 19 && names_starts(s + len - 19, 19, "::h") && all_hex(s + len - 16, 16)) {
        return len - 19;
    }
    return len;
}

size_t names_trim(const char *s, size_t len) {
    bool is_native = names_starts(s, len, "_Z") || names_find(s, len, 0, "::") < len;
    for (size_t was = len + 1; len < was && len > 0;) {
        was = len;
        if (s[len - 1] == ' ') {
            len--;
            continue;
        }
        len = trim_shown(s, len);
        len = trim_marked(s, len);
        len = trim_dotted(s, len, is_native);
    }
    return len;
}
