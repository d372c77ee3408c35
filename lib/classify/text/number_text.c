/* Writes numbers as text. */
#include "classify/text/number_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/strbuf.h"

const char *text_grouped(uint64_t v, char out[NUMBER_SIZE]) {
    char digits[DECIMAL_MAX];
    size_t n = decimal_put(digits, v);
    char *to = out;
    for (size_t i = 0; i < n; i++) {
        if (i && (n - i) % 3 == 0) {
            *to++ = ',';
        }
        *to++ = digits[i];
    }
    *to = 0;
    return out;
}

const char *text_count(uint64_t v, size_t columns, char out[NUMBER_SIZE]) {
    static const char units[] = "kMGTPE";
    uint64_t unit = 1000;
    size_t i = 0;
    if (strlen(text_grouped(v, out)) <= columns) {
        return out;
    }
    for (; v / unit >= 1000; unit *= 1000) {
        i++;
    }
    uint64_t whole = v / unit, hundredths = v % unit / (unit / 1000) / 10;
    if (whole >= 100) {
        snprintf(out, NUMBER_SIZE, "%" PRIu64 "%c", whole, units[i]);
    } else if (whole >= 10) {
        snprintf(out, NUMBER_SIZE, "%" PRIu64 ".%" PRIu64 "%c", whole, hundredths / 10, units[i]);
    } else {
        snprintf(out, NUMBER_SIZE, "%" PRIu64 ".%02" PRIu64 "%c", whole, hundredths, units[i]);
    }
    return out;
}

/* Writes two numbers with their units, "12m05s"; the second one has two digits. */
static void put_pair(char *out, uint64_t large, char unit, uint64_t small, char small_unit) {
    out += decimal_put(out, large);
    *out++ = unit;
    *out++ = (char)('0' + small / 10 % 10);
    *out++ = (char)('0' + small % 10);
    *out++ = small_unit;
    *out = '\0';
}

const char *text_ms(uint64_t ms, char out[NUMBER_SIZE]) {
    uint64_t s = ms / 1000;
    if (ms < 1000) {
        memcpy(out + decimal_put(out, ms), "ms", sizeof "ms");
    } else if (ms < 59950) {
        char *end = out + decimal_put(out, (ms + 50) / 1000);
        *end++ = '.';
        memcpy(end + decimal_put(end, (ms + 50) / 100 % 10), "s", sizeof "s");
    } else if (s < 3600) {
        put_pair(out, s / 60, 'm', s % 60, 's');
    } else if (s < 100 * 3600) {
        put_pair(out, s / 3600, 'h', s / 60 % 60, 'm');
    } else if (s < UINT64_C(1000) * 86400) {
        put_pair(out, s / 86400, 'd', s / 3600 % 24, 'h');
    } else {
        snprintf(out, NUMBER_SIZE, "%" PRIu64 "d", s / 86400);
    }
    return out;
}

const char *text_duration(struct tally_duration d, char out[NUMBER_SIZE]) {
    char ms[NUMBER_SIZE];
    if (d.ms == 0) {
        return memcpy(out, "\xe2\x80\x93", sizeof "\xe2\x80\x93");
    }
    if (!d.at_least) {
        return text_ms(d.ms, out);
    }
    snprintf(out, NUMBER_SIZE, "\xe2\x89\xa5%s", text_ms(d.ms, ms));
    return out;
}

unsigned text_permille(uint64_t part, uint64_t whole) {
    if (whole && part <= (UINT64_MAX - whole / 2) / 1000) {
        return (unsigned)((part * 1000 + whole / 2) / whole);
    }
    return whole ? (unsigned)(((unsigned __int128)part * 1000 + whole / 2) / whole) : 0;
}

const char *text_share(uint64_t part, uint64_t whole, char out[NUMBER_SIZE]) {
    unsigned share = text_permille(part, whole);
    char *end = out + decimal_put(out, share / 10);
    *end++ = '.';
    memcpy(end + decimal_put(end, share % 10), "%", sizeof "%");
    return out;
}

const char *text_users(uint64_t users, size_t columns, char out[NUMBER_SIZE]) {
    if (!users) {
        return memcpy(out, "\xe2\x80\x93", sizeof "\xe2\x80\x93");
    }
    char number[NUMBER_SIZE];
    if (users <= DISTINCT_EXACT_MAX && !columns) {
        return text_grouped(users, out);
    }
    bool about = users > DISTINCT_EXACT_MAX;
    const char *digits =
        columns ? text_count(users, columns - about, number) : text_grouped(users, number);
    snprintf(out, NUMBER_SIZE, "%s%s", about ? "~" : "", digits);
    return out;
}
