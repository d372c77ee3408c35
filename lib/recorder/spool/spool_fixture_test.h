/* A recorder without a thread: a core over a fake platform, and a spool in a folder. */
#ifndef STALLREC_SPOOL_FIXTURE_TEST_H
#define STALLREC_SPOOL_FIXTURE_TEST_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "core/core.h"
#include "files/dumpfile.h"
#include "core/fake_capture_test.h"
#include "files/folder_test.h"
#include "files/retention.h"
#include "spool/spool.h"
#include "spool/spool_recover.h"
#include "platform.h"

#define MS UINT64_C(1000000)

enum { MAX_NAME = 256, JSON = 2 << 20, START_MS = 1000 };

struct fixture {
    struct folder *folder;
    struct fake fake;
    struct stallrec_config config;
    struct rec_core *core;
    struct rec_spool spool;
    struct rec_dumpfile *file;
    void *file_memory;
    struct rec_spool_dump *read;
    uint8_t session;
    unsigned grown; /* number of times that an open dump grew */
};

static inline void on_keep(void *ctx, uint32_t slot, const struct rec_dump *dump) {
    rec_spool_keep(&((struct fixture *)ctx)->spool, slot, dump, "app+0x10");
}

static inline void on_grow(void *ctx, uint32_t slot, const struct rec_dump *dump, bool closed) {
    struct fixture *f = ctx;
    f->grown += !closed;
    rec_spool_grow(&f->spool, slot, dump, closed);
}

static inline void on_drop(void *ctx, uint32_t slot) {
    rec_spool_drop(&((struct fixture *)ctx)->spool, slot);
}

static const struct rec_about about = {.app_id = "com.example.shop",
                                       .app_version = "5.3.1",
                                       .preset = "default",
                                       .arch = "arm64",
                                       .cpus = 6,
                                       .home = "/home/u",
                                       .user_share_ppm = 50000,
                                       .policy_known = true};

/* Returns the id of a process that has ended, and for which its parent has waited. */
static inline uint32_t dead_pid(void) {
    int status;
    pid_t child = fork();
    if (child == 0) {
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return (uint32_t)child;
}

static inline void open_spool(struct fixture *f, uint32_t pid, uint64_t start) {
    struct rec_spool_header header = {
        .pid = pid, .process_start = start, .start_ms = START_MS, .about = about};
    memset(header.session, ++f->session, sizeof header.session);
    assert_true(rec_spool_open(&f->spool, f->folder->dir, &header));
}

static inline void start_core(struct fixture *f) {
    struct rec_capture capture = fake_capture(&f->fake);
    assert_int_equal(rec_config_read(&f->config, &f->config), STALLREC_OK);
    free(f->core);
    void *memory = malloc(rec_core_size(&f->config));
    assert_non_null(memory);
    f->core = rec_core_init(memory, &f->config, &capture, 0);
    rec_core_keep(
        f->core, &(struct rec_keeper){.ctx = f, .keep = on_keep, .grow = on_grow, .drop = on_drop});
}

static inline int setup(void **state) {
    void *folder;
    assert_int_equal(folder_setup(&folder), 0);
    struct fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    f->folder = folder;
    stallrec_config_init(&f->config, sizeof f->config);
    f->fake.images = 3;
    f->fake.others = 2;
    f->fake.wall_ms = 1795255200123;
    memcpy(f->fake.path, "/home/u/lib", 12);
    fake_stack(&f->fake, 3, 0x10100, 0x10200, 0x20300);
    f->file_memory = calloc(1, rec_dumpfile_size());
    f->read = malloc(sizeof *f->read);
    assert_non_null(f->file_memory);
    assert_non_null(f->read);
    assert_int_equal(
        rec_dumpfile_init(&f->file, f->file_memory, f->folder->path, STALLREC_PLAIN_JSON, 0),
        STALLREC_OK);
    start_core(f);
    *state = f;
    return 0;
}

static inline int teardown(void **state) {
    struct fixture *f = *state;
    void *folder = f->folder;
    rec_spool_close(&f->spool, f->folder->dir);
    free(f->core);
    free(f->file_memory);
    free(f->read);
    free(f);
    return folder_teardown(&folder);
}

/* Makes the loop busy from `from` on, and steps at `from` and at each time up to `to` at which the
 * core asks to be woken. */
static inline void run(struct fixture *f, uint64_t from, uint64_t to) {
    rec_core_loop_event(f->core, REC_LOOP_WAKE, from);
    for (uint64_t next = rec_core_step(f->core, from); next <= to;) {
        next = rec_core_step(f->core, next);
    }
}

static inline void end(struct fixture *f, uint64_t at) {
    rec_core_loop_event(f->core, REC_LOOP_SLEEP, at);
    rec_core_step(f->core, at);
}

/* Returns the bytes of the spool's file, in memory that the caller frees. */
static inline unsigned char *spool_bytes(const struct fixture *f) {
    unsigned char *bytes = malloc(REC_SPOOL_SIZE);
    assert_non_null(bytes);
    int fd = openat(f->folder->dir, f->spool.name, O_RDONLY);
    assert_int_equal(read(fd, bytes, REC_SPOOL_SIZE), REC_SPOOL_SIZE);
    close(fd);
    return bytes;
}

/* Leaves the spool as a process's death does: without its mapping and its lock, but with its
 * file. */
static inline void die(struct fixture *f) {
    rec_spool_close(&f->spool, -1);
}

#endif
