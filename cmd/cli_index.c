/* Opens stores of symbol indexes, makes indexes for stallsym --index and --add, and does the work
 * of --list, --verify and --gc. */
#include "cli_index.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "base/pool.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "index/catalog.h"
#include "index/symbol_set.h"
#include "index/upkeep/store_upkeep.h"

/* ---- the store ---- */

/* Size of the store past which the least recently used indexes are removed. */
static const uint64_t store_cap = UINT64_C(4) << 30;

/* Appends the default folder of the store, if there is one. As the XDG Base Directory
 * Specification says, a relative path is ignored. A missing home folder is not made, not even by
 * root, as HOME=/nonexistent says that the user has none. */
static void add_default(struct strbuf *path) {
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    struct stat st;
    if (cache && cache[0] == '/') {
        strbuf_addf(path, "%s/stallkit", cache);
    } else if (home && home[0] == '/' && stat(home, &st) == 0 && S_ISDIR(st.st_mode)) {
        strbuf_addf(path, "%s/.cache/stallkit", home);
    }
}

/* Frees the default store, and sets *store to NULL, unless only this user and root may write to it.
 * The reason is then in *absent, or printed if absent is NULL. ST_ERR: out of memory. */
static enum st keep_if_own(struct index_store **store, struct err *absent,
                           const struct cli_failures *failures, struct err *e) {
    struct err why = {0};
    if (index_store_check(*store, &why) != ST_ERR) {
        return ST_OK;
    }
    index_store_free(*store);
    *store = NULL;
    if (why.code == ERR_NOMEM) {
        return err_nomem(e);
    }
    if (absent) {
        (void)err_set(absent, ERR_IO, "%s: name a --store", why.text);
    } else {
        cli_say(failures->tool,
                "symbol indexes are neither read nor kept: %s; a --store that is named is used",
                why.text);
    }
    return ST_OK;
}

bool cli_store_open(struct index_store **out, const char *path, bool permanent, unsigned threads,
                    struct err *absent, struct cli_failures *failures) {
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
                                        .permanent = permanent,
                                        .unnamed = !path};
        st = index_store_new(out, &options, &e);
        st = st == ST_OK && !path ? keep_if_own(out, absent, failures, &e) : st;
    } else if (st == ST_OK) {
        (void)err_set(absent, ERR_USAGE,
                      "neither XDG_CACHE_HOME nor HOME is a folder: name a --store");
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

/* ---- making indexes ---- */

/* Files of LARGE_FILE bytes or more are indexed one after the other, each by all threads, as they
 * would otherwise be finished last. Once as many small files are held back as there are threads,
 * each thread indexes small files by itself, as several threads on one would mostly wait for each
 * other. */
enum { LARGE_FILE = 32 << 20, JOBS_PER_THREAD = 4 };

struct indexing {
    const struct cli_index *x;
    VEC(struct catalog_entry) entries; /* arch and name belong to the finder; key is owned */
    size_t built;
    struct pool *pool;
    VEC(struct index_job *) held; /* small files that are held back, fewer than threads */
    bool side_by_side;            /* each small file is indexed by one thread */
    bool listed;                  /* the permanent store was given a catalog */
    struct err failure;           /* first error that ends the run */
};

/* A file on its way through the pool. */
struct index_job {
    struct index_source source;
    const struct find_candidate *from;
    struct open_files files; /* keeps the memory of source until the index is built */
    unsigned threads;        /* number of threads for this file */
    struct strbuf key;
    enum st st;                              /* ST_NONE: not indexed, for the reason `why` */
    bool dwarf;                              /* the index has lines */
    struct err notices[LOOKUP_FILE_NOTICES]; /* notices about debug info that the index lacks */
    size_t notice_count;
    struct err why, err;
};

/* ---- on the workers ---- */

/* Sets job->dwarf if the new index has lines, from the file or from object files of its debug map,
 * and collects the notices about debug info that it lacks. */
static void look_at_index(struct index_store *store, const struct debug_map_files *map,
                          struct index_job *job) {
    struct lookup_source *index = NULL;
    job->dwarf = job->from->dwarf;
    if (index_store_open(store, strbuf_cstr(&job->key), job->source.fingerprint, &index, NULL) !=
        ST_OK) {
        return;
    }
    index->map = *map;
    index->untimed = map->untimed > 0;
    job->dwarf = job->dwarf || index->content != LOOKUP_HAS_SYMBOLS;
    job->notice_count = lookup_file_notices(index, job->notices);
    lookup_close(index);
}

static enum st add_to_store(struct index_job *job, struct index_store *store) {
    struct index_source *source = &job->source;
    struct debug_map_files map = {0};
    source->map_files = &map;
    enum st st = index_store_key(source->slice, source->paired, source->alt, &job->key,
                                 &source->fingerprint, &job->err);
    if (st == ST_OK) {
        st = index_store_add(store, source, strbuf_cstr(&job->key), true, &job->why, &job->err);
        if (st == ST_OK) {
            look_at_index(store, &map, job);
        }
    }
    source->map_files = NULL;
    if (st == ST_NONE) {
        const char *trouble = index_store_trouble(store);
        err_set(&job->why, ERR_IO, "%s", trouble ? trouble : "the store is another user's");
        err_context(&job->why, "not indexed");
    }
    return st;
}

static void build(void *ctx, void *item, unsigned worker) {
    const struct indexing *run = ctx;
    struct index_job *job = item;
    struct index_store *store = NULL;
    (void)worker;
    job->st = index_store_again(&store, run->x->store, job->threads, &job->err);
    job->st = job->st == ST_OK ? add_to_store(job, store) : job->st;
    index_store_free(store);
    open_files_release(&job->files);
}

/* ---- in order ---- */

static enum st note_entry(struct indexing *run, struct index_job *job, struct err *e) {
    const struct find_candidate *from = job->from;
    struct catalog_entry entry = {.id = from->id,
                                  .dwarf = job->dwarf,
                                  .arch = from->arch,
                                  .key = strbuf_take(&job->key),
                                  .name = from->name};
    if (entry.key && VEC_PUSH(&run->entries, entry)) {
        return ST_OK;
    }
    free((void *)(uintptr_t)entry.key);
    return err_nomem(e);
}

static void deliver(void *ctx, void *item) {
    struct indexing *run = ctx;
    struct index_job *job = item;
    if (job->st == ST_NONE && job->why.code != ERR_UNREAD) {
        cli_fail(run->x->failures, job->from->path, &job->why);
    } else if (job->st == ST_OK) {
        run->built++;
        for (size_t i = 0; i < job->notice_count; i++) {
            cli_notice(run->x->failures, job->from->path, &job->notices[i]);
        }
        job->st = note_entry(run, job, &job->err);
    }
    if (job->st == ST_ERR) {
        err_set(&run->failure, job->err.code, "%s", job->err.text);
    }
    strbuf_release(&job->key);
    free(job);
}

/* Builds the index of one file with all threads, and delivers it. */
static void build_alone(struct indexing *run, struct index_job *job) {
    job->threads = run->x->threads;
    build(run, job, 0);
    deliver(run, job);
}

/* ---- indexing files in the order in which they are found ---- */

static void build_held(struct indexing *run) {
    for (size_t i = 0; i < run->held.len; i++) {
        if (run->side_by_side) {
            pool_put(run->pool, run->held.data[i]);
        } else {
            build_alone(run, run->held.data[i]);
        }
    }
    run->held.len = 0;
}

/* Builds the indexes that were held back, and waits until the pool has delivered all results. */
static void settle(struct indexing *run) {
    build_held(run);
    pool_finish(run->pool);
}

static void cli_index_complain(void *ctx, const char *path, const struct err *why) {
    struct indexing *run = ctx;
    if (run->pool) {
        settle(run); /* prints messages in the order of the files */
    }
    if (why->code == ERR_UNREAD) {
        cli_notice(run->x->failures, path, why);
    } else {
        cli_fail(run->x->failures, path, why);
    }
}

static enum st index_one(void *ctx, const struct index_source *source,
                         const struct find_candidate *from, struct open_files *files,
                         struct err *e) {
    struct indexing *run = ctx;
    size_t size;
    (void)object_slice_file(source->slice, &size);
    if (run->x->permanent && image_id_is_zero(&from->id)) {
        return ST_OK; /* the catalog cannot list a file without an id */
    }
    if (run->x->permanent && !run->listed) {
        /* An empty catalog makes the folder a store before it has an index, so that --list and --gc
         * can find the indexes of a run that stopped because the disk was full. */
        run->listed = true;
        if (catalog_add(run->x->permanent, NULL, 0, e) != ST_OK) {
            return ST_ERR;
        }
    }
    struct index_job *job = calloc(1, sizeof *job);
    if (!job || !VEC_RESERVE(&run->held, 1)) {
        free(job);
        return err_nomem(e);
    }
    *job = (struct index_job){.source = *source, .from = from, .files = *files, .threads = 1};
    *files = (struct open_files){0};
    if (size >= LARGE_FILE) {
        settle(run);
        build_alone(run, job);
    } else {
        run->held.data[run->held.len++] = job;
        run->side_by_side = run->side_by_side || run->held.len >= run->x->threads;
        if (run->side_by_side) {
            build_held(run);
        }
    }
    return err_is(&run->failure) ? err_copy(e, &run->failure) : ST_OK;
}

/* Indexes the files of the set, and waits until all are finished. ST_ERR: out of memory, or the
 * first error of index_one or in run->failure, which ends the work. */
static enum st index_each(struct indexing *run, struct symbol_set *set, struct err *e) {
    unsigned threads = run->x->threads;
    enum st st =
        pool_open(&run->pool, threads, (size_t)threads * JOBS_PER_THREAD, build, deliver, run, e);
    if (st != ST_OK) {
        return st;
    }
    st = symbol_set_each(set, index_one, run, e);
    settle(run);
    VEC_RELEASE(&run->held);
    pool_close(run->pool);
    run->pool = NULL;
    return st == ST_OK && err_is(&run->failure) ? err_copy(e, &run->failure) : st;
}

static enum st add_paths(struct indexing *run, struct symbol_set *set, char **paths, size_t count,
                         struct err *e) {
    for (size_t i = 0; i < count; i++) {
        struct err why = {0};
        enum st st = symbol_set_add(set, paths[i], &why);
        if (st == ST_NONE) {
            err_set(&why, ERR_IO, "no such file or folder");
        }
        if (st != ST_OK) {
            cli_fail(run->x->failures, paths[i], &why);
        }
    }
    enum st st = index_each(run, set, e);
    if (st == ST_OK && run->x->permanent && run->entries.len > 0) {
        st = index_store_flush(run->x->store, e);
    }
    if (st == ST_OK && run->x->permanent && run->entries.len > 0) {
        st = catalog_add(run->x->permanent, run->entries.data, run->entries.len, e);
    }
    return st;
}

void cli_index_paths(const struct cli_index *x, char **paths, size_t count) {
    struct indexing run = {.x = x};
    struct symbol_set *set = NULL;
    struct err e = {0};
    enum st st = symbol_set_new(&set, cli_index_complain, &run, &e);
    if (st == ST_OK) {
        symbol_set_use_temporary_folder(set, cli_temporary_folder());
        st = add_paths(&run, set, paths, count, &e);
    }
    if (st == ST_OK && run.built == 0 && x->failures->count == 0) {
        struct err none = {0};
        err_set(&none, ERR_FORMAT, "no debug file%s is in there",
                x->permanent ? " with a UUID or build-id" : "");
        cli_fail(x->failures, count == 1 ? paths[0] : NULL, &none);
    }
    if (st != ST_OK) {
        cli_fail(x->failures, NULL, &e);
    }
    if (st != ST_OK && x->permanent) {
        cli_say(x->tool, "%zu symbol index%s built but not listed: add the files again", run.built,
                run.built == 1 ? "" : "es");
    } else if (!x->quiet) {
        cli_say(x->tool, "%zu symbol index%s ready", run.built, run.built == 1 ? "" : "es");
    }
    for (size_t i = 0; i < run.entries.len; i++) {
        free((void *)(uintptr_t)run.entries.data[i].key);
    }
    VEC_RELEASE(&run.entries);
    symbol_set_free(set);
}

/* ---- upkeep ---- */

/* Reads the catalog of the store. False: an error was printed. */
static bool read_items(const struct cli_upkeep *u, struct store_items *items) {
    struct err e = {0};
    enum st st = store_items_read(items, u->store, &e);
    if (st == ST_NONE) {
        err_set(&e, ERR_IO, "no store that --add has made");
    }
    return st == ST_OK || cli_fail(u->failures, u->store, &e);
}

static void list_store(const struct cli_upkeep *u) {
    struct store_items items;
    struct cli_output out;
    if (!read_items(u, &items)) {
        return;
    }
    if (cli_output_open(&out, u->output, u->failures)) {
        store_items_print(&items, &out.sink);
        cli_output_close(&out, true, u->failures);
    }
    store_items_release(&items);
}

static void verify_store(const struct cli_upkeep *u) {
    struct store_items items;
    size_t damaged = 0;
    if (!read_items(u, &items)) {
        return;
    }
    for (size_t i = 0; i < items.len; i++) {
        const struct catalog_entry *entry = items.data[i].entry;
        struct err why = {0};
        char id[IMAGE_ID_TEXT];
        if (store_item_check(u->store, &items.data[i], &why) != ST_OK) {
            damaged++;
            err_context(&why, "%s %s %s", entry->name, image_id_text(&entry->id, id), entry->arch);
            cli_fail(u->failures, u->store, &why);
        }
    }
    if (!u->quiet) {
        cli_say(u->tool, "%zu symbol index%s checked, %zu damaged or gone%s", items.len,
                items.len == 1 ? "" : "es", damaged,
                damaged > 0 ? ": add the debug files again" : "");
    }
    store_items_release(&items);
}

static void collect_store(const struct cli_upkeep *u) {
    enum { DAY = 24 * 60 * 60 };
    struct store_limits limits = {.age = u->max_age_days == UINT64_MAX ? UINT64_MAX
                                                                       : u->max_age_days * DAY,
                                  .bytes = u->max_bytes,
                                  .now = (int64_t)time(NULL)};
    struct store_removal r;
    struct err e = {0};
    enum st st = store_gc(u->store, &limits, &r, &e);
    if (st == ST_NONE) {
        err_set(&e, ERR_IO, "no store that --add has made");
    }
    if (st != ST_OK) {
        cli_fail(u->failures, u->store, &e);
    } else if (!u->quiet) {
        cli_say(u->tool, "%zu symbol index%s of %llu bytes removed, %zu of %llu bytes kept",
                r.indexes, r.indexes == 1 ? "" : "es", (unsigned long long)r.bytes, r.kept,
                (unsigned long long)r.kept_bytes);
        if (r.lost + r.unlisted > 0) {
            cli_say(u->tool, "%zu listed without an index, %zu not listed: removed, too", r.lost,
                    r.unlisted);
        }
    }
}

int cli_index_upkeep(const struct cli_upkeep *u, enum cli_store_work work) {
    if (work == CLI_STORE_LIST) {
        list_store(u);
    } else if (work == CLI_STORE_VERIFY) {
        verify_store(u);
    } else if (work == CLI_STORE_GC) {
        collect_store(u);
    }
    return cli_exit_status(u->failures);
}
