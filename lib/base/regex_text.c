/* Regular expressions that users type. */
#include "base/regex_text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The size to which a bracket's contents expand: all parts but the last, and the last. */
struct group_level {
    uint64_t before, last;
};

/* The end of a bracket expression that starts at s; "[]a]", "[^]a]" and "[[:alpha:]]" are whole
 * ones. */
static const char *skip_set(const char *s) {
    s++;
    s += *s == '^';
    s += *s == ']';
    while (*s && *s != ']') {
        bool class = s[0] == '[' && (s[1] == ':' || s[1] == '.' || s[1] == '=');
        const char close[] = {s[1], ']', 0};
        const char *end = class ? strstr(s + 2, close) : NULL;
        s = end ? end + 2 : s + 1;
    }
    return *s ? s + 1 : s;
}

/* The largest number of a repetition "{n,m}" at s; *end is set behind it. */
static uint64_t read_bound(const char *s, const char **end) {
    uint64_t most = 1, n = 0;
    for (s++; *s && *s != '}'; s++) {
        n = *s >= '0' && *s <= '9' && n <= REGEX_SIZE_MAX ? n * 10 + (uint64_t)(*s - '0') : n;
        n = *s == ',' ? 0 : n;
        most = n > most ? n : most;
    }
    *end = *s ? s + 1 : s;
    return most + 1;
}

static bool is_modest(const char *s) {
    struct group_level levels[REGEX_DEPTH_MAX] = {{0, 0}}, *l = levels;
    while (*s) {
        uint64_t times = 0;
        const char *next = s + 1;
        if (*s == '*' || *s == '+' || *s == '?') {
            times = 2;
        } else if (*s == '{') {
            times = read_bound(s, &next);
        }
        if (times > 0) {
            l->last *= times;
        } else if (*s == '(') {
            if (l == &levels[REGEX_DEPTH_MAX - 1]) {
                return false;
            }
            l->before += l->last;
            *++l = (struct group_level){0, 0};
        } else if (*s == ')' && l > levels) {
            uint64_t size = l->before + l->last + 1;
            (--l)->last = size;
        } else {
            if (*s == '[') {
                next = skip_set(s);
            } else if (*s == '\\' && s[1]) {
                next = s + 2;
            }
            l->before += l->last;
            l->last = 1;
        }
        if (l->before + l->last > REGEX_SIZE_MAX) {
            return false;
        }
        s = next;
    }
    return true;
}

enum st regex_compile(regex_t *out, const char *text, struct err *e) {
    char why[128];
    if (!is_modest(text)) {
        return err_set(e, ERR_USAGE, "no regular expression: too many repetitions");
    }
    int code = regcomp(out, text, REG_EXTENDED | REG_NOSUB);
    if (code == 0) {
        return ST_OK;
    }
    regerror(code, NULL, why, sizeof why);
    return code == REG_ESPACE ? err_nomem(e)
                              : err_set(e, ERR_USAGE, "no regular expression: %s", why);
}
