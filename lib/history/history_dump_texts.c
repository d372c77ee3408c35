/* Packs the texts of the dumps that are kept, and reads them again. Dumps of an app have most of
 * their text in common, so they are packed against a shared text, which is made of some of them
 * without personal data. Its number is a hash of it, so that it stands for the same text in each
 * process, even if the text was deleted since and another one made. */
#include <string.h>

#include "base/gz.h"
#include "base/hash.h"
#include "history/history_private.h"

enum {
    /* A text is shared from so many dumps on; fewer are not worth its bytes. */
    DUMP_SHARED_ROWS = 64,
    DUMP_SHARED_SIZE = 1 << 16,
    DUMP_ZIP_LEVEL = 6
};

/* Most bytes of a dump after inflation. */
static const uint64_t dump_text_max = 2 * HISTORY_DUMP_MAX;

static uint32_t number_of_text(const struct strbuf *text) {
    const uint32_t number = (uint32_t)hash_bytes(text->data, text->len);
    return number + (number == 0);
}

/* Appends the shared text of a number. ST_NONE: the table lacks it. ST_ERR, too, if the number is
 * not the hash of the text. */
static enum st read_dump_shared(struct history *h, uint32_t number, struct strbuf *text,
                                struct err *e) {
    if (h->version < HISTORY_DUMP_SHARED_FROM) {
        return ST_NONE;
    }
    struct sql_statement *s = history_statement(h, HISTORY_DUMP_SHARED_GET, e);
    if (!s) {
        return ST_ERR;
    }
    sql_bind_number(s, 1, number);
    enum st st = sql_next(s, e);
    st = st == ST_OK ? history_unpack_shared(h, s, text, e) : st;
    sql_reset(s);
    return st == ST_OK && number_of_text(text) != number
               ? err_set(e, ERR_FORMAT, "a shared text of the history is damaged")
               : st;
}

/* Makes h->of_dumps.packer for the shared text of this number. ST_ERR: out of memory, or the table
 * lacks the text, or it is damaged or cannot be read. */
static enum st take_dump_shared(struct history *h, uint32_t number, struct err *e) {
    if (h->of_dumps.packer && h->of_dumps.number == number) {
        return ST_OK;
    }
    struct strbuf text = {0};
    packer_free(h->of_dumps.packer);
    h->of_dumps.packer = NULL;
    enum st st = read_dump_shared(h, number, &text, e);
    st = st == ST_NONE ? err_set(e, ERR_FORMAT, "the history lacks a shared text") : st;
    st = st == ST_OK ? packer_new_short(&h->of_dumps.packer, number, text.data, text.len, e) : st;
    h->of_dumps.number = number;
    strbuf_release(&text);
    return st;
}

/* ---- reading ---- */

static enum st unpack_dump(struct history *h, const void *bytes, size_t len, struct err *e) {
    const uint32_t number = packed_number(bytes, len);
    if (!number) {
        return err_set(e, ERR_FORMAT, "it names no shared text");
    }
    enum st st = take_dump_shared(h, number, e);
    st = st == ST_OK ? packer_open(h->of_dumps.packer, NULL, 0, bytes, len, e) : st;
    while (st == ST_OK && (st = packer_next(h->of_dumps.packer, &h->text, e)) == ST_OK) {
        if (h->text.len > dump_text_max) {
            st = err_set(e, ERR_LIMIT, "it is too large");
        }
    }
    return st == ST_NONE ? ST_OK : ST_ERR;
}

enum st history_dump_text(struct history *h, const void *bytes, size_t len, struct err *e) {
    struct err damage = {0};
    strbuf_reset(&h->text);
    enum st st = ST_ERR;
    if (bytes && packed_is_one(bytes, len)) {
        st = unpack_dump(h, bytes, len, &damage);
    } else if (bytes && len) {
        st = gz_inflate("a dump", bytes, len, dump_text_max, &h->text, &damage);
    }
    if (st == ST_OK) {
        return ST_OK;
    }
    return damage.code == ERR_NOMEM || damage.code == ERR_IO
               ? err_copy(e, &damage)
               : err_set(e, ERR_FORMAT, "it cannot be read");
}

/* ---- packing ---- */

/* Collects the texts of the first dumps of the table, without personal data, up to DUMP_SHARED_SIZE
 * bytes. A dump that is damaged is left out. */
static enum st collect_texts(struct history *h, struct strbuf *out, struct err *e) {
    struct sql_statement *s;
    if (sql_prepare(h->file, &s, "SELECT text FROM dump ORDER BY id", e) != ST_OK) {
        return ST_ERR;
    }
    enum st st = ST_OK, more = ST_OK;
    while (st == ST_OK && out->len < DUMP_SHARED_SIZE && (more = sql_next(s, e)) == ST_OK) {
        struct err damage = {0};
        size_t len;
        const void *bytes = sql_bytes(s, 0, &len);
        if (history_dump_text(h, bytes, len, &damage) == ST_OK) {
            struct sink sink = sink_to_strbuf(out);
            (void)!dump_write_impersonal(h->text.data, h->text.len, &sink);
            st = sink_close(&sink, e);
        } else if (damage.code != ERR_FORMAT) {
            st = err_copy(e, &damage);
        }
    }
    sql_finish(s);
    strbuf_truncate(out, out->len < DUMP_SHARED_SIZE ? out->len : DUMP_SHARED_SIZE);
    return more == ST_ERR ? ST_ERR : st;
}

/* Adds a shared text to the table. */
static enum st put_shared(struct history *h, uint32_t number, const struct strbuf *text,
                          struct err *e) {
    struct sql_statement *s = NULL;
    strbuf_reset(&h->zip);
    if (history_packer(h, e) != ST_OK ||
        packer_pack(h->packer, 0, NULL, 0, text->data, text->len, &h->zip, e) != ST_OK ||
        sql_prepare(h->file, &s, "INSERT INTO dump_shared(id, text) VALUES(?1, ?2)", e) != ST_OK) {
        return ST_ERR;
    }
    sql_bind_number(s, 1, number);
    sql_bind_bytes(s, 2, h->zip.data, h->zip.len);
    enum st st = sql_step(s, e);
    sql_finish(s);
    return st;
}

/* Makes a shared text of the dumps of the table, adds it, and sets h->of_dumps.newest to its
 * number; does nothing if no dump can be read. */
static enum st share_dumps(struct history *h, struct err *e) {
    struct strbuf text = {0};
    enum st st = collect_texts(h, &text, e);
    if (st == ST_OK && text.len) {
        h->of_dumps.newest = number_of_text(&text);
        st = put_shared(h, h->of_dumps.newest, &text, e);
    }
    strbuf_release(&text);
    return st;
}

enum st history_find_dump_shared(struct history *h, struct err *e) {
    struct sql_statement *s;
    h->of_dumps.newest = 0;
    if (sql_prepare(h->file, &s, "SELECT id FROM dump_shared ORDER BY id LIMIT 1", e) != ST_OK) {
        return ST_ERR;
    }
    enum st st = sql_next(s, e);
    if (st == ST_OK) {
        h->of_dumps.newest = (uint32_t)sql_number(s, 0);
    }
    sql_finish(s);
    if (st == ST_NONE && h->kept.rows >= DUMP_SHARED_ROWS) {
        st = share_dumps(h, e);
    }
    if (st != ST_ERR && h->of_dumps.newest) {
        struct err damage = {0};
        st = take_dump_shared(h, h->of_dumps.newest, &damage);
        if (st == ST_ERR && (damage.code == ERR_NOMEM || damage.code == ERR_IO)) {
            err_copy(e, &damage);
        } else if (st == ST_ERR) {
            h->of_dumps.newest = 0; /* counts are added even if the text is damaged */
            st = ST_OK;
        }
    }
    return st == ST_ERR ? ST_ERR : ST_OK;
}

static enum st zip_dump(struct history *h, const char *text, size_t len, struct err *e) {
    strbuf_clear(&h->zip);
    return gz_deflate_fast(text, len, DUMP_ZIP_LEVEL, &h->zip, e);
}

enum st history_pack_dump(struct history *h, const char *text, size_t len, struct err *e) {
    if (!h->of_dumps.newest) {
        return zip_dump(h, text, len, e);
    }
    strbuf_clear(&h->zip);
    enum st st = take_dump_shared(h, h->of_dumps.newest, e);
    return st == ST_OK ? packer_pack(h->of_dumps.packer, 0, NULL, 0, text, len, &h->zip, e) : st;
}

/* ---- upkeep ---- */

struct dump_rows {
    VEC(int64_t) ids;
};

static enum st list_dump_rows(struct history *h, struct dump_rows *rows, struct err *e) {
    struct sql_statement *s;
    if (sql_prepare(h->file, &s, "SELECT id FROM dump ORDER BY id", e) != ST_OK) {
        return ST_ERR;
    }
    enum st st;
    while ((st = sql_next(s, e)) == ST_OK) {
        if (!VEC_PUSH(&rows->ids, sql_number(s, 0))) {
            st = err_nomem(e);
            break;
        }
    }
    sql_finish(s);
    return st == ST_ERR ? ST_ERR : ST_OK;
}

/* Sets h->text to the text of the dump of a row. ST_NONE: it is damaged. */
static enum st read_dump_row(struct history *h, int64_t id, struct err *e) {
    struct sql_statement *s;
    struct err damage = {0};
    if (sql_prepare(h->file, &s, "SELECT text FROM dump WHERE id = ?1", e) != ST_OK) {
        return ST_ERR;
    }
    sql_bind_number(s, 1, id);
    enum st st = sql_next(s, e);
    if (st == ST_OK) {
        size_t len;
        const void *bytes = sql_bytes(s, 0, &len);
        st = history_dump_text(h, bytes, len, &damage);
    }
    sql_finish(s);
    if (damage.code == ERR_FORMAT) {
        return ST_NONE;
    }
    return err_is(&damage) ? err_copy(e, &damage) : st;
}

/* Packs the dump of a row with `to`, or alone if that is NULL. A dump that is damaged goes. */
static enum st pack_dump_row(struct history *h, int64_t id, struct packer *to, struct err *e) {
    struct sql_statement *s;
    enum st st = read_dump_row(h, id, e);
    const bool damaged = st == ST_NONE;
    if (st == ST_OK) {
        strbuf_clear(&h->zip);
        st = to ? packer_pack(to, 0, NULL, 0, h->text.data, h->text.len, &h->zip, e)
                : zip_dump(h, h->text.data, h->text.len, e);
    }
    if (st == ST_ERR || sql_prepare(h->file, &s,
                                    damaged ? "DELETE FROM dump WHERE id = ?1"
                                            : "UPDATE dump SET text = ?2 WHERE id = ?1",
                                    e) != ST_OK) {
        return ST_ERR;
    }
    h->counts.unreadable += damaged;
    sql_bind_number(s, 1, id);
    if (!damaged) {
        sql_bind_bytes(s, 2, h->zip.data, h->zip.len);
    }
    st = sql_step(s, e);
    sql_finish(s);
    return st;
}

/* Does the table have a shared text? ST_NONE: no. */
static enum st has_shared(struct history *h, struct err *e) {
    struct sql_statement *s;
    if (sql_prepare(h->file, &s, "SELECT 1 FROM dump_shared", e) != ST_OK) {
        return ST_ERR;
    }
    enum st st = sql_next(s, e);
    sql_finish(s);
    return st;
}

enum st history_renew_dump_shared(struct history *h, struct err *e) {
    struct dump_rows rows = {0};
    struct strbuf text = {0};
    struct packer *to = NULL;
    uint32_t number = 0;
    enum st st = has_shared(h, e);
    if (st != ST_OK) {
        return st == ST_ERR ? ST_ERR : ST_OK;
    }
    st = list_dump_rows(h, &rows, e);
    if (st == ST_OK && rows.ids.len >= DUMP_SHARED_ROWS) {
        st = collect_texts(h, &text, e);
    }
    if (st == ST_OK && text.len) {
        number = number_of_text(&text);
        st = packer_new_short(&to, number, text.data, text.len, e);
    }
    for (size_t i = 0; st == ST_OK && i < rows.ids.len; i++) {
        st = pack_dump_row(h, rows.ids.data[i], to, e);
    }
    if (st == ST_OK) {
        st = sql_run(h->file, "DELETE FROM dump_shared; DELETE FROM fact WHERE name = 'dumps'", e);
    }
    st = st == ST_OK && number ? put_shared(h, number, &text, e) : st;
    packer_free(to);
    strbuf_release(&text);
    VEC_RELEASE(&rows.ids);
    return st;
}

enum st history_check_dump_shared(struct history *h, struct history_faults *f, struct err *e) {
    struct sql_statement *s;
    if (h->version < HISTORY_DUMP_SHARED_FROM) {
        return ST_OK;
    }
    if (sql_prepare(h->file, &s, "SELECT id FROM dump_shared ORDER BY id", e) != ST_OK) {
        return ST_ERR;
    }
    enum st st = ST_OK, more = ST_OK;
    while (st != ST_ERR && (more = sql_next(s, e)) == ST_OK) {
        struct err damage = {0};
        const int64_t id = sql_number(s, 0);
        st = id == (uint32_t)id ? take_dump_shared(h, (uint32_t)id, &damage)
                                : err_set(&damage, ERR_FORMAT, "it has no number of a text");
        st = st == ST_ERR ? history_row_fault(f, "dump_shared", id, &damage, e) : st;
    }
    sql_finish(s);
    return st == ST_ERR || more == ST_ERR ? ST_ERR : ST_OK;
}
