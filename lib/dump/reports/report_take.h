/* The callback that receives the dumps of a report. */
#ifndef STALLKIT_DUMP_REPORT_TAKE_H
#define STALLKIT_DUMP_REPORT_TAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/err.h"

/* Is this text, which a report_take received, a session record? */
static inline bool report_is_session(const char *text, size_t len) {
    static const char head[] = "{\"format\":\"stall-session/";
    return len >= sizeof head && memcmp(text, head, sizeof head - 1) == 0;
}

/* Receives a dump or, from a report on how much an app was used, a session record: one line of JSON
 * (stall-dump/1, stall-session/1) without a line feed, borrowed for the call. After an error the
 * conversion fails; a reader of a list of reports may still convert the other reports, unless the
 * error is ERR_NOMEM. */
typedef enum st (*report_take)(void *ctx, const char *text, size_t len, struct err *e);

#endif
