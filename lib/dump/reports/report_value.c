/* Parses values of reports: numbers and times. */
#include "dump/reports/report_private.h"

#include <stdio.h>
#include <string.h>

#include "base/parse.h"
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

/* Returns the days from 1970-01-01 to a date of the Gregorian calendar (Hinnant, "chrono-Compatible
 * Low-Level Date Algorithms"). */
static int64_t days_from_civil(int64_t year, int64_t month, int64_t day) {
    year -= month <= 2;
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    int64_t of_era = year - era * 400;
    int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    int64_t day_of_era = of_era * 365 + of_era / 4 - of_era / 100 + of_year;
    return era * 146097 + day_of_era - 719468;
}

/* Converts days since 1970-01-01 to a date: the inverse of days_from_civil. */
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

/* Takes exactly n digits at *s as a number; false: fewer digits are there. */
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

/* Reads a time zone, "Z", "UTC", "+0900", "+09:00" or nothing, as minutes east of UTC; false: it is
 * something else. */
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

/* Reads a point in time as milliseconds since 1970; false: it cannot be read. */
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
    /* Values are told apart by this limit: as seconds it is in the year 5138, as milliseconds in
     * 1973. */
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
