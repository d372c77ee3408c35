/* Looks debug files up in folders that are laid out by id, in which a few system calls show whether
 * the file of an id is there. */
#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/strbuf.h"
#include "object/find/find.h"
#include "object/find/find_private.h"

enum {
    TREE_LEVELS = 5,       /* nested folders of a UUID tree */
    TREE_DIGITS = 4,       /* hexadecimal digits in each folder's name */
    TREE_FILE_DIGITS = 12, /* hexadecimal digits in the file's name */
    TREE_PROBES = 16       /* branches that are checked before a folder is taken for a UUID tree */
};

static const char build_id_folder[] = ".build-id";
static const char bundle_suffix[] = ".dSYM";

void finder_use_layouts(struct finder *f) {
    f->by_layout = true;
}

enum st finder_add_root(struct finder *f, const char *path, enum find_layout layout,
                        find_complain complain, void *ctx, struct err *e) {
    struct find_root root = {arena_strdup(&f->arena, path, strlen(path)), layout, complain, ctx};
    return root.path && VEC_PUSH(&f->roots, root) ? ST_OK : err_nomem(e);
}

enum st finder_add_build_id_root(struct finder *f, const char *root, struct err *e) {
    return finder_add_root(f, root, FIND_BUILD_IDS, NULL, NULL, e);
}

/* ---- names of ids ---- */

/* Appends the digits of an id: upper case in ways 0 and 2, lower in 1 and 3, with the dashes of a
 * UUID in ways 0 and 1. */
static void add_id_name(const struct image_id *id, unsigned way, struct strbuf *out) {
    for (size_t i = 0; i < id->len; i++) {
        bool dash = way < 2 && (i == 4 || i == 6 || i == 8 || i == 10);
        strbuf_addf(out, way % 2 == 0 ? "%s%02X" : "%s%02x", dash ? "-" : "", id->bytes[i]);
    }
}

/* Does s begin with that many hexadecimal digits, all of one case? */
static bool is_hex_of_one_case(const char *s, size_t digits) {
    return strspn(s, "0123456789ABCDEF") >= digits || strspn(s, "0123456789abcdef") >= digits;
}

static bool is_hex_name(const char *name, size_t digits) {
    return strlen(name) == digits && is_hex_of_one_case(name, digits);
}

/* Is the name UUID.dSYM, with the UUID written in one of the FIND_UUID_WAYS? */
static bool is_id_bundle(const char *name) {
    enum { DIGITS = 32, DASHED = 36 };
    static const unsigned char parts[] = {8, 4, 4, 4, 12};
    const size_t len = strlen(name), suffix = sizeof bundle_suffix - 1;
    char digits[DIGITS + 1] = "";
    size_t at = 0, filled = 0;
    if (len < suffix || strcmp(name + len - suffix, bundle_suffix) != 0) {
        return false;
    }
    if (len - suffix == DIGITS) {
        return is_hex_of_one_case(name, DIGITS);
    }
    for (size_t i = 0; len - suffix == DASHED && i < sizeof parts; i++) {
        memcpy(digits + filled, name + at, parts[i]);
        filled += parts[i];
        at += parts[i];
        if (at < DASHED && name[at++] != '-') {
            return false;
        }
    }
    return is_hex_name(digits, DIGITS);
}

/* ---- recognising layouts ---- */

/* Appends the first name in the folder, if all names there have that many hexadecimal digits.
 * False: another name or none is there, or the folder cannot be read. */
static bool descend(struct strbuf *path, size_t digits) {
    DIR *d = path->failed ? NULL : opendir(strbuf_cstr(path));
    char name[NAME_MAX + 1] = "";
    bool fits = d != NULL;
    for (struct dirent *f; fits && (f = readdir(d)) != NULL;) {
        if (find_is_junk(f->d_name, strlen(f->d_name))) {
            continue;
        }
        fits = is_hex_name(f->d_name, digits);
        if (fits && name[0] == '\0') {
            memcpy(name, f->d_name, digits + 1);
        }
    }
    if (d) {
        closedir(d);
    }
    strbuf_addf(path, "/%s", name);
    return fits && name[0] != '\0' && !path->failed;
}

/* Does FOLDER/NAME lead to a file as in a UUID tree? */
static bool is_tree_branch(const char *folder, const char *name) {
    struct strbuf path = {0};
    struct stat st;
    strbuf_addf(&path, "%s/%s", folder, name);
    bool is = true;
    for (unsigned level = 1; level < TREE_LEVELS && is; level++) {
        is = descend(&path, TREE_DIGITS);
    }
    is = is && descend(&path, TREE_FILE_DIGITS) && lstat(strbuf_cstr(&path), &st) == 0;
    strbuf_release(&path);
    return is;
}

/* Are the names of four digits in a folder branches of a UUID tree? At most TREE_PROBES of them are
 * checked, evenly spread. */
static bool is_tree(const char *folder, char *const *names, size_t count) {
    size_t branches = 0, seen = 0;
    for (size_t i = 0; i < count; i++) {
        branches += is_hex_name(names[i], TREE_DIGITS);
    }
    size_t step = branches / TREE_PROBES + 1;
    for (size_t i = 0; i < count; i++) {
        if (is_hex_name(names[i], TREE_DIGITS) && seen++ % step == 0 &&
            !is_tree_branch(folder, names[i])) {
            return false;
        }
    }
    return branches > 0;
}

enum st finder_take_layouts(struct finder *f, const char *folder, char *const *names, size_t count,
                            bool *taken, find_complain complain, void *ctx, struct err *e) {
    bool has[FIND_LAYOUTS] = {false};
    enum st st = ST_OK;
    if (!f->by_layout) {
        return ST_OK;
    }
    const bool tree = is_tree(folder, names, count);
    for (size_t i = 0; i < count; i++) {
        bool build_ids = strcmp(names[i], build_id_folder) == 0;
        bool bundle = is_id_bundle(names[i]);
        bool branch = tree && is_hex_name(names[i], TREE_DIGITS);
        taken[i] = build_ids || bundle || branch;
        has[FIND_BUILD_IDS] = has[FIND_BUILD_IDS] || build_ids;
        has[FIND_UUID_BUNDLES] = has[FIND_UUID_BUNDLES] || bundle;
        has[FIND_UUID_TREE] = has[FIND_UUID_TREE] || branch;
    }
    for (int layout = 0; layout < FIND_LAYOUTS && st == ST_OK; layout++) {
        if (has[layout]) {
            st = finder_add_root(f, folder, (enum find_layout)layout, complain, ctx, e);
        }
    }
    return st;
}

/* ---- where the file of an id is ---- */

void find_build_id_path(const char *root, const struct image_id *id, const char *suffix,
                        struct strbuf *out) {
    char hex[IMAGE_ID_TEXT];
    image_id_text(id, hex);
    if (id->len >= 2) {
        strbuf_addf(out, "%s/%s/%.2s/%s%s", root, build_id_folder, hex, hex + 2, suffix);
    }
}

/* Appends ROOT/ABCD/ABCD/ABCD/ABCD/ABCD/0123456789AB. */
static void add_tree_path(const struct find_root *root, const char *digits, struct strbuf *out) {
    strbuf_addstr(out, root->path);
    for (unsigned level = 0; level < TREE_LEVELS; level++) {
        strbuf_addf(out, "/%.*s", TREE_DIGITS, digits + (size_t)level * TREE_DIGITS);
    }
    strbuf_addf(out, "/%s", digits + (size_t)TREE_LEVELS * TREE_DIGITS);
}

void find_uuid_path(const struct find_root *root, const struct image_id *id, unsigned way,
                    struct strbuf *out) {
    struct strbuf name = {0};
    add_id_name(id, way, &name);
    if (root->layout == FIND_UUID_BUNDLES) {
        strbuf_addf(out, "%s/%s%s", root->path, strbuf_cstr(&name), bundle_suffix);
    } else if (way >= 2 && !name.failed) {
        add_tree_path(root, strbuf_cstr(&name), out);
    }
    out->failed = out->failed || name.failed;
    strbuf_release(&name);
}
