/* Keeps texts that the partials of a history share: names and pieces of stacks, which come again in
 * each day's partial. Partials are packed against the newest of these texts. A shared text is never
 * changed or deleted, so that a number always stands for the same text. */
#include <string.h>

#include "history/history_private.h"

/* A shared text has at least SHARED_MIN bytes and at most SHARED_MAX, and at least SHARED_GROWTH
 * times as many as the one before it; so there are few. */
enum { SHARED_MIN = 1 << 16, SHARED_MAX = 1 << 22, SHARED_GROWTH = 4 };

void history_drop_shared(struct history *h) {
    for (size_t i = 0; i < h->shared.len; i++) {
        strbuf_release(&h->shared.data[i].text);
    }
    h->shared.len = 0;
    packer_free(h->of_dumps.packer);
    h->of_dumps.packer = NULL;
    h->of_dumps.number = 0;
}

enum st history_packer(struct history *h, struct err *e) {
    return h->packer ? ST_OK : packer_new(&h->packer, e);
}

enum st history_unpack_shared(struct history *h, struct sql_statement *s, struct strbuf *out,
                              struct err *e) {
    size_t len;
    const void *bytes = sql_bytes(s, 1, &len);
    enum st st = bytes ? history_packer(h, e) : err_set(e, ERR_FORMAT, "it is empty");
    st = st == ST_OK ? packer_open(h->packer, NULL, 0, bytes, len, e) : st;
    while (st == ST_OK && (st = packer_next(h->packer, out, e)) == ST_OK) {
        if (out->len > SHARED_MAX) {
            st = err_set(e, ERR_LIMIT, "it is too large");
        }
    }
    return st == ST_NONE ? ST_OK : err_context(e, "a shared text of the history is damaged");
}

/* Sets *out to the shared text of which the current row of s has the number and the packed bytes;
 * the text is unpacked unless h->shared has it already. */
static enum st take_shared(struct history *h, struct sql_statement *s,
                           const struct history_shared **out, struct err *e) {
    struct history_shared new = {.number = (uint32_t)sql_number(s, 0)};
    if (new.number != sql_number(s, 0)) {
        return err_set(e, ERR_FORMAT, "the history is damaged: the number of a shared text");
    }
    for (size_t i = 0; i < h->shared.len; i++) {
        if (h->shared.data[i].number == new.number) {
            *out = &h->shared.data[i];
            return ST_OK;
        }
    }
    enum st st = history_unpack_shared(h, s, &new.text, e);
    if (st == ST_OK && !VEC_PUSH(&h->shared, new)) {
        st = err_nomem(e);
    }
    if (st != ST_OK) {
        strbuf_release(&new.text);
        return ST_ERR;
    }
    *out = &h->shared.data[h->shared.len - 1];
    return ST_OK;
}

static enum st find_shared(struct history *h, enum history_statement which, uint32_t number,
                           const struct history_shared **out, struct err *e) {
    struct sql_statement *s = history_statement(h, which, e);
    if (!s) {
        return ST_ERR;
    }
    if (number) {
        sql_bind_number(s, 1, number);
    }
    enum st st = sql_next(s, e);
    st = st == ST_OK ? take_shared(h, s, out, e) : st;
    sql_reset(s);
    return st;
}

enum st history_shared_text(struct history *h, uint32_t number, const struct history_shared **out,
                            struct err *e) {
    static const struct history_shared none = {0};
    *out = &none;
    if (!number) {
        return ST_OK;
    }
    enum st st = h->version < HISTORY_SHARED_FROM
                     ? ST_NONE
                     : find_shared(h, HISTORY_SHARED_GET, number, out, e);
    return st == ST_NONE ? err_set(e, ERR_FORMAT, "the history lacks a shared text") : st;
}

enum st history_newest_shared(struct history *h, const struct history_shared **out, struct err *e) {
    static const struct history_shared none = {0};
    struct err damage = {0};
    *out = &none;
    enum st st = h->version < HISTORY_SHARED_FROM
                     ? ST_NONE
                     : find_shared(h, HISTORY_SHARED_NEWEST, 0, out, &damage);
    if (st == ST_ERR && (damage.code == ERR_NOMEM || damage.code == ERR_IO)) {
        return err_copy(e, &damage);
    }
    return ST_OK;
}

/* Sets *len to the length of the tables of a partial, and returns where they begin. The tables are
 * the lines between the head, which is the first line, and the first bucket; they name no user. */
static const char *tables_of(const struct strbuf *partial, size_t *len) {
    static const char bucket[] = "{\"id\":";
    const char *end = partial->data + partial->len;
    const char *head = partial->len ? memchr(partial->data, '\n', partial->len) : NULL;
    const char *from = head ? head + 1 : end, *to = from, *stop;
    while (to < end && strncmp(to, bucket, strlen(bucket)) != 0 &&
           (stop = memchr(to, '\n', (size_t)(end - to)))) {
        to = stop + 1;
    }
    *len = (size_t)(to - from);
    return from;
}

enum st history_share(struct history *h, struct err *e) {
    const struct history_shared *newest;
    size_t len;
    const char *text = tables_of(&h->text, &len);
    if (len < SHARED_MIN || history_newest_shared(h, &newest, e) != ST_OK) {
        return len < SHARED_MIN ? ST_OK : ST_ERR;
    }
    len = len < SHARED_MAX ? len : SHARED_MAX;
    if (len / SHARED_GROWTH < newest->text.len) {
        return ST_OK;
    }
    struct sql_statement *s = history_statement(h, HISTORY_SHARED_PUT, e);
    strbuf_reset(&h->zip);
    if (!s || history_packer(h, e) != ST_OK ||
        packer_pack(h->packer, 0, NULL, 0, text, len, &h->zip, e) != ST_OK) {
        return ST_ERR;
    }
    sql_bind_bytes(s, 1, h->zip.data, h->zip.len);
    return sql_step(s, e);
}
