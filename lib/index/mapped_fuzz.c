/* Takes any bytes as a symbol index; and again as the sections of an index whose header is valid,
 * so that look-ups read them. The first bytes say how the others are divided among the sections. */
#include <stdlib.h>
#include <string.h>

#include "index/mapped.h"
#include "index/lookup_support_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ask(struct lookup_source *source, uint64_t address) {
    static struct lookup_hit hit;
    struct err e = {0};
    enum st st = lookup_address(source, address, &hit, &e);
    insist((st == ST_ERR) == err_is(&e));
    if (st == ST_OK) {
        check_hit(&hit, address);
    }
}

static void ask_all(const uint8_t *data, size_t size) {
    struct lookup_source *source;
    struct err e = {0};
    if (mapped_open_bytes(&source, "fuzz", data, size, &e) != ST_OK) {
        return;
    }
    (void)touch(mapped_image_name(source));
    size_t n = mapped_piece_count(source);
    for (size_t i = 0; i < n && i < 500; i++) {
        uint64_t at = mapped_piece(source, i);
        ask(source, at);
        ask(source, at + 1);
        ask(source, at + 40);
        ask(source, at - 1);
    }
    ask(source, 0);
    ask(source, UINT64_MAX);
    lookup_close(source);
}

/* Makes an index of the sections by adding their checksums and a header, and looks addresses up in
 * it. */
static void ask_summed(struct index_header *h, const uint8_t *sections, size_t end) {
    struct strbuf borrowed[INDEX_SUMS], sums = {0};
    const struct strbuf *all[INDEX_SUMS];
    uint8_t prologue[INDEX_PROLOGUE];
    for (size_t i = 0; i < INDEX_SUMS; i++) {
        borrowed[i] = (struct strbuf){.data = (char *)(uintptr_t)sections + h->sections[i].offset,
                                      .len = (size_t)h->sections[i].size};
        all[i] = &borrowed[i];
    }
    index_sums_write(all, &sums);
    insist(!sums.failed);
    end += -end % INDEX_ALIGN;
    h->sections[INDEX_SUMS] = (struct index_extent){end, sums.len};
    h->size = end + sums.len;
    index_header_write(h, prologue);
    uint8_t *file = calloc(1, (size_t)h->size);
    insist(file != NULL);
    memcpy(file, sections, end); /* `sections` has this many bytes */
    memcpy(file, prologue, sizeof prologue);
    memcpy(file + end, sums.data, sums.len);
    ask_all(file, (size_t)h->size);
    free(file);
    strbuf_release(&sums);
}

/* Makes the six sections of an index from the data, whose first six bytes say how the rest is
 * divided among them, and looks addresses up in it. */
static void ask_sections(uint32_t format, const uint8_t *data, size_t size) {
    enum { SHARES = INDEX_SUMS };
    struct index_header h = {.format = format, .builder = INDEX_BUILDER, .quantum = 4};
    if (size < SHARES) {
        return;
    }
    size_t room = INDEX_PROLOGUE + INDEX_ALIGN * (SHARES + 2) + 2 * size + 2, at = INDEX_PROLOGUE;
    uint8_t *file = calloc(1, room);
    insist(file != NULL);
    size_t left = size - SHARES, taken = SHARES;
    for (size_t i = 0; i < SHARES; i++) {
        size_t n = i + 1 == SHARES ? left : left * data[i] / 256;
        n -= i == INDEX_ADDR || i == INDEX_RECO || i == INDEX_FILE ? n % 4 : 0;
        n = i == INDEX_RECO ? (size_t)h.sections[INDEX_ADDR].size : n;
        size_t have = n < left ? n : left;
        at += -at % INDEX_ALIGN;
        memcpy(file + at, data + taken, have);
        h.sections[i] = (struct index_extent){at, n};
        taken += have;
        left -= have;
        at += n;
    }
    file[h.sections[INDEX_STRS].offset] = 0;
    h.sections[INDEX_STRS].size += 2;
    file[at + 1] = 0;
    ask_summed(&h, file, at + 2);
    free(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    ask_all(data, size);
    for (uint32_t format = INDEX_FORMAT_OLDEST; format <= INDEX_FORMAT; format++) {
        ask_sections(format, data, size);
    }
    return 0;
}
