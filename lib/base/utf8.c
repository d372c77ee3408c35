/* UTF-8 by RFC 3629, section 4. */
#include "base/utf8.h"

size_t utf8_decode(const char *s, size_t len, uint32_t *code_point) {
    if (len == 0) {
        return 0;
    }
    const unsigned char *p = (const unsigned char *)s;
    if (p[0] < 0x80) {
        *code_point = p[0];
        return 1;
    }
    /* 0xc0, 0xc1 only begin overlong forms; 0xf5 and up go past U+10FFFF. */
    size_t need = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
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
    size_t len = code_point < 0x800 ? 2 : code_point < 0x10000 ? 3 : 4;
    for (size_t i = len - 1; i > 0; i--) {
        out[i] = (char)(0x80 | (code_point & 0x3f));
        code_point >>= 6;
    }
    out[0] = (char)((0xf00u >> len & 0xff) | code_point);
    return len;
}

bool utf8_is_printable(uint32_t c) {
    bool control = c < 0x20 || (c >= 0x7f && c < 0xa0);
    bool direction = (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
    return !control && !direction;
}

bool utf8_valid(const char *s, size_t len) {
    uint32_t code_point;
    for (size_t n; len > 0; s += n, len -= n) {
        n = utf8_decode(s, len, &code_point);
        if (n == 0) {
            return false;
        }
    }
    return true;
}
