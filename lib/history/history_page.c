/* Stores a finished page beside the largest kept sum of its parts, and reads it again. */
#include <inttypes.h>
#include <string.h>

#include "base/gz.h"
#include "base/hash.h"
#include "base/leb128.h"
#include "base/reader.h"
#include "classify/summary/shown.h"
#include "classify/summary/shown_bytes.h"
#include "classify/summary/summary_rows.h"
#include "history/history_private.h"

/* A low level of compression is enough, because the texts of the rows repeat within short
 * distances, and fast reading matters more. */
enum { PAGE_ZIP_LEVEL = 1 };

/* The program and the form that a kept page is known by. */
static const char page_made[] = STALLKIT_VERSION " form 3";

/* ---- reading ---- */

/* Sets p->content of a part. ST_NONE: the part is missing. */
static enum st read_content(struct history *h, struct history_part_row *p, struct err *e) {
    struct sql_statement *s = history_statement(h, HISTORY_PART_GET, e);
    if (!s) {
        return ST_ERR;
    }
    sql_bind_number(s, 1, p->id);
    enum st st = sql_next(s, e);
    if (st == ST_OK) {
        size_t len;
        const void *bytes = sql_bytes(s, 0, &len);
        p->content = history_part_content(bytes, len);
    }
    sql_reset(s);
    return st;
}

/* The parts that a page depends on. */
struct page_parts {
    struct history_parts shown; /* parts of the span */
    struct history_parts ever;  /* parts of the days up to its last one, if the span says `ever` */
};

static void page_parts_release(struct page_parts *p) {
    VEC_RELEASE(&p->shown.rows);
    VEC_RELEASE(&p->ever.rows);
}

/* Lists these parts, and changes *number by them. The ids of the buckets with marks are hashed,
 * too, because a page joins such buckets to no others. Parts in kept sums do not change as long as
 * the sums stay, so that only their ids and sizes are hashed. Other parts may be replaced by parts
 * with the same ids, so that their content is hashed, too, and set in `parts`. *base: as
 * history_find_sums gives it. */
static enum st number_parts(struct history *h, const struct history_span *span,
                            struct history_parts *parts, int64_t *base, uint64_t *number,
                            struct err *e) {
    enum st st = history_list_parts(h, span, parts, e);
    st = st == ST_OK && parts->left_out ? ST_NONE : st;
    st = st == ST_OK ? history_find_sums(h, parts, base, e) : st;
    uint64_t hash = hash_u64(hash_u64(*number ^ parts->rows.len) ^ parts->marks);
    for (size_t i = 0; st == ST_OK && i < parts->rows.len; i++) {
        struct history_part_row *p = &parts->rows.data[i];
        hash = hash_u64(hash ^ (uint64_t)p->id);
        hash = hash_u64(hash ^ p->dumps);
        hash = hash_u64(hash ^ p->bytes);
        if (!p->taken) {
            st = read_content(h, p, e);
            hash = hash_u64(hash ^ p->content);
        }
    }
    *number = hash;
    return st;
}

/* Finds the kept sum beside which the page of a span is stored, the one with the most dumps, and
 * sets *number to a hash of the parts by which the page is known. ST_NONE: no sum can be used, or a
 * part is damaged. */
static enum st identify_page(struct history *h, const struct history_span *span,
                             struct page_parts *parts, int64_t *base, uint64_t *number,
                             struct err *e) {
    int64_t base_of_ever;
    *number = 0;
    enum st st = number_parts(h, span, &parts->shown, base, number, e);
    st = st == ST_OK && !*base ? ST_NONE : st;
    if (st == ST_OK && span->ever) {
        struct history_span ever = *span;
        ever.since = INT32_MIN;
        st = number_parts(h, &ever, &parts->ever, &base_of_ever, number, e);
    }
    return st;
}

/* Is a page of this number, made by this build, kept beside this sum? ST_OK: yes; ST_NONE: no. */
static enum st has_page(struct history *h, int64_t rolled, uint64_t number, struct err *e) {
    struct sql_statement *s;
    if (sql_prepare(h->file, &s,
                    "SELECT 1 FROM rolled_page WHERE rolled = ?1 AND parts = ?2 AND made = ?3",
                    e) != ST_OK) {
        return ST_ERR;
    }
    sql_bind_number(s, 1, rolled);
    sql_bind_number(s, 2, (int64_t)number);
    sql_bind_text(s, 3, page_made);
    enum st st = sql_next(s, e);
    sql_finish(s);
    return st;
}

/* Has the triage the same rules, cap and `open` as o, and has neither a `where`? */
static bool is_made_with(const struct triage *t, const struct triage_options *o) {
    const struct triage_options *made = triage_options_of(t);
    return made->rules_hash == o->rules_hash && made->cap_ms == o->cap_ms && made->rules &&
           o->rules && strcmp(made->rules, o->rules) == 0 && !made->where && !o->where &&
           memcmp(made->open, o->open, sizeof made->open) == 0;
}

/* Inflates the rows, and what is shown of the first buckets, from two gzips, the second of which
 * may be missing; the length of the first stands in front. */
static enum st take_kept_rows(const void *bytes, size_t len, struct strbuf *rows,
                              struct strbuf *shown, struct err *e) {
    struct reader r = reader_init("rows", bytes, len);
    const uint64_t first_len = reader_uleb128(&r);
    const uint8_t *first = reader_bytes(&r, first_len);
    if (!first || !first_len) {
        return err_set(e, ERR_FORMAT, "the rows of a page are damaged");
    }
    const size_t second_len = reader_left(&r);
    enum st st = gz_inflate("rows", first, (size_t)first_len, SUMMARY_ROWS_MAX, rows, e);
    return st == ST_OK && second_len
               ? gz_inflate("stacks", r.at, second_len, SHOWN_BYTES_MAX, shown, e)
               : st;
}

/* Reads a kept page from two columns of a row: the triage from `column`, the rest from the next. */
static enum st take_page(struct history *h, struct sql_statement *s, int column,
                         struct triage **top, struct strbuf *rows, struct strbuf *shown,
                         struct err *e) {
    size_t len;
    const void *bytes = sql_bytes(s, column, &len);
    enum st st = history_part(h, bytes, len, top, e);
    if (st == ST_OK) {
        bytes = sql_bytes(s, column + 1, &len);
        st = take_kept_rows(bytes, len, rows, shown, e);
    }
    return st;
}

/* Reads a kept page. ST_NONE: it is damaged or missing; the caller then reads the parts instead. */
static enum st load_page(struct history *h, int64_t rolled, struct triage **top,
                         struct strbuf *rows, struct strbuf *shown, struct err *e) {
    struct sql_statement *s;
    struct err damage = {0};
    if (sql_prepare(h->file, &s, "SELECT top, rows FROM rolled_page WHERE rolled = ?1", e) !=
        ST_OK) {
        return ST_ERR;
    }
    sql_bind_number(s, 1, rolled);
    enum st st = sql_next(s, &damage);
    st = st == ST_OK ? take_page(h, s, 0, top, rows, shown, &damage) : st;
    sql_finish(s);
    return st == ST_ERR ? (damage.code == ERR_NOMEM ? err_nomem(e) : ST_NONE) : st;
}

/* A kept page has joined what is to be joined: a triage_options.stays. */
static bool stays_kept(void *ctx, const char *id) {
    (void)ctx;
    (void)id;
    return true;
}

enum st history_read_page(struct history *h, const struct history_span *span,
                          const struct triage_options *o, struct triage **top, struct strbuf *rows,
                          struct strbuf *shown, struct err *e) {
    struct page_parts parts = {0};
    int64_t base = 0;
    uint64_t number = 0;
    *top = NULL;
    strbuf_clear(rows);
    strbuf_clear(shown);
    if (h->version < HISTORY_VERSION || sql_is_writing(h->file)) {
        return ST_NONE;
    }
    enum st st = sql_begin_reading(h->file, e);
    st = st == ST_OK ? identify_page(h, span, &parts, &base, &number, e) : st;
    st = st == ST_OK ? has_page(h, base, number, e) : st;
    st = st == ST_OK ? load_page(h, base, top, rows, shown, e) : st;
    st = st == ST_OK && !is_made_with(*top, o) ? ST_NONE : st;
    sql_end_reading(h->file);
    page_parts_release(&parts);
    if (st == ST_OK) {
        struct triage_options kept = *o;
        kept.stays = stays_kept;
        triage_set_output(*top, &kept);
    } else {
        triage_free(*top);
        *top = NULL;
    }
    return st;
}

/* ---- examination ---- */

static enum st check_page(struct history *h, struct sql_statement *s, struct err *e) {
    struct triage *top = NULL;
    struct strbuf rows = {0}, shown = {0};
    struct summary_rows read = {0};
    enum st st = take_page(h, s, 1, &top, &rows, &shown, e);
    if (st == ST_OK) {
        triage_set_output(top, &(struct triage_options){.stays = stays_kept});
        st = triage_finish(top, e);
    }
    st = st == ST_OK ? summary_rows_read(&read, rows.data, rows.len, e) : st;
    if (st == ST_OK && !summary_rows_fit(top, &read)) {
        st = err_set(e, ERR_FORMAT, "its rows are not those behind its buckets");
    }
    /* A page has the dumps of the sum beside which it is stored, and those of other parts. */
    if (st == ST_OK && shown_read_count(top) < (uint64_t)sql_number(s, 3)) {
        st = err_set(e, ERR_FORMAT, "it has %" PRIu64 " dumps, its sum %" PRId64,
                     shown_read_count(top), sql_number(s, 3));
    }
    st = st == ST_OK && shown.len ? shown_check(top, shown.data, shown.len, e) : st;
    summary_rows_release(&read);
    strbuf_release(&rows);
    strbuf_release(&shown);
    triage_free(top);
    return st;
}

enum st history_check_pages(struct history *h, struct history_faults *f, struct err *e) {
    struct sql_statement *s;
    if (h->version < HISTORY_VERSION) {
        return ST_OK;
    }
    if (sql_prepare(h->file, &s,
                    "SELECT p.rolled, p.top, p.rows, ifnull(r.dumps, 0) FROM rolled_page p"
                    " LEFT JOIN rolled r ON r.id = p.rolled WHERE p.made = ?1 ORDER BY p.rolled",
                    e) != ST_OK) {
        return ST_ERR;
    }
    sql_bind_text(s, 1, page_made);
    enum st st = ST_OK, more = ST_OK;
    while (st == ST_OK && (more = sql_next(s, e)) == ST_OK) {
        struct err damage = {0};
        st = check_page(h, s, &damage);
        st = st == ST_ERR ? history_row_fault(f, "rolled_page", sql_number(s, 0), &damage, e) : st;
    }
    sql_finish(s);
    return st == ST_ERR || more == ST_ERR ? ST_ERR : ST_OK;
}

/* ---- keeping ---- */

struct page_keeping {
    const struct history_span *span;
    const struct strbuf *rows; /* and what is shown, compressed; h->zip has the triage */
};

/* Are the parts those that history_read read? Parts that are in no kept sum must have the content
 * that they had then; those in a kept sum cannot have changed since. */
static bool were_read(const struct history_parts *read, const struct history_parts *parts) {
    bool same = parts->rows.len == read->rows.len && parts->marks == read->marks;
    for (size_t i = 0; same && i < parts->rows.len; i++) {
        const struct history_part_row *a = &parts->rows.data[i], *b = &read->rows.data[i];
        same = a->id == b->id && a->dumps == b->dumps && a->bytes == b->bytes &&
               (a->taken || a->content == b->content);
    }
    return same;
}

/* Finds the sum beside which the page of a span is to be stored, and the page's number. ST_NONE: no
 * kept sum can be used, or the parts are not those that the last calls of history_read read. */
static enum st find_place(struct history *h, const struct history_span *span, int64_t *base,
                          uint64_t *number, struct err *e) {
    struct page_parts parts = {0};
    enum st st = identify_page(h, span, &parts, base, number, e);
    if (st == ST_OK && !(were_read(&h->parts_read, &parts.shown) &&
                         (!span->ever || were_read(&h->parts_read_before, &parts.ever)))) {
        st = ST_NONE;
    }
    page_parts_release(&parts);
    return st;
}

static enum st put_page(struct history *h, struct sql_file *file, int64_t rolled, uint64_t number,
                        const struct strbuf *rows, struct err *e) {
    struct sql_statement *s;
    if (sql_prepare(file, &s,
                    "INSERT OR REPLACE INTO rolled_page(rolled, made, parts, top, rows)"
                    " VALUES(?1, ?2, ?3, ?4, ?5)",
                    e) != ST_OK) {
        return ST_ERR;
    }
    sql_bind_number(s, 1, rolled);
    sql_bind_text(s, 2, page_made);
    sql_bind_number(s, 3, (int64_t)number);
    sql_bind_bytes(s, 4, h->zip.data, h->zip.len);
    sql_bind_bytes(s, 5, rows->data, rows->len);
    enum st st = sql_step(s, e);
    sql_finish(s);
    return st;
}

/* Writes the page if no part of the span has changed since it was read. The caller holds the write
 * lock, so the parts cannot change meanwhile. ST_ERR: a part has changed, or an error; the page is
 * not written. */
static enum st write_kept_page(void *ctx, struct history *h, struct sql_file *file, struct err *e) {
    const struct page_keeping *k = ctx;
    int64_t base = 0;
    uint64_t number = 0;
    enum st st = find_place(h, k->span, &base, &number, e);
    st = st == ST_OK ? put_page(h, file, base, number, k->rows, e) : st;
    return st == ST_NONE ? ST_ERR : st;
}

/* Compresses the rows, and what is shown unless it is empty, as take_kept_rows reads them. */
static enum st pack_rows(const struct strbuf *rows, const struct strbuf *shown, struct strbuf *out,
                         struct err *e) {
    struct strbuf first = {0};
    enum st st = gz_deflate_fast(rows->data, rows->len, PAGE_ZIP_LEVEL, &first, e);
    leb128_add(out, first.len);
    strbuf_add(out, strbuf_cstr(&first), first.len);
    strbuf_release(&first);
    if (st == ST_OK && shown->len) {
        st = gz_deflate_fast(shown->data, shown->len, PAGE_ZIP_LEVEL, out, e);
    }
    return st == ST_OK ? strbuf_check(out, e) : st;
}

enum st history_keep_page(struct history *h, const struct history_span *span,
                          const struct triage *top, const struct strbuf *rows,
                          const struct strbuf *shown, struct err *e) {
    struct strbuf zip = {0};
    struct page_keeping k = {span, &zip};
    struct err why = {0};
    int64_t base;
    uint64_t number;
    /* The place is looked up before anything is packed, and again under the write lock. */
    if (!h->parts_read.rows.len || find_place(h, span, &base, &number, &why) != ST_OK) {
        return why.code == ERR_NOMEM ? err_nomem(e) : ST_OK;
    }
    enum st st = pack_rows(rows, shown, &zip, e);
    strbuf_reset(&h->zip);
    st = st == ST_OK ? history_zip_alone(h, top, &h->zip, e) : st;
    st = st == ST_OK ? history_save(h, write_kept_page, &k, e) : st;
    strbuf_release(&zip);
    return st;
}
