/* Parses the words of a trace's lines as numbers, times and names. */
#include "replay/replay_words.h"

#include <string.h>

#include "support/rec_text.h"

#define NS_PER_MS UINT64_C(1000000)

char *replay_next_word(struct replay_words *w) {
    while (*w->at == ' ' || *w->at == '\t' || *w->at == '\r') {
        w->at++;
    }
    if (*w->at == '\0') {
        return NULL;
    }
    char *word = w->at;
    while (*w->at != '\0' && *w->at != ' ' && *w->at != '\t' && *w->at != '\r') {
        w->at++;
    }
    if (*w->at != '\0') {
        *w->at++ = '\0';
    }
    return word;
}

bool replay_parse_number(const char *text, uint64_t max, uint64_t *out) {
    uint64_t value = 0;
    if (text == NULL || *text == '\0') {
        return false;
    }
    for (; *text != '\0'; text++) {
        if (*text < '0' || *text > '9' || value > max / 10) {
            return false;
        }
        value = value * 10 + (uint64_t)(*text - '0');
        if (value > max) {
            return false;
        }
    }
    *out = value;
    return true;
}

bool replay_parse_ms(char *text, uint64_t *out) {
    uint64_t ms, rest = 0;
    char *point = text != NULL ? strchr(text, '.') : NULL;
    if (point != NULL) {
        *point++ = '\0';
        size_t digits = strlen(point);
        if (digits > 6 || !replay_parse_number(point, NS_PER_MS - 1, &rest)) {
            return false;
        }
        for (; digits < 6; digits++) {
            rest *= 10;
        }
    }
    if (!replay_parse_number(text, REPLAY_TIME_MAX, &ms)) {
        return false;
    }
    *out = ms * NS_PER_MS + rest;
    return true;
}

bool replay_find_word(const char *word, const char *const *words, size_t count, uint32_t *index) {
    for (size_t i = 0; word != NULL && i < count; i++) {
        if (words[i] != NULL && strcmp(words[i], word) == 0) {
            *index = (uint32_t)i;
            return true;
        }
    }
    return false;
}

void replay_read_name(char out[REC_NAME_MAX], const char *word) {
    size_t len = 0;
    memset(out, 0, REC_NAME_MAX);
    for (; word != NULL && *word != '\0' && len + 1 < REC_NAME_MAX; word++) {
        int high, low;
        if (*word != '%') {
            out[len++] = *word;
        } else if ((high = rec_hex_digit(word[1])) >= 0 && (low = rec_hex_digit(word[2])) >= 0) {
            out[len++] = (char)(high << 4 | low);
            word += 2;
        }
    }
}
