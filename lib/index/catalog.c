/* Reading and rewriting the catalog of a store. */
#include "index/catalog.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/filemap.h"
#include "base/strbuf.h"
#include "base/vec.h"

static const char title[] = "stall-store/1\n";
enum { FIELDS = 5, CATALOG_MAX = 256 << 20 };

/* ---- reading ---- */

/* Cuts a line at tabs; false unless there are FIELDS of them. */
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

/* A key becomes part of a path. */
static bool is_key(const char *s, size_t len) {
    for (size_t i = 0; i < len; i++) {
        if (s[i] == '/' || s[i] == '.' || s[i] == '\0') {
            return false;
        }
    }
    return len > 2 && len < 200;
}

static enum st read_line(struct catalog *c, const char *line, size_t len, struct err *e) {
    const char *at[FIELDS];
    size_t lens[FIELDS];
    struct catalog_entry entry = {0};
    if (!cut(line, len, at, lens) ||
        (!parse_uuid(at[0], lens[0], &entry.id) && !parse_build_id(at[0], lens[0], &entry.id)) ||
        !is_key(at[3], lens[3])) {
        return err_set(e, ERR_FORMAT, "the catalog of the store is damaged");
    }
    entry.dwarf = lens[2] == 5 && memcmp(at[2], "dwarf", 5) == 0;
    entry.arch = arena_strdup(&c->arena, at[1], lens[1]);
    entry.key = arena_strdup(&c->arena, at[3], lens[3]);
    entry.name = arena_strdup(&c->arena, at[4], lens[4]);
    return entry.arch && entry.key && entry.name && VEC_PUSH(c, entry) ? ST_OK : err_nomem(e);
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
        size_t n = end ? (size_t)(end - text) - at : len - at;
        st = read_line(out, text + at, n, e);
        at += n + 1;
    }
    if (st != ST_OK) {
        catalog_release(out);
    }
    return st;
}

enum st catalog_read(struct catalog *out, const char *store, struct err *e) {
    struct strbuf path = {0};
    struct filemap file;
    *out = (struct catalog){0};
    strbuf_addf(&path, "%s/catalog", store);
    enum st st = strbuf_check(&path, e);
    if (st == ST_OK) {
        st = filemap_open(&file, strbuf_cstr(&path), CATALOG_MAX, e);
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

/* ---- writing ---- */

static int by_id(const void *a, const void *b) {
    const struct catalog_entry *x = a, *y = b;
    int order = memcmp(x->id.bytes, y->id.bytes, sizeof x->id.bytes);
    order = order ? order : strcmp(x->arch, y->arch);
    return order ? order : strcmp(x->key, y->key);
}

static enum st merge(struct catalog *c, const struct catalog_entry *entries, size_t count,
                     struct err *e) {
    for (size_t i = 0; i < count; i++) {
        size_t k = 0;
        while (k < c->len && strcmp(c->data[k].key, entries[i].key) != 0) {
            k++;
        }
        if (k < c->len) {
            c->data[k] = entries[i];
        } else if (!VEC_PUSH(c, entries[i])) {
            return err_nomem(e);
        }
    }
    qsort(c->data, c->len, sizeof *c->data, by_id);
    return ST_OK;
}

/* A name is printed between tabs, so tabs in it are replaced. */
static void add_image_name(struct strbuf *b, const char *name) {
    for (; *name; name++) {
        strbuf_addc(b, *name == '\t' || *name == '\n' ? '_' : *name);
    }
}

void catalog_print(const struct catalog *c, struct strbuf *out) {
    strbuf_addstr(out, title);
    for (size_t i = 0; i < c->len; i++) {
        const struct catalog_entry *x = &c->data[i];
        char id[IMAGE_ID_TEXT];
        strbuf_addf(out, "%s\t%s\t%s\t%s\t", image_id_text(&x->id, id), x->arch,
                    x->dwarf ? "dwarf" : "symbols", x->key);
        add_image_name(out, x->name);
        strbuf_addc(out, '\n');
    }
}

static enum st write_whole(const char *path, const struct strbuf *text, struct err *e) {
    struct strbuf temporary = {0};
    strbuf_addf(&temporary, "%s.new", path); /* the lock keeps other processes away */
    enum st st = strbuf_check(&temporary, e);
    FILE *f = st == ST_OK ? fopen(strbuf_cstr(&temporary), "w") : NULL;
    if (st == ST_OK) {
        bool written = f && fwrite(text->data, 1, text->len, f) == text->len && fflush(f) == 0 &&
                       fsync(fileno(f)) == 0;
        written = f && fclose(f) == 0 && written;
        if (!written || rename(strbuf_cstr(&temporary), path) != 0) {
            st = err_sys(e, errno, "cannot write '%s'", path);
            (void)unlink(strbuf_cstr(&temporary));
        }
    }
    strbuf_release(&temporary);
    return st;
}

static enum st rewrite(const char *store, const char *path, const struct catalog_entry *entries,
                       size_t count, struct err *e) {
    struct catalog all;
    struct strbuf text = {0};
    enum st st = catalog_read(&all, store, e);
    if (st == ST_ERR) {
        return st;
    }
    st = merge(&all, entries, count, e);
    if (st == ST_OK) {
        catalog_print(&all, &text);
        st = strbuf_check(&text, e);
    }
    if (st == ST_OK) {
        st = write_whole(path, &text, e);
    }
    strbuf_release(&text);
    catalog_release(&all);
    return st;
}

enum st catalog_add(const char *store, const struct catalog_entry *entries, size_t count,
                    struct err *e) {
    struct strbuf lock = {0}, path = {0};
    strbuf_addf(&lock, "%s/catalog.lock", store);
    strbuf_addf(&path, "%s/catalog", store);
    enum st st = strbuf_check(&lock, e) == ST_OK ? strbuf_check(&path, e) : ST_ERR;
    if (st == ST_OK) {
        int fd = open(strbuf_cstr(&lock), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        if (fd < 0 || flock(fd, LOCK_EX) != 0) {
            st = err_sys(e, errno, "cannot write '%s'", strbuf_cstr(&lock));
        } else {
            st = rewrite(store, strbuf_cstr(&path), entries, count, e);
        }
        if (fd >= 0) {
            close(fd);
        }
    }
    strbuf_release(&lock);
    strbuf_release(&path);
    return st;
}
