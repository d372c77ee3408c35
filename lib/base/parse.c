/* Strict parsing of numbers, words and image ids. */
#include "base/parse.h"

#include <string.h>

bool parse_u64(const char *s, size_t len, uint64_t max, uint64_t *out) {
    uint64_t v = 0;
    for (size_t i = 0; i < len; i++) {
        unsigned digit = (unsigned)(unsigned char)s[i] - '0';
        if (digit > 9 || v > max / 10 || digit > max - v * 10) {
            return false;
        }
        v = v * 10 + digit;
    }
    if (len == 0) {
        return false;
    }
    *out = v;
    return true;
}

/* Reads the digits of a fraction as a number of billionths. False: they are not 1 to 9 digits. */
static bool parse_billionths(const char *s, size_t len, uint64_t *out) {
    enum { DIGITS = 9 };
    uint64_t v;
    if (len > DIGITS || !parse_u64(s, len, UINT32_MAX, &v)) {
        return false;
    }
    for (size_t i = len; i < DIGITS; i++) {
        v *= 10;
    }
    *out = v;
    return true;
}

bool parse_duration_ms(const char *s, size_t len, uint64_t max, uint64_t *out) {
    static const struct {
        const char *word;
        uint64_t ms;
    } units[] = {{"ms", 1}, {"s", 1000}, {"m", 60 * 1000}, {"h", 60 * 60 * 1000}};
    const uint64_t billion = 1000000000;
    size_t whole_len = 0, number_len, unit = 0;
    while (whole_len < len && s[whole_len] >= '0' && s[whole_len] <= '9') {
        whole_len++;
    }
    number_len = whole_len;
    if (number_len < len && s[number_len] == '.') {
        for (number_len++; number_len < len && s[number_len] >= '0' && s[number_len] <= '9';) {
            number_len++;
        }
    }
    uint64_t whole, billionths = 0;
    if (number_len < len && !PARSE_WORD(s + number_len, len - number_len, units, &unit)) {
        return false;
    }
    if (!parse_u64(s, whole_len, max / units[unit].ms, &whole) ||
        (number_len > whole_len &&
         !parse_billionths(s + whole_len + 1, number_len - whole_len - 1, &billionths)) ||
        billionths * units[unit].ms % billion != 0) {
        return false;
    }
    uint64_t ms = whole * units[unit].ms + billionths * units[unit].ms / billion;
    if (ms > max) {
        return false;
    }
    *out = ms;
    return true;
}

bool parse_size(const char *s, size_t len, uint64_t max, uint64_t *out) {
    static const char units[] = "KMGT";
    const char *unit = len > 0 && s[len - 1] ? strchr(units, s[len - 1]) : NULL;
    unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
    uint64_t number;
    if (!parse_u64(s, len - (unit != NULL), max >> shift, &number)) {
        return false;
    }
    *out = number << shift;
    return true;
}

bool parse_i64(const char *s, size_t len, int64_t *out) {
    bool negative = len > 0 && s[0] == '-';
    uint64_t magnitude;
    if (negative) {
        s++;
        len--;
    }
    if (!parse_u64(s, len, (uint64_t)INT64_MAX + negative, &magnitude)) {
        return false;
    }
    if (!negative) {
        *out = (int64_t)magnitude;
    } else {
        *out = magnitude ? -(int64_t)(magnitude - 1) - 1 : 0;
    }
    return true;
}

/* Returns the value of a hex digit, -1 for other characters. It is a table, as a branch would be
 * mispredicted at every other digit. */
static int hex_digit_value(char c) {
    static const signed char values[256] = {
        /* each entry is the digit's value plus 1 */
        ['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,
        ['6'] = 7,  ['7'] = 8,  ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12,
        ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16, ['A'] = 11, ['B'] = 12,
        ['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16,
    };
    return values[(unsigned char)c] - 1;
}

static bool has_0x(const char *s, size_t len) {
    return len >= 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X');
}

bool parse_hex(const char *s, size_t len, uint64_t *out) {
    if (has_0x(s, len)) {
        s += 2;
        len -= 2;
    }
    uint64_t v = 0;
    for (size_t i = 0; i < len; i++) {
        int digit = hex_digit_value(s[i]);
        if (digit < 0 || v >> 60) {
            return false;
        }
        v = v << 4 | (unsigned)digit;
    }
    if (len == 0) {
        return false;
    }
    *out = v;
    return true;
}

bool parse_address(const char *s, size_t len, uint64_t *out) {
    return has_0x(s, len) ? parse_hex(s, len, out) : parse_u64(s, len, UINT64_MAX, out);
}

bool parse_is(const char *s, size_t len, const char *word) {
    size_t same = 0;
    while (same < len && word[same] && word[same] == s[same]) {
        same++;
    }
    return same == len && !word[same];
}

bool parse_word(const char *s, size_t len, const void *rows, size_t count, size_t row_size,
                size_t *out) {
    for (size_t i = 0; i < count; i++) {
        const char *word;
        memcpy(&word, (const char *)rows + i * row_size, sizeof word);
        if ((len == 0 || *word == *s) && parse_is(s, len, word)) {
            *out = i;
            return true;
        }
    }
    return false;
}

/* Reads exactly 2 * count hex digits into out[count]. False: one of the characters is none. */
static bool hex_bytes(const char *s, size_t count, uint8_t *out) {
    for (size_t i = 0; i < count; i++) {
        int high = hex_digit_value(s[2 * i]), low = hex_digit_value(s[2 * i + 1]);
        if (high < 0 || low < 0) {
            return false;
        }
        out[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

enum { UUID_BYTES = 16, UUID_DIGITS = 32, UUID_TEXT = 36 };

static bool dash_follows(size_t digits) {
    return digits == 8 || digits == 12 || digits == 16 || digits == 20;
}

bool parse_uuid(const char *s, size_t len, struct image_id *out) {
    if (len >= 2 && ((s[0] == '{' && s[len - 1] == '}') || (s[0] == '<' && s[len - 1] == '>'))) {
        s++;
        len -= 2;
    }
    static const uint8_t groups[] = {8, 4, 4, 4, 12}; /* digits between a UUID's dashes */
    char digits[UUID_DIGITS];
    size_t at = 0, count = 0;
    if (len != UUID_DIGITS && len != UUID_TEXT) {
        return false;
    }
    for (size_t i = 0; i < sizeof groups; i++) {
        if (i > 0 && len == UUID_TEXT && s[at++] != '-') {
            return false;
        }
        memcpy(digits + count, s + at, groups[i]);
        count += groups[i];
        at += groups[i];
    }
    struct image_id id = {.kind = IMAGE_ID_UUID, .len = UUID_BYTES};
    if (!hex_bytes(digits, UUID_BYTES, id.bytes)) {
        return false;
    }
    *out = id;
    return true;
}

bool parse_build_id(const char *s, size_t len, struct image_id *out) {
    struct image_id id = {.kind = IMAGE_ID_BUILD, .len = (uint8_t)(len / 2)};
    if (len < 2 || len > (size_t)2 * IMAGE_ID_MAX || len % 2 || !hex_bytes(s, len / 2, id.bytes)) {
        return false;
    }
    *out = id;
    return true;
}

const char *image_id_text(const struct image_id *id, char out[IMAGE_ID_TEXT]) {
    bool uuid = id->kind == IMAGE_ID_UUID;
    const char *hex = uuid ? "0123456789ABCDEF" : "0123456789abcdef";
    size_t bytes = id->kind == IMAGE_ID_NONE ? 0 : id->len;
    size_t n = 0;
    for (size_t i = 0; i < bytes && i < IMAGE_ID_MAX; i++) {
        if (uuid && dash_follows(2 * i)) {
            out[n++] = '-';
        }
        out[n++] = hex[id->bytes[i] >> 4];
        out[n++] = hex[id->bytes[i] & 15];
    }
    out[n] = '\0';
    return out;
}

bool image_id_equal(const struct image_id *a, const struct image_id *b) {
    return a->kind == b->kind && a->len == b->len && memcmp(a->bytes, b->bytes, a->len) == 0;
}

bool image_id_is_zero(const struct image_id *id) {
    for (size_t i = 0; id->kind != IMAGE_ID_NONE && i < id->len; i++) {
        if (id->bytes[i]) {
            return false;
        }
    }
    return true;
}

/* ---- days ---- */

enum { DAYS_TO_1970 = 719468 /* from 0000-03-01 */ };

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

bool parse_day(const char *text, size_t len, int32_t *day) {
    uint64_t y, m, d;
    if (len < DAY_LENGTH ||
        (len > DAY_LENGTH && text[DAY_LENGTH] != 'T' && text[DAY_LENGTH] != ' ') ||
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

/* The first and the last day that parse_day reads: 0001-01-01 and 9999-12-31. */
enum { FIRST_DAY = -719162, LAST_DAY = 2932896 };

bool day_is_one(int64_t day) {
    return day >= FIRST_DAY && day <= LAST_DAY;
}

static char *put_digits(char *out, size_t count, unsigned number) {
    for (size_t i = count; i > 0; i--, number /= 10) {
        out[i - 1] = (char)('0' + number % 10);
    }
    return out + count;
}

const char *day_text(int32_t day, char out[DAY_SIZE]) {
    int32_t year;
    unsigned month, of_month;
    out[0] = '\0';
    if (day_is_one(day)) {
        date_of(day, &year, &month, &of_month);
        char *at = put_digits(out, 4, (unsigned)year);
        *at++ = '-';
        at = put_digits(at, 2, month);
        *at++ = '-';
        *put_digits(at, 2, of_month) = '\0';
    }
    return out;
}

bool day_is_told(const char *time, size_t len) {
    int32_t day;
    return parse_day(time, len, &day) && day >= DAY_SET_FIRST;
}
