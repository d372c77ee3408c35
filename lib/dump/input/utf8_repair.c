/* Replaces what is not UTF-8. */
#include "dump/input/utf8_repair.h"

#include "base/utf8.h"
#include "dump/json/text_limits.h"

enum st utf8_repair(struct strbuf *text, uint64_t *count, struct err *e) {
    static const char replacement[] = "\xef\xbf\xbd";
    const char *p = strbuf_cstr(text), *end = p + text->len;
    struct strbuf whole = {.limit = DUMP_TEXT_MAX};
    uint64_t bad = 0;
    size_t good = utf8_valid_len(p, text->len);
    if (good == text->len) {
        return ST_OK;
    }
    for (;;) {
        strbuf_add(&whole, p, good);
        p += good;
        if (p == end) {
            break;
        }
        strbuf_addstr(&whole, replacement);
        bad++;
        p++;
        good = utf8_valid_len(p, (size_t)(end - p));
    }
    enum st st = strbuf_check(&whole, e);
    if (st != ST_OK) {
        strbuf_release(&whole);
        return st;
    }
    strbuf_release(text);
    *text = whole;
    *count += bad;
    return ST_OK;
}
