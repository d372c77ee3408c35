/* Helpers for the tests of lib/flame. */
#ifndef STALLKIT_FLAME_FLAME_SUPPORT_TEST_H
#define STALLKIT_FLAME_FLAME_SUPPORT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "base/failmalloc.h"
#include "base/filemap.h"
#include "base/vec.h"
#include "flame/stacks/folded.h"

/* Adds folded text to a tree and returns the reader's counts. */
static inline struct folded_stats read_text(struct stack_tree *t, const char *text, size_t len) {
    struct folded_reader r = {.tree = t};
    assert_int_equal(folded_feed(&r, text, len, NULL), ST_OK);
    assert_int_equal(folded_end(&r, NULL), ST_OK);
    folded_release(&r);
    return r.stats;
}

static inline struct folded_stats read_string(struct stack_tree *t, const char *text) {
    return read_text(t, text, strlen(text));
}

/* Returns the tree as folded text; the caller frees it. */
static inline char *write_text(const struct stack_tree *t) {
    struct strbuf out = {0};
    struct sink sink = sink_to_strbuf(&out);
    assert_int_equal(folded_write(t, &sink, NULL), ST_OK);
    assert_int_equal(sink_close(&sink, NULL), ST_OK);
    char *text = strbuf_take(&out);
    assert_non_null(text);
    return text;
}

static inline void assert_written(const struct stack_tree *t, const char *want) {
    char *text = write_text(t);
    assert_string_equal(text, want);
    free(text);
}

/* Returns `lines` lines of random folded text with many common prefixes and some empty names; the
 * caller releases it. */
static inline struct strbuf random_folded(uint32_t seed, unsigned lines, unsigned names) {
    struct strbuf b = {0};
    for (unsigned i = 0; i < lines; i++) {
        for (unsigned depth = 0; depth == 0 || seed >> 16 & 7; depth++) {
            seed = seed * 1664525u + 1013904223u;
            unsigned name = (seed >> 8) % names;
            strbuf_addf(&b, "%s%.*s", depth ? ";" : "", (int)(name % 9),
                        &"abcdefgh"[name % 9 ? name % 9 - 1 : 0]);
            strbuf_addf(&b, "%.0u", name / 9);
            seed = seed * 1664525u + 1013904223u;
        }
        strbuf_addf(&b, " %u\n", seed >> 24);
    }
    return b;
}

/* Calls run(name, map) for every file of a folder of $REAL; false if the folder is missing. */
static inline bool for_each_real(const char *folder,
                                 void (*run)(const char *name, const struct filemap *m)) {
    const char *real = getenv("REAL");
    struct strbuf path = {0};
    strbuf_addf(&path, "%s/%s", real ? real : "", folder);
    DIR *d = real && *real ? opendir(strbuf_cstr(&path)) : NULL;
    for (struct dirent *entry; d && (entry = readdir(d)) != NULL;) {
        if (entry->d_name[0] != '.') {
            struct strbuf file = {0};
            struct filemap m;
            strbuf_addf(&file, "%s/%s", strbuf_cstr(&path), entry->d_name);
            assert_int_equal(filemap_open(&m, strbuf_cstr(&file), 0, NULL), ST_OK);
            run(entry->d_name, &m);
            filemap_release(&m);
            strbuf_release(&file);
        }
    }
    strbuf_release(&path);
    if (d) {
        closedir(d);
    }
    return d != NULL;
}

#endif
