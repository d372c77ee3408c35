/* Runs stallsym with a store whose symbol indexes are any bytes. The size, the sums and the hash in
 * them are corrected, as the store would otherwise refuse nearly all inputs. */
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "fuzz/fuzz_command.h"
#include "index/format/format.h"

enum { TOC_OFFSET = 8, TOC_SIZE = 16 };

/* The dumps are named without a summary, which would read all lists of the packages that are
 * installed here. */
static const struct command_words lines[] = {
    {.words = {"stallsym", "-q", "-j", "1", "--no-learn", "-d", STORE, "testdata/dumps/hang.json"}},
    {.words = {"stallsym", "-q", "-j", "1", "--no-learn", "-d", STORE,
               "testdata/dumps/linux.json"}},
    {.words = {"stallsym", "--verify", STORE}},
    {.words = {"stallsym", "--list", STORE}},
};

static void put_number(uint8_t *at, uint64_t value, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) {
        at[i] = (uint8_t)(value >> 8 * i);
    }
}

static uint64_t get_number(const uint8_t *at) {
    return index_u32(at) | (uint64_t)index_u32(at + 4) << 32;
}

/* Sets `views` to the sections as the table of contents lists them. False: one of them is not in
 * the file. */
static bool view_sections(const uint8_t *bytes, size_t size, struct strbuf views[INDEX_SECTIONS]) {
    for (size_t i = 0; i < INDEX_SECTIONS; i++) {
        const uint8_t *row = bytes + INDEX_HEADER_SIZE + i * INDEX_TOC_ENTRY;
        uint64_t at = get_number(row + TOC_OFFSET), len = get_number(row + TOC_SIZE);
        if (at > size || len > size - at) {
            return false;
        }
        views[i] = (struct strbuf){.data = (char *)(uintptr_t)bytes + at, .len = (size_t)len};
    }
    return true;
}

static void set_index_sums(uint8_t *bytes, size_t size) {
    struct strbuf views[INDEX_SECTIONS], sums = {0};
    const struct strbuf *summed[INDEX_SUMS];
    if (size < INDEX_PROLOGUE || !view_sections(bytes, size, views)) {
        return;
    }
    for (size_t i = 0; i < INDEX_SUMS; i++) {
        summed[i] = &views[i];
    }
    index_sums_write(summed, &sums);
    if (sums.len == views[INDEX_SUMS].len && !sums.failed) {
        memcpy(views[INDEX_SUMS].data, sums.data, sums.len);
    }
    strbuf_release(&sums);
    put_number(bytes + 16, size, 8);
    uint64_t toc = hash_bytes(bytes + INDEX_HEADER_SIZE, INDEX_SECTIONS * INDEX_TOC_ENTRY);
    put_number(bytes + INDEX_HASH_AT, hash_bytes(bytes, INDEX_HASH_AT) ^ hash_u64(toc), 8);
}

/* Overwrites each index of the store with these bytes, in which the index keeps its own id. */
static void put_indexes(uint8_t *bytes, size_t size) {
    static glob_t found;
    static uint8_t ids[2][INDEX_PROLOGUE];
    if (found.gl_pathc == 0) {
        char pattern[4096];
        fuzz_make_store();
        snprintf(pattern, sizeof pattern, "%s/store/*/*.index", fuzz_folder());
        fuzz_insist(glob(pattern, 0, NULL, &found) == 0 && found.gl_pathc == 2);
    }
    for (size_t i = 0; i < 2; i++) {
        int fd = open(found.gl_pathv[i], O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        fuzz_insist(fd >= 0);
        if (!ids[i][0]) {
            fuzz_insist(read(fd, ids[i], INDEX_PROLOGUE) == INDEX_PROLOGUE);
        }
        if (size >= INDEX_HEADER_SIZE) {
            memcpy(bytes + 56, ids[i] + 56, 2);
            memcpy(bytes + 64, ids[i] + 64, 36);
        }
        set_index_sums(bytes, size);
        fuzz_insist(ftruncate(fd, 0) == 0 && pwrite(fd, bytes, size, 0) == (ssize_t)size);
        close(fd);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    uint8_t *bytes = malloc(size + 1);
    fuzz_insist(bytes != NULL);
    memcpy(bytes, data, size);
    put_indexes(bytes, size);
    fuzz_command(stallsym_main, lines, sizeof lines / sizeof *lines, data, size);
    free(bytes);
    return 0;
}
