/* Tests that random dumps have the same keys as the stacks that buckets keep of them. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "classify/keys/exemplar.h"
#include "classify/keys/fixture_dump_test.h"
#include "classify/keys/key.h"

enum { DUMPS = 6000, PIECES = 128, OUTER_MAX = 5, INNER_MAX = 4, SAMPLES_MAX = 7 };

/* A function that random stacks are made of; image: "!" = of the system. */
static const struct {
    const char *function, *file;
    bool system;
} functions[] = {
    {"com.acme.shop.Home.onStart", NULL, false},
    {"com.acme.feed.Feed.read", NULL, false},
    {"com.acme.feed.Feed$1.run", NULL, false},
    {"org.jsoup.Jsoup.parse", NULL, false},
    {"org.jsoup.parser.Tokeniser.read", NULL, false},
    {"io.reactivex.Flow.subscribe", NULL, false},
    {"run", "/home/ann/shop/src/run.cc", false},
    {"parse", "/home/ann/shop/src/parse.cc", false},
    {"decode", "/home/ann/shop/third_party/nfd/nfd.c", false},
    {"open", "/home/ann/shop/third_party/nfd/nfd.c", false},
    {"till.read", "/go/pkg/mod/github.com/acme/till@v1/a.go", false},
    {"main.main", "/go/pkg/mod/github.com/acme/till@v1/main.go", false},
    {"main", "/home/ann/shop/third_party/nfd/main.c", false},
    {"std::vector<shop::Item>::push_back", NULL, false},
    {NULL, NULL, false},
    {"poll", NULL, true},
    {"memmove", NULL, true},
    {"pthread_mutex_lock", NULL, true},
    {"android.os.Handler.dispatchMessage", NULL, true},
    {"android.os.Looper.loopOnce", NULL, true},
    {"android.os.MessageQueue.nativePollOnce", NULL, true},
    {"g_main_context_dispatch", NULL, true},
    {"g_main_loop_run", NULL, true},
    {"gtk_dialog_run", NULL, true},
    {"sqlite3_step", NULL, true},
    {NULL, NULL, true},
};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

static uint32_t random_below(uint64_t *state, uint32_t n) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33) % n;
}

/* Adds a frame of this function. In some frames the name is a report's, which may lie far from the
 * function's start. */
static void random_frame(struct fixture *f, uint64_t *state, uint32_t at) {
    static const enum dump_source sources[] = {DUMP_SOURCE_DWARF, DUMP_SOURCE_LEARNED,
                                               DUMP_SOURCE_REPORT, DUMP_SOURCE_REPORT};
    size_t i = f->used;
    fixture_frame(f, functions[at].system ? "libsys.so" : "Shop", !functions[at].system,
                  functions[at].function, 0x100 * (at + 1));
    f->lines[i].file = functions[at].file;
    f->locations[i].source = sources[random_below(state, sizeof sources / sizeof *sources)];
    if (functions[at].function && random_below(state, 6) == 0) {
        f->locations[i].offset += 16 * 1024 + random_below(state, 40000);
        f->frames[i] = f->images[f->locations[i].image].load + f->locations[i].offset;
    }
}

/* Makes a dump whose samples have their outermost frames in common, of a thread that was busy in
 * most dumps. */
static void random_dump(struct fixture *f, uint64_t *state) {
    static const int64_t cpu[] = {900, 900, 900, 100, -1};
    uint32_t outer[OUTER_MAX], count = random_below(state, OUTER_MAX + 1);
    uint32_t samples = 1 + random_below(state, SAMPLES_MAX);
    uint32_t ends = random_below(state, 3) ? 0 : random_below(state, FUNCTIONS);
    f->d.device.os = "Linux";
    f->d.app.id = random_below(state, 4) ? "com.acme.shop" : "org.jsoup.demo";
    f->d.stall.cpu_permille = cpu[random_below(state, sizeof cpu / sizeof *cpu)];
    for (uint32_t i = 0; i < count; i++) {
        outer[i] = random_below(state, FUNCTIONS);
    }
    for (uint32_t n = 0; n < samples; n++) {
        uint32_t shared = random_below(state, 8) ? count : random_below(state, count + 1);
        for (uint32_t i = random_below(state, INNER_MAX + 1); i > 0; i--) {
            random_frame(f, state, random_below(state, FUNCTIONS));
        }
        for (uint32_t i = count - shared; i < count; i++) {
            random_frame(f, state, outer[i]);
        }
        random_frame(f, state, ends);
        fixture_stack(f, 1 + random_below(state, 6));
    }
}

struct random_pieces {
    char *texts[PIECES];
    size_t count;
};

static bool random_take(void *ctx, const char *piece, size_t len) {
    struct random_pieces *p = ctx;
    assert_true(p->count < PIECES && strlen(piece) == len);
    p->texts[p->count] = strdup(piece);
    return p->texts[p->count++] != NULL;
}

static void add_keys(struct strbuf *out, const struct stall_key *key) {
    for (size_t i = 0; i < KEY_LEVELS; i++) {
        key_text(&key->level[i], out);
        strbuf_addc(out, '/');
    }
}

/* Checks that the stack kept of a dump, and the one kept of that, have the dump's keys. */
static void random_check(struct keyer *k, const struct dump *d, const struct stall_key *key,
                         unsigned number, int again) {
    struct random_pieces p = {.count = 0};
    struct strbuf document = {0}, want = {0}, got = {0};
    struct stall_key kept;
    struct dump copy;
    add_keys(&want, key);
    assert_true(exemplar_cut(d, key, random_take, &p));
    assert_int_equal(exemplar_join((const char *const *)p.texts, p.count, &document, NULL), ST_OK);
    assert_int_equal(dump_parse(&copy, document.data, document.len, NULL), ST_OK);
    assert_int_equal(keyer_key(k, &copy, &kept, NULL), ST_OK);
    add_keys(&got, &kept);
    if (kept.status != KEY_OK || strcmp(strbuf_cstr(&got), strbuf_cstr(&want)) != 0) {
        print_message("dump %u, copy %d, status %d:\n%s\n%s\n%s\n", number, again, kept.status,
                      strbuf_cstr(&want), strbuf_cstr(&got), strbuf_cstr(&document));
        fail();
    }
    if (again < 1) {
        random_check(k, &copy, &kept, number, again + 1);
    }
    while (p.count) {
        free(p.texts[--p.count]);
    }
    dump_release(&copy);
    strbuf_release(&document);
    strbuf_release(&want);
    strbuf_release(&got);
}

static void the_stack_that_is_kept_of_a_random_dump_has_its_keys(void **unused) {
    struct rules *rules = NULL;
    struct keyer *k = NULL;
    uint64_t state = 14;
    size_t shared = 0;
    (void)unused;
    assert_int_equal(rules_new(&rules, NULL), ST_OK);
    assert_int_equal(rules_add_builtin(rules, NULL), ST_OK);
    assert_int_equal(keyer_new(&k, &(struct key_options){.rules = rules, .inlines = true}, NULL),
                     ST_OK);
    for (unsigned i = 0; i < DUMPS; i++) {
        struct fixture f = {.d.id = "x"};
        struct stall_key key;
        random_dump(&f, &state);
        assert_int_equal(keyer_key(k, &f.d, &key, NULL), ST_OK);
        if (key.status == KEY_OK) {
            random_check(k, &f.d, &key, i, 0);
        }
        shared += key.other_count > 0;
    }
    assert_true(shared > DUMPS / 20);
    keyer_free(k);
    rules_free(rules);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_stack_that_is_kept_of_a_random_dump_has_its_keys),
    };
    return cmocka_run_group_tests_name("exemplar_random", tests, NULL, NULL);
}
