/* Tests what the place of the loop that the recorder believed in tells of a stack. */
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

enum { PIECES = 64 };

struct placed {
    struct rules *rules;
    struct keyer *keyer;
    struct stall_key key;
};

static int placed_set_up(void **state) {
    struct placed *p = calloc(1, sizeof *p);
    assert_non_null(p);
    assert_int_equal(rules_new(&p->rules, NULL), ST_OK);
    assert_int_equal(rules_add_builtin(p->rules, NULL), ST_OK);
    const struct key_options o = {.rules = p->rules, .aliases = true};
    assert_int_equal(keyer_new(&p->keyer, &o, NULL), ST_OK);
    *state = p;
    return 0;
}

static int placed_tear_down(void **state) {
    struct placed *p = *state;
    keyer_free(p->keyer);
    rules_free(p->rules);
    free(p);
    return 0;
}

/* Frame i of these stacks returns to offset 0x100 * (i + 1) + 8 of its image. */
#define STACK(f, ...)                                                                              \
    fixture_names(f, (const char *const[]){__VA_ARGS__},                                           \
                  sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *), 1)

static enum key_status status_of(struct placed *p, struct fixture *f, const char *loop_at) {
    f->d.device.os = "Linux";
    f->d.stall.loop_at = loop_at;
    assert_int_equal(keyer_key(p->keyer, &f->d, &p->key, NULL), ST_OK);
    return p->key.status;
}

static void a_wait_at_the_loops_place_is_idle(void **state) {
    struct fixture f = {.d.stall.cpu_permille = -1};
    STACK(&f, "!poll", "Server::run", "main");
    assert_int_equal(status_of(*state, &f, "Shop+0x208"), KEY_IDLE);
    assert_int_equal(status_of(*state, &f, "Shop+0x208 (Server::run)"), KEY_IDLE);
    f.d.stall.cpu_permille = 40;
    assert_int_equal(status_of(*state, &f, "Shop+0x208"), KEY_IDLE);
}

static void a_wait_elsewhere_or_at_an_unknown_place_is_none(void **state) {
    static const char *const places[] = {NULL,
                                         "Shop",
                                         "Shop+0x",
                                         "Shop+0x20g",
                                         "+0x208",
                                         "0x208",
                                         "Other+0x208",
                                         "Shop+0x308",
                                         "Shop+0x20",
                                         "Shop+0x0",
                                         "Shop+0x0208f",
                                         "Shop+0xfffffffffffffffff",
                                         "Shop+0xffffffffffffffff"};
    struct fixture f = {.d.stall.cpu_permille = -1};
    STACK(&f, "!poll", "Server::run", "main");
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        assert_int_equal(status_of(*state, &f, places[i]), KEY_OK);
    }
    struct fixture busy = {.d.stall.cpu_permille = -1};
    STACK(&busy, "decode", "Server::run", "main");
    assert_int_equal(status_of(*state, &busy, "Shop+0x208"), KEY_OK);
    struct fixture lock = {.d.stall.cpu_permille = -1};
    STACK(&lock, "!pthread_mutex_lock", "Server::run", "main");
    assert_int_equal(status_of(*state, &lock, "Shop+0x208"), KEY_OK);
}

static void a_nested_wait_at_the_loops_place_is_a_stall(void **state) {
    struct fixture f = {.d.stall.cpu_permille = -1};
    STACK(&f, "!poll", "Server::run", "ask", "Server::run", "main");
    assert_int_equal(status_of(*state, &f, "Shop+0x208"), KEY_OK);
    struct fixture called = {.d.stall.cpu_permille = -1};
    STACK(&called, "!poll", "Server::run", "ask", "!g_main_dispatch", "main");
    assert_int_equal(status_of(*state, &called, "Shop+0x208"), KEY_OK);
}

static void a_thread_that_ran_was_not_idle(void **state) {
    struct fixture f = {.d.stall.cpu_permille = -1};
    STACK(&f, "!poll", "Server::run", "main");
    f.thread = (struct dump_thread){.main = true, .cpu_ms = 300, .stack = f.stacks[0]};
    f.d.threads = &f.thread;
    f.d.thread_count = 1;
    f.d.stall.duration_ms = f.d.stall.span_ms = 1000;
    assert_int_equal(status_of(*state, &f, "Shop+0x208"), KEY_OK);
    f.thread.cpu_ms = -1;
    assert_int_equal(status_of(*state, &f, "Shop+0x208"), KEY_IDLE);
    f.thread.state = "running";
    assert_int_equal(status_of(*state, &f, "Shop+0x208"), KEY_OK);
}

static void a_known_loop_inside_of_the_believed_one_is_a_stall(void **state) {
    struct placed *p = *state;
    struct fixture f = {.d.stall.cpu_permille = -1};
    STACK(&f, "!poll", "!g_main_loop_run", "ask_bus", "Server::run", "main");
    assert_int_equal(status_of(p, &f, NULL), KEY_IDLE);
    assert_int_equal(status_of(p, &f, "libsys.so+0x999"), KEY_IDLE); /* another call of that loop */
    assert_int_equal(status_of(p, &f, "Shop+0x499"), KEY_OK);
    assert_string_equal(p->key.level[1].frames[p->key.level[1].count - 1].info->function,
                        "Server::run");
    assert_string_equal(p->key.level[1].frames[p->key.level[1].count - 2].info->function,
                        "ask_bus");
    assert_non_null(strstr(p->key.reason, "a loop inside of another"));
}

static void a_dialog_inside_of_the_believed_loop_waits_for_the_user(void **state) {
    struct fixture f = {.d.stall.cpu_permille = -1};
    STACK(&f, "!poll", "!gtk_dialog_run", "ask_user", "Server::run", "main");
    assert_int_equal(status_of(*state, &f, "Shop+0x499"), KEY_IDLE);
}

struct placed_pieces {
    char *texts[PIECES];
    size_t count;
};

static bool placed_take(void *ctx, const char *piece, size_t len) {
    struct placed_pieces *p = ctx;
    assert_true(p->count < PIECES && strlen(piece) == len);
    p->texts[p->count] = strdup(piece);
    return p->texts[p->count++] != NULL;
}

/* Expects that the stack kept of a dump has the dump's keys, and is no more idle than the dump. */
static void expect_kept(struct placed *p, const struct dump *d) {
    struct strbuf want = {0}, got = {0}, document = {0};
    struct placed_pieces pieces = {.count = 0};
    struct stall_key kept;
    struct dump copy;
    key_text(&p->key.level[1], &want);
    assert_true(exemplar_cut(d, &p->key, placed_take, &pieces));
    assert_int_equal(
        exemplar_join((const char *const *)pieces.texts, pieces.count, &document, NULL), ST_OK);
    assert_int_equal(dump_parse(&copy, document.data, document.len, NULL), ST_OK);
    assert_int_equal(keyer_key(p->keyer, &copy, &kept, NULL), ST_OK);
    assert_int_equal(kept.status, KEY_OK);
    key_text(&kept.level[1], &got);
    assert_string_equal(strbuf_cstr(&got), strbuf_cstr(&want));
    while (pieces.count) {
        free(pieces.texts[--pieces.count]);
    }
    dump_release(&copy);
    strbuf_release(&want);
    strbuf_release(&got);
    strbuf_release(&document);
}

static void an_exemplar_keeps_what_the_place_decided(void **state) {
    struct placed *p = *state;
    struct fixture nested = {.d.stall.cpu_permille = -1};
    STACK(&nested, "!poll", "!g_main_loop_run", "ask_bus", "Server::run", "main");
    assert_int_equal(status_of(p, &nested, "Shop+0x499"), KEY_OK);
    expect_kept(p, &nested.d);
    /* A loop that waits, in a stall whose thread ran, with a rule for the loop and without. */
    static const char *const loops[] = {"!g_main_loop_run", "Server::run"};
    for (size_t i = 0; i < sizeof loops / sizeof *loops; i++) {
        struct fixture ran = {.d.stall.cpu_permille = -1};
        STACK(&ran, "!poll", loops[i], "main");
        ran.thread = (struct dump_thread){
            .main = true, .cpu_ms = -1, .state = "running", .stack = ran.stacks[0]};
        ran.d.threads = &ran.thread;
        ran.d.thread_count = 1;
        assert_int_equal(status_of(p, &ran, i ? "Shop+0x208" : NULL), KEY_OK);
        expect_kept(p, &ran.d);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wait_at_the_loops_place_is_idle),
        cmocka_unit_test(a_wait_elsewhere_or_at_an_unknown_place_is_none),
        cmocka_unit_test(a_nested_wait_at_the_loops_place_is_a_stall),
        cmocka_unit_test(a_thread_that_ran_was_not_idle),
        cmocka_unit_test(a_known_loop_inside_of_the_believed_one_is_a_stall),
        cmocka_unit_test(a_dialog_inside_of_the_believed_loop_waits_for_the_user),
        cmocka_unit_test(an_exemplar_keeps_what_the_place_decided),
    };
    return cmocka_run_group_tests_name("loop_place", tests, placed_set_up, placed_tear_down);
}
