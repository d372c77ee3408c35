/* Demangles any bytes as text: there must be no crash, always an answer, and the same answer
 * whether the text comes in one piece or in two. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "demangle/demangle_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void add_text(const char *text, size_t len, enum demangle_style style, struct strbuf *out) {
    if (demangle_text(text, len, style, out, NULL) != ST_OK) {
        abort();
    }
}

/* Everything but the first byte, which says how to read it, is the text. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) {
        return 0;
    }
    enum demangle_style style = data[0] & 1 ? DEMANGLE_FULL : DEMANGLE_SIMPLIFIED;
    const char *text = (const char *)data + 1;
    size_t len = size - 1;
    size_t piece = demangle_text_whole(text, len * (data[0] >> 1) / 128);
    struct strbuf whole = {0}, pieces = {0};
    add_text(text, len, style, &whole);
    add_text(text, piece, style, &pieces);
    add_text(text + piece, len - piece, style, &pieces);
    if (piece > len || whole.len != pieces.len ||
        memcmp(strbuf_cstr(&whole), strbuf_cstr(&pieces), whole.len) != 0) {
        abort();
    }
    strbuf_release(&whole);
    strbuf_release(&pieces);
    return 0;
}
