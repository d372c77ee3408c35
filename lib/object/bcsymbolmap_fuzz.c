/* Takes any bytes as a .bcsymbolmap file, and as the plist with the original UUID. */
#include <stdio.h>
#include <stdlib.h>

#include "object/bcsymbolmap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LINES_ASKED = 64 };

static void ask(const struct bcsymbolmap *m, const char *name) {
    size_t len;
    const char *start = (const char *)bcsymbolmap_bytes(m, &len);
    const char *text = bcsymbolmap_text(m, name);
    if (text && (*text == '\0' || strchr(text, '\n') || text < start || text >= start + len)) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct bcsymbolmap *m = NULL;
    struct image_id id = {0};
    struct err e = {0};
    (void)bcsymbolmap_occurs(data, size);
    if (bcsymbolmap_original_uuid(data, size, &id, NULL) == ST_OK && id.len != 16) {
        abort();
    }
    enum st st = bcsymbolmap_open_bytes(&m, "map", data, size, &e);
    if (st == ST_NONE || (st == ST_ERR) != err_is(&e)) {
        abort();
    }
    for (unsigned i = 0; m && i < LINES_ASKED; i++) {
        char name[32];
        snprintf(name, sizeof name, "__hidden#%u_", i);
        ask(m, name);
    }
    if (m) {
        ask(m, "__hidden#4294967295_"); /* the largest line number; then the map's first line, which
                                           may be a hidden name */
        ask(m, (const char *)bcsymbolmap_bytes(m, &size));
    }
    bcsymbolmap_close(m);
    return 0;
}
