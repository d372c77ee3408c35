/* The records that a stream between commands holds besides dumps and reports: whole inputs in one
 * line (stall-input/1), lines that a filter refused (stall-refused/1), and lists of dumps, which
 * --answer-each writes. See stall-dump(5), ANSWERS. */
#ifndef STALLKIT_DUMP_STREAM_RECORD_H
#define STALLKIT_DUMP_STREAM_RECORD_H

#include "base/err.h"
#include "base/sink.h"
#include "base/strbuf.h"
#include "dump/json/span_private.h"

enum stream_record {
    RECORD_OTHER,   /* a dump, a session record, a report, or nothing of use */
    RECORD_INPUT,   /* an object whose "format" begins with stall-input/ */
    RECORD_REFUSED, /* an object whose "format" begins with stall-refused/ */
    RECORD_LIST     /* an array that is empty or begins with an object of a format stall-… */
};

/* Returns the kind of record that the brackets and the member "format" of the text show; the text
 * need not be valid JSON. */
enum stream_record stream_record_of(struct span text);

/* A stall-input/1 record: the text of a whole input, in any format, as one line of JSON.
 * Zero-initialised = empty. */
struct stall_input {
    struct strbuf name; /* origin of the text, for messages; empty = not given */
    struct strbuf text; /* the input, without a byte order mark */
};

/* Takes the next string value, at any depth, of JSON whose grammar was checked, and sets *out to
 * its decoded text. ST_NONE: there is none. */
enum st stream_record_string(struct span *rest, struct strbuf *out, struct err *e) BASE_MUST_USE;

/* Reads a RECORD_INPUT; *out must be empty. "name" may be missing; "text" must be a string. What
 * JSON strings cannot hold becomes U+FFFD, as in dumps. ST_ERR: ERR_FORMAT or ERR_TRUNCATED if it
 * is not JSON or lacks a text, ERR_LIMIT, ERR_UNSUPPORTED if it is of another version, ERR_NOMEM.
 * Never ST_NONE. In any case the caller calls stall_input_release. */
enum st stall_input_read(struct stall_input *out, struct span text, struct err *e) BASE_MUST_USE;
void stall_input_release(struct stall_input *in);

/* Sets an error with the reason and the place that a RECORD_REFUSED gives. Returns ST_ERR. */
enum st stall_refused_tell(struct span text, struct err *e);
/* Appends the reason that a RECORD_REFUSED gives. ST_NONE: it gives none. ST_ERR: out of memory. */
enum st stall_refused_reason(struct strbuf *out, struct span text, struct err *e) BASE_MUST_USE;
/* Writes a stall-refused/1 as one line. where: "INPUT:LINE". */
void stall_refused_write(const char *where, const struct err *why, struct sink *out);

#endif
