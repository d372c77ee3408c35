/* Starts recorders in a test's folder, with short times to the first sample and to the writing of a
 * dump. */
#ifndef STALLREC_MONITOR_FIXTURE_TEST_H
#define STALLREC_MONITOR_FIXTURE_TEST_H

#include "files/folder_test.h"
#include "loop/loop.h"
#include "monitor.h"

static inline struct stallrec_config quick_config(const struct folder *f, uint32_t threshold_ms) {
    struct stallrec_config config;
    stallrec_config_init(&config, sizeof config);
    config.directory = f->path;
    config.threshold_ms = threshold_ms;
    config.first_sample_ms = 20;
    config.sample_ms = 10;
    config.write_deadline_ms = 50;
    return config;
}

static inline struct stallrec *start_recorder(const struct stallrec_config *config) {
    struct stallrec *rec = NULL;
    assert_int_equal(stallrec_start(&rec, config), STALLREC_OK);
    return rec;
}

static inline struct stallrec *start(const struct folder *f, uint32_t threshold_ms) {
    struct stallrec_config config = quick_config(f, threshold_ms);
    return start_recorder(&config);
}

static inline unsigned dumps_in(const struct folder *f) {
    return folder_count(f, "stall-2", NULL, 0);
}

/* Reads the only file of the folder whose name has `part` in it. */
static inline void read_text(const struct folder *f, const char *part, char *text, size_t size) {
    char name[256];
    assert_int_equal(folder_count(f, part, name, sizeof name), 1);
    assert_true(folder_get(f, name, text, size) > 0);
}

/* Keeps the loop busy until the monitor counts a dump of its stall, but at most 10 s. */
static inline void stall(struct stallrec *rec) {
    stallrec_loop_wake(stallrec_main_loop(rec));
    for (unsigned i = 0; i < 1000 && monitor_totals(rec).core.dumps == 0; i++) {
        usleep(10000);
    }
}

#endif
