/* Sentry's envelopes: a JSON line as header, then items, each a JSON line and its payload, which
 * has the length that the JSON line gives, or else is one line.
 * https://develop.sentry.dev/sdk/data-model/envelopes/ */
#ifndef STALLKIT_DUMP_ENVELOPE_H
#define STALLKIT_DUMP_ENVELOPE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "dump/json/span_private.h"

/* May the line be the header of an envelope? It is one if the line after it begins an item. */
bool envelope_is_header(struct span line);
/* Does the line begin an item? *length is the size of its payload in bytes, or UINT64_MAX if the
 * payload is one line. */
bool envelope_is_item(struct span line, uint64_t *length);

/* Is the document an envelope? */
bool envelope_is(struct span text);
/* Returns the text after the first line of an envelope, for envelope_next. */
struct span envelope_items(struct span text);
/* Steps to the next item and sets *payload to its bytes. ST_NONE: there are no more. ST_ERR:
 * ERR_FORMAT or ERR_TRUNCATED. */
enum st envelope_next(struct span *items, struct span *payload, struct err *e) BASE_MUST_USE;

#endif
