/* Cuts a file or a pipe into documents. */
#ifndef STALLKIT_DUMP_DUMP_STREAM_H
#define STALLKIT_DUMP_DUMP_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/gz.h"

/* A stream that gives the documents of one input, one at a time: JSON Lines, an object over many
 * lines, text reports and .ips files (report_formats.h), in any order, plain or compressed with
 * gzip (found by content). The stream holds one document in memory. */
struct dump_stream;
struct report_maps;

/* Opens a stream on fd, which the stream owns from now on. name is for messages, and copied. */
enum st dump_stream_open(struct dump_stream **out, int fd, const char *name, struct err *e);
/* Opens a stream on an input that the caller has opened and perhaps looked into (gz_input_unread).
 * The stream owns `in`; if opening fails, `in` is closed. */
enum st dump_stream_open_input(struct dump_stream **out, struct gz_input *in, struct err *e);
/* Opens a stream on a text that is part of an input: line and offset are the position of its first
 * byte in that input. text is copied. ST_ERR: ERR_NOMEM. */
enum st dump_stream_open_text(struct dump_stream **out, const char *text, size_t len, uint64_t line,
                              uint64_t offset, struct err *e) BASE_MUST_USE;
/* Sets callbacks: `ready` is asked whether the input has data that can be read without waiting;
 * `before` (NULL: ready) is called before each read that may wait. */
void dump_stream_ask(struct dump_stream *s, bool (*ready)(void *ctx), bool (*before)(void *ctx),
                     void *ctx);
/* Sets the maps by which a report in JSON is recognised between other lines, in a value of a line,
 * or in changed lines; they are borrowed. Without them the built-in formats are known. */
void dump_stream_use_maps(struct dump_stream *s, const struct report_maps *maps);
/* Reads the next document's text, borrowed until the next call, and the number (from 1) of its
 * first line. ST_NONE: the input has ended. ST_ERR: this document is unreadable (too long, cut,
 * damaged gzip), and *line is its first line; call again for the next one, until ST_NONE. Blank
 * lines, lines outside of text reports and the rest of a broken document are skipped. The function
 * returns as soon as the end of the document is certain. */
enum st dump_stream_next(struct dump_stream *s, const char **text, size_t *len, uint64_t *line,
                         struct err *e) BASE_MUST_USE;

/* A line of an input that looks like a dump. */
struct dump_stream_line {
    const char *text; /* borrowed until the next call, without its line feed */
    size_t len;
    uint64_t line, offset; /* line: number of the line, from 1; offset: bytes of input before it */
};
/* Takes the next line if it looks like a whole document: it is complete, begins as the recorder's
 * dumps do and ends with a brace, and the next line begins in the same way. This is much cheaper
 * than dump_stream_next, because the line is not scanned; so a line that dump_parse refuses has to
 * be read again, through dump_stream_open_text with its line feed. False: call dump_stream_next.
 * dump_stream_line reads only if that needs no waiting. */
bool dump_stream_line(struct dump_stream *s, struct dump_stream_line *out);
/* Does a document begin with the first line of the input that is not blank, or would
 * dump_stream_next find a report after other lines? No document may have been read yet. Returns
 * true for an input that cannot be read, and false for one whose first bytes are not text. */
bool dump_stream_sees_document(struct dump_stream *s);
/* Does an input that starts with these bytes hold a text report, at its beginning or after other
 * lines? *more is set if the answer about the beginning needs further bytes. ST_NONE: no. ST_ERR:
 * ERR_NOMEM. */
enum st dump_stream_is_text(const char *bytes, size_t len, bool *more, struct err *e) BASE_MUST_USE;
/* Returns the number of lines that dump_stream_next has skipped outside of reports, blank ones
 * apart; 0 if the lines between the reports are those of a log. */
uint64_t dump_stream_passed_over(const struct dump_stream *s);
/* Returns the number of reports, in text or JSON, whose lines had to be mended (text_mend.h), plus
 * the number of values with reports that were taken out of lines (line_value.h). */
uint64_t dump_stream_mended(const struct dump_stream *s);
void dump_stream_close(struct dump_stream *s);

#endif
