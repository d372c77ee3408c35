/* The one stack that a bucket keeps: enough to sort the bucket anew when the rules have changed. */
#ifndef STALLKIT_CLASSIFY_EXEMPLAR_H
#define STALLKIT_CLASSIFY_EXEMPLAR_H

#include <stdbool.h>

#include "base/strbuf.h"
#include "dump/dump.h"

/* Appends a stall-dump/1 document, on one line without its end, whose main thread has this stack of
 * d: with the images, names and locations that it refers to, and nothing of the user or the device.
 * It has the key that d has. False: out of memory. */
bool exemplar_write(const struct dump *d, const struct dump_stack *stack,
                    struct strbuf *out) BASE_MUST_USE;

#endif
