/* Reads and writes one part: a triage as a partial in gzip. */
#include <string.h>

#include "base/gz.h"
#include "history/history_private.h"

enum { HISTORY_ZIP_LEVEL = 1 };

enum st history_zip(struct history *h, const struct triage *t, struct strbuf *zip, struct err *e) {
    struct sink out = sink_to_strbuf(&h->text);
    strbuf_reset(&h->text);
    enum st st = triage_write_partial(t, &out, e);
    st = sink_close(&out, e) == ST_OK ? st : ST_ERR;
    return st == ST_OK ? gz_deflate(h->text.data, h->text.len, HISTORY_ZIP_LEVEL, zip, e) : ST_ERR;
}

/* Most bytes of a part after inflation, as many as a line of it may have. */
static const uint64_t part_max = UINT64_C(1) << 32;

/* Feeds the lines of a partial to a reader, up to the end of the partial. */
static enum st read_partial_lines(struct partial_reader *r, const struct strbuf *text,
                                  struct triage **out, struct err *e) {
    const char *at = text->data, *end = at + text->len;
    enum st st = ST_NONE;
    while (st == ST_NONE && at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop ? stop : end;
        st = partial_reader_line(r, at, (size_t)(stop - at), out, e);
        at = stop + 1;
    }
    return st == ST_NONE ? err_set(e, ERR_TRUNCATED, "it ends too early") : st;
}

enum st history_part(struct history *h, const void *bytes, size_t len, struct triage **out,
                     struct err *e) {
    struct partial_reader *r = NULL;
    strbuf_reset(&h->text);
    enum st st = len && bytes ? gz_inflate("a part", bytes, len, part_max, &h->text, e)
                              : err_set(e, ERR_FORMAT, "it is empty");
    st = st == ST_OK ? partial_reader_new(&r, e) : st;
    st = st == ST_OK ? read_partial_lines(r, &h->text, out, e) : st;
    partial_reader_free(r);
    return st == ST_OK ? ST_OK : err_context(e, "a part of the history is damaged");
}
