/* Tests the reading of dyld's list, also while it changes or if it is damaged, and of the functions
 * of its images. */
#include "darwin/darwin_world_test.h"

#include <stdlib.h>

#include "darwin/images_darwin.h"

#define ELSEWHERE UINT64_C(0x110000000)

static struct images *made(void) {
    struct images *images = images_new();
    assert_non_null(images);
    images_refresh_async(images);
    return images;
}

static bool has(struct images *images, uint64_t address) {
    struct rec_image image;
    return images_find_async(images, address, &image);
}

static void an_image_is_told_with_its_id_path_and_extent(void **state) {
    struct rec_image image;
    (void)state;
    struct images *images = made();
    assert_true(images_find_async(images, WORLD_APP + WORLD_LEAF, &image));
    assert_int_equal(image.load, WORLD_APP);
    assert_true(image.size > WORLD_LEAF && image.size < mach_world.app.size);
    assert_string_equal(image.path, WORLD_PROGRAM);
    assert_string_equal(image.arch, "arm64");
    assert_true(image.in_app);
    assert_int_equal(image.id_kind, REC_ID_UUID);
    assert_int_equal(image.id_len, 16);
    assert_false(has(images, WORLD_APP - 1));
    assert_false(has(images, WORLD_APP + image.size));
    assert_false(has(images, 0));
    assert_false(has(images, UINT64_MAX));
    images_free(images);
    world_expect_clean();
}

static void a_function_is_known_by_its_start_and_its_frame(void **state) {
    struct fp_function f;
    (void)state;
    struct images *images = made();
    assert_true(images_function_async(images, WORLD_APP + WORLD_LEAF, &f));
    assert_int_equal(f.start, WORLD_APP + 0x4198);
    assert_int_equal(f.rule.kind, UNWIND_RULE_FIXED);
    assert_true(images_function_async(images, WORLD_APP + WORLD_CALLER, &f));
    assert_int_equal(f.start, WORLD_APP + 0x40b0);
    assert_int_equal(f.end, WORLD_APP + 0x4198);
    assert_int_equal(f.rule.kind, UNWIND_RULE_FRAME);
    assert_false(images_function_async(images, WORLD_CODE, &f));
    images_free(images);
}

static void a_function_that_was_asked_for_is_not_read_again(void **state) {
    struct fp_function f;
    (void)state;
    struct images *images = made();
    assert_true(images_function_async(images, WORLD_APP + WORLD_LEAF, &f));
    unsigned reads = standin_counts().calls[STANDIN_READ];
    assert_true(images_function_async(images, WORLD_APP + WORLD_LEAF, &f));
    assert_int_equal(f.start, WORLD_APP + 0x4198);
    assert_int_equal(standin_counts().calls[STANDIN_READ], reads);
    images_free(images);
}

static void a_list_that_did_not_change_is_read_once(void **state) {
    (void)state;
    struct images *images = made();
    unsigned reads = standin_counts().calls[STANDIN_READ];
    images_refresh_async(images);
    assert_int_equal(standin_counts().calls[STANDIN_READ], reads + 1); /* only the list's head is
                                                                          read */
    images_free(images);
}

static void an_image_that_is_loaded_later_is_seen_after_a_refresh(void **state) {
    static const uint64_t loads[] = {WORLD_APP, ELSEWHERE};
    (void)state;
    struct images *images = made();
    standin_map(ELSEWHERE, mach_world.app.bytes, mach_world.app.size);
    assert_false(has(images, ELSEWHERE + WORLD_LEAF));
    world_load(loads, 2);
    images_refresh_async(images);
    assert_true(has(images, ELSEWHERE + WORLD_LEAF));
    assert_true(has(images, WORLD_APP + WORLD_LEAF));
    images_free(images);
}

static void an_image_that_is_unloaded_stays_known_if_a_frame_was_in_it(void **state) {
    static const uint64_t loads[] = {WORLD_APP, ELSEWHERE};
    struct rec_image image;
    (void)state;
    standin_map(ELSEWHERE, mach_world.app.bytes, mach_world.app.size);
    world_load(loads, 2);
    struct images *images = made();
    assert_true(has(images, ELSEWHERE + WORLD_LEAF));
    world_load(loads, 1);
    standin_unmap(ELSEWHERE);
    images_refresh_async(images);
    assert_true(images_find_async(images, ELSEWHERE + WORLD_LEAF, &image));
    assert_string_equal(image.arch, "arm64");
    images_free(images);
}

/* Another image replaces one at the same addresses; from then on, the new image is found there. */
static void an_image_in_anothers_place_is_told_from_it(void **state) {
    static const uint64_t loads[] = {WORLD_APP, ELSEWHERE};
    struct rec_image first, second;
    (void)state;
    uint8_t *changed = malloc(mach_world.app.size);
    assert_non_null(changed);
    memcpy(changed, mach_world.app.bytes, mach_world.app.size);
    standin_map(ELSEWHERE, mach_world.app.bytes, mach_world.app.size);
    world_load(loads, 2);
    struct images *images = made();
    assert_true(images_find_async(images, ELSEWHERE + WORLD_LEAF, &first));
    uint32_t commands = memory_u32_async(changed + 16);
    for (uint8_t *c = changed + 32; commands > 0; c += memory_u32_async(c + 4), commands--) {
        if (memory_u32_async(c) == 0x1b) {
            c[8] ^= 0xff; /* changes the UUID */
        }
    }
    standin_map(ELSEWHERE, changed, mach_world.app.size);
    world_load(loads, 2);
    images_refresh_async(images);
    assert_true(images_find_async(images, ELSEWHERE + WORLD_LEAF, &second));
    assert_memory_not_equal(first.id, second.id, 16);
    images_free(images);
    free(changed);
}

static void while_dyld_changes_the_list_the_old_one_is_kept(void **state) {
    static const uint64_t loads[] = {WORLD_APP, ELSEWHERE};
    (void)state;
    struct images *images = made();
    standin_map(ELSEWHERE, mach_world.app.bytes, mach_world.app.size);
    world_load(loads, 2);
    const struct dyld_image_info *array = mach_world.list.head.infoArray;
    mach_world.list.head.infoArray = NULL;
    images_refresh_async(images);
    assert_true(has(images, WORLD_APP + WORLD_LEAF));
    assert_false(has(images, ELSEWHERE + WORLD_LEAF));
    mach_world.list.head.infoArray = array;
    images_refresh_async(images);
    assert_true(has(images, ELSEWHERE + WORLD_LEAF));
    images_free(images);
}

static void change_list(void *arg, unsigned number) {
    static const uint64_t loads[] = {WORLD_APP, ELSEWHERE};
    if (number == *(unsigned *)arg) {
        world_load(loads, 2);
    }
}

/* The list changes at each call of the reading in turn. */
static void a_list_that_changes_while_it_is_read_is_read_again(void **state) {
    static const uint64_t loads[] = {WORLD_APP};
    (void)state;
    standin_map(ELSEWHERE, mach_world.app.bytes, mach_world.app.size);
    for (unsigned at = 1; at <= 3; at++) { /* the calls read the head, the list, and the head
                                              again */
        world_load(loads, 1);
        struct images *images = images_new();
        assert_non_null(images);
        standin_on_call(change_list, &at);
        images_refresh_async(images);
        standin_on_call(NULL, NULL);
        assert_int_equal(mach_world.list.head.infoArrayCount, 2);
        assert_true(has(images, WORLD_APP + WORLD_LEAF));
        assert_true(has(images, ELSEWHERE + WORLD_LEAF));
        images_free(images);
    }
}

static void a_list_that_cannot_be_read_costs_the_names_only(void **state) {
    static const uint64_t places[] = {WORLD_LIST, WORLD_APP, WORLD_PATHS};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct rec_image image;
        struct images *images = images_new();
        assert_non_null(images);
        standin_unmap(places[i]);
        images_refresh_async(images);
        bool found = images_find_async(images, WORLD_APP + WORLD_LEAF, &image);
        assert_true(found == (places[i] == WORLD_PATHS));
        assert_true(!found || image.path[0] == '\0');
        images_free(images);
        standin_map(WORLD_LIST, &mach_world.list, sizeof mach_world.list);
        standin_map(WORLD_APP, mach_world.app.bytes, mach_world.app.size);
    }
}

static void without_a_list_there_are_no_images(void **state) {
    (void)state;
    standin_fail(STANDIN_TASK_INFO, 1, KERN_FAILURE);
    struct images *images = made();
    assert_false(has(images, WORLD_APP + WORLD_LEAF));
    images_free(images);
    standin_set_infos(WORLD_LIST, 8); /* the struct is too short */
    images = made();
    assert_false(has(images, WORLD_APP + WORLD_LEAF));
    images_free(images);
}

/* Damages each byte of the list in turn; the reading must end. */
static void a_damaged_list_is_bounded(void **state) {
    (void)state;
    for (size_t at = 0; at < sizeof mach_world.list; at++) {
        struct images *images = images_new();
        assert_non_null(images);
        uint8_t *byte = (uint8_t *)&mach_world.list + at;
        *byte ^= 0xff;
        images_refresh_async(images);
        (void)has(images, WORLD_APP + WORLD_LEAF);
        *byte ^= 0xff;
        images_free(images);
    }
    assert_true(standin_counts().calls[STANDIN_READ] < 200000);
    world_expect_clean();
}

static void without_memory_there_is_no_table_and_no_leak(void **state) {
    (void)state;
    images_free(NULL);
    for (unsigned i = 0; i < 100; i++) {
        images_free(made());
    }
    world_expect_clean();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        WORLD_TEST(an_image_is_told_with_its_id_path_and_extent),
        WORLD_TEST(a_function_is_known_by_its_start_and_its_frame),
        WORLD_TEST(a_function_that_was_asked_for_is_not_read_again),
        WORLD_TEST(a_list_that_did_not_change_is_read_once),
        WORLD_TEST(an_image_that_is_loaded_later_is_seen_after_a_refresh),
        WORLD_TEST(an_image_that_is_unloaded_stays_known_if_a_frame_was_in_it),
        WORLD_TEST(an_image_in_anothers_place_is_told_from_it),
        WORLD_TEST(while_dyld_changes_the_list_the_old_one_is_kept),
        WORLD_TEST(a_list_that_changes_while_it_is_read_is_read_again),
        WORLD_TEST(a_list_that_cannot_be_read_costs_the_names_only),
        WORLD_TEST(without_a_list_there_are_no_images),
        WORLD_TEST(a_damaged_list_is_bounded),
        WORLD_TEST(without_memory_there_is_no_table_and_no_leak),
    };
    return cmocka_run_group_tests_name("recorder_images_darwin", tests, NULL, NULL);
}
