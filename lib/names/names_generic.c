/* Finds the type that a generic was made for: `shop::Item` of
 * `std::vector<shop::Item>::push_back(…)`. */
#include <string.h>

#include "base/parse.h"
#include "names/names.h"
#include "names/names_private.h"

/* Maximum number of bytes of a name that are read, a bound because nested brackets are read
 * repeatedly. */
enum { SCAN_MAX = 4096 };

/* Is the name a namespace or a module that comes with a language or a system? */
static bool is_library(const char *s, size_t len) {
    static const char *const roots[] = {
        "std",   "__gnu_cxx",  "__cxxabiv1", "abi",        "Swift",    "SwiftUI",      "Combine",
        "UIKit", "Foundation", "Dispatch",   "__C",        "__ObjC",   "CoreGraphics", "QuartzCore",
        "core",  "alloc",      "hashbrown",  "ObjectiveC", "CoreData", "_Concurrency"};
    size_t at;
    return PARSE_WORD(s, len, roots, &at);
}

/* Is the name a capital letter, perhaps with a number after it (`A`, `T1`), as a generic's own
 * parameter is called, which stands for any type? */
static bool is_parameter(const char *s, size_t len) {
    for (size_t i = 1; i < len; i++) {
        if (s[i] < '0' || s[i] > '9') {
            return false;
        }
    }
    return len > 0 && s[0] >= 'A' && s[0] <= 'Z';
}

/* Returns the index after the bracket that closes the one at `at`; `len` if none does. */
static size_t behind(const char *s, size_t len, size_t at) {
    size_t close = names_close(s, len, at);
    return close < len ? close + 1 : len;
}

/* Returns the index after the word at `at`, or after a compiler's name for an entity without a
 * name, `{lambda(int)#2}`; `at` if neither is there. */
static size_t behind_part(const char *s, size_t len, size_t at) {
    if (at < len && s[at] == '{') {
        return behind(s, len, at);
    }
    while (at < len && names_is_ident(s[at])) {
        at++;
    }
    return at;
}

/* Returns the index after the `::` or `.` at `at`; `at` if neither is there. */
static size_t behind_dots(const char *s, size_t len, size_t at) {
    if (at + 1 < len && s[at] == ':' && s[at + 1] == ':') {
        return at + 2;
    }
    return at < len && s[at] == '.' ? at + 1 : at;
}

/* Returns the index after the qualified name at `at`, such as `shop::start()::{lambda(int)#2}` or
 * `Shop.Cart<Shop.Item>.Row`, and sets *parts to the number of its parts. */
static size_t behind_path(const char *s, size_t len, size_t at, size_t *parts) {
    size_t end = at;
    *parts = 0;
    for (size_t next; (next = behind_part(s, len, at)) != at;) {
        ++*parts;
        end = next;
        if (end < len && s[end] == '<') {
            end = behind(s, len, end);
        }
        at = end;
        if (at < len && s[at] == '(') {
            /* An argument list belongs to the path only if another part follows it. */
            at = behind(s, len, at);
        }
        size_t dots = behind_dots(s, len, at);
        if (dots == at) {
            break;
        }
        at = dots;
    }
    return end;
}

/* Returns the index after a library's type such as `std::vector`, in front of its template
 * arguments, which the caller looks at next. */
static size_t behind_words(const char *s, size_t len, size_t at) {
    for (size_t next; (next = behind_part(s, len, at)) != at;) {
        at = behind_dots(s, len, next);
        if (at == next) {
            break;
        }
    }
    return at;
}

bool names_generic_for(const char *name, size_t len, const char **type, size_t *type_len) {
    size_t depth = 0, parts;
    len = len < SCAN_MAX ? len : SCAN_MAX;
    if (len && (name[0] == '-' || name[0] == '+')) {
        return false; /* in Objective-C names angle brackets hold protocols, not arguments */
    }
    for (size_t at = 0; at < len;) {
        if (!names_is_ident(name[at])) {
            depth += name[at] == '<';
            depth -= depth && name[at] == '>' && name[at - 1] != '-';
            at++;
            continue;
        }
        size_t word = behind_part(name, len, at), end = behind_path(name, len, at, &parts);
        if (word - at == 5 && memcmp(name + at, "where", 5) == 0) {
            return false; /* a `where` clause states conditions on parameters, not arguments */
        }
        if (depth && parts > 1 && !is_library(name + at, word - at) &&
            !is_parameter(name + at, word - at)) {
            *type = name + at;
            *type_len = end - at;
            return true;
        }
        at = behind_words(name, len, at);
    }
    return false;
}
