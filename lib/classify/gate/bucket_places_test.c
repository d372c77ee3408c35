/* Tests in which bucket of a triage a single dump is counted. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/failmalloc.h"
#include "base/parse.h"
#include "classify/gate/bucket_places.h"
#include "classify/keys/fixture_dump_test.h"
#include "classify/stats/triage_private.h"
#include "dump/dump_private.h"

enum { FRAMES = 8, NAME = 24, SAMPLES = 20, BUSY_PERMILLE = 950 };

struct fleet {
    struct rules *rules;
    struct keyer *keyer;
    struct triage *t;
    struct bucket_places *places;
    unsigned dumps;
};

/* One dump, and its key, which borrows from it. */
struct stall {
    struct fixture f;
    struct stall_key key;
    struct dump_image_order order[1];
    char names[FRAMES][NAME], id[NAME];
};

static struct fleet start(void) {
    struct fleet fleet = {.rules = NULL};
    assert_int_equal(rules_new(&fleet.rules, NULL), ST_OK);
    assert_int_equal(rules_add_builtin(fleet.rules, NULL), ST_OK);
    const struct key_options o = {.rules = fleet.rules, .aliases = true};
    assert_int_equal(keyer_new(&fleet.keyer, &o, NULL), ST_OK);
    assert_int_equal(triage_new(&fleet.t, &(struct triage_options){.rules = "t"}, NULL), ST_OK);
    return fleet;
}

static void end(struct fleet *fleet) {
    bucket_places_free(fleet->places);
    triage_free(fleet->t);
    keyer_free(fleet->keyer);
    rules_free(fleet->rules);
}

/* Makes a busy dump with these functions, separated by blanks, innermost first; with a '?' in front
 * of them they have no names. samples 0: it has one stack alone. */
static void make(struct fleet *fleet, struct stall *s, const char *functions, unsigned samples) {
    size_t n = 0;
    bool nameless = *functions == '?';
    functions += nameless;
    *s = (struct stall){.key = {.status = KEY_OK}};
    for (const char *at = functions; *at; at += strspn(at, " "), n++) {
        size_t len = strcspn(at, " ");
        assert_true(n < FRAMES && len < NAME);
        memcpy(s->names[n], at, len);
        fixture_frame(&s->f, "Shop", true, s->names[n], 0x100 * (n + 1));
        at += len;
    }
    s->order[0] = (struct dump_image_order){s->f.images[0].load, 0};
    s->f.d.image_order = s->order;
    fixture_stack(&s->f, samples ? samples : 1);
    if (nameless) {
        s->f.stacks[0].locations = NULL;
        s->f.d.locations = NULL;
        s->f.d.location_count = 0;
    }
    snprintf(s->id, sizeof s->id, "dump%u", fleet->dumps++);
    struct dump *d = &s->f.d;
    d->id = d->user = d->stall.id = d->text = s->id;
    d->text_len = strlen(s->id);
    d->stall.kind = "hang";
    d->stall.span_ms = d->stall.duration_ms = 1000;
    d->stall.ended = true;
    d->stall.threshold_ms = -1;
    d->stall.cpu_permille = BUSY_PERMILLE;
    s->f.thread = (struct dump_thread){.main = true, .cpu_ms = -1, .cpu_permille = -1};
    s->f.thread.stack = s->f.stacks[0];
    d->threads = &s->f.thread;
    d->thread_count = 1;
    d->sample_count = samples ? d->sample_count : 0;
    assert_int_equal(keyer_key(fleet->keyer, d, &s->key, NULL), ST_OK);
}

static void add(struct fleet *fleet, const char *functions, unsigned samples) {
    struct stall s;
    make(fleet, &s, functions, samples);
    assert_int_equal(triage_add(fleet->t, &s.f.d, &s.key, true, NULL, NULL), ST_OK);
}

/* Counts two dumps that show a busy function, as one alone proves nothing. */
static void add_busy(struct fleet *fleet, const char *functions) {
    add(fleet, functions, SAMPLES);
    add(fleet, functions, SAMPLES);
}

static void count_all(struct fleet *fleet) {
    assert_int_equal(triage_finish(fleet->t, NULL), ST_OK);
    assert_int_equal(bucket_places_new(&fleet->places, fleet->t, NULL), ST_OK);
}

/* Are two dumps with these functions in the same bucket of each level, one of the first's own? */
static void assert_together(struct fleet *fleet, const char *functions, unsigned samples,
                            const char *with) {
    struct stall s, other;
    struct dump_place own, place, with_place;
    make(fleet, &s, functions, samples);
    make(fleet, &other, with, SAMPLES);
    assert_int_equal(bucket_places_find(NULL, &other.key, &own, NULL), ST_OK);
    assert_int_equal(bucket_places_find(fleet->places, &other.key, &with_place, NULL), ST_OK);
    assert_int_equal(bucket_places_find(fleet->places, &s.key, &place, NULL), ST_OK);
    for (size_t i = 0; i < KEY_LEVELS; i++) {
        assert_null(with_place.level[i].other);
        assert_string_equal(with_place.level[i].id, own.level[i].id);
        assert_string_equal(place.level[i].id, own.level[i].id);
        assert_non_null(place.level[i].other);
        assert_string_equal(place.level[i].other->id, own.level[i].id);
    }
}

/* Has a dump with these functions the ids of its own keys? */
static void assert_alone(struct fleet *fleet, const char *functions, unsigned samples) {
    struct stall s;
    struct dump_place own, place;
    make(fleet, &s, functions, samples);
    assert_int_equal(bucket_places_find(NULL, &s.key, &own, NULL), ST_OK);
    assert_int_equal(bucket_places_find(fleet->places, &s.key, &place, NULL), ST_OK);
    for (size_t i = 0; i <= KEY_LEVELS; i++) {
        assert_null(own.level[i].other);
        assert_null(place.level[i].other);
        assert_string_equal(place.level[i].id, own.level[i].id);
    }
}

static void a_joined_bucket_gives_its_dumps_away(void **state) {
    (void)state;
    struct fleet fleet = start();
    add_busy(&fleet, "work step run tap main");
    add_busy(&fleet, "load step run tap main");
    add(&fleet, "help work step run tap main", 0);
    count_all(&fleet);
    assert_together(&fleet, "help work step run tap main", 0, "work step run tap main");
    assert_alone(&fleet, "work step run tap main", SAMPLES);
    assert_alone(&fleet, "load step run tap main", 0);
    end(&fleet);
}

static void a_stack_that_was_never_counted_is_in_its_busy_function(void **state) {
    (void)state;
    struct fleet fleet = start();
    add_busy(&fleet, "work step run tap main");
    count_all(&fleet);
    assert_together(&fleet, "help work step run tap main", 0, "work step run tap main");
    assert_together(&fleet, "deep help work step run tap main", 0, "work step run tap main");
    assert_alone(&fleet, "help work step run tap main", SAMPLES);
    assert_alone(&fleet, "help other step run tap main", 0);
    end(&fleet);
}

/* Of 20 samples 16 are in the function, too few for its key. */
static void a_caller_that_was_never_counted_is_in_its_busy_function(void **state) {
    (void)state;
    struct fleet fleet = start();
    struct stall s;
    struct dump_place place;
    add_busy(&fleet, "work step run tap main");
    const struct bucket *work = fleet.t->level[1].buckets.data[0];
    count_all(&fleet);
    make(&fleet, &s, "step run tap main", SAMPLES);
    s.key.near_count = 1;
    s.key.near[0].share = 800;
    assert_true(parse_hex(work->id, strlen(work->id), &s.key.near[0].number[1]));
    assert_int_equal(bucket_places_find(fleet.places, &s.key, &place, NULL), ST_OK);
    assert_ptr_equal(place.level[1].other, work);
    s.key.near[0].share = 600;
    assert_int_equal(bucket_places_find(fleet.places, &s.key, &place, NULL), ST_OK);
    assert_null(place.level[1].other);
    end(&fleet);
}

static void a_bucket_of_its_own_keeps_its_dumps(void **state) {
    (void)state;
    struct fleet fleet = start();
    add_busy(&fleet, "work step run tap main");
    add_busy(&fleet, "help work step run tap main");
    count_all(&fleet);
    assert_alone(&fleet, "help work step run tap main", 0);
    end(&fleet);
}

static void code_without_names_is_in_the_bucket_with_names(void **state) {
    (void)state;
    struct fleet fleet = start();
    add_busy(&fleet, "work step run tap main");
    add(&fleet, "?work step run tap main", SAMPLES);
    count_all(&fleet);
    assert_int_equal(fleet.t->level[0].buckets.len, 1);
    assert_together(&fleet, "?work step run tap main", SAMPLES, "work step run tap main");
    end(&fleet);
    fleet = start();
    add_busy(&fleet, "work step run tap main");
    count_all(&fleet);
    assert_together(&fleet, "?work step run tap main", SAMPLES, "work step run tap main");
    end(&fleet);
}

struct sweep {
    struct fleet *fleet;
    struct stall_key key;
};

static void every_allocation_may_fail(void *ctx, bool refused) {
    const struct sweep *sweep = ctx;
    struct bucket_places *places = NULL;
    struct dump_place place;
    enum st st = bucket_places_new(&places, sweep->fleet->t, NULL);
    if (st == ST_OK) {
        st = bucket_places_find(places, &sweep->key, &place, NULL);
    }
    assert_true(refused || st == ST_OK);
    assert_true(st == ST_ERR || place.level[0].other);
    bucket_places_free(places);
}

static void memory_may_run_out_anywhere(void **state) {
    (void)state;
    if (!failmalloc_works()) {
        skip();
    }
    struct fleet fleet = start();
    struct stall s;
    add_busy(&fleet, "work step run tap main");
    add(&fleet, "help work step run tap main", 0);
    assert_int_equal(triage_finish(fleet.t, NULL), ST_OK);
    make(&fleet, &s, "deep help work step run tap main", 0);
    struct sweep sweep = {&fleet, s.key};
    assert_true(failmalloc_sweep(every_allocation_may_fail, &sweep) > 5);
    end(&fleet);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_joined_bucket_gives_its_dumps_away),
        cmocka_unit_test(a_stack_that_was_never_counted_is_in_its_busy_function),
        cmocka_unit_test(a_caller_that_was_never_counted_is_in_its_busy_function),
        cmocka_unit_test(a_bucket_of_its_own_keeps_its_dumps),
        cmocka_unit_test(code_without_names_is_in_the_bucket_with_names),
        cmocka_unit_test(memory_may_run_out_anywhere),
    };
    return cmocka_run_group_tests_name("bucket_places", tests, NULL, NULL);
}
