/* The first bytes say what to read from the rest: the cursor never leaves its buffer, and once it
 * has failed it gives nothing. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool sentence) {
    if (!sentence) {
        abort();
    }
}

/* Makes one read and returns the number read, the length of a text read, or 0. */
static uint64_t step(struct reader *r, uint8_t what) {
    size_t len;
    char name[17];
    uint64_t amount = (uint64_t)(what >> 4) << (what & 8 ? 60 : 0);
    switch (what % 12) {
    case 0:
        return reader_u8(r);
    case 1:
        return reader_u16(r);
    case 2:
        return reader_u32(r);
    case 3:
        return reader_u64(r);
    case 4:
        return reader_uleb128(r);
    case 5:
        return (uint64_t)reader_sleb128(r);
    case 6:
        require(strlen(reader_cstr(r, &len)) == len);
        return len;
    case 7:
        reader_fixed_str(r, 16, name);
        return strlen(name);
    case 8:
        reader_skip(r, amount);
        return 0;
    case 9:
        reader_seek(r, amount);
        return 0;
    case 10: {
        const uint8_t *p = reader_bytes(r, amount);
        return p && amount ? p[amount - 1] : 0;
    }
    default: {
        struct reader sub = reader_sub(r, amount, NULL);
        require(reader_failed(&sub) == reader_failed(r));
        return reader_u8(&sub);
    }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) {
        return 0;
    }
    size_t steps = data[0] < size ? data[0] : size - 1;
    struct reader r = reader_init("input", data + 1 + steps, size - 1 - steps);
    for (size_t i = 0; i < steps; i++) {
        bool failed = reader_failed(&r);
        uint64_t value = step(&r, data[1 + i]);
        require(r.start <= r.at && r.at <= r.end);
        require(!failed || (reader_failed(&r) && value == 0 && reader_left(&r) == 0));
        require(reader_check(&r, NULL, "step") == (reader_failed(&r) ? ST_ERR : ST_OK));
    }
    return 0;
}
