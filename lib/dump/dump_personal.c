/* Writes a dump or session record without the members that may hold personal data. */
#include <string.h>

#include "dump/dump.h"
#include "dump/json/span_private.h"

enum st dump_write_impersonal(const char *text, size_t len, struct sink *out) {
    static const char *const personal[] = {"user", "context", "report"};
    struct span rest = {text, text + len}, key, value;
    rest = span_value(&rest);
    if (rest.p == rest.end || *rest.p != '{') {
        return ST_NONE;
    }
    bool any = false;
    sink_char(out, '{');
    while (span_next(&rest, &key, &value)) {
        size_t i = 0;
        while (i < sizeof personal / sizeof *personal && !span_is(key, personal[i])) {
            i++;
        }
        if (i < sizeof personal / sizeof *personal) {
            continue;
        }
        sink_str(out, any ? "," : "");
        any = true;
        span_write_compact(key, out);
        sink_char(out, ':');
        span_write_compact(value, out);
    }
    sink_str(out, "}\n");
    return ST_OK;
}
