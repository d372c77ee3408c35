/* The default place of symbol indexes. */
#include "cli_store.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "base/strbuf.h"

/* Past it the least recently used indexes go. */
static const uint64_t store_cap = UINT64_C(4) << 30;

/* XDG Base Directory Specification: a relative path is ignored. A missing home folder is not made,
 * not even by root: HOME=/nonexistent says that there is none. */
static void add_default(struct strbuf *path) {
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    struct stat st;
    if (cache && cache[0] == '/') {
        strbuf_addf(path, "%s/stallkit", cache);
    } else if (home && home[0] == '/' && stat(home, &st) == 0 && S_ISDIR(st.st_mode)) {
        strbuf_addf(path, "%s/.cache/stallkit", home);
    }
}

bool cli_store_open(struct index_store **out, const char *path, bool permanent, unsigned threads,
                    struct cli_failures *failures) {
    struct strbuf folder = {0};
    struct err e = {0};
    *out = NULL;
    if (path) {
        strbuf_addstr(&folder, path);
    } else {
        add_default(&folder);
    }
    enum st st = strbuf_check(&folder, &e);
    if (st == ST_OK && folder.len > 0) {
        struct store_options options = {.path = strbuf_cstr(&folder),
                                        .cap = store_cap,
                                        .threads = threads,
                                        .permanent = permanent};
        st = index_store_new(out, &options, &e);
    }
    strbuf_release(&folder);
    if (st != ST_OK) {
        cli_fail(failures, NULL, &e);
    }
    return st == ST_OK;
}

void cli_store_close(struct index_store *store, const char *tool) {
    const char *trouble = index_store_trouble(store);
    if (trouble) {
        cli_say(tool, "symbol indexes are not kept: %s", trouble);
    }
    index_store_free(store);
}

const char *cli_temporary_folder(void) {
    const char *folder = getenv("TMPDIR");
    return folder && folder[0] ? folder : NULL;
}
