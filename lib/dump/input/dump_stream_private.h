/* The parts of a stream of documents: its buffer, and the text reports in it. */
#ifndef STALLKIT_DUMP_DUMP_STREAM_PRIVATE_H
#define STALLKIT_DUMP_DUMP_STREAM_PRIVATE_H

#include "base/strbuf.h"
#include "dump/input/dump_stream.h"
#include "dump/input/line_ends.h"
#include "dump/input/text_mend.h"
#include "dump/json/span_private.h"

struct report_format;

struct dump_stream {
    struct gz_input *in; /* NULL: the whole input is in text */
    struct strbuf text;  /* the document so far, from `start`, and bytes read beyond it */
    size_t start;        /* index in text at which the document begins */
    size_t pos;          /* offset in text of the next byte to scan */
    size_t looked; /* there is no line feed between pos and this offset in text, if the offset is
                      after pos; so the end of a line with many documents is searched once */
    size_t kept;   /* offset in text after the mended lines of a text report, at or before pos */
    uint64_t line; /* line number at pos */
    enum line_ends ends; /* how the input's lines end */
    bool skip_rest; /* the last document was broken: lines that look like its rest are dropped */
    bool in_line;  /* a document ended at pos in the middle of a line, and the next one begins there
                      with '{' */
    bool at_end;   /* the input has ended, or failed */
    bool first;    /* no line was read yet, so that a byte order mark may come */
    bool searched; /* the input need not be searched again for a report between other lines */
    bool in_text;  /* lines before the text reports, and between them, are skipped */
    bool in_prose; /* false: the lines between the reports are those of a log; true: they are prose
                    */
    bool in_cells; /* a cell of CSV held a report */
    bool in_strings;   /* a string or an object within a line held a report */
    bool fenced;       /* the last skipped line is a fence of Markdown (``` or ~~~) */
    uint64_t passed;   /* lines that were skipped outside of reports, except blank ones and the rest
                          of broken documents */
    uint64_t mended;   /* reports that were mended, and values that were taken out of lines */
    uint64_t dropped;  /* bytes of the input before text[0] */
    uint64_t unmended; /* offset in the input before which no line begins a JSON report that has to
                          be mended */
    uint64_t unvalued; /* offset in the input before which no value begins that holds a report */
    uint64_t value_end;   /* offset in the input behind a value that was decoded in its place; 0 =
                             there is none at pos */
    uint64_t value_last;  /* number of the last line of the input that the value is in */
    uint64_t value_feeds; /* line feeds that the decoded value has more than its source (modulo
                             2^64), by which `line` is wrong behind it */
    struct err broken;    /* why the input failed; reported once, after the last document */
    struct strbuf room;   /* memory for mended lines */
    const struct report_maps *maps; /* maps given to dump_stream_use_maps */
    bool (*ready)(void *ctx);       /* see dump_stream_ask; NULL = none */
    bool (*before)(void *ctx);      /* called before each read that may wait; NULL = none */
    void *ctx;                      /* argument of both */
};

/* ---- the buffer (dump_stream_buffer.c) ---- */

/* Drops consumed bytes from the buffer, but only once they are at least half of it: otherwise a
 * buffer of short lines would be moved for each of them. */
void stream_drop_consumed(struct dump_stream *s);
/* Ends the input because a buffer could not grow, since the part of a document that was read is of
 * no use without the rest. Fills e with the error of `full`; returns ST_ERR. */
enum st stream_end_early(struct dump_stream *s, const struct strbuf *full, struct err *e);
/* Appends more of the input to the text. ST_NONE: the input has ended. ST_ERR: out of memory. If
 * reading fails, the input counts as ended, and the error is kept in `broken`. */
enum st stream_read_some(struct dump_stream *s, struct err *e);
/* Calls the caller's function `before`, because reading may wait, and then appends more of the
 * input to the text. Returns as stream_read_some; ST_NONE also if the input had ended before. */
enum st stream_read_more(struct dump_stream *s, struct err *e);
/* Reads more of the input if that needs no waiting; false: nothing was read. */
bool stream_read_at_once(struct dump_stream *s);
/* The first bytes of the recorder's dumps and session records. */
#define STREAM_DUMP_HEAD "{\"format\":\"stall-"
enum { STREAM_DUMP_HEAD_LEN = sizeof STREAM_DUMP_HEAD - 1 };
/* Does the text begin with STREAM_DUMP_HEAD? */
bool stream_begins_dump(const char *p, size_t len);
/* Returns the offset of the end of the line at `at`, without reading more; the end of the text if
 * the line has no end yet. */
size_t stream_line_end(const struct dump_stream *s, size_t at);
/* Reads until the line at pos is complete; *len is its length without line feed, *ended whether it
 * has one. Lines longer than DUMP_TEXT_MAX bytes come back in pieces. ST_NONE: the input has ended.
 * ST_ERR: out of memory. */
enum st stream_whole_line(struct dump_stream *s, size_t *len, bool *ended, struct err *e);
bool stream_is_blank(const char *p, size_t len);
/* Skips the line at pos, with its line feed if there is one. */
void stream_pass_line(struct dump_stream *s, size_t len, bool ended);
/* Skips the rest of the line at pos, whose document is too long, without keeping it in memory, and
 * sets the error. skip_rest then drops the document's further lines. */
enum st stream_too_long(struct dump_stream *s, size_t len, bool ended, struct err *e);

/* ---- beginnings of reports (dump_stream_begins.c) ---- */

/* Does the text begin with a report in JSON, or with a dump? */
bool stream_begins_report(const struct dump_stream *s, struct span text);

/* ---- changed JSON (dump_stream_mend.c) ---- */

/* Does a report in JSON, whose lines were changed (text_mend.h), begin with the line at offset `at`
 * of the text, of len bytes? *end becomes the offset behind its lines, and *out their mended text.
 * All of these lines are read. */
bool stream_mends_json(struct dump_stream *s, size_t at, size_t len, struct strbuf *out,
                       size_t *end);
/* If the line at pos begins a report in JSON whose lines were changed, mends the report in place.
 * False: no such report begins there. */
bool stream_mend_json(struct dump_stream *s, size_t len);

/* ---- values of lines (dump_stream_value.c) ---- */

/* Does a value that holds a report (line_value.h) begin in the line at offset `at` of the text, of
 * len bytes? All of the value is read. */
bool stream_has_value(struct dump_stream *s, size_t at, size_t len);
/* If such a value begins in the line at pos, replaces that line, up to the value's end, by the
 * decoded value, whose end is value_end. The bytes behind the value become a line of their own.
 * False: no such value begins there. */
bool stream_take_value(struct dump_stream *s, size_t len);
/* Is pos within a value that stream_take_value decoded? */
bool stream_in_value(const struct dump_stream *s);
/* If pos is behind the value that was decoded last, corrects `line` by value_feeds. */
void stream_pass_value(struct dump_stream *s);

/* ---- text (dump_stream_text.c) ---- */

/* Returns the format of the text report that begins at offset `at` of the text, and sets *mend to
 * how its lines have to be mended; NULL: no report begins there. As many lines are read as the
 * decision needs. If memory runs out, the input ends and `broken` is set. */
const struct report_format *stream_format_at(struct dump_stream *s, size_t at,
                                             struct text_mend *mend);
/* Is the line a fence (``` or ~~~) by which Markdown begins or ends code? */
bool stream_is_fence(const char *p, size_t len);
/* Is the line at pos, of len bytes, outside of all text reports of the input? */
bool stream_is_passed_over(struct dump_stream *s, size_t len);
/* Takes lines from pos until the text report ends; *len is its length from the document's start. */
enum st stream_take_text(struct dump_stream *s, const struct report_format *format,
                         struct text_mend mend, size_t *len, struct err *e);

#endif
