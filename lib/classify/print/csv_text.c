/* Fields of comma-separated values. */
#include "classify/print/csv_text.h"

#include <string.h>

void csv_put_field(struct sink *out, const char *s) {
    if (!strpbrk(s, ",\"\r\n")) {
        sink_str(out, s);
        return;
    }
    sink_char(out, '"');
    for (; *s; s++) {
        sink_str(out, *s == '"' ? "\"" : "");
        sink_char(out, *s);
    }
    sink_char(out, '"');
}
