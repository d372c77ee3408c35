/* Inflates and deflates gzip and zlib data by zlib, or by libdeflate where the build has it, with a
 * cap on the inflated size; reads inputs, compressed or not, piece by piece and line by line. */
#ifndef STALLKIT_BASE_GZ_H
#define STALLKIT_BASE_GZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/sink.h"
#include "base/strbuf.h"

/* Do the bytes start as gzip does (RFC 1952: 1f 8b 08)? */
bool gz_is_gzip(const void *bytes, size_t len);

/* Inflates a whole gzip (any number of members, with zeros between and after them) or zlib buffer
 * and appends the result to out. ERR_LIMIT past max_out bytes (0 = 4 GiB) or past the limit of out,
 * ERR_TRUNCATED on a cut or empty buffer, ERR_FORMAT on a damaged one or one with other bytes after
 * its end, or ERR_NOMEM; bytes that were inflated before the error stay in out. `name` is for the
 * error text. */
enum st gz_inflate(const char *name, const void *bytes, size_t len, uint64_t max_out,
                   struct strbuf *out, struct err *e);

/* Inflates the next member of a gzip of *len bytes, appends the result to out, and moves *bytes and
 * *len behind the member; *len = 0: that member was the last. It is fastest where `out` has room
 * for the result. Errors as of gz_inflate, with *bytes and *len unchanged; max_out, which has no
 * default, is for this member. */
enum st gz_inflate_member(const char *name, const void **bytes, size_t *len, uint64_t max_out,
                          struct strbuf *out, struct err *e) BASE_MUST_USE;

/* Inflates a zlib stream of known size (SHF_COMPRESSED) into out[out_len]. ERR_FORMAT: the stream
 * is damaged, or gives more or fewer than out_len bytes; ERR_TRUNCATED: the stream is cut; or
 * ERR_NOMEM. Bytes after the stream are ignored. */
enum st gz_inflate_into(const char *name, const void *bytes, size_t len, void *out, size_t out_len,
                        struct err *e);

/* Compresses bytes to gzip at level 1 … 9 (ERR_USAGE: zlib has no such level) and appends the
 * result to out; the header has no time stamp or name, so equal input gives equal output. */
enum st gz_deflate(const void *bytes, size_t len, int level, struct strbuf *out, struct err *e);

/* Compresses as gz_deflate does, but with libdeflate if the build has it, which takes less time and
 * gives other bytes; a result over 64 bytes longer than the input is made by gz_deflate. */
enum st gz_deflate_fast(const void *bytes, size_t len, int level, struct strbuf *out,
                        struct err *e) BASE_MUST_USE;

/* A stream over a file descriptor that inflates its content if that is gzip, for reading dumps
 * line by line; it uses constant memory. */
struct gz_input;
/* Opens a stream that owns fd: gz_input_close closes fd, and so does a failure of this function:
 * out of memory, or the first bytes cannot be read. gz_input_open waits for the first bytes. name
 * is copied for error texts. */
enum st gz_input_open(struct gz_input **out, int fd, const char *name, struct err *e);
/* Waits for the next byte, and reads it with those behind it that are there already, up to len
 * bytes; *got = 0 at the end. On ST_ERR the *got bytes before the damage are in buf; later calls
 * give the same error. */
enum st gz_input_read(struct gz_input *in, void *buf, size_t len, size_t *got, struct err *e);
/* Puts bytes back in front of the unread ones, for a caller that peeks at an input before it
 * chooses the reader. It fails with ERR_NOMEM only. */
enum st gz_input_unread(struct gz_input *in, const void *bytes, size_t len,
                        struct err *e) BASE_MUST_USE;
/* Closes the stream and its descriptor; in may be NULL. */
void gz_input_close(struct gz_input *in);

/* Cuts text that comes in pieces of any size into lines. The caller sets `limit` and zeroes the
 * rest. */
struct line_cutter {
    size_t limit;    /* maximum length of a line in bytes, without its line feed; 0 = no limit */
    uint64_t number; /* number, from 1, of the line that was given or dropped last */
    bool unended;    /* the text ended without a line feed; valid once line_cutter_end is over */
    struct strbuf carry; /* private, as the rest: beginning of a line that is not complete yet */
    bool given;    /* the caller borrows `carry` as the line given last, until the next call */
    bool dropping; /* the rest of a line that was dropped follows */
};

/* Takes the next line from the piece of *len bytes at *bytes, and moves both past it; the line,
 * without its line feed, is borrowed until the next call or the end of the piece. ST_NONE: the
 * piece has no further complete line, and its remainder is kept in `carry`. ST_ERR: ERR_LIMIT as
 * soon as a line is longer than the limit, or ERR_NOMEM; the whole line is dropped, and the next
 * call continues after it. */
enum st line_cutter_next(struct line_cutter *c, const char **bytes, size_t *len, const char **line,
                         size_t *line_len, struct err *e) BASE_MUST_USE;
/* Ends the text, and gives its last line, borrowed, if that has no line feed and was not dropped.
 * Returns whether there is such a line. */
bool line_cutter_end(struct line_cutter *c, const char **line, size_t *line_len);
/* Frees the memory; the cutter can then cut another text, once `number` and `unended` are reset. */
void line_cutter_release(struct line_cutter *c);

enum { GZ_LINES_PIECE = 64 * 1024 };
/* The lines of an input. The caller sets `in` and cutter.limit, and zeroes the rest. */
struct gz_lines {
    struct gz_input *in; /* borrowed */
    struct line_cutter cutter;
    /* Private, as the rest: the first byte of `bytes` that is not cut into lines yet. */
    const char *at;
    size_t left;
    bool at_end;
    struct err failure; /* the error that ended the input early */
    char bytes[GZ_LINES_PIECE];
};
/* Gives the next line, borrowed as from line_cutter_next; the last one may lack its line feed, and
 * cutter.unended is then set. ST_NONE: the input has ended. ST_ERR: also the input's error, after
 * the lines that are complete before it; later calls return the same error. */
enum st gz_lines_next(struct gz_lines *l, const char **line, size_t *len,
                      struct err *e) BASE_MUST_USE;
void gz_lines_release(struct gz_lines *l);

#endif
