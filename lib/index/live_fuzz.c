/* Takes any bytes as an object file: every kind of address is looked up in every slice, and answers
 * must keep the promises of lookup.h. */
#include <stdlib.h>
#include <string.h>

#include "debug/debug.h"
#include "index/lookup.h"
#include "index/lookup_support_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ask_slice(const struct object_slice *s) {
    struct lookup_source *source;
    struct err e = {0};
    if (lookup_open_live(&source, s, s, NULL, NULL, NULL, &e) != ST_OK) {
        return;
    }
    ask_everywhere(source, s);
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
