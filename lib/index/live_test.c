/* Tests of live look-ups: which answers come from DWARF and which from symbols, which limits hold,
 * and how long answers live. crosscheck_test.c compares most of the answers with llvm's. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/failmalloc.h"
#include "base/strbuf.h"
#include "debug/debug.h"
#include "index/live_private.h"
#include "object/object_build_test.h"

#define DWARF_OF(bundle, name) "testdata/objects/" bundle "/Contents/Resources/DWARF/" name

static struct lookup_hit hit;

struct fixture {
    struct object *object, *paired;
    struct lookup_source *source;
    unsigned complaints;
    uint64_t unit; /* offset of the unit of the last complaint */
};

static void count_complaint(void *ctx, const char *file, uint64_t unit, const struct err *why) {
    struct fixture *f = ctx;
    f->unit = unit;
    assert_non_null(file);
    assert_true(err_is(why));
    f->complaints++;
}

static enum st try_fixture(struct fixture *f, const char *path, const char *paired) {
    struct err e = {0};
    *f = (struct fixture){0};
    assert_int_equal(object_open(&f->object, path, &e), ST_OK);
    if (paired) {
        assert_int_equal(object_open(&f->paired, paired, &e), ST_OK);
    }
    return lookup_open_live(&f->source, object_slice(f->object, 0),
                            paired ? object_slice(f->paired, 0) : NULL, NULL, count_complaint, f,
                            &e);
}

static void open_fixture(struct fixture *f, const char *path, const char *paired) {
    assert_int_equal(try_fixture(f, path, paired), ST_OK);
}

static void close_fixture(struct fixture *f) {
    lookup_close(f->source);
    object_close(f->object);
    object_close(f->paired);
}

static enum st ask(struct fixture *f, uint64_t address) {
    struct err e = {0};
    memset(&hit, 0xee, sizeof hit);
    return lookup_address(f->source, address, &hit, &e);
}

/* Returns a symbol of the object. */
static const struct object_symbol *symbol(const struct object *o, const char *name) {
    const struct object_symbol *all;
    size_t count;
    struct err e = {0};
    assert_int_equal(object_symbols(object_slice(o, 0), &all, &count, &e), ST_OK);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(all[i].name, name) == 0) {
            return &all[i];
        }
    }
    fail_msg("no symbol %s", name);
    return NULL;
}

static void the_innermost_line_is_the_rows_and_the_others_are_call_sites(void **state) {
    struct fixture f;
    (void)state;
    open_fixture(&f, "testdata/objects/elf-dwarf5/libshop.so", NULL);
    /* In price.cpp, apply() calls a lambda, which adds two values of Money. */
    const struct object_symbol *apply =
        symbol(f.object, "_ZN4shop12_GLOBAL__N_15applyIZ11price_totalE3$_1EENS0_5MoneyES3_T_");
    bool seen = false;
    for (uint64_t a = apply->address; a < apply->address + apply->size; a++) {
        assert_int_equal(ask(&f, a), ST_OK);
        assert_int_equal(hit.quality, LOOKUP_DWARF);
        assert_true(hit.start <= a && a < hit.end);
        assert_true(hit.frame_count >= 1);
        assert_string_equal(hit.frames[hit.frame_count - 1].linkage, apply->name);
        assert_string_equal(hit.frames[hit.frame_count - 1].function,
                            "apply<(lambda at /Shop/price.cpp:46:16)>");
        for (size_t i = 0; i < hit.frame_count; i++) {
            assert_int_equal(hit.frames[i].start, apply->address);
        }
        if (hit.frame_count == 3) {
            seen = true;
            assert_string_equal(hit.frames[0].function, "operator+=");
            assert_string_equal(hit.frames[0].file, "/Shop/price.cpp");
            assert_int_equal(hit.frames[0].line, 16);
            assert_int_equal(hit.frames[0].start_line, 15);
            assert_int_equal(hit.frames[1].line, 47);
            assert_int_equal(hit.frames[2].line, 28);
            assert_string_equal(hit.frames[2].start_file, "/Shop/price.cpp");
        }
    }
    assert_true(seen);
    close_fixture(&f);
}

static void an_address_in_no_function_is_unresolved(void **state) {
    struct fixture f;
    (void)state;
    open_fixture(&f, "testdata/objects/elf-dwarf5/libshop.so", NULL);
    assert_int_equal(ask(&f, 0), ST_NONE);
    assert_int_equal(ask(&f, 1), ST_NONE);
    assert_int_equal(ask(&f, UINT64_MAX), ST_NONE);
    assert_int_equal(ask(&f, UINT64_MAX - 1), ST_NONE);
    assert_int_equal(ask(&f, 0x7fff00000000), ST_NONE);
    close_fixture(&f);
    open_fixture(&f, DWARF_OF("macho-arm64/Shop.dSYM", "Shop"), NULL);
    assert_int_equal(ask(&f, 0x100000000), ST_NONE); /* _mh_execute_header is no code */
    close_fixture(&f);
}

static void a_symbol_ends_where_the_next_function_starts(void **state) {
    struct fixture f;
    struct err e = {0};
    const uint64_t *starts;
    size_t count;
    (void)state;
    open_fixture(&f, "testdata/objects/macho-symbols/ShopWidget", NULL);
    assert_int_equal(object_function_starts(object_slice(f.object, 0), &starts, &count, &e), ST_OK);
    assert_true(count > 2);
    for (size_t i = 0; i + 1 < count; i++) {
        assert_int_equal(ask(&f, starts[i + 1] - 1), ST_OK);
        assert_int_equal(hit.quality, LOOKUP_SYMTAB);
        assert_int_equal(hit.start, starts[i]);
        assert_int_equal(hit.frame_count, 1);
        assert_int_equal(hit.frames[0].start, starts[i]);
        assert_string_equal(hit.frames[0].function, hit.frames[0].linkage);
        assert_null(hit.frames[0].file);
        assert_int_equal(hit.frames[0].line, 0);
    }
    close_fixture(&f);
}

static struct lookup_source *open_source(const struct object *o, const struct object *paired) {
    struct lookup_source *source = NULL;
    struct err e = {0};
    assert_int_equal(lookup_open_live(&source, object_slice(o, 0),
                                      paired ? object_slice(paired, 0) : NULL, NULL, NULL, NULL,
                                      &e),
                     ST_OK);
    return source;
}

/* Pairs a dSYM without function starts with the binary it was made from, which has them. */
static void the_paired_files_function_starts_bound_symbols(void **state) {
    static struct build symbol_file, binary;
    static const uint8_t starts[] = {0x80, 0x02, 0x20, 0}; /* 0x1100, 0x1120 */
    (void)state;
    struct macho_build m = usual_macho();
    m.section_count = 2;
    build_macho(&symbol_file, &m);
    m.symbol_count = 0;
    m.starts = starts;
    m.starts_len = sizeof starts;
    build_macho(&binary, &m);
    struct object *o = open_built(&symbol_file), *paired = open_built(&binary);
    struct lookup_source *alone = open_source(o, NULL), *both = open_source(o, paired);
    struct err e = {0};
    assert_int_equal(lookup_address(alone, 0x1130, &hit, &e), ST_OK);
    assert_string_equal(hit.frames[0].function, "main");
    assert_int_equal(lookup_address(both, 0x1130, &hit, &e), ST_OK);
    assert_int_equal(hit.quality, LOOKUP_NAMELESS);
    assert_int_equal(hit.start, 0x1120);
    assert_int_equal(hit.frame_count, 0);
    assert_int_equal(lookup_address(both, 0x111f, &hit, &e), ST_OK);
    assert_string_equal(hit.frames[0].function, "main");
    assert_int_equal(lookup_address(both, 0x1140, &hit, &e), ST_OK);
    assert_string_equal(hit.frames[0].function, "helper");
    lookup_close(alone);
    lookup_close(both);
    object_close(paired);
    object_close(o);
}

/* Compares the starts of functions in a stripped file with those in the file with all names; the
 * dynamic symbols, which both files have, are left out. */
static void a_stripped_file_tells_where_functions_start(void **state) {
    static struct lookup_hit named;
    struct fixture f, stripped;
    struct err e = {0};
    const struct object_symbol *symbols;
    size_t count, nameless = 0;
    (void)state;
    open_fixture(&f, "testdata/objects/elf-dwarf5/libshop.so", NULL);
    open_fixture(&stripped, "testdata/objects/elf-dwarf5/dynsym/libshop.so", NULL);
    assert_int_equal(object_symbols(object_slice(f.object, 0), &symbols, &count, &e), ST_OK);
    for (size_t i = 0; i < count; i++) {
        uint64_t middle = symbols[i].address + symbols[i].size / 2;
        if (ask(&f, middle) != ST_OK || hit.quality != LOOKUP_DWARF) {
            continue; /* functions that the C library adds have no entry in .eh_frame */
        }
        named = hit;
        assert_int_equal(ask(&stripped, middle), ST_OK);
        assert_int_equal(hit.start, named.start);
        assert_int_equal(hit.end, named.end);
        nameless += hit.quality == LOOKUP_NAMELESS;
    }
    assert_true(nameless > 0);
    close_fixture(&stripped);
    close_fixture(&f);
}

static void neither_dwarf_nor_symbols_is_none(void **state) {
    static struct build b;
    struct lookup_source *source;
    struct err e = {0};
    (void)state;
    struct macho_build m = usual_macho();
    m.section_count = 2;
    m.symbol_count = 0;
    build_macho(&b, &m);
    struct object *o = open_built(&b);
    assert_int_equal(lookup_open_live(&source, object_slice(o, 0), NULL, NULL, NULL, NULL, &e),
                     ST_NONE);
    assert_false(err_is(&e));
    object_close(o);
}

static void strings_outlive_the_unit_they_came_from(void **state) {
    struct fixture f;
    (void)state;
    open_fixture(&f, "testdata/objects/elf-dwarf5/libshop.so", NULL);
    const struct object_symbol *first = symbol(f.object, "image_decode");
    const struct object_symbol *second = symbol(f.object, "layout_pass");
    assert_int_equal(ask(&f, first->address), ST_OK);
    const char *file = hit.frames[0].file, *name = hit.frames[0].function;
    assert_int_equal(live_units_held(f.source), 1);
    assert_int_equal(ask(&f, second->address), ST_OK);
    assert_int_equal(live_units_held(f.source), 2);
    live_limit_memory(f.source, 1);
    assert_int_equal(live_units_held(f.source), 1); /* the unit used last is kept */
    assert_string_equal(file, "/Shop/image.c");
    assert_string_equal(name, "image_decode");
    /* The unit that was dropped from memory is read again. */
    assert_int_equal(ask(&f, first->address), ST_OK);
    assert_int_equal(live_units_held(f.source), 1);
    assert_ptr_equal(hit.frames[0].file, file);
    close_fixture(&f);
}

static void a_damaged_unit_leaves_the_symbol(void **state) {
    struct fixture f;
    (void)state;
    open_fixture(&f, "testdata/hostile/dwarf/abbrev-code-unknown", NULL);
    const struct object_symbol *all;
    size_t count;
    struct err e = {0};
    enum st symbols = object_symbols(object_slice(f.object, 0), &all, &count, &e);
    assert_int_equal(symbols, ST_OK);
    assert_int_equal(ask(&f, all[0].address), ST_OK);
    assert_int_equal(f.complaints, 1);
    assert_int_equal(ask(&f, all[0].address), ST_OK);
    assert_int_equal(f.complaints, 1);
    assert_int_equal(f.unit, 0);
    close_fixture(&f);
}

static void damage_outside_of_units_names_none(void **state) {
    struct fixture f;
    (void)state;
    open_fixture(&f, "testdata/hostile/macho/stroff-past-end", NULL);
    assert_int_equal(f.complaints, 1);
    assert_true(f.unit == LOOKUP_NO_UNIT);
    close_fixture(&f);
}

/* ---- several threads ---- */

enum { THREADS = 8, ROUNDS = 5, STEP = 12 };

/* Appends an answer as text: each frame's names and place. */
static void write_answer(struct lookup_source *source, uint64_t address, struct lookup_hit *h,
                         struct strbuf *out) {
    struct err e = {0};
    enum st st = lookup_address(source, address, h, &e);
    strbuf_addf(out, "%llx: %d", (unsigned long long)address, (int)st);
    for (size_t i = 0; st == ST_OK && i < h->frame_count; i++) {
        const struct lookup_frame *f = &h->frames[i];
        strbuf_addf(out, " %s|%s|%s:%u:%u|%s:%u", f->function ? f->function : "-",
                    f->linkage ? f->linkage : "-", f->file ? f->file : "-", f->line, f->column,
                    f->start_file ? f->start_file : "-", f->start_line);
    }
    strbuf_addc(out, '\n');
}

/* The questions that threads ask of one source, and the answers that one thread got from another
 * source. */
struct questions {
    struct lookup_source *source;
    uint64_t *addresses;
    struct strbuf *answers;
    size_t count;
    bool crowded; /* all threads ask in the same order, so that they want the same unit at once */
};

struct asker {
    struct questions *q;
    size_t number, wrong;
    pthread_t thread;
};

static void *ask_all(void *arg) {
    struct asker *a = arg;
    const struct questions *q = a->q;
    struct lookup_hit *h = malloc(sizeof *h);
    for (size_t i = 0; h && i < ROUNDS * q->count; i++) {
        size_t at = (i + (q->crowded ? 0 : a->number * q->count / THREADS)) % q->count;
        struct strbuf got = {0};
        write_answer(q->source, q->addresses[at], h, &got);
        a->wrong += strcmp(strbuf_cstr(&got), strbuf_cstr(&q->answers[at])) != 0;
        strbuf_release(&got);
    }
    a->wrong += !h;
    free(h);
    return NULL;
}

/* Fills q with addresses all over the code and one thread's answers. */
static void prepare_questions(struct questions *q, const struct object_slice *s,
                              struct lookup_source *alone) {
    uint64_t base = object_slice_base(s), end = object_slice_text_end(s);
    q->count = (size_t)(end - base) / STEP;
    q->addresses = calloc(q->count, sizeof *q->addresses);
    q->answers = calloc(q->count, sizeof *q->answers);
    assert_true(q->count > 10 && q->addresses && q->answers);
    for (size_t i = 0; i < q->count; i++) {
        q->addresses[i] = base + STEP * i;
        write_answer(alone, q->addresses[i], &hit, &q->answers[i]);
    }
}

static void let_threads_ask(struct questions *q) {
    struct asker askers[THREADS];
    for (size_t i = 0; i < THREADS; i++) {
        askers[i] = (struct asker){.q = q, .number = i};
        assert_int_equal(pthread_create(&askers[i].thread, NULL, ask_all, &askers[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(askers[i].thread, NULL);
        assert_int_equal(askers[i].wrong, 0);
    }
}

static void ask_by_threads(const char *path, size_t byte_limit) {
    struct fixture alone, shared;
    struct questions q = {0};
    open_fixture(&alone, path, NULL);
    open_fixture(&shared, path, NULL);
    assert_true(shared.source->concurrent);
    prepare_questions(&q, object_slice(alone.object, 0), alone.source);
    q.source = shared.source;
    if (byte_limit > 0) {
        live_limit_memory(shared.source, byte_limit);
    }
    let_threads_ask(&q);
    q.crowded = true;
    let_threads_ask(&q);
    if (byte_limit > 0) { /* units were dropped from memory and read again */
        assert_int_equal(live_units_held(shared.source), live_units_held(alone.source) > 0);
        assert_true(live_units_held(alone.source) < 2 ||
                    live_bytes_read(shared.source) > live_bytes(shared.source));
    } else { /* each unit was read once, whichever thread wanted it */
        assert_int_equal(live_bytes_read(shared.source), live_bytes_read(alone.source));
    }
    assert_int_equal(shared.complaints, alone.complaints);
    for (size_t i = 0; i < q.count; i++) {
        strbuf_release(&q.answers[i]);
    }
    free(q.answers);
    free(q.addresses);
    close_fixture(&alone);
    close_fixture(&shared);
}

static const char *const shared_fixtures[] = {
    "testdata/objects/elf-dwarf5/libshop.so",
    DWARF_OF("macho-arm64/Shop.dSYM", "Shop"),
    DWARF_OF("macho-lto/ShopKit.dSYM", "ShopKit"),
    "testdata/objects/macho-symbols/ShopWidget",  /* has no units */
    "testdata/hostile/dwarf/abbrev-code-unknown", /* has a damaged unit */
};

static void threads_get_the_answers_of_one(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof shared_fixtures / sizeof *shared_fixtures; i++) {
        ask_by_threads(shared_fixtures[i], 0);
    }
}

static void units_in_use_stay_when_memory_is_short(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof shared_fixtures / sizeof *shared_fixtures; i++) {
        ask_by_threads(shared_fixtures[i], 1);
    }
}

static void look_up_everything(void *ctx, bool refused) {
    struct fixture *f = ctx;
    struct lookup_source *source;
    struct err e = {0};
    enum st st = lookup_open_live(&source, object_slice(f->object, 0), NULL, NULL, NULL, NULL, &e);
    assert_true(refused || st == ST_OK);
    if (st != ST_OK) {
        assert_int_equal(e.code, ERR_NOMEM);
        return;
    }
    const struct object_symbol *all;
    size_t count;
    assert_int_equal(object_symbols(object_slice(f->object, 0), &all, &count, &e), ST_OK);
    for (size_t i = 0; i < count; i += 5) {
        err_clear(&e);
        st = lookup_address(source, all[i].address, &hit, &e);
        assert_true(st == ST_OK || (refused && st == ST_ERR && e.code == ERR_NOMEM));
    }
    lookup_close(source);
}

static void any_allocation_may_fail(void **state) {
    struct fixture f;
    (void)state;
    if (!failmalloc_works()) {
        skip();
    }
    open_fixture(&f, "testdata/objects/elf-dwarf5/libshop.so", NULL);
    look_up_everything(&f, false); /* the object builds its tables before allocations are counted */
    assert_true(failmalloc_sweep(look_up_everything, &f) > 0);
    close_fixture(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_innermost_line_is_the_rows_and_the_others_are_call_sites),
        cmocka_unit_test(an_address_in_no_function_is_unresolved),
        cmocka_unit_test(a_symbol_ends_where_the_next_function_starts),
        cmocka_unit_test(the_paired_files_function_starts_bound_symbols),
        cmocka_unit_test(a_stripped_file_tells_where_functions_start),
        cmocka_unit_test(neither_dwarf_nor_symbols_is_none),
        cmocka_unit_test(strings_outlive_the_unit_they_came_from),
        cmocka_unit_test(a_damaged_unit_leaves_the_symbol),
        cmocka_unit_test(damage_outside_of_units_names_none),
        cmocka_unit_test(threads_get_the_answers_of_one),
        cmocka_unit_test(units_in_use_stay_when_memory_is_short),
        cmocka_unit_test(any_allocation_may_fail),
    };
    return cmocka_run_group_tests_name("live look-ups", tests, NULL, NULL);
}
