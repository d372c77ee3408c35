/* Writes ids, times and numbers as text, and reads hexadecimal digits. */
#include "support/rec_text.h"

#include <string.h>

static const char digits[] = "0123456789abcdef";

const char *rec_hex_text(const uint8_t *bytes, size_t len, char *text) {
    for (size_t i = 0; i < len; i++) {
        text[2 * i] = digits[bytes[i] >> 4];
        text[2 * i + 1] = digits[bytes[i] & 15];
    }
    text[2 * len] = '\0';
    return text;
}

const char *rec_uuid_text(const uint8_t uuid[16], char text[REC_UUID_TEXT]) {
    static const uint8_t groups[] = {4, 2, 2, 2, 6};
    char *p = text;
    for (size_t i = 0; i < sizeof groups; i++) {
        rec_hex_text(uuid, groups[i], p);
        uuid += groups[i];
        p += 2 * groups[i];
        *p++ = '-';
    }
    p[-1] = '\0';
    return text;
}

/* Writes `width` decimal digits of value and the character `after`; returns the position after it.
 */
static char *text_put(char *p, uint32_t value, unsigned width, char after) {
    for (unsigned i = width; i > 0; i--) {
        p[i - 1] = (char)('0' + value % 10);
        value /= 10;
    }
    p[width] = after;
    return p + width + 1;
}

const char *rec_time_text(int64_t unix_ms, char text[REC_TIME_TEXT]) {
    const int64_t first = INT64_C(-62167219200000); /* 0000-01-01T00:00:00.000Z */
    const int64_t last = INT64_C(253402300799999);  /* 9999-12-31T23:59:59.999Z */
    int64_t t = unix_ms < last ? unix_ms : last;
    t = t > first ? t : first;

    /* Counts days since 0000-03-01, so that a leap day is the last day of its year. The date
     * follows from the day number in the proleptic Gregorian calendar by H. Hinnant,
     * "chrono-compatible low-level date algorithms", civil_from_days. gmtime is not used, as it
     * may take the time zone's lock. */
    uint64_t since_first = (uint64_t)(t - first);
    uint32_t day_ms = (uint32_t)(since_first % 86400000);
    uint32_t day =
        (uint32_t)(since_first / 86400000) + 146097 - 60; /* + one era, so never negative */
    uint32_t era = day / 146097;
    uint32_t of_era = day % 146097;
    uint32_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    uint32_t of_year = of_era - (365 * year + year / 4 - year / 100);
    uint32_t march_month = (5 * of_year + 2) / 153; /* 0 = March */
    uint32_t month = march_month < 10 ? march_month + 3 : march_month - 9;
    year += era * 400 + (month <= 2) - 400;

    char *p = text_put(text, year, 4, '-');
    p = text_put(p, month, 2, '-');
    p = text_put(p, of_year - (153 * march_month + 2) / 5 + 1, 2, 'T');
    p = text_put(p, day_ms / 3600000, 2, ':');
    p = text_put(p, day_ms / 60000 % 60, 2, ':');
    p = text_put(p, day_ms / 1000 % 60, 2, '.');
    p = text_put(p, day_ms % 1000, 3, 'Z');
    *p = '\0';
    return text;
}

char *rec_put_text(char *at, const char *text) {
    size_t len = strlen(text);
    memcpy(at, text, len + 1);
    return at + len;
}

char *rec_put_number(char *at, uint64_t value) {
    char text[21] = "";
    size_t i = sizeof text - 1;
    do {
        text[--i] = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    return rec_put_text(at, text + i);
}

const char *rec_skip_text(const char *at, const char *text) {
    size_t len = strlen(text);
    return at != NULL && strncmp(at, text, len) == 0 ? at + len : NULL;
}

int rec_hex_digit(char c) {
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}
