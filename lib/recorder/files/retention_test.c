/* Tests which files are kept in the recorder's folder, and that their names alone decide. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "files/dumpname.h"
#include "files/folder_test.h"
#include "files/retention.h"

#define DAY   INT64_C(86400000)
#define TODAY INT64_C(1795255200123) /* 2026-11-21T10:00:00.123Z */

/* ---- names ---- */

static void a_name_says_what_the_file_is(void **state) {
    (void)state;
    struct rec_file_name n =
        rec_file_name_read("stall-20261121T100000.123Z-0a1b2c3d-1-5f3a9c01.json.gz");
    assert_int_equal(n.kind, REC_FILE_DUMP);
    assert_string_equal(n.stamp, "20261121T100000.123Z");
    assert_int_equal(n.bucket, 0x5f3a9c01);
    assert_true(n.gzip && !n.local);
    n = rec_file_name_read("stall-20261121T100000.123Z-0a1b2c3d-4294967295-5f3a9c01.local.json");
    assert_true(n.kind == REC_FILE_DUMP && n.local && !n.gzip);
    n = rec_file_name_read("stall-20261121T100000.123Z-0a1b2c3d-1.json.gz"); /* a name of earlier
                                                                                versions, which has
                                                                                no bucket */
    assert_true(n.kind == REC_FILE_DUMP && n.bucket == 0);
    n = rec_file_name_read("session-20261121T100000.123Z-0a1b2c3d.json");
    assert_int_equal(n.kind, REC_FILE_SESSION);
    assert_string_equal(n.stamp, "20261121T100000.123Z");
}

static void other_names_are_nothing_of_ours(void **state) {
    (void)state;
    static const char *const names[] = {"",
                                        "stall-",
                                        "stall",
                                        "session-",
                                        "notes.json",
                                        "stall-x.json.gz",
                                        "stall-20261121T100000.123Z",
                                        "stall-20261121T100000.123Z-0a1b2c3d.json",
                                        "stall-20261121T100000.123Z-0a1b2c3d-.json",
                                        "stall-20261121T100000.123Z-0A1B2C3D-1.json",
                                        "stall-20261121T100000.123Z-0a1b2c3d-1-5f3a9c0.json",
                                        "stall-20261121T100000.123Z-0a1b2c3d-1-5f3a9c01.json.gz~",
                                        "stall-20261121T100000.123Z-0a1b2c3d-12345678901.json",
                                        "../stall-20261121T100000.123Z-0a1b2c3d-1.json",
                                        ".stall-0a1b2c3d.part",
                                        "session-20261121T100000.123Z-0a1b2c3d.json.gz"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_int_equal(rec_file_name_read(names[i]).kind, REC_FILE_OTHER);
    }
}

/* Returns the bucket of a dump whose heaviest stack's top function begins at the address `start`,
 * in an image that is loaded at `load`. */
static uint32_t bucket_of(uint64_t load, uint64_t start, uint64_t pc, uint8_t id) {
    uint64_t frames[] = {pc, load + 0x500}, light[] = {load + 0x900};
    struct rec_record_stack stacks[] = {
        {.stack = {.frames = light, .cap = 1, .count = 1}, .count = 1, .function = load + 0x900},
        {.stack = {.frames = frames, .cap = 2, .count = 2}, .count = 9, .function = start}};
    struct rec_image images[] = {
        {.load = load, .size = 0x1000, .id_kind = REC_ID_BUILD, .id_len = 4, .id = {id}}};
    struct rec_dump dump = {
        .stacks = stacks, .stack_count = 2, .heaviest = 1, .images = images, .image_count = 1};
    return rec_dump_bucket(&dump);
}

static void a_bucket_is_the_function_wherever_it_is_loaded(void **state) {
    (void)state;
    uint32_t bucket = bucket_of(0x10000, 0x10100, 0x10123, 7);
    assert_int_equal(bucket_of(0x90000, 0x90100, 0x90177, 7), bucket);
    assert_int_not_equal(bucket_of(0x10000, 0x10200, 0x10223, 7), bucket);
    assert_int_not_equal(bucket_of(0x10000, 0x10100, 0x10123, 8), bucket);
    assert_int_not_equal(bucket, 0);
    assert_int_not_equal(bucket_of(0x10000, 0, 0x10123, 7), 0); /* the function is not known */
    struct rec_dump nothing = {.heaviest = -1};
    assert_int_equal(rec_dump_bucket(&nothing), 0);
}

/* ---- limits ---- */

/* Writes a dump of `bytes` bytes from `ago` ms ago, sets `name` to its name, and returns `name`. */
static const char *put_dump(const struct folder *f, int64_t ago, uint32_t bucket, unsigned number,
                            size_t bytes, char name[REC_FILE_NAME]) {
    char stamp[REC_STAMP_TEXT], *content = calloc(1, bytes + 1);
    assert_non_null(content);
    snprintf(name, REC_FILE_NAME, "stall-%s-%08x-1-%08x.json.gz",
             rec_stamp_text(TODAY - ago, stamp), number, bucket);
    folder_put(f, name, content, bytes);
    free(content);
    return name;
}

static struct rec_retained apply(const struct folder *f, struct rec_retention limits,
                                 int64_t wall_ms) {
    struct rec_retained left = {0};
    assert_true(rec_retention_apply(f->dir, &limits, wall_ms, &left));
    return left;
}

static void what_is_older_than_the_days_goes(void **state) {
    struct folder *f = *state;
    char young[REC_FILE_NAME], old[REC_FILE_NAME], future[REC_FILE_NAME];
    put_dump(f, 7 * DAY, 1, 1, 10, young);
    /* This dump is removed, although it is the only one of its bucket. */
    put_dump(f, 7 * DAY + 1, 2, 2, 10, old);
    put_dump(f, -400 * DAY, 3, 3, 10, future);
    folder_put(f, "session-20200101T000000.000Z-0a1b2c3d.json", "{}\n", 3);
    folder_put(f, "notes-20200101.json", "mine", 4);
    struct rec_retained left = apply(f, (struct rec_retention){.days = 7}, TODAY);
    assert_int_equal(left.removed, 2);
    assert_int_equal(left.files, 2);
    assert_int_equal(left.bytes, 20);
    assert_true(folder_has(f, young) && !folder_has(f, old) && folder_has(f, future));
    assert_true(folder_has(f, "notes-20200101.json"));
    left = apply(f, (struct rec_retention){.days = 7}, TODAY - 30 * DAY); /* the clock was set
                                                                             back */
    assert_int_equal(left.removed, 0);
}

static void the_oldest_of_the_fullest_bucket_goes_first(void **state) {
    struct folder *f = *state;
    char full[5][REC_FILE_NAME], small[2][REC_FILE_NAME], single[REC_FILE_NAME];
    for (unsigned i = 0; i < 5; i++) {
        put_dump(f, (50 - i) * 1000, 0xf, i, 100, full[i]);
    }
    /* This dump is older than all dumps of the fullest bucket. */
    put_dump(f, 90000, 0x2, 10, 100, small[0]);
    put_dump(f, 80000, 0x2, 11, 100, small[1]);
    put_dump(f, 99000, 0x1, 12, 100, single);
    struct rec_retained left = apply(f, (struct rec_retention){.files = 6}, TODAY);
    assert_int_equal(left.removed, 2);
    assert_true(folder_has(f, full[0])); /* the first dump of its bucket stays */
    assert_false(folder_has(f, full[1]) || folder_has(f, full[2]));
    assert_true(folder_has(f, small[0]) && folder_has(f, small[1]) && folder_has(f, single));
    left = apply(f, (struct rec_retention){.bytes = 400}, TODAY);
    assert_int_equal(left.removed, 2); /* first the second dump of a bucket of three, then, of the
                                          two buckets of two, the older second dump */
    assert_true(folder_has(f, full[0]) && !folder_has(f, full[3]) && folder_has(f, full[4]));
    assert_true(folder_has(f, small[0]) && !folder_has(f, small[1]) && folder_has(f, single));
    assert_int_equal(left.bytes, 400);
}

static void firsts_go_last_and_the_oldest_of_them_first(void **state) {
    struct folder *f = *state;
    char names[4][REC_FILE_NAME], second[REC_FILE_NAME];
    for (unsigned i = 0; i < 4; i++) {
        put_dump(f, (40 - i) * 1000, i + 1, i, 100, names[i]);
    }
    put_dump(f, 1000, 3, 9, 100, second);
    struct rec_retained left = apply(f, (struct rec_retention){.files = 4}, TODAY);
    assert_int_equal(left.files, 4);
    assert_false(folder_has(f, second)); /* this is the newest of all dumps, but not the first of
                                            its bucket */
    left = apply(f, (struct rec_retention){.files = 2}, TODAY); /* the limit holds for first dumps,
                                                                   too */
    assert_int_equal(left.files, 2);
    assert_false(folder_has(f, names[0]) || folder_has(f, names[1]));
    left = apply(f, (struct rec_retention){.bytes = 1}, TODAY);
    assert_int_equal(left.files, 0);
}

static void no_limit_removes_nothing(void **state) {
    struct folder *f = *state;
    char name[REC_FILE_NAME];
    put_dump(f, 10000 * DAY, 1, 1, 10, name);
    assert_int_equal(apply(f, (struct rec_retention){0}, TODAY).removed, 0);
    assert_true(folder_has(f, name));
}

static void thousands_of_files_are_brought_within_their_limits(void **state) {
    struct folder *f = *state;
    enum { FILES = 4000, BUCKETS = 400, KEEP = 1000 };
    char name[REC_FILE_NAME];
    for (unsigned i = 0; i < FILES; i++) { /* a few buckets are far fuller than the others */
        unsigned bucket = i % 2 == 0 ? i % 8 : i % BUCKETS;
        put_dump(f, (FILES - i) * 1000, bucket + 1, i, 3, name);
    }
    struct rec_retained left = apply(f, (struct rec_retention){.files = KEEP}, TODAY);
    assert_int_equal(left.files, KEEP);
    assert_int_equal(left.removed, FILES - KEEP);
    assert_int_equal(left.bytes, KEEP * 3);
    assert_int_equal(folder_count(f, "stall-", NULL, 0), KEEP);
    for (unsigned bucket = 1; bucket < BUCKETS; bucket += 2) { /* no bucket was emptied */
        char part[32];
        snprintf(part, sizeof part, "-1-%08x.", bucket + 1);
        assert_true(folder_count(f, part, NULL, 0) >= 1);
    }
}

static void what_is_not_a_plain_file_is_left_alone(void **state) {
    struct folder *f = *state;
    const char *link = "stall-20200101T000000.000Z-0a1b2c3d-1-00000001.json";
    const char *folder = "stall-20200101T000000.000Z-0a1b2c3d-2-00000001.json";
    assert_int_equal(symlinkat("elsewhere", f->dir, link), 0);
    assert_int_equal(mkdirat(f->dir, folder, 0777), 0);
    assert_int_equal(apply(f, (struct rec_retention){1, 1, 1}, TODAY).removed, 0);
    assert_int_equal(folder_count(f, "stall-", NULL, 0), 2);
}

static void a_folder_that_is_gone_is_told(void **state) {
    (void)state;
    struct rec_retention limits = {.files = 1};
    assert_false(rec_retention_apply(-1, &limits, TODAY, NULL));
}

/* ---- junk ---- */

static void junk_of_a_killed_process_goes_at_start_and_that_of_a_living_one_stays(void **state) {
    struct folder *f = *state;
    int ready[2], status;
    char byte;
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        int fd = openat(f->dir, ".stall-11111111.part", O_WRONLY | O_CREAT, 0666);
        _exit(fcntl(fd, F_SETLK, &lock) != 0 || write(ready[1], "", 1) != 1 || pause());
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    folder_put(f, ".stall-22222222.part", "half", 4);
    folder_put(f, ".stallrec-state.part", "half", 4);
    folder_put(f, ".other.part", "mine", 4);
    rec_retention_remove_junk(f->dir);
    assert_true(folder_has(f, ".stall-11111111.part"));
    assert_false(folder_has(f, ".stall-22222222.part"));
    assert_true(folder_has(f, ".other.part"));
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &status, 0), child);
    rec_retention_remove_junk(f->dir);
    assert_false(folder_has(f, ".stall-11111111.part"));
    close(ready[0]);
    close(ready[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, folder_setup, folder_teardown)
        cmocka_unit_test(a_name_says_what_the_file_is),
        cmocka_unit_test(other_names_are_nothing_of_ours),
        cmocka_unit_test(a_bucket_is_the_function_wherever_it_is_loaded),
        T(what_is_older_than_the_days_goes),
        T(the_oldest_of_the_fullest_bucket_goes_first),
        T(firsts_go_last_and_the_oldest_of_them_first),
        T(no_limit_removes_nothing),
        T(thousands_of_files_are_brought_within_their_limits),
        T(what_is_not_a_plain_file_is_left_alone),
        cmocka_unit_test(a_folder_that_is_gone_is_told),
        T(junk_of_a_killed_process_goes_at_start_and_that_of_a_living_one_stays),
#undef T
    };
    return cmocka_run_group_tests_name("retention", tests, NULL, NULL);
}
