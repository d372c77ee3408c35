/* The heads of records in the answers of --heads, by which a stream processor routes dumps without
 * reading their JSON. See stall-dump(5), ANSWERS. */
#ifndef STALLKIT_DUMP_ANSWER_HEAD_H
#define STALLKIT_DUMP_ANSWER_HEAD_H

#include <stddef.h>
#include <stdint.h>

#include "base/sink.h"

/* The fields of a head. Zero-initialised = no field has a value. Texts may be NULL. */
struct answer_head {
    const char *kind; /* "dump", "session", "refused" or "partial" */
    const char *id;   /* id of the dump or session record; for a partial, its hour or day */
    const char *time; /* a time, whose date and hour are written if it is an RFC 3339 time */
    const char *version, *os;
    const char *image_id, *image; /* the first image of the app without symbols */
    const char *bucket, *cause;   /* empty if the dump is not ranked */
    const char *title; /* title of the bucket, or the reason why the record was refused */
    uint64_t ms, span_ms;
};

/* Writes the fields and the length of the text that follows, each with a tab behind it; image_id
 * and image make one field, with a space between them. A control character below U+0020 becomes a
 * space, any other character that may not be shown a '?'. */
void answer_head_write(const struct answer_head *h, size_t text_len, struct sink *out);
/* Returns the length of the time's beginning up to and with the hour, 13; 0 = the time does not
 * begin with a date and an hour as in RFC 3339, or its zone is not UTC. */
size_t answer_head_hour(const char *time);

#endif
