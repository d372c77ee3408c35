/* Demangles any bytes as a Swift name: there must be no crash, no more text than the limit, and no
 * text if demangling failed. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "demangle/swift_name.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LONGEST_PIECE = 64 * 1024 }; /* the text of one node may exceed the cap by this many bytes */

static void demangle_one(const char *name, size_t len, bool simplified) {
    struct swift_scratch scratch = {0};
    struct strbuf out = {0};
    enum st st = swift_demangle(&scratch, name, len, simplified, &out, NULL);
    if (out.len > SWIFT_TEXT_MAX + LONGEST_PIECE || (st == ST_OK) != (out.len > 0)) {
        abort();
    }
    strbuf_release(&out);
    swift_scratch_release(&scratch);
}

/* Puts the prefix "$s" in front of an input that begins with none. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *name = malloc(size + 2);
    if (!name) {
        return 0;
    }
    memcpy(name, "$s", 2);
    if (size) {
        memcpy(name + 2, data, size);
    }
    bool whole = swift_has_prefix(name + 2, size);
    demangle_one(whole ? name + 2 : name, whole ? size : size + 2, false);
    demangle_one(whole ? name + 2 : name, whole ? size : size + 2, true);
    free(name);
    return 0;
}
