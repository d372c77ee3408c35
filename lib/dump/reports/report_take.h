/* The receiver of the dumps that a report holds. */
#ifndef STALLKIT_DUMP_REPORT_TAKE_H
#define STALLKIT_DUMP_REPORT_TAKE_H

#include <stddef.h>

#include "base/err.h"

/* Gets a dump: one line of JSON (stall-dump/1) without a line feed, borrowed for the call. An error
 * ends the conversion. */
typedef enum st (*report_take)(void *ctx, const char *text, size_t len, struct err *e);

#endif
