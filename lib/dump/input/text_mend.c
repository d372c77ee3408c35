/* Restores texts that were quoted, double-spaced, numbered, indented, pasted or wrapped in JSON. */
#include "dump/input/text_mend.h"

#include <stddef.h>
#include <string.h>

#include "base/utf8.h"
#include "dump/input/text_characters.h"
#include "dump/json/token_private.h"
#include "dump/reports/report_span_private.h"

/* ---- lines ---- */

static bool is_empty_line(struct span line) {
    while (line.p < line.end) {
        size_t space = text_space_at(line.p, line.end);
        if (space == 0 && !line_is_blank_at(line.p)) {
            return false;
        }
        line.p += space ? space : 1;
    }
    return true;
}

static bool is_quoted(struct span line) {
    return line.p < line.end && *line.p == '>';
}

/* Returns the line without its first '>' and the one blank that may follow. */
static struct span behind_mark(struct span line) {
    line.p++;
    size_t space = text_space_at(line.p, line.end);
    line.p += space ? space : (size_t)(line.p < line.end && *line.p == ' ');
    return line;
}

/* Returns the line without the '>' marks in front of it, at most `depth` of them. */
static struct span unquote(struct span line, size_t depth) {
    for (size_t i = 0; i < depth && is_quoted(line); i++) {
        line = behind_mark(line);
    }
    return line;
}

/* Returns the number of '>' marks in front of the line: each reply adds one. */
static size_t quote_depth(struct span line) {
    size_t depth = 0;
    for (; is_quoted(line); depth++) {
        line = behind_mark(line);
    }
    return depth;
}

/* Returns what follows `"NAME": "`, with or without blanks, if that stands at p; else NULL. */
static const char *behind_member(const char *p, const char *end, const char *name) {
    size_t len = strlen(name);
    if ((size_t)(end - p) < len + 2 || *p != '"' || memcmp(p + 1, name, len) != 0 ||
        p[len + 1] != '"') {
        return NULL;
    }
    bool colon = false;
    for (p += len + 2; p < end && (*p == ' ' || (*p == ':' && !colon)); p++) {
        colon = colon || *p == ':';
    }
    return colon && p < end && *p == '"' ? p + 1 : NULL;
}

/* Returns the start of the logged text, after its opening quote, in a line of Docker's json-file
 * driver; NULL: the line has another form. */
static const char *log_text(struct span line) {
    if (line.p == line.end || *line.p != '{') {
        return NULL;
    }
    const char *p = line.p + 1;
    while (p < line.end && *p == ' ') {
        p++;
    }
    return behind_member(p, line.end, "log");
}

bool text_is_wrapped(struct span line) {
    line = line_trim(line);
    const char *p = log_text(line);
    if (!p || line.end[-1] != '}') {
        return false;
    }
    while (p < line.end && (p = memchr(p, '"', (size_t)(line.end - p))) != NULL) {
        const char *value = behind_member(p, line.end, "stream");
        if (value && line.end - value > 3 && memcmp(value, "std", 3) == 0) {
            return true;
        }
        p++;
    }
    return false;
}

bool text_begins_json(struct span line) {
    if (line.p == line.end || (*line.p != '{' && *line.p != '[') || text_is_wrapped(line)) {
        return false;
    }
    const char *inside = *line.p == '{' ? "\"}" : "[{]";
    do {
        line.p++;
    } while (line.p < line.end && (*line.p == ' ' || *line.p == '\t' || *line.p == '\r'));
    return line.p == line.end || *line.p == '\n' || (*line.p && strchr(inside, *line.p));
}

/* Decodes the logged text of a line of Docker's json-file driver into *room, and returns it
 * without its line feed. */
static struct span unwrap(struct span line, struct strbuf *room) {
    struct token t = {0};
    const char *p = log_text(line);
    strbuf_clear(room);
    while (p && p < line.end && *p != '"') {
        uint32_t c;
        bool raw;
        const char *next = token_character(p, line.end, &c, &raw, &t);
        char bytes[4];
        if (next && raw) {
            strbuf_add(room, p, (size_t)(next - p));
        } else if (next) {
            strbuf_add(room, bytes, utf8_encode(c, bytes));
        }
        p = next;
    }
    struct span text = {strbuf_cstr(room), strbuf_cstr(room) + room->len};
    while (text.p < text.end && (text.end[-1] == '\n' || text.end[-1] == '\r')) {
        text.end--;
    }
    return text;
}

/* ---- the text in front of a line ---- */

/* Takes the number, of at most 7 digits, in front of a line, with the blanks before it; false:
 * there is none. */
static bool take_front_number(struct span *line, uint64_t *out) {
    enum { DIGITS_MAX = 7 };
    const char *p = line->p;
    while (p < line->end && *p == ' ') {
        p++;
    }
    size_t digits = 0;
    for (*out = 0; p < line->end && *p >= '0' && *p <= '9' && digits <= DIGITS_MAX; p++) {
        *out = *out * 10 + (uint64_t)(*p - '0');
        digits++;
    }
    line->p = p;
    return digits > 0 && digits <= DIGITS_MAX;
}

/* Returns how many characters separate the line number from the line in a text whose first eight
 * lines, empty ones apart, are numbered, as by "cat -n", "grep -n" and editors; 0: the lines are
 * not numbered. Numbers that only some of the lines have, such as those of frames, do not count. */
static size_t number_gap(struct span text, size_t quoted, bool whole, bool *more) {
    enum { LINES = 8, GAP_MAX = 4 };
    struct span line;
    uint64_t number, next = 0;
    size_t gap = 0, count = 0;
    bool ended = false;
    while (count < LINES && line_take(&text, &line, &ended)) {
        if (!ended && !whole) {
            break;
        }
        line = unquote(line, quoted);
        if (count > 0 && is_empty_line(line)) {
            continue;
        }
        if (!take_front_number(&line, &number) || (count > 0 && number != next)) {
            return 0;
        }
        if (count == 0) {
            gap = line.p < line.end && (*line.p == '\t' || *line.p == ':');
            while (gap == 0 && line.p + gap < line.end && line.p[gap] == ' ') {
                gap++;
            }
        }
        next = number + 1;
        count++;
    }
    if (gap == 0 || gap > GAP_MAX) {
        return 0;
    }
    *more = *more || (count < LINES && !whole);
    return count == LINES ? gap : 0;
}

/* Cuts the expected line number, and the characters between it and the line, off the front of the
 * line; false: the line has another number, or none. */
static bool cut_number(struct text_mend *m, struct span *line) {
    uint64_t number;
    if (!take_front_number(line, &number) || (m->begun && number != m->number)) {
        return false;
    }
    m->number = number + 1;
    for (size_t i = 0; i < m->numbered && line->p < line->end; i++) {
        if (!line_is_blank_at(line->p) && *line->p != ':') {
            return false;
        }
        line->p++;
    }
    return true;
}

static const char *const tags[] = {"pre", "code"};

/* Returns the length of the tag <pre>, <code>, or <pre> and then <code> in front of a line; 0:
 * there is none. */
static size_t tags_len(struct span line) {
    const char *p = line.p;
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++) {
        size_t len = strlen(tags[i]);
        if ((size_t)(line.end - p) > len + 1 && *p == '<' && memcmp(p + 1, tags[i], len) == 0 &&
            (p[len + 1] == '>' || p[len + 1] == ' ')) {
            const char *close = memchr(p, '>', (size_t)(line.end - p));
            p = close ? close + 1 : p;
        }
    }
    return (size_t)(p - line.p);
}

/* Returns the length of what begins code in front of a line's text: the tags <pre> and <code>, or
 * up to three backticks and the blanks behind them; 0: nothing of that kind is there. A single word
 * behind the backticks is not code, but names the language of the lines that follow. */
static size_t code_len(struct span line) {
    enum { TICKS_MAX = 3 };
    size_t ticks = 0;
    while (ticks < TICKS_MAX && line.p + ticks < line.end && line.p[ticks] == '`') {
        ticks++;
    }
    const struct span rest = line_trim((struct span){line.p + ticks, line.end});
    const char *blank = rest.p;
    while (blank < rest.end && *blank != ' ') {
        blank++;
    }
    return ticks > 0 && blank < rest.end ? (size_t)(rest.p - line.p) : tags_len(line);
}

/* Cuts the tags </code> and </pre> off the end of a line. */
static struct span without_end_tags(struct span line) {
    struct span bare = line_trim(line);
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++) {
        size_t len = strlen(tags[i]) + 3;
        if (line_len(bare) >= len && bare.end[-1] == '>' && memcmp(bare.end - len, "</", 2) == 0 &&
            memcmp(bare.end - len + 2, tags[i], len - 3) == 0) {
            bare.end -= len;
            line.end = bare.end;
        }
    }
    return line;
}

static size_t blanks_of(struct span line) {
    const char *p = line.p;
    while (p < line.end && (*p == ' ' || *p == '\t')) {
        p++;
    }
    return p < line.end ? (size_t)(p - line.p) : 0;
}

enum { LIST_MARK = 2 /* bytes of "- " */ };

/* Is the first line an item of a list, "- Process: …", to which the next line belongs? */
static bool is_list_item(struct span first, struct span rest, size_t quoted) {
    struct span next;
    bool mark = line_has_head(first, "- ") || line_has_head(first, "* ");
    while (mark && line_take(&rest, &next, NULL)) {
        next = unquote(next, quoted);
        if (!is_empty_line(next)) {
            return blanks_of(next) >= LIST_MARK;
        }
    }
    return false;
}

/* Sets the head and indent of m: the tags, the list mark or the blanks in front of the first line,
 * after its '>' marks and number. */
static void find_front(struct text_mend *m, struct span first, struct span rest) {
    uint64_t number;
    (void)line_prefix_cut(&m->prefix, &first);
    first = unquote(first, m->quoted);
    if (m->numbered > 0 && take_front_number(&first, &number)) {
        first.p += m->numbered;
    }
    m->head = code_len(first);
    m->tagged = tags_len(first) > 0;
    m->listed = m->head == 0 && m->numbered == 0 && m->prefix.len == 0 &&
                is_list_item(first, rest, m->quoted);
    if (m->listed) {
        m->head = m->indent = LIST_MARK;
    } else if (m->head == 0) {
        m->indent = blanks_of(first);
    }
}

/* Cuts number, tags, list mark and indent off the front of a line, and end tags off its end;
 * false: the number shows that the line is not part of the text. */
static bool cut_front(struct text_mend *m, struct span *line) {
    if (m->numbered > 0 && !cut_number(m, line)) {
        return false;
    }
    if (!m->begun) {
        line->p += m->head <= line_len(*line) ? m->head : 0;
    }
    for (size_t i = 0; i < m->indent && (m->begun || !m->listed) && line->p < line->end; i++) {
        if (*line->p != ' ' && *line->p != '\t') {
            break;
        }
        line->p++;
    }
    *line = m->tagged ? without_end_tags(*line) : *line;
    return true;
}

/* ---- a text ---- */

/* Is each of the first lines, at least PAIRS_MIN of them, followed by an empty one? *more is set
 * if further bytes would decide. */
static bool is_doubled(struct span text, size_t quoted, bool whole, bool *more) {
    enum { PAIRS_MIN = 3, LINES = 12 };
    struct span line;
    bool ended = false;
    size_t count = 0, filled = 0;
    for (; count < LINES && line_take(&text, &line, &ended); count++) {
        if (!ended && !whole) {
            break;
        }
        line = unquote(line, quoted);
        bool empty = is_empty_line(line);
        if (count % 2 == 1 && !empty) {
            return false;
        }
        filled += !empty;
    }
    if (count < LINES && !whole) {
        *more = *more || count >= 2 || (count == 1 && text.p < text.end);
        return false;
    }
    return filled >= PAIRS_MIN;
}

struct text_mend text_mend_of(struct span text, bool whole, bool *more, bool *soon) {
    struct span rest = text, line;
    struct text_mend m = {0};
    if (!line_take(&rest, &line, NULL)) {
        return m;
    }
    m.quoted = quote_depth(line);
    m.wrapped = text_is_wrapped(line);
    m.doubled = !m.wrapped && is_doubled(text, m.quoted, whole, more);
    m.numbered = m.wrapped ? 0 : number_gap(text, m.quoted, whole, more);
    if (m.quoted == 0 && !m.wrapped && !m.doubled && m.numbered == 0) {
        m.prefix = line_prefix_of(text, whole, soon);
    }
    if (!m.wrapped) {
        find_front(&m, line, rest);
    }
    return m;
}

bool text_mend_is_needed(const struct text_mend *m, struct span text) {
    /* Number of lines that are compared. It is small, because this function runs for every line of
     * a log. */
    enum { LINES = 2 };
    struct span line;
    bool found = m->quoted > 0 || m->wrapped || m->doubled || m->numbered > 0 ||
                 m->prefix.len > 0 || m->head > 0;
    for (size_t i = 0; i < LINES && !found && line_take(&text, &line, NULL); i++) {
        found = text_is_changed(line);
    }
    return found;
}

/* Removes from *line the characters that quoting, numbering and so on have added; false: the line
 * is not part of the text. */
static bool take_off(struct text_mend *m, struct span *line, struct strbuf *room) {
    const bool empty = is_empty_line(*line);
    if (m->wrapped) {
        bool wrapped = text_is_wrapped(*line);
        *line = wrapped ? unwrap(line_trim(*line), room) : *line;
        return wrapped;
    }
    if ((m->quoted > 0 && !is_quoted(*line) && !empty) ||
        (m->prefix.len > 0 && !empty && !line_prefix_cut(&m->prefix, line))) {
        return false;
    }
    *line = unquote(*line, m->quoted);
    return is_empty_line(*line) || cut_front(m, line);
}

enum text_mended text_mend_line(struct text_mend *m, struct span line, struct strbuf *room,
                                struct span *out) {
    *out = line;
    if (!take_off(m, out, room)) {
        return TEXT_OTHER;
    }
    m->begun = true;
    m->dropped = m->doubled && is_empty_line(*out) && !m->dropped;
    if (m->dropped) {
        return TEXT_DROPPED;
    }
    if (!text_is_changed(*out)) {
        return m->wrapped || out->p != line.p || out->end != line.end ? TEXT_MENDED : TEXT_KEPT;
    }
    struct strbuf plain = {0};
    text_add_plain(&plain, *out);
    strbuf_clear(room);
    strbuf_add(room, strbuf_cstr(&plain), plain.len);
    room->failed = room->failed || plain.failed;
    strbuf_release(&plain);
    *out = (struct span){strbuf_cstr(room), strbuf_cstr(room) + room->len};
    return TEXT_MENDED;
}

void text_mend_head(struct text_mend m, struct span text, size_t most, struct strbuf *room) {
    struct strbuf line_room = {0};
    struct span line;
    bool ended;
    strbuf_clear(room);
    if (line_len(text) > most) {
        text.end = text.p + most;
    }
    while (line_take(&text, &line, &ended)) {
        struct span mended;
        enum text_mended result = text_mend_line(&m, line, &line_room, &mended);
        if (result == TEXT_OTHER) {
            break;
        }
        if (result != TEXT_DROPPED) {
            strbuf_add(room, mended.p, line_len(mended));
            strbuf_add(room, "\n", ended);
        }
    }
    room->failed = room->failed || line_room.failed;
    strbuf_release(&line_room);
}
