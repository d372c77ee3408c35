/* Tests keys made of the framework and the app's functions: their parts, changes that do not change
 * them, and idle stacks. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "classify/keys/fixture_dump_test.h"
#include "classify/keys/key.h"
#include "dump/dump_private.h"

struct apps {
    struct rules *rules;
    struct keyer *keyer;
    struct stall_key key;
};

static int apps_set_up(void **state) {
    struct apps *a = calloc(1, sizeof *a);
    assert_non_null(a);
    assert_int_equal(rules_new(&a->rules, NULL), ST_OK);
    assert_int_equal(rules_add_builtin(a->rules, NULL), ST_OK);
    const struct key_options o = {.rules = a->rules, .inlines = true, .aliases = true};
    assert_int_equal(keyer_new(&a->keyer, &o, NULL), ST_OK);
    *state = a;
    return 0;
}

static int apps_tear_down(void **state) {
    struct apps *a = *state;
    keyer_free(a->keyer);
    rules_free(a->rules);
    free(a);
    return 0;
}

/* Adds a sampled stack from lines "image function", or "* image function" for the app; a function
 * "?" has no name. */
static void apps_stack(struct fixture *f, uint64_t count, const char *const *lines, size_t n) {
    f->d.device.os = "iOS 18.1";
    f->d.stall.cpu_permille = -1;
    for (size_t i = 0; i < n; i++) {
        static char images[FIXTURE_FRAMES][64]; /* the fixture borrows these names */
        static size_t next;
        bool app = lines[i][0] == '*';
        const char *image = lines[i] + (app ? 2 : 0), *space = strchr(image, ' ');
        char *copy = images[next++ % FIXTURE_FRAMES];
        memcpy(copy, image, (size_t)(space - image));
        copy[space - image] = 0;
        fixture_frame(f, copy, app, strcmp(space + 1, "?") == 0 ? NULL : space + 1,
                      0x100 * (i + 1));
    }
    fixture_stack(f, count);
}
#define STACK(f, count, ...)                                                                       \
    apps_stack(f, count, (const char *const[]){__VA_ARGS__},                                       \
               sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))
#define LOOP                                                                                       \
    "CoreFoundation __CFRUNLOOP_IS_CALLING_OUT_TO_A_SOURCE0_PERFORM_FUNCTION__",                   \
        "CoreFoundation __CFRunLoopRun", "GraphicsServices GSEventRunModal", "* Shop main"
#define WAITING                                                                                    \
    "libsystem_kernel.dylib mach_msg2_trap", "CoreFoundation __CFRunLoopServiceMachPort",          \
        "CoreFoundation __CFRunLoopRun", "CoreFoundation CFRunLoopRunSpecific"

static void expect_key(struct apps *a, struct fixture *f, size_t level, const char *want) {
    struct strbuf b = {0};
    assert_int_equal(keyer_key(a->keyer, &f->d, &a->key, NULL), ST_OK);
    const struct key *key = &a->key.level[level - 1];
    for (size_t i = 0; i < key->count; i++) {
        strbuf_addf(&b, "%s%s!%s", i ? " <- " : "", key->frames[i].info->image,
                    key->frames[i].info->function);
    }
    assert_string_equal(strbuf_cstr(&b), want);
    strbuf_release(&b);
}

static void a_key_is_the_framework_that_the_app_called_and_its_innermost_frames(void **state) {
    struct fixture f = {0};
    STACK(&f, 1, "libsystem_kernel.dylib __fsync", "Foundation _NSWriteDataToFile",
          "Foundation -[NSData writeToURL:options:error:]", "* Shop -[DraftStore save]",
          "UIKitCore -[UIView layoutSubviews]", "* Shop -[Draft edit]", "* Shop -[Draft tap]",
          "* Shop -[Draft begin]", "* Shop -[Draft outer]", LOOP);
    expect_key(*state, &f, 1, "Foundation! <- app!-[DraftStore save] <- app!-[Draft edit]");
    expect_key(*state, &f, 2,
               "Foundation! <- app!-[DraftStore save] <- app!-[Draft edit] <- app!-[Draft tap] <- "
               "app!-[Draft begin]");
    struct apps *a = *state;
    assert_string_equal(a->key.level[0].frames[0].call->function,
                        "-[NSData writeToURL:options:error:]");
    assert_string_equal(a->key.action.frames[0].info->function, "-[Draft outer]");
}

static void a_stack_without_its_callers_has_no_outermost_frame(void **state) {
    struct apps *a = *state;
    struct fixture f = {0};
    STACK(&f, 1, "libc.so.6 read", "* Shop load", "* Shop open");
    expect_key(a, &f, 1, "app!load <- app!open");
    assert_string_equal(a->key.action.frames[0].info->function, "open");
    f.stacks[0].incomplete = true;
    expect_key(a, &f, 1, "app!load <- app!open");
    assert_int_equal(a->key.action.count, 0);
    /* The key does not depend on frames that are missing below the loop. */
    struct fixture g = {0};
    STACK(&g, 1, "libc.so.6 read", "* Shop load", "* Shop open", LOOP);
    g.stacks[0].incomplete = true;
    expect_key(a, &g, 1, "app!load <- app!open");
    assert_string_equal(a->key.action.frames[0].info->function, "open");
}

static void code_in_no_image_is_the_app_s_own_if_its_name_says_so(void **state) {
    struct apps *a = *state;
    struct fixture f = {0};
    STACK(&f, 1, "libc.so.6 read", "* Shop sync", "* Shop handler", "libc.so.6 run", "* Shop main");
    for (size_t i = 1; i < 4; i++) {
        f.locations[i].image = -1;
        f.locations[i].in_app = i < 3;
        f.lines[i].file = i < 3 ? "/srv/app.py" : "/usr/lib/python3.11/asyncio/events.py";
    }
    expect_key(a, &f, 1, "app!sync <- app!handler");
}

static void runtime_code_is_no_framework(void **state) {
    struct fixture f = {0};
    STACK(&f, 1, "* Shop parse", "* Shop load", LOOP);
    STACK(&f, 1, "libobjc.A.dylib objc_msgSend", "* Shop parse", "* Shop load", LOOP);
    STACK(&f, 1, "libsystem_malloc.dylib nanov2_malloc", "libsystem_malloc.dylib malloc",
          "* Shop parse", "* Shop load", LOOP);
    STACK(&f, 1, "libsystem_platform.dylib _platform_memmove", "* Shop parse", "* Shop load", LOOP);
    STACK(&f, 1, "libswiftCore.dylib swift_retain", "* Shop parse", "* Shop load", LOOP);
    STACK(&f, 4, "libsystem_kernel.dylib pread", "Foundation ?", "* Shop read", LOOP);
    expect_key(*state, &f, 1, "app!parse <- app!load");
    struct apps *a = *state;
    /* The two stacks of one function have five samples together, more than the four of the
     * other. */
    assert_int_equal(a->key.hits, 5);
    assert_int_equal(a->key.samples, 9);
}

static void a_key_outlives_what_a_system_changes_inside_itself(void **state) {
    static const char *const splits[] = {"UIKit -[UIView layoutIfNeeded]",
                                         "UIKitCore -[UIView _layoutIfNeededPrivate]",
                                         "UIKitCore ?"};
    for (size_t i = 0; i < sizeof splits / sizeof *splits; i++) {
        struct fixture f = {0};
        STACK(&f, 1, "QuartzCore CA::Layer::layout_if_needed()", splits[i], "* Shop -[Feed show]",
              LOOP);
        expect_key(*state, &f, 1, "UIKit! <- app!-[Feed show]");
    }
}

static void recursion_counts_once(void **state) {
    struct fixture f = {0};
    STACK(&f, 1, "* Shop walk", "* Shop visit", "* Shop walk", "* Shop visit", "* Shop load", LOOP);
    expect_key(*state, &f, 1, "app!walk <- app!visit");
    expect_key(*state, &f, 2, "app!walk <- app!visit <- app!load");
}

static void inlined_functions_count_and_their_absence_is_an_alias(void **state) {
    struct apps *a = *state;
    struct fixture seen = {0}, unseen = {0};
    static struct dump_line lines[2] = {{.function = "helper"}, {.function = "parse"}};
    uint64_t alias;
    STACK(&seen, 1, "* Shop parse", "* Shop load", LOOP);
    seen.locations[0].lines = lines;
    seen.locations[0].line_count = 2;
    expect_key(a, &seen, 1, "app!helper <- app!parse");
    alias = a->key.was[KEY_NOT_INLINED][0];
    STACK(&unseen, 1, "* Shop parse", "* Shop load", LOOP);
    expect_key(a, &unseen, 1, "app!parse <- app!load");
    struct strbuf b = {0};
    key_text(&a->key.level[0], &b);
    assert_true(alias == key_number('1', b.data, b.len));
    assert_int_equal(a->key.was[KEY_NOT_INLINED][0], 0);
    strbuf_release(&b);
}

static void a_start_stands_for_places_without_a_name_and_its_absence_is_an_alias(void **state) {
    struct apps *a = *state;
    struct fixture seen = {0}, unseen = {0};
    STACK(&seen, 1, "* Shop ?", "* Shop load", LOOP);
    STACK(&unseen, 1, "* Shop ?", "* Shop load", LOOP);
    seen.locations[0].offset = unseen.locations[0].offset = unseen.locations[0].start = 0x1234;
    seen.locations[0].start = 0x1200;
    expect_key(a, &seen, 1, "ab00!+0x1200 <- app!load");
    uint64_t alias = a->key.was[KEY_STARTLESS][0];
    expect_key(a, &unseen, 1, "ab00!+0x1234 <- app!load");
    struct strbuf b = {0};
    key_text(&a->key.level[0], &b);
    assert_true(alias == key_number('1', b.data, b.len));
    assert_int_equal(a->key.was[KEY_STARTLESS][0], 0);
    strbuf_release(&b);
}

/* Replaces the images of the dump's locations by none, as those of interpreted code. */
static void take_images(struct fixture *f) {
    for (size_t i = 0; i < f->used; i++) {
        f->frames[i] = i + 1;
        f->locations[i].image = -1;
        f->locations[i].in_app = true;
    }
}

static void code_without_an_image_has_no_alias(void **state) {
    struct apps *a = *state;
    struct fixture f = {0};
    STACK(&f, 1, "* Shop parse", "* Shop load", LOOP);
    f.d.image_order = (const struct dump_image_order[]){{f.images[0].load, 0}};
    f.d.image_count = 1;
    expect_key(a, &f, 1, "app!parse <- app!load");
    assert_true(a->key.was[KEY_NAMELESS][0] != 0 && a->key.was[KEY_NAMELESS][1] != 0);
    take_images(&f);
    expect_key(a, &f, 1, "app!parse <- app!load");
    for (size_t way = 0; way < KEY_WAYS; way++) {
        for (size_t level = 0; level <= KEY_LEVELS; level++) {
            assert_int_equal(a->key.was[way][level], 0);
        }
    }
}

/* Without names the only frame of the app is main's, which all stacks have. */
static void a_frame_that_is_not_in_the_key_is_no_alias(void **state) {
    struct apps *a = *state;
    struct fixture f = {0};
    STACK(&f, 1, "UIKitCore -[UIView layout]", "UIKitCore -[UIView go]", LOOP, "* Shop main");
    struct dump_image_order order[FIXTURE_IMAGES];
    for (size_t i = 0; i < f.d.image_count; i++) {
        order[i] = (struct dump_image_order){f.images[i].load, (uint32_t)i};
    }
    f.d.image_order = order;
    assert_int_equal(keyer_key(a->keyer, &f.d, &a->key, NULL), ST_OK);
    assert_int_equal(a->key.status, KEY_OK);
    for (size_t level = 0; level < KEY_LEVELS; level++) {
        assert_true(a->key.level[level].count > 0);
        assert_int_equal(a->key.was[KEY_NAMELESS][level], 0);
    }
}

/* The offsets of nameless functions change with each build of the vendor's library. */
static void a_nameless_frame_of_a_vendor_is_passed_over_if_others_have_names(void **state) {
    struct fixture named = {0}, inside = {0};
    STACK(&named, 1, "libsystem_kernel.dylib pread", "FirebaseCore FIRLoad", "FirebaseCore FIRGo",
          "CoreFoundation __CFRunLoopDoBlocks", LOOP);
    STACK(&inside, 1, "libsystem_kernel.dylib pread", "FirebaseCore ?", "FirebaseCore FIRLoad",
          "FirebaseCore ?", "FirebaseCore FIRGo", "CoreFoundation __CFRunLoopDoBlocks", LOOP);
    expect_key(*state, &named, 1, "Firebase!FIRLoad <- Firebase!FIRGo");
    expect_key(*state, &inside, 1, "Firebase!FIRLoad <- Firebase!FIRGo");
    expect_key(*state, &inside, 2, "Firebase!FIRLoad <- Firebase!FIRGo");
    /* one function may be the only one that the library exports, and the entry to all it does */
    struct fixture entry = {0};
    STACK(&entry, 1, "libsystem_kernel.dylib pread", "FirebaseCore ?", "FirebaseCore FIRGo",
          "FirebaseCore FIRGo", "CoreFoundation __CFRunLoopDoBlocks", LOOP);
    expect_key(*state, &entry, 1, "ab01!+0x200 <- Firebase!FIRGo");
}

static void without_the_app_its_vendors_then_the_relevant_frames_then_images(void **state) {
    struct fixture vendor = {0}, system = {0}, nothing = {0};
    STACK(&vendor, 1, "libsystem_kernel.dylib pread", "FirebaseCore FIRLoad", "FirebaseCore FIRGo",
          "CoreFoundation __CFRunLoopRun");
    expect_key(*state, &vendor, 1, "Firebase!FIRLoad <- Firebase!FIRGo");
    STACK(&system, 1, "libobjc.A.dylib objc_msgSend", "UIKitCore ?",
          "UIKitCore -[UIKeyboardImpl setDelegate:]", "CoreFoundation __CFRunLoopRun");
    expect_key(*state, &system, 1, "UIKit!-[UIKeyboardImpl setDelegate:]");
    STACK(&nothing, 1, "libobjc.A.dylib objc_msgSend", "UIKitCore ?", "QuartzCore ?",
          "CoreFoundation __CFRunLoopRun");
    expect_key(*state, &nothing, 1, "UIKit! <- QuartzCore!");
}

static void a_framework_has_one_name_in_the_keys_of_its_own_frames(void **state) {
    static const char *const images[] = {"UIKit", "UIKitCore"};
    for (size_t i = 0; i < sizeof images / sizeof *images; i++) {
        struct fixture f = {0};
        fixture_frame(&f, images[i], false, "-[UICollectionViewFlowLayout prepareLayout]", 8);
        fixture_frame(&f, images[i], false, "-[UICollectionView layoutSubviews]", 16);
        STACK(&f, 1, LOOP);
        expect_key(*state, &f, 1,
                   "UIKit!-[UICollectionViewFlowLayout prepareLayout] <- "
                   "UIKit!-[UICollectionView layoutSubviews]");
    }
}

#define STYLES                                                                                     \
    "libgtk-3.so.0 gtk_css_node_validate_internal", "libgtk-3.so.0 gtk_container_idle_sizer",      \
        "libgdk-3.so.0 gdk_frame_clock_paint_idle", "libglib-2.0.so.0 g_timeout_dispatch",         \
        "libglib-2.0.so.0 g_main_context_iterate", "* shop main"

static void what_is_private_to_a_framework_is_in_no_key(void **state) {
    static const char *const inside[] = {"libgtk-3.so.0 gtk_css_selector_tree_match",
                                         "libgtk-3.so.0 gtk_css_static_style_compute_value"};
    static const char *const shaping[] = {"libQt6Gui.so.6 QTextEngine::shapeText",
                                          "libQt6Gui.so.6 QFontEngineFT::loadGlyph"};
    for (size_t i = 0; i < 2; i++) {
        struct fixture one = {0}, two = {0};
        STACK(&one, 1, inside[i], STYLES);
        one.d.device.os = "Linux";
        expect_key(*state, &one, 1,
                   "GTK!gtk_container_idle_sizer <- GTK!gdk_frame_clock_paint_idle");
        STACK(&two, 1, shaping[i], "libQt6Gui.so.6 QTextLayout::createLine",
              "libQt6Widgets.so.6 QLabel::paintEvent", "libQt6Widgets.so.6 QWidget::grab",
              "* shop main");
        two.d.device.os = "Linux";
        expect_key(*state, &two, 1,
                   "Qt Gui!QTextLayout::createLine <- Qt Widgets!QLabel::paintEvent");
        expect_key(*state, &two, 2,
                   "Qt Gui!QTextLayout::createLine <- Qt Widgets!QLabel::paintEvent <- Qt "
                   "Widgets!QWidget::grab");
    }
    struct fixture deep = {0};
    STACK(&deep, 1, "libgtk-3.so.0 gtk_css_selector_tree_match", "libgtk-3.so.0 gtk_css_value_new",
          "libgtk-3.so.0 gtk_css_value_new", STYLES);
    deep.d.device.os = "Linux";
    expect_key(*state, &deep, 2,
               "GTK!gtk_css_value_new <- GTK!gtk_css_node_validate_internal <- "
               "GTK!gtk_container_idle_sizer <- GTK!gdk_frame_clock_paint_idle");
    /* If a dump does not say which images are the app's, its key has the innermost functions. */
    struct fixture unsaid = {0};
    STACK(&unsaid, 1, "Shop +[DB shared]", "Shop -[Cart load]", "Shop -[Cart open]", LOOP);
    expect_key(*state, &unsaid, 1, "Shop!+[DB shared] <- Shop!-[Cart load]");
}

#define COMMIT                                                                                     \
    "QuartzCore CA::Context::commit_transaction(CA::Transaction*, double, double*)",               \
        "QuartzCore CA::Transaction::commit()"
#define CYCLE_IOS_15 "UIKitCore _UIApplicationFlushCATransaction", LOOP
#define CYCLE_IOS_18                                                                               \
    "UIKitCore _UIApplicationFlushCATransaction", "UIKitCore _UIUpdateSequenceRunNext",            \
        "UIKitCore schedulerStepScheduledMainSectionContinue",                                     \
        "UpdateCycle UC::DriverCore::continueProcessing()", "CoreFoundation __CFMachPortPerform",  \
        LOOP

static void frameworks_alone_are_told_apart_by_the_wait_and_not_by_who_calls(void **state) {
    struct fixture lock = {0}, lock_18 = {0}, send = {0}, send_18 = {0}, work = {0};
    STACK(&lock, 1, "libsystem_kernel.dylib __psynch_mutexwait",
          "libsystem_pthread.dylib _pthread_mutex_firstfit_lock_wait", COMMIT, CYCLE_IOS_15);
    expect_key(*state, &lock, 1, "QuartzCore! <- wait!lock");
    expect_key(*state, &lock, 2, "QuartzCore! <- wait!lock");
    STACK(&lock_18, 1, "libsystem_kernel.dylib __psynch_mutexwait",
          "libsystem_pthread.dylib _pthread_mutex_firstfit_lock_wait", COMMIT, CYCLE_IOS_18);
    expect_key(*state, &lock_18, 1, "QuartzCore! <- wait!lock");
    STACK(&send, 1, "libsystem_kernel.dylib mach_msg_trap", COMMIT, CYCLE_IOS_15);
    expect_key(*state, &send, 1, "QuartzCore! <- wait!ipc");
    STACK(&send_18, 1, "libsystem_kernel.dylib mach_msg2_trap", COMMIT, CYCLE_IOS_18);
    expect_key(*state, &send_18, 1, "QuartzCore! <- wait!ipc");
    STACK(&work, 1, "libsystem_kernel.dylib pread", COMMIT, CYCLE_IOS_18);
    expect_key(*state, &work, 1, "QuartzCore!");
}

static void what_a_rule_skips_of_the_app_is_better_than_runtime_code(void **state) {
    struct fixture f = {0};
    STACK(&f, 1, "libobjc.A.dylib objc_msgSend", "libsystem_malloc.dylib nanov2_malloc",
          "* Shop _GLOBAL__sub_I_registry.cpp", "dyld invoke");
    expect_key(*state, &f, 1, "app!_GLOBAL__sub_I_registry.cpp");
}

static void callouts_alone_have_the_key_of_their_image_and_no_vote(void **state) {
    struct fixture f = {0};
    STACK(&f, 3, LOOP);
    expect_key(*state, &f, 1, "CoreFoundation!");
    expect_key(*state, &f, 2, "CoreFoundation!");
    STACK(&f, 1, "* Shop parse", "* Shop load", LOOP);
    expect_key(*state, &f, 1, "app!parse <- app!load");
}

static void a_stack_of_hidden_frames_is_none(void **state) {
    (void)state;
    struct apps own = {0};
    struct fixture f = {0};
    static const char text[] = "hide  probe*\n";
    assert_int_equal(rules_new(&own.rules, NULL), ST_OK);
    assert_int_equal(rules_add(own.rules, "hide.rules", text, sizeof text - 1, NULL), ST_OK);
    assert_int_equal(keyer_new(&own.keyer, &(struct key_options){.rules = own.rules}, NULL), ST_OK);
    STACK(&f, 1, "* Shop probe_take", "* Shop probe_wait");
    assert_int_equal(keyer_key(own.keyer, &f.d, &own.key, NULL), ST_OK);
    assert_int_equal(own.key.status, KEY_NO_STACK);
    keyer_free(own.keyer);
    rules_free(own.rules);
}

/* ---- idle ---- */

static enum key_status apps_status(struct apps *a, const struct fixture *f) {
    assert_int_equal(keyer_key(a->keyer, &f->d, &a->key, NULL), ST_OK);
    return a->key.status;
}

static void only_the_outermost_loop_waiting_is_idle(void **state) {
    struct fixture idle = {0}, nested = {0}, modal = {0};
    STACK(&idle, 1, WAITING, "GraphicsServices GSEventRunModal", "* Shop main");
    assert_int_equal(apps_status(*state, &idle), KEY_IDLE);
    STACK(&nested, 1, WAITING, "Foundation -[NSRunLoop runMode:beforeDate:]",
          "* Shop -[Bridge waitFor:]", LOOP);
    assert_int_equal(apps_status(*state, &nested), KEY_OK);
    STACK(&modal, 1, WAITING, "AppKit -[NSApplication runModalForWindow:]", "* Shop -[Prefs ask]",
          LOOP);
    assert_int_equal(apps_status(*state, &modal), KEY_IDLE);
}

static void a_loop_that_a_nameless_loop_may_have_called_is_not_idle(void **state) {
    struct fixture nested = {0}, closure = {0}, start = {0}, host = {0};
    STACK(&nested, 1, WAITING, "Foundation -[NSRunLoop runMode:beforeDate:]",
          "* Shop -[Bridge waitFor:]", "UIKitCore ?", "GraphicsServices ?", "UIKitCore ?",
          "* Shop main", "dyld ?");
    assert_int_equal(apps_status(*state, &nested), KEY_OK);
    expect_key(*state, &nested, 1, "Foundation! <- app!-[Bridge waitFor:]");
    STACK(&closure, 1, "libc.so.6 __poll", "libglib-2.0.so.0 g_main_context_iterate",
          "libglib-2.0.so.0 g_main_loop_run", "libsecret-1.so.0 secret_password_store_sync",
          "* shop save_token", "libgobject-2.0.so.0 g_closure_invoke", "libgio-2.0.so.0 ?",
          "* shop main");
    closure.d.device.os = "Linux";
    assert_int_equal(apps_status(*state, &closure), KEY_OK);
    /* Frames without a name at the start of the thread are no nested loop, whether they are the
     * system's or the app's. */
    STACK(&start, 1, WAITING, "GraphicsServices GSEventRunModal", "UIKitCore ?", "SwiftUI ?",
          "* Shop static Shop.$main()", "* Shop main", "dyld ?");
    assert_int_equal(apps_status(*state, &start), KEY_IDLE);
    STACK(&host, 1, WAITING, "GraphicsServices GSEventRunModal", "* Shop ?", "dyld ?");
    assert_int_equal(apps_status(*state, &host), KEY_IDLE);
}

static void who_hardly_ran_and_is_in_a_nameless_call_did_not_draw(void **state) {
    struct apps *a = *state;
    struct fixture f = {0};
    STACK(&f, 1, "libsystem_kernel.dylib ?", "CoreText TBaseFont::CopyNativeFont() const",
          "* Shop -[Cart title]", LOOP);
    f.d.stall.cpu_permille = 300;
    assert_int_equal(apps_status(a, &f), KEY_OK);
    assert_int_equal(a->key.cause, CAUSE_RENDER);
    f.d.stall.cpu_permille = 40;
    assert_int_equal(apps_status(a, &f), KEY_OK);
    assert_int_not_equal(a->key.cause, CAUSE_RENDER);
}

static void work_without_a_relevant_frame_is_not_idle(void **state) {
    static const char *const leaves[] = {
        "AppleJPEG aj_decode_mcu",
        "AttributeGraph AG::Graph::update()",
        "libsystem_kernel.dylib __psynch_mutexwait",
        "libsystem_malloc.dylib nanov2_malloc",
        "libobjc.A.dylib AutoreleasePoolPage::releaseUntil(objc_object**)",
        "libxpc.dylib xpc_connection_send_message_with_reply_sync"};
    for (size_t i = 0; i < sizeof leaves / sizeof *leaves; i++) {
        struct fixture f = {0};
        STACK(&f, 1, "libsystem_kernel.dylib mach_msg2_trap", leaves[i], LOOP);
        assert_int_equal(apps_status(*state, &f), KEY_OK);
    }
}

static void a_dump_without_samples_that_shows_the_loop_at_work_came_late(void **state) {
    static const char *const leaves[] = {"CoreFoundation __CFRunLoopDoObservers",
                                         "libsystem_kernel.dylib mach_absolute_time"};
    for (size_t i = 0; i < sizeof leaves / sizeof *leaves; i++) {
        struct fixture f = {0};
        struct dump_thread_order order = {0};
        STACK(&f, 1, leaves[i], "CoreFoundation __CFRunLoopRun",
              "CoreFoundation CFRunLoopRunSpecific", "* Shop main");
        assert_int_equal(apps_status(*state, &f), KEY_OK);
        f.thread = (struct dump_thread){.id = 1, .main = true, .cpu_ms = -1, .stack = f.stacks[0]};
        f.d.threads = &f.thread;
        f.d.thread_order = &order;
        f.d.thread_count = 1;
        f.d.sample_count = 0;
        f.d.stall.at_ms = f.d.stall.duration_ms = 2000;
        /* The dump was captured while the stall still lasted. */
        assert_int_equal(apps_status(*state, &f), KEY_OK);
        f.d.stall.at_ms = 2001;
        assert_int_equal(apps_status(*state, &f), KEY_LATE);
        f.d.stall.fatal = true; /* the end of a fatal stall is not known, so it is not late */
        assert_int_equal(apps_status(*state, &f), KEY_OK);
    }
}

/* Makes the first sample the main thread's stack. keep: the sample stays among the samples, too. */
static void capture_main(struct fixture *f, bool keep, struct dump_thread_order *order) {
    f->thread = (struct dump_thread){.id = 1, .main = true, .cpu_ms = -1, .stack = f->stacks[0]};
    f->d.threads = &f->thread;
    f->d.thread_order = order;
    f->d.thread_count = 1;
    f->d.sample_count = keep ? f->d.sample_count : 0;
    f->d.stall.span_ms = f->d.stall.duration_ms = 2000;
    f->d.stall.at_ms = 1000;
}

/* Checks, with samples and without, that neither a loop's own function nor what runs in it counts
 * as waiting. */
static void a_loop_whose_innermost_frame_does_not_wait_is_not_idle(void **state) {
    static const char *const leaves[] = {"CoreFoundation __CFRunLoopRun",
                                         "libsystem_malloc.dylib nanov2_malloc",
                                         "libobjc.A.dylib objc_msgSend"};
    for (size_t i = 0; i < 2 * sizeof leaves / sizeof *leaves; i++) {
        struct fixture f = {0};
        struct dump_thread_order order = {0};
        STACK(&f, 6, leaves[i / 2], "CoreFoundation __CFRunLoopRun",
              "CoreFoundation CFRunLoopRunSpecific", "GraphicsServices GSEventRunModal",
              "* Shop main");
        capture_main(&f, i % 2, &order);
        assert_int_equal(apps_status(*state, &f), KEY_OK);
    }
}

static void a_loop_that_ran_is_not_idle(void **state) {
    struct apps *a = *state;
    for (size_t i = 0; i < 2; i++) {
        struct fixture f = {0};
        struct dump_thread_order order = {0};
        enum key_status idle = i ? KEY_IDLE : KEY_LATE;
        STACK(&f, 6, WAITING, "GraphicsServices GSEventRunModal", "* Shop main");
        capture_main(&f, i, &order);
        f.thread.state = "waiting";
        assert_int_equal(apps_status(a, &f), idle);
        f.thread.state = "running";
        assert_int_equal(apps_status(a, &f), KEY_OK);
        assert_int_equal(a->key.cause, CAUSE_UNKNOWN);
        f.thread.state = NULL;
        /* The share is that of all threads, so it is no evidence about the main thread. */
        f.d.stall.cpu_permille = 900;
        assert_int_equal(apps_status(a, &f), idle);
        f.thread.cpu_ms = 150;
        assert_int_equal(apps_status(a, &f), idle);
        f.thread.cpu_ms = 1500;
        assert_int_equal(apps_status(a, &f), KEY_OK);
        assert_int_equal(a->key.cause, CAUSE_COMPUTE);
        /* Without samples: before the stall's end the main thread ran, so it was not waiting in
         * its loop. */
        f.d.stall.at_ms = 2040;
        assert_int_equal(apps_status(a, &f), i ? KEY_OK : KEY_LATE);
    }
}

static void a_nameless_frame_of_the_loop_changes_nothing(void **state) {
    struct fixture f = {0}, other = {0};
    STACK(&f, 1, "libsystem_kernel.dylib mach_msg2_trap", "CoreFoundation ?",
          "CoreFoundation __CFRunLoopRun", "GraphicsServices GSEventRunModal", "* Shop main");
    assert_int_equal(apps_status(*state, &f), KEY_IDLE);
    STACK(&other, 1, "libsystem_kernel.dylib mach_msg2_trap", "QuartzCore ?",
          "CoreFoundation __CFRunLoopRun", "GraphicsServices GSEventRunModal", "* Shop main");
    assert_int_equal(apps_status(*state, &other), KEY_OK);
}

static void a_thread_that_worked_was_not_idle(void **state) {
    struct fixture f = {0};
    STACK(&f, 6, WAITING, "* Shop main");
    STACK(&f, 2, "* Shop work", LOOP);
    f.d.stall.cpu_permille = 90;
    assert_int_equal(apps_status(*state, &f), KEY_IDLE);
    /* The share is that of all threads, so it is no evidence about the main thread. */
    f.d.stall.cpu_permille = 400;
    assert_int_equal(apps_status(*state, &f), KEY_IDLE);
    struct dump_thread_order order = {0};
    f.thread = (struct dump_thread){.id = 1, .main = true, .cpu_ms = 300};
    f.d.threads = &f.thread;
    f.d.thread_order = &order;
    f.d.thread_count = 1;
    f.d.stall.span_ms = f.d.stall.duration_ms = 1000;
    expect_key(*state, &f, 1, "app!work");
}

static void who_executes_a_block_does_not_wait_for_its_queue(void **state) {
    struct apps *a = *state;
    struct fixture waits = {0}, runs = {0};
    STACK(&waits, 1, "libsystem_kernel.dylib __ulock_wait",
          "libdispatch.dylib __DISPATCH_WAIT_FOR_QUEUE__",
          "libdispatch.dylib _dispatch_sync_f_slow", "* Shop -[Store load]", LOOP);
    assert_int_equal(apps_status(a, &waits), KEY_OK);
    assert_int_equal(a->key.cause, CAUSE_LOCK);
    STACK(&runs, 1, "libsystem_kernel.dylib pread", "Contacts CNRead",
          "libdispatch.dylib _dispatch_client_callout",
          "libdispatch.dylib _dispatch_lane_barrier_sync_invoke_and_complete",
          "* Shop -[Store load]", LOOP);
    assert_int_equal(apps_status(a, &runs), KEY_OK);
    assert_int_equal(a->key.cause, CAUSE_DISK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_is_the_framework_that_the_app_called_and_its_innermost_frames),
        cmocka_unit_test(a_stack_without_its_callers_has_no_outermost_frame),
        cmocka_unit_test(code_in_no_image_is_the_app_s_own_if_its_name_says_so),
        cmocka_unit_test(runtime_code_is_no_framework),
        cmocka_unit_test(a_key_outlives_what_a_system_changes_inside_itself),
        cmocka_unit_test(recursion_counts_once),
        cmocka_unit_test(inlined_functions_count_and_their_absence_is_an_alias),
        cmocka_unit_test(code_without_an_image_has_no_alias),
        cmocka_unit_test(a_frame_that_is_not_in_the_key_is_no_alias),
        cmocka_unit_test(a_start_stands_for_places_without_a_name_and_its_absence_is_an_alias),
        cmocka_unit_test(a_nameless_frame_of_a_vendor_is_passed_over_if_others_have_names),
        cmocka_unit_test(without_the_app_its_vendors_then_the_relevant_frames_then_images),
        cmocka_unit_test(a_framework_has_one_name_in_the_keys_of_its_own_frames),
        cmocka_unit_test(what_is_private_to_a_framework_is_in_no_key),
        cmocka_unit_test(frameworks_alone_are_told_apart_by_the_wait_and_not_by_who_calls),
        cmocka_unit_test(what_a_rule_skips_of_the_app_is_better_than_runtime_code),
        cmocka_unit_test(callouts_alone_have_the_key_of_their_image_and_no_vote),
        cmocka_unit_test(a_stack_of_hidden_frames_is_none),
        cmocka_unit_test(only_the_outermost_loop_waiting_is_idle),
        cmocka_unit_test(a_loop_that_a_nameless_loop_may_have_called_is_not_idle),
        cmocka_unit_test(who_hardly_ran_and_is_in_a_nameless_call_did_not_draw),
        cmocka_unit_test(work_without_a_relevant_frame_is_not_idle),
        cmocka_unit_test(a_nameless_frame_of_the_loop_changes_nothing),
        cmocka_unit_test(a_dump_without_samples_that_shows_the_loop_at_work_came_late),
        cmocka_unit_test(a_loop_whose_innermost_frame_does_not_wait_is_not_idle),
        cmocka_unit_test(a_loop_that_ran_is_not_idle),
        cmocka_unit_test(a_thread_that_worked_was_not_idle),
        cmocka_unit_test(who_executes_a_block_does_not_wait_for_its_queue),
    };
    return cmocka_run_group_tests_name("app_key", tests, apps_set_up, apps_tear_down);
}
