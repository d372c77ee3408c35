/* Parses the frames of Apple's texts of sampled stacks. */
#include <string.h>

#include "dump/reports/report_private.h"
#include "dump/reports/report_sampled_private.h"
#include "dump/reports/report_span_private.h"

struct sampled_place sampled_place_of(const char *s, size_t len) {
    static const char in[] = "in ", plus[] = " + ";
    struct sampled_place p = {.open = len};
    while (p.open > 1 && !(s[p.open - 1] == '(' && s[p.open - 2] == ' ')) {
        p.open--;
    }
    if (p.open < 2) {
        return (struct sampled_place){0};
    }
    const char *image = s + p.open, *end = s + len;
    for (const char *at = image; end - at > 4; at++) {
        if (memcmp(at, in, 3) == 0 && (at == image || at[-1] == ' ')) {
            p.source = (struct span){s + p.open, at > image ? at - 1 : at};
            image = at + 3;
            break;
        }
    }
    for (const char *at = image; end - at > 3; at++) {
        const char *digits = at + 3;
        if (memcmp(at, plus, 3) == 0 && report_take_decimal(&digits, &p.offset) && *digits == ')') {
            p.image = (struct span){image, at};
            p.placed = true;
        }
    }
    p.open--;
    return p;
}

uint64_t sampled_frame_name(struct report *r, uint64_t address, const char *s, size_t len) {
    const char *whole = report_text(r, s, len);
    if (whole && report_atos_tail(whole)) {
        return report_symbol(r, address, whole);
    }
    const struct sampled_place p = sampled_place_of(s, len);
    if (p.open < 2 || strncmp(s, "???", 3) == 0) {
        return 0;
    }
    const char *symbol = report_text(r, s, p.open - 1);
    const char *comma = p.source.p ? memchr(p.source.p, ',', line_len(p.source)) : NULL;
    const size_t size = (size_t)((comma ? comma : p.source.end) - p.source.p);
    if (size > 0 && memchr(p.source.p, ':', size)) {
        const char *source = report_join(r, report_text(r, p.source.p, size), ")", "");
        symbol = report_join(r, symbol, " (", source);
    }
    return symbol ? report_symbol(r, address, symbol) : 0;
}
