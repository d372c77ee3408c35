/* Parses the elements of Apple's text reports: lines, numbers, symbols and images. */
#include "dump/reports/report_private.h"

#include <string.h>

#include "base/parse.h"
#include "base/path.h"
#include "dump/dump.h"

struct report_lines report_lines_of(struct span text) {
    struct report_lines t = {.at = text.p, .end = text.end};
    const char *line = text.p, *p = text.p;
    while (p < text.end && strchr(" \t\r\n", *p) && *p) {
        line = *p == '\n' ? p + 1 : line;
        p++;
    }
    t.indent = (size_t)(p - line);
    return t;
}

/* Is the line one of those that mark code in Markdown: "```text", "~~~", or a backtick alone? */
static bool is_code_mark(const char *s, size_t len) {
    while (len > 0 && (*s == ' ' || *s == '\t')) {
        s++;
        len--;
    }
    return (len == 1 && *s == '`') ||
           (len >= 3 && (memcmp(s, "```", 3) == 0 || memcmp(s, "~~~", 3) == 0));
}

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
    for (size_t i = 0; i < t->indent && len > 0 && (*start == ' ' || *start == '\t'); i++) {
        start++;
        len--;
    }
    while (len > 0 && (start[len - 1] == '\r' || start[len - 1] == ' ' || start[len - 1] == '\t')) {
        len--;
    }
    return len > 0 && !is_code_mark(start, len) ? report_text(r, start, len) : "";
}

const char *report_skip_blanks(const char *s) {
    while (*s == ' ' || *s == '\t') {
        s++;
    }
    return s;
}

bool report_is_prose(const char *line, bool blank) {
    return blank && *line && report_skip_blanks(line) == line && !strstr(line, "[0x");
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

/* Returns the text at s without trailing blanks; NULL if it is empty or Apple's "???". */
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

/* Returns the length of NAME in "NAME + 24" or "NAME + 0x18", and sets *offset to the number; of
 * any other text returns the whole length. */
static size_t cut_offset(const char *s, size_t len, uint64_t *offset) {
    static const char hex[] = "x0";
    size_t digits = 0;
    while (digits < len && strchr("0123456789abcdefABCDEF", s[len - 1 - digits])) {
        digits++;
    }
    const size_t marks =
        digits + 1 < len && s[len - 1 - digits] == hex[0] && s[len - 2 - digits] == hex[1]
            ? digits + 2
            : digits;
    const size_t rest = len - marks;
    if (digits == 0 || rest <= 3 || memcmp(s + rest - 3, " + ", 3) != 0) {
        return len;
    }
    bool read = marks > digits ? parse_hex(s + rest, marks, offset)
                               : parse_u64(s + rest, digits, UINT64_MAX, offset);
    return read ? rest - 3 : len;
}

static size_t cut_blanks(const char *s, size_t len) {
    while (len > 0 && s[len - 1] == ' ') {
        len--;
    }
    return len;
}

/* Cuts the mark of an inlined function, and blanks, off the end of a symbol. */
static size_t cut_inlined(const char *s, size_t len, bool *inlined) {
    static const char mark[] = " [inlined]";
    const size_t size = sizeof mark - 1;
    len = cut_blanks(s, len);
    *inlined = len > size && memcmp(s + len - size, mark, size) == 0;
    return *inlined ? cut_blanks(s, len - size) : len;
}

const char *report_atos_tail(const char *s) {
    static const char in[] = " (in ";
    const char *at = strstr(s, in);
    const char *close = at ? strchr(at, ')') : NULL;
    return close && (strncmp(close, ") (", 3) == 0 || strncmp(close, ") + ", 4) == 0) ? close + 1
                                                                                      : NULL;
}

uint64_t report_symbol(struct report *r, uint64_t address, const char *s) {
    struct report_name name = {.address = address};
    const char *tail = report_atos_tail(s);
    if (tail) {
        s = report_join(r, report_text(r, s, (size_t)(strstr(s, " (in ") - s)), "", tail);
    }
    if (!s) {
        return 0;
    }
    bool behind; /* the mark of an inlined function stands after file and line */
    size_t len = cut_inlined(s, strlen(s), &behind);
    const char *rest = s;
    uint64_t number;
    if (report_take_hex(&rest, &number) && (*rest == 0 || *rest == ' ')) {
        /* Atos writes the address itself as the symbol if it does not know the function. */
        return 0;
    }
    const char *open = len > 0 && s[len - 1] == ')' ? strrchr(s, '(') : NULL;
    const char *colon = open ? strrchr(open, ':') : NULL;
    const size_t digits = colon ? len - 1 - (size_t)(colon + 1 - s) : 0;
    uint64_t line = 0;
    /* Xcode writes "(:-1)" where there is no source line */
    bool none = digits == 2 && memcmp(colon + 1, "-1", 2) == 0;
    if (colon && open > s && open[-1] == ' ' &&
        (none || parse_u64(colon + 1, digits, UINT32_MAX, &line))) {
        name.file = line > 0 ? report_text(r, open + 1, (size_t)(colon - open - 1)) : NULL;
        name.line = name.file ? (uint32_t)line : 0;
        len = (size_t)(open - s);
    }
    len = cut_inlined(s, len, &name.inlined);
    name.inlined = name.inlined || behind;
    len = cut_offset(s, len, &name.offset);
    name.symbol = report_text(r, s, len);
    return report_name(r, &name);
}

bool report_begins_images(const char *line) {
    static const char words[] = "Binary Images";
    if (strncmp(line, words, sizeof words - 1) != 0) {
        return false;
    }
    const char *s = report_skip_blanks(line + sizeof words - 1);
    const char *close = *s == '(' ? strchr(s, ')') : NULL;
    s = close ? report_skip_blanks(close + 1) : s;
    return *s == ':';
}

/* Adds the image of a line; false: the line is not that of an image. True, too, for an image that
 * is left out: the kernel's, an image at address 0, or one past DUMP_IMAGES_MAX. */
static bool add_text_image(struct report *r, const char *line) {
    struct report_image image = {0};
    const char *s = report_skip_blanks(line);
    uint64_t last;
    if (*s == '*') {
        return true; /* spindump marks the kernel's images so */
    }
    if (!report_take_hex(&s, &image.load) || *(s = report_skip_blanks(s)) != '-') {
        return false;
    }
    s = report_skip_blanks(s + 1);
    if (strncmp(s, "???", 3) == 0) {
        s += 3; /* the image's end is not known */
    } else if (report_take_hex(&s, &last) && last >= image.load) {
        image.size = last - image.load < UINT64_MAX ? last - image.load + 1 : 0;
    } else {
        return false;
    }
    if (image.load == 0) {
        return true;
    }
    s = report_skip_blanks(s);
    bool marked = *s == '+';
    s += marked;
    image.in_app = marked && strncmp(s, "com.apple.", 10) != 0;
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
    return true;
}

/* ---- the list of images ---- */

/* Does a line that cannot be read have an address or a UUID, as the lines of images do? */
static bool was_image(const char *line) {
    struct image_id id = {0};
    const char *open = strchr(line, '<'), *close = open ? strchr(open, '>') : NULL;
    return strstr(line, "0x") || (close && parse_uuid(open + 1, (size_t)(close - open - 1), &id));
}

void report_end_image_lines(struct report *r, struct report_image_lines *list) {
    if (list->line && add_text_image(r, list->line)) {
        list->any = true;
    } else if (list->line) {
        r->images_unread += !list->ended && was_image(list->line);
    }
    list->line = NULL;
}

void report_image_line(struct report *r, struct report_image_lines *list, const char *line) {
    const char *s = report_skip_blanks(line);
    if (list->line && *s && strncmp(s, "0x", 2) != 0 && *s != '*' && !strchr(list->line, '/') &&
        (*s == '<' || *s == '/')) {
        list->line = report_join(r, list->line, " ", s); /* mail folds a line at a blank */
        return;
    }
    const char *path = list->line ? strchr(list->line, '/') : NULL;
    const char last = path ? path[strlen(path) - 1] : 0;
    if (*s && strncmp(s, "0x", 2) != 0 && (last == '-' || last == '/')) {
        /* Mail also folds a line at a hyphen or slash of the path. */
        list->line = report_join(r, list->line, "", s);
        return;
    }
    report_end_image_lines(r, list);
    list->line = *s ? s : NULL;
    list->ended = list->ended || (!*s && list->any);
}
