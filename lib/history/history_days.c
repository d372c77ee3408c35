/* Converts days since 1970-01-01 to and from dates of the Gregorian calendar, as in ISO 8601. */
#include <string.h>

#include "base/parse.h"
#include "history/history_private.h"

enum { DAY_TEXT = 10 /* length of "2026-11-20" */, DAYS_TO_1970 = 719468 /* from 0000-03-01 */ };

/* Returns the days from 1970-01-01 to a date (Howard Hinnant, "chrono-Compatible Low-Level Date
 * Algorithms", days_from_civil). */
static int32_t days_of(int32_t year, unsigned month, unsigned day) {
    year -= month <= 2;
    int32_t era = year / 400;
    unsigned of_era = (unsigned)(year - era * 400);
    unsigned of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
    unsigned days = of_era * 365 + of_era / 4 - of_era / 100 + of_year;
    return era * 146097 + (int32_t)days - DAYS_TO_1970;
}

/* Converts days since 1970-01-01 to a date (civil_from_days, the inverse of days_of). */
static void date_of(int32_t days, int32_t *year, unsigned *month, unsigned *day) {
    days += DAYS_TO_1970;
    int32_t era = days / 146097;
    unsigned of_era = (unsigned)(days - era * 146097);
    unsigned y = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    unsigned of_year = of_era - (365 * y + y / 4 - y / 100);
    unsigned m = (5 * of_year + 2) / 153;
    *day = of_year - (153 * m + 2) / 5 + 1;
    *month = m < 10 ? m + 3 : m - 9;
    *year = (int32_t)y + era * 400 + (*month <= 2);
}

bool history_day_parse(const char *text, size_t len, int32_t *day) {
    uint64_t y, m, d;
    if (len < DAY_TEXT || (len > DAY_TEXT && text[DAY_TEXT] != 'T' && text[DAY_TEXT] != ' ') ||
        text[4] != '-' || text[7] != '-' || !parse_u64(text, 4, 9999, &y) ||
        !parse_u64(text + 5, 2, 12, &m) || !parse_u64(text + 8, 2, 31, &d) || !y || !m || !d) {
        return false;
    }
    int32_t days = days_of((int32_t)y, (unsigned)m, (unsigned)d), year;
    unsigned month, of_month;
    date_of(days, &year, &month, &of_month);
    if (month != m || of_month != d) {
        return false; /* the month does not have the day, as June 31 */
    }
    *day = days;
    return true;
}

/* The first and the last day that history_day_parse reads: 0001-01-01 and 9999-12-31. */
enum { FIRST_DAY = -719162, LAST_DAY = 2932896 };

bool history_day_is_one(int64_t day) {
    return day >= FIRST_DAY && day <= LAST_DAY;
}

static char *put_digits(char *out, size_t count, unsigned number) {
    for (size_t i = count; i > 0; i--, number /= 10) {
        out[i - 1] = (char)('0' + number % 10);
    }
    return out + count;
}

const char *history_day_text(int32_t day, char out[HISTORY_DAY_SIZE]) {
    int32_t year;
    unsigned month, of_month;
    out[0] = '\0';
    if (history_day_is_one(day)) {
        date_of(day, &year, &month, &of_month);
        char *at = put_digits(out, 4, (unsigned)year);
        *at++ = '-';
        at = put_digits(at, 2, month);
        *at++ = '-';
        *put_digits(at, 2, of_month) = '\0';
    }
    return out;
}
