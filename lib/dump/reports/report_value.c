/* Reads values of reports: numbers, times, durations, the watchdog's text. */
#include "dump/reports/report_private.h"

#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "base/utf8.h"
#include "dump/json/token_private.h"

/* ---- numbers ---- */

bool report_u64(const json_t *value, uint64_t *out) {
    if (json_is_integer(value)) {
        json_int_t v = json_integer_value(value);
        *out = (uint64_t)v;
        return v >= 0;
    }
    return json_is_string(value) &&
           parse_u64(json_string_value(value), json_string_length(value), UINT64_MAX, out);
}

int64_t report_number(const json_t *value) {
    uint64_t v;
    return report_u64(value, &v) && v <= TOKEN_NUMBER_MAX ? (int64_t)v : -1;
}

/* ---- times ---- */

enum { MS_PER_DAY = 86400000 };

/* Days from 1970-01-01 to a date of the Gregorian calendar (Hinnant, "chrono-Compatible Low-Level
 * Date Algorithms"). */
static int64_t days_from_civil(int64_t year, int64_t month, int64_t day) {
    year -= month <= 2;
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    int64_t of_era = year - era * 400;
    int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    int64_t day_of_era = of_era * 365 + of_era / 4 - of_era / 100 + of_year;
    return era * 146097 + day_of_era - 719468;
}

/* Its inverse. */
static void civil_from_days(int64_t days, int *year, int *month, int *day) {
    days += 719468;
    int64_t era = (days >= 0 ? days : days - 146096) / 146097;
    int64_t of_era = days - era * 146097;
    int64_t year_of_era = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t shifted = (5 * of_year + 2) / 153;
    *day = (int)(of_year - (153 * shifted + 2) / 5 + 1);
    *month = (int)(shifted < 10 ? shifted + 3 : shifted - 9);
    *year = (int)(year_of_era + era * 400 + (*month <= 2));
}

/* Exactly n digits at *s. */
static bool take_digits(const char **s, int n, int64_t *out) {
    *out = 0;
    for (int i = 0; i < n; i++) {
        if (**s < '0' || **s > '9') {
            return false;
        }
        *out = *out * 10 + *(*s)++ - '0';
    }
    return true;
}

static bool take_char(const char **s, char c) {
    bool there = **s == c;
    *s += there;
    return there;
}

/* "Z", "+0900", "+09:00" or nothing: minutes east of UTC. */
static bool take_zone(const char *s, int64_t *minutes) {
    while (*s == ' ') {
        s++;
    }
    *minutes = 0;
    if (*s == 0 || strcmp(s, "Z") == 0 || strcmp(s, "UTC") == 0) {
        return true;
    }
    int64_t hour, minute, sign = *s == '-' ? -1 : 1;
    if (*s != '-' && *s != '+') {
        return false;
    }
    s++;
    if (!take_digits(&s, 2, &hour)) {
        return false;
    }
    (void)take_char(&s, ':');
    if (!take_digits(&s, 2, &minute) || *s) {
        return false;
    }
    *minutes = sign * (hour * 60 + minute);
    return true;
}

/* Milliseconds since 1970. */
static bool read_time(const char *s, int64_t *ms) {
    int64_t year, month, day, hour, minute, second, zone;
    if (!s || !take_digits(&s, 4, &year) || !take_char(&s, '-') || !take_digits(&s, 2, &month) ||
        !take_char(&s, '-') || !take_digits(&s, 2, &day) ||
        (!take_char(&s, 'T') && !take_char(&s, ' ')) || !take_digits(&s, 2, &hour) ||
        !take_char(&s, ':') || !take_digits(&s, 2, &minute) || !take_char(&s, ':') ||
        !take_digits(&s, 2, &second)) {
        return false;
    }
    int64_t fraction = 0, scale = 100;
    if (take_char(&s, '.')) {
        for (; *s >= '0' && *s <= '9'; s++, scale /= 10) {
            fraction += (*s - '0') * scale;
        }
    }
    if (!take_zone(s, &zone) || month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 ||
        minute > 59 || second > 60) {
        return false;
    }
    *ms = days_from_civil(year, month, day) * MS_PER_DAY +
          ((hour * 60 + minute - zone) * 60 + second) * 1000 + fraction;
    return true;
}

static const char *time_text(struct report *r, int64_t ms) {
    int64_t days = ms / MS_PER_DAY, rest = ms % MS_PER_DAY;
    if (rest < 0) {
        rest += MS_PER_DAY;
        days--;
    }
    int year, month, day;
    civil_from_days(days, &year, &month, &day);
    if (year < 0 || year > 9999) {
        return NULL;
    }
    char text[64];
    int len = snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", year, month, day,
                       (int)(rest / 3600000), (int)(rest / 60000 % 60), (int)(rest / 1000 % 60),
                       (int)(rest % 1000));
    return report_text(r, text, len > 0 ? (size_t)len : 0);
}

const char *report_time(struct report *r, const char *s) {
    int64_t ms;
    return read_time(s, &ms) ? time_text(r, ms) : NULL;
}

const char *report_unix_time(struct report *r, uint64_t value) {
    /* Thresholds between the units: seconds reach the year 5138 there, milliseconds 1973. */
    const uint64_t limit = UINT64_C(100000000000);
    uint64_t ms = value;
    if (value < limit) {
        ms = value * 1000;
    } else if (value >= limit * 1000) {
        ms = value / 1000;
    }
    return ms < limit * 1000 ? time_text(r, (int64_t)ms) : NULL;
}

int64_t report_time_between(const char *from, const char *to) {
    int64_t a, b;
    return read_time(from, &a) && read_time(to, &b) && b >= a ? b - a : -1;
}

static char report_lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

/* ---- durations ---- */

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

/* The value of a decimal digit of any script that dates and numbers are written in; -1. */
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

/* Skips spaces, marks of direction, and separators of digit groups in any locale. */
static bool is_filler(uint32_t c) {
    return c == ' ' || c == '\t' || c == 0xa0 || c == 0x202f || c == 0x2009 || c == '\'' ||
           c == 0x2019 || c == 0x066c || (c >= 0x200e && c <= 0x200f) || c == 0x061c ||
           (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

/* Units as their texts begin; ASCII in lower case. The longest that fits counts. */
static const char *const us_texts[] = {"µs", "μs", "us", "мкс", "微秒", NULL};
static const char *const ms_texts[] = {
    "ms",  "millis", "mili", "milé", "мс", "мілі", "милли", "мили", "毫秒",   "ミリ秒", "밀리초",
    "ملي", "م.ث",    "میلی", "มิลลิ",  "มว", "मि॰से", "मिलीसे", "মিলি", "אלפיות", "אלפ",    NULL};
static const char *const s_texts[] = {"sek", "s",   "с", "秒",  "초", "ثانية", "ثوان", "ثا",
                                      "ث",   "שנ",  "วิ", "से",   "সে", "giây",  "dtk",  "detik",
                                      "mp",  "δευ", "δ", "сек", "sn", "วินาที",  NULL};
static const char *const min_texts[] = {"min",   "мин",   "мін",  "хв",  "分", "분",
                                        "دقيقة", "دقائق", "د",    "dk",  "דק", "נาที",
                                        "นาที",   "phút",  "perc", "λεπ", NULL};
static const char *const h_texts[] = {"h",    "std",  "ч",   "小时", "小時",
                                      "時間", "시간", "ساع", "saat", NULL};
static const struct unit {
    const char *const *texts;
    uint32_t us;
} units[] = {{us_texts, 1},
             {ms_texts, 1000},
             {s_texts, 1000000},
             {min_texts, 60000000},
             {h_texts, 3600000000u}};

/* Length of the text at the beginning of s, 0 if that does not begin with it. */
static size_t unit_text_len(const char *text, const char *s, size_t len) {
    size_t n = 0;
    while (text[n] && n < len && report_lower(s[n]) == text[n]) {
        n++;
    }
    return text[n] ? 0 : n;
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

/* A number as written: its digits, and where its separators stood. */
struct number {
    char digits[32];
    size_t len;
    size_t last_point; /* digits before the last '.' or ','; SIZE_MAX = none */
    uint32_t point;    /* which */
    int points;        /* how many of it */
    bool mixed;        /* another separator preceded it, which then groups digits */
    bool decimal;      /* the point is one beyond doubt */
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

/* Is the last point a decimal one? One that is followed by three digits may group them: then it
 * does for milliseconds and smaller, whose fractions nobody writes, and never behind a single
 * 0. */
static bool has_fraction(const struct number *n, uint32_t us) {
    if (n->last_point == SIZE_MAX || n->last_point == n->len) {
        return false;
    }
    if (n->decimal || n->mixed) {
        return true;
    }
    bool zero = n->last_point == 1 && n->digits[0] == 0;
    return n->points == 1 && (zero || n->len - n->last_point != 3 || us > 1000);
}

/* A number in microseconds; false past 2^53 of them. */
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

int64_t report_duration(const char *s, size_t len) {
    const char *p = s, *end = s + len;
    uint64_t total = 0;
    bool found = false;
    while (p < end) {
        struct number n;
        uint64_t us;
        if (!take_number(&p, end, &n)) {
            return -1;
        }
        const struct unit *unit = find_unit(p, (size_t)(end - p));
        if (!unit || !to_us(&n, unit->us, &us)) {
            return -1;
        }
        total += us;
        found = true;
        while (p < end) { /* to the next number: "1 min, 30 sec" */
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

/* ---- the watchdog ---- */

/* The text behind the given words, spaces skipped; NULL if they do not match. Case is ignored. */
static const char *text_behind(const char *text, const char *words) {
    size_t len = strlen(words);
    for (; *text; text++) {
        size_t i = 0;
        while (i < len && text[i] && report_lower(text[i]) == report_lower(words[i])) {
            i++;
        }
        if (i == len) {
            text += len;
            while (*text == ' ') {
                text++;
            }
            return text;
        }
    }
    return NULL;
}

/* The word at s, in lower case. */
static const char *word_at(struct report *r, const char *s) {
    char word[64];
    size_t len = 0;
    while (s && len < sizeof word) {
        char c = report_lower(s[len]);
        if (!(c >= 'a' && c <= 'z') && c != '-') {
            break;
        }
        word[len++] = c;
    }
    return report_text(r, word, len);
}

void report_own_lock(struct report *r, const char *text) {
    static const struct {
        const char *words, *kind;
    } ends[] = {{"called on queue already owned by current thread", "queue"},
                {"Trying to recursively lock an os_unfair_lock", "unfair lock"},
                {"trying to lock recursively", "lock"}};
    for (size_t i = 0; text && !r->own_lock && i < sizeof ends / sizeof *ends; i++) {
        r->own_lock = strstr(text, ends[i].words) ? ends[i].kind : NULL;
    }
}

/* Is this the event in which the watchdog ended the process? */
static bool watchdog_names(const char *text, const char *event) {
    static const char *const forms[] = {"failed to %s", "WatchdogEvent: %s", "%s watchdog"};
    char words[64];
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        const char *at = strchr(forms[i], '%');
        (void)snprintf(words, sizeof words, "%.*s%s%s", (int)(at - forms[i]), forms[i], event,
                       at + 2);
        if (text_behind(text, words)) {
            return true;
        }
    }
    return false;
}

/* How long Apple's watchdog allowed on the clock; -1 = not known. Where the text does not say, the
 * event tells (Technical Q&A QA1693, "Synchronous networking on the main thread"). */
static int64_t watchdog_limit_ms(const char *text) {
    static const char *const words[] = {"(wall clock) time allowance of", "total time limit"};
    static const struct {
        const char *event;
        int64_t ms;
    } limits[] = {{"scene-create", 20000}, {"process-launch", 20000}, {"launch", 20000},
                  {"scene-update", 10000}, {"resume", 10000},         {"suspend", 10000}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const char *told = text_behind(text, words[i]);
        if (told) {
            return report_seconds(told);
        }
    }
    bool of_cpu = text_behind(text, "CPU time allowance of") != NULL;
    for (size_t i = 0; i < sizeof limits / sizeof *limits && !of_cpu; i++) {
        if (watchdog_names(text, limits[i].event)) {
            return limits[i].ms;
        }
    }
    return -1;
}

bool report_watchdog(struct report *r, const char *text) {
    if (!text || (!text_behind(text, "8badf00d") && !text_behind(text, "2343432205"))) {
        return false;
    }
    r->kind = "watchdog";
    r->detector = "watchdog";
    r->fatal = true;
    int64_t limit = watchdog_limit_ms(text);
    if (limit >= 0) {
        r->threshold_ms = limit;
        r->duration_ms = r->duration_ms > limit ? r->duration_ms : limit;
    }
    const char *cpu = text_behind(text, "Elapsed application CPU time (seconds):");
    if (cpu) {
        r->cpu_ms = report_seconds(cpu);
    }
    const char *visibility = word_at(r, text_behind(text, "ProcessVisibility:"));
    if (visibility &&
        (strcmp(visibility, "foreground") == 0 || strcmp(visibility, "background") == 0)) {
        r->app_state = visibility;
    }
    const char *event = word_at(r, text_behind(text, "WatchdogEvent:"));
    r->activity = event ? event : r->activity;
    const char *thermal = word_at(r, text_behind(text, "Thermal State:"));
    r->thermal = thermal ? thermal : r->thermal;
    return true;
}
