/* Functions that report readers use before they fill a draft: recognising members and loading
 * JSON. */
#include "dump/document.h"
#include "dump/reports/report_private.h"

unsigned report_members(struct span object, const char *const *names) {
    struct span key, value;
    unsigned present = 0;
    while (span_next(&object, &key, &value)) {
        if (span_is(key, "format")) {
            /* The first member of a dump is "format", so that a dump is recognised at once. */
            return 0;
        }
        for (size_t i = 0; names[i]; i++) {
            if (span_is(key, names[i])) {
                present |= 1u << i;
            }
        }
    }
    return present;
}

static enum st load_text(const char *text, size_t len, json_t **root, struct err *e) {
    static const struct document_options options = {.depth_max = REPORT_DEPTH_MAX};
    return document_load(root, text, len, &options, e);
}

enum st report_load(struct span text, json_t **root, struct err *e) {
    return load_text(text.p, (size_t)(text.end - text.p), root, e);
}

enum st report_load_string(const json_t *string, json_t **root, struct err *e) {
    return load_text(json_string_value(string), json_string_length(string), root, e);
}
