/* Splits and joins frame names. */
#include "flame/stacks/frame_name.h"

#include <string.h>

/* ---- the parts of a name ---- */

static char take_mark(const char *text, size_t *len) {
    const char *end = text + *len;
    if (*len > FRAME_MARK_LEN && end[-4] == '_' && end[-3] == '[' && end[-1] == ']' &&
        (end[-2] == 'i' || end[-2] == 'k' || end[-2] == 'j')) {
        *len -= FRAME_MARK_LEN;
        return end[-2];
    }
    return 0;
}

/* Could these bytes be a module's name? The text before the backtick of MSVC's `anonymous
 * namespace' or a shell's `command` is none. */
static bool is_module(const char *s, size_t len) {
    for (size_t i = 0; i < len; i++) {
        if (strchr(" ()<>[]{}:;,'\"", s[i])) { /* strchr also finds a NUL */
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

bool frame_is_inlined(const char *text, size_t len) {
    return take_mark(text, &len) == 'i';
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

void frame_name_module(struct strbuf *out, const char *module) {
    for (const char *c = module; *c; c++) {
        strbuf_addc(out, *c == '`' || strchr(" ()<>[]{}:;,'\"", *c) ? '_' : *c);
    }
}

void frame_name_join(struct strbuf *out, const char *module, const char *name, bool inlined) {
    if (module && *module) {
        frame_name_module(out, module);
        strbuf_addc(out, '`');
    }
    strbuf_addstr(out, name);
    if (inlined) {
        strbuf_addstr(out, "_[i]");
    }
}
