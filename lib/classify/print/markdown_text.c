/* Escapes names in Markdown. */
#include "classify/print/markdown_text.h"

#include <string.h>

void markdown_put_text(struct sink *out, const char *s) {
    for (; *s; s++) {
        if (*s == '<') {
            sink_str(out, "&lt;");
        } else if (*s == '&') {
            sink_str(out, "&amp;");
        } else if (*s == '@') {
            sink_str(out, "@<!-- -->"); /* no address */
        } else if (*s == ':' && s[1] == '/') {
            sink_str(out, "\\:"); /* no link */
        } else if (strncmp(s, "www.", 4) == 0) {
            sink_str(out, "www\\.");
            s += 3;
        } else {
            sink_str(out, strchr("\\`*_[]|~#>", *s) ? "\\" : "");
            sink_char(out, *s);
        }
    }
}

/* Uses HTML, since a span of backticks cannot hold every name: it ends at a backtick, and a | ends
 * the cell. */
void markdown_put_code(struct sink *out, const char *s) {
    sink_str(out, "<code>");
    markdown_put_text(out, s);
    sink_str(out, "</code>");
}
