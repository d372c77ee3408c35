/* Reads any bytes as a jitdump file and as a perf map, and checks that each name from them is a
 * text of less than CODE_TEXT_MAX bytes. */
#include <stdlib.h>
#include <string.h>

#include "linux/jitdump.h"
#include "linux/perf_map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct bytes {
    const uint8_t *data;
    size_t size;
};

static size_t read_bytes(void *arg, uint64_t offset, void *to, size_t size) {
    const struct bytes *b = arg;
    if (offset >= b->size) {
        return 0;
    }
    size = size < b->size - offset ? size : b->size - (size_t)offset;
    memcpy(to, b->data + offset, size);
    return size;
}

static void check(const struct rec_code_name *names, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if ((names[i].symbol && strlen(names[i].symbol) >= CODE_TEXT_MAX) ||
            (names[i].file && strlen(names[i].file) >= CODE_TEXT_MAX)) {
            abort();
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    enum { NAMES = 40 };
    static struct code_text text;
    static struct perf_map map;
    struct rec_code_name names[NAMES] = {{0}};
    struct bytes bytes = {data, size};
    for (unsigned i = 0; i < NAMES; i++) {
        names[i].address = i < NAMES - 1 ? 0x1000 + 16 * (uint64_t)i : UINT64_MAX;
        names[i].exact = i % 3 == 0;
    }
    text.used = 0;
    jitdump_name_async(read_bytes, &bytes, 10000, names, NAMES, &text);
    check(names, NAMES);
    text.used = 0;
    perf_map_begin_async(&map, names, NAMES, &text);
    perf_map_feed_async(&map, (const char *)data, size / 2);
    perf_map_feed_async(&map, (const char *)data + size / 2, size - size / 2);
    perf_map_end_async(&map);
    check(names, NAMES);
    return 0;
}
