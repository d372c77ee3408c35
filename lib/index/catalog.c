/* Reads and rewrites the catalog of a store. */
#include "index/catalog.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/filemap.h"
#include "base/search.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "index/store.h"

static const char title[] = "stall-store/1\n";
enum { FIELDS = 5, CATALOG_MAX = 256 << 20 };

/* ---- reading ---- */

/* Cuts a line at tabs into fields. False: the number of fields is not FIELDS. */
static bool cut(const char *line, size_t len, const char **at, size_t *lens) {
    size_t n = 0, start = 0;
    for (size_t i = 0; i <= len; i++) {
        if (i < len && line[i] != '\t') {
            continue;
        }
        if (n == FIELDS) {
            return false;
        }
        at[n] = line + start;
        lens[n++] = i - start;
        start = i + 1;
    }
    return n == FIELDS;
}

/* May the text be a key? A key becomes part of a path, so it has 3 to 199 bytes, of which none is
 * '/', '.' or 0. */
static bool is_key(const char *s, size_t len) {
    for (size_t i = 0; i < len; i++) {
        if (s[i] == '/' || s[i] == '.' || s[i] == '\0') {
            return false;
        }
    }
    return len > 2 && len < 200;
}

/* Reads an id: a UUID has dashes, a build-id, which may be as long, has none. */
static bool read_entry_id(const char *s, size_t len, struct image_id *id) {
    return memchr(s, '-', len) ? parse_uuid(s, len, id) : parse_build_id(s, len, id);
}

static enum st read_line(struct catalog *c, const char *line, size_t len, struct err *e) {
    const char *at[FIELDS];
    size_t lens[FIELDS];
    struct catalog_entry entry = {0};
    if (!cut(line, len, at, lens) || !read_entry_id(at[0], lens[0], &entry.id) ||
        !is_key(at[3], lens[3])) {
        return err_set(e, ERR_FORMAT, "the catalog of the store is damaged");
    }
    entry.dwarf = lens[2] == 5 && memcmp(at[2], "dwarf", 5) == 0;
    entry.arch = arena_strdup(&c->arena, at[1], lens[1]);
    entry.key = arena_strdup(&c->arena, at[3], lens[3]);
    entry.name = arena_strdup(&c->arena, at[4], lens[4]);
    entry.line = (uint32_t)c->len; /* a catalog has at most CATALOG_MAX bytes */
    return entry.arch && entry.key && entry.name && VEC_PUSH(c, entry) ? ST_OK : err_nomem(e);
}

static int compare_ids(const struct image_id *x, const struct image_id *y) {
    int order = memcmp(x->bytes, y->bytes, sizeof x->bytes);
    order = order ? order : COMPARE(x->len, y->len);
    return order ? order : COMPARE(x->kind, y->kind);
}

static int compare_listed(const struct catalog_entry *x, const struct catalog_entry *y) {
    int order = compare_ids(&x->id, &y->id);
    order = order ? order : strcmp(x->arch, y->arch);
    return order ? order : strcmp(x->key, y->key);
}

static int by_id(const void *a, const void *b) {
    const struct catalog_entry *x = a, *y = b;
    int order = compare_listed(x, y);
    return order ? order : COMPARE(x->line, y->line);
}

/* Sorts the entries, and keeps of those with one key (and id and architecture) the last line. */
static void put_in_order(struct catalog *c) {
    size_t kept = 0;
    if (c->len > 1) {
        qsort(c->data, c->len, sizeof *c->data, by_id);
    }
    for (size_t i = 0; i < c->len; i++) {
        bool repeats = kept > 0 && compare_listed(&c->data[kept - 1], &c->data[i]) == 0;
        kept -= repeats;
        c->data[kept++] = c->data[i];
    }
    c->len = kept;
}

enum st catalog_parse(struct catalog *out, const char *text, size_t len, struct err *e) {
    size_t at = sizeof title - 1;
    *out = (struct catalog){0};
    if (len < at || memcmp(text, title, at) != 0) {
        return ST_NONE;
    }
    enum st st = ST_OK;
    while (at < len && st == ST_OK) {
        const char *end = memchr(text + at, '\n', len - at);
        if (!end) {
            break; /* the line is being written, or its writer died */
        }
        size_t n = (size_t)(end - text) - at;
        st = read_line(out, text + at, n, e);
        at += n + 1;
    }
    if (st != ST_OK) {
        catalog_release(out);
        return st;
    }
    put_in_order(out);
    return ST_OK;
}

enum st catalog_read(struct catalog *out, const char *store, struct err *e) {
    struct strbuf path = {0};
    struct filemap file;
    *out = (struct catalog){0};
    strbuf_addf(&path, "%s/catalog", store);
    enum st st = strbuf_check(&path, e);
    if (st == ST_OK) {
        st = filemap_open_regular(&file, strbuf_cstr(&path), CATALOG_MAX, e);
    }
    strbuf_release(&path);
    if (st != ST_OK) {
        return st;
    }
    st = catalog_parse(out, (const char *)file.data, file.size, e);
    filemap_release(&file);
    return st;
}

void catalog_release(struct catalog *c) {
    VEC_RELEASE(c);
    arena_release(&c->arena);
}

size_t catalog_find(const struct catalog *c, const struct image_id *id,
                    const struct catalog_entry **first) {
    size_t low = 0, high = c->len, count = 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_ids(&c->data[middle].id, id) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    while (low + count < c->len && image_id_equal(&c->data[low + count].id, id)) {
        count++;
    }
    *first = count > 0 ? &c->data[low] : NULL;
    return count;
}

/* ---- printing ---- */

/* Appends a name, with '_' for tabs and line feeds, which separate fields and lines. */
static void add_image_name(struct strbuf *b, const char *name) {
    for (; *name; name++) {
        strbuf_addc(b, *name == '\t' || *name == '\n' ? '_' : *name);
    }
}

static void print_entry(const struct catalog_entry *x, struct strbuf *out) {
    char id[IMAGE_ID_TEXT];
    strbuf_addf(out, "%s\t%s\t%s\t%s\t", image_id_text(&x->id, id), x->arch,
                x->dwarf ? "dwarf" : "symbols", x->key);
    add_image_name(out, x->name);
    strbuf_addc(out, '\n');
}

void catalog_print(const struct catalog *c, struct strbuf *out) {
    strbuf_addstr(out, title);
    for (size_t i = 0; i < c->len; i++) {
        print_entry(&c->data[i], out);
    }
}

/* ---- writing ---- */

/* Appends lines to the catalog's file, so that adding to a large store costs no more than to a
 * small one. *appended is false, and nothing was written, if no catalog that ends with a line feed
 * can be opened, or a link is in its place. */
static enum st append_lines(const char *path, const struct strbuf *lines, bool *appended,
                            struct err *e) {
    char last = 0;
    int fd = open(path, O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
    *appended = fd >= 0 && lseek(fd, -1, SEEK_END) >= 0 && read(fd, &last, 1) == 1 && last == '\n';
    enum st st = ST_OK;
    if (*appended && !store_write_synced(fd, lines)) {
        st = err_sys(e, errno, "cannot write '%s'", path);
    }
    if (fd >= 0) {
        close(fd);
    }
    return st;
}

static bool is_listed(const struct catalog *c, const struct catalog_entry *entry) {
    const struct catalog_entry *at;
    struct strbuf known = {0}, wanted = {0};
    bool listed = false;
    print_entry(entry, &wanted);
    for (size_t n = catalog_find(c, &entry->id, &at); n > 0 && !listed; n--, at++) {
        strbuf_clear(&known);
        print_entry(at, &known);
        listed = !known.failed && !wanted.failed &&
                 strcmp(strbuf_cstr(&known), strbuf_cstr(&wanted)) == 0;
    }
    strbuf_release(&known);
    strbuf_release(&wanted);
    return listed;
}

static enum st write_entries(const char *path, const struct catalog *old,
                             const struct catalog_entry *entries, size_t count, struct err *e) {
    struct strbuf lines = {0}, all = {0};
    bool appended = false;
    for (size_t i = 0; i < count; i++) {
        if (!is_listed(old, &entries[i])) {
            print_entry(&entries[i], &lines);
        }
    }
    enum st st = strbuf_check(&lines, e);
    if (st == ST_OK && old->data) {
        st = lines.len > 0 ? append_lines(path, &lines, &appended, e) : ST_OK;
        appended = appended || lines.len == 0;
    }
    if (st == ST_OK && !appended) {
        catalog_print(old, &all);
        strbuf_add(&all, lines.data, lines.len);
        st = strbuf_check(&all, e) == ST_OK ? store_replace_file(path, &all, e) : ST_ERR;
    }
    strbuf_release(&lines);
    strbuf_release(&all);
    return st;
}

/* A catalog that is being changed, under its lock. */
struct change {
    struct strbuf path;
    int lock; /* descriptor that holds the lock; -1 = none */
    struct catalog old;
};

/* Locks the catalog of a store and reads it. end_change must be called whatever the result. */
static enum st begin_change(struct change *c, const char *store, struct err *e) {
    struct strbuf lock = {0};
    *c = (struct change){.lock = -1};
    strbuf_addf(&lock, "%s/catalog.lock", store);
    strbuf_addf(&c->path, "%s/catalog", store);
    enum st st = strbuf_check(&lock, e) == ST_OK ? strbuf_check(&c->path, e) : ST_ERR;
    if (st == ST_OK) {
        c->lock = open(strbuf_cstr(&lock), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
        if (c->lock < 0 || flock(c->lock, LOCK_EX) != 0) {
            st = err_sys(e, errno, "cannot write '%s'", strbuf_cstr(&lock));
        }
    }
    strbuf_release(&lock);
    return st == ST_OK && catalog_read(&c->old, store, e) != ST_ERR ? ST_OK : ST_ERR;
}

static void end_change(struct change *c) {
    if (c->lock >= 0) {
        close(c->lock);
    }
    catalog_release(&c->old);
    strbuf_release(&c->path);
}

enum st catalog_add(const char *store, const struct catalog_entry *entries, size_t count,
                    struct err *e) {
    struct change c;
    enum st st = begin_change(&c, store, e);
    if (st == ST_OK) {
        st = write_entries(strbuf_cstr(&c.path), &c.old, entries, count, e);
    }
    end_change(&c);
    return st;
}

enum st catalog_keep(const char *store, bool (*keep)(void *ctx, const struct catalog_entry *entry),
                     void *ctx, struct err *e) {
    struct change c;
    struct strbuf all = {0};
    enum st st = begin_change(&c, store, e);
    if (st == ST_OK) {
        size_t kept = 0;
        for (size_t i = 0; i < c.old.len; i++) {
            if (keep(ctx, &c.old.data[i])) {
                c.old.data[kept++] = c.old.data[i];
            }
        }
        c.old.len = kept;
        catalog_print(&c.old, &all);
        st = strbuf_check(&all, e) == ST_OK ? store_replace_file(strbuf_cstr(&c.path), &all, e)
                                            : ST_ERR;
    }
    strbuf_release(&all);
    end_change(&c);
    return st;
}
