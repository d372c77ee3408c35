/* The conventions in frame names, and colours. */
#include "flame/frame_name.h"

#include <string.h>

#include "base/hash.h"

enum { HUES = 12, SHADES = 4, WARM_SHADES = 8 };

/* ---- the parts of a name ---- */

static char take_mark(const char *text, size_t *len) {
    const char *end = text + *len;
    if (*len > 4 && end[-4] == '_' && end[-3] == '[' && end[-1] == ']' &&
        (end[-2] == 'i' || end[-2] == 'k' || end[-2] == 'j')) {
        *len -= 4;
        return end[-2];
    }
    return 0;
}

/* Could these bytes be a module's name? MSVC's `anonymous namespace' and a shell's `command` are
 * not behind one. */
static bool is_module(const char *s, size_t len) {
    for (size_t i = 0; i < len; i++) {
        if (strchr(" ()<>[]{}:;,'\"", s[i])) { /* also a NUL */
            return false;
        }
    }
    return len > 0;
}

static bool is_hex(const char *s, size_t len) {
    if (len < 3 || s[0] != '0' || s[1] != 'x') {
        return false;
    }
    for (size_t i = 2; i < len; i++) {
        bool digit = (s[i] >= '0' && s[i] <= '9') || (s[i] >= 'a' && s[i] <= 'f') ||
                     (s[i] >= 'A' && s[i] <= 'F');
        if (!digit) {
            return false;
        }
    }
    return true;
}

static bool is_unresolved(const char *s, size_t len) {
    if (len == 0 || (len >= 2 && s[0] == '[' && s[len - 1] == ']')) {
        return true;
    }
    size_t plus = len;
    while (plus > 0 && s[plus - 1] != '+') {
        plus--;
    }
    return is_hex(s + plus, len - plus);
}

struct frame_name frame_name_split(const char *text, size_t len) {
    struct frame_name f = {0};
    f.mark = take_mark(text, &len);
    const char *tick = len ? memchr(text, '`', len) : NULL;
    size_t module_len = tick ? (size_t)(tick - text) : 0;
    if (tick && is_module(text, module_len)) {
        f.module = text;
        f.module_len = module_len;
        text += module_len + 1;
        len -= module_len + 1;
    }
    f.name = text;
    f.name_len = len;
    f.unresolved = is_unresolved(text, len);
    return f;
}

void frame_name_join(struct strbuf *out, const char *module, const char *name, bool inlined) {
    if (module && *module) {
        for (const char *c = module; *c; c++) {
            strbuf_addc(out, *c == '`' || strchr(" ()<>[]{}:;,'\"", *c) ? '_' : *c);
        }
        strbuf_addc(out, '`');
    }
    strbuf_addstr(out, name);
    if (inlined) {
        strbuf_addstr(out, "_[i]");
    }
}

/* ---- colours ---- */

static bool is_word(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           c == '$' || c == '-';
}

static size_t word_len(const char *s, size_t len) {
    size_t n = 0;
    while (n < len && is_word(s[n])) {
        n++;
    }
    return n;
}

/* The group that a name without a module belongs to; false if it says none. C++ and Rust: what
 * stands before the first "::"; Objective-C: the class; paths and packages: the first two words of
 * a/b/c. */
static bool find_group(const char *s, size_t len, const char **group, size_t *group_len) {
    if (len > 2 && (s[0] == '-' || s[0] == '+') && s[1] == '[') {
        *group = s + 2;
        *group_len = word_len(s + 2, len - 2);
        return *group_len > 0;
    }
    while (len > 0 && (*s == '<' || *s == '&' || *s == '(')) { /* <T as Trait>::f */
        s++;
        len--;
    }
    size_t n = word_len(s, len);
    *group = s;
    *group_len = n;
    if (n > 0 && n + 1 < len && s[n] == ':' && s[n + 1] == ':') {
        return true;
    }
    if (n > 0 && n < len && s[n] == '/') {
        size_t second = word_len(s + n + 1, len - n - 1);
        *group_len = n + 1 + second;
        return second > 0;
    }
    return false;
}

void frame_name_colour(const struct frame_name *f, char out[FRAME_COLOUR_SIZE]) {
    uint64_t shade = hash_bytes(f->name, f->name_len);
    const char *group = f->module;
    size_t group_len = f->module_len;
    out[2] = 0;
    if (f->unresolved) {
        out[0] = 'x';
        out[1] = '0';
    } else if (group || find_group(f->name, f->name_len, &group, &group_len)) {
        out[0] = (char)('a' + hash_bytes(group, group_len) % HUES);
        out[1] = (char)('0' + shade % SHADES);
    } else {
        out[0] = 'w';
        out[1] = (char)('0' + shade % WARM_SHADES);
    }
}
