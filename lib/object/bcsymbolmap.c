/* Reads .bcsymbolmap files, whose names are looked up by line number. */
#include "object/bcsymbolmap.h"

#include <stdlib.h>

#include "base/filemap.h"
#include "base/reader.h"
#include "base/vec.h"

enum { FILE_SIZE_MAX = 512 << 20 };

static const char version_key[] = "BCSymbolMap Version: ";
enum { VERSION_KEY_SIZE = sizeof version_key - 1 };

struct bcsymbolmap {
    char *text; /* malloc'ed copy of the file, with a NUL in place of each line's end */
    size_t len;
    /* offset in text at which each name's line begins; the version line is not among them */
    VEC(uint32_t) lines;
};

/* Puts a NUL at the end of the line that begins at offset `at` of m->text, and returns the offset
 * of the next line; 0: the line has no end. */
static size_t terminate_line(struct bcsymbolmap *m, size_t at) {
    char *end = memchr(m->text + at, '\n', m->len - at);
    if (!end) {
        return 0;
    }
    *end = '\0';
    if (end > m->text + at && end[-1] == '\r') {
        end[-1] = '\0';
    }
    return (size_t)(end - m->text) + 1;
}

static enum st check_version(const char *path, const char *first, struct err *e) {
    if (strncmp(first, version_key, VERSION_KEY_SIZE) != 0) {
        return err_at(e, ERR_FORMAT, path, 0, "no \"%s\"", version_key);
    }
    const char *version = first + VERSION_KEY_SIZE;
    if (strcmp(version, "1.0") != 0 && strcmp(version, "2.0") != 0) {
        return err_at(e, ERR_UNSUPPORTED, path, VERSION_KEY_SIZE,
                      "version %.20s of a .bcsymbolmap file is not known", version);
    }
    return ST_OK;
}

static enum st read_hidden_names(struct bcsymbolmap *m, const char *path, struct err *e) {
    size_t at = terminate_line(m, 0);
    if (check_version(path, m->text, e) != ST_OK) {
        return ST_ERR;
    }
    /* A last line without a line end is dropped, because its name may be cut. */
    for (size_t next; at > 0 && (next = terminate_line(m, at)) > 0; at = next) {
        if (!VEC_PUSH(&m->lines, (uint32_t)at)) {
            return err_nomem(e);
        }
    }
    return ST_OK;
}

enum st bcsymbolmap_open_bytes(struct bcsymbolmap **out, const char *path, const void *bytes,
                               size_t len, struct err *e) {
    if (len > FILE_SIZE_MAX) {
        return err_at(e, ERR_LIMIT, path, FILE_SIZE_MAX, "more than %d MiB of names",
                      FILE_SIZE_MAX >> 20);
    }
    struct bcsymbolmap *m = calloc(1, sizeof *m);
    if (!m || !(m->text = malloc(len + 1))) {
        free(m);
        return err_nomem(e);
    }
    if (len > 0) {
        memcpy(m->text, bytes, len);
    }
    m->text[len] = '\0';
    m->len = len;
    enum st st = read_hidden_names(m, path, e);
    if (st != ST_OK) {
        bcsymbolmap_close(m);
        return st;
    }
    *out = m;
    return ST_OK;
}

enum st bcsymbolmap_open(struct bcsymbolmap **out, const char *path, struct err *e) {
    struct filemap map = {0};
    enum st st = filemap_open(&map, path, FILE_SIZE_MAX, e);
    if (st == ST_OK) {
        st = bcsymbolmap_open_bytes(out, path, map.data, map.size, e);
    }
    filemap_release(&map);
    return st;
}

void bcsymbolmap_close(struct bcsymbolmap *m) {
    if (m) {
        VEC_RELEASE(&m->lines);
        free(m->text);
        free(m);
    }
}

const uint8_t *bcsymbolmap_bytes(const struct bcsymbolmap *m, size_t *len) {
    *len = m->len;
    return (const uint8_t *)m->text;
}

bool bcsymbolmap_occurs(const void *bytes, size_t len) {
    static const char hidden[] = "__hidden#";
    const size_t before = sizeof hidden - 2; /* bytes of "__hidden", which stand before the '#' */
    const char *text = bytes, *end = text + len, *at = text;
    while (at && at < end) {
        at = memchr(at, '#', (size_t)(end - at));
        if (at && (size_t)(at - text) >= before && memcmp(at - before, hidden, before) == 0) {
            return true;
        }
        at = at ? at + 1 : NULL;
    }
    return false;
}

const char *bcsymbolmap_text(const struct bcsymbolmap *m, const char *name) {
    if (!bcsymbolmap_is_hidden(name)) {
        return NULL;
    }
    const char *digits = strchr(name, '#') + 1;
    size_t len = strspn(digits, "0123456789");
    uint64_t line;
    if (strcmp(digits + len, "_") != 0 || !parse_u64(digits, len, UINT32_MAX, &line) ||
        line >= m->lines.len) {
        return NULL;
    }
    const char *text = m->text + m->lines.data[line];
    text += *text == '\1';
    return *text ? text : NULL;
}

/* Moves the reader past the next occurrence of `tag`, which must begin with '<'. Returns false if
 * there is none. */
static bool skip_to(struct reader *r, const char *tag) {
    size_t len = strlen(tag);
    while (reader_left(r) >= len) {
        const uint8_t *found = memchr(r->at, '<', reader_left(r) - len + 1);
        if (!found) {
            return false;
        }
        reader_skip(r, (uint64_t)(found - r->at));
        if (memcmp(found, tag, len) == 0) {
            reader_skip(r, len);
            return true;
        }
        reader_skip(r, 1);
    }
    return false;
}

enum st bcsymbolmap_original_uuid(const void *plist, size_t len, struct image_id *out,
                                  struct err *e) {
    static const char binary[] = "bplist";
    struct reader r = reader_init("plist", plist, len);
    if (len >= sizeof binary - 1 && memcmp(plist, binary, sizeof binary - 1) == 0) {
        return err_set(e, ERR_UNREAD,
                       "a binary property list is not read: convert it (plutil -convert xml1)");
    }
    if (!skip_to(&r, "<key>DBGOriginalUUID</key>") || !skip_to(&r, "<string>")) {
        return ST_NONE;
    }
    const char *text = (const char *)r.at;
    const char *end = reader_left(&r) > 0 ? memchr(text, '<', reader_left(&r)) : NULL;
    return end && parse_uuid(text, (size_t)(end - text), out) ? ST_OK : ST_NONE;
}
