/* Reads any bytes as the rows of a page that a history keeps. They are refused, or they are read
 * and written, and reading them again gives the same. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "classify/summary/summary_rows.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool sentence) {
    if (!sentence) {
        abort();
    }
}

/* Moves rows behind as many buckets as they leave out, and writes them again. */
static void write_again(struct summary_rows *read, struct strbuf *out) {
    struct summary s = {0};
    for (size_t i = 0; i < read->first; i++) {
        require(VEC_PUSH(&s.buckets, (struct summary_bucket){.id = "", .cause = ""}));
    }
    const size_t first = read->first;
    require(summary_take_rows(&s, read, NULL) == ST_OK);
    for (size_t i = first; i < s.buckets.len; i++) {
        require(strlen(s.buckets.data[i].id) == KEY_ID_SIZE - 1);
    }
    for (size_t i = 0; i < read->gone.len; i++) {
        const struct gone_bucket *b = &read->gone.data[i];
        require(!b->gone_in || strlen(b->gone_in) < SUMMARY_TEXTS_MAX);
        require(b->gone_in || (!b->returned_in && !b->again_in && !b->unwatched_in));
    }
    const struct summary_gone gone = {read->gone.data, read->gone.len};
    require(summary_write_rows(&s, first, &gone, out, NULL) == ST_OK);
    summary_release(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct strbuf once = {0}, twice = {0};
    struct summary_rows read, again;
    if (summary_rows_read(&read, data, size, NULL) == ST_OK) {
        const size_t first = read.first;
        write_again(&read, &once);
        require(summary_rows_read(&again, once.data, once.len, NULL) == ST_OK);
        require(again.first == first);
        write_again(&again, &twice);
        require(once.len == twice.len && memcmp(once.data, twice.data, once.len) == 0);
        summary_rows_release(&again);
        summary_rows_release(&read);
    }
    strbuf_release(&once);
    strbuf_release(&twice);
    return 0;
}
