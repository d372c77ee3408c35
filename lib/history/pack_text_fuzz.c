/* Reads any bytes as a packed text: they are refused, or give a text that stays the same when it is
 * packed and unpacked again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "history/pack_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char shared[] = "{\"strings\":[\"Shop\",\"save\",\"on_save\",\"main\"]}\n";

static void require(bool sentence) {
    if (!sentence) {
        abort();
    }
}

static enum st unpack(struct packer *p, const void *bytes, size_t len, struct strbuf *out) {
    size_t shared_len = packed_number(bytes, len) ? sizeof shared - 1 : 0;
    enum st st = packer_open(p, shared, shared_len, bytes, len, NULL);
    while (st == ST_OK) {
        size_t had = out->len;
        st = packer_next(p, out, NULL);
        require(out->len - had <= PACKED_PIECE);
    }
    return st;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct packer *p;
    struct strbuf text = {0}, packed = {0}, again = {0};
    require(p || packer_new(&p, NULL) == ST_OK);
    if (packed_is_one(data, size) && unpack(p, data, size, &text) == ST_NONE) {
        require(packer_pack(p, 1, shared, sizeof shared - 1, text.data, text.len, &packed, NULL) ==
                ST_OK);
        require(packed_number(packed.data, packed.len) == 1);
        require(unpack(p, packed.data, packed.len, &again) == ST_NONE);
        require(again.len == text.len &&
                (!text.len || memcmp(again.data, text.data, text.len) == 0));
    }
    strbuf_release(&text);
    strbuf_release(&packed);
    strbuf_release(&again);
    return 0;
}
