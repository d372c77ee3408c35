/* Runs commands for fuzzers, and checks how the runs end. */
#include "fuzz/fuzz_command.h"

#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/gz.h"

enum { STATUS_USAGE = 2, STATUS_GATE = 3, STATUS_MOST = 4, REPEATED = 16, WORDS = 12 };
enum { INFLATED_MAX = 256 * 1024 };

static char folder[PATH_MAX], store[PATH_MAX];

void fuzz_insist(bool holds) {
    if (!holds) {
        abort();
    }
}

/* Aborts with a message unless `holds` is true, the condition that the run ended correctly. */
static void expect(const char *const *words, const struct command_output *o, bool holds,
                   const char *what) {
    if (!holds) {
        fprintf(stderr, "%s: status %d, %zu bytes, %zu messages; command line:", what, o->status,
                o->length, o->lines);
        for (size_t i = 0; words[i]; i++) {
            fprintf(stderr, " %s", words[i]);
        }
        fprintf(stderr, "\n");
        abort();
    }
}

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *at) {
    (void)st, (void)kind, (void)at;
    return remove(path);
}

static void remove_folder(void) {
    nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* Returns the folder in which the temporary folder is made: TMPDIR, or else Linux's folder in
 * memory, because a disk takes most of the time of runs that write small files. */
static const char *parent_folder(void) {
    const char *named = getenv("TMPDIR");
    if (named) {
        return named;
    }
    return access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
}

const char *fuzz_folder(void) {
    if (!folder[0]) {
        snprintf(folder, sizeof folder, "%s/fuzz-XXXXXX", parent_folder());
        fuzz_insist(mkdtemp(folder) != NULL);
        fuzz_insist(snprintf(store, sizeof store, "%s/store", folder) < (int)sizeof store);
        atexit(remove_folder);
        setenv("XDG_CACHE_HOME", folder, 1);
        setenv("TMPDIR", folder, 1);
        unsetenv("DEBUGINFOD_URLS");
        unsetenv("COLUMNS");
    }
    return folder;
}

void fuzz_make_store(void) {
    const char *add[] = {"stallsym",
                         "--add",
                         store,
                         "testdata/objects/macho-arm64/Shop.dSYM",
                         "testdata/objects/elf-dwarf5/libshop.so",
                         NULL};
    fuzz_folder();
    if (access(store, F_OK) != 0) {
        fuzz_insist(command_run(stallsym_main, add, "", 0).status == 0);
    }
}

void fuzz_remove_store(void) {
    nftw(store, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* Does the input, a gzip, unpack to so much that a run takes longer than thousands of others? */
static bool swells(const uint8_t *data, size_t size) {
    struct strbuf text = {0};
    struct err e = {0};
    bool much = gz_is_gzip(data, size) &&
                gz_inflate("input", data, size, INFLATED_MAX, &text, &e) != ST_OK &&
                e.code == ERR_LIMIT;
    strbuf_release(&text);
    return much;
}

int fuzz_command(int (*command)(int argc, char **argv), const struct command_words *lines,
                 size_t count, const uint8_t *data, size_t size) {
    const struct command_words *line = &lines[size % count];
    const char *words[WORDS + 1] = {0};
    if (swells(data, size)) {
        return 0;
    }
    fuzz_folder();
    for (size_t i = 0; i < WORDS && line->words[i]; i++) {
        words[i] = strcmp(line->words[i], STORE) == 0 ? store : line->words[i];
    }
    struct command_output o = command_run(command, words, data, size);
    expect(words, &o,
           o.status >= 0 && o.status <= STATUS_MOST && (line->may_ask || o.status != STATUS_USAGE),
           "a status that is not documented, or of wrong usage");
    expect(words, &o, o.status == 0 || o.status >= STATUS_GATE || o.lines > 0,
           "a failure without a message");
    if (o.out % REPEATED == 0) {
        struct command_output again = command_run(command, words, data, size);
        expect(words, &again, again.status == o.status && again.out == o.out, "another output");
    }
    return 0;
}
