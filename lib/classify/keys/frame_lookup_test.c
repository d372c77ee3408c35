#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "classify/keys/frame_info.h"
#include "classify/rules/rules.h"

/* A dump of one image, and a location in it. */
struct place {
    struct dump dump;
    struct dump_image image;
    struct dump_line line;
    struct dump_location location;
};

static void place_make(struct place *p, unsigned char id, const char *path, const char *function,
                       uint64_t start) {
    memset(p, 0, sizeof *p);
    p->image = (struct dump_image){.id = {.kind = IMAGE_ID_UUID, .len = 16, .bytes = {id}},
                                   .name = "Shop",
                                   .path = path,
                                   .in_app = true};
    p->line = (struct dump_line){.function = function};
    p->location = (struct dump_location){
        .offset = start + 5, .start = start, .lines = &p->line, .line_count = function != NULL};
    p->dump.device.os = "iOS 17.1";
    p->dump.images = &p->image;
    p->dump.image_count = 1;
}

static struct frame_info *find(struct frame_table *t, struct place *p) {
    assert_true(frame_table_begin(t, &p->dump));
    struct frame_info *info = frame_of_location(t, &p->dump, &p->location);
    assert_non_null(info);
    return info;
}

static struct frame_table *table_new(struct rules **rules) {
    struct frame_table *t = calloc(1, sizeof *t);
    assert_non_null(t);
    assert_int_equal(rules_new(rules, NULL), ST_OK);
    assert_int_equal(rules_add_builtin(*rules, NULL), ST_OK);
    t->rules = *rules;
    return t;
}

static void table_free(struct frame_table *t, struct rules *rules) {
    frame_table_release(t);
    free(t);
    rules_free(rules);
}

static void a_frame_is_one_wherever_its_app_is_installed(void **state) {
    (void)state;
    struct rules *rules = NULL;
    struct frame_table *t = table_new(&rules);
    struct place here, there, other_build;
    for (int named = 0; named < 2; named++) {
        const char *function = named ? "-[Cart load]" : NULL;
        place_make(&here, 1, "/var/A/Shop.app/Shop", function, 64);
        place_make(&there, 1, "/var/B/Shop.app/Shop", function, 64);
        place_make(&other_build, 2, "/var/A/Shop.app/Shop", function, 64);
        struct frame_info *info = find(t, &here);
        assert_ptr_equal(find(t, &there), info);
        assert_ptr_equal(find(t, &here), info);
        /* The app's build is part of the info only for frames without a name. */
        assert_true((find(t, &other_build) == info) == (named != 0));
        assert_true(info->in_app && info->resolved == (named != 0));
    }
    table_free(t, rules);
}

static void frames_that_differ_are_told_apart(void **state) {
    (void)state;
    struct rules *rules = NULL;
    struct frame_table *t = table_new(&rules);
    struct frame_info *seen[6];
    for (int again = 0; again < 2; again++) {
        for (size_t i = 0; i < sizeof seen / sizeof *seen; i++) {
            static const char *const functions[] = {"load", "load(int)", "load", NULL, NULL, NULL};
            static const char *const linkages[] = {NULL, NULL, "_Z4loadv", NULL, NULL, NULL};
            struct place p;
            place_make(&p, i == 5, "/Shop", functions[i], i == 4 ? 128 : 64);
            p.line.linkage = linkages[i];
            p.image.id.len = i == 5 ? 16 : 0;
            p.image.id.kind = i == 5 ? IMAGE_ID_UUID : IMAGE_ID_NONE;
            struct frame_info *info = find(t, &p);
            assert_true(!again || info == seen[i]);
            for (size_t k = 0; k < i; k++) {
                assert_ptr_not_equal(info, seen[k]);
            }
            seen[i] = info;
        }
    }
    table_free(t, rules);
}

/* Of a nameless frame only the offset is its own; the rest follows from its image. */
static void nameless_frames_of_an_image_differ_in_their_offset(void **state) {
    (void)state;
    struct rules *rules = NULL, *others = NULL;
    struct frame_table *t = table_new(&rules), *alone = table_new(&others);
    struct place first, second;
    place_make(&first, 1, "/var/A/Shop.app/Shop", NULL, 64);
    place_make(&second, 1, "/var/A/Shop.app/Shop", NULL, 128);
    struct frame_info *a = find(t, &first);
    a->votes = a->newest = a->vote_epoch = 7;
    const struct frame_info *b = find(t, &second), *same = find(alone, &second);
    assert_string_equal(a->function, "+0x40");
    assert_string_equal(b->function, "+0x80");
    assert_ptr_equal(b->canonical, b);
    assert_ptr_equal(t->infos.data[b->index], b);
    assert_ptr_not_equal(a->canonical, b->canonical);
    assert_int_equal(b->votes + b->newest + b->vote_epoch, 0);
    assert_string_equal(b->function, same->function);
    assert_string_equal(b->image, same->image);
    assert_string_equal(b->framework, same->framework);
    assert_true(b->enclosing == same->enclosing && b->enclosing != a->enclosing);
    assert_true(b->side == same->side && b->place == same->place && b->cause == same->cause);
    assert_true(b->in_app && b->in_image && !b->resolved);
    table_free(t, rules);
    table_free(alone, others);
}

/* Offsets in an image whose load address is not known are not offsets in its file. */
static void a_frame_of_an_unplaced_image_has_no_id(void **state) {
    (void)state;
    for (int unplaced_first = 0; unplaced_first < 2; unplaced_first++) {
        struct rules *rules = NULL;
        struct frame_table *t = table_new(&rules);
        struct frame_info *infos[2];
        for (int i = 0; i < 2; i++) {
            struct place p;
            place_make(&p, 1, "/var/A/Shop.app/Shop", NULL, 64);
            p.image.unplaced = (i == 0) == unplaced_first;
            infos[p.image.unplaced] = find(t, &p);
        }
        assert_string_equal(infos[0]->image, "01000000-0000-0000-0000-000000000000");
        assert_string_equal(infos[1]->image, "app");
        table_free(t, rules);
    }
}

/* Each device has its own path of the app, so the number of cached images must have a limit. */
static void images_without_end_are_forgotten(void **state) {
    (void)state;
    struct rules *rules = NULL;
    struct frame_table *t = table_new(&rules);
    struct frame_info *info = NULL;
    for (int i = 0; i < 2 * IMAGES_KNOWN_MAX + 10; i++) {
        char path[64];
        struct place p;
        snprintf(path, sizeof path, "/var/%d/Shop.app/Shop", i);
        place_make(&p, 1, path, i % 2 ? "-[Cart load]" : NULL, 64);
        struct frame_info *now = find(t, &p);
        info = i == 1 ? now : info;
        assert_true(i == 0 || (now == info) == (i % 2 != 0));
        assert_true(t->known_images.len <= IMAGES_KNOWN_MAX);
    }
    assert_int_equal(t->infos.len, 2);
    assert_int_equal(t->known_images.len, 10);
    table_free(t, rules);
}

/* Devices name a function that a library does not export by the export before it. */
static void a_name_far_from_its_function_is_none(void **state) {
    (void)state;
    struct rules *rules = NULL;
    struct frame_table *t = table_new(&rules);
    static const struct {
        uint64_t distance;
        enum dump_source source;
        bool in_app, resolved;
    } cases[] = {{16384, DUMP_SOURCE_REPORT, false, true},
                 {16385, DUMP_SOURCE_REPORT, false, false},
                 {59012, DUMP_SOURCE_SYSTEM, false, true},
                 {59012, DUMP_SOURCE_REPORT, true, true}};
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        size_t n = i / 2;
        struct place p;
        t->rules = i % 2 ? rules : NULL;
        place_make(&p, 1, "/private/var/A/libengine.dylib", "engine_run", 64);
        p.image.name = t->rules ? "libengine.dylib" : "libother.dylib"; /* facts are cached */
        p.image.in_app = cases[n].in_app;
        p.location.source = cases[n].source;
        p.location.offset = p.location.start + cases[n].distance;
        struct frame_info *info = find(t, &p);
        assert_true(info->resolved == cases[n].resolved);
    }
    table_free(t, rules);
}

/* A rule says so of the image as a whole, by name, path or id, as --in-app and --not-in-app do. */
static void far_names_are_believed_in_images_that_rules_say_are_the_apps(void **state) {
    (void)state;
    static const char *const globs[] = {"libengine.dylib", "/var/A/*.dylib",
                                        "id:01000000000000000000000000000000"};
    for (size_t i = 0; i < 2 * sizeof globs / sizeof *globs; i++) {
        bool ours = i % 2;
        struct strbuf rule = {0};
        struct rules *rules = NULL;
        struct frame_table *t = calloc(1, sizeof *t);
        struct place p;
        assert_non_null(t);
        strbuf_addf(&rule, "%s * in %s\n", ours ? "in-app" : "not-in-app", globs[i / 2]);
        assert_int_equal(rules_new(&rules, NULL), ST_OK);
        assert_int_equal(rules_add(rules, "own", strbuf_cstr(&rule), rule.len, NULL), ST_OK);
        t->rules = rules;
        place_make(&p, 1, "/var/A/libengine.dylib", "engine_run", 64);
        p.image.name = "libengine.dylib";
        p.image.in_app = !ours; /* the rule decides, not the dump */
        p.location.source = DUMP_SOURCE_REPORT;
        p.location.offset = p.location.start + 30000;
        struct frame_info *info = find(t, &p);
        assert_true(info->in_app == ours && info->resolved == ours);
        table_free(t, rules);
        strbuf_release(&rule);
    }
}

/* The same in a dump that no command has named yet. */
static void a_far_name_of_a_raw_dump_is_none(void **state) {
    (void)state;
    static const char text[] =
        "{\"format\":\"stall-dump/1\",\"id\":\"x\",\"device\":{\"os\":\"iOS 17.1\"},"
        "\"images\":[{\"name\":\"libsqlite3.dylib\",\"load\":4096,\"size\":1000000}],"
        "\"threads\":[{\"id\":1,\"main\":true,\"frames\":[70000,80000]}],"
        "\"names\":{\"70000\":[\"sqlite3_step\",16384],\"80000\":[\"sqlite3_step\",16385]}}";
    struct rules *rules = NULL;
    struct frame_table *t = table_new(&rules);
    struct dump d;
    assert_int_equal(dump_parse(&d, text, sizeof text - 1, NULL), ST_OK);
    assert_true(frame_table_begin(t, &d));
    assert_true(frame_of_address(t, &d, &d.threads[0].stack, 0)->resolved);
    assert_false(frame_of_address(t, &d, &d.threads[0].stack, 1)->resolved);
    dump_release(&d);
    table_free(t, rules);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frame_is_one_wherever_its_app_is_installed),
        cmocka_unit_test(frames_that_differ_are_told_apart),
        cmocka_unit_test(nameless_frames_of_an_image_differ_in_their_offset),
        cmocka_unit_test(a_frame_of_an_unplaced_image_has_no_id),
        cmocka_unit_test(images_without_end_are_forgotten),
        cmocka_unit_test(a_name_far_from_its_function_is_none),
        cmocka_unit_test(far_names_are_believed_in_images_that_rules_say_are_the_apps),
        cmocka_unit_test(a_far_name_of_a_raw_dump_is_none),
    };
    return cmocka_run_group_tests_name("frame_lookup", tests, NULL, NULL);
}
