/* Fields of comma-separated values. */
#ifndef STALLKIT_CLASSIFY_CSV_TEXT_H
#define STALLKIT_CLASSIFY_CSV_TEXT_H

#include "base/sink.h"

/* A field as RFC 4180 has it: in double quotes where it needs them. */
void csv_put_field(struct sink *out, const char *s);

#endif
