/* Parses durations: counts of seconds, measurements in many languages, and measurements inside
 * sentences. */
#include <string.h>

#include "base/parse.h"
#include "base/utf8.h"
#include "dump/reports/report_private.h"

int64_t report_seconds(const char *s) {
    int64_t ms = 0, scale = 100;
    if (*s < '0' || *s > '9') {
        return -1;
    }
    for (; *s >= '0' && *s <= '9'; s++) {
        if (ms > INT32_MAX) {
            return -1;
        }
        ms = ms * 10 + *s - '0';
    }
    ms *= 1000;
    if (*s == '.') {
        for (s++; *s >= '0' && *s <= '9'; s++, scale /= 10) {
            ms += (*s - '0') * scale;
        }
    }
    return ms;
}

/* Returns the value of a decimal digit of any script in which dates and numbers are written; -1:
 * not a digit. */
static int digit_value(uint32_t c) {
    static const uint32_t zeros[] = {'0',    0x0660, 0x06f0, 0x07c0, 0x0966, 0x09e6, 0x0a66,
                                     0x0ae6, 0x0b66, 0x0be6, 0x0c66, 0x0ce6, 0x0d66, 0x0e50,
                                     0x0ed0, 0x0f20, 0x1040, 0x17e0, 0x1810, 0xff10};
    for (size_t i = 0; i < sizeof zeros / sizeof *zeros; i++) {
        if (c >= zeros[i] && c < zeros[i] + 10) {
            return (int)(c - zeros[i]);
        }
    }
    return -1;
}

/* Is the character a space, a direction mark, or a separator of digit groups in some locale? */
static bool is_filler(uint32_t c) {
    return c == ' ' || c == '\t' || c == 0xa0 || c == 0x202f || c == 0x2009 || c == '\'' ||
           c == 0x2019 || c == 0x066c || (c >= 0x200e && c <= 0x200f) || c == 0x061c ||
           (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

/* Beginnings of the names of units, with ASCII letters in lower case. If several match, the longest
 * counts. */
static const char *const us_texts[] = {"µs", "μs", "us", "мкс", "微秒", NULL};
static const char *const ms_texts[] = {
    "ms",  "millis", "mili", "milé", "мс", "мілі", "милли", "мили", "毫秒",   "ミリ秒", "밀리초",
    "ملي", "م.ث",    "میلی", "มิลลิ",  "มว", "मि॰से", "मिलीसे", "মিলি", "אלפיות", "אלפ",    NULL};
static const char *const s_texts[] = {
    "se", "s",  "soic", "son", "с",     "秒", "초",  "ثانية", "ثوان", "ثا", "ث",    "שנ", "วิ",
    "से",  "সে", "giây", "dtk", "detik", "mp", "δευ", "δ",     "сек",  "sn", "วินาที", NULL};
static const char *const min_texts[] = {"min",   "мин",   "мін",  "хв",  "分", "분",
                                        "دقيقة", "دقائق", "د",    "dk",  "דק", "נาที",
                                        "นาที",   "phút",  "perc", "λεπ", NULL};
static const char *const h_texts[] = {"h",    "hr",   "ho",   "heu", "std",  "ч", "小时",
                                      "小時", "時間", "시간", "ساع", "saat", NULL};
static const struct unit {
    const char *const *texts;
    uint32_t us;
} units[] = {{us_texts, 1},
             {ms_texts, 1000},
             {s_texts, 1000000},
             {min_texts, 60000000},
             {h_texts, 3600000000u}};

static bool is_latin_letter(char c) {
    return report_lower(c) >= 'a' && report_lower(c) <= 'z';
}

/* Returns the length of `text` if s begins with it, else 0. A single Latin letter must be the whole
 * word, because other words begin with it, too. */
static size_t unit_text_len(const char *text, const char *s, size_t len) {
    size_t n = 0;
    while (text[n] && n < len && report_lower(s[n]) == text[n]) {
        n++;
    }
    bool part = n == 1 && is_latin_letter(text[0]) && len > 1 && is_latin_letter(s[1]);
    return text[n] || part ? 0 : n;
}

static const struct unit *find_unit(const char *s, size_t len) {
    const struct unit *best = NULL;
    size_t best_len = 0;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        for (const char *const *text = units[i].texts; *text; text++) {
            size_t n = unit_text_len(*text, s, len);
            if (n > best_len) {
                best = &units[i];
                best_len = n;
            }
        }
    }
    return best;
}

/* A number as it was written: its digits, and where its separators stood. */
struct number {
    char digits[32];
    size_t len;
    size_t last_point; /* number of digits before the last '.', ',' or U+066B; SIZE_MAX = none */
    uint32_t point;    /* the last '.', ',' or U+066B itself */
    int points;   /* number of times that `point` was read since the last different separator */
    bool mixed;   /* a different separator stands before the last one, and groups digits */
    bool decimal; /* the last separator is certainly a decimal point */
    bool whole;   /* the number is in whole units, so three digits after a point are a group */
};

static bool take_number(const char **s, const char *end, struct number *n) {
    *n = (struct number){.last_point = SIZE_MAX};
    const char *p = *s;
    while (p < end) {
        uint32_t c;
        size_t size = utf8_decode(p, (size_t)(end - p), &c);
        int digit = size ? digit_value(c) : -1;
        if (digit >= 0) {
            if (n->len == sizeof n->digits) {
                return false;
            }
            n->digits[n->len++] = (char)digit;
        } else if (n->len > 0 && (c == '.' || c == ',' || c == 0x066b) && size) {
            n->mixed = n->mixed || (n->points > 0 && n->point != c);
            n->points = n->points > 0 && n->point == c ? n->points + 1 : 1;
            n->point = c;
            n->last_point = n->len;
            n->decimal = c == 0x066b;
        } else if (!size || !is_filler(c)) {
            break;
        }
        p += size;
    }
    *s = p;
    return n->len > 0;
}

/* Is the last separator a decimal point? A separator with three digits after it is ambiguous. It
 * groups digits in a number that is `whole`, and in milliseconds and smaller units, which nobody
 * writes with a fraction; but after a single 0 it is a decimal point. A comma before three digits
 * of which the last is 0 groups them, too, because the formatters that write a comma leave out a
 * fraction's last zeros. */
static bool has_fraction(const struct number *n, uint32_t us) {
    if (n->last_point == SIZE_MAX || n->last_point == n->len) {
        return false;
    }
    if (n->decimal || n->mixed) {
        return true;
    }
    bool zero = n->last_point == 1 && n->digits[0] == 0;
    bool group = us <= 1000 || n->whole || (n->point == ',' && n->digits[n->len - 1] == 0);
    return n->points == 1 && (zero || n->len - n->last_point != 3 || !group);
}

/* Converts a number with a unit of `us` microseconds to microseconds; false: it is larger than
 * 2^53. */
static bool to_us(const struct number *n, uint32_t us, uint64_t *out) {
    const uint64_t limit = UINT64_C(1) << 53;
    size_t whole = has_fraction(n, us) ? n->last_point : n->len;
    uint64_t value = 0, scale = us;
    for (size_t i = 0; i < whole; i++) {
        value = value * 10 + (uint64_t)n->digits[i];
        if (value > limit) {
            return false;
        }
    }
    if (value > limit / us) {
        return false;
    }
    value *= us;
    for (size_t i = whole; i < n->len && scale > 0; i++) {
        scale /= 10;
        value += (uint64_t)n->digits[i] * scale;
    }
    *out = value;
    return true;
}

static int64_t read_duration(const char *s, size_t len, bool whole) {
    const char *p = s, *end = s + len;
    uint64_t total = 0;
    bool found = false;
    while (p < end) {
        struct number n;
        uint64_t us;
        if (!take_number(&p, end, &n)) {
            return -1;
        }
        n.whole = whole;
        const struct unit *unit = find_unit(p, (size_t)(end - p));
        if (!unit || !to_us(&n, unit->us, &us)) {
            return -1;
        }
        total += us;
        found = true;
        while (p < end) { /* skips to the next number, as in "1 min, 30 sec" */
            uint32_t c;
            size_t size = utf8_decode(p, (size_t)(end - p), &c);
            if (size && digit_value(c) >= 0) {
                break;
            }
            p += size ? size : 1;
        }
        if (total > UINT64_C(1) << 53) {
            return -1;
        }
    }
    return found ? (int64_t)((total + 500) / 1000) : -1;
}

int64_t report_duration(const char *s, size_t len) {
    return read_duration(s, len, false);
}

int64_t report_total_duration(const char *s, size_t len) {
    return read_duration(s, len, true);
}

/* ---- durations in sentences ---- */

/* The units that are recognised in a sentence, as whole words in lower case. Unit names of other
 * languages are recognised only in a measurement by itself, because other words may begin with
 * them. */
static const struct told_unit {
    const char *word;
    uint32_t us;
} told_units[] = {{"us", 1},
                  {"µs", 1},
                  {"μs", 1},
                  {"usec", 1},
                  {"microsecond", 1},
                  {"microseconds", 1},
                  {"ms", 1000},
                  {"msec", 1000},
                  {"msecs", 1000},
                  {"millisecond", 1000},
                  {"milliseconds", 1000},
                  {"s", 1000000},
                  {"sec", 1000000},
                  {"secs", 1000000},
                  {"second", 1000000},
                  {"seconds", 1000000},
                  {"m", 60000000},
                  {"min", 60000000},
                  {"mins", 60000000},
                  {"minute", 60000000},
                  {"minutes", 60000000},
                  {"h", 3600000000u},
                  {"hr", 3600000000u},
                  {"hrs", 3600000000u},
                  {"hour", 3600000000u},
                  {"hours", 3600000000u}};

/* The part of a text that is still to be searched for measurements: p moves towards end. */
struct sentence {
    const char *p, *end;
};

static bool is_letter(char c) {
    return is_latin_letter(c) || (unsigned char)c >= 0x80;
}

static bool is_ascii_digit(char c) {
    return c >= '0' && c <= '9';
}

/* Does a number begin at s->p, which is not a part of a word, a version or a time of day? */
static bool number_begins(const struct sentence *s, const char *begin) {
    return is_ascii_digit(*s->p) &&
           (s->p == begin ||
            (!is_letter(s->p[-1]) && !is_ascii_digit(s->p[-1]) && !strchr(".,:-+/_#", s->p[-1])));
}

/* Do three digits follow, and not a fourth, as after a blank that groups digits? */
static bool group_follows(const char *p, const char *end) {
    size_t n = 0;
    while (n < 4 && p + n < end && is_ascii_digit(p[n])) {
        n++;
    }
    return n == 3;
}

/* Returns the end of the number at p: digits, and the separators that stand between digits. */
static const char *number_end(const char *p, const char *end) {
    const char *group = p;
    while (p < end) {
        uint32_t c = 0;
        size_t size = utf8_decode(p, (size_t)(end - p), &c);
        if (is_ascii_digit(*p)) {
            p++;
            continue;
        }
        bool point = c == '.' || c == ',';
        bool digit = size && p + size < end && is_ascii_digit(p[size]);
        if (!digit ||
            !(point || (is_filler(c) && p - group <= 3 && group_follows(p + size, end)))) {
            break;
        }
        p += size;
        group = p;
    }
    return p;
}

/* Takes "1,345 msec" or "5-second". False, with s->p after the number: no unit follows, or the
 * number has more than 32 digits. False, with s->p after the unit: the value is above 2^53. */
static bool take_measure(struct sentence *s, uint64_t *us, uint32_t *unit) {
    const char *p = s->p;
    struct number n;
    s->p = number_end(p, s->end);
    if (!take_number(&p, s->p, &n)) {
        return false;
    }
    const char *word = s->p;
    uint32_t c;
    size_t size = word < s->end ? utf8_decode(word, (size_t)(s->end - word), &c) : 0;
    word += size && (is_filler(c) || c == '-') ? size : 0;
    size_t len = 0;
    while (word + len < s->end && is_letter(word[len])) {
        len++;
    }
    for (size_t i = 0; i < sizeof told_units / sizeof *told_units; i++) {
        const char *name = told_units[i].word;
        if (strlen(name) == len && unit_text_len(name, word, len) == len) {
            s->p = word + len;
            *unit = told_units[i].us;
            return to_us(&n, *unit, us);
        }
    }
    return false;
}

/* Skips the text between the parts of a measurement; true: a number follows. */
static bool told_next_part(struct sentence *s) {
    static const char word[] = "and ";
    const char *p = s->p;
    p += p < s->end && *p == '.';
    p += p < s->end && *p == ',';
    while (p < s->end && *p == ' ') {
        p++;
    }
    if ((size_t)(s->end - p) > sizeof word - 1 && memcmp(p, word, sizeof word - 1) == 0) {
        p += sizeof word - 1;
    }
    if (p == s->end || !is_ascii_digit(*p)) {
        return false;
    }
    s->p = p;
    return true;
}

/* Takes a measurement of one or more parts, each in a smaller unit than the one before. ST_NONE:
 * the first part has no unit, or cannot be read; ST_ERR: a further part cannot be read. */
static enum st take_told(struct sentence *s, uint64_t *us) {
    uint32_t unit, last;
    uint64_t part;
    if (!take_measure(s, us, &last)) {
        return ST_NONE;
    }
    for (struct sentence rest = *s; told_next_part(&rest);) {
        if (!take_measure(&rest, &part, &unit)) {
            return ST_ERR;
        }
        if (unit >= last) {
            break; /* another measurement begins */
        }
        *us += part;
        last = unit;
        *s = rest;
    }
    return ST_OK;
}

int64_t report_told_duration(const char *s, size_t len) {
    struct sentence rest = {s, s + len};
    uint64_t us = 0, found = 0, one;
    while (rest.p < rest.end) {
        if (!number_begins(&rest, s)) {
            rest.p++;
            continue;
        }
        enum st st = take_told(&rest, &one);
        if (st == ST_ERR) {
            return report_duration(s, len);
        }
        us = st == ST_OK ? one : us;
        found += st == ST_OK;
    }
    if (found == 0) {
        return report_duration(s, len);
    }
    return found == 1 ? (int64_t)((us + 500) / 1000) : -1;
}
