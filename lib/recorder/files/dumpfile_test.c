/* Tests the files of dumps, and the compressor that they use. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <signal.h>
#include <unistd.h>
#include <zlib.h>

#include "files/dumpfile.h"
#include "support/rec_gzip.h"

/* ---- gzip ---- */

enum { BIG = 1 << 20 };

struct memory {
    unsigned char *bytes;
    size_t len, limit;
};

static bool to_memory(void *ctx, const void *bytes, size_t len) {
    struct memory *m = ctx;
    if (len > m->limit - m->len) {
        return false;
    }
    memcpy(m->bytes + m->len, bytes, len);
    m->len += len;
    return true;
}

/* Compresses `len` bytes, which are passed in pieces of `piece` bytes. False: not all could be
 * written. */
static bool compress_in_pieces(struct memory *to, const unsigned char *from, size_t len,
                               size_t piece) {
    void *work = malloc(rec_gzip_size());
    assert_non_null(work);
    memset(work, 0x5a, rec_gzip_size());
    struct rec_out out = {.write = to_memory, .ctx = to};
    to->len = 0;
    struct rec_gzip *gzip = rec_gzip_open(work, &out);
    assert_non_null(gzip);
    for (size_t at = 0; at < len; at += piece) {
        rec_out_write(rec_gzip_out(gzip), from + at, len - at < piece ? len - at : piece);
    }
    bool ok = rec_gzip_close(gzip);
    free(work);
    return ok;
}

static size_t inflate_all(const struct memory *from, unsigned char *to, size_t size) {
    z_stream z = {.next_in = from->bytes,
                  .avail_in = (uInt)from->len,
                  .next_out = to,
                  .avail_out = (uInt)size};
    assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
    assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
    assert_int_equal(z.avail_in, 0);
    size_t len = z.total_out;
    inflateEnd(&z);
    return len;
}

static void what_is_compressed_comes_back(void **state) {
    (void)state;
    unsigned char *data = malloc(BIG), *back = malloc(BIG);
    struct memory packed = {.bytes = malloc(2 * BIG), .limit = 2 * BIG};
    assert_true(data != NULL && back != NULL && packed.bytes != NULL);
    uint32_t x = 1;
    for (size_t i = 0; i < BIG; i++) { /* half noise, half text that repeats */
        x = x * 1664525 + 1013904223;
        data[i] =
            i % 8192 < 4096 ? (unsigned char)(x >> 24) : (unsigned char)("frames:[1,2,3]"[i % 14]);
    }
    static const size_t sizes[] = {0, 1, 1023, 1024, 1025, 65536, BIG};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        assert_true(compress_in_pieces(&packed, data, sizes[i], 997));
        assert_int_equal(inflate_all(&packed, back, BIG), sizes[i]);
        assert_memory_equal(back, data, sizes[i]);
    }
    free(data);
    free(back);
    free(packed.bytes);
}

static void equal_input_gives_equal_bytes(void **state) {
    (void)state;
    static unsigned char a[4096], b[4096], data[20000];
    struct memory first = {a, 0, sizeof a}, second = {b, 0, sizeof b};
    memset(data, 'x', sizeof data);
    assert_true(compress_in_pieces(&first, data, sizeof data, 100));
    assert_true(compress_in_pieces(&second, data, sizeof data, 100));
    assert_int_equal(first.len, second.len);
    assert_memory_equal(a, b, first.len);
    assert_memory_equal(a + 4, "\0\0\0\0", 4); /* the gzip header has no time */
}

static void a_failure_behind_the_compressor_is_told(void **state) {
    (void)state;
    static unsigned char a[64], data[100000];
    struct memory small = {a, 0, sizeof a};
    uint32_t x = 1;
    for (size_t i = 0; i < sizeof data; i++) {
        data[i] = (unsigned char)((x = x * 1664525 + 1013904223) >> 24);
    }
    assert_false(compress_in_pieces(&small, data, sizeof data, 1000));
    small.limit = 0;
    assert_false(compress_in_pieces(&small, data, 10, 10)); /* the failure is noticed only at the
                                                               end */
}

/* ---- files ---- */

struct fixture {
    char folder[64];
    void *memory;
    struct rec_dumpfile *file;
    struct rec_thread thread;
    struct rec_dump dump;
    struct rec_about about;
};

static int setup(void **state) {
    struct fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    memcpy(f->folder, "/tmp/stallrec-dumps-XXXXXX", 27);
    assert_non_null(mkdtemp(f->folder));
    f->memory = malloc(rec_dumpfile_size());
    assert_non_null(f->memory);
    f->thread = (struct rec_thread){.id = 1, .main = true, .cpu_ns = UINT64_MAX};
    f->dump = (struct rec_dump){.id = {0xab, 0xcd, 0xef, 0x01},
                                .wall_ms = 1795255200123,
                                .threads = &f->thread,
                                .thread_count = 1,
                                .heaviest = -1,
                                .stall = {.seq = 3, .kind = "hang", .detector = "runloop"}};
    *state = f;
    return 0;
}

static int teardown(void **state) {
    struct fixture *f = *state;
    char command[256];
    snprintf(command, sizeof command, "chmod -R u+w %s && rm -r %s", f->folder, f->folder);
    int status = system(command);
    free(f->memory);
    free(f);
    return status;
}

static unsigned files_in(const char *folder) {
    unsigned count = 0;
    DIR *d = opendir(folder);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        count += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    }
    closedir(d);
    return count;
}

static size_t read_gzip(const char *path, char *text, size_t size) {
    gzFile g = gzopen(path, "rb");
    assert_non_null(g);
    int n = gzread(g, text, (unsigned)size - 1);
    assert_true(n >= 0);
    assert_int_equal(gzclose(g), Z_OK);
    text[n] = '\0';
    return (size_t)n;
}

static void a_dump_is_a_file_named_by_time_id_and_seq(void **state) {
    struct fixture *f = *state;
    char expected[160], text[4096];
    const char *path;
    assert_int_equal(rec_dumpfile_init(&f->file, f->memory, f->folder, 0, 0), STALLREC_OK);
    assert_int_equal(rec_dumpfile_write(f->file, &f->dump, &f->about, &path), STALLREC_OK);
    snprintf(expected, sizeof expected, "%s/stall-20261121T100000.123Z-abcdef01-3-00000000.json.gz",
             f->folder);
    assert_string_equal(path, expected);
    size_t len = read_gzip(path, text, sizeof text);
    assert_true(len > 100);
    assert_memory_equal(text, "{\"format\":\"stall-dump/1\",\"id\":\"abcdef01-", 40);
    assert_string_equal(text + len - 2, "}\n");
    assert_int_equal(files_in(f->folder), 1);
}

static mode_t mode_of(const char *path) {
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return st.st_mode & 07777;
}

static void dumps_are_their_owners_unless_asked_otherwise(void **state) {
    struct fixture *f = *state;
    static const struct {
        uint32_t asked;
        mode_t file, folder;
    } cases[] = {{0, 0600, 0700}, {0640, 0640, 0750}, {0644, 0644, 0755}, {0660, 0660, 0770}};
    mode_t umask_before = umask(0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char folder[128];
        const char *path;
        snprintf(folder, sizeof folder, "%s/new%zu", f->folder, i);
        assert_int_equal(rec_dumpfile_init(&f->file, f->memory, folder, 0, cases[i].asked),
                         STALLREC_OK);
        assert_int_equal(rec_dumpfile_write(f->file, &f->dump, &f->about, &path), STALLREC_OK);
        assert_int_equal(mode_of(path), cases[i].file);
        assert_int_equal(mode_of(folder), cases[i].folder);
        unlink(path);
        assert_int_equal(chmod(folder, 0751), 0); /* a folder that exists keeps its mode */
        assert_int_equal(rec_dumpfile_init(&f->file, f->memory, folder, 0, 0), STALLREC_OK);
        assert_int_equal(mode_of(folder), 0751);
        rmdir(folder);
    }
    umask(umask_before);
}

static void plain_json_is_written_on_request(void **state) {
    struct fixture *f = *state;
    const char *path;
    assert_int_equal(rec_dumpfile_init(&f->file, f->memory, f->folder, STALLREC_PLAIN_JSON, 0),
                     STALLREC_OK);
    assert_int_equal(rec_dumpfile_write(f->file, &f->dump, &f->about, &path), STALLREC_OK);
    assert_string_equal(path + strlen(path) - 16, "-3-00000000.json");
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_int_equal(fgetc(file), '{');
    fclose(file);
}

static void a_missing_folder_is_made_and_found_after_chdir(void **state) {
    struct fixture *f = *state;
    char before[4096], expected[160];
    const char *path;
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(f->folder), 0);
    enum stallrec_error made = rec_dumpfile_init(&f->file, f->memory, "new", 0, 0);
    assert_int_equal(chdir(before), 0);
    assert_int_equal(made, STALLREC_OK);
    assert_int_equal(rec_dumpfile_write(f->file, &f->dump, &f->about, &path), STALLREC_OK);
    snprintf(expected, sizeof expected, "%s/new", f->folder);
    assert_memory_equal(path, expected, strlen(expected));
    assert_int_equal(files_in(expected), 1);
}

static void a_folder_that_cannot_be_had_is_refused(void **state) {
    struct fixture *f = *state;
    char path[128], *long_path = malloc(REC_PATH_MAX + 10);
    assert_non_null(long_path);
    assert_int_equal(rec_dumpfile_init(&f->file, f->memory, "", 0, 0), STALLREC_ERR_DIRECTORY);
    snprintf(path, sizeof path, "%s/a/b", f->folder); /* one level is made, not two */
    assert_int_equal(rec_dumpfile_init(&f->file, f->memory, path, 0, 0), STALLREC_ERR_DIRECTORY);
    assert_int_equal(errno, ENOENT);
    snprintf(path, sizeof path, "%s/file", f->folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fclose(file);
    assert_int_equal(rec_dumpfile_init(&f->file, f->memory, path, 0, 0), STALLREC_ERR_DIRECTORY);
    assert_int_equal(errno, ENOTDIR);
    memset(long_path, '/', REC_PATH_MAX);
    long_path[REC_PATH_MAX] = '\0';
    assert_int_equal(rec_dumpfile_init(&f->file, f->memory, long_path, 0, 0),
                     STALLREC_ERR_DIRECTORY);
    assert_int_equal(errno, ENAMETOOLONG);
    free(long_path);
}

static void a_write_that_fails_leaves_nothing_behind(void **state) {
    struct fixture *f = *state;
    const char *path;
    struct rlimit before, none = {0, 0};
    assert_int_equal(rec_dumpfile_init(&f->file, f->memory, f->folder, 0, 0), STALLREC_OK);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    none.rlim_max = before.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0); /* each write fails with EFBIG */
    enum stallrec_error got = rec_dumpfile_write(f->file, &f->dump, &f->about, &path);
    int why = errno;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(got, STALLREC_ERR_WRITE);
    assert_int_equal(why, EFBIG);
    assert_int_equal(files_in(f->folder), 0);

    assert_int_equal(rec_dumpfile_write(f->file, &f->dump, &f->about, &path), STALLREC_OK);
    assert_int_equal(files_in(f->folder), 1);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(f->folder), 0);
    got = rec_dumpfile_write(f->file, &f->dump, &f->about, &path); /* the folder is gone */
    why = errno;
    assert_int_equal(mkdir(f->folder, 0777), 0);
    assert_int_equal(got, STALLREC_ERR_WRITE);
    assert_int_equal(why, ENOENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_compressed_comes_back),
        cmocka_unit_test(equal_input_gives_equal_bytes),
        cmocka_unit_test(a_failure_behind_the_compressor_is_told),
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        T(a_dump_is_a_file_named_by_time_id_and_seq),
        T(dumps_are_their_owners_unless_asked_otherwise),
        T(plain_json_is_written_on_request),
        T(a_missing_folder_is_made_and_found_after_chdir),
        T(a_folder_that_cannot_be_had_is_refused),
        T(a_write_that_fails_leaves_nothing_behind),
#undef T
    };
    return cmocka_run_group_tests_name("dumpfile", tests, NULL, NULL);
}
