/* Demangles any bytes as a name, without a crash and with no more text than the limit. */
#include <stdint.h>
#include <stdlib.h>

#include "demangle/demangle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct strbuf out = {0};
    enum st st = demangle((const char *)data, size, DEMANGLE_FULL, &out, NULL);
    if (out.len > 768 * 1024 || (st == ST_NONE && out.len != 0)) {
        abort();
    }
    strbuf_release(&out);
    return 0;
}
