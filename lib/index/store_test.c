/* Tests of the store: which process builds an index, which files are kept, and what happens where
 * the store cannot be used. */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/failmalloc.h"
#include "debug/debug.h"
#include "index/catalog.h"
#include "index/mapped.h"
#include "index/store_trim.h"
#include "index/stored.h"

#define SHOP    "testdata/objects/macho-arm64/Shop.dSYM/Contents/Resources/DWARF/Shop"
#define LIBSHOP "testdata/objects/elf-dwarf5/libshop.so"

static struct lookup_hit hit;

struct fixture {
    char folder[64];
    struct object *object;
    struct index_store *store;
    struct index_source source;
    struct strbuf key, path;
    atomic_bool enough;
};

static void begin(struct fixture *f, const char *object) {
    struct err e = {0};
    *f = (struct fixture){.folder = "/tmp/stallkit-store-XXXXXX"};
    assert_non_null(mkdtemp(f->folder));
    assert_int_equal(object_open(&f->object, object, &e), ST_OK);
    struct store_options options = {.path = f->folder, .threads = 1};
    assert_int_equal(index_store_new(&f->store, &options, &e), ST_OK);
    f->source = (struct index_source){.slice = object_slice(f->object, 0), .name = "Shop"};
    assert_int_equal(
        index_store_key(f->source.slice, NULL, NULL, &f->key, &f->source.fingerprint, &e), ST_OK);
    index_store_path(f->store, strbuf_cstr(&f->key), &f->path);
}

static void end(struct fixture *f) {
    char command[128];
    index_store_free(f->store);
    object_close(f->object);
    strbuf_release(&f->key);
    strbuf_release(&f->path);
    snprintf(command, sizeof command, "rm -rf '%s'", f->folder);
    assert_int_equal(system(command), 0);
}

static bool has_index(const struct fixture *f) {
    return access(strbuf_cstr(&f->path), F_OK) == 0;
}

/* Looks up every `step`th address of the text, as one run of a command does; returns whether the
 * answers came from the index. */
static bool run_once(struct fixture *f, size_t step) {
    struct lookup_source *source;
    struct err e = {0};
    assert_int_equal(stored_open(&source, f->store, &f->source, NULL, NULL, NULL, &e), ST_OK);
    uint64_t base = object_slice_base(f->source.slice);
    uint64_t top = object_slice_text_end(f->source.slice);
    for (uint64_t at = base; at < top; at += step) {
        assert_int_not_equal(lookup_address(source, at, &hit, &e), ST_ERR);
    }
    bool mapped = stored_is_mapped(source);
    lookup_close(source);
    return mapped;
}

static void an_index_is_built_once_live_lookups_cost_as_much(void **state) {
    (void)state;
    struct fixture f;
    begin(&f, SHOP);
    assert_false(run_once(&f, 64));
    assert_false(has_index(&f));
    assert_true(run_once(&f, 64));
    assert_true(has_index(&f));
    end(&f);
}

static void a_run_without_lookups_counts_a_sixteenth(void **state) {
    (void)state;
    struct fixture f;
    unsigned runs = 1;
    begin(&f, SHOP);
    while (!run_once(&f, SIZE_MAX / 2) && runs < 100) {
        runs++;
    }
    assert_in_range(runs, 3, 17);
    end(&f);
}

static void a_damaged_index_is_not_trusted_and_is_replaced(void **state) {
    (void)state;
    struct fixture f;
    struct err e = {0};
    begin(&f, SHOP);
    assert_int_equal(index_store_add(f.store, &f.source, strbuf_cstr(&f.key), true, NULL, &e),
                     ST_OK);
    assert_int_equal(truncate(strbuf_cstr(&f.path), 100), 0);
    assert_false(run_once(&f, 64));
    assert_false(has_index(&f));
    /* The index has a sound header and damaged records. */
    assert_int_equal(index_store_add(f.store, &f.source, strbuf_cstr(&f.key), true, NULL, &e),
                     ST_OK);
    struct lookup_source *mapped;
    assert_int_equal(mapped_open(&mapped, strbuf_cstr(&f.path), &e), ST_OK);
    struct index_extent data = mapped_header(mapped)->sections[INDEX_DATA];
    lookup_close(mapped);
    FILE *file = fopen(strbuf_cstr(&f.path), "r+b");
    assert_non_null(file);
    fseek(file, (long)data.offset, SEEK_SET);
    for (uint64_t i = 0; i < data.size; i++) {
        fputc(0xff, file);
    }
    fclose(file);
    assert_false(run_once(&f, 64));
    assert_false(has_index(&f));
    end(&f);
}

/* Flips a bit in the middle of the file. */
static void flip_a_bit(const char *path) {
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    long middle = ftell(file) / 2;
    assert_int_equal(fseek(file, middle, SEEK_SET), 0);
    int byte = fgetc(file);
    assert_int_equal(fseek(file, middle, SEEK_SET), 0);
    fputc(byte ^ 1, file);
    assert_int_equal(fclose(file), 0);
}

static void adding_replaces_an_index_that_is_not_as_it_was_written(void **state) {
    (void)state;
    struct fixture f;
    struct err e = {0};
    struct lookup_source *mapped;
    begin(&f, SHOP);
    for (int again = 0; again < 2; again++) {
        assert_int_equal(index_store_add(f.store, &f.source, strbuf_cstr(&f.key), true, NULL, &e),
                         ST_OK);
        assert_int_equal(mapped_open(&mapped, strbuf_cstr(&f.path), &e), ST_OK);
        assert_true(mapped_is_sound(mapped));
        lookup_close(mapped);
        flip_a_bit(strbuf_cstr(&f.path));
        assert_int_equal(mapped_open(&mapped, strbuf_cstr(&f.path), &e), ST_OK);
        assert_false(mapped_is_sound(mapped));
        lookup_close(mapped);
    }
    end(&f);
}

/* Builds an index, opens it and looks addresses up; the folder is empty each time. */
static void store_and_ask(void *ctx, bool refused) {
    struct fixture *f = ctx;
    struct lookup_source *source = NULL;
    struct store_options options = {.path = f->folder, .threads = 1};
    struct index_store *store = NULL;
    struct strbuf key = {0};
    struct err e = {0};
    uint64_t print;
    (void)unlink(strbuf_cstr(&f->path));
    enum st st = index_store_new(&store, &options, &e);
    if (st == ST_OK) {
        st = index_store_key(f->source.slice, NULL, NULL, &key, &print, &e);
    }
    if (st == ST_OK) {
        st = index_store_add(store, &f->source, strbuf_cstr(&key), true, NULL, &e);
    }
    if (st == ST_OK) {
        st = stored_open(&source, store, &f->source, NULL, NULL, NULL, &e);
    }
    if (st == ST_OK) {
        st = lookup_address(source, 0x100004300, &hit, &e);
        assert_int_equal(st == ST_ERR, err_is(&e));
        lookup_close(source);
    }
    /* The store's clean-up may fail without an error. */
    assert_true(st == ST_OK || (refused && (e.code == ERR_NOMEM || st == ST_NONE)));
    index_store_free(store);
    strbuf_release(&key);
}

static void a_lack_of_memory_is_an_error_and_leaks_nothing(void **state) {
    (void)state;
    struct fixture f;
    if (!failmalloc_works()) {
        skip();
    }
    begin(&f, SHOP);
    store_and_ask(&f, false);
    assert_true(failmalloc_sweep(store_and_ask, &f) > 0);
    end(&f);
}

static void an_index_of_another_source_is_not_used(void **state) {
    (void)state;
    struct fixture f;
    struct err e = {0};
    struct lookup_source *source;
    begin(&f, SHOP);
    assert_int_equal(index_store_add(f.store, &f.source, strbuf_cstr(&f.key), true, NULL, &e),
                     ST_OK);
    assert_int_equal(
        index_store_open(f.store, strbuf_cstr(&f.key), f.source.fingerprint + 1, &source, &e),
        ST_NONE);
    end(&f);
}

static void copies_of_a_file_share_an_index_and_changed_ones_do_not(void **state) {
    (void)state;
    struct fixture f;
    struct err e = {0};
    struct object *copy;
    char path[128], command[512];
    begin(&f, LIBSHOP);
    snprintf(path, sizeof path, "%s/copy.so", f.folder);
    snprintf(command, sizeof command, "cp " LIBSHOP " '%s'", path);
    assert_int_equal(system(command), 0);
    for (int changed = 0; changed < 2; changed++) {
        struct strbuf key = {0};
        uint64_t print;
        if (changed) {
            snprintf(command, sizeof command, "printf x >> '%s'", path);
            assert_int_equal(system(command), 0);
        }
        assert_int_equal(object_open(&copy, path, &e), ST_OK);
        assert_int_equal(index_store_key(object_slice(copy, 0), NULL, NULL, &key, &print, &e),
                         ST_OK);
        assert_int_equal(strcmp(strbuf_cstr(&key), strbuf_cstr(&f.key)) != 0, changed);
        strbuf_release(&key);
        object_close(copy);
    }
    end(&f);
}

static void an_index_is_of_the_names_that_were_hidden_too(void **state) {
    (void)state;
    static const char *const maps[] = {NULL, "BCSymbolMap Version: 2.0\na\n",
                                       "BCSymbolMap Version: 2.0\nb\n"};
    struct fixture f;
    struct strbuf keys[3] = {{0}, {0}, {0}};
    begin(&f, LIBSHOP);
    for (size_t i = 0; i < 3; i++) {
        struct object *o;
        struct bcsymbolmap *map;
        struct err e = {0};
        uint64_t print;
        assert_int_equal(object_open(&o, LIBSHOP, &e), ST_OK);
        if (maps[i]) {
            assert_int_equal(bcsymbolmap_open_bytes(&map, "map", maps[i], strlen(maps[i]), &e),
                             ST_OK);
            object_use_bcsymbolmap(object_slice(o, 0), map);
        }
        assert_int_equal(index_store_key(object_slice(o, 0), NULL, NULL, &keys[i], &print, &e),
                         ST_OK);
        object_close(o);
    }
    assert_string_equal(strbuf_cstr(&keys[0]), strbuf_cstr(&f.key));
    for (size_t i = 0; i < 3; i++) {
        assert_string_not_equal(strbuf_cstr(&keys[i]), strbuf_cstr(&keys[(i + 1) % 3]));
    }
    for (size_t i = 0; i < 3; i++) {
        strbuf_release(&keys[i]);
    }
    end(&f);
}

static void a_folder_that_cannot_be_made_costs_no_answer(void **state) {
    (void)state;
    struct fixture f;
    struct err e = {0};
    begin(&f, SHOP);
    index_store_free(f.store);
    struct store_options options = {.path = "/dev/null/store", .threads = 1};
    assert_int_equal(index_store_new(&f.store, &options, &e), ST_OK);
    assert_null(index_store_trouble(f.store));
    for (int i = 0; i < 3; i++) {
        assert_false(run_once(&f, 64));
    }
    assert_non_null(index_store_trouble(f.store));
    end(&f);
}

static void a_link_in_place_of_the_temporary_file_is_not_followed(void **state) {
    (void)state;
    struct fixture f;
    struct err e = {0};
    char path[256], victim[128];
    struct stat st;
    begin(&f, SHOP);
    snprintf(victim, sizeof victim, "%s/victim", f.folder);
    FILE *file = fopen(victim, "w");
    assert_non_null(file);
    fputs("precious", file);
    fclose(file);
    snprintf(path, sizeof path, "%s/tmp", f.folder);
    assert_int_equal(mkdir(path, 0777), 0);
    snprintf(path, sizeof path, "%s/tmp/%s", f.folder, strbuf_cstr(&f.key));
    assert_int_equal(symlink(victim, path), 0);
    assert_int_equal(index_store_add(f.store, &f.source, strbuf_cstr(&f.key), true, NULL, &e),
                     ST_NONE);
    assert_int_equal(stat(victim, &st), 0);
    assert_int_equal(st.st_size, 8);
    end(&f);
}

/* Puts a link in the place of tmp, which leads to files that are not the store's. */
static void a_link_in_place_of_a_folder_is_not_followed(void **state) {
    struct fixture f;
    char path[256], elsewhere[] = "/tmp/stallkit-elsewhere-XXXXXX";
    (void)state;
    begin(&f, SHOP);
    assert_non_null(mkdtemp(elsewhere));
    snprintf(path, sizeof path, "%s/precious", elsewhere);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fclose(file);
    snprintf(path, sizeof path, "%s/tmp", f.folder);
    assert_int_equal(symlink(elsewhere, path), 0);
    store_trim(f.folder, 0, "");
    snprintf(path, sizeof path, "%s/precious", elsewhere);
    assert_int_equal(unlink(path), 0);
    rmdir(elsewhere);
    end(&f);
}

static void put_file(const char *folder, const char *name, size_t size, int64_t age) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    for (size_t i = 0; i < size; i++) {
        fputc('x', f);
    }
    fclose(f);
    struct timespec times[2] = {{.tv_sec = time(NULL) - age}, {.tv_sec = time(NULL) - age}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static bool there(const char *folder, const char *name) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return access(path, F_OK) == 0;
}

static void what_was_used_longest_ago_goes_first_and_leftovers_go(void **state) {
    (void)state;
    struct fixture f;
    char path[128];
    begin(&f, SHOP);
    const char *folders[] = {"00", "ff", "tmp"};
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", f.folder, folders[i]);
        assert_int_equal(mkdir(path, 0777), 0);
    }
    put_file(f.folder, "00/old.index", 400, 3000);
    put_file(f.folder, "ff/older.index", 400, 4000);
    put_file(f.folder, "ff/new.index", 400, 100);
    put_file(f.folder, "ff/some.use", 8, 100);
    put_file(f.folder, "ff/ancient.use", 8, 200 * 24 * 3600);
    put_file(f.folder, "tmp/left", 50, 10);
    store_trim(f.folder, 900, "");
    assert_false(there(f.folder, "ff/older.index"));
    assert_true(there(f.folder, "00/old.index"));
    assert_true(there(f.folder, "ff/new.index"));
    assert_true(there(f.folder, "ff/some.use"));
    assert_false(there(f.folder, "ff/ancient.use"));
    assert_false(there(f.folder, "tmp/left"));
    store_trim(f.folder, 0, "");
    assert_true(there(f.folder, "00/old.index"));
    put_file(f.folder, "catalog", 1, 10);
    store_trim(f.folder, 1, "");
    assert_true(there(f.folder, "00/old.index"));
    snprintf(path, sizeof path, "%s/catalog", f.folder);
    assert_int_equal(unlink(path), 0);
    store_trim(f.folder, 1, "");
    assert_false(there(f.folder, "00/old.index"));
    end(&f);
}

static void a_catalog_lists_each_key_once_in_order(void **state) {
    (void)state;
    struct fixture f;
    struct err e = {0};
    struct catalog c;
    struct catalog_entry two[] = {
        {.dwarf = true, .arch = "arm64", .key = "bb-arm64-1", .name = "B\tb"},
        {.dwarf = false, .arch = "arm64", .key = "aa-arm64-1", .name = "A"}};
    begin(&f, SHOP);
    assert_int_equal(catalog_read(&c, f.folder, &e), ST_NONE);
    assert_true(parse_build_id("bbbb", 4, &two[0].id) && parse_build_id("aaaa", 4, &two[1].id));
    assert_int_equal(catalog_add(f.folder, two, 2, &e), ST_OK);
    assert_int_equal(catalog_add(f.folder, two, 1, &e), ST_OK);
    assert_int_equal(catalog_read(&c, f.folder, &e), ST_OK);
    assert_int_equal(c.len, 2);
    assert_string_equal(c.data[0].key, "aa-arm64-1");
    assert_string_equal(c.data[1].name, "B_b");
    assert_true(c.data[1].dwarf && !c.data[0].dwarf);
    catalog_release(&c);
    put_file(f.folder, "catalog", 20, 0);
    assert_int_equal(catalog_read(&c, f.folder, &e), ST_NONE);
    end(&f);
}

static void put_text(const char *folder, const char *name, const char *text, const char *mode) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, mode);
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

/* A writer that was killed leaves a part of a line; the next writer makes the catalog whole. */
static void a_line_that_is_not_whole_does_not_count(void **state) {
    (void)state;
    struct fixture f;
    struct err e = {0};
    struct catalog c;
    struct catalog_entry one = {.dwarf = true, .arch = "arm64", .key = "bb-arm64-1", .name = "B"};
    struct catalog_entry two = {.dwarf = true, .arch = "arm64", .key = "aa-arm64-1", .name = "A"};
    begin(&f, SHOP);
    assert_true(parse_build_id("bbbb", 4, &one.id) && parse_build_id("aaaa", 4, &two.id));
    assert_int_equal(catalog_add(f.folder, &one, 1, &e), ST_OK);
    put_text(f.folder, "catalog", "cccc\tarm64\tdwa", "a");
    assert_int_equal(catalog_read(&c, f.folder, &e), ST_OK);
    assert_int_equal(c.len, 1);
    catalog_release(&c);
    assert_int_equal(catalog_add(f.folder, &two, 1, &e), ST_OK);
    assert_int_equal(catalog_add(f.folder, &one, 1, &e), ST_OK);
    assert_int_equal(catalog_read(&c, f.folder, &e), ST_OK);
    assert_int_equal(c.len, 2);
    assert_string_equal(c.data[0].key, "aa-arm64-1");
    catalog_release(&c);
    end(&f);
}

static void of_the_lines_of_a_key_the_last_one_counts(void **state) {
    (void)state;
    struct fixture f;
    struct err e = {0};
    struct catalog c;
    const struct catalog_entry *first;
    struct catalog_entry one = {.arch = "arm64", .key = "bb-arm64-1", .name = "old"};
    begin(&f, SHOP);
    /* The build-id is as long as a UUID, but is none. */
    assert_true(parse_build_id("000102030405060708090a0b0c0d0e0f", 32, &one.id));
    assert_int_equal(catalog_add(f.folder, &one, 1, &e), ST_OK);
    one.name = "new";
    assert_int_equal(catalog_add(f.folder, &one, 1, &e), ST_OK);
    one.key = "cc-arm64-1";
    assert_int_equal(catalog_add(f.folder, &one, 1, &e), ST_OK);
    assert_int_equal(catalog_read(&c, f.folder, &e), ST_OK);
    assert_int_equal(catalog_find(&c, &one.id, &first), 2);
    assert_ptr_equal(first, c.data);
    assert_string_equal(first->name, "new");
    assert_string_equal(first[1].key, "cc-arm64-1");
    one.id.bytes[0] = 1;
    assert_int_equal(catalog_find(&c, &one.id, &first), 0);
    assert_null(first);
    catalog_release(&c);
    end(&f);
}

static void a_store_is_trimmed_twice_a_minute_at_most(void **state) {
    (void)state;
    struct fixture f;
    begin(&f, SHOP);
    assert_true(store_trim_is_due(f.folder));
    store_trim(f.folder, 900, "");
    assert_false(store_trim_is_due(f.folder));
    put_file(f.folder, "lock", 0, 31);
    assert_true(store_trim_is_due(f.folder));
    end(&f);
}

static void *trim_until_told(void *arg) {
    struct fixture *f = arg;
    while (!atomic_load(&f->enough)) {
        store_trim(f->folder, 0, "");
    }
    return NULL;
}

/* A process that tidies up may take a file that was just made, and is not locked yet, for a dead
 * writer's. */
static void an_index_is_written_while_others_tidy_up(void **state) {
    enum { ROUNDS = 1000 };
    (void)state;
    struct fixture f;
    pthread_t thread;
    struct err e = {0};
    begin(&f, SHOP);
    assert_int_equal(pthread_create(&thread, NULL, trim_until_told, &f), 0);
    unsigned written = 0;
    for (unsigned i = 0; i < ROUNDS && written == i; i++) {
        written +=
            index_store_add(f.store, &f.source, strbuf_cstr(&f.key), true, NULL, &e) == ST_OK &&
            has_index(&f);
        index_store_remove(f.store, strbuf_cstr(&f.key));
    }
    atomic_store(&f.enough, true);
    pthread_join(thread, NULL);
    assert_int_equal(written, ROUNDS);
    end(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_link_in_place_of_a_folder_is_not_followed),
        cmocka_unit_test(an_index_is_built_once_live_lookups_cost_as_much),
        cmocka_unit_test(a_run_without_lookups_counts_a_sixteenth),
        cmocka_unit_test(a_damaged_index_is_not_trusted_and_is_replaced),
        cmocka_unit_test(adding_replaces_an_index_that_is_not_as_it_was_written),
        cmocka_unit_test(a_lack_of_memory_is_an_error_and_leaks_nothing),
        cmocka_unit_test(an_index_of_another_source_is_not_used),
        cmocka_unit_test(copies_of_a_file_share_an_index_and_changed_ones_do_not),
        cmocka_unit_test(an_index_is_of_the_names_that_were_hidden_too),
        cmocka_unit_test(a_folder_that_cannot_be_made_costs_no_answer),
        cmocka_unit_test(a_link_in_place_of_the_temporary_file_is_not_followed),
        cmocka_unit_test(what_was_used_longest_ago_goes_first_and_leftovers_go),
        cmocka_unit_test(a_catalog_lists_each_key_once_in_order),
        cmocka_unit_test(a_line_that_is_not_whole_does_not_count),
        cmocka_unit_test(of_the_lines_of_a_key_the_last_one_counts),
        cmocka_unit_test(a_store_is_trimmed_twice_a_minute_at_most),
        cmocka_unit_test(an_index_is_written_while_others_tidy_up),
    };
    return cmocka_run_group_tests_name("store", tests, NULL, NULL);
}
