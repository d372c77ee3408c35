/* Reads and writes one part: a triage as a partial, packed. */
#include <string.h>

#include "base/gz.h"
#include "history/history_private.h"

enum { PART_ROOM = 1 << 20 };

static enum st print_partial(struct history *h, const struct triage *t, struct err *e) {
    struct sink out = sink_to_strbuf(&h->text);
    strbuf_reset(&h->text);
    enum st st = triage_write_partial(t, &out, e);
    return sink_close(&out, e) == ST_OK ? st : ST_ERR;
}

/* Packs the partial in h->text against the newest shared text, and appends it to `zip`. */
static enum st pack_partial(struct history *h, struct strbuf *zip, struct err *e) {
    const struct history_shared *shared;
    return history_newest_shared(h, &shared, e) == ST_OK && history_packer(h, e) == ST_OK
               ? packer_pack(h->packer, shared->number, shared->text.data, shared->text.len,
                             h->text.data, h->text.len, zip, e)
               : ST_ERR;
}

enum st history_zip(struct history *h, const struct triage *t, struct strbuf *zip, struct err *e) {
    return print_partial(h, t, e) == ST_OK ? pack_partial(h, zip, e) : ST_ERR;
}

enum st history_zip_alone(struct history *h, const struct triage *t, struct strbuf *zip,
                          struct err *e) {
    return print_partial(h, t, e) == ST_OK && history_packer(h, e) == ST_OK
               ? packer_pack(h->packer, 0, NULL, 0, h->text.data, h->text.len, zip, e)
               : ST_ERR;
}

enum st history_zip_shared(struct history *h, const struct triage *t, struct strbuf *zip,
                           struct err *e) {
    enum st st = print_partial(h, t, e);
    st = st == ST_OK ? history_share(h, e) : st;
    strbuf_reset(zip);
    return st == ST_OK ? pack_partial(h, zip, e) : st;
}

/* Maximum number of bytes of a part that is a gzip, after inflation. A single line of it may be as
 * long. */
static const uint64_t part_max = UINT64_C(1) << 32;

/* Feeds the complete lines of the text to a reader, up to the end of the partial, and takes them
 * out of the text. ST_OK: the partial is complete, in *out. ST_NONE: the partial lacks lines. */
static enum st read_partial_lines(struct partial_reader *r, struct strbuf *text,
                                  struct triage **out, struct err *e) {
    const char *at = text->data, *end = at + text->len, *stop;
    enum st st = ST_NONE;
    while (st == ST_NONE && at < end && (stop = memchr(at, '\n', (size_t)(end - at)))) {
        st = partial_reader_line(r, at, (size_t)(stop - at), out, e);
        at = stop + 1;
    }
    size_t rest = (size_t)(end - at);
    if (rest) {
        memmove(text->data, at, rest);
    }
    strbuf_truncate(text, rest);
    return st;
}

/* Inflates the members of a part of an earlier version, which is a gzip, and reads each as soon as
 * it is inflated. */
static enum st read_members(struct history *h, struct partial_reader *r, const void *bytes,
                            size_t len, struct triage **out, struct err *e) {
    uint64_t left = part_max;
    enum st st = ST_NONE;
    while (st == ST_NONE && len) {
        size_t had = h->text.len;
        st = gz_inflate_member("a part", &bytes, &len, left, &h->text, e);
        if (st == ST_OK) {
            left -= h->text.len - had;
            st = read_partial_lines(r, &h->text, out, e);
        }
    }
    return st;
}

/* Unpacks a part piece by piece, and reads the lines of each while they are in the processor's
 * cache. ST_NONE: the partial lacks lines. */
static enum st read_pieces(struct history *h, struct partial_reader *r, const void *bytes,
                           size_t len, struct triage **out, struct err *e) {
    const struct history_shared *shared;
    enum st st = history_shared_text(h, packed_number(bytes, len), &shared, e);
    st = st == ST_OK ? history_packer(h, e) : st;
    st = st == ST_OK ? packer_open(h->packer, shared->text.data, shared->text.len, bytes, len, e)
                     : st;
    enum st lines = ST_NONE;
    while (st == ST_OK && (st = packer_next(h->packer, &h->text, e)) == ST_OK) {
        lines = lines == ST_NONE ? read_partial_lines(r, &h->text, out, e) : lines;
        if (lines != ST_ERR && h->text.len > PARTIAL_LINE_MAX) {
            lines = err_set(e, ERR_LIMIT, "a line of it is too long");
        }
        st = lines == ST_ERR ? ST_ERR : ST_OK;
    }
    return st == ST_NONE ? lines : ST_ERR;
}

enum st history_part(struct history *h, const void *bytes, size_t len, struct triage **out,
                     struct err *e) {
    struct partial_reader *r = NULL;
    strbuf_reset(&h->text);
    (void)strbuf_room(&h->text, PART_ROOM);
    *out = NULL;
    enum st st = len && bytes ? partial_reader_new(&r, e) : err_set(e, ERR_FORMAT, "it is empty");
    if (st == ST_OK) {
        st = packed_is_one(bytes, len) ? read_pieces(h, r, bytes, len, out, e)
                                       : read_members(h, r, bytes, len, out, e);
        st = st == ST_NONE ? err_set(e, ERR_TRUNCATED, "it ends too early") : st;
    }
    partial_reader_free(r);
    if (st != ST_OK) {
        triage_free(*out);
        *out = NULL;
    }
    return st == ST_OK ? ST_OK : err_context(e, "a part of the history is damaged");
}
