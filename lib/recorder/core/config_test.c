/* Tests the reading of configurations, also those of callers that were compiled with an older or a
 * newer header. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "core/core.h"
#include "core/presets.h"
#include "stallrec.h"

static void the_default_is_accepted_as_it_is(void **state) {
    (void)state;
    struct stallrec_config config, read;
    memset(&config, 0xff, sizeof config);
    stallrec_config_init(&config, sizeof config);
    assert_int_equal(config.size, sizeof config);
    assert_int_equal(config.threshold_ms, 250);
    assert_int_equal(config.ring, 20);
    assert_string_equal(config.preset, "default");
    assert_null(config.directory);
    assert_null((void *)(uintptr_t)config.callbacks.stall_begin);
    assert_int_equal(rec_config_read(&read, &config), STALLREC_OK);
    assert_int_equal(read.sample_ms, 50);
}

static void init_touches_no_byte_past_the_callers_struct(void **state) {
    (void)state;
    _Alignas(struct stallrec_config) unsigned char bytes[sizeof(struct stallrec_config)];
    size_t size = offsetof(struct stallrec_config, sample_ms);
    struct stallrec_config head;
    memset(bytes, 0x5a, sizeof bytes);
    /* An array of bytes stands for an older, shorter struct; it is read back by copy. */
    stallrec_config_init((struct stallrec_config *)(void *)bytes, size);
    memset(&head, 0, sizeof head);
    memcpy(&head, bytes, size);
    assert_int_equal(head.check_ms, 1000);
    for (size_t i = size; i < sizeof bytes; i++) {
        assert_int_equal(bytes[i], 0x5a);
    }
}

static void a_newer_caller_is_served_if_it_asks_for_nothing_new(void **state) {
    (void)state;
    struct {
        struct stallrec_config config;
        uint64_t added[2];
    } newer;
    struct stallrec_config read;
    memset(&newer, 0, sizeof newer);
    stallrec_config_init(&newer.config, sizeof newer);
    assert_int_equal(newer.config.size, sizeof newer);
    assert_int_equal(rec_config_read(&read, &newer.config), STALLREC_OK);
    assert_int_equal(read.size, sizeof read);
    newer.added[1] = 1;
    assert_int_equal(rec_config_read(&read, &newer.config), STALLREC_ERR_CONFIG);
}

static void a_struct_without_its_size_is_refused(void **state) {
    (void)state;
    struct stallrec_config config = {0}, read;
    assert_int_equal(rec_config_read(&read, &config), STALLREC_ERR_CONFIG);
    config.size = 64;
    assert_int_equal(rec_config_read(&read, &config), STALLREC_ERR_CONFIG);
}

static void values_are_accepted_up_to_their_limits(void **state) {
    (void)state;
    static const struct {
        size_t field;
        uint32_t low, high;
    } ranges[] = {
        {offsetof(struct stallrec_config, threshold_ms), 1, 3600000},
        {offsetof(struct stallrec_config, check_ms), 10, 3600000},
        {offsetof(struct stallrec_config, sample_ms), 1, 60000},
        {offsetof(struct stallrec_config, first_sample_ms), 0, 3600000},
        {offsetof(struct stallrec_config, ring), 1, 256},
        {offsetof(struct stallrec_config, max_frames), 8, 1024},
        {offsetof(struct stallrec_config, max_threads), 1, 256},
        {offsetof(struct stallrec_config, backoff), 0, 2},
        {offsetof(struct stallrec_config, backoff_cap), 1, 1000},
        {offsetof(struct stallrec_config, check), 0, 1},
        {offsetof(struct stallrec_config, write_deadline_ms), 0, 3600000},
        {offsetof(struct stallrec_config, flags), 0, 3},
        {offsetof(struct stallrec_config, user_share_ppm), 0, 1000000},
        {offsetof(struct stallrec_config, epoch), 0, 1},
        {offsetof(struct stallrec_config, keep_days), 0, 36500},
        {offsetof(struct stallrec_config, file_mode), 0, 0},
        {offsetof(struct stallrec_config, signal_number), 0, INT32_MAX},
    };
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        const uint32_t values[] = {ranges[i].low, ranges[i].high, ranges[i].low - 1,
                                   ranges[i].high + 1};
        for (unsigned k = 0; k < 4; k++) {
            struct stallrec_config config, read;
            stallrec_config_init(&config, sizeof config);
            memcpy((char *)&config + ranges[i].field, &values[k], sizeof values[k]);
            assert_int_equal(rec_config_read(&read, &config),
                             k < 2 ? STALLREC_OK : STALLREC_ERR_CONFIG);
        }
    }
}

static void a_preset_sets_values_and_leaves_the_apps_own(void **state) {
    (void)state;
    struct stallrec_config config;
    stallrec_config_init(&config, sizeof config);
    config.threshold_ms = 1;
    config.app_id = "app";
    config.flags = STALLREC_PLAIN_JSON;
    config.file_mode = 0640;
    assert_int_equal(stallrec_config_preset(&config, "no such"), STALLREC_ERR_PRESET);
    assert_int_equal(config.threshold_ms, 1);
    assert_int_equal(stallrec_config_preset(&config, "default"), STALLREC_OK);
    assert_int_equal(config.threshold_ms, 250);
    assert_string_equal(config.app_id, "app");
    assert_int_equal(config.flags, STALLREC_PLAIN_JSON);
    assert_int_equal(config.file_mode, 0640);
    assert_int_equal(config.size, sizeof config);
}

static void a_detectors_values_count_only_if_it_is_on(void **state) {
    (void)state;
    static const struct {
        uint32_t detector;
        size_t field;
        uint32_t low, high;
    } ranges[] = {
        {STALLREC_DETECT_SEMAPHORE, offsetof(struct stallrec_config, sem_ms), 1, 60000},
        {STALLREC_DETECT_SEMAPHORE, offsetof(struct stallrec_config, sem_count), 1, 1000},
        {STALLREC_DETECT_PING, offsetof(struct stallrec_config, ping_ms), 1, 3600000},
        {STALLREC_DETECT_PING, offsetof(struct stallrec_config, ping_every_ms), 10, 3600000},
        {STALLREC_DETECT_FRAME_RATE, offsetof(struct stallrec_config, frame_hz), 1, 1000},
        {STALLREC_DETECT_FRAME_RATE, offsetof(struct stallrec_config, frame_percent), 1, 100},
        {STALLREC_DETECT_CPU, offsetof(struct stallrec_config, cpu_limit_permille), 1, 1000000},
        {STALLREC_DETECT_LAUNCH, offsetof(struct stallrec_config, launch_ms), 1, 3600000},
        {STALLREC_DETECT_SPAN, offsetof(struct stallrec_config, span_ms), 1, 3600000},
    };
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        const uint32_t values[] = {ranges[i].low, ranges[i].high, ranges[i].low - 1,
                                   ranges[i].high + 1};
        for (unsigned k = 0; k < 4; k++) {
            struct stallrec_config config, read;
            stallrec_config_init(&config, sizeof config);
            memcpy((char *)&config + ranges[i].field, &values[k], sizeof values[k]);
            config.detectors = ranges[i].detector;
            assert_int_equal(rec_config_read(&read, &config),
                             k < 2 ? STALLREC_OK : STALLREC_ERR_CONFIG);
            config.detectors = STALLREC_DETECT_RUNLOOP;
            assert_int_equal(rec_config_read(&read, &config), STALLREC_OK);
        }
    }
    struct stallrec_config config, read;
    stallrec_config_init(&config, sizeof config);
    config.detectors = 128;
    assert_int_equal(rec_config_read(&read, &config), STALLREC_ERR_CONFIG);
    config.detectors = 0; /* as set by a caller whose header has no detectors */
    assert_int_equal(rec_config_read(&read, &config), STALLREC_OK);
    assert_int_equal(read.detectors, STALLREC_DETECT_RUNLOOP);
    config.restart = 2;
    assert_int_equal(rec_config_read(&read, &config), STALLREC_ERR_CONFIG);
}

static void every_preset_has_its_function_and_any_detector_can_be_added(void **state) {
    (void)state;
    static const struct {
        const char *name;
        void (*set)(struct stallrec_config *config);
        uint32_t detectors, threshold_ms;
    } presets[] = {
        {"default", stallrec_config_default, 0x69, 250},
        {"wechat", stallrec_config_wechat, STALLREC_DETECT_RUNLOOP | STALLREC_DETECT_CPU, 2000},
        {"arms", stallrec_config_arms, STALLREC_DETECT_RUNLOOP, 2000},
        {"dewu", stallrec_config_dewu, STALLREC_DETECT_RUNLOOP | STALLREC_DETECT_CPU, 3000},
        {"qilagmonitor", stallrec_config_qilagmonitor, STALLREC_DETECT_SEMAPHORE, 264},
    };
    for (size_t i = 0; i < sizeof presets / sizeof *presets; i++) {
        struct stallrec_config named, config, read;
        assert_string_equal(rec_preset_name(i), presets[i].name);
        stallrec_config_init(&named, sizeof named);
        stallrec_config_init(&config, sizeof config);
        config.app_id = named.app_id = "app";
        presets[i].set(&config);
        assert_int_equal(stallrec_config_preset(&named, presets[i].name), STALLREC_OK);
        assert_memory_equal(&named, &config, sizeof config);
        assert_string_equal(config.app_id, "app");
        assert_int_equal(config.detectors, presets[i].detectors);
        assert_int_equal(config.threshold_ms, presets[i].threshold_ms);
        config.detectors = 127;
        assert_int_equal(rec_config_read(&read, &config), STALLREC_OK);
    }
    assert_null(rec_preset_name(5));
}

static void values_are_listed_with_a_source_or_none(void **state) {
    (void)state;
    struct rec_preset_value value;
    for (size_t i = 0; rec_preset_name(i) != NULL; i++) {
        unsigned published = 0, count = 0;
        for (size_t k = 0; rec_preset_value(i, k, &value); k++) {
            assert_non_null(value.field);
            assert_true(value.source == NULL || value.source[0] != '\0');
            published += value.source != NULL;
            count++;
        }
        assert_true(published >= 2 && count > published);
    }
    assert_false(rec_preset_value(99, 0, &value));
    for (size_t i = 0; i < 7; i++) {
        assert_int_equal(rec_detector_at(i)->bit, 1u << i);
    }
    assert_null(rec_detector_at(7));
}

static void every_error_has_its_own_text(void **state) {
    (void)state;
    for (int i = STALLREC_OK; i <= STALLREC_ERR_NOTHING; i++) {
        const char *text = stallrec_error_text((enum stallrec_error)i);
        assert_string_not_equal(text, "unknown error");
        for (int k = 0; k < i; k++) {
            assert_string_not_equal(text, stallrec_error_text((enum stallrec_error)k));
        }
    }
    assert_string_equal(stallrec_error_text((enum stallrec_error)99), "unknown error");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_default_is_accepted_as_it_is),
        cmocka_unit_test(init_touches_no_byte_past_the_callers_struct),
        cmocka_unit_test(a_newer_caller_is_served_if_it_asks_for_nothing_new),
        cmocka_unit_test(a_struct_without_its_size_is_refused),
        cmocka_unit_test(values_are_accepted_up_to_their_limits),
        cmocka_unit_test(a_preset_sets_values_and_leaves_the_apps_own),
        cmocka_unit_test(a_detectors_values_count_only_if_it_is_on),
        cmocka_unit_test(every_preset_has_its_function_and_any_detector_can_be_added),
        cmocka_unit_test(values_are_listed_with_a_source_or_none),
        cmocka_unit_test(every_error_has_its_own_text),
    };
    return cmocka_run_group_tests_name("config", tests, NULL, NULL);
}
