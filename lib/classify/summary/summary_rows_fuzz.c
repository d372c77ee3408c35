/* Reads any bytes as the rows of a page that a history keeps. They are refused, or they are read
 * and written, and reading them again gives the same. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "classify/summary/summary_rows.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FIRST_MOST = 1024 };

static void require(bool sentence) {
    if (!sentence) {
        abort();
    }
}

struct found {
    VEC(struct gone_bucket) gone;
};

static enum st note_gone(void *ctx, const struct gone_bucket *b, struct err *e) {
    struct found *f = ctx;
    (void)e;
    require(strlen(b->gone_in) < SUMMARY_TEXTS_MAX && (!b->returned_in || *b->returned_in));
    require(VEC_PUSH(&f->gone, *b));
    return ST_OK;
}

/* Reads rows that follow `first` buckets, and writes them again. */
static void read_and_write(const void *bytes, size_t len, size_t first, struct strbuf *out) {
    struct summary s = {0};
    struct found found = {0};
    struct err e = {0};
    for (size_t i = 0; i < first; i++) {
        require(VEC_PUSH(&s.buckets, (struct summary_bucket){.id = "", .cause = ""}));
    }
    require(summary_read_rows(&s, bytes, len, note_gone, &found, &e) == ST_OK);
    for (size_t i = first; i < s.buckets.len; i++) {
        require(strlen(s.buckets.data[i].id) == KEY_ID_SIZE - 1);
    }
    const struct summary_gone gone = {found.gone.data, found.gone.len};
    require(summary_write_rows(&s, first, &gone, out, &e) == ST_OK);
    VEC_RELEASE(&found.gone);
    summary_release(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct strbuf once = {0}, twice = {0};
    size_t first = summary_rows_first(data, size);
    if (first <= FIRST_MOST) {
        read_and_write(data, size, first, &once);
        require(summary_rows_first(once.data, once.len) == first);
        read_and_write(once.data, once.len, first, &twice);
        require(once.len == twice.len && memcmp(once.data, twice.data, once.len) == 0);
    } else if (first == SIZE_MAX) {
        struct summary s = {0};
        struct found found = {0};
        require(summary_read_rows(&s, data, size, note_gone, &found, NULL) == ST_ERR);
        VEC_RELEASE(&found.gone);
        summary_release(&s);
    }
    strbuf_release(&once);
    strbuf_release(&twice);
    return 0;
}
