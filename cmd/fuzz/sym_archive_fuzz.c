/* Runs stallsym on any bytes as an archive of dumps or of debug files. The checksums in it are
 * corrected, as libarchive would otherwise refuse nearly all inputs. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "fuzz/fuzz_command.h"

enum {
    TAR_BLOCK = 512,
    TAR_SUM = 148, /* the field has 8 bytes: six octal digits, a NUL, a space; in the sum all of its
                      bytes count as spaces */
    TAR_MAGIC = 257,
    ZIP_LOCAL = 30,
    ZIP_CENTRAL = 46
};

static const char dump[] = "testdata/dumps/hang.json";
static const struct command_words lines[] = {
    {.words = {"stallsym", "-j", "1", "--raw", INPUT}},
    {.words = {"stallsym", "-j", "1", "--no-learn", "--no-index", "-d", INPUT, dump}},
};

static uint32_t u32_at(const uint8_t *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static void put_u32(uint8_t *p, uint32_t value) {
    for (int i = 0; i < 4; i++) {
        p[i] = (uint8_t)(value >> 8 * i);
    }
}

static void sum_tar_header(uint8_t *block) {
    unsigned sum = 0;
    memset(block + TAR_SUM, ' ', 8);
    for (size_t i = 0; i < TAR_BLOCK; i++) {
        sum += block[i];
    }
    for (int i = 5; i >= 0; i--, sum >>= 3) {
        block[TAR_SUM + i] = (uint8_t)('0' + (sum & 7));
    }
    block[TAR_SUM + 6] = 0;
}

/* Sets the CRC-32 of an entry that is not compressed, in its local header and in its row of the
 * directory. */
static void sum_zip_entry(uint8_t *bytes, size_t size, uint8_t *row) {
    size_t at = u32_at(row + 42), len = u32_at(row + 20);
    if (at > size || size - at < ZIP_LOCAL || row[10] != 0) {
        return;
    }
    size_t names = (size_t)bytes[at + 26] + 256 * (size_t)bytes[at + 27] + bytes[at + 28] +
                   256 * (size_t)bytes[at + 29];
    size_t begin = at + ZIP_LOCAL + names;
    if (begin <= size && len <= size - begin) {
        uint32_t sum = hash_crc32(bytes + begin, len);
        put_u32(row + 16, sum);
        put_u32(bytes + at + 14, sum);
    }
}

static void set_sums(uint8_t *bytes, size_t size) {
    for (size_t at = 0; size - at >= TAR_BLOCK; at += TAR_BLOCK) {
        if (memcmp(bytes + at + TAR_MAGIC, "ustar", 5) == 0) {
            sum_tar_header(bytes + at);
        }
    }
    for (size_t at = 0; size - at >= ZIP_CENTRAL; at++) {
        if (memcmp(bytes + at, "PK\1\2", 4) == 0) {
            sum_zip_entry(bytes, size, bytes + at);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    uint8_t *bytes = malloc(size + 1);
    fuzz_insist(bytes != NULL);
    memcpy(bytes, data, size);
    set_sums(bytes, size);
    fuzz_command(stallsym_main, lines, sizeof lines / sizeof *lines, bytes, size);
    free(bytes);
    return 0;
}
