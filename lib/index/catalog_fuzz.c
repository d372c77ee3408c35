/* Takes any bytes as the catalog of a store. They must be refused, or be printed as a catalog that
 * gives the same text when it is read and printed again, with keys that stay in the store's
 * folder. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "index/catalog.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool sentence) {
    if (!sentence) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct catalog c, again;
    struct strbuf first = {0}, second = {0};
    struct err e = {0};
    enum st st = catalog_parse(&c, (const char *)data, size, &e);
    require(st != ST_ERR || e.code == ERR_FORMAT);
    if (st != ST_OK) {
        return 0;
    }
    for (size_t i = 0; i < c.len; i++) {
        require(c.data[i].key[0] && !strpbrk(c.data[i].key, "/."));
    }
    catalog_print(&c, &first);
    require(catalog_parse(&again, strbuf_cstr(&first), first.len, NULL) == ST_OK);
    require(again.len == c.len);
    catalog_print(&again, &second);
    require(first.len == second.len && memcmp(first.data, second.data, first.len) == 0);
    strbuf_release(&first);
    strbuf_release(&second);
    catalog_release(&c);
    catalog_release(&again);
    return 0;
}
