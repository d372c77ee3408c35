/* Reads and writes one part: a triage as a partial, packed. */
#include <inttypes.h>
#include <string.h>

#include "base/gz.h"
#include "base/parse.h"
#include "classify/summary/shown.h"
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
    return st;
}

/* ---- rows ---- */

/* Reads the hash of a set of rules, and the cap of the history. */
static enum st made_with(struct history *h, int64_t rules, uint64_t *hash, uint64_t *cap,
                         struct err *e) {
    struct sql_statement *s = history_statement(h, HISTORY_MADE_WITH, e);
    if (!s) {
        return ST_ERR;
    }
    sql_bind_number(s, 1, rules);
    enum st st = sql_next(s, e);
    if (st == ST_OK) {
        const char *hex = sql_text(s, 0), *ms = sql_text(s, 1);
        bool known =
            parse_hex(hex, strlen(hex), hash) && parse_u64(ms, strlen(ms), UINT64_MAX, cap);
        st = known ? ST_OK : ST_NONE;
    }
    sql_reset(s);
    return st == ST_NONE ? err_set(e, ERR_FORMAT, "nothing says with which rules it was made") : st;
}

/* Was the partial made as its row says? */
static enum st fits_row(struct history *h, int64_t rules, uint64_t dumps, const struct triage *t,
                        struct err *e) {
    static const bool none_open[APART_COUNT] = {0};
    const struct triage_options *o = triage_options_of(t);
    uint64_t hash, cap;
    if (made_with(h, rules, &hash, &cap, e) != ST_OK) {
        return ST_ERR;
    }
    if (o->rules_hash != hash) {
        return err_set(e, ERR_FORMAT, "made with other rules than its row says");
    }
    if (o->cap_ms != cap) {
        return err_set(e, ERR_FORMAT, "made with another --cap");
    }
    if (o->where || memcmp(o->open, none_open, sizeof none_open) != 0) {
        return err_set(e, ERR_FORMAT, "made with a filter");
    }
    if (shown_read_count(t) != dumps) {
        return err_set(e, ERR_FORMAT, "it has %" PRIu64 " dumps, and its row says %" PRId64,
                       shown_read_count(t), (int64_t)dumps);
    }
    return ST_OK;
}

enum st history_part_of_row(struct history *h, int64_t rules, uint64_t dumps, const void *bytes,
                            size_t len, struct triage **out, struct err *e) {
    enum st st = history_part(h, bytes, len, out, e);
    st = st == ST_OK ? fits_row(h, rules, dumps, *out, e) : st;
    if (st != ST_OK) {
        triage_free(*out);
        *out = NULL;
    }
    return st;
}
