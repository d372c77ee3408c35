/* Tests what a process's death leaves in its spool, and what the next start recovers from it. */
#include "spool/spool_fixture_test.h"

static struct rec_recovered recover(struct fixture *f) {
    struct rec_recovered out;
    struct rec_recovery how = {.dir = f->folder->dir, .file = f->file, .pid = (uint32_t)getpid()};
    assert_true(rec_spool_recover(&how, &out));
    return out;
}

static char *only_dump(const struct fixture *f) {
    static char text[65536];
    char name[MAX_NAME];
    assert_int_equal(folder_count(f->folder, "stall-2", name, sizeof name), 1);
    assert_true(folder_get(f->folder, name, text, sizeof text) > 0);
    return text;
}

static void an_open_dump_of_the_dead_is_fatal(void **state) {
    struct fixture *f = *state;
    open_spool(f, dead_pid(), 1);
    run(f, 0, 1230 * MS);
    die(f);
    struct rec_recovered got = recover(f);
    assert_int_equal(got.dumps, 1);
    const char *text = only_dump(f);
    assert_non_null(strstr(text, "\"ended\":false,\"fatal\":true"));
    assert_non_null(strstr(text, "\"duration_ms\":1200,\"span_ms\":1200")); /* the stall is known up
                                                                               to the last sample */
    assert_non_null(strstr(text, "\"app\":{\"id\":\"com.example.shop\",\"version\":\"5.3.1\"}"));
    assert_non_null(strstr(text, "\"path\":\"~/lib1\""));
    assert_non_null(strstr(text, "\"loop_at\":\"app+0x10\""));
    assert_int_equal(folder_count(f->folder, ".spool-", NULL, 0), 0);
    assert_int_equal(recover(f).dumps, 0);
}

static void a_closed_dump_of_the_dead_is_as_it_was(void **state) {
    struct fixture *f = *state;
    open_spool(f, dead_pid(), 1);
    run(f, 0, 600 * MS);
    end(f, 640 * MS);
    die(f);
    assert_int_equal(recover(f).dumps, 1);
    assert_non_null(strstr(only_dump(f), "\"duration_ms\":640,\"span_ms\":640,\"ended\":true,"
                                         "\"fatal\":false"));
}

static void dumps_of_one_stall_share_its_duration(void **state) {
    struct fixture *f = *state;
    open_spool(f, dead_pid(), 1);
    run(f, 0, 600 * MS);
    fake_stack(&f->fake, 2, 0x10500, 0x20300);
    run(f, 0, 4000 * MS);
    die(f);
    assert_int_equal(recover(f).dumps, 2);
    char name[MAX_NAME], text[65536];
    uint64_t spans = 0;
    for (int seq = 1; seq <= 2; seq++) {
        char part[16];
        snprintf(part, sizeof part, "-%d-", seq);
        assert_int_equal(folder_count(f->folder, part, name, sizeof name), 1);
        assert_true(folder_get(f->folder, name, text, sizeof text) > 0);
        assert_non_null(strstr(text, "\"duration_ms\":4000,"));
        assert_true((strstr(text, "\"fatal\":true") != NULL) == (seq == 2));
        uint64_t span = 0;
        for (const char *at = strstr(text, "\"span_ms\":") + 10; *at >= '0' && *at <= '9'; at++) {
            span = span * 10 + (uint64_t)(*at - '0');
        }
        spans += span;
    }
    assert_int_equal(spans, 4000);
}

static void an_app_that_dies_in_the_background_had_no_fatal_stall(void **state) {
    struct fixture *f = *state;
    for (int back = 0; back < 2; back++) {
        open_spool(f, dead_pid(), 1);
        start_core(f);
        run(f, 0, 600 * MS);
        rec_spool_suspend(&f->spool, true);
        if (back) {
            rec_spool_suspend(&f->spool, false);
        }
        die(f);
        assert_int_equal(recover(f).dumps, 1);
        const char *fatal =
            back ? "\"ended\":false,\"fatal\":true" : "\"ended\":false,\"fatal\":false";
        assert_non_null(strstr(only_dump(f), fatal));
        char name[MAX_NAME];
        assert_int_equal(folder_count(f->folder, "stall-2", name, sizeof name), 1);
        assert_int_equal(unlinkat(f->folder->dir, name, 0), 0);
    }
}

static void a_program_that_ended_by_itself_had_no_fatal_stall(void **state) {
    struct fixture *f = *state;
    /* As after an exec, the spool is that of this process, by its id and start. */
    open_spool(f, (uint32_t)getpid(), rec_process_start((uint32_t)getpid()));
    run(f, 0, 600 * MS);
    die(f);
    assert_int_equal(recover(f).dumps, 1);
    assert_non_null(strstr(only_dump(f), "\"ended\":false,\"fatal\":false"));
}

static void a_recovery_that_was_killed_goes_on_without_doubling(void **state) {
    struct fixture *f = *state;
    open_spool(f, dead_pid(), 1);
    run(f, 0, 600 * MS);
    end(f, 640 * MS);
    run(f, 1000 * MS, 1600 * MS);
    unsigned char *bytes = spool_bytes(f);
    char name[MAX_NAME];
    memcpy(name, f->spool.name, strlen(f->spool.name) + 1);
    die(f);
    assert_int_equal(recover(f).dumps, 2);
    /* The spool is put back, as if the recovery had been killed after it renamed the dumps and
     * before it freed the slots. */
    folder_put(f->folder, name, bytes, REC_SPOOL_SIZE);
    assert_int_equal(recover(f).dumps, 0);
    assert_int_equal(folder_count(f->folder, "stall-2", name, sizeof name), 2);
    /* One dump is removed and the spool is put back under another name, as if the recovery had been
     * killed between the two dumps. */
    assert_int_equal(unlinkat(f->folder->dir, name, 0), 0);
    struct rec_spool_header header = {.start_ms = START_MS};
    rec_spool_name(name, header.session, START_MS, 1);
    folder_put(f->folder, name, bytes, REC_SPOOL_SIZE);
    assert_int_equal(recover(f).dumps, 1);
    assert_int_equal(folder_count(f->folder, "stall-2", NULL, 0), 2);
    free(bytes);
}

static void a_spool_that_cannot_be_written_out_waits(void **state) {
    struct fixture *f = *state;
    struct rlimit before, limit;
    open_spool(f, dead_pid(), 1);
    run(f, 0, 600 * MS);
    die(f);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = before;
    limit.rlim_cur = 100;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    struct rec_recovered got = recover(f);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(got.lost, 1);
    assert_int_equal(folder_count(f->folder, "stall-2", NULL, 0), 0);
    assert_int_equal(recover(f).dumps, 1);
}

static void two_that_recover_at_once_write_each_dump_once(void **state) {
    struct fixture *f = *state;
    enum { SPOOLS = 6 };
    for (int i = 0; i < SPOOLS; i++) {
        open_spool(f, dead_pid(), 1);
        start_core(f);
        run(f, 0, 600 * MS);
        die(f);
    }
    assert_int_equal(folder_count(f->folder, ".spool-", NULL, 0), SPOOLS);
    pid_t child = fork();
    if (child == 0) {
        _exit((int)recover(f).dumps);
    }
    uint32_t ours = recover(f).dumps;
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(ours + (uint32_t)WEXITSTATUS(status), SPOOLS);
    assert_int_equal(folder_count(f->folder, "stall-2", NULL, 0), SPOOLS);
}

static void a_spool_of_a_process_that_lives_is_left_alone(void **state) {
    struct fixture *f = *state;
    open_spool(f, dead_pid(), 1); /* the id is of a dead process, but the lock shows that the spool
                                     is in use */
    run(f, 0, 600 * MS);
    struct rec_recovered got = recover(f);
    assert_int_equal(got.alive, 1);
    assert_int_equal(got.dumps, 0);
    die(f);
    /* Now nobody holds the lock, as on a file system without locks, but a process with the spool's
     * id and start lives. */
    char name[MAX_NAME];
    assert_int_equal(folder_count(f->folder, ".spool-", name, sizeof name), 1);
    assert_int_equal(unlinkat(f->folder->dir, name, 0), 0);
    open_spool(f, (uint32_t)getppid(), rec_process_start((uint32_t)getppid()));
    die(f);
    assert_int_equal(recover(f).alive, 1);
    assert_int_equal(folder_count(f->folder, ".spool-", NULL, 0), 1);
}

static void a_process_that_nobody_waits_for_is_dead(void **state) {
    struct fixture *f = *state;
    int pipe_fd[2], status;
    char byte;
    assert_int_equal(pipe(pipe_fd), 0);
    pid_t child = fork();
    if (child == 0) {
        open_spool(f, (uint32_t)getpid(), rec_process_start((uint32_t)getpid()));
        run(f, 0, 600 * MS);
        _exit(0);
    }
    close(pipe_fd[1]);
    assert_int_equal(read(pipe_fd[0], &byte, 1), 0); /* waits until the child has ended */
    close(pipe_fd[0]);
    uint32_t dumps = 0;
    for (unsigned i = 0; i < 500 && dumps == 0; i++) {
        dumps = recover(f).dumps;
        usleep(10000);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(dumps, 1);
}

static void a_forked_child_does_not_hold_its_parents_spool(void **state) {
    struct fixture *f = *state;
    int pipe_fd[2], status;
    open_spool(f, dead_pid(), 1);
    run(f, 0, 600 * MS);
    assert_int_equal(pipe(pipe_fd), 0);
    pid_t child = fork();
    if (child == 0) {
        char byte;
        close(pipe_fd[1]);
        _exit(read(pipe_fd[0], &byte, 1) == 0 ? 0 : 1);
    }
    close(pipe_fd[0]);
    die(f);
    uint32_t dumps = recover(f).dumps;
    close(pipe_fd[1]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(dumps, 1);
}

static void damage_costs_its_slot_at_most(void **state) {
    struct fixture *f = *state;
    char name[MAX_NAME];
    open_spool(f, dead_pid(), 1);
    run(f, 0, 600 * MS);
    end(f, 640 * MS);
    run(f, 1000 * MS, 1600 * MS);
    memcpy(name, f->spool.name, strlen(f->spool.name) + 1);
    unsigned char *good = spool_bytes(f), *bad = malloc(REC_SPOOL_SIZE);
    assert_non_null(bad);
    const size_t body = REC_SPOOL_HEADER + 2 * REC_SPOOL_HEAD;
    const size_t body_end = body + f->spool.slots[0].body_len;
    assert_true(body_end > body + 100);
    die(f);
    struct rec_recovered got;
    struct rec_recovery how = {.dir = f->folder->dir, .file = f->file};
    for (size_t at = 0; at < 2500; at++) { /* bytes of the header and of the first slot */
        size_t place = at < 200 ? at : REC_SPOOL_HEADER + at - 200;
        memcpy(bad, good, REC_SPOOL_SIZE);
        bad[place] = (unsigned char)~bad[place];
        got = (struct rec_recovered){0};
        struct rec_spool_file spool = {.bytes = bad, .len = REC_SPOOL_SIZE, .fatal = true};
        assert_true(rec_spool_write_dumps(&how, &spool, &got));
        assert_true(got.damaged <= 1);
        if (place >= body && place < body_end) { /* a change of any byte of a dump must be
                                                    noticed */
            assert_int_equal(got.damaged, 1);
        }
    }
    free(good);
    free(bad);
    /* A file with a spool's name that is no spool is removed, even if it is too short for one. */
    assert_int_equal(unlinkat(f->folder->dir, name, 0), 0);
    rec_spool_name(name, (const uint8_t *)"0123456789abcdef", START_MS, dead_pid());
    folder_put(f->folder, name, "short", 5);
    assert_int_equal(recover(f).damaged, 1);
    assert_false(folder_has(f->folder, name));
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        T(an_open_dump_of_the_dead_is_fatal),
        T(a_closed_dump_of_the_dead_is_as_it_was),
        T(dumps_of_one_stall_share_its_duration),
        T(an_app_that_dies_in_the_background_had_no_fatal_stall),
        T(a_program_that_ended_by_itself_had_no_fatal_stall),
        T(a_recovery_that_was_killed_goes_on_without_doubling),
        T(a_spool_that_cannot_be_written_out_waits),
        T(two_that_recover_at_once_write_each_dump_once),
        T(a_spool_of_a_process_that_lives_is_left_alone),
        T(a_process_that_nobody_waits_for_is_dead),
        T(a_forked_child_does_not_hold_its_parents_spool),
        T(damage_costs_its_slot_at_most),
#undef T
    };
    return cmocka_run_group_tests_name("spool_recover", tests, NULL, NULL);
}
