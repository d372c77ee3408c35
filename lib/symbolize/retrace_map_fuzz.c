/* Takes any bytes as a mapping, and looks fixed symbols and lines up in it. */
#include <stdlib.h>
#include <string.h>

#include "symbolize/retrace_map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const symbols[] = {"a.b.c", "a.b.<init>", "", ".", "a.b.", "c"};
    struct retrace_line out[RETRACE_LINES_MAX];
    struct retrace_map *m = NULL;
    struct err e = {0};
    const char *text = (const char *)data;
    bool is = retrace_map_is(text, size);
    enum st st = retrace_map_open(&m, text, size, &e);
    if (is && st == ST_NONE) {
        abort();
    }
    for (size_t i = 0; st == ST_OK && i < sizeof symbols / sizeof *symbols; i++) {
        for (uint32_t line = 0; line < 12; line++) {
            size_t count = retrace_map_find(m, symbols[i], line, out);
            for (size_t k = 0; k < count; k++) {
                if (out[k].class_len + out[k].method_len > size + strlen(symbols[i])) {
                    abort();
                }
            }
        }
    }
    retrace_map_close(m);
    return 0;
}
