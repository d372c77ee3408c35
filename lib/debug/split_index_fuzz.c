/* Takes an id, a byte order, and any bytes as the index of a package of split DWARF. */
#include <stdlib.h>
#include <string.h>

#include "debug/split_index.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    uint64_t id;
    struct split_row row;
    struct err e = {0};
    if (size < sizeof id + 1) {
        return 0;
    }
    memcpy(&id, data, sizeof id);
    struct reader r = reader_init("index", data + sizeof id + 1, size - sizeof id - 1);
    r.big_endian = data[sizeof id] & 1;
    enum st st = split_index_find(r, id, &row, &e);
    if ((st == ST_ERR) != err_is(&e)) {
        abort();
    }
    for (int i = 0; i < SECTION_COUNT; i++) {
        if (row.of[i].offset > UINT32_MAX || row.of[i].len > UINT32_MAX) {
            abort();
        }
    }
    return 0;
}
