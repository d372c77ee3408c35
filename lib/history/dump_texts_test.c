/* Tests the text that the dumps of a history share: when it is made, that each dump is read as it
 * was, that a damaged or missing one is found, and that a user who is forgotten is not in it. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/hash.h"
#include "base/parse.h"
#include "history/fixture_history_test.h"
#include "history/pack_text.h"

/* Sets the members of dump n that its text has, and its text. */
static void describe_dump(struct dump *d, unsigned n, char id[32], char user[32],
                          char text[FIXTURE_TEXT]) {
    snprintf(id, 32, "dump-%u", n);
    snprintf(user, 32, "somebody-%u", n % 10);
    d->id = id;
    d->user = user;
    d->time = "2026-11-10T10:00:00Z";
    d->app.version = "5.0";
    d->app.build = "1";
    d->stall.span_ms = 900;
    fixture_text(d, text);
}

/* Adds dumps, each of a bucket of its own. */
static void add_dumps(struct fixture_history *f, unsigned from, unsigned to) {
    reopen(f, HISTORY_WRITE);
    for (unsigned n = from; n < to; n++) {
        char id[32], user[32], inner[32], text[FIXTURE_TEXT];
        snprintf(inner, sizeof inner, "save_%u", n);
        const char *const frames[] = {inner, names[1], names[2]};
        struct fixture x = {.d = {.device = {.cpus = -1}}};
        struct stall_key key;
        describe_dump(&x.d, n, id, user, text);
        x.d.stall.duration_ms = 900;
        x.d.stall.ended = true;
        fixture_names(&x, frames, 3, 1);
        assert_int_equal(keyer_key(f->keyer, &x.d, &key, NULL), ST_OK);
        assert_int_equal(history_add(f->h, &x.d, &key, NULL), ST_OK);
    }
    assert_int_equal(history_commit(f->h, "2026-11-20T00:00:00Z", NULL), ST_OK);
    assert_int_equal(history_check(f->h, NULL, NULL), ST_OK);
}

static enum st check_text(void *ctx, const char *text, size_t len, struct err *e) {
    (void)e;
    char id[32], user[32], want[FIXTURE_TEXT];
    struct dump d = {0};
    static const char head[] = "{\"format\":\"stall-dump/1\",\"id\":\"dump-";
    assert_true(len > strlen(head) && memcmp(text, head, strlen(head)) == 0);
    uint64_t n;
    assert_true(parse_u64(text + strlen(head), strcspn(text + strlen(head), "\""), 1000, &n));
    describe_dump(&d, (unsigned)n, id, user, want);
    assert_int_equal(len, strlen(want));
    assert_string_equal(text, want);
    ++*(unsigned *)ctx;
    return ST_OK;
}

/* Returns how many dumps the history keeps, each of which must be as it was. */
static unsigned kept_dumps(struct fixture_history *f) {
    struct sql_file *file = NULL;
    struct sql_statement *s = NULL;
    unsigned count = 0;
    reopen(f, HISTORY_READ);
    assert_int_equal(sql_open(&file, f->path, false, NULL), ST_OK);
    assert_int_equal(sql_prepare(file, &s, "SELECT DISTINCT bucket FROM dump", NULL), ST_OK);
    while (sql_next(s, NULL) == ST_OK) {
        const uint64_t bucket = (uint64_t)sql_number(s, 0);
        assert_int_equal(history_dumps_of(f->h, &everything, bucket, check_text, &count, NULL),
                         ST_OK);
    }
    sql_finish(s);
    sql_close(file);
    return count;
}

static int64_t packed_dumps(struct fixture_history *f) {
    return number_of(f, "SELECT count(*) FROM dump WHERE substr(text, 1, 4) = x'502a4d18'");
}

static int64_t shared_texts(struct fixture_history *f) {
    return number_of(f, "SELECT count(*) FROM dump_shared");
}

static void a_text_is_shared_when_there_are_dumps_enough(void **state) {
    struct fixture_history *f = *state;
    add_dumps(f, 0, 63);
    add_dumps(f, 63, 64);
    assert_int_equal(shared_texts(f), 0);
    add_dumps(f, 64, 100);
    add_dumps(f, 100, 120);
    assert_int_equal(shared_texts(f), 1);
    assert_int_equal(packed_dumps(f), 56);
    assert_int_equal(kept_dumps(f), 120);
}

static void a_damaged_or_missing_text_is_found(void **state) {
    static const char *const damages[] = {
        "UPDATE dump SET text = substr(text, 1, length(text) - 2) WHERE length(text) < 120",
        "UPDATE dump SET text = substr(text, 13) WHERE substr(text, 1, 4) = x'502a4d18'",
        "UPDATE dump_shared SET text = substr(text, 1, length(text) - 8)",
        "UPDATE dump_shared SET text = x''",
        "UPDATE dump_shared SET id = id + 1",
        "UPDATE dump_shared SET id = id + 4294967296",
        "DELETE FROM dump_shared"};
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        set_up(state);
        struct fixture_history *f = *state;
        struct strbuf said = {0};
        struct sink out = sink_to_strbuf(&said);
        add_dumps(f, 0, 64);
        add_dumps(f, 64, 70);
        change(f, damages[i]);
        reopen(f, HISTORY_READ);
        assert_int_equal(history_check(f->h, &out, NULL), ST_NONE);
        assert_int_equal(sink_close(&out, NULL), ST_OK);
        assert_non_null(strstr(strbuf_cstr(&said), ": it cannot be read"));
        assert_int_equal(strstr(strbuf_cstr(&said), "dump_shared ") != NULL, i > 1 && i < 6);
        strbuf_release(&said);
        if (i + 1 < sizeof damages / sizeof *damages) {
            tear_down(state);
        }
    }
}

/* Replaces the shared text by a forged one, under the number that a text of these bytes has. */
static void forge_text(struct fixture_history *f, const char *text, size_t len) {
    struct sql_file *file = NULL;
    struct sql_statement *s = NULL;
    struct packer *p = NULL;
    struct strbuf packed = {0};
    assert_int_equal(packer_new(&p, NULL), ST_OK);
    assert_int_equal(packer_pack(p, 0, NULL, 0, text, len, &packed, NULL), ST_OK);
    assert_int_equal(sql_open(&file, f->path, true, NULL), ST_OK);
    assert_int_equal(sql_prepare(file, &s, "UPDATE dump_shared SET id = ?1, text = ?2", NULL),
                     ST_OK);
    sql_bind_number(s, 1, (uint32_t)hash_bytes(text, len));
    sql_bind_bytes(s, 2, packed.data, packed.len);
    assert_int_equal(sql_step(s, NULL), ST_OK);
    sql_finish(s);
    sql_close(file);
    strbuf_release(&packed);
    packer_free(p);
}

static void a_text_like_a_dictionary_is_damage(void **state) {
    static const char dictionary[] = "\x37\xa4\x30\xec and what is no dictionary of zstd";
    struct fixture_history *f = *state;
    struct strbuf said = {0};
    struct sink out = sink_to_strbuf(&said);
    add_dumps(f, 0, 64);
    add_dumps(f, 64, 70);
    forge_text(f, dictionary, sizeof dictionary);
    reopen(f, HISTORY_READ);
    assert_int_equal(history_check(f->h, &out, NULL), ST_NONE);
    assert_int_equal(sink_close(&out, NULL), ST_OK);
    assert_non_null(strstr(strbuf_cstr(&said), "a dictionary of zstd in place of a text"));
    strbuf_release(&said);
    reopen(f, HISTORY_WRITE);
    add_range(f, 1000, 1010);
}

static void what_cannot_be_read_is_counted_when_it_is_deleted(void **state) {
    struct fixture_history *f = *state;
    uint64_t count;
    int32_t day = 0;
    add_dumps(f, 0, 64);
    add_dumps(f, 64, 70);
    change(f, "UPDATE dump SET text = x'00' WHERE id IN (SELECT id FROM dump ORDER BY id LIMIT 3)");
    reopen(f, HISTORY_EDIT);
    assert_int_equal(history_forget_user(f->h, "somebody-none", &count, NULL), ST_OK);
    assert_int_equal(history_counts_of(f->h)->unreadable, 3);
    assert_int_equal(kept_dumps(f), 67);
    change(f, "UPDATE dump SET text = substr(text, 2) WHERE id IN (SELECT min(id) FROM dump)");
    reopen(f, HISTORY_EDIT);
    assert_true(history_day_parse("2026-11-09", 10, &day));
    assert_int_equal(history_drop_before(f->h, day, &count, NULL), ST_OK);
    assert_int_equal(history_counts_of(f->h)->unreadable, 1);
    assert_int_equal(kept_dumps(f), 66);
}

/* Has a shared text, which is unpacked, these bytes? */
static bool names_user(struct fixture_history *f, const char *user) {
    struct sql_file *file = NULL;
    struct sql_statement *s = NULL;
    struct packer *p = NULL;
    struct strbuf text = {0};
    size_t len;
    assert_int_equal(packer_new(&p, NULL), ST_OK);
    assert_int_equal(sql_open(&file, f->path, false, NULL), ST_OK);
    assert_int_equal(sql_prepare(file, &s, "SELECT text FROM dump_shared", NULL), ST_OK);
    assert_int_equal(sql_next(s, NULL), ST_OK);
    const void *bytes = sql_bytes(s, 0, &len);
    assert_int_equal(packer_open(p, NULL, 0, bytes, len, NULL), ST_OK);
    while (packer_next(p, &text, NULL) == ST_OK) {
    }
    assert_non_null(strstr(strbuf_cstr(&text), "stall-dump/1"));
    bool found = strstr(strbuf_cstr(&text), user) != NULL;
    strbuf_release(&text);
    sql_finish(s);
    sql_close(file);
    packer_free(p);
    return found;
}

static void a_forgotten_user_is_in_no_shared_text(void **state) {
    struct fixture_history *f = *state;
    uint64_t parts;
    add_dumps(f, 0, 64);
    add_dumps(f, 64, 100);
    assert_false(names_user(f, "somebody"));
    reopen(f, HISTORY_EDIT);
    assert_int_equal(history_forget_user(f->h, "somebody-3", &parts, NULL), ST_OK);
    assert_int_equal(shared_texts(f), 1);
    assert_int_equal(packed_dumps(f), 90);
    assert_int_equal(kept_dumps(f), 90);
    add_dumps(f, 100, 120);
    assert_int_equal(shared_texts(f), 1);
    assert_int_equal(packed_dumps(f), 110);
    assert_int_equal(kept_dumps(f), 110);
}

/* A handle that stays open packs against the text of today, even if another process has emptied
 * the table and made another text since. */
static void a_handle_that_stays_open_reads_the_new_text(void **state) {
    struct fixture_history *f = *state;
    uint64_t parts;
    add_dumps(f, 0, 64);
    add_dumps(f, 64, 70);
    struct history *stays = f->h;
    f->h = NULL;
    reopen(f, HISTORY_EDIT);
    assert_int_equal(history_forget_user(f->h, "somebody-3", &parts, NULL), ST_OK);
    add_dumps(f, 100, 110);
    history_close(f->h);
    f->h = stays;
    add_range(f, 1000, 1010);
    assert_int_equal(history_check(f->h, NULL, NULL), ST_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_text_is_shared_when_there_are_dumps_enough, set_up,
                                        tear_down),
        cmocka_unit_test_teardown(a_damaged_or_missing_text_is_found, tear_down),
        cmocka_unit_test_setup_teardown(a_text_like_a_dictionary_is_damage, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_cannot_be_read_is_counted_when_it_is_deleted, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_forgotten_user_is_in_no_shared_text, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_handle_that_stays_open_reads_the_new_text, set_up,
                                        tear_down)};
    return skips_without_sqlite("history: texts of dumps")
               ? 0
               : cmocka_run_group_tests_name("history: texts of dumps", tests, NULL, NULL);
}
