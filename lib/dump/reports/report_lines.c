/* The elements of Apple's text reports: lines, numbers, symbols and images. */
#include "dump/reports/report_private.h"

#include <string.h>

#include "base/parse.h"
#include "base/path.h"
#include "dump/dump.h"

const char *report_next_line(struct report *r, struct report_lines *t) {
    if (t->at >= t->end) {
        return NULL;
    }
    size_t left = (size_t)(t->end - t->at);
    const char *feed = memchr(t->at, '\n', left);
    size_t len = feed ? (size_t)(feed - t->at) : left;
    const char *start = t->at;
    t->at += len + (feed != NULL);
    t->number++;
    while (len > 0 && (start[len - 1] == '\r' || start[len - 1] == ' ' || start[len - 1] == '\t')) {
        len--;
    }
    return len > 0 ? report_text(r, start, len) : "";
}

const char *report_skip_blanks(const char *s) {
    while (*s == ' ' || *s == '\t') {
        s++;
    }
    return s;
}

const char *report_line_value(const char *line, const char *key) {
    size_t len = strlen(key);
    if (strncmp(line, key, len) != 0 || line[len] != ':') {
        return NULL;
    }
    const char *value = report_skip_blanks(line + len + 1);
    return *value ? value : NULL;
}

bool report_take_hex(const char **s, uint64_t *out) {
    size_t len = 2;
    if ((*s)[0] != '0' || (*s)[1] != 'x') {
        return false;
    }
    while (strchr("0123456789abcdefABCDEF", (*s)[len]) && (*s)[len]) {
        len++;
    }
    if (!parse_hex(*s, len, out)) {
        return false;
    }
    *s += len;
    return true;
}

bool report_take_decimal(const char **s, uint64_t *out) {
    size_t len = strspn(*s, "0123456789");
    if (!parse_u64(*s, len, UINT64_MAX, out)) {
        return false;
    }
    *s += len;
    return true;
}

const char *report_role(const char *text) {
    if (text && strncmp(text, "Foreground", 10) == 0) {
        return "foreground";
    }
    return text && strncmp(text, "Background", 10) == 0 ? "background" : NULL;
}

/* The text at s without blanks at its end; NULL for none, and for what Apple writes in its place.
 */
static const char *known_text(struct report *r, const char *s, size_t len) {
    while (len > 0 && s[len - 1] == ' ') {
        len--;
    }
    return len == 3 && memcmp(s, "???", 3) == 0 ? NULL : report_text(r, s, len);
}

void report_version(struct report *r, const char *value, bool build_first) {
    const char *open = strrchr(value, '('), *close = open ? strchr(open, ')') : NULL;
    size_t len = close && open > value ? (size_t)(open - value) : strcspn(value, " (");
    const char *first = known_text(r, value, len);
    const char *second = close ? known_text(r, open + 1, (size_t)(close - open - 1)) : NULL;
    bool swapped = build_first && close;
    r->app_version = swapped ? second : first;
    r->app_build = swapped ? first : second;
}

void report_symbol(struct report *r, uint64_t address, const char *s) {
    struct report_name name = {.address = address};
    size_t len = strlen(s);
    const char *open = len > 0 && s[len - 1] == ')' ? strrchr(s, '(') : NULL;
    const char *colon = open ? strrchr(open, ':') : NULL;
    uint64_t line = 0;
    if (colon && open > s && open[-1] == ' ' &&
        parse_u64(colon + 1, len - 1 - (size_t)(colon + 1 - s), UINT32_MAX, &line)) {
        name.file = line > 0 ? report_text(r, open + 1, (size_t)(colon - open - 1)) : NULL;
        name.line = name.file ? (uint32_t)line : 0;
        len = (size_t)(open - s);
    }
    while (len > 0 && s[len - 1] == ' ') {
        len--;
    }
    size_t digits = 0;
    while (digits < len && s[len - 1 - digits] >= '0' && s[len - 1 - digits] <= '9') {
        digits++;
    }
    size_t rest = len - digits;
    if (digits > 0 && rest > 3 && memcmp(s + rest - 3, " + ", 3) == 0 &&
        parse_u64(s + rest, digits, UINT64_MAX, &name.offset)) {
        len = rest - 3;
    }
    name.symbol = report_text(r, s, len);
    report_name(r, &name);
}

void report_text_image(struct report *r, const char *line) {
    struct report_image image = {0};
    const char *s = report_skip_blanks(line);
    uint64_t last;
    if (!report_take_hex(&s, &image.load) || *(s = report_skip_blanks(s)) != '-') {
        return;
    }
    s = report_skip_blanks(s + 1);
    if (strncmp(s, "???", 3) == 0) {
        s += 3; /* its end is not known */
    } else if (report_take_hex(&s, &last) && last >= image.load) {
        image.size = last - image.load < UINT64_MAX ? last - image.load + 1 : 0;
    } else {
        return;
    }
    if (image.load == 0) {
        return;
    }
    s = report_skip_blanks(s);
    image.in_app = *s == '+';
    s += image.in_app;
    const char *open = strchr(s, '<'), *close = open ? strchr(open, '>') : NULL;
    size_t len = close ? (size_t)(open - s) : strcspn(s, "/");
    if (close) {
        (void)parse_uuid(open + 1, (size_t)(close - open - 1), &image.id);
    }
    const char *path = report_skip_blanks(close ? close + 1 : s + len);
    image.path = *path ? path : NULL;
    const char *version = memchr(s, '(', len);
    len = version ? (size_t)(version - s) : len;
    while (len > 0 && (s[len - 1] == ' ' || s[len - 1] == '\t')) {
        len--;
    }
    size_t word = len;
    while (word > 0 && s[word - 1] != ' ' && s[word - 1] != '\t') {
        word--;
    }
    image.arch = report_code_type(word > 0 ? report_text(r, s + word, len - word) : NULL);
    len = image.arch ? word : len;
    while (len > 0 && s[len - 1] == ' ') {
        len--;
    }
    const char *base = path_name(image.path);
    image.name = base ? base : report_text(r, s, len);
    if (r->images.len < DUMP_IMAGES_MAX) {
        report_image(r, &image);
    }
}
