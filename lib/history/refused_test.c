/* Tests what a history does when memory runs out in any function but history_add: each call gives
 * the result that it gives with memory, or ERR_NOMEM, and then the file is as it was before. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/failmalloc.h"
#include "base/hash.h"
#include "base/parse.h"
#include "history/fixture_history_test.h"

enum { DUMPS = 3, FILE_MAX = 1 << 20 };

/* A history, the bucket of its dump 0, and the call that is tried on it. */
struct trial {
    struct fixture_history *f;
    char id[KEY_ID_SIZE];
    uint64_t bucket;
    enum st (*call)(struct trial *t, struct err *e);
    bool changes;           /* may the call change the file? */
    uint64_t answer;        /* hash of what the call gave */
    uint64_t wanted;        /* hash of what it gives with memory */
    uint64_t before, after; /* hashes of the file's content without and with the call */
    unsigned refusals;      /* calls that ended with an error */
};

static char file_bytes[FILE_MAX];
static ssize_t file_size;

static void remove_log(const struct fixture_history *f) {
    static const char *const beside[] = {"-wal", "-shm"};
    for (size_t i = 0; i < sizeof beside / sizeof *beside; i++) {
        char path[80];
        snprintf(path, sizeof path, "%s%s", f->path, beside[i]);
        unlink(path);
    }
}

static void save_file(const struct fixture_history *f) {
    int fd = open(f->path, O_RDONLY);
    file_size = read(fd, file_bytes, sizeof file_bytes);
    close(fd);
    assert_true(file_size > 0 && file_size < FILE_MAX);
}

/* Makes the file what it was in save_file. */
static void restore_file(const struct fixture_history *f) {
    remove_log(f);
    int fd = open(f->path, O_WRONLY | O_TRUNC);
    ssize_t written = write(fd, file_bytes, (size_t)file_size);
    close(fd);
    assert_int_equal(written, file_size);
}

/* ---- answers ---- */

static void answer_text(struct trial *t, const char *text) {
    t->answer = hash_u64(t->answer ^ hash_bytes(text, strlen(text)));
}

static void answer_number(struct trial *t, uint64_t v) {
    t->answer = hash_u64(t->answer ^ v);
}

static enum st answer_value(void *ctx, int32_t day, const char *version, struct err *e) {
    (void)e;
    answer_number(ctx, (uint64_t)(int64_t)day);
    answer_text(ctx, version ? version : "");
    return ST_OK;
}

static enum st answer_sum(void *ctx, const struct history_sum *sum, struct err *e) {
    answer_number(ctx, sum->dumps);
    answer_number(ctx, sum->ms);
    return answer_value(ctx, sum->day, sum->version, e);
}

static enum st answer_dump(void *ctx, const char *text, size_t len, struct err *e) {
    (void)e;
    answer_number(ctx, hash_bytes(text, len));
    return ST_OK;
}

static enum st answer_bucket(void *ctx, uint64_t bucket, struct err *e) {
    (void)e;
    answer_number(ctx, bucket);
    return ST_OK;
}

static void answer_triage(struct trial *t, struct triage *counts) {
    char *text = partial_of(counts);
    answer_text(t, text);
    free(text);
}

/* Hashes what the history of the fixture holds, and checks the whole file. */
static uint64_t content_of(struct trial *t) {
    struct history_note n;
    reopen(t->f, HISTORY_READ);
    t->answer = 0;
    struct triage *counts = NULL;
    const struct history_span span = {.since = INT32_MIN, .until = INT32_MAX, .no_sum = true};
    assert_int_equal(history_read(t->f->h, &span, t->f->keyer, &t->f->options, &counts, NULL),
                     ST_OK);
    answer_triage(t, counts);
    assert_int_equal(history_sums(t->f->h, &span, answer_sum, t, NULL), ST_OK);
    assert_int_equal(history_dumps_of(t->f->h, &span, t->bucket, answer_dump, t, NULL), ST_OK);
    assert_int_equal(history_marked_each(t->f->h, NULL, answer_bucket, t, NULL), ST_OK);
    assert_int_not_equal(history_note_of(t->f->h, t->id, &n, NULL), ST_ERR);
    answer_text(t, n.said.owner ? n.said.owner : "");
    answer_text(t, n.said.first_day ? n.said.first_day : "");
    strbuf_release(&n.text);
    assert_int_equal(history_check(t->f->h, NULL, NULL), ST_OK);
    history_close(t->f->h);
    t->f->h = NULL;
    return t->answer;
}

/* ---- calls that read ---- */

static enum st read_sums(struct trial *t, struct err *e) {
    return history_sums(t->f->h, &everything, answer_sum, t, e);
}

static enum st read_sums_of_bucket(struct trial *t, struct err *e) {
    return history_sums_of(t->f->h, &everything, t->bucket, answer_sum, t, e);
}

static enum st read_dumps(struct trial *t, struct err *e) {
    return history_dumps_of(t->f->h, &everything, t->bucket, answer_dump, t, e);
}

static enum st read_days(struct trial *t, struct err *e) {
    return history_days(t->f->h, &everything, answer_value, t, e);
}

static enum st read_versions(struct trial *t, struct err *e) {
    return history_versions(t->f->h, &everything, answer_value, t, e);
}

static enum st read_marked(struct trial *t, struct err *e) {
    enum st st = history_marked_each(t->f->h, "owner", answer_bucket, t, e);
    return st == ST_OK ? history_marked_each(t->f->h, NULL, answer_bucket, t, e) : st;
}

static enum st read_note(struct trial *t, struct err *e) {
    struct history_note n;
    enum st st = history_note_of(t->f->h, t->id, &n, e);
    if (st == ST_OK) {
        answer_text(t, n.said.owner);
        answer_text(t, n.said.fixed_in);
        answer_text(t, n.said.back_in);
        answer_text(t, n.said.first_day);
        answer_text(t, n.said.last_day);
        answer_text(t, n.said.first_version);
        answer_text(t, n.said.last_version);
    }
    strbuf_release(&n.text);
    return st;
}

static enum st read_title(struct trial *t, struct err *e) {
    struct strbuf title = {0};
    enum st st = history_title_of(t->f->h, t->bucket, &title, e);
    answer_text(t, st == ST_OK ? strbuf_cstr(&title) : "");
    strbuf_release(&title);
    return st;
}

static enum st read_options(struct trial *t, struct err *e) {
    struct triage_options o;
    if (!history_options(t->f->h, &o, e)) {
        return ST_ERR;
    }
    answer_text(t, o.rules);
    answer_number(t, o.rules_hash);
    answer_number(t, o.cap_ms);
    return ST_OK;
}

static enum st examine(struct trial *t, struct err *e) {
    enum st st = history_check(t->f->h, NULL, e);
    assert_int_not_equal(st, ST_NONE); /* what lacks memory must not be told as damage */
    return st;
}

static enum st read_by_other_rules(struct trial *t, struct err *e) {
    struct triage_options o = t->f->options;
    struct triage *counts = NULL;
    o.rules_hash = 2;
    o.rules = "others";
    enum st st = history_read(t->f->h, &everything, t->f->keyer, &o, &counts, e);
    if (st == ST_OK) {
        failmalloc_disarm();
        answer_triage(t, counts);
    } else {
        assert_null(counts);
    }
    return st;
}

/* ---- calls that write ---- */

static enum st mark_owner(struct trial *t, struct err *e) {
    return history_mark(t->f->h, t->id, "owner", "search", "2026-11-21", e);
}

static enum st remove_owner(struct trial *t, struct err *e) {
    return history_mark(t->f->h, t->id, "owner", "", "2026-11-21", e);
}

static enum st drop_days(struct trial *t, struct err *e) {
    int32_t day = 0;
    uint64_t cells = 0;
    assert_true(history_day_parse("2026-11-12", 10, &day));
    enum st st = history_drop_before(t->f->h, day, &cells, e);
    answer_number(t, cells);
    return st;
}

static enum st forget_user_0(struct trial *t, struct err *e) {
    uint64_t parts = 0;
    return history_forget_user(t->f->h, "user-0", &parts, e);
}

static enum st add_more(struct trial *t, struct err *e) {
    static const char session[] =
        "{\"format\":\"stall-session/"
        "1\",\"id\":\"s1\",\"time\":\"2026-11-12T10:00:00Z\",\"user\":\"user-1\","
        "\"app\":{\"version\":\"5.1\"},\"launches\":1,\"foreground_ms\":600000}";
    enum st st = history_set_options(t->f->h, &t->f->options, e);
    for (unsigned n = DUMPS - 1; st == ST_OK && n < DUMPS + 1; n++) {
        st = try_offer(t->f, NULL, n);
    }
    st = st == ST_OK ? history_add_session(t->f->h, session, sizeof session - 1, e) : st;
    return st == ST_OK ? history_commit(t->f->h, "2026-11-21T00:00:00Z", e) : st;
}

static enum st set_other_rules(struct trial *t, struct err *e) {
    struct triage_options o = t->f->options;
    o.rules_hash = 7;
    o.rules = "others";
    enum st st = history_set_options(t->f->h, &o, e);
    return st == ST_OK ? history_commit(t->f->h, "2026-11-21T00:00:00Z", e) : st;
}

/* ---- the sweep ---- */

static void set_up_trial(struct trial *t, struct fixture_history *f) {
    const char *const frames[] = {"save_0", names[1], names[2]};
    struct fixture x = {.d = {.id = "0", .text = "0", .text_len = 1}};
    struct stall_key key;
    struct strbuf text = {0};
    *t = (struct trial){.f = f};
    reopen(f, HISTORY_WRITE);
    add_range(f, 0, DUMPS);
    fixture_names(&x, frames, 3, 1);
    assert_int_equal(keyer_key(f->keyer, &x.d, &key, NULL), ST_OK);
    key_text(&key.level[0], &text);
    key_id('1', strbuf_cstr(&text), text.len, t->id);
    strbuf_release(&text);
    assert_true(parse_hex(t->id, strlen(t->id), &t->bucket));
    assert_int_equal(history_mark(f->h, t->id, "owner", "payments", "2026-11-20", NULL), ST_OK);
    assert_int_equal(history_mark(f->h, t->id, "fixed-in", "5.1", "2026-11-20", NULL), ST_OK);
    history_close(f->h);
    f->h = NULL;
    save_file(f);
}

/* Opens the history if it is not open. */
static void open_trial(struct trial *t) {
    if (!t->f->h) {
        assert_int_equal(history_open(&t->f->h, t->f->path, HISTORY_EDIT, NULL), ST_OK);
    }
}

static void close_trial(struct trial *t) {
    history_close(t->f->h);
    t->f->h = NULL;
}

/* Makes the call with the nth allocation refused (0: none). False: none was refused. */
static bool try_once(struct trial *t, unsigned long nth, bool and_later) {
    struct err e = {0};
    if (t->changes) {
        close_trial(t);
        restore_file(t->f);
    }
    open_trial(t);
    t->answer = 0;
    failmalloc_arm(nth, and_later);
    enum st st = t->call(t, &e);
    bool refused = failmalloc_disarm();
    uint64_t answer = t->answer;
    if (t->changes) {
        close_trial(t);
    }
    if (nth == 0) {
        t->wanted = answer;
        t->after = t->changes ? content_of(t) : 0;
    }
    if (st == ST_OK) {
        assert_true(answer == t->wanted);
        assert_true(!t->changes || content_of(t) == t->after);
        return refused;
    }
    t->refusals++;
    close_trial(t); /* a buffer of the handle may have failed for good */
    if (!refused || (e.code != ERR_NOMEM && t->call != add_more)) { /* try_offer keeps no error */
        fail_msg("allocation %lu: status %d, %s", nth, (int)st, e.text);
    }
    assert_int_equal(st, ST_ERR);
    assert_true(!t->changes || content_of(t) == t->before);
    return true;
}

/* Tries each call with memory first, to know what it must give, and then with each of its
 * allocations refused, once and from then on. */
static void sweep(void **state, bool changes, enum st (*const *calls)(struct trial *, struct err *),
                  size_t count) {
    struct trial t;
    set_up_trial(&t, *state);
    t.changes = changes;
    t.before = content_of(&t);
    for (size_t i = 0; i < count; i++) {
        t.call = calls[i];
        t.refusals = 0;
        assert_false(try_once(&t, 0, false));
        close_trial(&t);
        unsigned long nth = 1;
        while (try_once(&t, nth, false)) {
            if (!changes || nth % 4 == 1) { /* a change costs a check of the whole file */
                try_once(&t, nth, true);
            }
            nth++;
        }
        assert_true(!failmalloc_works() || t.refusals > 0);
        close_trial(&t);
    }
}

static void a_reading_without_memory_is_an_error_or_whole(void **state) {
    static enum st (*const calls[])(struct trial *, struct err *) = {
        read_sums, read_sums_of_bucket, read_dumps, read_days,  read_versions,      read_marked,
        read_note, read_options,        examine,    read_title, read_by_other_rules};
    sweep(state, false, calls, sizeof calls / sizeof *calls);
}

static void a_change_without_memory_is_an_error_and_none(void **state) {
    static enum st (*const calls[])(struct trial *, struct err *) = {
        mark_owner, remove_owner, drop_days, forget_user_0, add_more, set_other_rules};
    sweep(state, true, calls, sizeof calls / sizeof *calls);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_reading_without_memory_is_an_error_or_whole, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_change_without_memory_is_an_error_and_none, set_up,
                                        tear_down)};
    return skips_without_sqlite("history: refused memory")
               ? 0
               : cmocka_run_group_tests_name("history: refused memory", tests, NULL, NULL);
}
