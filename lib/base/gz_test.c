#include "base/gz.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include "base/failmalloc.h"

/* Returns len bytes of text that can be compressed; the caller releases it. */
static struct strbuf sample(size_t len) {
    struct strbuf b = {0};
    for (unsigned i = 0; b.len < len; i++) {
        strbuf_addf(&b, "%u:%x,", i * 2654435761u >> 20, i);
    }
    strbuf_truncate(&b, len);
    return b;
}

static struct strbuf gzipped(const struct strbuf *plain) {
    struct strbuf out = {0};
    assert_int_equal(gz_deflate(plain->data, plain->len, 6, &out, NULL), ST_OK);
    return out;
}

static void recognised_by_three_bytes(void **state) {
    (void)state;
    assert_true(gz_is_gzip("\x1f\x8b\x08", 3));
    assert_false(gz_is_gzip("\x1f\x8b\x08", 2));
    assert_false(gz_is_gzip("\x1f\x8b\x07", 3));
    assert_false(gz_is_gzip(NULL, 0));
    assert_false(gz_is_gzip("{\"a", 3));
}

static void what_goes_in_comes_out(void **state) {
    (void)state;
    const size_t sizes[] = {0, 1, 100, 65535, 65536, 65537, 1000000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (int level = 1; level <= 9; level += 4) {
            struct strbuf plain = sample(sizes[i]), zipped = {0}, back = {0};
            assert_int_equal(gz_deflate(plain.data, plain.len, level, &zipped, NULL), ST_OK);
            assert_true(gz_is_gzip(zipped.data, zipped.len));
            assert_memory_equal(zipped.data + 3, "\0\0\0\0\0",
                                5); /* no flags, so no name, and no time */
            assert_int_equal(gz_inflate("t", zipped.data, zipped.len, 0, &back, NULL), ST_OK);
            assert_int_equal(back.len, plain.len);
            assert_memory_equal(strbuf_cstr(&back), strbuf_cstr(&plain), plain.len);
            strbuf_release(&plain);
            strbuf_release(&zipped);
            strbuf_release(&back);
        }
    }
}

static void no_such_level_is_an_error(void **state) {
    (void)state;
    struct strbuf out = {0};
    struct err e = {0};
    assert_int_equal(gz_deflate("x", 1, 10, &out, &e), ST_ERR);
    assert_int_equal(e.code, ERR_USAGE);
    strbuf_release(&out);
}

static void members_and_padding_follow_each_other(void **state) {
    (void)state;
    struct strbuf a = sample(70000), za = gzipped(&a), both = {0}, back = {0};
    strbuf_add(&both, za.data, za.len);
    strbuf_add(&both, "\0\0\0", 3);
    strbuf_add(&both, za.data, za.len);
    strbuf_add(&both, "\0\0\0\0\0\0\0", 7);
    assert_int_equal(gz_inflate("t", both.data, both.len, 0, &back, NULL), ST_OK);
    assert_int_equal(back.len, 140000);
    assert_memory_equal(back.data + 70000, a.data, 70000);
    strbuf_addstr(&both, "junk");
    strbuf_clear(&back);
    struct err e = {0};
    assert_int_equal(gz_inflate("t", both.data, both.len, 0, &back, &e), ST_ERR);
    assert_int_equal(e.code, ERR_FORMAT);
    assert_int_equal(back.len, 140000); /* what was inflated before the damage stays */
    strbuf_release(&a);
    strbuf_release(&za);
    strbuf_release(&both);
    strbuf_release(&back);
}

/* Inflates one member after the other into a buffer that has room for `room` bytes at first. */
static void members_come_one_by_one(size_t room, const struct strbuf *both, size_t size) {
    struct strbuf back = {0};
    const void *bytes = both->data;
    size_t len = both->len, members = 0;
    (void)strbuf_room(&back, room);
    while (len) {
        assert_int_equal(gz_inflate_member("t", &bytes, &len, size, &back, NULL), ST_OK);
        members++;
        assert_int_equal(back.len, members * size);
    }
    assert_int_equal(members, 2);
    assert_ptr_equal(bytes, both->data + both->len);
    strbuf_release(&back);
}

static void a_member_is_inflated_alone(void **state) {
    (void)state;
    struct strbuf a = sample(70000), za = gzipped(&a), both = {0}, back = {0};
    strbuf_add(&both, za.data, za.len);
    strbuf_add(&both, "\0\0\0", 3);
    strbuf_add(&both, za.data, za.len);
    members_come_one_by_one(16, &both, a.len);
    members_come_one_by_one(200000, &both, a.len);
    for (size_t room = 16; room < 200000; room += 150000) {
        const void *bytes = za.data;
        size_t len = za.len;
        struct err e = {0};
        (void)strbuf_room(&back, room);
        assert_int_equal(gz_inflate_member("t", &bytes, &len, a.len - 1, &back, &e), ST_ERR);
        assert_int_equal(e.code, ERR_LIMIT);
        strbuf_clear(&back);
        err_clear(&e);
        len = za.len - 1;
        assert_int_equal(gz_inflate_member("t", &bytes, &len, 0, &back, &e), ST_ERR);
        strbuf_clear(&back);
    }
    strbuf_release(&a);
    strbuf_release(&za);
    strbuf_release(&both);
    strbuf_release(&back);
}

static void what_is_deflated_fast_comes_out(void **state) {
    (void)state;
    for (size_t size = 1; size <= 1000000; size *= 10) {
        struct strbuf plain = sample(size), zipped = {0}, back = {0};
        assert_int_equal(gz_deflate_fast(plain.data, plain.len, 1, &zipped, NULL), ST_OK);
        assert_int_equal(gz_deflate_fast(plain.data, plain.len, 6, &zipped, NULL), ST_OK);
        assert_int_equal(gz_inflate("t", zipped.data, zipped.len, 0, &back, NULL), ST_OK);
        assert_int_equal(back.len, 2 * size);
        assert_memory_equal(back.data + size, plain.data, size);
        strbuf_release(&plain);
        strbuf_release(&zipped);
        strbuf_release(&back);
    }
}

static void a_zlib_stream_is_accepted(void **state) {
    (void)state;
    struct strbuf plain = sample(5000), back = {0};
    uLongf len = compressBound(5000);
    Bytef *zipped = malloc(len);
    assert_int_equal(compress(zipped, &len, (const Bytef *)plain.data, 5000), Z_OK);
    assert_int_equal(gz_inflate("t", zipped, len, 0, &back, NULL), ST_OK);
    assert_memory_equal(back.data, plain.data, 5000);
    free(zipped);
    strbuf_release(&plain);
    strbuf_release(&back);
}

static void every_cut_is_truncation(void **state) {
    (void)state;
    struct strbuf plain = sample(3000), zipped = gzipped(&plain);
    for (size_t len = 0; len < zipped.len; len++) {
        struct strbuf back = {0};
        struct err e = {0};
        assert_int_equal(gz_inflate("t", zipped.data, len, 0, &back, &e), ST_ERR);
        assert_int_equal(e.code, ERR_TRUNCATED);
        assert_true(back.len <= 3000);
        assert_memory_equal(strbuf_cstr(&back), plain.data, back.len);
        strbuf_release(&back);
    }
    strbuf_release(&plain);
    strbuf_release(&zipped);
}

static void damage_is_a_format_error(void **state) {
    (void)state;
    struct strbuf plain = sample(3000), zipped = gzipped(&plain), back = {0};
    zipped.data[zipped.len - 6] ^= 1; /* a byte of the checksum */
    struct err e = {0};
    assert_int_equal(gz_inflate("dump.gz", zipped.data, zipped.len, 0, &back, &e), ST_ERR);
    assert_int_equal(e.code, ERR_FORMAT);
    assert_non_null(strstr(e.text, "'dump.gz'"));
    assert_memory_equal(back.data, plain.data, 3000);
    err_clear(&e);
    assert_int_equal(gz_inflate("t", "not compressed", 14, 0, &back, &e), ST_ERR);
    assert_int_equal(e.code, ERR_FORMAT);
    strbuf_release(&plain);
    strbuf_release(&zipped);
    strbuf_release(&back);
}

static void the_cap_is_exact(void **state) {
    (void)state;
    struct strbuf plain = sample(100000), zipped = gzipped(&plain), back = {0};
    struct err e = {0};
    assert_int_equal(gz_inflate("t", zipped.data, zipped.len, 100000, &back, &e), ST_OK);
    strbuf_clear(&back);
    assert_int_equal(gz_inflate("t", zipped.data, zipped.len, 99999, &back, &e), ST_ERR);
    assert_int_equal(e.code, ERR_LIMIT);
    assert_int_equal(back.len, 99999);
    strbuf_release(&plain);
    strbuf_release(&zipped);
    strbuf_release(&back);
}

static void a_known_size_must_be_filled_exactly(void **state) {
    (void)state;
    struct strbuf plain = sample(70000);
    uLongf len = compressBound(70000);
    Bytef *zipped = malloc(len);
    assert_int_equal(compress(zipped, &len, (const Bytef *)plain.data, 70000), Z_OK);
    char *out = malloc(70001);
    struct err e = {0};
    assert_int_equal(gz_inflate_into("t", zipped, len, out, 70000, &e), ST_OK);
    assert_memory_equal(out, plain.data, 70000);
    assert_int_equal(gz_inflate_into("t", zipped, len, out, 70001, &e), ST_ERR);
    assert_int_equal(e.code, ERR_FORMAT);
    err_clear(&e);
    assert_int_equal(gz_inflate_into("t", zipped, len, out, 69999, &e), ST_ERR);
    assert_int_equal(e.code, ERR_FORMAT);
    err_clear(&e);
    assert_int_equal(gz_inflate_into("t", zipped, len / 2, out, 70000, &e), ST_ERR);
    assert_int_equal(e.code, ERR_TRUNCATED);
    err_clear(&e);
    assert_int_equal(gz_inflate_into("t", zipped, len - 1, out, 70000, &e), ST_ERR);
    assert_int_equal(e.code, ERR_TRUNCATED);
    err_clear(&e);
    assert_int_equal(gz_inflate_into("t", NULL, 0, out, 10, &e), ST_ERR);
    assert_int_equal(e.code, ERR_TRUNCATED);
    err_clear(&e);
    zipped[len / 2] ^= 0xff;
    assert_int_equal(gz_inflate_into("t", zipped, len, out, 70000, &e), ST_ERR);
    len = compressBound(0);
    assert_int_equal(compress(zipped, &len, (const Bytef *)"", 0), Z_OK);
    assert_int_equal(gz_inflate_into("t", zipped, len, NULL, 0, NULL), ST_OK);
    free(zipped);
    free(out);
    strbuf_release(&plain);
}

/* ---- the pull stream ---- */

/* Returns a descriptor of a new file from which these bytes can be read. */
static int file_of(const struct strbuf *b) {
    char path[] = "/tmp/gz_test.XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    unlink(path);
    assert_int_equal(write(fd, strbuf_cstr(b), b->len), b->len);
    lseek(fd, 0, SEEK_SET);
    return fd;
}

/* Reads the whole input in steps of `step` bytes and returns the last status. */
static enum st read_all(struct gz_input *in, size_t step, struct strbuf *out, struct err *e) {
    char *buf = malloc(step);
    enum st st;
    size_t got;
    do {
        st = gz_input_read(in, buf, step, &got, e);
        strbuf_add(out, buf, got);
    } while (st == ST_OK && got > 0);
    free(buf);
    return st;
}

static void streams_plain_and_gzip_alike(void **state) {
    (void)state;
    const size_t sizes[] = {0, 1, 2, 3, 1000, 300000};
    const size_t steps[] = {1, 7, 4096, 100000};
    for (size_t i = 0; i < 2 * (sizeof sizes / sizeof *sizes); i++) {
        struct strbuf plain = sample(sizes[i / 2]), zipped = gzipped(&plain);
        for (size_t k = 0; k < sizeof steps / sizeof *steps; k++) {
            struct gz_input *in;
            struct strbuf back = {0};
            assert_int_equal(gz_input_open(&in, file_of(i % 2 ? &zipped : &plain), "t", NULL),
                             ST_OK);
            assert_int_equal(read_all(in, steps[k], &back, NULL), ST_OK);
            size_t got = 1;
            assert_int_equal(gz_input_read(in, &got, 1, &got, NULL),
                             ST_OK); /* reading on after the end gives the end again */
            assert_int_equal(got, 0);
            assert_int_equal(back.len, plain.len);
            assert_memory_equal(strbuf_cstr(&back), strbuf_cstr(&plain), plain.len);
            gz_input_close(in);
            strbuf_release(&back);
        }
        strbuf_release(&plain);
        strbuf_release(&zipped);
    }
    gz_input_close(NULL);
}

static void streams_members_padding_and_damage(void **state) {
    (void)state;
    struct strbuf plain = sample(90000), zipped = gzipped(&plain), file = {0}, back = {0};
    struct gz_input *in;
    struct err e = {0};
    strbuf_add(&file, zipped.data, zipped.len);
    strbuf_add(&file, "\0\0\0\0", 4);
    strbuf_add(&file, zipped.data, zipped.len);
    strbuf_add(&file, "\0\0", 2);
    assert_int_equal(gz_input_open(&in, file_of(&file), "t", NULL), ST_OK);
    assert_int_equal(read_all(in, 5000, &back, NULL), ST_OK);
    assert_int_equal(back.len, 180000);
    gz_input_close(in);

    strbuf_addstr(&file, "junk");
    strbuf_clear(&back);
    assert_int_equal(gz_input_open(&in, file_of(&file), "t", NULL), ST_OK);
    assert_int_equal(read_all(in, 5000, &back, &e), ST_ERR);
    assert_int_equal(e.code, ERR_FORMAT);
    assert_int_equal(back.len, 180000);
    size_t got = 5;
    struct err again = {0};
    assert_int_equal(gz_input_read(in, &got, 1, &got, &again),
                     ST_ERR); /* an input that has failed fails again in the same way */
    assert_int_equal(got, 0);
    assert_string_equal(again.text, e.text);
    gz_input_close(in);

    strbuf_truncate(&zipped, zipped.len - 1);
    strbuf_clear(&back);
    err_clear(&e);
    assert_int_equal(gz_input_open(&in, file_of(&zipped), "cut.gz", NULL), ST_OK);
    assert_int_equal(read_all(in, 5000, &back, &e), ST_ERR);
    assert_int_equal(e.code, ERR_TRUNCATED);
    assert_string_equal(e.text, "compressed data in 'cut.gz' is cut short");
    assert_memory_equal(back.data, plain.data, 90000);
    gz_input_close(in);
    strbuf_release(&plain);
    strbuf_release(&zipped);
    strbuf_release(&file);
    strbuf_release(&back);
}

static void bytes_given_back_are_read_again_first(void **state) {
    (void)state;
    struct strbuf plain = sample(70000), zipped = gzipped(&plain);
    const struct strbuf *files[] = {&plain, &zipped};
    for (size_t i = 0; i < 2; i++) {
        struct gz_input *in;
        struct strbuf back = {0};
        char buf[100];
        size_t got;
        assert_int_equal(gz_input_open(&in, file_of(files[i]), "t", NULL), ST_OK);
        assert_int_equal(gz_input_read(in, buf, sizeof buf, &got, NULL), ST_OK);
        assert_true(got > 10);
        assert_int_equal(gz_input_unread(in, buf + 10, got - 10, NULL), ST_OK);
        assert_int_equal(gz_input_unread(in, buf, 10, NULL), ST_OK);
        assert_int_equal(gz_input_unread(in, NULL, 0, NULL), ST_OK);
        assert_int_equal(read_all(in, 7, &back, NULL), ST_OK);
        assert_int_equal(back.len, plain.len);
        assert_memory_equal(back.data, plain.data, plain.len);
        gz_input_close(in);
        strbuf_release(&back);
    }
    strbuf_release(&plain);
    strbuf_release(&zipped);
}

static void a_slow_pipe_is_passed_on_at_once(void **state) {
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "{\n", 2), 2);
    alarm(20); /* ends the test if a read waits for more bytes than the pipe has */
    struct gz_input *in;
    char buf[100];
    size_t got;
    assert_int_equal(gz_input_open(&in, ends[0], "pipe", NULL), ST_OK);
    assert_int_equal(gz_input_read(in, buf, sizeof buf, &got, NULL), ST_OK);
    assert_int_equal(got, 2);
    assert_int_equal(write(ends[1], "x", 1), 1);
    assert_int_equal(gz_input_read(in, buf, sizeof buf, &got, NULL), ST_OK);
    assert_int_equal(got, 1);
    close(ends[1]);
    assert_int_equal(gz_input_read(in, buf, sizeof buf, &got, NULL), ST_OK);
    assert_int_equal(got, 0);
    alarm(0);
    gz_input_close(in);
}

static void a_descriptor_that_does_not_block_is_waited_for(void **state) {
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        usleep(50000);
        _exit(write(ends[1], "late", 4) == 4 ? 0 : 1);
    }
    close(ends[1]);
    struct gz_input *in;
    struct strbuf back = {0};
    assert_int_equal(gz_input_open(&in, ends[0], "pipe", NULL), ST_OK);
    assert_int_equal(read_all(in, 10, &back, NULL), ST_OK);
    assert_string_equal(strbuf_cstr(&back), "late");
    waitpid(child, NULL, 0);
    gz_input_close(in);
    strbuf_release(&back);
}

static void an_unreadable_descriptor_is_an_error(void **state) {
    (void)state;
    struct gz_input *in = NULL;
    struct err e = {0};
    int fd = open("/", O_RDONLY);
    assert_int_equal(gz_input_open(&in, fd, "folder", &e), ST_ERR);
    assert_int_equal(e.code, ERR_IO);
    assert_non_null(strstr(e.text, "'folder'"));
    assert_null(in);
    assert_int_equal(fcntl(fd, F_GETFD), -1); /* the descriptor was closed */
}

/* ---- lines ---- */

/* Returns "NUMBER:LINE|" for each line of a text that comes in pieces of `step` bytes. */
static struct strbuf cut_in_pieces(struct line_cutter *c, const char *text, size_t step) {
    struct strbuf out = {0};
    const char *line;
    size_t size, all = strlen(text);
    for (size_t at = 0; at < all; at += step) {
        const char *bytes = text + at;
        size_t len = all - at < step ? all - at : step;
        enum st st;
        while ((st = line_cutter_next(c, &bytes, &len, &line, &size, NULL)) != ST_NONE) {
            strbuf_addf(&out, "%d:", (int)c->number);
            strbuf_add(&out, st == ST_OK ? line : "too long", st == ST_OK ? size : 8);
            strbuf_addc(&out, '|');
        }
        assert_int_equal(len, 0);
    }
    if (line_cutter_end(c, &line, &size)) {
        strbuf_addf(&out, "%d:%.*s|", (int)c->number, (int)size, line);
    }
    assert_false(line_cutter_end(c, &line, &size));
    return out;
}

static void lines_are_the_same_whatever_the_pieces(void **state) {
    (void)state;
    static const struct {
        const char *text, *lines;
        bool unended;
    } cases[] = {
        {"", "", false},
        {"a\n", "1:a|", false},
        {"\n\nab", "1:|2:|3:ab|", true},
        {"12345\n123456\nab\n", "1:12345|2:too long|3:ab|", false},
        {"1234567890\n\nx\n", "1:too long|2:|3:x|", false},
        {"a\r\n1234567890", "1:a\r|2:too long|", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (size_t step = 1; step < 20; step++) {
            struct line_cutter c = {.limit = 5};
            struct strbuf got = cut_in_pieces(&c, cases[i].text, step);
            assert_string_equal(strbuf_cstr(&got), cases[i].lines);
            assert_int_equal(c.unended, cases[i].unended);
            strbuf_release(&got);
            line_cutter_release(&c);
        }
    }
}

static void a_line_that_is_dropped_is_not_kept(void **state) {
    (void)state;
    static char piece[1000];
    struct line_cutter c = {.limit = 5000};
    struct err e = {0};
    const char *line;
    size_t size, errors = 0;
    memset(piece, 'x', sizeof piece);
    for (int i = 0; i < 1000; i++) {
        const char *bytes = piece;
        size_t len = sizeof piece;
        errors += line_cutter_next(&c, &bytes, &len, &line, &size, &e) == ST_ERR;
    }
    assert_int_equal(errors, 1);
    assert_int_equal(e.code, ERR_LIMIT);
    assert_int_equal(c.carry.cap, 0);
    line_cutter_release(&c);
}

/* Counts the lines of an input up to its end or its error. */
static enum st count_lines(const struct strbuf *file, struct gz_lines *l, struct err *e) {
    struct gz_input *in;
    const char *line;
    size_t len;
    enum st st = gz_input_open(&in, file_of(file), "t", e);
    *l = (struct gz_lines){.in = st == ST_OK ? in : NULL};
    while (st == ST_OK) {
        st = gz_lines_next(l, &line, &len, e);
    }
    assert_true(!l->in || gz_lines_next(l, &line, &len, NULL) == st);
    gz_lines_release(l);
    gz_input_close(l->in);
    return st;
}

static void lines_before_the_damage_are_given(void **state) {
    (void)state;
    struct strbuf plain = {0};
    struct gz_lines l;
    for (int i = 0; i < 50000; i++) {
        strbuf_addf(&plain, "line %d\n", i);
    }
    struct strbuf zipped = gzipped(&plain);
    assert_int_equal(count_lines(&plain, &l, NULL), ST_NONE);
    assert_int_equal(l.cutter.number, 50000);
    assert_int_equal(count_lines(&zipped, &l, NULL), ST_NONE);
    assert_int_equal(l.cutter.number, 50000);
    assert_false(l.cutter.unended);
    strbuf_truncate(&zipped, zipped.len / 2);
    struct err e = {0};
    assert_int_equal(count_lines(&zipped, &l, &e), ST_ERR);
    assert_int_equal(e.code, ERR_TRUNCATED);
    assert_true(l.cutter.number > 1000 && l.cutter.number < 50000);
    strbuf_truncate(&plain, plain.len - 1);
    assert_int_equal(count_lines(&plain, &l, NULL), ST_NONE);
    assert_int_equal(l.cutter.number, 50000);
    assert_true(l.cutter.unended);
    strbuf_release(&plain);
    strbuf_release(&zipped);
}

static void pass_through(void *ctx, bool refused) {
    const struct strbuf *plain = ctx;
    struct strbuf zipped = {0}, back = {0}, again = {0};
    struct err e = {0};
    struct gz_input *in = NULL;
    enum st st = gz_deflate(plain->data, plain->len, 6, &zipped, &e);
    if (st == ST_OK) {
        st = gz_inflate("t", zipped.data, zipped.len, 0, &back, &e);
    }
    if (st == ST_OK) {
        st = gz_input_open(&in, file_of(&zipped), "t", &e);
    }
    if (st == ST_OK) {
        char buf[4096];
        size_t got = 1;
        while (st == ST_OK && got > 0) {
            st = gz_input_read(in, buf, sizeof buf, &got, &e);
            strbuf_add(&again, buf, got);
        }
    }
    assert_true(st == ST_OK ? back.len == plain->len : refused && e.code == ERR_NOMEM);
    gz_input_close(in);
    strbuf_release(&zipped);
    strbuf_release(&back);
    strbuf_release(&again);
}

static void no_memory_is_an_error(void **state) {
    (void)state;
    if (!failmalloc_works()) {
        skip();
    }
    struct strbuf plain = sample(50000);
    assert_true(failmalloc_sweep(pass_through, &plain) >
                12); /* some of the allocations are zlib's own */
    strbuf_release(&plain);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recognised_by_three_bytes),
        cmocka_unit_test(what_goes_in_comes_out),
        cmocka_unit_test(no_such_level_is_an_error),
        cmocka_unit_test(members_and_padding_follow_each_other),
        cmocka_unit_test(a_member_is_inflated_alone),
        cmocka_unit_test(what_is_deflated_fast_comes_out),
        cmocka_unit_test(a_zlib_stream_is_accepted),
        cmocka_unit_test(every_cut_is_truncation),
        cmocka_unit_test(damage_is_a_format_error),
        cmocka_unit_test(the_cap_is_exact),
        cmocka_unit_test(a_known_size_must_be_filled_exactly),
        cmocka_unit_test(streams_plain_and_gzip_alike),
        cmocka_unit_test(streams_members_padding_and_damage),
        cmocka_unit_test(bytes_given_back_are_read_again_first),
        cmocka_unit_test(a_slow_pipe_is_passed_on_at_once),
        cmocka_unit_test(a_descriptor_that_does_not_block_is_waited_for),
        cmocka_unit_test(an_unreadable_descriptor_is_an_error),
        cmocka_unit_test(lines_are_the_same_whatever_the_pieces),
        cmocka_unit_test(a_line_that_is_dropped_is_not_kept),
        cmocka_unit_test(lines_before_the_damage_are_given),
        cmocka_unit_test(no_memory_is_an_error),
    };
    return cmocka_run_group_tests_name("gz", tests, NULL, NULL);
}
