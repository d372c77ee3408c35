/* A core over a fake platform, which tests step by hand. */
#ifndef STALLREC_CORE_FIXTURE_TEST_H
#define STALLREC_CORE_FIXTURE_TEST_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "core/core.h"
#include "core/fake_capture_test.h"

#define MS UINT64_C(1000000)

struct fixture {
    struct fake fake;
    struct stallrec_config config;
    void *memory;
    struct rec_core *core;
    unsigned lost;
    uint64_t posted;
    bool refuses_posts;
};
static inline void on_lost(void *ctx, const char *path, enum stallrec_error why) {
    struct fixture *f = ctx;
    assert_null(path);
    assert_int_equal(why, STALLREC_ERR_MEMORY);
    f->lost++;
}

static inline void start(struct fixture *f) {
    struct rec_capture capture = fake_capture(&f->fake);
    f->config.callbacks.dump_lost = on_lost;
    f->config.user_data = f;
    assert_int_equal(rec_config_read(&f->config, &f->config), STALLREC_OK);
    free(f->memory);
    /* The memory is not zeroed, and has exactly the size that the core asks for, so that a
     * sanitizer reports an access beyond it. */
    f->memory = malloc(rec_core_size(&f->config));
    assert_non_null(f->memory);
    memset(f->memory, 0xa5, rec_core_size(&f->config));
    f->core = rec_core_init(f->memory, &f->config, &capture, 0);
}

static inline int setup(void **state) {
    struct fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    stallrec_config_init(&f->config, sizeof f->config);
    f->fake.images = 2;
    fake_stack(&f->fake, 3, 0x10100, 0x10200, 0x20300);
    start(f);
    *state = f;
    return 0;
}

static inline int teardown(void **state) {
    struct fixture *f = *state;
    free(f->memory);
    free(f);
    return 0;
}

/* Steps at `from`, and at each time before t at which the core asks to be woken. */
static inline void run_until(struct fixture *f, uint64_t from, uint64_t t) {
    uint64_t next = rec_core_step(f->core, from);
    while (next < t) {
        next = rec_core_step(f->core, next);
    }
}

/* Makes the loop busy from `at` for `length` ns, with all steps for which the core asks, and one at
 * the end. */
static inline void stall(struct fixture *f, uint64_t at, uint64_t length) {
    rec_core_loop_event(f->core, REC_LOOP_WAKE, at);
    run_until(f, at, at + length);
    rec_core_loop_event(f->core, REC_LOOP_SLEEP, at + length);
    rec_core_step(f->core, at + length);
}

#endif
