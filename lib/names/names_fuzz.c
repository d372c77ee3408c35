/* Takes any bytes as a name and as the name of an image: the result must not be empty and not be
 * much longer than the input. */
#include <stdint.h>
#include <stdlib.h>

#include "names/names.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct strbuf b = {0};
    names_normalise((const char *)data, size, &b);
    if ((size > 0) != (b.len > 0) || b.len > 4 * size + 32) {
        abort();
    }
    strbuf_clear(&b);
    names_image((const char *)data, size, &b);
    if ((size > 0) != (b.len > 0) || b.len > size) {
        abort();
    }
    const char *type;
    size_t len;
    if (names_generic_for((const char *)data, size, &type, &len) &&
        (len < 3 || type <= (const char *)data || type + len > (const char *)data + size)) {
        abort();
    }
    strbuf_release(&b);
    return 0;
}
