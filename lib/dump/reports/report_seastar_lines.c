/* Recognises the kinds of line in a Seastar program's log, and which program wrote them. */
#include "dump/reports/report_seastar_private.h"

#include <string.h>

#include "base/parse.h"
#include "dump/reports/report_private.h"
#include "dump/reports/report_span_private.h"

static const char stalled[] = "Reactor stalled for ";
static const char shard_word[] = " on shard ";
static const char backtrace_word[] = "Backtrace:";
static const char kernel_word[] = "kernel callstack:";

/* Returns the text after the words in the line; NULL: they are not there. */
static const char *seastar_behind(struct span line, const char *words) {
    size_t len = strlen(words);
    for (const char *p = line.p; (size_t)(line.end - p) >= len && len > 0; p++) {
        p = memchr(p, words[0], (size_t)(line.end - p) - len + 1);
        if (!p) {
            return NULL;
        }
        if (memcmp(p, words, len) == 0) {
            return p + len;
        }
    }
    return NULL;
}

struct span seastar_word(struct span *s) {
    while (s->p < s->end && line_is_blank_at(s->p)) {
        s->p++;
    }
    struct span word = {s->p, s->p};
    while (word.end < s->end && !line_is_blank_at(word.end)) {
        word.end++;
    }
    s->p = word.end;
    return word;
}

/* ---- addresses ---- */

static bool seastar_is_address(struct span word, struct seastar_address *out) {
    const char *plus = word.end;
    while (plus > word.p && plus[-1] != '+') {
        plus--;
    }
    const char *digits = plus > word.p ? plus : word.p;
    char text[24];
    size_t len = (size_t)(word.end - digits);
    if (len < 3 || len >= sizeof text || digits[0] != '0' || digits[1] != 'x') {
        return false;
    }
    memcpy(text, digits, len);
    text[len] = 0;
    const char *rest = text;
    out->file = (struct span){word.p, plus > word.p ? plus - 1 : word.p};
    return report_take_hex(&rest, &out->address) && *rest == 0;
}

/* Was the word an address before it was damaged? */
static bool was_address(struct span word) {
    return line_has_head(word, "0x") || seastar_behind(word, "+0x") != NULL;
}

bool seastar_take_address(struct span *addresses, struct seastar_address *out) {
    struct span word;
    while ((word = seastar_word(addresses)), word.p < word.end) {
        out->unread = was_address(word) && !seastar_is_address(word, out);
        if (out->unread || seastar_is_address(word, out)) {
            return true;
        }
    }
    return false;
}

/* ---- stalls ---- */

static bool take_digits_of(struct span *s, uint64_t *out) {
    const char *begin = s->p;
    *out = 0;
    while (s->p < s->end && *s->p >= '0' && *s->p <= '9' && *out <= UINT32_MAX) {
        *out = *out * 10 + (uint64_t)(*s->p++ - '0');
    }
    return s->p > begin && *out <= INT32_MAX;
}

/* Does the line end after the shard, the scheduling group or the word "Backtrace:", as a line that
 * a reactor wrote does? A sentence, or a line of source code, that quotes the words continues.
 * rest: the text after the shard. */
static bool is_whole_stall(struct span rest) {
    rest = line_trim(rest);
    if (rest.p == rest.end) {
        return true;
    }
    char last = rest.end[-1];
    return (*rest.p == ',' && last == '.') || (line_len(rest) == 1 && last == '.') || last == ':';
}

/* Reads "Reactor stalled for 33 ms on shard 0 …"; false: the line does not have these words. True
 * with the kind SEASTAR_UNRELATED: the line only quotes them. */
static bool take_stall(struct seastar_line *out) {
    const struct span line = out->line;
    struct span s = {seastar_behind(line, stalled), line.end};
    if (!s.p) {
        return false;
    }
    const struct span source = {line.p, s.p - (sizeof stalled - 1)};
    if (!take_digits_of(&s, &out->ms) || line_len(s) < 3 || memcmp(s.p, " ms", 3) != 0 ||
        (s.p = seastar_behind(s, shard_word)) == NULL || !take_digits_of(&s, &out->shard)) {
        return false;
    }
    const char *behind = seastar_behind(line, backtrace_word);
    struct span tail = {behind, line.end};
    struct seastar_address a;
    struct span word = behind ? seastar_word(&tail) : (struct span){0};
    out->source = source;
    if (word.p < word.end && seastar_is_address(word, &a)) {
        const char *kernel = seastar_behind(line, kernel_word);
        out->kind = SEASTAR_STALL;
        out->addresses = (struct span){behind, kernel ? kernel : line.end};
        return true;
    }
    out->headed = behind && word.p == word.end;
    out->kind = is_whole_stall(s) ? SEASTAR_OPEN : SEASTAR_UNRELATED;
    return true;
}

/* ---- lines ---- */

/* Takes a line that ends with a word of dashes, at least 4; false: it is another line. */
static bool take_rule(struct seastar_line *out) {
    enum { DASHES_MIN = 4 };
    const struct span line = line_trim(out->line);
    const char *p = line.end;
    while (p > line.p && p[-1] == '-') {
        p--;
    }
    if (line.end - p < DASHES_MIN || (p > line.p && !line_is_blank_at(p - 1))) {
        return false;
    }
    out->source.end = p;
    out->kind = SEASTAR_TASKS;
    return true;
}

/* Does the word begin the line, or stand behind several blanks? */
static bool stands_apart(struct span line, struct span word) {
    return word.p == line.p ||
           (word.p - line.p > 1 && line_is_blank_at(word.p - 1) && line_is_blank_at(word.p - 2));
}

/* Takes a line with one address. The address ends the line, or other words follow it, or it cannot
 * be read. A line with several addresses is of another kind, such as a table. */
static void take_address_line(struct seastar_line *out) {
    struct span rest = out->line, word, first = {0};
    struct seastar_address a;
    size_t behind = 0, addresses = 0, damaged = 0;
    while ((word = seastar_word(&rest)), word.p < word.end) {
        bool address = seastar_is_address(word, &a);
        bool was = !address && addresses + damaged == 0 && was_address(word) &&
                   stands_apart(out->line, word);
        addresses += address;
        damaged += was;
        behind += addresses + damaged > 0 && !address;
        first = (address || was) && !first.p ? word : first;
    }
    if (addresses != 1 && damaged == 0) {
        return;
    }
    out->source = (struct span){out->line.p, first.p};
    out->addresses = first;
    out->kind = behind == 0 ? SEASTAR_ADDRESS : SEASTAR_DECODED;
}

struct seastar_line seastar_line_of(struct span line) {
    struct seastar_line out = {.kind = SEASTAR_UNRELATED, .line = line, .source = {line.p, line.p}};
    if (take_stall(&out)) {
        return out;
    }
    if (seastar_behind(line, kernel_word)) {
        out.kind = SEASTAR_KERNEL;
        return out;
    }
    const char *rest = seastar_behind(line, backtrace_word);
    if (rest && line_trim((struct span){rest, line.end}).p == line_trim(line).end) {
        out.kind = SEASTAR_HEADING;
        out.source.end = rest - (sizeof backtrace_word - 1);
        return out;
    }
    if (!take_rule(&out)) {
        take_address_line(&out);
    }
    return out;
}

bool seastar_is_stall(struct span line) {
    struct seastar_line out = {.line = line};
    return take_stall(&out) && out.kind <= SEASTAR_OPEN;
}

/* ---- who wrote a line ---- */

static bool is_word_of(struct span word, const char *const *words) {
    for (; *words; words++) {
        if (parse_is(word.p, line_len(word), *words)) {
            return true;
        }
    }
    return false;
}

/* Is the word a time, a number or a mark? It is if it has only digits, marks and the letters T and
 * Z of ISO 8601, and fewer than three points. A word with three points, such as "[10.0.73.70]", is
 * the address of a host. */
static bool is_time_word(struct span word) {
    static const char marks[] = "0123456789:.,;-+/|[]()<>TZ";
    size_t points = 0;
    for (const char *p = word.p; p < word.end; p++) {
        points += *p == '.';
        if (!*p || !strchr(marks, *p)) {
            return false;
        }
    }
    return points < 3;
}

static const char *const varying[] = {
    "Jan",   "Feb",      "Mar",   "Apr",     "May",    "Jun",   "Jul",     "Aug",    "Sep",
    "Oct",   "Nov",      "Dec",   "Mon",     "Tue",    "Wed",   "Thu",     "Fri",    "Sat",
    "Sun",   "UTC",      "INFO",  "info",    "WARN",   "warn",  "WARNING", "ERROR",  "error",
    "ERR",   "err",      "DEBUG", "warning", "debug",  "TRACE", "trace",   "NOTICE", "notice",
    "!INFO", "!WARNING", "!ERR",  "!NOTICE", "!DEBUG", NULL};

bool seastar_is_program(struct span word) {
    const struct span name = {word.p, word.end - (word.p < word.end)};
    bool letter = false;
    for (const char *p = name.p; p < name.end; p++) {
        bool is_letter = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z');
        if (!is_letter && !(*p >= '0' && *p <= '9') && *p != '-' && *p != '_' && *p != '.') {
            return false;
        }
        letter = letter || is_letter;
    }
    return letter && *name.end == ':' && !is_word_of(name, varying);
}

/* Takes the next word of a line's prefix that identifies the writer of the line; an empty one:
 * there are no more. The words from "[shard" on, which Seastar's own logger writes, do not identify
 * the writer. */
static struct span source_word(struct span *source) {
    struct span word;
    while ((word = seastar_word(source)), word.p < word.end) {
        if (line_has_head(word, "[shard")) {
            source->p = source->end;
            return (struct span){source->end, source->end};
        }
        if (!is_time_word(word) && !is_word_of(word, varying)) {
            break;
        }
    }
    return word;
}

/* Does prefix a begin with all words of prefix b? *more: a has further words. */
static bool begins_with_source(struct span a, struct span b, bool *more) {
    struct span of_a, of_b;
    do {
        of_a = source_word(&a);
        of_b = source_word(&b);
        if (of_b.p == of_b.end) {
            *more = of_a.p < of_a.end;
            return true;
        }
    } while (line_len(of_a) == line_len(of_b) && memcmp(of_a.p, of_b.p, line_len(of_a)) == 0);
    return false;
}

/* Does the line's prefix name the shard, as the prefix that Seastar's own logger writes does? Only
 * the first of a stall's lines has such a prefix. */
static bool is_of_logger(struct span source) {
    return seastar_behind(source, "[shard") != NULL;
}

bool seastar_may_belong(const struct seastar_line *stall, const struct seastar_line *line) {
    bool more;
    return !is_of_logger(line->source) && begins_with_source(stall->source, line->source, &more);
}

bool seastar_same_source(const struct seastar_line *a, const struct seastar_line *b) {
    bool more = false;
    return begins_with_source(a->source, b->source, &more) && !more;
}
