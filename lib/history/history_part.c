/* Reads and writes one part: a triage as a partial in gzip. */
#include <string.h>

#include "base/gz.h"
#include "history/history_private.h"

/* A part is a gzip file of several members. Each member has about ZIP_PIECE bytes of whole lines,
 * so that its inflated text is parsed while it is still in the processor's cache. */
enum { ZIP_LEVEL = 1, ZIP_PIECE = 1 << 18, ZIP_ROOM = 1 << 20 };

/* Returns the length of the next piece: whole lines from `at` on. */
static size_t piece_length(const char *at, size_t len) {
    const char *stop = len > ZIP_PIECE ? memchr(at + ZIP_PIECE, '\n', len - ZIP_PIECE) : NULL;
    return stop ? (size_t)(stop - at) + 1 : len;
}

enum st history_zip(struct history *h, const struct triage *t, struct strbuf *zip, struct err *e) {
    struct sink out = sink_to_strbuf(&h->text);
    strbuf_reset(&h->text);
    enum st st = triage_write_partial(t, &out, e);
    st = sink_close(&out, e) == ST_OK ? st : ST_ERR;
    for (size_t at = 0, len; st == ST_OK && at < h->text.len; at += len) {
        len = piece_length(h->text.data + at, h->text.len - at);
        st = gz_deflate_fast(h->text.data + at, len, ZIP_LEVEL, zip, e);
    }
    return st;
}

/* Maximum number of bytes of a part after inflation. A single line of a part may be as long. */
static const uint64_t part_max = UINT64_C(1) << 32;

/* Feeds the complete lines of the text to a reader, up to the end of the partial, and takes them
 * out of the text. */
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

/* Inflates the members of a part, and reads each as soon as it is inflated. */
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
    return st == ST_NONE ? err_set(e, ERR_TRUNCATED, "it ends too early") : st;
}

enum st history_part(struct history *h, const void *bytes, size_t len, struct triage **out,
                     struct err *e) {
    struct partial_reader *r = NULL;
    strbuf_reset(&h->text);
    (void)strbuf_room(&h->text, ZIP_ROOM);
    enum st st = len && bytes ? partial_reader_new(&r, e) : err_set(e, ERR_FORMAT, "it is empty");
    st = st == ST_OK ? read_members(h, r, bytes, len, out, e) : st;
    partial_reader_free(r);
    return st == ST_OK ? ST_OK : err_context(e, "a part of the history is damaged");
}
