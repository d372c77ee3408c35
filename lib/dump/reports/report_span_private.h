/* Steps through the lines of a text that is borrowed and has no NUL at its end. */
#ifndef STALLKIT_DUMP_REPORT_SPAN_PRIVATE_H
#define STALLKIT_DUMP_REPORT_SPAN_PRIVATE_H

#include <stdbool.h>
#include <string.h>

#include "dump/json/span_private.h"

static inline size_t line_len(struct span line) {
    return (size_t)(line.end - line.p);
}

static inline bool line_has_head(struct span line, const char *head) {
    size_t len = strlen(head);
    return line_len(line) >= len && memcmp(line.p, head, len) == 0;
}

static inline bool line_is_blank_at(const char *p) {
    return *p == ' ' || *p == '\t' || *p == '\r';
}

/* Returns the line without blanks at its ends. */
static inline struct span line_trim(struct span line) {
    while (line.p < line.end && line_is_blank_at(line.p)) {
        line.p++;
    }
    while (line.p < line.end && line_is_blank_at(line.end - 1)) {
        line.end--;
    }
    return line;
}

/* Does the line give a spindump's number of samples, as "Steps: 23 (100ms sampling interval)" or
 * "Num samples: 5" do? With other words after the colon the line is not the spindump's. */
bool report_counts_samples(struct span line);

/* Takes the text's next line, without its line feed. *ended, if not NULL, is set to whether the
 * line has a line feed. False: the text is over. */
static inline bool line_take(struct span *text, struct span *line, bool *ended) {
    const char *feed = text->p < text->end ? memchr(text->p, '\n', line_len(*text)) : NULL;
    bool any = text->p < text->end;
    *line = (struct span){text->p, feed ? feed : text->end};
    text->p = feed ? feed + 1 : text->end;
    if (ended) {
        *ended = feed != NULL;
    }
    return any;
}

#endif
