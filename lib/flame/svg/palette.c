/* Chooses the colours of frames. */
#include "flame/svg/palette.h"

#include <string.h>

#include "base/hash.h"
#include "base/parse.h"

enum { HUES = 12, SHADES = 4, WARM_SHADES = 8 };

bool palette_parse(const char *word, struct palette *out) {
    static const struct {
        const char *word;
        struct palette palette;
    } words[] = {
        {"module", {PALETTE_MODULE, 0}}, {"hash", {PALETTE_HASH, 0}},
        {"java", {PALETTE_MODULE, 0}},   {"js", {PALETTE_MODULE, 0}},
        {"perl", {PALETTE_MODULE, 0}},   {"hot", {PALETTE_HUE, 'w'}},
        {"mem", {PALETTE_HUE, 'f'}},     {"io", {PALETTE_HUE, 'j'}},
        {"wakeup", {PALETTE_HUE, 'i'}},  {"chain", {PALETTE_HUE, 'k'}},
        {"red", {PALETTE_HUE, 'a'}},     {"orange", {PALETTE_HUE, 'b'}},
        {"yellow", {PALETTE_HUE, 'd'}},  {"green", {PALETTE_HUE, 'f'}},
        {"aqua", {PALETTE_HUE, 'h'}},    {"blue", {PALETTE_HUE, 'j'}},
        {"purple", {PALETTE_HUE, 'k'}},
    };
    size_t at;
    if (!PARSE_WORD(word, strlen(word), words, &at)) {
        return false;
    }
    *out = words[at].palette;
    return true;
}

static bool is_word_character(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           c == '$' || c == '-';
}

static size_t word_len(const char *s, size_t len) {
    size_t n = 0;
    while (n < len && is_word_character(s[n])) {
        n++;
    }
    return n;
}

/* Finds the group that the name of a frame without a module belongs to: for C++ and Rust the word
 * before the first "::", for Objective-C the class, for paths and packages the first two words of
 * a/b/c. False: the name has none of these. */
static bool find_group(const char *s, size_t len, const char **group, size_t *group_len) {
    if (len > 2 && (s[0] == '-' || s[0] == '+') && s[1] == '[') {
        *group = s + 2;
        *group_len = word_len(s + 2, len - 2);
        return *group_len > 0;
    }
    while (len > 0 && (*s == '<' || *s == '&' || *s == '(')) { /* skips to T in <T as Trait>::f */
        s++;
        len--;
    }
    size_t n = word_len(s, len);
    *group = s;
    *group_len = n;
    if (n > 0 && n + 1 < len && s[n] == ':' && s[n + 1] == ':') {
        return true;
    }
    if (n > 0 && n < len && s[n] == '/') {
        size_t second = word_len(s + n + 1, len - n - 1);
        *group_len = n + 1 + second;
        return second > 0;
    }
    return false;
}

static bool find_hue(const struct palette *p, const struct frame_name *f, char *hue) {
    const char *group = f->module;
    size_t group_len = f->module_len;
    if (p->kind == PALETTE_HUE) {
        *hue = p->hue;
        return p->hue != 'w';
    }
    if (p->kind == PALETTE_HASH) {
        group = f->name;
        group_len = f->name_len;
    } else if (!group && !find_group(f->name, f->name_len, &group, &group_len)) {
        return false;
    }
    *hue = (char)('a' + hash_bytes(group, group_len) % HUES);
    return true;
}

void palette_colour(const struct palette *p, const struct frame_name *f,
                    char out[PALETTE_COLOUR_SIZE]) {
    /* PALETTE_HASH takes the hue from the hash modulo 12, which fixes the hash modulo 4, so the
     * shade has to come from the upper half. */
    uint64_t shade = hash_bytes(f->name, f->name_len) >> (p->kind == PALETTE_HASH ? 32 : 0);
    out[2] = 0;
    if (f->unresolved) {
        out[0] = 'x';
        out[1] = '0';
    } else if (find_hue(p, f, &out[0])) {
        out[1] = (char)('0' + shade % SHADES);
    } else {
        out[0] = 'w';
        out[1] = (char)('0' + shade % WARM_SHADES);
    }
}
