/* Tests of permanent stores: the list of their indexes, damaged indexes, and which indexes are
 * removed when. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/failmalloc.h"
#include "index/store.h"
#include "index/upkeep/store_upkeep.h"

static const char *const files[] = {
    "testdata/objects/macho-arm64/Shop.dSYM/Contents/Resources/DWARF/Shop",
    "testdata/objects/elf-dwarf5/libshop.so", "testdata/objects/elf-aarch64/libshop.so"};
enum { FILES = sizeof files / sizeof *files, NOW = 1800000000, DAY = 24 * 60 * 60 };

struct upkeep {
    char folder[64];
    struct catalog_entry entries[FILES];
    struct strbuf keys[FILES], paths[FILES];
    struct object *objects[FILES];
    uint64_t sizes[FILES];
};

/* Makes a store in which index i was used i + 1 days before NOW. */
static void make_store(struct upkeep *u) {
    *u = (struct upkeep){.folder = "/tmp/stallkit-upkeep-XXXXXX"};
    assert_non_null(mkdtemp(u->folder));
    struct store_options options = {.path = u->folder, .threads = 1, .permanent = true};
    struct index_store *store;
    assert_int_equal(index_store_new(&store, &options, NULL), ST_OK);
    for (size_t i = 0; i < FILES; i++) {
        assert_int_equal(object_open(&u->objects[i], files[i], NULL), ST_OK);
        struct index_source source = {.slice = object_slice(u->objects[i], 0), .name = "Shop"};
        assert_int_equal(
            index_store_key(source.slice, NULL, NULL, &u->keys[i], &source.fingerprint, NULL),
            ST_OK);
        const char *key = strbuf_cstr(&u->keys[i]);
        assert_int_equal(index_store_add(store, &source, key, true, NULL, NULL), ST_OK);
        u->entries[i] = (struct catalog_entry){.id = *object_slice_id(source.slice),
                                               .dwarf = true,
                                               .arch = object_slice_arch(source.slice),
                                               .key = key,
                                               .name = "Shop"};
        index_store_path(store, key, &u->paths[i]);
        struct timespec used = {.tv_sec = NOW - ((time_t)i + 1) * DAY};
        const struct timespec times[2] = {used, used};
        assert_int_equal(utimensat(AT_FDCWD, strbuf_cstr(&u->paths[i]), times, 0), 0);
        struct stat st;
        assert_int_equal(stat(strbuf_cstr(&u->paths[i]), &st), 0);
        u->sizes[i] = (uint64_t)st.st_size;
    }
    assert_int_equal(catalog_add(u->folder, u->entries, FILES, NULL), ST_OK);
    index_store_free(store);
}

static void remove_store(struct upkeep *u) {
    char command[128];
    for (size_t i = 0; i < FILES; i++) {
        object_close(u->objects[i]);
        strbuf_release(&u->keys[i]);
        strbuf_release(&u->paths[i]);
    }
    snprintf(command, sizeof command, "rm -rf '%s'", u->folder);
    assert_int_equal(system(command), 0);
}

static bool is_there(const struct upkeep *u, size_t i) {
    return access(strbuf_cstr(&u->paths[i]), F_OK) == 0;
}

static size_t listed(const struct upkeep *u) {
    struct catalog c;
    assert_int_equal(catalog_read(&c, u->folder, NULL), ST_OK);
    size_t count = c.len;
    catalog_release(&c);
    return count;
}

static struct store_removal collect_with(const struct upkeep *u, uint64_t age, uint64_t bytes) {
    struct store_limits limits = {.age = age, .bytes = bytes, .now = NOW};
    struct store_removal r = {0};
    struct err e = {0};
    assert_int_equal(store_gc(u->folder, &limits, &r, &e), ST_OK);
    return r;
}

static void it_lists_each_index_with_its_size_and_last_use(void **state) {
    (void)state;
    struct upkeep u;
    struct store_items items;
    struct strbuf text = {0};
    make_store(&u);
    assert_int_equal(unlink(strbuf_cstr(&u.paths[1])), 0);
    assert_int_equal(store_items_read(&items, u.folder, NULL), ST_OK);
    struct sink sink = sink_to_strbuf(&text);
    store_items_print(&items, &sink);
    assert_int_equal(sink_close(&sink, NULL), ST_OK);
    char line[256];
    snprintf(
        line, sizeof line,
        "4C4C442C-5555-3144-A1DE-7AABF56A019C\tarm64\tdwarf\t%llu\t2027-01-14T08:00:00Z\tShop\n",
        (unsigned long long)u.sizes[0]);
    static const char head[] = "# id\tarch\tsymbols\tbytes\tused\tname\n";
    assert_memory_equal(strbuf_cstr(&text), head, sizeof head - 1);
    assert_non_null(strstr(strbuf_cstr(&text), line));
    assert_non_null(strstr(strbuf_cstr(&text), "\tdwarf\t-\tgone\tShop\n"));
    strbuf_release(&text);
    store_items_release(&items);
    assert_int_equal(store_items_read(&items, "/tmp", NULL), ST_NONE);
    remove_store(&u);
}

static void a_bit_that_changed_an_index_that_is_gone_and_one_of_another_are_found(void **state) {
    (void)state;
    struct upkeep u;
    struct store_items items;
    make_store(&u);
    FILE *f = fopen(strbuf_cstr(&u.paths[0]), "r+b");
    assert_non_null(f);
    assert_int_equal(fseek(f, (long)u.sizes[0] / 2, SEEK_SET), 0);
    int byte = fgetc(f);
    assert_int_equal(fseek(f, (long)u.sizes[0] / 2, SEEK_SET), 0);
    fputc(byte ^ 1, f);
    fclose(f);
    assert_int_equal(rename(strbuf_cstr(&u.paths[2]), strbuf_cstr(&u.paths[1])), 0);
    assert_int_equal(store_items_read(&items, u.folder, NULL), ST_OK);
    assert_int_equal(items.len, FILES);
    for (size_t i = 0; i < items.len; i++) {
        struct err why = {0};
        assert_int_equal(store_item_check(u.folder, &items.data[i], &why), ST_ERR);
        bool gone = strcmp(items.data[i].entry->key, u.entries[2].key) == 0;
        bool other = strcmp(items.data[i].entry->key, u.entries[1].key) == 0;
        assert_int_equal(gone, strstr(why.text, "gone") != NULL);
        assert_int_equal(other, strstr(why.text, "another image") != NULL);
    }
    store_items_release(&items);
    remove_store(&u);
}

static void what_was_not_used_for_too_long_goes(void **state) {
    (void)state;
    struct upkeep u;
    make_store(&u);
    struct store_removal r = collect_with(&u, UINT64_C(2) * DAY, UINT64_MAX);
    assert_int_equal(r.indexes, 1);
    assert_int_equal(r.bytes, u.sizes[2]);
    assert_int_equal(r.kept, 2);
    assert_true(is_there(&u, 0) && is_there(&u, 1) && !is_there(&u, 2));
    assert_int_equal(listed(&u), 2);
    remove_store(&u);
}

static void past_the_size_the_least_recently_used_go(void **state) {
    (void)state;
    struct upkeep u;
    make_store(&u);
    uint64_t all = u.sizes[0] + u.sizes[1] + u.sizes[2];
    assert_int_equal(collect_with(&u, UINT64_MAX, all).indexes, 0);
    assert_int_equal(collect_with(&u, UINT64_MAX, all - 1).indexes, 1);
    assert_true(is_there(&u, 0) && is_there(&u, 1) && !is_there(&u, 2));
    struct store_removal r = collect_with(&u, UINT64_MAX, 0);
    assert_int_equal(r.indexes, 2);
    assert_int_equal(r.kept_bytes, 0);
    assert_int_equal(listed(&u), 0);
    remove_store(&u);
}

static void lines_without_index_and_indexes_without_line_go(void **state) {
    (void)state;
    struct upkeep u;
    struct strbuf unlisted = {0};
    make_store(&u);
    strbuf_addf(&unlisted, "%s/ab", u.folder);
    (void)mkdir(strbuf_cstr(&unlisted), 0777);
    strbuf_addstr(&unlisted, "/abcd-arm64-0.index");
    FILE *f = fopen(strbuf_cstr(&unlisted), "w");
    assert_non_null(f);
    fclose(f);
    assert_int_equal(unlink(strbuf_cstr(&u.paths[0])), 0);
    struct store_removal r = collect_with(&u, UINT64_MAX, UINT64_MAX);
    assert_int_equal(r.indexes, 0);
    assert_int_equal(r.lost, 1);
    assert_int_equal(r.unlisted, 1);
    assert_int_equal(r.kept, 2);
    assert_int_equal(listed(&u), 2);
    assert_int_not_equal(access(strbuf_cstr(&unlisted), F_OK), 0);
    assert_true(is_there(&u, 1) && is_there(&u, 2));
    strbuf_release(&unlisted);
    remove_store(&u);
}

/* Replaces the folder of an index by a link to one that another program uses. */
static void an_index_behind_a_link_stays(void **state) {
    (void)state;
    struct upkeep u;
    struct strbuf folder = {0}, elsewhere = {0}, index = {0};
    make_store(&u);
    strbuf_addf(&folder, "%s/%.2s", u.folder, strbuf_cstr(&u.keys[0]));
    strbuf_addf(&elsewhere, "%s/elsewhere", u.folder);
    strbuf_addf(&index, "%s/elsewhere/%s.index", u.folder, strbuf_cstr(&u.keys[0]));
    assert_int_equal(rename(folder.data, elsewhere.data), 0);
    assert_int_equal(symlink("elsewhere", folder.data), 0);
    collect_with(&u, 0, 0);
    assert_int_equal(listed(&u), 0);
    assert_int_equal(access(index.data, F_OK), 0);
    assert_int_not_equal(access(strbuf_cstr(&u.paths[1]), F_OK), 0);
    strbuf_release(&folder);
    strbuf_release(&elsewhere);
    strbuf_release(&index);
    remove_store(&u);
}

static void without_memory_nothing_is_removed(void **state) {
    (void)state;
    struct upkeep u;
    make_store(&u);
    struct store_limits limits = {.age = UINT64_MAX, .bytes = 0, .now = NOW};
    for (unsigned long fail_at = 1; fail_at < 10000; fail_at++) {
        struct store_removal r;
        struct err e = {0};
        failmalloc_arm(fail_at, true);
        enum st st = store_gc(u.folder, &limits, &r, &e);
        (void)failmalloc_disarm();
        if (st == ST_OK) {
            break;
        }
        assert_true(err_is(&e));
        assert_int_equal(listed(&u), FILES);
        assert_true(is_there(&u, 0) && is_there(&u, 1) && is_there(&u, 2));
    }
    assert_int_equal(listed(&u), 0);
    remove_store(&u);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_lists_each_index_with_its_size_and_last_use),
        cmocka_unit_test(a_bit_that_changed_an_index_that_is_gone_and_one_of_another_are_found),
        cmocka_unit_test(what_was_not_used_for_too_long_goes),
        cmocka_unit_test(past_the_size_the_least_recently_used_go),
        cmocka_unit_test(lines_without_index_and_indexes_without_line_go),
        cmocka_unit_test(an_index_behind_a_link_stays),
        cmocka_unit_test(without_memory_nothing_is_removed),
    };
    return cmocka_run_group_tests_name("store_upkeep", tests, NULL, NULL);
}
