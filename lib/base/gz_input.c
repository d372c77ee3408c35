/* Implements gz_input, a stream over a file descriptor that inflates gzip content, and cuts its
 * text into lines. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/gz.h"
#include "base/gz_private.h"

enum { INPUT_SIZE = 64 * 1024, GZIP_WINDOW = MAX_WBITS + 16 };

enum input_state {
    PLAIN,
    IN_MEMBER,      /* a gzip member is being inflated */
    BETWEEN_MEMBERS /* a member has ended; another, zero padding or the end follows */
};

struct gz_input {
    int fd;
    char *name;
    enum input_state state;
    bool inflater;      /* z is initialised and needs inflateEnd */
    bool at_end;        /* read() has returned 0 */
    struct err failure; /* the error that ended reading, which every later call returns */
    z_stream z;
    /* Bytes that gz_input_unread put back; unread_pos: index of the next one to read. */
    struct strbuf unread;
    size_t unread_pos;
    size_t pos, len; /* buf[pos … len) is to be read */
    uint8_t buf[INPUT_SIZE];
};

/* Calls read() until it gives at least 1 byte or the end; *got = 0 at the end. */
static enum st read_some(struct gz_input *in, void *to, size_t len, size_t *got, struct err *e) {
    ssize_t n;
    for (;;) {
        n = read(in->fd, to, len);
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            /* read() would block: the descriptor was inherited in non-blocking mode. */
            poll(&(struct pollfd){.fd = in->fd, .events = POLLIN}, 1, -1);
        } else if (n >= 0 || errno != EINTR) {
            break;
        }
    }
    if (n < 0) {
        return err_sys(e, errno, "cannot read '%s'", in->name);
    }
    *got = (size_t)n;
    return ST_OK;
}

/* Appends the bytes of one read_some to in->buf, which must have room for at least 1. */
static enum st read_once(struct gz_input *in, struct err *e) {
    size_t n;
    if (in->pos == in->len) {
        in->pos = in->len = 0;
    }
    if (read_some(in, in->buf + in->len, sizeof in->buf - in->len, &n, e) != ST_OK) {
        return ST_ERR;
    }
    in->at_end = n == 0;
    in->len += n;
    return ST_OK;
}

/* Finds out whether the input is gzip. It calls read() only until the first three bytes decide, so
 * that a plain input that begins with one short write is passed on at once. */
static enum st recognise(struct gz_input *in, struct err *e) {
    static const uint8_t magic[3] = {0x1f, 0x8b, 0x08};
    do {
        if (read_once(in, e) != ST_OK) {
            return ST_ERR;
        }
        size_t n = in->len < sizeof magic ? in->len : sizeof magic;
        if (memcmp(in->buf, magic, n) != 0) {
            return ST_OK;
        }
    } while (in->len < sizeof magic && !in->at_end);
    if (in->len < sizeof magic) {
        return ST_OK;
    }
    in->z = gz_new_stream();
    if (inflateInit2(&in->z, GZIP_WINDOW) != Z_OK) {
        return err_nomem(e);
    }
    in->inflater = true;
    in->state = IN_MEMBER;
    return ST_OK;
}

enum st gz_input_open(struct gz_input **out, int fd, const char *name, struct err *e) {
    struct gz_input *in = malloc(sizeof *in);
    char *copy = strdup(name);
    if (!in || !copy) {
        free(in);
        free(copy);
        close(fd);
        return err_nomem(e);
    }
    in->fd = fd;
    in->name = copy;
    in->state = PLAIN;
    in->inflater = in->at_end = false;
    in->failure = (struct err){0};
    in->unread = (struct strbuf){0};
    in->unread_pos = 0;
    in->pos = in->len = 0;
    if (recognise(in, e) != ST_OK) {
        gz_input_close(in);
        return ST_ERR;
    }
    *out = in;
    return ST_OK;
}

/* Copies bytes of a plain input from in->buf to buf. If in->buf is empty and len is at least its
 * size, the bytes are read directly into buf. *got = 0 at the end. */
static enum st read_plain(struct gz_input *in, void *buf, size_t len, size_t *got, struct err *e) {
    if (in->pos == in->len && !in->at_end && len >= sizeof in->buf) {
        enum st st = read_some(in, buf, len, got, e);
        in->at_end = st == ST_OK && *got == 0;
        return st;
    }
    if (in->pos == in->len && !in->at_end && read_once(in, e) != ST_OK) {
        return ST_ERR;
    }
    size_t n = in->len - in->pos < len ? in->len - in->pos : len;
    if (n) {
        memcpy(buf, in->buf + in->pos, n);
    }
    in->pos += n;
    *got = n;
    return ST_OK;
}

/* Inflates bytes from in->buf to buf; *got is 0 if inflate gave none: it needs more input, or the
 * member has ended. */
static enum st inflate_some(struct gz_input *in, void *buf, size_t len, size_t *got,
                            struct err *e) {
    uInt room = len > INT_MAX ? INT_MAX : (uInt)len;
    in->z.next_in = in->buf + in->pos;
    in->z.avail_in = (uInt)(in->len - in->pos);
    in->z.next_out = buf;
    in->z.avail_out = room;
    int code = inflate(&in->z, Z_NO_FLUSH);
    in->pos = in->len - in->z.avail_in;
    *got = room - in->z.avail_out;
    if (code == Z_STREAM_END) {
        in->state = BETWEEN_MEMBERS;
    } else if (code == Z_MEM_ERROR) {
        return err_nomem(e);
    } else if (code != Z_OK && code != Z_BUF_ERROR) {
        return err_set(e, ERR_FORMAT, "damaged compressed data in '%s': %s", in->name,
                       in->z.msg ? in->z.msg : "bad stream");
    }
    return ST_OK;
}

/* Continues after a member: drops zero padding, and begins another member if a byte 0x1f follows.
 * Any other byte is damage (ERR_FORMAT). If in->buf has no byte left, the state stays as it is. */
static enum st begin_next_member(struct gz_input *in, struct err *e) {
    while (in->pos < in->len && in->buf[in->pos] == 0) {
        in->pos++;
    }
    if (in->pos == in->len) {
        return ST_OK;
    }
    if (in->buf[in->pos] != 0x1f || inflateReset(&in->z) != Z_OK) {
        return err_set(e, ERR_FORMAT, "bytes after the end of the compressed data in '%s'",
                       in->name);
    }
    in->state = IN_MEMBER;
    return ST_OK;
}

static enum st read_gzip(struct gz_input *in, void *buf, size_t len, size_t *got, struct err *e) {
    for (;;) {
        enum st st =
            in->state == IN_MEMBER ? inflate_some(in, buf, len, got, e) : begin_next_member(in, e);
        if (st != ST_OK || *got > 0) {
            return st;
        }
        if (in->pos < in->len) {
            continue;
        }
        if (in->at_end) {
            return in->state == BETWEEN_MEMBERS
                       ? ST_OK
                       : err_set(e, ERR_TRUNCATED, "compressed data in '%s' is cut short",
                                 in->name);
        }
        if (read_once(in, e) != ST_OK) {
            return ST_ERR;
        }
    }
}

enum st gz_input_read(struct gz_input *in, void *buf, size_t len, size_t *got, struct err *e) {
    *got = 0;
    if (err_is(&in->failure) && in->unread_pos == in->unread.len) {
        return err_copy(e, &in->failure);
    }
    if (len == 0) {
        return ST_OK;
    }
    if (in->unread_pos < in->unread.len) {
        size_t left = in->unread.len - in->unread_pos;
        *got = left < len ? left : len;
        memcpy(buf, in->unread.data + in->unread_pos, *got);
        in->unread_pos += *got;
        return ST_OK;
    }
    enum st st = in->state == PLAIN ? read_plain(in, buf, len, got, &in->failure)
                                    : read_gzip(in, buf, len, got, &in->failure);
    return st == ST_OK ? ST_OK : err_copy(e, &in->failure);
}

enum st gz_input_unread(struct gz_input *in, const void *bytes, size_t len, struct err *e) {
    struct strbuf joined = {0};
    if (len) {
        strbuf_add(&joined, bytes, len);
    }
    strbuf_add(&joined, strbuf_cstr(&in->unread) + in->unread_pos, in->unread.len - in->unread_pos);
    if (strbuf_check(&joined, e) != ST_OK) {
        strbuf_release(&joined);
        return ST_ERR;
    }
    strbuf_release(&in->unread);
    in->unread = joined;
    in->unread_pos = 0;
    return ST_OK;
}

void gz_input_close(struct gz_input *in) {
    if (!in) {
        return;
    }
    if (in->inflater) {
        inflateEnd(&in->z);
    }
    close(in->fd);
    strbuf_release(&in->unread);
    free(in->name);
    free(in);
}

/* ---- lines ---- */

enum st line_cutter_next(struct line_cutter *c, const char **bytes, size_t *len, const char **line,
                         size_t *line_len, struct err *e) {
    if (c->given) {
        strbuf_clear(&c->carry);
        c->given = false;
    }
    while (*len > 0) {
        const char *text = *bytes, *feed = memchr(text, '\n', *len);
        size_t size = feed ? (size_t)(feed - text) : *len;
        bool dropped = c->dropping;
        *bytes += size + (feed != NULL);
        *len -= size + (feed != NULL);
        c->dropping = dropped && !feed;
        if (dropped) {
            continue;
        }
        if (feed && c->carry.len == 0 && (c->limit == 0 || size <= c->limit)) {
            c->number++;
            *line = text;
            *line_len = size;
            return ST_OK;
        }
        c->carry.limit = c->limit;
        strbuf_add(&c->carry, text, size);
        if (strbuf_check(&c->carry, e) != ST_OK) {
            strbuf_release(&c->carry);
            c->number++;
            c->dropping = !feed;
            return ST_ERR;
        }
        if (feed) {
            c->number++;
            c->given = true;
            *line = c->carry.data;
            *line_len = c->carry.len;
            return ST_OK;
        }
    }
    return ST_NONE;
}

bool line_cutter_end(struct line_cutter *c, const char **line, size_t *line_len) {
    bool kept = !c->given && c->carry.len > 0;
    c->unended = c->unended || kept || c->dropping;
    c->dropping = false;
    if (kept) {
        c->number++;
        c->given = true;
        *line = c->carry.data;
        *line_len = c->carry.len;
    }
    return kept;
}

void line_cutter_release(struct line_cutter *c) {
    strbuf_release(&c->carry);
    c->given = c->dropping = false;
}

enum st gz_lines_next(struct gz_lines *l, const char **line, size_t *len, struct err *e) {
    for (;;) {
        enum st st = line_cutter_next(&l->cutter, &l->at, &l->left, line, len, e);
        if (st != ST_NONE) {
            return st;
        }
        if (err_is(&l->failure)) {
            return err_copy(e, &l->failure);
        }
        if (l->at_end) {
            return line_cutter_end(&l->cutter, line, len) ? ST_OK : ST_NONE;
        }
        l->at = l->bytes;
        (void)gz_input_read(l->in, l->bytes, sizeof l->bytes, &l->left, &l->failure);
        l->at_end = l->left == 0;
    }
}

void gz_lines_release(struct gz_lines *l) {
    line_cutter_release(&l->cutter);
}
