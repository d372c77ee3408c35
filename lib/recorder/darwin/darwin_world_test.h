/* A process on the stand-in for Mach: an app with one image, in which the return addresses of its
 * threads are. */
#ifndef STALLREC_DARWIN_WORLD_TEST_H
#define STALLREC_DARWIN_WORLD_TEST_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <limits.h>
#include <mach-o/dyld_images.h>
#include <mach/mach.h>
#include <stdbool.h>
#include <string.h>

#include "../../../testdata/mach/standin.h"
#include "base/failmalloc.h"
#include "darwin/macho_fixture_test.h"

#define WORLD_APP     UINT64_C(0x104320000)
#define WORLD_CODE    UINT64_C(0x190000000) /* code of no image: the stub of a system call */
#define WORLD_STACK   UINT64_C(0x16f000000)
#define WORLD_LIST    UINT64_C(0x1f0000000)
#define WORLD_PATHS   UINT64_C(0x1f0008000)
#define WORLD_LOCKS   UINT64_C(0x281234560)
#define WORLD_PROGRAM "/private/var/containers/Bundle/Application/1/Shop.app/Shop"
#define WORLD_BLOCKED (WORLD_CODE + 4)

enum {
    WORLD_STACK_WORDS = 32768, /* 256 kB */
    WORLD_IMAGES = 4,
    WORLD_FRAMES = 32,
    WORLD_CPU_ARM64 = 0x0100000c,
    /* Offsets in the app's image: WORLD_LEAF is in a function without a frame, the others are in
     * functions with one. */
    WORLD_LEAF = 0x41a0,
    WORLD_CALLER = 0x4100,
    WORLD_OUTER = 0x4204,
    WORLD_OUTERMOST = 0x4300
};

struct world_list {
    struct dyld_all_image_infos head;
    struct dyld_image_info images[WORLD_IMAGES];
};

static struct {
    struct fixture app;
    uint64_t stack[WORLD_STACK_WORDS];
    uint32_t locks[4];
    char paths[256];
    struct world_list list;
    struct standin_thread *main;
} mach_world;

/* Converts an address to a pointer, for members of the stand-in's structs. */
static inline void *world_pointer(uint64_t address) {
    return (void *)(uintptr_t)address;
}

/* Makes dyld's list that of these images, with a new time of change. */
static inline void world_load(const uint64_t *loads, uint32_t count) {
    struct world_list *l = &mach_world.list;
    for (uint32_t i = 0; i < count; i++) {
        l->images[i] =
            (struct dyld_image_info){world_pointer(loads[i]), world_pointer(WORLD_PATHS), 0};
    }
    l->head.infoArrayCount = count;
    l->head.infoArrayChangeTimestamp++;
    l->head.infoArray = world_pointer(WORLD_LIST + offsetof(struct world_list, images));
}

/* Writes a chain of three frame records into mach_world.stack, from sp + 16 on, each `step` bytes
 * above the one before, and puts the thread into the leaf function. */
static inline void world_chain(struct standin_thread *thread, uint64_t sp, uint64_t step) {
    static const uint64_t returns[] = {WORLD_OUTER, WORLD_OUTERMOST, 0};
    uint64_t fp = sp + 16;
    thread->state = (arm_thread_state64_t){.__fp = fp, .__sp = sp};
    thread->state.__pc = WORLD_APP + WORLD_LEAF;
    thread->state.__lr = WORLD_APP + WORLD_CALLER;
    for (size_t i = 0; i < 3; i++, fp += step) {
        uint64_t *record = &mach_world.stack[(fp - WORLD_STACK) / 8];
        record[0] = returns[i] != 0 ? fp + step : 0;
        record[1] = returns[i] != 0 ? WORLD_APP + returns[i] : 0;
    }
}

/* Gives a lock this value, and lets the thread wait for it. */
static inline void world_block(struct standin_thread *thread, unsigned lock, uint32_t value) {
    mach_world.locks[lock] = value;
    thread->run_state = TH_STATE_WAITING;
    thread->state.__pc = WORLD_BLOCKED;
    thread->state.__x[16] = 515;
    thread->state.__x[0] = 0x01000002;
    thread->state.__x[1] = WORLD_LOCKS + 4 * lock;
    thread->state.__x[2] = value;
}

/* Returns the value of an os_unfair_lock that the thread owns and another thread waits for. */
static inline uint32_t world_owned_by(const struct standin_thread *owner) {
    return standin_port(owner) & ~UINT32_C(1);
}

static inline int world_setup(void **state) {
    static const uint8_t stub[] = {0x01, 0x10, 0x00, 0xd4, 0xc0, 0x03, 0x5f, 0xd6};
    static const uint64_t app[] = {WORLD_APP};
    (void)state;
    standin_reset();
    memset(&mach_world, 0, sizeof mach_world);
    if (!fixture_open(&mach_world.app, "testdata/objects/macho-arm64/Shop", WORLD_CPU_ARM64,
                      WORLD_APP)) {
        return 1;
    }
    memcpy(mach_world.paths, WORLD_PROGRAM, sizeof WORLD_PROGRAM);
    standin_map(WORLD_APP, mach_world.app.bytes, mach_world.app.size);
    standin_map(WORLD_CODE, stub, sizeof stub);
    standin_map(WORLD_STACK, mach_world.stack, sizeof mach_world.stack);
    standin_map(WORLD_LOCKS, mach_world.locks, sizeof mach_world.locks);
    standin_map(WORLD_LIST, &mach_world.list, sizeof mach_world.list);
    standin_map(WORLD_PATHS, mach_world.paths, sizeof mach_world.paths);
    standin_set_infos(WORLD_LIST, sizeof mach_world.list.head);
    standin_set_program(WORLD_PROGRAM);
    world_load(app, 1);
    mach_world.main = standin_add(259, "main");
    standin_be(mach_world.main);
    world_chain(mach_world.main, WORLD_STACK + 0x100, 64);
    failmalloc_arm(ULONG_MAX, false); /* from here on, calls of malloc are counted */
    return 0;
}

static inline int world_teardown(void **state) {
    (void)state;
    failmalloc_disarm();
    standin_reset();
    fixture_close(&mach_world.app);
    return 0;
}

/* Checks that everything was given back, and that nothing was called that may not be. */
static inline void world_expect_clean(void) {
    struct standin_counts counts = standin_counts();
    assert_int_equal(counts.rights, 0);
    assert_int_equal(counts.lists, 0);
    assert_int_equal(counts.suspended, 0);
    assert_int_equal(counts.forbidden, 0);
}

#define WORLD_TEST(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)

#endif
