/* Tests of dyld shared caches of every layout that scripts/gen/dyld-cache writes: what is found in
 * them, and what damage costs. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/failmalloc.h"
#include "object/dyld_cache.h"
#include "object/dyld_cache_private.h"
#include "object/object.h"

enum { PARTS_MAX = 8, PATH_SIZE = 512, LINE_SIZE = 512 };
static const char FOLDER[] = "testdata/dyld-cache";
static const char *const layouts[] = {"single",          "single-redacted", "single-x86_64",
                                      "single-arm64_32", "split-numbered",  "split-named"};
enum { LAYOUTS = sizeof layouts / sizeof *layouts, IMAGES = 5 };

/* ---- caches in memory, whose bytes a test changes ---- */

struct part {
    char path[PATH_SIZE];
    struct filemap bytes;
    size_t size; /* number of bytes that are handed out; SIZE_MAX: the file is not there */
    size_t poked_at;
    const uint8_t *poked; /* 4 bytes that replace those at poked_at; NULL = none */
};

struct complaint {
    size_t count, notices;
    struct err last;
    char path[PATH_SIZE];
};

struct files {
    struct part parts[PARTS_MAX];
    size_t count;
    char main[PATH_SIZE];
    struct complaint complaint;
};

/* Orders parts by name, so that the first is the cache's main file. */
static int compare_parts(const void *a, const void *b) {
    const struct part *x = a, *y = b;
    return strcmp(x->path, y->path);
}

static void load(struct files *f, const char *layout) {
    char folder[PATH_SIZE];
    memset(f, 0, sizeof *f);
    snprintf(folder, sizeof folder, "%s/%s", FOLDER, layout);
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (strncmp(entry->d_name, "dyld_", 5) == 0) {
            struct part *p = &f->parts[f->count++];
            assert_in_range(f->count, 1, PARTS_MAX);
            int len = snprintf(p->path, sizeof p->path, "%s/%s", folder, entry->d_name);
            assert_in_range(len, 1, PATH_SIZE - 1);
            assert_int_equal(filemap_open(&p->bytes, p->path, 0, NULL), ST_OK);
            p->size = p->bytes.size;
        }
    }
    closedir(dir);
    qsort(f->parts, f->count, sizeof *f->parts, compare_parts);
    memcpy(f->main, f->parts[0].path, PATH_SIZE);
}

static void unload(struct files *f) {
    for (size_t i = 0; i < f->count; i++) {
        filemap_release(&f->parts[i].bytes);
    }
}

/* Hands out a copy of a part, so that a sanitizer sees reads past its end. */
static enum st read_part(void *ctx, const char *path, struct filemap *out, struct err *e) {
    const struct files *f = ctx;
    for (size_t i = 0; i < f->count; i++) {
        const struct part *p = &f->parts[i];
        if (strcmp(p->path, path) != 0 || p->size == SIZE_MAX) {
            continue;
        }
        uint8_t *copy = malloc(p->size + 1);
        if (!copy) {
            return err_nomem(e);
        }
        memcpy(copy, p->bytes.data, p->size);
        for (size_t k = 0; p->poked && k < 4 && p->poked_at + k < p->size; k++) {
            copy[p->poked_at + k] = p->poked[k];
        }
        *out = (struct filemap){.data = copy, .size = p->size};
        return ST_OK;
    }
    return ST_NONE;
}

static void note(void *ctx, const char *path, const struct err *why) {
    struct complaint *c = &((struct files *)ctx)->complaint;
    assert_true(err_is(why));
    c->count += why->code != ERR_UNREAD;
    c->notices += why->code == ERR_UNREAD;
    c->last = *why;
    snprintf(c->path, sizeof c->path, "%s", path);
}

static enum st open_files_of(struct files *f, struct dyld_cache **out, struct err *e) {
    f->complaint = (struct complaint){0};
    return dyld_cache_open_from(out, f->main, read_part, note, f, e);
}

static struct dyld_cache *open_whole(struct files *f) {
    struct dyld_cache *c = NULL;
    struct err e = {0};
    enum st st = open_files_of(f, &c, &e);
    assert_string_equal(e.text, "");
    assert_int_equal(st, ST_OK);
    return c;
}

/* ---- the expected content of the caches, as the generator lists it ---- */

struct expected_function {
    uint64_t low, high;
    char names[LINE_SIZE]; /* names with | between them; "-": the function has none */
};
struct expected_image {
    char path[PATH_SIZE], uuid[64], arch[16];
    struct expected_function functions[32];
    size_t count;
};

static size_t read_expected_images(const char *layout, struct expected_image *out) {
    char path[PATH_SIZE], line[LINE_SIZE];
    size_t count = 0;
    snprintf(path, sizeof path, "%s/%s/expected", FOLDER, layout);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        char *fields[4] = {line, NULL, NULL, NULL};
        size_t n = 1;
        line[strcspn(line, "\n")] = '\0';
        for (char *tab = line; n < 4 && (tab = strchr(tab, '\t')) != NULL;) {
            *tab++ = '\0';
            fields[n++] = tab;
        }
        if (strcmp(fields[0], "image") == 0) {
            assert_in_range(count, 0, IMAGES - 1);
            struct expected_image *image = &out[count++];
            memset(image, 0, sizeof *image);
            snprintf(image->path, sizeof image->path, "%s", fields[1]);
            snprintf(image->uuid, sizeof image->uuid, "%s", fields[2]);
            snprintf(image->arch, sizeof image->arch, "%s", fields[3]);
        } else {
            struct expected_image *image = &out[count - 1];
            struct expected_function *f = &image->functions[image->count++];
            assert_in_range(image->count, 1, 32);
            assert_true(parse_hex(fields[0], strlen(fields[0]), &f->low));
            assert_true(parse_hex(fields[1], strlen(fields[1]), &f->high));
            snprintf(f->names, sizeof f->names, "%s", fields[2]);
        }
    }
    fclose(file);
    return count;
}

static bool is_one_of(const char *name, const char *names) {
    size_t len = strlen(name);
    for (const char *at = names; at; at = strchr(at, '|')) {
        at += *at == '|';
        if (strncmp(at, name, len) == 0 && (at[len] == '\0' || at[len] == '|')) {
            return true;
        }
    }
    return false;
}

/* Returns the symbol that holds the offset, or NULL. */
static const struct object_symbol *symbol_at(const struct object_symbol *symbols, size_t count,
                                             uint64_t offset) {
    for (size_t i = 0; i < count; i++) {
        if (offset >= symbols[i].address && offset - symbols[i].address < symbols[i].size) {
            return &symbols[i];
        }
    }
    return NULL;
}

/* Checks that each symbol of the image is one of those expected and, if `all`, that each expected
 * function is there. */
static void check_image(const struct dyld_cache *c, size_t i, const struct expected_image *want,
                        bool all) {
    struct object *o = NULL;
    struct err e = {0};
    const struct object_symbol *symbols = NULL;
    size_t count = 0, starts_count = 0;
    const uint64_t *starts = NULL;
    assert_int_equal(dyld_cache_open_image(c, i, &o, &e), ST_OK);
    const struct object_slice *s = object_slice(o, 0);
    assert_int_equal(object_slice_count(o), 1);
    assert_true(image_id_equal(object_slice_id(s), &dyld_cache_image(c, i)->id));
    assert_string_equal(object_slice_arch(s), want->arch);
    assert_int_equal(object_slice_base(s), 0);
    enum st st = object_symbols(s, &symbols, &count, &e);
    assert_int_equal(st, want->count > 0 ? ST_OK : ST_NONE);
    for (size_t k = 0; k < want->count; k++) {
        const struct expected_function *f = &want->functions[k];
        const uint64_t at[] = {f->low, f->low + (f->high - f->low) / 2, f->high - 1};
        for (size_t n = 0; n < 3; n++) {
            const struct object_symbol *found = symbol_at(symbols, count, at[n]);
            bool nameless = strcmp(f->names, "-") == 0;
            if (nameless ? found != NULL : all && !found) {
                fail_msg("%s+%llx: %s", want->path, (unsigned long long)at[n],
                         found ? found->name : "no symbol");
            }
            if (found && (found->address != f->low || !is_one_of(found->name, f->names))) {
                fail_msg("%s+%llx: %s", want->path, (unsigned long long)at[n], found->name);
            }
        }
    }
    st = object_function_starts(s, &starts, &starts_count, NULL);
    for (size_t k = 1; st == ST_OK && k < starts_count; k++) {
        assert_true(starts[k - 1] < starts[k]);
    }
    object_close(o);
}

static const struct expected_image *expected_of(const struct dyld_cache_image *image,
                                                const struct expected_image *images, size_t count) {
    struct image_id id = {0};
    for (size_t i = 0; i < count; i++) {
        if (parse_uuid(images[i].uuid, strlen(images[i].uuid), &id) &&
            image_id_equal(&id, &image->id)) {
            return &images[i];
        }
    }
    return NULL;
}

static void each_layout_tells_its_images_and_their_symbols(void **state) {
    static struct files f;
    static struct expected_image images[IMAGES];
    (void)state;
    for (size_t l = 0; l < LAYOUTS; l++) {
        load(&f, layouts[l]);
        size_t count = read_expected_images(layouts[l], images);
        struct dyld_cache *c = open_whole(&f);
        assert_int_equal(f.complaint.count + f.complaint.notices, 0);
        assert_int_equal(dyld_cache_image_count(c),
                         count); /* a second name for an image does not count as an image */
        assert_null(dyld_cache_image(c, count));
        for (size_t i = 0; i < count; i++) {
            const struct dyld_cache_image *image = dyld_cache_image(c, i);
            size_t cache_len = strlen(f.main);
            assert_memory_equal(image->path, f.main, cache_len);
            assert_string_equal(image->path + cache_len, images[i].path);
            assert_string_equal(image->arch, images[i].arch);
            assert_ptr_equal(expected_of(image, images, count), &images[i]);
            check_image(c, i, &images[i], true);
        }
        dyld_cache_close(c);
        unload(&f);
    }
}

/* ---- missing and wrong files ---- */

static struct part *part_of(struct files *f, const char *suffix) {
    size_t len = strlen(f->main);
    for (size_t i = 0; i < f->count; i++) {
        const char *path = f->parts[i].path;
        if (strncmp(path, f->main, len) == 0 && strcmp(path + len, suffix) == 0) {
            return &f->parts[i];
        }
    }
    fail_msg("no part %s", suffix);
    return NULL;
}

static void a_missing_subcache_costs_its_images(void **state) {
    static struct files f;
    static struct expected_image images[IMAGES];
    (void)state;
    load(&f, "split-numbered");
    size_t count = read_expected_images("split-numbered", images);
    part_of(&f, ".1")->size = SIZE_MAX;
    struct dyld_cache *c = open_whole(&f);
    assert_int_equal(f.complaint.count, 2); /* one for the missing file, one for the images */
    assert_non_null(strstr(f.complaint.last.text, "1 of 5 images left out"));
    assert_int_equal(dyld_cache_image_count(c), count - 1);
    for (size_t i = 0; i < count - 1; i++) {
        check_image(c, i, expected_of(dyld_cache_image(c, i), images, count), true);
    }
    dyld_cache_close(c);
    unload(&f);
}

static void missing_local_symbols_are_a_notice(void **state) {
    static struct files f;
    static struct expected_image images[IMAGES];
    (void)state;
    load(&f, "split-named");
    size_t count = read_expected_images("split-named", images);
    part_of(&f, ".symbols")->size = SIZE_MAX;
    struct dyld_cache *c = open_whole(&f);
    assert_int_equal(f.complaint.count, 0);
    assert_int_equal(f.complaint.notices, 1);
    assert_string_equal(f.complaint.path, part_of(&f, ".symbols")->path);
    for (size_t i = 0; i < count; i++) {
        check_image(c, i, &images[i], false);
    }
    dyld_cache_close(c);
    unload(&f);
}

static void a_subcache_of_another_cache_is_none(void **state) {
    static const uint8_t other[] = {1, 2, 3, 4};
    static struct files f;
    (void)state;
    load(&f, "split-named");
    part_of(&f, ".01")->poked = other;
    part_of(&f, ".01")->poked_at = 0x58; /* the part's UUID */
    struct dyld_cache *c = open_whole(&f);
    assert_int_equal(f.complaint.count, 2);
    assert_int_equal(dyld_cache_image_count(c), 2);
    dyld_cache_close(c);
    unload(&f);
}

static void the_files_of_a_development_cache_have_the_plain_name(void **state) {
    static struct files f;
    (void)state;
    load(&f, "split-named");
    struct part *first = part_of(&f, "");
    snprintf(first->path + strlen(first->path), 16, ".development");
    memcpy(f.main, first->path, PATH_SIZE);
    struct dyld_cache *c = open_whole(&f);
    assert_int_equal(f.complaint.count + f.complaint.notices, 0);
    assert_int_equal(dyld_cache_image_count(c), IMAGES);
    dyld_cache_close(c);
    unload(&f);
}

static void a_suffix_leads_to_no_other_folder(void **state) {
    static const uint8_t slash[] = {'.', '/', 0, 0};
    static struct files f;
    struct dyld_cache *c = NULL;
    struct err e = {0};
    (void)state;
    load(&f, "split-named");
    struct part *first = part_of(&f, "");
    for (size_t at = 0; at + 4 < first->bytes.size && !first->poked; at++) {
        if (memcmp(first->bytes.data + at, ".01", 4) == 0) {
            first->poked = slash;
            first->poked_at = at;
        }
    }
    assert_non_null(first->poked);
    assert_int_equal(open_files_of(&f, &c, &e), ST_ERR);
    assert_int_equal(e.code, ERR_FORMAT);
    unload(&f);
}

static void a_part_by_itself_says_what_it_is(void **state) {
    static struct files f;
    struct dyld_cache *c = NULL;
    (void)state;
    load(&f, "split-named");
    for (size_t i = 1; i < f.count; i++) {
        struct err e = {0};
        memcpy(f.main, f.parts[i].path, PATH_SIZE);
        assert_int_equal(open_files_of(&f, &c, &e), ST_ERR);
        assert_int_equal(e.code, ERR_UNSUPPORTED);
    }
    unload(&f);
    assert_int_equal(dyld_cache_open(&c, "testdata/dyld-cache/single/expected", NULL, NULL, NULL),
                     ST_NONE);
}

/* ---- damage ---- */

/* Opens a damaged cache. Everything that is found must also be in the undamaged cache; images that
 * only the damage makes need not be there, but must keep the rules of object.h. */
static void ask_all(struct files *f, const struct expected_image *images, size_t count) {
    struct dyld_cache *c = NULL;
    struct err e = {0};
    enum st st = open_files_of(f, &c, &e);
    assert_int_not_equal(st, ST_NONE);
    assert_int_equal(st == ST_ERR, err_is(&e));
    for (size_t i = 0; st == ST_OK && i < dyld_cache_image_count(c); i++) {
        const struct expected_image *want = expected_of(dyld_cache_image(c, i), images, count);
        struct object *o = NULL;
        struct err why = {0};
        enum st opened = dyld_cache_open_image(c, i, &o, &why);
        assert_int_equal(opened == ST_ERR, err_is(&why));
        if (opened == ST_OK) {
            const struct object_symbol *symbols = NULL;
            size_t n = 0;
            assert_int_not_equal(object_symbols(object_slice(o, 0), &symbols, &n, &why), ST_ERR);
            object_close(o);
        }
        if (opened == ST_OK && images && want) {
            check_image(c, i, want, false);
        }
    }
    dyld_cache_close(c);
}

/* Cuts each file at many places: names may be missing, but none may be wrong. */
static void cut_anywhere_a_cache_tells_nothing_wrong(void **state) {
    enum { STEP = 61 };
    static struct files f;
    static struct expected_image images[IMAGES];
    (void)state;
    for (size_t l = 0; l < LAYOUTS; l++) {
        load(&f, layouts[l]);
        size_t count = read_expected_images(layouts[l], images);
        for (size_t p = 0; p < f.count; p++) {
            for (size_t size = l; size < f.parts[p].bytes.size; size += STEP) {
                f.parts[p].size = size;
                ask_all(&f, images, count);
            }
            f.parts[p].size = f.parts[p].bytes.size;
        }
        unload(&f);
    }
}

/* Puts very large numbers into the headers and into the tables at the start and end of each file,
 * one at a time. */
static void any_number_may_be_senseless(void **state) {
    static const uint8_t all[] = {0xff, 0xff, 0xff, 0xff}, most[] = {0xf0, 0xff, 0xff, 0x7f};
    static struct files f;
    (void)state;
    for (size_t l = 0; l < LAYOUTS; l++) {
        load(&f, layouts[l]);
        for (size_t p = 0; p < f.count; p++) {
            struct part *part = &f.parts[p];
            size_t size = part->bytes.size;
            for (size_t at = 0; at < size; at += at < 0x900 ? 4 : 76) {
                part->poked_at = at;
                part->poked = at % 8 ? all : most;
                ask_all(&f, NULL, 0);
            }
            part->poked = NULL;
        }
        unload(&f);
    }
}

static void open_and_ask(void *ctx, bool refused) {
    struct files *f = ctx;
    struct dyld_cache *c = NULL;
    struct err e = {0};
    enum st st = open_files_of(f, &c, &e);
    assert_true(st == ST_OK || (refused && e.code == ERR_NOMEM));
    assert_int_equal(f->complaint.count + f->complaint.notices, 0);
    for (size_t i = 0; st == ST_OK && i < dyld_cache_image_count(c); i++) {
        struct object *o = NULL;
        err_clear(&e);
        enum st opened = dyld_cache_open_image(c, i, &o, &e);
        assert_true(opened == ST_OK || (refused && e.code == ERR_NOMEM));
        object_close(o);
    }
    dyld_cache_close(c);
}

static void lack_of_memory_is_no_damage(void **state) {
    static struct files f;
    (void)state;
    if (!failmalloc_works()) {
        skip();
    }
    load(&f, "split-named");
    assert_true(failmalloc_sweep(open_and_ask, &f) > 20);
    unload(&f);
}

/* ---- the trie of exports ---- */

struct seen_exports {
    char text[256];
};

static enum st note_export(void *ctx, const char *name, size_t len, uint64_t offset,
                           struct err *e) {
    struct seen_exports *seen = ctx;
    size_t used = strlen(seen->text);
    (void)e;
    assert_int_equal(strlen(name), len);
    snprintf(seen->text + used, sizeof seen->text - used, "%s=%llx ", name,
             (unsigned long long)offset);
    return ST_OK;
}

static enum st walk_trie(const char *bytes, size_t len, struct seen_exports *seen, struct err *e) {
    *seen = (struct seen_exports){""};
    uint8_t *copy = malloc(len + 1);
    assert_non_null(copy);
    memcpy(copy, bytes, len);
    enum st st = exports_each(reader_init("trie", copy, len), note_export, seen, e);
    free(copy);
    return st;
}

#define TRIE(bytes) (bytes), sizeof(bytes) - 1

static void exports_with_an_address_are_told(void **state) {
    struct seen_exports seen;
    (void)state;
    /* The trie has _a at 0x10, _ab re-exported, _ac an absolute number, _ad at 0x90 with a
     * resolver. */
    assert_int_equal(walk_trie(TRIE("\0\1_a\0\6"
                                    "\2\0\x10\3b\0\x13"
                                    "c\0\x19"
                                    "d\0\x1d"
                                    "\4\x8\1x\0\0"
                                    "\2\2\5\0"
                                    "\5\x10\x90\1\x95\1\0"),
                               &seen, NULL),
                     ST_OK);
    assert_string_equal(seen.text, "_a=10 _ad=90 ");
    assert_int_equal(walk_trie("", 0, &seen, NULL), ST_OK);
    assert_string_equal(seen.text, "");
}

static void a_trie_is_a_tree(void **state) {
    static const struct {
        const char *bytes;
        size_t len;
    } damaged[] = {
        {TRIE("\0\1_a\0\0")},             /* a child that is the root */
        {TRIE("\0\2a\0\7b\0\7\2\0\1\0")}, /* the second of two children is missing */
        {TRIE("\0\1a\0\x20")},            /* a child past the end */
        {TRIE("\0\1aaaaa")},              /* a label without an end */
        {TRIE("\x7f\0\1")},               /* a payload past the end */
        {TRIE("\0\1\0\5\0\0")},           /* an empty label */
        {TRIE("\1\x80\0")},               /* a number that goes on past its payload */
        {TRIE("\0\1a\0\x80")},            /* an offset without an end */
    };
    struct seen_exports seen;
    (void)state;
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
        struct err e = {0};
        assert_int_equal(walk_trie(damaged[i].bytes, damaged[i].len, &seen, &e), ST_ERR);
        assert_int_equal(e.code, ERR_FORMAT);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_layout_tells_its_images_and_their_symbols),
        cmocka_unit_test(a_missing_subcache_costs_its_images),
        cmocka_unit_test(missing_local_symbols_are_a_notice),
        cmocka_unit_test(a_subcache_of_another_cache_is_none),
        cmocka_unit_test(the_files_of_a_development_cache_have_the_plain_name),
        cmocka_unit_test(a_suffix_leads_to_no_other_folder),
        cmocka_unit_test(a_part_by_itself_says_what_it_is),
        cmocka_unit_test(cut_anywhere_a_cache_tells_nothing_wrong),
        cmocka_unit_test(any_number_may_be_senseless),
        cmocka_unit_test(lack_of_memory_is_no_damage),
        cmocka_unit_test(exports_with_an_address_are_told),
        cmocka_unit_test(a_trie_is_a_tree),
    };
    return cmocka_run_group_tests_name("dyld_cache", tests, NULL, NULL);
}
