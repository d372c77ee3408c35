/* Tests that the symbol index answers as live debug info does: for every fixture, and for
 * third-party files where they are installed. */
#include <dirent.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/failmalloc.h"
#include "base/filemap.h"
#include "base/hash.h"
#include "debug/debug.h"
#include "index/build.h"
#include "index/mapped.h"
#include "index/store.h"
#include "object/find/find.h"

static struct lookup_hit live_hit, mapped_hit;

enum { RANDOM_ADDRESSES = 20000 };

/* ---- one slice, read live and from an index ---- */

struct pair {
    struct lookup_source *live, *mapped;
    struct strbuf bytes;
    unsigned complaints;
};

static void count_complaint(void *ctx, const char *file, uint64_t unit, const struct err *why) {
    struct pair *p = ctx;
    (void)file;
    (void)unit;
    (void)why;
    p->complaints++;
}

static enum st build(const struct object_slice *s, const struct object_slice *paired,
                     unsigned threads, struct strbuf *out) {
    struct index_source source = {.slice = s, .paired = paired, .name = "Shop", .fingerprint = 7};
    struct sink sink = sink_to_strbuf(out);
    struct err e = {0};
    enum st st = index_build(&source, threads, &sink, &e);
    assert_int_equal(sink_close(&sink, &e), ST_OK);
    if (st == ST_ERR) {
        print_message("# %s: %s\n", object_slice_path(s), e.text);
    }
    return st;
}

static void open_pair(struct pair *p, const struct object_slice *s,
                      const struct object_slice *paired) {
    struct err e = {0};
    *p = (struct pair){0};
    assert_int_equal(lookup_open_live(&p->live, s, paired, NULL, count_complaint, p, &e), ST_OK);
    assert_int_equal(build(s, paired, 2, &p->bytes), ST_OK);
    assert_int_equal(
        mapped_open_bytes(&p->mapped, "index", (const uint8_t *)p->bytes.data, p->bytes.len, &e),
        ST_OK);
    /* Live look-ups read units without ranges when no unit claims an address; after that, they know
     * all ranges, as the builder of an index does. */
    assert_int_equal(lookup_address(p->live, UINT64_MAX, &live_hit, &e), ST_NONE);
}

static void close_pair(struct pair *p) {
    lookup_close(p->live);
    lookup_close(p->mapped);
    strbuf_release(&p->bytes);
}

static bool same_text(const char *a, const char *b) {
    return strcmp(a ? a : "", b ? b : "") == 0;
}

static bool same_frame(const struct lookup_frame *a, const struct lookup_frame *b) {
    return same_text(a->function, b->function) && same_text(a->linkage, b->linkage) &&
           same_text(a->file, b->file) && a->line == b->line && a->column == b->column &&
           a->discriminator == b->discriminator && a->start == b->start && a->low_pc == b->low_pc &&
           same_text(a->start_file, b->start_file) && a->start_line == b->start_line;
}

static bool same_hit(const struct lookup_hit *a, const struct lookup_hit *b) {
    bool same = a->quality == b->quality && a->start == b->start && a->end == b->end &&
                a->frame_count == b->frame_count;
    for (size_t i = 0; same && i < a->frame_count; i++) {
        same = same_frame(&a->frames[i], &b->frames[i]);
    }
    return same;
}

static void show(const char *what, enum st st, const struct lookup_hit *h) {
    printf("# %s: st %d quality %d [%llx, %llx)\n", what, st, st ? 0 : (int)h->quality,
           st ? 0 : (unsigned long long)h->start, st ? 0 : (unsigned long long)h->end);
    for (size_t i = 0; st == ST_OK && i < h->frame_count; i++) {
        const struct lookup_frame *f = &h->frames[i];
        printf("#   %s | %s %s:%u:%u disc %u start %llx low %llx decl %s:%u\n", f->function,
               f->linkage, f->file ? f->file : "-", f->line, f->column, f->discriminator,
               (unsigned long long)f->start, (unsigned long long)f->low_pc,
               f->start_file ? f->start_file : "-", f->start_line);
    }
}

/* Changes an answer to one that format 2 can give: no place if its line is 0. */
static void cut_to_format_2(struct lookup_hit *h) {
    for (size_t i = 0; i < h->frame_count; i++) {
        struct lookup_frame *f = &h->frames[i];
        if (f->line == 0) {
            f->file = NULL;
            f->column = f->discriminator = 0;
        }
    }
}

static bool same_answer(const struct pair *p, uint64_t address) {
    struct err e = {0};
    enum st a = lookup_address(p->live, address, &live_hit, &e);
    enum st b = lookup_address(p->mapped, address, &mapped_hit, &e);
    bool same = a == b && a != ST_ERR;
    if (a == ST_OK && mapped_header(p->mapped)->format == 2) {
        cut_to_format_2(&live_hit);
    }
    if (same && a == ST_OK) {
        same = same_hit(&live_hit, &mapped_hit);
    }
    if (!same) {
        printf("# 0x%llx: %s\n", (unsigned long long)address, e.text);
        show("live", a, &live_hit);
        show("index", b, &mapped_hit);
    }
    return same;
}

static size_t count_differences(const struct pair *p, const struct object_slice *s, size_t *asked) {
    size_t wrong = 0, n = mapped_piece_count(p->mapped);
    uint64_t base = object_slice_base(s), end = object_slice_text_end(s);
    for (size_t i = 0; i < n && wrong < 5; i++) {
        uint64_t low = mapped_piece(p->mapped, i);
        uint64_t next = i + 1 < n ? mapped_piece(p->mapped, i + 1) : low + 64;
        uint64_t ask[] = {low, low - 1, low + (next - low) / 2, next - 1};
        for (size_t k = 0; k < sizeof ask / sizeof *ask; k++, ++*asked) {
            wrong += !same_answer(p, ask[k]);
        }
    }
    uint64_t seed = 1;
    for (size_t i = 0; i < RANDOM_ADDRESSES && wrong < 5; i++, ++*asked) {
        seed = hash_u64(seed + i);
        wrong += !same_answer(p, base + (end > base ? seed % (end - base + 64) : 0));
    }
    for (uint64_t at = base; at < end && at < base + 5000 && wrong < 5; at++, ++*asked) {
        wrong += !same_answer(p, at);
    }
    return wrong + !same_answer(p, 0) + !same_answer(p, base - 1);
}

/* Checks every slice of a file that holds debug info or symbols; returns the number of wrong
 * answers. */
static size_t check_file(struct object *o, size_t *slices) {
    size_t wrong = 0;
    for (size_t i = 0; i < object_slice_count(o); i++) {
        const struct object_slice *s = object_slice(o, i);
        struct pair p;
        size_t asked = 0;
        if (!object_has_dwarf(s) && !object_has_symbols(s)) {
            continue;
        }
        open_pair(&p, s, NULL);
        wrong += count_differences(&p, s, &asked);
        assert_int_equal(p.complaints, 0);
        ++*slices;
        close_pair(&p);
    }
    object_close(o);
    return wrong;
}

/* ---- tests ---- */

static void the_index_answers_as_live_debug_info_does(void **state) {
    (void)state;
    char line[1024];
    size_t slices = 0;
    FILE *f = fopen("testdata/objects/MANIFEST", "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        char path[1200];
        struct object *o = NULL;
        struct err e = {0};
        if (line[0] == '#') {
            continue;
        }
        line[strcspn(line, "\t")] = '\0';
        snprintf(path, sizeof path, "testdata/objects/%s", line);
        assert_int_equal(find_single(path, NULL, NULL, NULL, &o, &e), ST_OK);
        assert_int_equal(check_file(o, &slices), 0);
    }
    fclose(f);
    assert_true(slices > 20);
}

/* The index also has lines and names of symbols of units whose functions are in other files. */
static void it_does_so_for_split_dwarf_and_without_lines_or_dies(void **state) {
    (void)state;
    static const char *const paths[] = {
        "testdata/objects/elf-split/libshop.so", "testdata/objects/elf-lineless/libshop.so",
        "testdata/objects/elf-lineless/parts.so", "testdata/objects/elf-dieless/libshop.so"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        struct object *o = NULL;
        struct pair p;
        size_t slices = 0;
        assert_int_equal(object_open(&o, paths[i], NULL), ST_OK);
        open_pair(&p, object_slice(o, 0), NULL);
        assert_int_equal(p.mapped->content, i == 0 ? LOOKUP_HAS_SPLIT_DWARF : LOOKUP_HAS_DWARF);
        assert_int_equal(p.live->content, p.mapped->content);
        assert_int_equal(p.mapped->lineless, i == 1 || i == 2);
        assert_int_equal(p.mapped->dieless, i == 3);
        assert_int_equal(p.live->dieless, i == 3);
        close_pair(&p);
        assert_int_equal(check_file(o, &slices), 0);
        assert_int_equal(slices, 1);
    }
}

static int visible(const struct dirent *d) {
    return d->d_name[0] != '.' && strncmp(d->d_name, "expected.", 9) != 0;
}

static void it_does_so_for_third_party_files(void **state) {
    (void)state;
    const char *real = getenv("REAL");
    char root[PATH_MAX];
    struct dirent **list = NULL;
    size_t slices = 0;
    snprintf(root, sizeof root, "%s/objects", real ? real : "");
    int count = real && *real ? scandir(root, &list, visible, alphasort) : 0;
    if (count <= 0) {
        skip();
    }
    for (int i = 0; i < count; i++) {
        char folder[2 * PATH_MAX];
        struct dirent **inner = NULL;
        snprintf(folder, sizeof folder, "%s/%s", root, list[i]->d_name);
        int files = scandir(folder, &inner, visible, alphasort);
        for (int k = 0; k < files; k++) {
            char path[3 * PATH_MAX];
            struct object *o = NULL;
            struct err e = {0};
            snprintf(path, sizeof path, "%s/%s", folder, inner[k]->d_name);
            if (find_single(path, NULL, NULL, NULL, &o, &e) == ST_OK) {
                print_message("# %s\n", object_path(o));
                assert_int_equal(check_file(o, &slices), 0);
            }
            free(inner[k]);
        }
        free(inner);
        free(list[i]);
    }
    free(list);
    assert_true(slices > 0);
}

#define SHOP    "testdata/objects/macho-arm64/Shop.dSYM/Contents/Resources/DWARF/Shop"
#define LIBSHOP "testdata/objects/elf-dwarf5/libshop.so"

static void its_bytes_do_not_depend_on_the_threads(void **state) {
    (void)state;
    struct object *o;
    struct err e = {0};
    struct strbuf one = {0};
    assert_int_equal(object_open(&o, LIBSHOP, &e), ST_OK);
    assert_int_equal(build(object_slice(o, 0), NULL, 1, &one), ST_OK);
    for (unsigned threads = 1; threads <= 4; threads++) {
        struct strbuf other = {0};
        assert_int_equal(build(object_slice(o, 0), NULL, threads, &other), ST_OK);
        assert_int_equal(other.len, one.len);
        assert_memory_equal(other.data, one.data, one.len);
        strbuf_release(&other);
    }
    strbuf_release(&one);
    object_close(o);
}

static void its_header_tells_what_it_was_made_of(void **state) {
    (void)state;
    struct object *o;
    struct err e = {0};
    struct pair p;
    assert_int_equal(object_open(&o, SHOP, &e), ST_OK);
    const struct object_slice *s = object_slice(o, 0);
    open_pair(&p, s, NULL);
    const struct index_header *h = mapped_header(p.mapped);
    assert_int_equal(h->format, INDEX_FORMAT);
    assert_int_equal(h->builder, INDEX_BUILDER);
    assert_int_equal(h->fingerprint, 7);
    assert_int_equal(h->base, object_slice_base(s));
    assert_int_equal(h->text_end, object_slice_text_end(s));
    assert_int_equal(h->flags, INDEX_DWARF);
    assert_string_equal(h->arch, "arm64");
    assert_string_equal(mapped_image_name(p.mapped), "Shop");
    assert_true(image_id_equal(&h->id, object_slice_id(s)));
    close_pair(&p);
    object_close(o);
}

#define GOLDEN(format) "testdata/index/format-" format ".index"

/* Compares an index file that was made earlier with one that is built now, and its answers with
 * those of live look-ups. The file was made by `stallsym --index --store DIR
 * testdata/objects/macho-arm64/Shop.dSYM`. If the bytes are changed on purpose, add a new file made
 * by this command and keep the old one to be read. Such a change needs a new INDEX_BUILDER or, if
 * older readers would misread the bytes, a new INDEX_FORMAT. */
static void check_golden(const char *path) {
    struct object *o;
    struct err e = {0};
    struct pair p = {0};
    struct strbuf key = {0};
    struct filemap golden;
    assert_int_equal(object_open(&o, SHOP, &e), ST_OK);
    const struct object_slice *s = object_slice(o, 0);
    struct index_source source = {.slice = s, .name = "Shop"};
    assert_int_equal(index_store_key(s, NULL, NULL, &key, &source.fingerprint, &e), ST_OK);
    struct sink sink = sink_to_strbuf(&p.bytes);
    assert_int_equal(index_build(&source, 1, &sink, &e), ST_OK);
    assert_int_equal(sink_close(&sink, &e), ST_OK);
    assert_int_equal(filemap_open(&golden, path, 0, &e), ST_OK);
    assert_int_equal(mapped_open(&p.mapped, path, &e), ST_OK);
    if (mapped_header(p.mapped)->builder == INDEX_BUILDER) {
        assert_int_equal(golden.size, p.bytes.len);
        assert_memory_equal(golden.data, p.bytes.data, p.bytes.len);
    }
    size_t asked = 0;
    assert_int_equal(lookup_open_live(&p.live, s, NULL, NULL, count_complaint, &p, &e), ST_OK);
    assert_int_equal(count_differences(&p, s, &asked), 0);
    filemap_release(&golden);
    close_pair(&p);
    strbuf_release(&key);
    object_close(o);
}

static void an_index_of_an_earlier_format_is_read(void **state) {
    (void)state;
    check_golden(GOLDEN("2"));
    check_golden(GOLDEN("3"));
}

static void a_version_stands_for_the_same_bytes_for_ever(void **state) {
    (void)state;
    check_golden(GOLDEN("4"));
}

/* Opens an index in which every section is empty but for the empty string. */
static void an_index_of_nothing_answers_nothing(void **state) {
    (void)state;
    static const uint8_t nothing[INDEX_ALIGN] = {0};
    struct strbuf empty = {0}, strings = {0}, sums = {0}, file = {0};
    const struct strbuf *all[INDEX_SUMS] = {&empty, &empty, &empty, &empty, &empty, &strings};
    struct index_header h = {.format = INDEX_FORMAT, .builder = INDEX_BUILDER, .quantum = 1};
    uint8_t prologue[INDEX_PROLOGUE];
    struct lookup_source *source;
    struct err e = {0};
    strbuf_addc(&strings, 0);
    index_sums_write(all, &sums);
    uint64_t at = INDEX_PROLOGUE + -(uint64_t)INDEX_PROLOGUE % INDEX_ALIGN;
    for (size_t i = 0; i < INDEX_STRS; i++) {
        h.sections[i] = (struct index_extent){at, 0};
    }
    h.sections[INDEX_STRS] = (struct index_extent){at, 1};
    h.sections[INDEX_SUMS] = (struct index_extent){at + INDEX_ALIGN, sums.len};
    h.size = at + INDEX_ALIGN + sums.len;
    index_header_write(&h, prologue);
    strbuf_add(&file, prologue, sizeof prologue);
    strbuf_add(&file, nothing, (size_t)at - sizeof prologue + INDEX_ALIGN);
    strbuf_add(&file, sums.data, sums.len);
    assert_int_equal(mapped_open_bytes(&source, "index", (const uint8_t *)file.data, file.len, &e),
                     ST_OK);
    assert_int_equal(lookup_address(source, 0, &mapped_hit, &e), ST_NONE);
    assert_int_equal(lookup_address(source, UINT64_MAX, &mapped_hit, &e), ST_NONE);
    assert_true(mapped_is_sound(source));
    lookup_close(source);
    strbuf_release(&strings);
    strbuf_release(&sums);
    strbuf_release(&file);
}

/* Opens an index cut to every length, and with every bit flipped that opening looks at. */
static void a_damaged_header_is_refused(void **state) {
    (void)state;
    struct object *o;
    struct pair p;
    struct err e = {0};
    struct lookup_source *again;
    assert_int_equal(object_open(&o, SHOP, &e), ST_OK);
    open_pair(&p, object_slice(o, 0), NULL);
    uint8_t *bytes = (uint8_t *)p.bytes.data;
    for (size_t len = 0; len < p.bytes.len; len += len < 300 ? 1 : 97) {
        assert_int_not_equal(mapped_open_bytes(&again, "index", bytes, len, &e), ST_OK);
    }
    for (size_t bit = 0; bit < (size_t)INDEX_PROLOGUE * 8; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1U << bit % 8);
        assert_int_not_equal(mapped_open_bytes(&again, "index", bytes, p.bytes.len, &e), ST_OK);
        bytes[bit / 8] ^= (uint8_t)(1U << bit % 8);
    }
    close_pair(&p);
    object_close(o);
}

/* Looks up addresses at pieces and near their ends, as many as there are hits. */
enum { ASKED = 60 };
static void ask_some(struct lookup_source *source, enum st st[ASKED], struct lookup_hit *hits,
                     const uint64_t at[ASKED]) {
    for (size_t i = 0; i < ASKED; i++) {
        struct err e = {0};
        st[i] = lookup_address(source, at[i], &hits[i], &e);
        assert_int_equal(st[i] == ST_ERR, err_is(&e));
    }
}

/* Flips a bit in every byte that opening does not look at: an answer is right, or there is none. */
static void no_answer_comes_from_damaged_bytes(void **state) {
    (void)state;
    static struct lookup_hit want[ASKED], got[ASKED];
    enum st want_st[ASKED], got_st[ASKED];
    uint64_t at[ASKED];
    struct object *o;
    struct pair p;
    struct err e = {0};
    size_t told = 0;
    assert_int_equal(object_open(&o, SHOP, &e), ST_OK);
    open_pair(&p, object_slice(o, 0), NULL);
    size_t n = mapped_piece_count(p.mapped);
    for (size_t i = 0; i < ASKED; i++) {
        at[i] = mapped_piece(p.mapped, i / 2 * (n - 1) / (ASKED / 2 - 1)) + i % 2 * 5;
    }
    struct strbuf whole = {0};
    strbuf_add(&whole, p.bytes.data,
               p.bytes.len); /* a copy, because the strings of the wanted answers lie in p.bytes */
    ask_some(p.mapped, want_st, want, at);
    for (size_t i = INDEX_PROLOGUE; i < whole.len; i++) {
        struct lookup_source *rotten;
        whole.data[i] ^= (char)(1U << i % 8);
        if (mapped_open_bytes(&rotten, "index", (const uint8_t *)whole.data, whole.len, NULL) ==
            ST_OK) {
            bool refused = false;
            ask_some(rotten, got_st, got, at);
            for (size_t k = 0; k < ASKED; k++) {
                refused = refused || got_st[k] == ST_ERR;
                assert_true(got_st[k] == ST_ERR || got_st[k] == want_st[k]);
                assert_true(got_st[k] != ST_OK || same_hit(&got[k], &want[k]));
            }
            told += refused;
            lookup_close(rotten);
        } else {
            told++;
        }
        whole.data[i] ^= (char)(1U << i % 8);
    }
    assert_true(told > (whole.len - INDEX_PROLOGUE) / 2);
    strbuf_release(&whole);
    close_pair(&p);
    object_close(o);
}

static void a_damaged_source_is_not_indexed(void **state) {
    (void)state;
    struct object *o;
    struct err e = {0};
    struct strbuf out = {0}, copy = {0};
    FILE *f = fopen(LIBSHOP, "rb");
    char buf[4096];
    assert_non_null(f);
    for (size_t n; (n = fread(buf, 1, sizeof buf, f)) > 0;) {
        strbuf_add(&copy, buf, n);
    }
    fclose(f);
    assert_int_equal(object_open_bytes(&o, "damaged", copy.data, copy.len, &e), ST_OK);
    const uint8_t *info;
    size_t len;
    assert_int_equal(object_section(object_slice(o, 0), "debug_info", &info, &len, NULL, &e),
                     ST_OK);
    memset(copy.data + ((const char *)info - copy.data) + len / 2, 0xff, len / 8);
    assert_int_equal(build(object_slice(o, 0), NULL, 2, &out), ST_ERR);
    object_close(o);
    strbuf_release(&copy);
    strbuf_release(&out);
}

static void build_once(void *ctx, bool refused) {
    struct index_source source = {.slice = ctx, .name = "Shop", .fingerprint = 7};
    struct strbuf bytes = {0};
    struct sink sink = sink_to_strbuf(&bytes);
    struct err e = {0};
    enum st st = index_build(&source, 1, &sink, &e);
    assert_true(st == ST_OK || err_is(&e));
    assert_true(st == ST_OK || refused);
    (void)!sink_close(&sink, NULL);
    strbuf_release(&bytes);
}

static void building_without_memory_fails_and_leaks_nothing(void **state) {
    (void)state;
    struct object *o;
    struct err e = {0};
    if (!failmalloc_works()) {
        skip();
    }
    assert_int_equal(object_open(&o, "testdata/objects/macho-symbols/ShopWidget", &e), ST_OK);
    build_once(
        (void *)(uintptr_t)object_slice(o, 0),
        false); /* the object reads its symbols before allocations are counted, and keeps them */
    assert_true(failmalloc_sweep(build_once, (void *)(uintptr_t)object_slice(o, 0)) > 0);
    object_close(o);
    assert_int_equal(object_open(&o, SHOP, &e), ST_OK);
    build_once((void *)(uintptr_t)object_slice(o, 0), false);
    assert_true(failmalloc_sweep(build_once, (void *)(uintptr_t)object_slice(o, 0)) > 0);
    object_close(o);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_index_answers_as_live_debug_info_does),
        cmocka_unit_test(it_does_so_for_split_dwarf_and_without_lines_or_dies),
        cmocka_unit_test(it_does_so_for_third_party_files),
        cmocka_unit_test(its_bytes_do_not_depend_on_the_threads),
        cmocka_unit_test(its_header_tells_what_it_was_made_of),
        cmocka_unit_test(an_index_of_an_earlier_format_is_read),
        cmocka_unit_test(a_version_stands_for_the_same_bytes_for_ever),
        cmocka_unit_test(an_index_of_nothing_answers_nothing),
        cmocka_unit_test(a_damaged_header_is_refused),
        cmocka_unit_test(no_answer_comes_from_damaged_bytes),
        cmocka_unit_test(a_damaged_source_is_not_indexed),
        cmocka_unit_test(building_without_memory_fails_and_leaks_nothing),
    };
    return cmocka_run_group_tests_name("mapped", tests, NULL, NULL);
}
