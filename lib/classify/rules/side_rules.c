/* Writes, as text, rules that mark images as in-app or not-in-app. */
#include "classify/rules/side_rules.h"

#include <string.h>

#include "base/parse.h"

static const char *side_action(bool in_app) {
    return in_app ? "in-app" : "not-in-app";
}

void side_rules_add_glob(struct strbuf *out, bool in_app, const char *glob) {
    strbuf_addf(out, "%s * in \"", side_action(in_app));
    for (; *glob; glob++) {
        if (*glob == '"') {
            strbuf_addc(out, '\\');
        }
        strbuf_addc(out, *glob);
    }
    strbuf_addstr(out, "\"\n");
}

/* Finds the first word of the line that is an id. False: there is none. */
static bool find_id(const char *line, size_t len, char text[IMAGE_ID_TEXT]) {
    static const char digits[] = "0123456789abcdefABCDEF-";
    /* A shorter id could be a word that happens to have only hex letters. */
    enum { ID_DIGITS_MIN = 16 };
    for (size_t i = 0; i < len; i++) {
        size_t n = 0;
        while (i + n < len && line[i + n] && strchr(digits, line[i + n])) {
            n++;
        }
        struct image_id id;
        if (n >= ID_DIGITS_MIN &&
            (parse_uuid(line + i, n, &id) || parse_build_id(line + i, n, &id))) {
            image_id_text(&id, text);
            return true;
        }
        i += n;
    }
    return false;
}

enum st side_rules_add_ids(struct strbuf *out, bool in_app, const char *text, size_t len,
                           struct err *e) {
    size_t found = 0;
    for (size_t at = 0; at < len;) {
        const char *newline = memchr(text + at, '\n', len - at);
        size_t end = newline ? (size_t)(newline - text) : len;
        char id[IMAGE_ID_TEXT];
        if (find_id(text + at, end - at, id)) {
            strbuf_addf(out, "%s * in id:%s", side_action(in_app), id);
            found++;
        }
        strbuf_addc(out, '\n');
        at = end + 1;
    }
    if (strbuf_check(out, e) != ST_OK) {
        return ST_ERR;
    }
    return found ? ST_OK : ST_NONE;
}
