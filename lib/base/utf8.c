/* Decodes and encodes UTF-8 by RFC 3629, section 4. */
#include "base/utf8.h"

#include <string.h>

size_t utf8_decode(const char *s, size_t len, uint32_t *code_point) {
    if (len == 0) {
        return 0;
    }
    const unsigned char *p = (const unsigned char *)s;
    if (p[0] < 0x80) {
        *code_point = p[0];
        return 1;
    }
    /* 0xc0 and 0xc1 would begin overlong forms; 0xf5 and above would exceed U+10FFFF. */
    size_t need = 2U + (p[0] >= 0xe0) + (p[0] >= 0xf0);
    if (p[0] < 0xc2 || p[0] > 0xf4 || len < need) {
        return 0;
    }
    uint32_t v = p[0] & (0x7fu >> need);
    for (size_t i = 1; i < need; i++) {
        if ((p[i] & 0xc0) != 0x80) {
            return 0;
        }
        v = v << 6 | (p[i] & 0x3f);
    }
    bool overlong = (need == 3 && v < 0x800) || (need == 4 && v < 0x10000);
    if (overlong || v > 0x10ffff || (v >= 0xd800 && v <= 0xdfff)) {
        return 0;
    }
    *code_point = v;
    return need;
}

size_t utf8_encode(uint32_t code_point, char out[4]) {
    if (code_point < 0x80) {
        out[0] = (char)code_point;
        return 1;
    }
    if (code_point > 0x10ffff || (code_point >= 0xd800 && code_point <= 0xdfff)) {
        return 0;
    }
    size_t len = 2U + (code_point >= 0x800) + (code_point >= 0x10000);
    for (size_t i = len - 1; i > 0; i--) {
        out[i] = (char)(0x80 | (code_point & 0x3f));
        code_point >>= 6;
    }
    out[0] = (char)((0xf00u >> len & 0xff) | code_point);
    return len;
}

struct code_point_range {
    uint32_t first, last;
};

static bool is_in(uint32_t c, const struct code_point_range *ranges, size_t count) {
    for (size_t i = 0; i < count && ranges[i].first <= c; i++) {
        if (c <= ranges[i].last) {
            return true;
        }
    }
    return false;
}

bool utf8_is_printable(uint32_t c) {
    /* Ranges that are not shown: control characters; code points that Unicode calls
     * Default_Ignorable_Code_Point, other than variation selectors, which belong to emoji;
     * separators of lines, anchors of annotations, non-characters. */
    static const struct code_point_range hidden[] = {
        {0x00, 0x1f},       {0x7f, 0x9f},       {0xad, 0xad},      {0x34f, 0x34f},
        {0x61c, 0x61c},     {0x115f, 0x1160},   {0x17b4, 0x17b5},  {0x180b, 0x180f},
        {0x200b, 0x200f},   {0x2028, 0x202e},   {0x2060, 0x206f},  {0x3164, 0x3164},
        {0xfdd0, 0xfdef},   {0xfeff, 0xfeff},   {0xffa0, 0xffa0},  {0xfff0, 0xfffb},
        {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff}};
    if (c - 0x20 < 0x5f) {
        return true;
    }
    return (c & 0xfffe) != 0xfffe && !is_in(c, hidden, sizeof hidden / sizeof *hidden);
}

unsigned utf8_columns(uint32_t c) {
    /* These tables are blocks of Unicode's general categories Mn, Me and Cf, and of East Asian
     * Width W and F; wcwidth(3) is not used, as it depends on the locale. */
    static const struct code_point_range none[] = {
        {0x300, 0x36f},   {0x483, 0x489},    {0x591, 0x5bd},   {0x610, 0x61a},   {0x64b, 0x65f},
        {0x6d6, 0x6dc},   {0x93c, 0x93c},    {0x941, 0x948},   {0x94d, 0x94d},   {0xe31, 0xe31},
        {0xe34, 0xe3a},   {0xe47, 0xe4e},    {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff}, {0x200b, 0x200f},
        {0x20d0, 0x20ff}, {0x302a, 0x302f},  {0x3099, 0x309a}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f},
        {0xfeff, 0xfeff}, {0xe0100, 0xe01ef}};
    static const struct code_point_range wide[] = {
        {0x1100, 0x115f}, {0x2e80, 0x303e}, {0x3041, 0x33ff},   {0x3400, 0x4dbf},  {0x4e00, 0x9fff},
        {0xa000, 0xa4cf}, {0xa960, 0xa97f}, {0xac00, 0xd7a3},   {0xf900, 0xfaff},  {0xfe30, 0xfe6f},
        {0xff00, 0xff60}, {0xffe0, 0xffe6}, {0x1f300, 0x1faff}, {0x20000, 0x3fffd}};
    if (c < 0x300) {
        return 1;
    }
    if (is_in(c, none, sizeof none / sizeof *none)) {
        return 0;
    }
    return is_in(c, wide, sizeof wide / sizeof *wide) ? 2 : 1;
}

size_t utf8_text_columns(const char *s, size_t len) {
    size_t columns = 0;
    for (size_t i = 0; i < len;) {
        uint32_t c;
        size_t n = utf8_decode(s + i, len - i, &c);
        columns += n ? utf8_columns(c) : 1;
        i += n ? n : 1;
    }
    return columns;
}

size_t utf8_valid_len(const char *s, size_t len) {
    const uint64_t high = UINT64_C(0x8080808080808080);
    uint64_t w[4];
    size_t i = 0;
    while (i < len) {
        uint32_t code_point;
        for (; len - i >= sizeof w; i += sizeof w) { /* most text is ASCII */
            memcpy(w, s + i, sizeof w);
            if (((w[0] | w[1] | w[2] | w[3]) & high) != 0) {
                break;
            }
        }
        if (len - i >= sizeof *w) {
            memcpy(w, s + i, sizeof *w);
            if ((*w & high) == 0) {
                i += sizeof *w;
                continue;
            }
        }
        size_t n = utf8_decode(s + i, len - i, &code_point);
        if (n == 0) {
            break;
        }
        i += n;
    }
    return i;
}

bool utf8_valid(const char *s, size_t len) {
    return utf8_valid_len(s, len) == len;
}

size_t utf8_mark(const char *s, size_t len) {
    static const char mark[] = "\xef\xbb\xbf";
    const size_t size = sizeof mark - 1;
    return len >= size && memcmp(s, mark, size) == 0 ? size : 0;
}
