/* Reads Apple's text reports, and those of tools that write like it. */
#include <string.h>

#include "dump/reports/report_private.h"

static const char *const text_heads[] = {"Incident Identifier:",
                                         "CrashReporter Key:",
                                         "Hardware Model:",
                                         "Beta Identifier:",
                                         "Distributor ID:",
                                         "Process:  ",
                                         "Process:\t",
                                         "Translated Report",
                                         "-------------------------------------",
                                         "Date/Time:  ",
                                         NULL};

/* Where the .ips that a text was made from begins, below a line "Full Report"; NULL: there is none.
 * The line may have blanks or a CR at its end. */
static const char *text_original(struct span text) {
    static const char mark[] = "\nFull Report";
    const size_t size = sizeof mark - 1;
    for (const char *p = text.p; (size_t)(text.end - p) > size; p++) {
        p = memchr(p, '\n', (size_t)(text.end - p) - size);
        if (!p) {
            return NULL;
        }
        const char *rest = p + size;
        while (rest < text.end && (*rest == ' ' || *rest == '\t' || *rest == '\r')) {
            rest++;
        }
        if (memcmp(p, mark, size) == 0 && rest < text.end && *rest == '\n') {
            return memchr(rest, '{', (size_t)(text.end - rest));
        }
    }
    return NULL;
}

/* The console of macOS puts the .ips that a text was made from behind it. */
static enum st report_text_read(const struct report_document *d, struct err *e) {
    const char *original = text_original(d->text);
    if (original) {
        const struct report_document ips = {{original, d->text.end}, d->take, d->ctx};
        return report_read_ips(&ips, e);
    }
    struct report r;
    bool sampled = report_is_sampled(d->text);
    report_init(&r, sampled ? "spindump" : "crash", 0, e);
    report_keep(&r, "text", d->text, true);
    enum st st = sampled ? report_fill_sampled(&r, d->text) : report_fill_crash(&r, d->text);
    if (st == ST_OK) {
        st = report_finish(&r, d);
    }
    report_release(&r);
    return st;
}

const struct report_format report_text_format = {.heads = text_heads, .read = report_text_read};
