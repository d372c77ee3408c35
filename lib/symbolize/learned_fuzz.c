/* Takes any bytes as a store's learned names of an image. They must be refused, or give the same
 * text when they are read, joined and printed again, with names that stay within their
 * functions. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "symbolize/learned_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool sentence) {
    if (!sentence) {
        abort();
    }
}

static bool read_and_print(const struct image_id *id, const char *text, size_t len,
                           struct strbuf *out) {
    struct learned_names *n = NULL;
    struct learned_list list = {0};
    struct err e = {0};
    require(learned_names_new(&n, &e) == ST_OK);
    enum st st = learned_text_read(n, id, text, len, &e);
    require(st == ST_OK || e.code == ERR_FORMAT || e.code == ERR_UNSUPPORTED);
    if (st == ST_OK) {
        require(learned_names_list(n, id, &list, &e) != ST_ERR);
        learned_text_print(id, &list, out);
    }
    for (size_t i = 0; i < list.len; i++) {
        const struct learned_function *f = &list.data[i];
        require(f->end >= f->start && f->end - f->start <= LEARNED_OFFSET_MAX + 1);
        require(!f->name || (!f->conflict && learned_is_name(f->name)));
        require(f->name || f->end == f->start);
        require(f->conflict ? f->told_by[0] == 0 : f->told_by[0] != 0);
        require(f->told_by[1] == 0 || f->told_by[1] > f->told_by[0]);
        require(i == 0 || list.data[i - 1].start <= f->start);
    }
    VEC_RELEASE(&list);
    learned_names_free(n);
    return st == ST_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char uuid[] = "6B834217-0000-3000-8000-000000000002";
    struct image_id id;
    struct strbuf first = {0}, second = {0};
    require(parse_uuid(uuid, sizeof uuid - 1, &id));
    if (read_and_print(&id, (const char *)data, size, &first)) {
        require(read_and_print(&id, strbuf_cstr(&first), first.len, &second));
        require(first.len == second.len && memcmp(first.data, second.data, first.len) == 0);
    }
    strbuf_release(&first);
    strbuf_release(&second);
    return 0;
}
