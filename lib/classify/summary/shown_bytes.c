/* Writes and reads what is shown of buckets as LEB128 numbers: a form, the caller's number, the
 * number of buckets, the length of the stored dumps, the stored dumps, and the explained stacks, in
 * which a text is its length plus 1 and its bytes, or 0. */
#include "classify/summary/shown_bytes.h"

#include <stdlib.h>
#include <string.h>

#include "base/leb128.h"
#include "base/reader.h"
#include "classify/stats/triage_private.h"
#include "classify/stored/stored_bytes.h"
#include "classify/summary/shown.h"

enum { SHOWN_FORM = 1, FRAME_FLAGS = 4 /* number of flags of a frame */ };

/* ---- writing ---- */

static void put_shown_text(struct strbuf *out, const char *text) {
    size_t len = text ? strlen(text) : 0;
    leb128_add(out, text ? len + 1 : 0);
    strbuf_add(out, text ? text : "", len);
}

static void put_shown_explained(struct strbuf *out, const struct summary_stack *s) {
    leb128_add(out, s->frames.len);
    for (size_t i = 0; i < s->frames.len; i++) {
        const struct summary_frame *f = &s->frames.data[i];
        put_shown_text(out, f->function);
        put_shown_text(out, f->image);
        put_shown_text(out, f->file);
        leb128_add(out, f->line);
        leb128_add(out, (uint64_t)f->in_app | (uint64_t)f->inlined << 1 | (uint64_t)f->key << 2 |
                            (uint64_t)f->told << 3);
    }
    put_shown_text(out, strbuf_cstr(&s->explanation));
}

/* Appends the stored dumps of the first buckets to `out`. */
static enum st write_stored(const struct summary *s, struct strbuf *out, struct err *e) {
    size_t count = s->explained.len;
    const struct stored_bucket **buckets = calloc(count + 1, sizeof *buckets);
    enum st st = buckets ? ST_OK : err_nomem(e);
    for (size_t i = 0; st == ST_OK && i < count; i++) {
        buckets[i] = s->buckets.data[i].stored;
    }
    st = st == ST_OK ? stored_write_bytes(s->stored, buckets, count, out, e) : st;
    free((void *)buckets);
    return st;
}

enum st shown_write(const struct summary *s, uint64_t number, struct strbuf *out, struct err *e) {
    struct strbuf stored = {0};
    if (s->stored->left_out) {
        return ST_NONE;
    }
    enum st st = write_stored(s, &stored, e);
    leb128_add(out, SHOWN_FORM);
    leb128_add(out, number);
    leb128_add(out, s->explained.len);
    leb128_add(out, stored.len);
    strbuf_add(out, strbuf_cstr(&stored), stored.len);
    for (size_t i = 0; i < s->explained.len; i++) {
        put_shown_explained(out, &s->explained.data[i]);
    }
    strbuf_release(&stored);
    st = st == ST_OK ? strbuf_check(out, e) : st;
    return st == ST_OK && out->len > SHOWN_BYTES_MAX ? ST_NONE : st;
}

/* ---- reading ---- */

/* The parts of the bytes. */
struct shown_parts {
    uint64_t number;
    size_t buckets;
    const uint8_t *stored;
    size_t stored_len;
    struct reader explained;
};

static enum st shown_is_damaged(struct err *e) {
    return err_set(e, ERR_FORMAT, "what is shown of the buckets is damaged");
}

static enum st open_shown_parts(const void *bytes, size_t len, struct shown_parts *out,
                                struct err *e) {
    struct reader r = reader_init("shown", bytes, len);
    bool known = len <= SHOWN_BYTES_MAX && reader_uleb128(&r) == SHOWN_FORM;
    out->number = reader_uleb128(&r);
    uint64_t buckets = reader_uleb128(&r), stored = reader_uleb128(&r);
    out->stored = reader_bytes(&r, stored);
    if (!known || !out->stored || buckets > len) {
        return shown_is_damaged(e);
    }
    out->buckets = (size_t)buckets;
    out->stored_len = (size_t)stored;
    out->explained = r;
    return ST_OK;
}

/* Stores the dumps of the first `count` buckets in the triage. */
static enum st show_stored(struct triage *t, size_t count, const struct shown_parts *parts,
                           struct err *e) {
    const struct bucket_set *set = &t->level[0];
    struct stored_bucket **stored = calloc(count + 1, sizeof *stored);
    enum st st =
        stored ? stored_read_bytes(&t->stored, stored, count, parts->stored, parts->stored_len, e)
               : err_nomem(e);
    for (size_t i = 0; st == ST_OK && i < count; i++) {
        set->buckets.data[set->ranked[i]]->stored = stored[i];
    }
    free(stored);
    if (st == ST_OK) {
        t->stored.limit = SHOWN_BYTES;
    } else {
        stored_dumps_release(&t->stored);
        t->stored = (struct stored_dumps){0};
    }
    return st;
}

enum st shown_read(struct triage *t, size_t count, uint64_t number, const void *bytes, size_t len,
                   struct err *e) {
    struct shown_parts parts = {0};
    if (open_shown_parts(bytes, len, &parts, e) != ST_OK) {
        return ST_ERR;
    }
    size_t all = t->level[0].buckets.len;
    count = count < all ? count : all;
    return parts.number == number && parts.buckets >= count ? show_stored(t, count, &parts, e)
                                                            : ST_NONE;
}

struct explained_reader {
    struct reader *in;
    struct summary_stack *to;
    bool failed; /* out of memory */
};

/* Reads a text into the memory of the stack. NULL: there is none. */
static const char *take_shown_text(struct explained_reader *r) {
    uint64_t len = reader_uleb128(r->in);
    const uint8_t *bytes = len ? reader_bytes(r->in, len - 1) : NULL;
    if (!bytes) {
        return NULL;
    }
    const char *text = arena_strdup(&r->to->arena, (const char *)bytes, (size_t)len - 1);
    r->failed = r->failed || !text;
    return text;
}

static void take_shown_frame(struct explained_reader *r) {
    struct summary_frame f = {.function = take_shown_text(r)};
    f.image = take_shown_text(r);
    f.file = take_shown_text(r);
    uint64_t line = reader_uleb128(r->in), flags = reader_uleb128(r->in);
    if (line > UINT32_MAX || flags >> FRAME_FLAGS) {
        reader_fail(r->in);
    }
    f.line = (uint32_t)line;
    f.in_app = flags & 1;
    f.inlined = flags & 2;
    f.key = flags & 4;
    f.told = flags & 8;
    r->failed = r->failed || !VEC_PUSH(&r->to->frames, f);
}

static enum st take_shown_stack(struct reader *in, struct summary_stack *to, struct err *e) {
    struct explained_reader r = {.in = in, .to = to};
    uint64_t frames = reader_uleb128(in);
    if (frames > STORED_FRAMES) {
        reader_fail(in);
    }
    for (uint64_t i = 0; i < frames && !in->failed && !r.failed; i++) {
        take_shown_frame(&r);
    }
    const char *explanation = take_shown_text(&r);
    strbuf_addstr(&to->explanation, explanation ? explanation : "");
    if (r.failed || to->explanation.failed) {
        return err_nomem(e);
    }
    return in->failed ? shown_is_damaged(e) : ST_OK;
}

enum st shown_read_explained(struct summary *s, const void *bytes, size_t len, struct err *e) {
    struct shown_parts parts = {0};
    enum st st = open_shown_parts(bytes, len, &parts, e);
    if (st == ST_OK && parts.buckets > s->buckets.len) {
        st = shown_is_damaged(e);
    }
    if (st == ST_OK && !VEC_RESERVE(&s->explained, parts.buckets)) {
        st = err_nomem(e);
    }
    for (size_t i = 0; st == ST_OK && i < parts.buckets; i++) {
        s->explained.data[s->explained.len++] = (struct summary_stack){0};
        st = take_shown_stack(&parts.explained, &s->explained.data[i], e);
    }
    if (st == ST_OK && reader_left(&parts.explained)) {
        st = shown_is_damaged(e);
    }
    if (st != ST_OK) {
        summary_explained_release(s);
    }
    return st;
}

enum st shown_check(struct triage *t, const void *bytes, size_t len, struct err *e) {
    struct shown_parts parts = {0};
    struct summary s = {0};
    enum st st = open_shown_parts(bytes, len, &parts, e);
    if (st == ST_OK && parts.buckets > t->level[0].buckets.len) {
        return shown_is_damaged(e);
    }
    st = st == ST_OK ? show_stored(t, parts.buckets, &parts, e) : st;
    for (size_t i = 0; st == ST_OK && i < parts.buckets; i++) {
        st = VEC_PUSH(&s.buckets, (struct summary_bucket){.id = ""}) ? ST_OK : err_nomem(e);
    }
    st = st == ST_OK ? shown_read_explained(&s, bytes, len, e) : st;
    summary_release(&s);
    return st;
}
