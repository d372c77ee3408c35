/* The buffer of a stream of documents, which grows and is read by lines. */
#include <string.h>

#include "dump/dump.h"
#include "dump/input/dump_stream_private.h"
#include "dump/input/line_ends.h"

enum { READ_SIZE = 64 * 1024 };

void stream_drop_consumed(struct dump_stream *s) {
    size_t left = s->text.len - s->pos;
    if (s->pos < left) {
        return;
    }
    if (left) {
        memmove(s->text.data, s->text.data + s->pos, left);
    }
    strbuf_truncate(&s->text, left);
    s->dropped += s->pos;
    s->looked = s->looked > s->pos ? s->looked - s->pos : 0;
    s->start = s->pos = 0;
}

enum st stream_end_early(struct dump_stream *s, const struct strbuf *full, struct err *e) {
    s->at_end = true;
    s->start = s->pos = s->text.len;
    return strbuf_check(full, e);
}

enum st stream_read_some(struct dump_stream *s, struct err *e) {
    size_t got = 0;
    char *room = strbuf_room(&s->text, READ_SIZE);
    if (!room) {
        return stream_end_early(s, &s->text, e);
    }
    const size_t known = s->text.len;
    const enum line_ends ends = s->ends;
    enum st st = gz_input_read(s->in, room, READ_SIZE, &got, &s->broken);
    s->at_end = st != ST_OK || got == 0;
    strbuf_took(&s->text, got);
    line_ends_mend(&s->ends, s->text.data, known, s->text.len, s->at_end);
    if (s->ends != ends) {
        s->looked = 0; /* any carriage return in the text may have been turned into a line feed, so
                          the search for a line feed starts over */
    } else if (s->looked == known && known > 0) {
        s->looked--; /* a carriage return at the end may have been turned into a line feed, so that
                        byte is searched again */
    }
    return s->at_end ? ST_NONE : ST_OK;
}

enum st stream_read_more(struct dump_stream *s, struct err *e) {
    if (s->at_end) {
        return ST_NONE;
    }
    if (s->before) {
        (void)s->before(s->ctx);
    }
    return stream_read_some(s, e);
}

bool stream_read_at_once(struct dump_stream *s) {
    return !s->at_end && s->ready && s->ready(s->ctx) && stream_read_some(s, &s->broken) == ST_OK;
}

size_t stream_line_end(const struct dump_stream *s, size_t at) {
    size_t from = at >= s->pos && at < s->looked ? s->looked : at;
    const char *feed =
        from < s->text.len ? memchr(s->text.data + from, '\n', s->text.len - from) : NULL;
    return feed ? (size_t)(feed - s->text.data) : s->text.len;
}

enum st stream_whole_line(struct dump_stream *s, size_t *len, bool *ended, struct err *e) {
    for (;;) {
        s->looked = stream_line_end(s, s->pos);
        *ended = s->looked < s->text.len;
        *len = s->looked - s->pos;
        if (*ended || *len > DUMP_TEXT_MAX) {
            return ST_OK;
        }
        if (s->at_end) {
            return *len ? ST_OK : ST_NONE;
        }
        if (stream_read_more(s, e) == ST_ERR) {
            return ST_ERR;
        }
    }
}

bool stream_begins_dump(const char *p, size_t len) {
    return len >= STREAM_DUMP_HEAD_LEN && memcmp(p, STREAM_DUMP_HEAD, STREAM_DUMP_HEAD_LEN) == 0;
}

bool stream_is_blank(const char *p, size_t len) {
    for (size_t i = 0; i < len; i++) {
        if (p[i] != ' ' && p[i] != '\t' && p[i] != '\r') {
            return false;
        }
    }
    return true;
}

void stream_pass_line(struct dump_stream *s, size_t len, bool ended) {
    s->pos += len + ended;
    s->line += ended;
    s->in_line = s->in_line && !ended;
}

enum st stream_too_long(struct dump_stream *s, size_t len, bool ended, struct err *e) {
    while (!ended) {
        stream_pass_line(s, len, false);
        stream_drop_consumed(s);
        enum st st = stream_whole_line(s, &len, &ended, e);
        if (st == ST_ERR) {
            return ST_ERR;
        }
        if (st == ST_NONE) {
            break;
        }
    }
    stream_pass_line(s, ended ? len : 0, ended);
    s->skip_rest = true;
    return err_set(e, ERR_LIMIT, "a document of more than %d bytes", DUMP_TEXT_MAX);
}
