/* The way from a file or a pipe to its documents. */
#ifndef STALLKIT_DUMP_DUMP_STREAM_H
#define STALLKIT_DUMP_DUMP_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/gz.h"

/* Documents of one input, one at a time: JSON Lines, a single object over many lines, text reports
 * and .ips files (report_formats.h), in any order, or a gzip of them (by content). Memory: one
 * document. */
struct dump_stream;

/* name is for messages, copied. Takes over fd. */
enum st dump_stream_open(struct dump_stream **out, int fd, const char *name, struct err *e);
/* As dump_stream_open, of an input that the caller has opened and perhaps looked into
 * (gz_input_unread). Takes over in, also when it fails. */
enum st dump_stream_open_input(struct dump_stream **out, struct gz_input *in, struct err *e);
/* A stream of a text that stands in an input: line and offset are those of its first byte there.
 * text is copied. ERR_NOMEM. */
enum st dump_stream_open_text(struct dump_stream **out, const char *text, size_t len, uint64_t line,
                              uint64_t offset, struct err *e) BASE_MUST_USE;
/* ready(ctx) is asked before each read of the input: does it give something without a wait? */
void dump_stream_ask(struct dump_stream *s, bool (*ready)(void *ctx), void *ctx);
/* The next document's text, borrowed until the next call, and the line (1 …) where it starts.
 * ST_NONE: end. ST_ERR: this document is unreadable (too long, cut, damaged gzip), *line says where
 * it starts; the stream is still usable: call again for the next one, until ST_NONE. Blank lines
 * are skipped. It returns as soon as a whole line is there. */
enum st dump_stream_next(struct dump_stream *s, const char **text, size_t *len, uint64_t *line,
                         struct err *e) BASE_MUST_USE;

/* A line of an input. */
struct dump_stream_line {
    const char *text; /* borrowed until the next call, without its line feed */
    size_t len;
    uint64_t line, offset; /* its number, from 1, and where it begins in the input, in bytes */
};
/* The next line, if it looks like a document of its own: it was read as a whole, begins as the
 * recorder writes dumps and ends with a brace, and so the next line begins. Much cheaper than
 * dump_stream_next, because nobody looks inside. So a line that is refused by dump_parse has to be
 * read again: its documents, with its line feed, are those of dump_stream_open_text. False: call
 * dump_stream_next. Reads only if that needs no waiting. */
bool dump_stream_line(struct dump_stream *s, struct dump_stream_line *out);
void dump_stream_close(struct dump_stream *s);

#endif
