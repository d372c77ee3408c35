/* Lists, checks and shrinks permanent stores. */
#include "index/upkeep/store_upkeep.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/map.h"
#include "base/search.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "index/mapped.h"
#include "index/store.h"
#include "index/store_trim.h"

static const char index_suffix[] = ".index";

/* Appends the path of a key's index, as index_store_path does. */
static void add_index_path(const char *store, const char *key, struct strbuf *out) {
    strbuf_addf(out, "%s/%.2s/%s%s", store, key, key, index_suffix);
}

/* ---- listing ---- */

static enum st add_item(struct store_items *items, const char *store,
                        const struct catalog_entry *entry, struct strbuf *path, struct err *e) {
    struct stat is;
    struct store_item item = {.entry = entry};
    strbuf_clear(path);
    add_index_path(store, entry->key, path);
    if (strbuf_check(path, e) != ST_OK) {
        return ST_ERR;
    }
    if (stat(strbuf_cstr(path), &is) == 0) {
        item.present = true;
        item.size = (uint64_t)is.st_size;
        item.used = is.st_mtime;
    }
    return VEC_PUSH(items, item) ? ST_OK : err_nomem(e);
}

enum st store_items_read(struct store_items *out, const char *store, struct err *e) {
    struct strbuf path = {0};
    *out = (struct store_items){0};
    enum st st = catalog_read(&out->catalog, store, e);
    for (size_t i = 0; st == ST_OK && i < out->catalog.len; i++) {
        st = add_item(out, store, &out->catalog.data[i], &path, e);
    }
    strbuf_release(&path);
    if (st != ST_OK) {
        store_items_release(out);
    }
    return st;
}

void store_items_release(struct store_items *items) {
    VEC_RELEASE(items);
    catalog_release(&items->catalog);
}

/* Prints a time as "2026-11-23T08:36:11Z"; "-" if it cannot be expressed so. */
static void print_time(int64_t seconds, struct sink *out) {
    time_t t = (time_t)seconds;
    struct tm tm;
    if (!gmtime_r(&t, &tm)) {
        sink_str(out, "-");
        return;
    }
    sink_printf(out, "%04d-%02d-%02dT%02d:%02d:%02dZ", tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday,
                tm.tm_hour, tm.tm_min, tm.tm_sec);
}

void store_items_print(const struct store_items *items, struct sink *out) {
    sink_str(out, "# id\tarch\tsymbols\tbytes\tused\tname\n");
    for (size_t i = 0; i < items->len; i++) {
        const struct store_item *item = &items->data[i];
        const struct catalog_entry *entry = item->entry;
        char id[IMAGE_ID_TEXT];
        sink_printf(out, "%s\t%s\t%s\t", image_id_text(&entry->id, id), entry->arch,
                    entry->dwarf ? "dwarf" : "symbols");
        if (item->present) {
            sink_printf(out, "%" PRIu64 "\t", item->size);
            print_time(item->used, out);
        } else {
            sink_str(out, "-\tgone");
        }
        sink_printf(out, "\t%s\n", entry->name[0] ? entry->name : "-");
    }
}

/* ---- checking ---- */

static enum st check_source(const struct lookup_source *source, const struct catalog_entry *entry,
                            struct err *why) {
    if (mapped_check_image(source, &entry->id, entry->arch, why) != ST_OK) {
        return ST_ERR;
    }
    if (!mapped_is_sound(source)) {
        return err_set(why, ERR_FORMAT, "the index is not as it was written");
    }
    return ST_OK;
}

enum st store_item_check(const char *store, const struct store_item *item, struct err *why) {
    struct strbuf path = {0};
    struct lookup_source *source = NULL;
    add_index_path(store, item->entry->key, &path);
    enum st st = strbuf_check(&path, why);
    if (st == ST_OK) {
        st = mapped_open(&source, strbuf_cstr(&path), why);
    }
    if (st == ST_OK) {
        st = check_source(source, item->entry, why);
    } else if (st == ST_NONE) {
        st = err_set(why, ERR_IO, "%s",
                     item->present ? "the file is no index" : "the index is gone");
    }
    lookup_close(source);
    strbuf_release(&path);
    return st;
}

/* ---- making smaller ---- */

/* The state of store_gc. */
struct collection {
    const char *store;
    struct store_items items;
    struct map doomed; /* keys of the lines to remove */
    struct map listed; /* keys of the lines that stay */
    struct store_removal count;
    bool failed; /* out of memory */
};

static void note_key(struct collection *c, struct map *keys, const char *key) {
    c->failed = !map_put(keys, key, strlen(key), 0, NULL) || c->failed;
}

/* Orders items from the least recently used one on, those used at one time by key. */
static int by_last_use(const void *a, const void *b) {
    const struct store_item *x = a, *y = b;
    int order = COMPARE(x->used, y->used);
    return order ? order : strcmp(x->entry->key, y->entry->key);
}

static bool is_too_old(const struct store_item *item, const struct store_limits *limits) {
    return limits->now > item->used && (uint64_t)(limits->now - item->used) > limits->age;
}

/* Sorts the items, and decides which lines of the catalog are removed. */
static void choose(struct collection *c, const struct store_limits *limits) {
    uint64_t total = 0;
    for (size_t i = 0; i < c->items.len; i++) {
        total += c->items.data[i].size;
    }
    if (c->items.len > 1) {
        qsort(c->items.data, c->items.len, sizeof *c->items.data, by_last_use);
    }
    for (size_t i = 0; i < c->items.len; i++) {
        const struct store_item *item = &c->items.data[i];
        if (!item->present) {
            c->count.lost++;
            note_key(c, &c->doomed, item->entry->key);
        } else if (is_too_old(item, limits) || total > limits->bytes) {
            total -= item->size;
            c->count.indexes++;
            c->count.bytes += item->size;
            note_key(c, &c->doomed, item->entry->key);
        } else {
            c->count.kept++;
            c->count.kept_bytes += item->size;
            note_key(c, &c->listed, item->entry->key);
        }
    }
}

static bool stays(void *ctx, const struct catalog_entry *entry) {
    const struct collection *c = ctx;
    return !map_get(&c->doomed, entry->key, strlen(entry->key));
}

/* Opens the folder of a store in which the indexes lie whose keys begin with these two characters.
 * A link in its place, which might lead out of the store, is not followed. -1: there is none, or it
 * cannot be opened. */
static int open_key_folder(const char *store, const char *begin) {
    struct strbuf path = {0};
    strbuf_addf(&path, "%s/%.2s", store, begin);
    int fd = path.failed ? -1 : open(path.data, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    strbuf_release(&path);
    return fd;
}

static bool remove_index(const char *store, const char *key, struct strbuf *name) {
    int dir = open_key_folder(store, key);
    strbuf_clear(name);
    strbuf_addf(name, "%s%s", key, index_suffix);
    bool removed =
        dir >= 0 && !name->failed && (unlinkat(dir, name->data, 0) == 0 || errno == ENOENT);
    if (dir >= 0) {
        close(dir);
    }
    return removed;
}

/* Removes the chosen indexes. An index that cannot be removed, for example because its folder is a
 * link, is taken out of c->count. */
static void remove_chosen(struct collection *c) {
    struct strbuf name = {0};
    for (size_t i = 0; i < c->items.len; i++) {
        const struct store_item *item = &c->items.data[i];
        const char *key = item->entry->key;
        if (item->present && map_get(&c->doomed, key, strlen(key)) &&
            !remove_index(c->store, key, &name)) {
            c->count.indexes--;
            c->count.bytes -= item->size;
        }
    }
    strbuf_release(&name);
}

/* Removes an index that no line of the catalog lists: the run that made it was killed before it
 * wrote the line, or used the store as a cache. Another run can build the index again. */
static void remove_unlisted(struct collection *c, int dir, const char *name) {
    size_t len = strlen(name), suffix = sizeof index_suffix - 1;
    if (len <= suffix || strcmp(name + len - suffix, index_suffix) != 0 ||
        map_get(&c->listed, name, len - suffix) || map_get(&c->doomed, name, len - suffix)) {
        return;
    }
    if (unlinkat(dir, name, 0) == 0) {
        c->count.unlisted++;
    }
}

static void look_for_unlisted(struct collection *c) {
    static const char digits[] = "0123456789abcdef";
    for (unsigned i = 0; i < 256; i++) {
        const char folder[] = {digits[i >> 4], digits[i & 15], '\0'};
        int fd = open_key_folder(c->store, folder);
        DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
        if (!d && fd >= 0) {
            close(fd);
        }
        for (struct dirent *f; d && (f = readdir(d)) != NULL;) {
            remove_unlisted(c, fd, f->d_name);
        }
        if (d) {
            closedir(d);
        }
    }
}

/* Removes lines and indexes; the caller holds the store's lock, so that no process adds to it. */
static enum st shrink_store(struct collection *c, const struct store_limits *limits,
                            struct err *e) {
    enum st st = store_items_read(&c->items, c->store, e);
    if (st != ST_OK) {
        return st;
    }
    choose(c, limits);
    if (c->failed) {
        return err_nomem(e);
    }
    /* Indexes that no line lists are removed first: on a full disk that makes room for the new
     * catalog. */
    look_for_unlisted(c);
    store_trim(c->store, 0, "");
    struct err why = {0};
    st = catalog_keep(c->store, stays, c, &why);
    remove_chosen(c);
    if (st == ST_ERR && c->doomed.count > 0) {
        return catalog_keep(c->store, stays, c, e); /* the removals may have made room for the
                                                       catalog */
    }
    return st == ST_ERR ? err_copy(e, &why) : st;
}

enum st store_gc(const char *store, const struct store_limits *limits, struct store_removal *out,
                 struct err *e) {
    struct collection c = {.store = store};
    struct store_options options = {.path = store, .permanent = true};
    struct index_store *held = NULL;
    struct catalog catalog;
    enum st st = catalog_read(&catalog, store, e); /* a folder that is no store gets no lock file */
    if (st != ST_OK) {
        return st;
    }
    catalog_release(&catalog);
    st = index_store_new(&held, &options, e);
    if (st == ST_OK && index_store_hold(held, true) != ST_OK) {
        const char *trouble = index_store_trouble(held);
        st = err_set(e, ERR_IO, "%s", trouble ? trouble : "the store is another user's");
    }
    if (st == ST_OK) {
        st = shrink_store(&c, limits, e);
    }
    if (st == ST_OK) {
        *out = c.count;
    }
    map_release(&c.doomed);
    map_release(&c.listed);
    store_items_release(&c.items);
    index_store_free(held);
    return st;
}
