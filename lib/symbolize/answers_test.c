/* Tests of answers that threads share. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/pool.h"
#include "symbolize/answers_private.h"

enum { ADDRESSES = 3000, THREADS = 4, ROUNDS = 2, PLENTY = 64 * 1024 * 1024 };

/* A source with a function at every address below ADDRESSES, whose name is made of the address. */
struct fake {
    struct lookup_source source;
    atomic_uint asked;
    atomic_uint inside; /* number of threads that are in a look-up now */
    atomic_bool met;    /* two threads were in a look-up at the same time */
    char names[ADDRESSES][16];
};

static enum st fake_lookup(struct lookup_source *s, uint64_t address, struct lookup_hit *hit,
                           struct err *e) {
    struct fake *f = (struct fake *)s;
    (void)e;
    if (atomic_fetch_add(&f->inside, 1) > 0) {
        atomic_store(&f->met, true);
    }
    atomic_fetch_add(&f->asked, 1);
    hit->quality = LOOKUP_DWARF;
    hit->frame_count = address < ADDRESSES;
    hit->frames[0] = (struct lookup_frame){.function = address < ADDRESSES ? f->names[address] : "",
                                           .file = "/Shop/cart.c",
                                           .line = (uint32_t)address + 1,
                                           .start = address & ~UINT64_C(15)};
    atomic_fetch_sub(&f->inside, 1);
    return hit->frame_count ? ST_OK : ST_NONE;
}

static void fake_close(struct lookup_source *s) {
    (void)s;
}

static const struct lookup_ops fake_ops = {fake_lookup, fake_close};

static void make_fake(struct fake *f, bool concurrent) {
    memset(f, 0, sizeof *f);
    f->source = (struct lookup_source){.ops = &fake_ops, .concurrent = concurrent};
    for (int i = 0; i < ADDRESSES; i++) {
        (void)snprintf(f->names[i], sizeof f->names[i], "function%d", i);
    }
}

struct asking {
    struct answers *answers;
    struct symbol_file file;
    atomic_uint wrong;
};

static bool is_right(const struct answer *a, uint64_t offset) {
    char name[16];
    (void)snprintf(name, sizeof name, "function%u", (unsigned)offset);
    if (offset >= ADDRESSES) {
        return a->source == DUMP_SOURCE_NONE && a->line_count == 0 && a->start == offset;
    }
    return a->source == DUMP_SOURCE_DWARF && a->line_count == 1 &&
           a->start == (offset & ~UINT64_C(15)) && strcmp(a->lines[0].function, name) == 0 &&
           strcmp(a->lines[0].file, "/Shop/cart.c") == 0 && a->lines[0].line == offset + 1;
}

/* A job that asks for all addresses, beginning with another one in each job. */
static void ask_all(void *ctx, void *job, unsigned worker) {
    struct asking *asking = ctx;
    struct arena arena = {0};
    (void)worker;
    for (size_t i = 0; i < ADDRESSES + 10; i++) {
        uint64_t offset = (i + *(const size_t *)job) % (ADDRESSES + 10);
        struct answer a;
        if (answers_find(asking->answers, &asking->file, offset, &arena, &a, NULL) != ST_OK ||
            !is_right(&a, offset)) {
            atomic_fetch_add(&asking->wrong, 1);
        }
    }
    arena_release(&arena);
}

static void nothing(void *ctx, void *job) {
    (void)ctx, (void)job;
}

static void ask_from_threads(struct fake *f, size_t kept_max, bool concurrent) {
    static const size_t starts[THREADS * ROUNDS] = {0, 1, 700, 1500, 2, 90, 2999, 11};
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    struct asking asking = {0};
    struct pool *pool;
    make_fake(f, concurrent);
    asking.file.source = &f->source;
    assert_int_equal(answers_new(&asking.answers, &lock, false, kept_max, NULL), ST_OK);
    assert_int_equal(pool_open(&pool, THREADS, THREADS, ask_all, nothing, &asking, NULL), ST_OK);
    for (size_t i = 0; i < THREADS * ROUNDS; i++) {
        pool_put(pool, (void *)(uintptr_t)&starts[i]);
    }
    pool_close(pool);
    answers_free(asking.answers);
    assert_int_equal(asking.wrong, 0);
}

static void each_is_resolved_once_whoever_asks(void **state) {
    (void)state;
    static struct fake f;
    ask_from_threads(&f, PLENTY, true);
    assert_int_equal(f.asked, ADDRESSES + 10);
}

static void a_source_that_is_not_concurrent_is_asked_by_one_thread_at_a_time(void **state) {
    (void)state;
    static struct fake f;
    ask_from_threads(&f, PLENTY, false);
    assert_int_equal(f.asked, ADDRESSES + 10);
    assert_false(f.met);
}

static void what_does_not_fit_is_right_all_the_same(void **state) {
    (void)state;
    static struct fake f;
    ask_from_threads(&f, 20000, true);
    assert_true(f.asked > ADDRESSES + 10);
    assert_true(f.asked <
                THREADS * ROUNDS * (ADDRESSES + 10)); /* some answers did fit into the cache */
    ask_from_threads(&f, 0, true);
    assert_int_equal(f.asked, THREADS * ROUNDS * (ADDRESSES + 10));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_is_resolved_once_whoever_asks),
        cmocka_unit_test(a_source_that_is_not_concurrent_is_asked_by_one_thread_at_a_time),
        cmocka_unit_test(what_does_not_fit_is_right_all_the_same),
    };
    return cmocka_run_group_tests_name("answers", tests, NULL, NULL);
}
