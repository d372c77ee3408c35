/* Puts one member into a dump's own text. */
#include <string.h>

#include "base/jsonw.h"
#include "dump/dump.h"
#include "dump/json/span_private.h"

static void member_write_line(struct span document, const char *name, const char *json, size_t len,
                              struct sink *out) {
    struct span rest = document, key, value;
    const char *from = document.p + 1; /* first byte that is neither written nor left out yet */
    bool any = false;                  /* a member was written */
    bool dropped = false;              /* true: the member before this one was left out */
    sink_char(out, '{');
    while (span_next(&rest, &key, &value)) {
        if (span_is(key, name)) {
            dropped = true;
            from = value.end;
            continue;
        }
        if (dropped) {
            sink_str(out, any ? "," : "");
            from = key.p;
        }
        sink_write(out, from, (size_t)(value.end - from));
        from = value.end;
        any = true;
        dropped = false;
    }
    sink_str(out, any ? "," : "");
    jsonw_escape(out, name, strlen(name));
    sink_char(out, ':');
    sink_write(out, json, len);
    sink_write(out, from, (size_t)(document.end - from));
    sink_char(out, '\n');
}

enum st dump_write_member(const struct dump *d, const char *name, const char *json, size_t len,
                          struct sink *out, struct err *e) {
    struct strbuf compact = {0};
    struct span document = {d->text, d->text + d->text_len};
    document = span_value(&document);
    size_t size = (size_t)(document.end - document.p);
    if (memchr(document.p, '\n', size) || memchr(document.p, '\r', size)) {
        struct sink sink = sink_to_strbuf(&compact);
        span_write_compact(document, &sink);
        if (sink_close(&sink, e) != ST_OK) {
            strbuf_release(&compact);
            return ST_ERR;
        }
        document = (struct span){compact.data, compact.data + compact.len};
    }
    member_write_line(document, name, json, len, out);
    strbuf_release(&compact);
    return ST_OK;
}
