/* Tests that counts are sorted again by other rules: nothing is lost, and counts that cannot be
 * sorted are refused. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/failmalloc.h"
#include "base/parse.h"
#include "classify/keys/exemplar.h"
#include "classify/keys/fixture_dump_test.h"
#include "classify/stats/triage_private.h"

/* A keyer and its rules. text NULL: the built-in rules. */
struct sorter {
    struct rules *rules;
    struct keyer *keyer;
    struct triage_options options;
};

static void sorter_init(struct sorter *s, const char *text) {
    *s =
        (struct sorter){.options = {.rules_hash = text ? 2 : 1, .rules = text ? text : "built-in"}};
    assert_int_equal(rules_new(&s->rules, NULL), ST_OK);
    if (text) {
        assert_int_equal(rules_add(s->rules, "t", text, strlen(text), NULL), ST_OK);
    }
    assert_int_equal(rules_add_builtin(s->rules, NULL), ST_OK);
    const struct key_options o = {.rules = s->rules, .aliases = true};
    assert_int_equal(keyer_new(&s->keyer, &o, NULL), ST_OK);
}

static void sorter_release(struct sorter *s) {
    keyer_free(s->keyer);
    rules_free(s->rules);
}

/* Counts `stalls` stalls of a second each in the function `inner`, which `on_inner` called. */
static void count(struct triage *t, struct sorter *s, const char *inner, unsigned stalls) {
    for (unsigned i = 0; i < stalls; i++) {
        char caller[32], id[48];
        snprintf(caller, sizeof caller, "on_%s", inner);
        snprintf(id, sizeof id, "%s%u", inner, i);
        const char *const names[] = {inner, caller, "main"};
        struct fixture f = {.d = {.id = id, .user = id, .text = id, .text_len = strlen(id)}};
        struct stall_key key;
        f.d.stall.span_ms = f.d.stall.duration_ms = 1000;
        f.d.stall.ended = true;
        f.d.stall.threshold_ms = 700;
        fixture_names(&f, names, 3, 1);
        assert_int_equal(keyer_key(s->keyer, &f.d, &key, NULL), ST_OK);
        assert_int_equal(triage_add(t, &f.d, &key, true, NULL, NULL), ST_OK);
    }
}

static struct triage *some(struct sorter *s) {
    struct triage *t = NULL;
    assert_int_equal(triage_new(&t, &s->options, NULL), ST_OK);
    count(t, s, "draw", 3);
    count(t, s, "load", 2);
    assert_true(clusters_add(&t->exposure, 7, 1, 5000));
    return t;
}

/* Checks level 1 by rank: "draw 3, load 2". */
static void assert_buckets(struct triage *t, const char *want) {
    char got[256] = "";
    assert_int_equal(triage_finish(t, NULL), ST_OK);
    for (size_t i = 0; i < t->level[0].buckets.len; i++) {
        const struct bucket *b = t->level[0].buckets.data[t->level[0].ranked[i]];
        size_t len = strlen(got);
        snprintf(got + len, sizeof got - len, "%s%s %u", i ? ", " : "", b->frames[0]->function,
                 (unsigned)b->tally->stalls);
    }
    assert_string_equal(got, want);
    assert_int_equal(t->total.stalls, 5);
    assert_int_equal(t->total.ms, 5000);
    assert_int_equal(t->total_users, 5);
}

static void buckets_go_where_the_new_rules_put_them(void **state) {
    (void)state;
    struct sorter old, new;
    struct triage *t = NULL;
    sorter_init(&old, NULL);
    sorter_init(&new, "skip draw load\nnormalise on_* as on_any\n");
    struct triage *from = some(&old);
    assert_int_equal(triage_rekey(&t, from, new.keyer, &new.options, NULL), ST_OK);
    assert_buckets(t, "on_any 5");
    assert_int_equal(t->options.rules_hash, 2);
    assert_int_equal(t->threshold_ms, 700);
    assert_int_equal(t->exposure.cells.len, 1);
    assert_buckets(from, "draw 3, load 2"); /* the triage that was sorted stays as it was */
    triage_free(t);
    triage_free(from);
    sorter_release(&old);
    sorter_release(&new);
}

static void a_stall_of_several_dumps_still_counts_once(void **state) {
    (void)state;
    static const char *const rules[] = {"normalise on_* as by_*\n", "skip draw\n",
                                        "cut on_scroll cause idle\nskip draw on_draw cause idle\n"};
    static const char *const outer[] = {"on_tap", "on_scroll"};
    for (size_t n = 0; n < sizeof rules / sizeof *rules; n++) {
        struct sorter old, new;
        struct triage *from = NULL, *t = NULL;
        uint64_t stalls = 0;
        sorter_init(&old, NULL);
        sorter_init(&new, rules[n]);
        assert_int_equal(triage_new(&from, &old.options, NULL), ST_OK);
        for (unsigned i = 0; i < 2; i++) { /* one bucket of level 1, two of level 2 */
            const char *const names[] = {"draw", "on_draw", outer[i], "main"};
            struct fixture f = {.d = {.id = i ? "a" : "b", .text = "t", .text_len = 1}};
            struct stall_key key;
            f.d.stall.id = "one";
            f.d.stall.seq = i + 1;
            f.d.stall.span_ms = 1000;
            f.d.stall.ended = i == 1;
            f.d.stall.duration_ms = i == 1 ? 2000 : -1;
            fixture_names(&f, names, 4, 1);
            assert_int_equal(keyer_key(old.keyer, &f.d, &key, NULL), ST_OK);
            assert_int_equal(triage_add(from, &f.d, &key, true, NULL, NULL), ST_OK);
        }
        assert_int_equal(from->level[1].buckets.len, 2);
        assert_int_equal(triage_rekey(&t, from, new.keyer, &new.options, NULL), ST_OK);
        assert_int_equal(triage_finish(t, NULL), ST_OK);
        for (size_t i = 0; i < t->level[0].buckets.len; i++) {
            stalls += t->level[0].buckets.data[i]->tally->stalls;
        }
        /* The stall is idle by the new rules, and is counted under the key that sorts first. */
        assert_int_equal(stalls, t->apart[APART_IDLE] ? 0 : 1);
        assert_int_equal(t->total.stalls, stalls);
        assert_int_equal(t->total.ms, t->apart[APART_IDLE] ? 1000 : 2000);
        triage_free(t);
        triage_free(from);
        sorter_release(&old);
        sorter_release(&new);
    }
}

/* Does the bucket have this number as an alias, just as the same stack without names has? */
static bool has_alias(const struct bucket *b, uint64_t number) {
    for (size_t i = 0; i < b->aliases.len; i++) {
        if (b->aliases.data[i] == number) {
            return true;
        }
    }
    return false;
}

/* Is one of b's aliases the id of a level-2 bucket of `from`? */
static bool any_was(const struct triage *from, const struct bucket *b) {
    for (size_t i = 0; i < from->level[1].buckets.len; i++) {
        uint64_t number;
        const char *id = from->level[1].buckets.data[i]->id;
        if (parse_hex(id, strlen(id), &number) && has_alias(b, number)) {
            return true;
        }
    }
    return false;
}

static void a_bucket_knows_the_id_that_its_stack_had(void **state) {
    (void)state;
    struct sorter old, new;
    struct triage *t = NULL;
    sorter_init(&old, NULL);
    sorter_init(&new, "normalise on_* as by_*\n");
    struct triage *from = some(&old);
    assert_int_equal(triage_rekey(&t, from, new.keyer, &new.options, NULL), ST_OK);
    assert_int_equal(t->level[1].buckets.len, 2);
    for (size_t i = 0; i < t->level[1].buckets.len; i++) {
        const struct bucket *b = t->level[1].buckets.data[i];
        const char *stack[64];
        struct dump d;
        struct stall_key raw;
        struct strbuf document = {0}, text = {0};
        assert_in_range(b->evidence.stack.len, 1, 64);
        for (size_t k = 0; k < b->evidence.stack.len; k++) {
            stack[k] = map_string(&t->pieces, b->evidence.stack.data[k]);
        }
        assert_int_equal(exemplar_join(stack, b->evidence.stack.len, &document, NULL), ST_OK);
        assert_int_equal(dump_parse(&d, strbuf_cstr(&document), document.len, NULL), ST_OK);
        struct dump_thread thread = d.threads[0];
        struct dump nameless = d;
        thread.stack.locations = NULL;
        nameless.threads = &thread;
        assert_int_equal(keyer_key(new.keyer, &nameless, &raw, NULL), ST_OK);
        assert_false(raw.level[1].frames[0].info->resolved);
        key_text(&raw.level[1], &text);
        assert_true(has_alias(b, key_number('2', text.data, text.len)));
        assert_int_equal(b->aliases.len, 2); /* the other alias is its id by the old rules */
        assert_true(any_was(from, b));
        assert_int_equal(t->level[0].buckets.data[b->parent]->aliases.len, 2);
        strbuf_release(&text);
        dump_release(&d);
        strbuf_release(&document);
    }
    triage_free(t);
    triage_free(from);
    sorter_release(&old);
    sorter_release(&new);
}

static void what_is_no_stall_by_the_new_rules_is_set_apart(void **state) {
    (void)state;
    struct sorter old, new;
    struct triage *t = NULL;
    sorter_init(&old, NULL);
    sorter_init(&new, "skip draw cause idle\ncut on_draw cause idle\n");
    struct triage *from = some(&old);
    from->apart[APART_LATE] = 7;
    assert_int_equal(triage_rekey(&t, from, new.keyer, &new.options, NULL), ST_OK);
    assert_int_equal(t->apart[APART_IDLE], 3);
    assert_int_equal(t->apart[APART_LATE], 7); /* they have no stack that could be sorted anew */
    assert_int_equal(t->total.stalls, 2);
    triage_free(t);
    triage_free(from);
    sorter_release(&old);
    sorter_release(&new);
}

static void a_bucket_without_its_stack_is_refused(void **state) {
    (void)state;
    static const char *const stacks[] = {NULL, "no piece", "{\"image\":{}}"};
    struct sorter s;
    sorter_init(&s, NULL);
    for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++) {
        struct triage *from = some(&s), *t = NULL;
        struct evidence *evidence = &from->level[1].buckets.data[1]->evidence;
        struct evidence other = *evidence;
        struct err e = {0};
        uint32_t piece = 0;
        other.stack.len = 0;
        if (stacks[i]) {
            piece = (uint32_t)map_intern(&from->pieces, stacks[i], strlen(stacks[i]));
            other.stack.data = &piece; /* the pieces are only read */
            other.stack.len = 1;
        }
        assert_true(bucket_take_evidence(from->level[1].buckets.data[1], &other));
        assert_int_equal(triage_rekey(&t, from, s.keyer, &s.options, &e), ST_ERR);
        assert_int_equal(e.code, stacks[i] ? ERR_FORMAT : ERR_UNSUPPORTED);
        assert_non_null(strstr(e.text, from->level[1].buckets.data[1]->id));
        assert_null(t);
        triage_free(from);
    }
    sorter_release(&s);
}

/* ---- names that come late ---- */

/* Counts a stall of a second without names: at an offset in the app, called from another. */
static enum st add_raw(struct triage *t, struct keyer *k, const char *id, uint64_t inner,
                       uint64_t outer, struct err *e) {
    struct fixture f = {.d = {.id = id, .user = id, .text = id, .text_len = strlen(id)}};
    struct stall_key key;
    f.d.stall.span_ms = f.d.stall.duration_ms = 1000;
    f.d.stall.ended = true;
    f.d.stall.threshold_ms = 700;
    fixture_frame(&f, "Shop", true, NULL, inner);
    fixture_frame(&f, "Shop", true, NULL, 0x5000);
    fixture_frame(&f, "Shop", true, NULL, outer);
    fixture_stack(&f, 1);
    enum st st = keyer_key(k, &f.d, &key, e);
    return st == ST_OK ? triage_add(t, &f.d, &key, true, NULL, e) : st;
}

/* Counts five such stalls, in two functions. */
static enum st add_raws(struct triage *t, struct keyer *k, struct err *e) {
    static const struct {
        const char *id;
        uint64_t inner, outer;
    } stalls[] = {{"a", 0x1010, 0x3010},
                  {"b", 0x1020, 0x3010},
                  {"c", 0x1010, 0x3020},
                  {"d", 0x2010, 0x4010},
                  {"e", 0x2010, 0x4010}};
    enum st st = ST_OK;
    for (size_t i = 0; st == ST_OK && i < sizeof stalls / sizeof *stalls; i++) {
        st = add_raw(t, k, stalls[i].id, stalls[i].inner, stalls[i].outer, e);
    }
    return st;
}

/* Gives names to a dump's frames; functions begin at multiples of 0x1000. */
static enum st resolve_late(void *ctx, struct dump *d, struct err *e) {
    static const char *const names[] = {NULL, "draw", "load", "on_tap", "on_scroll", "layout"};
    struct dump_stack *s = &d->threads[0].stack;
    uint32_t *indexes = arena_array(&d->arena, s->frame_count, sizeof *indexes);
    d->locations = arena_array(&d->arena, s->frame_count, sizeof *d->locations);
    (void)ctx;
    for (size_t i = 0; indexes && d->locations && i < s->frame_count; i++) {
        uint64_t address = s->frames[i] - !dump_frame_exact(s, i);
        struct dump_location *l = &d->locations[i];
        *l = (struct dump_location){.image = dump_image_at(d, address)};
        l->offset = address - d->images[l->image].load;
        l->start = l->offset & ~UINT64_C(0xfff);
        l->lines = arena_array(&d->arena, 1, sizeof *l->lines);
        if (!l->lines) {
            return err_nomem(e);
        }
        l->lines->function = names[l->start >> 12];
        l->line_count = 1;
        indexes[i] = (uint32_t)i;
    }
    s->locations = indexes;
    d->location_count = s->frame_count;
    return indexes && d->locations ? ST_OK : err_nomem(e);
}

static struct triage *some_raw(struct sorter *s) {
    struct triage *t = NULL;
    assert_int_equal(triage_new(&t, &s->options, NULL), ST_OK);
    assert_int_equal(add_raws(t, s->keyer, NULL), ST_OK);
    return t;
}

static void names_that_come_late_join_what_is_one_function(void **state) {
    (void)state;
    struct sorter s;
    struct triage *t = NULL;
    sorter_init(&s, NULL);
    struct triage *raw = some_raw(&s), *from = some_raw(&s);
    assert_true(triage_lacks_names(from));
    assert_int_equal(triage_rename(&t, from, s.keyer, resolve_late, NULL, NULL), ST_OK);
    assert_false(triage_lacks_names(t));
    assert_int_equal(t->dumps_read, 5);
    assert_int_equal(t->unresolved, 0);
    assert_int_equal(t->actions.buckets.len,
                     2); /* on_tap was called at two places, which are one action now */
    assert_buckets(t, "draw 3, load 2");
    assert_string_equal(t->options.rules, "built-in");
    size_t known = 0;
    for (size_t i = 0; i < raw->level[1].buckets.len; i++) {
        uint64_t number;
        const char *id = raw->level[1].buckets.data[i]->id;
        assert_true(parse_hex(id, strlen(id), &number));
        for (size_t k = 0; k < t->level[1].buckets.len; k++) {
            known += has_alias(t->level[1].buckets.data[k], number);
        }
    }
    assert_int_equal(known, raw->level[1].buckets.len);
    triage_free(t);
    triage_free(from);
    triage_free(raw);
    sorter_release(&s);
}

static void names_stay_in_the_stacks_that_are_kept(void **state) {
    (void)state;
    struct sorter s;
    struct triage *t = NULL, *again = NULL;
    struct strbuf once = {0}, twice = {0};
    sorter_init(&s, NULL);
    struct triage *from = some_raw(&s);
    assert_int_equal(triage_rename(&t, from, s.keyer, resolve_late, NULL, NULL), ST_OK);
    struct sink sink = sink_to_strbuf(&once);
    assert_int_equal(triage_write_partial(t, &sink, NULL), ST_OK);
    assert_int_equal(sink_close(&sink, NULL), ST_OK);
    /* In the second round everything has names already, so only the aliases may change. */
    assert_int_equal(triage_rename(&again, t, s.keyer, resolve_late, NULL, NULL), ST_OK);
    sink = sink_to_strbuf(&twice);
    assert_int_equal(triage_write_partial(again, &sink, NULL), ST_OK);
    assert_int_equal(sink_close(&sink, NULL), ST_OK);
    assert_string_equal(strbuf_cstr(&once), strbuf_cstr(&twice));
    strbuf_release(&once);
    strbuf_release(&twice);
    triage_free(again);
    triage_free(t);
    triage_free(from);
    sorter_release(&s);
}

static void rename_once(void *ctx, bool refused) {
    const struct sorter *s = ctx;
    const struct key_options o = {.rules = s->rules, .aliases = true};
    struct triage *t = NULL, *from = NULL;
    struct keyer *k = NULL;
    struct err e = {0};
    enum st st = keyer_new(&k, &o, &e);
    st = st == ST_OK ? triage_new(&from, &s->options, &e) : st;
    st = st == ST_OK ? add_raws(from, k, &e) : st;
    st = st == ST_OK ? triage_rename(&t, from, k, resolve_late, NULL, &e) : st;
    assert_true(st == ST_OK || (refused && e.code == ERR_NOMEM));
    triage_free(t);
    triage_free(from);
    keyer_free(k);
}

static void memory_may_run_out_while_names_come(void **state) {
    (void)state;
    if (!failmalloc_works()) {
        skip();
    }
    struct sorter s;
    sorter_init(&s, NULL);
    assert_true(failmalloc_sweep(rename_once, &s) > 50);
    sorter_release(&s);
}

struct sweep {
    struct triage *from;
    struct sorter *by;
};

static void every_allocation_may_fail(void *ctx, bool refused) {
    const struct sweep *s = ctx;
    struct triage *t = NULL;
    struct keyer *k = NULL;
    struct err e = {0};
    const struct key_options o = {.rules = s->by->rules, .aliases = true};
    enum st st = keyer_new(&k, &o, &e);
    st = st == ST_OK ? triage_rekey(&t, s->from, k, &s->by->options, &e) : st;
    assert_true(st == ST_OK || (refused && e.code == ERR_NOMEM));
    triage_free(t);
    keyer_free(k);
}

static void memory_may_run_out_anywhere(void **state) {
    (void)state;
    if (!failmalloc_works()) {
        skip();
    }
    struct sorter s;
    sorter_init(&s, NULL);
    struct sweep sweep = {some(&s), &s};
    assert_true(failmalloc_sweep(every_allocation_may_fail, &sweep) > 50);
    triage_free(sweep.from);
    sorter_release(&s);
}

int main(void) {
    dump_library_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buckets_go_where_the_new_rules_put_them),
        cmocka_unit_test(a_stall_of_several_dumps_still_counts_once),
        cmocka_unit_test(a_bucket_knows_the_id_that_its_stack_had),
        cmocka_unit_test(what_is_no_stall_by_the_new_rules_is_set_apart),
        cmocka_unit_test(a_bucket_without_its_stack_is_refused),
        cmocka_unit_test(memory_may_run_out_anywhere),
        cmocka_unit_test(names_that_come_late_join_what_is_one_function),
        cmocka_unit_test(names_stay_in_the_stacks_that_are_kept),
        cmocka_unit_test(memory_may_run_out_while_names_come),
    };
    return cmocka_run_group_tests_name("rekey", tests, NULL, NULL);
}
