/* Any bytes as an object file: every kind of address is looked up in every slice, and answers must
 * keep the promises of lookup.h. */
#include <stdlib.h>
#include <string.h>

#include "debug/debug.h"
#include "index/lookup.h"
#include "index/lookup_support_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ask(struct lookup_source *source, uint64_t address) {
    static struct lookup_hit hit;
    struct err e = {0};
    enum st st = lookup_address(source, address, &hit, &e);
    insist(st != ST_ERR || err_is(&e));
    if (st == ST_OK) {
        check_hit(&hit, address);
    }
}

static void ask_slice(const struct object_slice *s) {
    struct lookup_source *source;
    struct err e = {0};
    if (lookup_open_live(&source, s, s, NULL, NULL, NULL, &e) != ST_OK) {
        return;
    }
    uint64_t base = object_slice_base(s), end = object_slice_text_end(s);
    ask(source, 0);
    ask(source, UINT64_MAX);
    for (unsigned i = 0; i < 256; i++) {
        ask(source, base + (end - base) / 256 * i);
    }
    const struct object_symbol *symbols;
    size_t count;
    if (object_symbols(s, &symbols, &count, &e) == ST_OK) {
        for (size_t i = 0; i < count && i < 1000; i++) {
            ask(source, symbols[i].address);
            ask(source, symbols[i].address + symbols[i].size);
        }
    }
    lookup_close(source);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct object *o;
    struct err e = {0};
    if (object_open_bytes(&o, "fuzz", data, size, &e) == ST_OK) {
        for (size_t i = 0; i < object_slice_count(o); i++) {
            ask_slice(object_slice(o, i));
        }
        object_close(o);
    }
    return 0;
}
