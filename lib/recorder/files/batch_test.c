/* Tests batches: what is in them, and what is left after a kill, on a full disk, or by damage. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <zlib.h>

#include "files/dumpname.h"
#include "files/folder_test.h"
#include "stallrec.h"

enum { BIG = 1 << 20, MAX_NAME = 256 };

static size_t pack(const char *text, size_t size, unsigned char *to, size_t room) {
    z_stream z = {.next_in = (z_const Bytef *)text,
                  .avail_in = (uInt)size,
                  .next_out = to,
                  .avail_out = (uInt)room};
    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 8, 0), Z_OK);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    size_t made = z.total_out;
    deflateEnd(&z);
    return made;
}

/* Writes dump `number`, with `noise` bytes of pseudo-random text, which hardly compress. */
static void put_dump(const struct folder *f, unsigned number, size_t noise, bool gzip, bool local) {
    char name[MAX_NAME], *text = malloc(noise + 100);
    unsigned char *packed = malloc(noise + 1000);
    assert_true(text != NULL && packed != NULL);
    size_t len =
        (size_t)snprintf(text, 100, "{\"format\":\"stall-dump/1\",\"id\":%u,\"x\":\"", number);
    uint32_t x = number;
    for (size_t i = 0; i < noise; i++) {
        x = x * 1664525 + 1013904223;
        text[len++] = (char)('#' + (x >> 24) % 50);
    }
    for (size_t i = 0; i < len; i++) {
        text[i] = text[i] == '\\' ? '/' : text[i];
    }
    len += (size_t)snprintf(text + len, 4, "\"}\n");
    snprintf(name, sizeof name, "stall-20261121T10%04u.000Z-%08x-1-00000001%s.json%s", number,
             number, local ? ".local" : "", gzip ? ".gz" : "");
    if (gzip) {
        folder_put(f, name, packed, pack(text, len, packed, noise + 1000));
    } else {
        folder_put(f, name, text, len);
    }
    free(text);
    free(packed);
}

/* Returns the unpacked text of the batch, which the caller frees. */
static char *unpack(const struct stallrec_batch *batch) {
    char *text = malloc(BIG);
    assert_non_null(text);
    gzFile g = gzopen(batch->path, "rb");
    assert_non_null(g);
    int n = gzread(g, text, BIG - 1);
    assert_true(n > 0);
    assert_int_equal(gzclose(g), Z_OK);
    text[n] = '\0';
    return text;
}

static enum stallrec_error next(const struct folder *f, uint64_t max, struct stallrec_batch *out) {
    *out = (struct stallrec_batch){.size = sizeof *out};
    return stallrec_batch_next(f->path, max, out);
}

static void a_batch_is_sessions_then_dumps_by_time(void **state) {
    struct folder *f = *state;
    struct stallrec_batch batch;
    put_dump(f, 2, 10, true, false);
    put_dump(f, 1, 10, false, false);
    put_dump(f, 3, 10, true, true); /* this dump is over the quota, so it is not sent */
    folder_put(f, "session-20261121T110000.000Z-0a1b2c3d.json", "{\"s\":1}\n", 8);
    folder_put(f, "notes.json", "{}\n", 3);
    assert_int_equal(next(f, 100000, &batch), STALLREC_OK);
    assert_int_equal(batch.dumps, 2);
    assert_int_equal(batch.sessions, 1);
    assert_int_equal(batch.left_out, 0);
    char *text = unpack(&batch);
    assert_memory_equal(text, "{\"s\":1}\n{\"format\":\"stall-dump/1\",\"id\":1,", 40);
    assert_non_null(strstr(text, "\n{\"format\":\"stall-dump/1\",\"id\":2,"));
    assert_null(strstr(text, "\"id\":3"));
    free(text);
    assert_int_equal(folder_count(f, "stall-2026", NULL, 0), 3); /* the files stay until the batch
                                                                    is done */
    assert_int_equal(stallrec_batch_done(f->path, batch.id), STALLREC_OK);
    assert_int_equal(folder_count(f, "stall-2026", NULL, 0), 1);
    assert_int_equal(folder_count(f, "batch", NULL, 0), 0);
    assert_true(folder_has(f, "notes.json"));
    assert_int_equal(next(f, 100000, &batch), STALLREC_ERR_NOTHING);
    assert_int_equal(stallrec_batch_done(f->path, batch.id), STALLREC_ERR_NOTHING);
    assert_int_equal(stallrec_batch_done(f->path, "../x"), STALLREC_ERR_NOTHING);
}

/* The files that an unreadable list names may still be there, and would be sent again if the batch
 * were removed. The list is replaced by a folder, which can be opened, but fails at the first
 * read. */
static void a_list_that_cannot_be_read_keeps_its_batch(void **state) {
    struct folder *f = *state;
    struct stallrec_batch batch, again;
    char list[STALLREC_BATCH_PATH + 8], kept[STALLREC_BATCH_PATH + 8];
    put_dump(f, 1, 100, true, false);
    assert_int_equal(next(f, 100000, &batch), STALLREC_OK);
    snprintf(list, sizeof list, "%s/.stall-batch-%s.list", f->path, batch.id);
    snprintf(kept, sizeof kept, "%s/kept", f->path);
    assert_int_equal(rename(list, kept), 0);
    assert_int_equal(mkdir(list, 0700), 0);
    assert_int_equal(stallrec_batch_done(f->path, batch.id), STALLREC_ERR_WRITE);
    assert_int_equal(access(batch.path, F_OK), 0);
    assert_int_equal(next(f, 100000, &again), STALLREC_ERR_DIRECTORY);
    assert_int_equal(rmdir(list), 0);
    assert_int_equal(rename(kept, list), 0);
    assert_int_equal(stallrec_batch_done(f->path, batch.id), STALLREC_OK);
    assert_int_equal(next(f, 100000, &again), STALLREC_ERR_NOTHING);
}

static void the_same_batch_comes_until_it_is_done(void **state) {
    struct folder *f = *state;
    struct stallrec_batch first, again;
    put_dump(f, 1, 100, true, false);
    assert_int_equal(next(f, 100000, &first), STALLREC_OK);
    put_dump(f, 2, 100, true, false);
    assert_int_equal(next(f, 100000, &again), STALLREC_OK);
    assert_string_equal(again.id, first.id);
    assert_int_equal(again.bytes, first.bytes);
    assert_int_equal(again.dumps, 1);
    assert_int_equal(unlink(first.path), 0); /* as if the recorder had been killed before the
                                                batch's file existed */
    assert_int_equal(stallrec_batch_done(f->path, first.id), STALLREC_ERR_NOTHING);
    assert_int_equal(next(f, 100000, &again), STALLREC_OK);
    assert_int_equal(again.dumps, 2);
    assert_string_not_equal(again.id, first.id);
    assert_int_equal(folder_count(f, "batch", NULL, 0), 2); /* the list of the earlier batch is
                                                               gone */
}

static void a_batch_stays_within_its_bytes_and_all_come_in_order(void **state) {
    struct folder *f = *state;
    struct stallrec_batch batch;
    unsigned expected = 0, batches = 0;
    enum { DUMPS = 60 };
    for (unsigned i = 0; i < DUMPS; i++) {
        put_dump(f, i, 200 + i * 37 % 1500, i % 3 != 0, false);
    }
    put_dump(f, DUMPS, 30000, true, false); /* this dump is larger than any batch */
    enum stallrec_error st;
    while ((st = next(f, 4096, &batch)) == STALLREC_OK && batches < 100) {
        assert_true(batch.bytes <= 4096 && batch.dumps > 0);
        char *text = unpack(&batch), *at = text;
        for (unsigned i = 0; i < batch.dumps; i++) {
            char head[64];
            snprintf(head, sizeof head, "{\"format\":\"stall-dump/1\",\"id\":%u,", expected++);
            assert_memory_equal(at, head, strlen(head));
            at = strchr(at, '\n') + 1;
        }
        assert_int_equal(*at, '\0');
        free(text);
        batches++;
        assert_int_equal(stallrec_batch_done(f->path, batch.id), STALLREC_OK);
    }
    assert_int_equal(st, STALLREC_ERR_NOTHING);
    assert_int_equal(expected, DUMPS);
    assert_true(batches > 5 && batches < DUMPS);
    assert_int_equal(folder_count(f, "stall-2026", NULL, 0), 1);
}

static void damaged_dumps_are_left_out(void **state) {
    struct folder *f = *state;
    struct stallrec_batch batch;
    unsigned char packed[1000];
    static const char *const bad[] = {"", "{}", "{}\n{}\n", "[]\n", "{\n}\n", "\n"};
    char path[MAX_NAME];
    for (int i = 0; i < 6; i++) {
        snprintf(path, sizeof path, "stall-20261121T090000.000Z-00000000-%d-00000001.json", i);
        folder_put(f, path, bad[i], strlen(bad[i]));
        snprintf(path, sizeof path, "stall-20261121T090000.000Z-00000000-%d-00000001.json.gz", i);
        folder_put(f, path, packed, pack(bad[i], strlen(bad[i]), packed, sizeof packed));
    }
    size_t len = pack("{\"a\":12345678}\n", 15, packed, sizeof packed);
    folder_put(f, "stall-20261121T090000.000Z-00000000-7-00000001.json.gz", packed, len - 1);
    packed[len] = 'x';
    folder_put(f, "stall-20261121T090000.000Z-00000000-8-00000001.json.gz", packed, len + 1);
    packed[len - 6] ^= 1; /* damages the checksum */
    folder_put(f, "stall-20261121T090000.000Z-00000000-9-00000001.json.gz", packed, len);
    put_dump(f, 5, 10, true, false);
    assert_int_equal(next(f, 100000, &batch), STALLREC_OK);
    assert_int_equal(batch.dumps, 1);
    assert_int_equal(batch.left_out, 15);
    char *text = unpack(&batch);
    assert_memory_equal(text, "{\"format\":\"stall-dump/1\",\"id\":5,", 32);
    assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
    free(text);
}

static void a_full_disk_takes_nothing(void **state) {
    struct folder *f = *state;
    struct stallrec_batch batch;
    struct rlimit before, limit;
    for (unsigned i = 0; i < 30; i++) {
        put_dump(f, i, 1000, true, false);
    }
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = before;
    signal(SIGXFSZ, SIG_IGN);
    for (rlim_t room = 0; room < 30000; room += 4999) { /* each kind of write is cut off */
        limit.rlim_cur = room;
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
        enum stallrec_error st = next(f, 1000000, &batch);
        int why = errno;
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        if (st == STALLREC_OK) {
            break;
        }
        assert_int_equal(st, STALLREC_ERR_WRITE);
        assert_int_equal(why, EFBIG);
        assert_int_equal(folder_count(f, "batch", NULL, 0), 0);
        assert_int_equal(folder_count(f, "stall-2026", NULL, 0), 30);
    }
    assert_int_equal(next(f, 1000000, &batch), STALLREC_OK);
    assert_int_equal(batch.dumps, 30);
}

static void killed_at_any_time_nothing_is_lost_or_sent_under_two_ids(void **state) {
    struct folder *f = *state;
    enum { DUMPS = 12 };
    struct stallrec_batch batch;
    unsigned seen[DUMPS] = {0};
    for (unsigned i = 0; i < DUMPS; i++) {
        put_dump(f, i, 700, true, false);
    }
    for (unsigned round = 0; round < 40; round++) { /* in each round a child gathers a batch, and is
                                                       killed meanwhile */
        pid_t child = fork();
        if (child == 0) {
            struct stallrec_batch b;
            for (int i = 0; i < 3 && next(f, 2048, &b) == STALLREC_OK && round % 2 == 0; i++) {
                usleep(100);
            }
            _exit(0);
        }
        usleep(round * 53);
        kill(child, SIGKILL);
        assert_int_equal(waitpid(child, NULL, 0), child);
    }
    for (enum stallrec_error st; (st = next(f, 2048, &batch)) != STALLREC_ERR_NOTHING;) {
        assert_int_equal(st, STALLREC_OK);
        char *text = unpack(&batch);
        for (unsigned i = 0; i < DUMPS; i++) {
            char id[32];
            snprintf(id, sizeof id, "\"id\":%u,", i);
            seen[i] += strstr(text, id) != NULL;
        }
        free(text);
        assert_int_equal(stallrec_batch_done(f->path, batch.id), STALLREC_OK);
    }
    for (unsigned i = 0; i < DUMPS; i++) {
        assert_int_equal(seen[i], 1);
    }
    assert_int_equal(folder_count(f, "stall-", NULL, 0), 0);
}

static void done_goes_on_where_it_was_killed_and_trusts_no_list(void **state) {
    struct folder *f = *state;
    struct stallrec_batch batch, again;
    char name[MAX_NAME];
    static const char evil[] = "notes.json\n../precious\n/etc/passwd\n"
                               "stall-20261121T100001.000Z-00000001-1-00000001.json.gz\n\n";
    folder_put(f, "notes.json", "{}\n", 3);
    put_dump(f, 1, 10, true, false);
    put_dump(f, 2, 10, true, false);
    assert_int_equal(next(f, 100000, &batch), STALLREC_OK);
    assert_int_equal(unlinkat(f->dir, "stall-20261121T100002.000Z-00000002-1-00000001.json.gz", 0),
                     0);
    assert_int_equal(next(f, 100000, &again), STALLREC_OK); /* one file is gone, but the batch has
                                                               its content */
    assert_string_equal(again.id, batch.id);
    assert_int_equal(folder_count(f, ".list", name, sizeof name), 1);
    folder_put(f, name, evil, sizeof evil - 1);
    assert_int_equal(stallrec_batch_done(f->path, batch.id), STALLREC_OK);
    assert_true(folder_has(f, "notes.json"));
    assert_int_equal(folder_count(f, "stall-", NULL, 0), 0);
}

static void what_cannot_be_is_refused(void **state) {
    struct folder *f = *state;
    struct stallrec_batch batch = {0};
    assert_int_equal(stallrec_batch_next(f->path, 4096, &batch), STALLREC_ERR_CONFIG);
    assert_int_equal(next(f, 1023, &batch), STALLREC_ERR_CONFIG);
    batch.size = sizeof batch;
    assert_int_equal(stallrec_batch_next("/nowhere/at/all", 4096, &batch), STALLREC_ERR_DIRECTORY);
    assert_int_equal(errno, ENOENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, folder_setup, folder_teardown)
        T(a_batch_is_sessions_then_dumps_by_time),
        T(a_list_that_cannot_be_read_keeps_its_batch),
        T(the_same_batch_comes_until_it_is_done),
        T(a_batch_stays_within_its_bytes_and_all_come_in_order),
        T(damaged_dumps_are_left_out),
        T(a_full_disk_takes_nothing),
        T(killed_at_any_time_nothing_is_lost_or_sent_under_two_ids),
        T(done_goes_on_where_it_was_killed_and_trusts_no_list),
        T(what_cannot_be_is_refused),
#undef T
    };
    return cmocka_run_group_tests_name("batch", tests, NULL, NULL);
}
