/* Finds the name that an image keeps in all its versions. */
#include <string.h>

#include "names/names.h"
#include "names/names_private.h"

static bool image_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Can the number from s[at] to the end be a library's version, "3" in "libgtk-3": does the name
 * begin with "lib", and has the number a dash in front and at most two digits? 32 and 64 cannot:
 * they are the bits of a processor. */
static bool is_dashed_number(const char *s, size_t len, size_t at) {
    bool bits = names_ends(s, len, "-32") || names_ends(s, len, "-64");
    return names_starts(s, len, "lib") && s[at - 1] == '-' && len - at <= 2 && !bits;
}

/* Returns the start of the version that ends s[0 … len): "libc-2.36" -> 4, "libfoo.1.2" -> 6,
 * "libgtk-3" -> 6, "python3.11" -> 6; len if there is no version. A name without an extension can
 * only have a version like the last one. A name that ended in ".dylib" cannot have one like the
 * last one ("libxml2.2.dylib"). */
static size_t version_start(const char *s, size_t len, const char *extension) {
    size_t at = len;
    while (at > 0 && (names_is_digit(s[at - 1]) || s[at - 1] == '.')) {
        at--;
    }
    if (at == len || at == 0) {
        return len;
    }
    bool dotted = s[at] != '.' && memchr(s + at, '.', len - at);
    if (dotted && image_letter(s[at - 1]) && strcmp(extension, ".dylib") != 0) {
        return at;
    }
    if (*extension && at > 1 &&
        ((dotted && s[at - 1] == '-') || (s[at] != '.' && is_dashed_number(s, len, at)))) {
        return at - 1;
    }
    return *extension && s[at] == '.' ? at : len;
}

/* Finds the number in the name of a library that its project has in all its libraries' names,
 * "libQt6Core": digits between letters, behind them a word that begins with a capital letter. Sets
 * *end to the end of the number and returns its start; len if there is none. */
static size_t project_version(const char *s, size_t len, size_t *end) {
    size_t at = names_starts(s, len, "lib") ? 3 : len;
    while (at < len && image_letter(s[at])) {
        at++;
    }
    *end = at;
    while (*end < len && names_is_digit(s[*end])) {
        (*end)++;
    }
    bool capital = *end < len && s[*end] >= 'A' && s[*end] <= 'Z';
    return at > 3 && *end > at && capital ? at : len;
}

/* Returns the length of a file's name without ".so", which a version may follow, or ".dylib", and
 * sets *extension to that; n, with *extension "", if the name has neither. */
static size_t image_stem_length(const char *s, size_t n, const char **extension) {
    /* Finds the last ".so" that only a version follows. */
    size_t tail = n;
    while (tail > 0 && (names_is_digit(s[tail - 1]) || s[tail - 1] == '.')) {
        tail--;
    }
    if (tail >= 3 && names_ends(s, tail, ".so")) {
        *extension = ".so";
        return tail - 3;
    }
    if (names_ends(s, n, ".dylib")) {
        *extension = ".dylib";
        return n - 6;
    }
    *extension = "";
    return n;
}

void names_image(const char *name, size_t len, struct strbuf *out) {
    static const char deleted[] = " (deleted)";
    size_t end = len;
    if (names_ends(name, end, deleted)) {
        end -= sizeof deleted - 1;
    }
    while (end > 1 && name[end - 1] == '/') {
        end--;
    }
    size_t start = end;
    while (start > 0 && name[start - 1] != '/') {
        start--;
    }
    const char *s = name + start, *extension;
    size_t n = end - start;
    if (n == 0) {
        strbuf_add(out, name, len);
        return;
    }
    size_t so = image_stem_length(s, n, &extension), behind = 0;
    so = *extension ? names_find(s, so, 1, ".cpython-") : so; /* a module for one Python */
    size_t stem = version_start(s, so, extension);
    stem = stem == 0 ? so : stem;
    size_t number = *extension ? project_version(s, stem, &behind) : stem;
    strbuf_add(out, s, number);
    if (number < stem) {
        strbuf_add(out, s + behind, stem - behind);
    }
    strbuf_addstr(out, extension);
}
