/* Replaces the home directory by "~". */
#include "support/redact.h"

#include <stdbool.h>
#include <string.h>

/* Returns the length of the home folder's path without slashes at the end; 0 = there is none. */
static size_t home_len(const char *home) {
    size_t len = home != NULL && home[0] == '/' ? strlen(home) : 0;
    while (len > 0 && home[len - 1] == '/') {
        len--;
    }
    return len;
}

/* Can c be part of a folder's name? If so, as in "/home/anna", the text does not name
 * "/home/ann". */
static bool in_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (unsigned char)c >= 0x80 || c == '_' || c == '-';
}

const char *rec_redact_rest(const char *path, const char *home) {
    size_t len = home_len(home);
    if (len == 0 || strncmp(path, home, len) != 0 || (path[len] != '\0' && path[len] != '/')) {
        return NULL;
    }
    return path + len;
}

/* Returns the length of the longest prefix of text[0 … len) that ends between characters. text[len]
 * is read, too. */
static size_t whole_characters(const char *text, size_t len) {
    size_t at = len;
    while (at > 0 && len - at < 3 && ((unsigned char)text[at] & 0xc0) == 0x80) {
        at--;
    }
    /* Four continuation bytes are no UTF-8, so that the text may be cut anywhere. */
    return ((unsigned char)text[at] & 0xc0) == 0x80 ? len : at;
}

char *rec_redact_text(char *to, size_t size, const char *text, const char *home) {
    size_t len = home_len(home), used = 0;
    while (*text != '\0') {
        bool found = len > 0 && strncmp(text, home, len) == 0 && !in_name(text[len]);
        if (used == size - 1) {
            /* The first byte that does not fit is stored, too, as whole_characters reads it. */
            to[used] = found ? '~' : *text;
            used = whole_characters(to, used);
            break;
        }
        to[used++] = found ? '~' : *text;
        text += found ? len : 1;
    }
    to[used] = '\0';
    return to;
}
