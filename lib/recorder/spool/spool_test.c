/* Tests the content of the spool, and the effects of damage to its file, its folder and its
 * disk. */
#include "spool/spool_fixture_test.h"

static const unsigned char *slot(const unsigned char *bytes, unsigned i) {
    return bytes + REC_SPOOL_HEADER + i * (size_t)REC_SPOOL_SLOT;
}

/* Decodes the dump of slot i into f->read; false: the slot is free. */
static bool read_slot(struct fixture *f, const unsigned char *bytes, unsigned i,
                      struct rec_slot_head *head) {
    assert_true(rec_slot_head_read(slot(bytes, i), head));
    if (head->state == REC_SLOT_FREE) {
        return false;
    }
    assert_true(
        rec_spool_decode(head, slot(bytes, i) + 2 * REC_SPOOL_HEAD, head->body_len, f->read));
    return true;
}

static bool to_text(void *ctx, const void *bytes, size_t len) {
    char *text = ctx;
    size_t at = strlen(text);
    assert_true(at + len < JSON);
    memcpy(text + at, bytes, len);
    text[at + len] = '\0';
    return true;
}

static char *json(const struct rec_dump *dump) {
    char *text = calloc(1, JSON);
    assert_non_null(text);
    struct rec_out out = {.write = to_text, .ctx = text};
    rec_dump_json(&out, dump, &about);
    return text;
}

static void a_dump_comes_back_from_the_spool_as_it_was(void **state) {
    struct fixture *f = *state;
    struct rec_slot_head head;
    f->fake.exact[1] = 2;
    f->fake.exact_count = 2;
    f->fake.pause_ns = 2001;
    f->fake.main = (struct rec_thread){
        .id = 42, .name = "app", .state = REC_STATE_WAITING, .waits_for = {REC_WAIT_MUTEX, 7, 43}};
    f->fake.mode = "modal";
    f->fake.transition_count = 2;
    f->fake.transitions[0].what = REC_WENT_SLEEP;
    f->fake.transitions[1].what = REC_WENT_WAKE;
    open_spool(f, dead_pid(), 1);
    run(f, 0, 2600 * MS); /* long enough for a capture of the other threads, which are appended */
    unsigned char *bytes = spool_bytes(f);
    assert_true(read_slot(f, bytes, 0, &head));
    assert_int_equal(head.state, REC_SLOT_OPEN);
    assert_string_equal(f->read->loop_at, "app+0x10");
    const struct rec_dump *held = rec_core_open(f->core);
    assert_int_equal(held->thread_count, 3);
    char *want = json(held), *got = json(&f->read->dump);
    assert_string_equal(got, want);
    assert_non_null(strstr(got, "\"mode\":\"modal\",\"states\":[[0,\"sleep\"],[0,\"wake\"]]"));
    assert_int_equal(rec_dump_bucket(&f->read->dump), rec_dump_bucket(held));
    free(want);
    free(got);
    free(bytes);
}

static void the_end_grows_with_each_sample(void **state) {
    struct fixture *f = *state;
    struct rec_slot_head head;
    open_spool(f, dead_pid(), 1);
    rec_core_loop_event(f->core, REC_LOOP_WAKE, 0);
    uint64_t next = rec_core_step(f->core, 0);
    for (uint64_t t = 300; t < 3000; t += 450) {
        while (next <= t * MS) { /* the core takes a sample each 50 ms */
            next = rec_core_step(f->core, next);
        }
        assert_int_equal(f->grown, 1 + (t - 250) / 50);
        unsigned char *bytes = spool_bytes(f);
        assert_true(read_slot(f, bytes, 0, &head));
        assert_int_equal(f->read->dump.stall.duration_ms, 250 + (t - 250) / 50 * 50);
        assert_int_equal(f->read->dump.stall.span_ms, f->read->dump.stall.duration_ms);
        free(bytes);
    }
    end(f, 3100 * MS);
    unsigned char *bytes = spool_bytes(f);
    assert_true(read_slot(f, bytes, 0, &head));
    assert_int_equal(head.state, REC_SLOT_CLOSED);
    assert_int_equal(f->read->dump.stall.duration_ms, 3100);
    assert_true(f->read->dump.stall.ended);
    free(bytes);
    rec_core_release(f->core, rec_core_closed(f->core));
    bytes = spool_bytes(f);
    assert_false(read_slot(f, bytes, 0, &head));
    free(bytes);
}

static void a_dump_too_large_for_its_slot_loses_its_outer_parts(void **state) {
    struct fixture *f = *state;
    struct rec_slot_head head;
    f->config.ring = 256;
    f->config.sample_ms = 1;
    f->config.first_sample_ms = 1;
    f->config.max_frames = FAKE_DEPTH;
    f->config.max_threads = 256;
    f->config.threads_after_ms = 0;
    f->fake.others = 255;
    f->fake.count = FAKE_DEPTH;
    start_core(f);
    open_spool(f, dead_pid(), 1);
    rec_core_loop_event(f->core, REC_LOOP_WAKE, 0);
    uint64_t seed = 1;
    for (uint64_t next = rec_core_step(f->core, 0); next <= 400 * MS;) {
        for (uint32_t i = 0; i < FAKE_DEPTH; i++) { /* random numbers, which cannot be compressed */
            seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
            f->fake.frames[i] = seed;
            f->fake.starts[i] = seed;
        }
        next = rec_core_step(f->core, next);
    }
    unsigned char *bytes = spool_bytes(f);
    assert_true(read_slot(f, bytes, 0, &head));
    const struct rec_dump *held = rec_core_open(f->core), *got = &f->read->dump;
    assert_int_equal(got->stack_count, held->stack_count);
    assert_true(got->stacks[0].stack.truncated);
    assert_in_range(got->stacks[0].stack.count, 4, FAKE_DEPTH - 1);
    assert_memory_equal(got->stacks[9].stack.frames, held->stacks[9].stack.frames,
                        8 * got->stacks[9].stack.count);
    assert_memory_equal(got->ring, held->ring, 4 * held->ring_count);
    assert_true(got->thread_count > 10 && got->threads[0].main);
    assert_int_equal(rec_dump_bucket(got), rec_dump_bucket(held));
    free(bytes);
}

static void a_head_that_is_half_written_leaves_the_state_of_before(void **state) {
    struct fixture *f = *state;
    struct rec_slot_head before, after, got;
    open_spool(f, dead_pid(), 1);
    run(f, 0, 600 * MS);
    unsigned char *old = spool_bytes(f);
    run(f, 0, 700 * MS);
    unsigned char *new = spool_bytes(f);
    assert_true(rec_slot_head_read(slot(old, 0), &before));
    assert_true(rec_slot_head_read(slot(new, 0), &after));
    assert_true(after.duration_ms > before.duration_ms);
    unsigned char torn[2 * REC_SPOOL_HEAD];
    size_t at = rec_slot_head_at(before.sequence + 1);
    /* Writes the first `len` bytes of the next head, or the last `len` bytes. */
    for (size_t len = 0; len <= REC_SPOOL_HEAD; len++) {
        struct rec_slot_head next = before;
        unsigned char bytes[REC_SPOOL_HEAD];
        next.sequence++;
        next.duration_ms = after.duration_ms;
        rec_slot_head_write(&next, bytes);
        for (int front = 0; front < 2; front++) {
            memcpy(torn, slot(old, 0), sizeof torn);
            size_t from = front ? 0 : REC_SPOOL_HEAD - len;
            memcpy(torn + at + from, bytes + from, len);
            assert_true(rec_slot_head_read(torn, &got));
            assert_true(got.sequence == before.sequence ? got.duration_ms == before.duration_ms
                                                        : got.duration_ms == next.duration_ms);
        }
    }
    assert_true(got.sequence == before.sequence + 1);
    free(old);
    free(new);
}

static void a_spool_is_none_of_the_files_that_are_kept_or_sent(void **state) {
    struct fixture *f = *state;
    char name[REC_FILE_NAME];
    uint32_t pid;
    open_spool(f, 4294967295, 1);
    assert_string_equal(f->spool.name, ".spool-19700101T000001.000Z-01010101-4294967295");
    assert_true(rec_spool_name_read(f->spool.name, &pid));
    assert_true(pid == UINT32_MAX);
    assert_int_equal(rec_file_name_read(f->spool.name).kind, REC_FILE_OTHER);
    static const char *const others[] = {".spool-19700101T000001.000Z-01010101-4294967296",
                                         ".spool-19700101T000001.000Z-01010101-",
                                         ".spool-19700101T000001.000Z-01010101-1.json",
                                         "spool-19700101T000001.000Z-01010101-1",
                                         ".spool-",
                                         ""};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        assert_false(rec_spool_name_read(others[i], &pid));
    }
    memcpy(name, f->spool.name, sizeof name);
    rec_retention_remove_junk(f->folder->dir);
    struct rec_retention limits = {.days = 1, .bytes = 1, .files = 1};
    assert_true(rec_retention_apply(f->folder->dir, &limits, 1795255200123, NULL));
    struct stallrec_batch batch = {.size = sizeof batch};
    assert_int_equal(stallrec_batch_next(f->folder->path, 1 << 20, &batch), STALLREC_ERR_NOTHING);
    assert_true(folder_has(f->folder, name));
}

static void a_disk_without_room_gives_no_spool_and_no_signal(void **state) {
    struct fixture *f = *state;
    struct rec_spool_header header = {.pid = 1};
    struct rlimit before, limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = before;
    limit.rlim_cur = REC_SPOOL_SIZE - 1;
    signal(SIGXFSZ, SIG_DFL); /* SIGXFSZ would end this test */
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    bool opened = rec_spool_open(&f->spool, f->folder->dir, &header);
    int why = errno;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_false(opened);
    assert_int_equal(why, EFBIG);
    assert_int_equal(folder_count(f->folder, ".spool-", NULL, 0), 0);
    run(f, 0, 600 * MS); /* without a spool all its functions do nothing */
    end(f, 640 * MS);
    rec_spool_suspend(&f->spool, true);
    assert_non_null(rec_core_closed(f->core));
}

static void a_file_that_is_cut_short_costs_the_spool_and_not_the_program(void **state) {
    struct fixture *f = *state;
    static const off_t lengths[] = {REC_SPOOL_HEADER + 4096, 4096, 0};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        open_spool(f, dead_pid(), 1);
        start_core(f);
        run(f, 0, 600 * MS);
        assert_true(rec_spool_works(&f->spool));
        int fd = openat(f->folder->dir, f->spool.name, O_WRONLY);
        assert_int_equal(ftruncate(fd, lengths[i]), 0);
        close(fd);
        rec_spool_suspend(&f->spool, true);
        fake_stack(&f->fake, 2, 0x10500 + 256 * i, 0x20300); /* makes a second dump, in another
                                                                slot */
        run(f, 0, 1600 * MS);
        end(f, 1640 * MS);
        assert_false(rec_spool_works(&f->spool));
        for (unsigned dumps = 2; dumps > 0; dumps--) {
            assert_non_null(rec_core_closed(f->core));
            rec_core_release(f->core, rec_core_closed(f->core));
        }
        rec_spool_close(&f->spool, f->folder->dir);
    }
    assert_int_equal(folder_count(f->folder, ".spool-", NULL, 0), 0);
}

static void a_folder_that_is_removed_takes_the_spool_along(void **state) {
    struct fixture *f = *state;
    open_spool(f, dead_pid(), 1);
    run(f, 0, 600 * MS);
    assert_int_equal(unlinkat(f->folder->dir, f->spool.name, 0), 0);
    assert_int_equal(rmdir(f->folder->path), 0);
    run(f, 0, 1600 * MS);
    end(f, 1640 * MS);
    rec_core_release(f->core, rec_core_closed(f->core));
    rec_spool_close(&f->spool, f->folder->dir);
    assert_int_equal(mkdir(f->folder->path, 0700), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        T(a_dump_comes_back_from_the_spool_as_it_was),
        T(the_end_grows_with_each_sample),
        T(a_dump_too_large_for_its_slot_loses_its_outer_parts),
        T(a_head_that_is_half_written_leaves_the_state_of_before),
        T(a_spool_is_none_of_the_files_that_are_kept_or_sent),
        T(a_disk_without_room_gives_no_spool_and_no_signal),
        T(a_file_that_is_cut_short_costs_the_spool_and_not_the_program),
        T(a_folder_that_is_removed_takes_the_spool_along),
#undef T
    };
    return cmocka_run_group_tests_name("spool", tests, NULL, NULL);
}
