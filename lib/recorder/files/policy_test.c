/* Tests the policy: who is recorded, what is sent, and what the record of a session says. */
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

#include "files/folder_test.h"
#include "files/policy.h"
#include "files/retention.h"

#define DAY      INT64_C(86400000)
#define TODAY    (20778 * DAY + 36000000) /* 2026-11-21T10:00Z */
#define MAX_NAME 256

/* ---- the state ---- */

static void a_state_is_the_line_that_it_says_and_comes_back(void **state) {
    (void)state;
    char text[REC_STATE_TEXT];
    struct rec_state s = {.install = {0xab, 1}, .day = 20778, .dumps = UINT32_MAX}, back;
    uint32_t len = rec_state_format(&s, text);
    assert_int_equal(strlen(text), len);
    static const char begin[] = "stallrec-state/1 install=ab010000000000000000000000000000 "
                                "day=20778 dumps=4294967295 sum=";
    assert_memory_equal(text, begin, sizeof begin - 1);
    assert_true(rec_state_parse(text, len, &back));
    assert_memory_equal(back.install, s.install, sizeof s.install);
    assert_true(back.day == s.day && back.dumps == s.dumps);
}

static void a_damaged_state_is_none(void **state) {
    (void)state;
    char text[REC_STATE_TEXT], bad[REC_STATE_TEXT];
    struct rec_state s = {.day = 20778, .dumps = 3}, back;
    uint32_t len = rec_state_format(&s, text);
    for (uint32_t i = 0; i < len; i++) { /* changes each byte, and cuts the text at each length */
        for (int change = 1; change < 256; change += 51) {
            memcpy(bad, text, len);
            bad[i] = (char)(bad[i] ^ change);
            assert_false(rec_state_parse(bad, len, &back));
        }
        assert_false(rec_state_parse(text, i, &back));
    }
    memset(bad, '9', sizeof bad);
    assert_false(rec_state_parse(bad, sizeof bad, &back));
    assert_false(rec_state_parse(text, REC_STATE_TEXT + 1, &back));
}

static void dumps_are_numbered_from_one_each_day(void **state) {
    struct folder *f = *state;
    struct rec_state s = {0}, again = {0};
    for (uint32_t i = 1; i <= 3; i++) {
        assert_true(rec_state_count(f->dir, &s, TODAY));
        assert_int_equal(s.dumps, i);
    }
    /* Reads the state as another start of the recorder does. */
    assert_true(rec_state_load(f->dir, &again));
    assert_int_equal(again.dumps, 3);
    assert_true(rec_state_count(f->dir, &again, TODAY + DAY));
    assert_int_equal(again.dumps, 1);
    assert_int_equal(folder_count(f, ".part", NULL, 0), 0);
}

static void a_clock_set_back_refills_nothing(void **state) {
    struct folder *f = *state;
    struct rec_state s = {0};
    assert_true(rec_state_count(f->dir, &s, TODAY));
    for (uint32_t i = 2; i < 10; i++) { /* the clock goes back further each time, to before 1970,
                                           and at last to today */
        assert_true(rec_state_count(f->dir, &s, i == 9 ? TODAY : TODAY - i * i * i * 100 * DAY));
        assert_int_equal(s.dumps, i);
        s = (struct rec_state){0}; /* as after a restart that has not read the state */
    }
}

static void wait_for_success(pid_t child) {
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void two_processes_count_together(void **state) {
    struct folder *f = *state;
    enum { EACH = 40 };
    struct rec_state s = {0};
    pid_t child = fork();
    assert_true(child >= 0);
    for (int i = 0; i < EACH; i++) {
        bool ok = rec_state_count(f->dir, &s, TODAY);
        if (child == 0 && !ok) {
            _exit(1);
        }
        assert_true(ok);
    }
    if (child == 0) {
        _exit(0);
    }
    wait_for_success(child);
    assert_true(rec_state_load(f->dir, &s));
    assert_int_equal(s.dumps, 2 * EACH);
}

/* Starts a child that holds the folder's lock for `ms` ms, then stores the state `store`, unless
 * that is NULL, and ends. Returns when the child has the lock. */
static pid_t hold_lock(const struct folder *f, const struct rec_state *store, unsigned ms) {
    int pipe_fd[2];
    char byte;
    assert_int_equal(pipe(pipe_fd), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        int fd = openat(f->dir, ".stallrec-lock", O_RDWR | O_CREAT, 0600);
        bool ok = fcntl(fd, F_SETLKW, &lock) == 0 && write(pipe_fd[1], "x", 1) == 1;
        usleep(ms * 1000);
        _exit(ok && (store == NULL || rec_state_store(f->dir, store)) ? 0 : 1);
    }
    close(pipe_fd[1]);
    assert_int_equal(read(pipe_fd[0], &byte, 1), 1);
    close(pipe_fd[0]);
    return child;
}

static void a_slow_disk_of_another_process_is_waited_for(void **state) {
    struct folder *f = *state;
    struct rec_state s = {0};
    pid_t child = hold_lock(f, NULL, 600);
    assert_true(rec_state_count(f->dir, &s, TODAY));
    wait_for_success(child);
}

static void processes_that_start_at_once_are_one_installation(void **state) {
    struct folder *f = *state;
    const uint8_t mine[REC_INSTALL_SIZE] = {1};
    struct rec_state s = {0}, theirs = {.install = {2}, .day = 3};
    pid_t child = hold_lock(f, &theirs, 100);
    assert_true(rec_state_open(f->dir, &s, mine));
    wait_for_success(child);
    assert_memory_equal(s.install, theirs.install, sizeof s.install);
    assert_int_equal(s.day, 3);
}

static void limit_files(struct rlimit *before, rlim_t bytes) {
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, before), 0);
    limit = *before;
    limit.rlim_cur = bytes;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void a_full_disk_keeps_the_old_state(void **state) {
    struct folder *f = *state;
    struct rlimit before;
    struct rec_state s = {0}, back;
    assert_true(rec_state_count(f->dir, &s, TODAY));
    limit_files(&before, 20); /* part of the line fits */
    bool counted = rec_state_count(f->dir, &s, TODAY);
    int why = errno;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_false(counted);
    assert_true(why == EFBIG || why == ENOSPC);
    assert_int_equal(s.dumps, 2); /* the dump is counted in memory */
    assert_true(rec_state_load(f->dir, &back));
    assert_int_equal(back.dumps, 1);
    assert_int_equal(folder_count(f, ".part", NULL, 0), 0);
}

static void a_state_that_is_a_link_is_not_followed(void **state) {
    struct folder *f = *state;
    struct rec_state s = {0};
    folder_put(f, "other", "precious", 8);
    assert_int_equal(symlinkat("other", f->dir, ".stallrec-state"), 0);
    assert_int_equal(symlinkat("other", f->dir, ".stallrec-state.part"), 0);
    assert_false(rec_state_load(f->dir, &s));
    assert_false(rec_state_store(f->dir, &s));
    char text[16];
    assert_int_equal(folder_get(f, "other", text, sizeof text), 8);
    assert_string_equal(text, "precious");
}

/* ---- which users are recorded ---- */

static uint64_t now_ns;
static uint64_t clock_ns(void) {
    return now_ns;
}

static void random_bytes(void *ctx, uint8_t *out, size_t len) {
    memset(out, *(const int *)ctx, len);
}

static enum stallrec_error open_policy(struct rec_policy *policy, const struct folder *f,
                                       const struct stallrec_config *config, int64_t wall_ms) {
    int seed = 0x5c;
    return rec_policy_open(policy, config, f->path, wall_ms, random_bytes, &seed);
}

static void a_user_outside_the_share_is_not_recorded(void **state) {
    struct folder *f = *state;
    static struct rec_policy policy;
    struct stallrec_config config;
    unsigned in = 0, whitelisted = 0;
    stallrec_config_init(&config, sizeof config);
    config.user_share_ppm = 50000;
    for (int day = 0; day < 200; day++) {
        config.user = "ann";
        config.flags = 0;
        enum stallrec_error st = open_policy(&policy, f, &config, TODAY + day * DAY);
        assert_true(st == STALLREC_OK || st == STALLREC_ERR_NOT_SAMPLED);
        in += st == STALLREC_OK;
        rec_policy_close(&policy);
        config.flags = STALLREC_WHITELISTED;
        whitelisted += open_policy(&policy, f, &config, TODAY + day * DAY) == STALLREC_OK;
        rec_policy_close(&policy);
    }
    assert_in_range(in, 2, 22); /* about 5 % of 200 days */
    assert_int_equal(whitelisted, 200);
    assert_int_equal(folder_count(f, "session-", NULL, 0), 0);
}

static void a_release_draws_once_whatever_the_day(void **state) {
    struct folder *f = *state;
    static struct rec_policy policy;
    struct stallrec_config config;
    unsigned in = 0;
    stallrec_config_init(&config, sizeof config);
    config.user_share_ppm = 500000;
    config.epoch = STALLREC_EPOCH_RELEASE;
    for (int release = 0; release < 64; release++) {
        char version[16];
        enum stallrec_error first = STALLREC_OK;
        snprintf(version, sizeof version, "5.%d", release);
        config.app_version = version;
        for (int day = 0; day < 3; day++) {
            enum stallrec_error st = open_policy(&policy, f, &config, TODAY + day * DAY);
            rec_policy_close(&policy);
            first = day == 0 ? st : first;
            assert_int_equal(st, first);
        }
        in += first == STALLREC_OK;
    }
    assert_in_range(in, 16, 48); /* the draw is by the installation's id, as no user is given */
}

/* ---- a session ---- */

struct told {
    unsigned begun, ended, written, lost;
};

static void app_begin(void *user, const struct stallrec_stall *stall) {
    (void)stall;
    ((struct told *)user)->begun++;
}
static void app_end(void *user, const struct stallrec_stall *stall) {
    (void)stall;
    ((struct told *)user)->ended++;
}
static void app_written(void *user, const char *path) {
    assert_non_null(path);
    ((struct told *)user)->written++;
}
static void app_lost(void *user, const char *path, enum stallrec_error why) {
    (void)path;
    assert_int_equal(why, STALLREC_ERR_WRITE);
    ((struct told *)user)->lost++;
}

struct session {
    struct rec_policy policy;
    struct stallrec_config config, inner;
    struct rec_about about;
    struct rec_context context;
    struct told told;
};

static void begin_session(struct session *s, const struct folder *f, uint32_t flags) {
    memset(s, 0, sizeof *s);
    stallrec_config_init(&s->config, sizeof s->config);
    s->config.flags = flags;
    s->config.upload_per_day = 2;
    s->config.user_data = &s->told;
    s->config.callbacks = (struct stallrec_callbacks){app_begin, app_end, app_written, app_lost};
    s->about =
        (struct rec_about){.app_id = "com.example.shop", .preset = "wechat", .arch = "arm64"};
    assert_int_equal(open_policy(&s->policy, f, &s->config, TODAY), STALLREC_OK);
    s->inner = s->config;
    now_ns = 1000000000;
    rec_context_begin(&s->context, now_ns);
    rec_policy_begin(&s->policy, &s->inner, &s->about, &s->context, TODAY, clock_ns);
}

static void stall(struct session *s, uint64_t ms) {
    struct stallrec_stall stall = {.id = "x", .at_ms = ms < 250 ? ms : 250};
    s->inner.callbacks.stall_begin(s->inner.user_data, &stall);
    stall.at_ms = ms;
    s->inner.callbacks.stall_end(s->inner.user_data, &stall);
}

static bool dump(struct session *s, enum stallrec_error st) {
    struct rec_dump dump = {.stall = {.suppressed = 3}};
    rec_policy_count(&s->policy, &s->about, TODAY);
    rec_policy_wrote(&s->policy, &dump, &s->about, "/x", st);
    return s->about.over_quota;
}

static void a_session_is_the_line_that_the_format_says(void **state) {
    struct folder *f = *state;
    static struct session s;
    char name[MAX_NAME], text[4096];
    begin_session(&s, f, 0);
    stall(&s, 400);
    stall(&s, 1999);
    stall(&s, 2000);
    assert_false(dump(&s, STALLREC_OK));
    assert_false(dump(&s, STALLREC_ERR_WRITE)); /* the dump waits, and no callback is called */
    assert_false(dump(&s, STALLREC_OK));        /* this dump is the second of the day, although one
                                                   before was not written */
    assert_true(dump(&s, STALLREC_OK));
    rec_policy_lost(&s.policy, &(struct rec_dump){.stall = {.suppressed = 1}}, "/x");
    now_ns += 60 * UINT64_C(1000000000);
    rec_context_app(&s.context, false, now_ns);
    now_ns += 30 * UINT64_C(1000000000);
    const struct rec_watched watched = {
        .wall_ms = 90500, .watched_ms = 90100, .unwatched_ms = {[REC_UNWATCHED_LAUNCH] = 400}};
    struct rec_totals totals = {.low_rates = 5};
    rec_policy_seen(&s.policy, &totals, 0, &watched);
    totals = (struct rec_totals){.low_rates = 7, .suppressed_alone = 2};
    rec_policy_seen(&s.policy, &totals, 3, &watched); /* the totals are those of the whole session,
                                                         not those since the last call */
    rec_policy_close(&s.policy);
    assert_int_equal(folder_count(f, "session-", name, sizeof name), 1);
    assert_string_equal(name, "session-20261121T100000.000Z-5c5c5c5c.json");
    assert_true(folder_get(f, name, text, sizeof text) > 0);
    assert_string_equal(
        text, "{\"format\":\"stall-session/1\",\"id\":\"5c5c5c5c-5c5c-4c5c-9c5c-5c5c5c5c5c5c\","
              "\"time\":\"2026-11-21T10:00:00.000Z\",\"app\":{\"id\":\"com.example.shop\"},"
              "\"device\":{\"arch\":\"arm64\"},"
              "\"policy\":{\"preset\":\"wechat\",\"user_share_ppm\":1000000,\"whitelisted\":false},"
              "\"length_ms\":90000,\"foreground_ms\":60000,"
              "\"wall_ms\":90500,\"watched_ms\":90100,\"unwatched\":{\"launch\":400},"
              "\"launches\":1,\"ended\":true,"
              "\"tiers\":{\"hang\":{\"stalls\":2,\"stalled_ms\":2399},"
              "\"severe\":{\"stalls\":1,\"stalled_ms\":2000},"
              "\"fatal\":{\"stalls\":0,\"stalled_ms\":0}},"
              "\"low_rates\":7,\"events_dropped\":3,"
              "\"dumps\":{\"written\":3,\"suppressed\":12,\"over_quota\":1,\"lost\":1}}\n");
    assert_int_equal(s.told.begun, 3);
    assert_int_equal(s.told.ended, 3);
    assert_int_equal(s.told.written, 3);
    assert_int_equal(s.told.lost, 1);
}

static void a_whitelisted_user_has_no_quota(void **state) {
    struct folder *f = *state;
    static struct session s;
    begin_session(&s, f, STALLREC_WHITELISTED);
    for (int i = 0; i < 5; i++) {
        assert_false(dump(&s, STALLREC_OK));
    }
    assert_int_equal(s.about.seq_today, 5);
    assert_true(s.about.whitelisted);
    rec_policy_close(&s.policy);
}

static void a_quota_that_cannot_be_remembered_is_used_up(void **state) {
    struct folder *f = *state;
    static struct session s;
    struct rlimit before;
    begin_session(&s, f, 0);
    limit_files(&before, 20);
    bool over = dump(&s, STALLREC_OK);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_true(over);
    rec_policy_close(&s.policy);
}

static void a_full_disk_uses_up_no_quota(void **state) {
    struct folder *f = *state;
    static struct session s;
    struct rlimit before;
    begin_session(&s, f, 0);
    limit_files(&before, 20);
    for (int i = 0; i < 5; i++) { /* there is room for neither the state nor the dump */
        dump(&s, STALLREC_ERR_WRITE);
    }
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_false(dump(&s, STALLREC_OK));
    assert_int_equal(s.about.seq_today, 1);
    rec_policy_close(&s.policy);
}

static void a_session_that_is_killed_in_a_stall_counts_it_as_fatal(void **state) {
    struct folder *f = *state;
    char name[MAX_NAME], text[4096];
    int pipe_fd[2], status;
    assert_int_equal(pipe(pipe_fd), 0);
    pid_t child = fork();
    if (child == 0) {
        static struct session s;
        struct stallrec_stall begun = {.id = "x", .at_ms = 2050};
        begin_session(&s, f, 0);
        stall(&s, 300);
        s.inner.callbacks.stall_begin(s.inner.user_data, &begun);
        rec_policy_grow(&s.policy, 2500); /* the growth is too small for a write */
        rec_policy_grow(&s.policy, 3100);
        close(pipe_fd[1]);
        pause();
        _exit(1);
    }
    close(pipe_fd[1]);
    assert_int_equal(read(pipe_fd[0], text, 1), 0);
    rec_session_recover(f->dir); /* the child lives, so its session is left alone */
    assert_int_equal(folder_count(f, ".live", NULL, 0), 1);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &status, 0), child);
    close(pipe_fd[0]);
    /* The record of a process that was killed before it wrote. */
    folder_put(f, ".session-20261121T100000.000Z-00000000.live", "", 0);
    folder_put(f, ".session-x.live", "x\n", 2); /* this is no name of a session */
    rec_session_recover(f->dir);
    assert_int_equal(folder_count(f, ".json", name, sizeof name), 1);
    assert_true(folder_get(f, name, text, sizeof text) > 0);
    assert_non_null(strstr(text, "\"ended\":false"));
    assert_non_null(strstr(text, "\"hang\":{\"stalls\":1,\"stalled_ms\":300}"));
    assert_non_null(strstr(text, "\"fatal\":{\"stalls\":1,\"stalled_ms\":3100}"));
    assert_int_equal(folder_count(f, ".live", name, sizeof name), 1);
    assert_string_equal(name, ".session-x.live");
}

static void a_session_that_dies_in_the_background_counts_a_hang(void **state) {
    struct folder *f = *state;
    static struct session s;
    char name[MAX_NAME], text[4096];
    struct stallrec_stall begun = {.id = "x", .at_ms = 2050};
    begin_session(&s, f, 0);
    rec_context_app(&s.context, false, now_ns);
    s.inner.callbacks.stall_begin(s.inner.user_data, &begun);
    assert_int_equal(folder_count(f, ".live", name, sizeof name), 1);
    assert_true(folder_get(f, name, text, sizeof text) > 0);
    assert_non_null(strstr(text, "\"hang\":{\"stalls\":1,\"stalled_ms\":2050}"));
    assert_non_null(strstr(text, "\"fatal\":{\"stalls\":0,"));
    rec_context_app(&s.context, true, now_ns);
    rec_policy_grow(&s.policy, 4000);
    assert_true(folder_get(f, name, text, sizeof text) > 0);
    assert_non_null(strstr(text, "\"fatal\":{\"stalls\":1,\"stalled_ms\":4000}"));
    rec_policy_close(&s.policy);
}

static void the_age_of_a_stall_goes_with_it(void **state) {
    struct folder *f = *state;
    static struct session s;
    char name[MAX_NAME], text[4096];
    struct stallrec_stall first = {.id = "x", .at_ms = 400}, second = {.id = "y", .at_ms = 500};
    begin_session(&s, f, 0);
    rec_context_app(&s.context, true, now_ns);
    s.inner.callbacks.stall_begin(s.inner.user_data, &first);
    s.inner.callbacks.stall_begin(s.inner.user_data, &second);
    rec_policy_grow(&s.policy, 9000);
    rec_policy_take_back(&s.policy, false, 9000);
    rec_policy_grow(&s.policy, 450);
    assert_int_equal(folder_count(f, ".live", name, sizeof name), 1);
    assert_true(folder_get(f, name, text, sizeof text) > 0);
    assert_non_null(strstr(text, "\"fatal\":{\"stalls\":1,\"stalled_ms\":450}"));
    s.inner.callbacks.stall_begin(s.inner.user_data, &second);
    rec_policy_grow(&s.policy, 2000);
    second.at_ms = 2100;
    s.inner.callbacks.stall_end(s.inner.user_data, &second);
    rec_policy_grow(&s.policy, 700);
    assert_true(folder_get(f, name, text, sizeof text) > 0);
    assert_non_null(strstr(text, "\"severe\":{\"stalls\":1,\"stalled_ms\":2100}"));
    assert_non_null(strstr(text, "\"fatal\":{\"stalls\":1,\"stalled_ms\":700}"));
    rec_policy_close(&s.policy);
}

static void a_dump_of_no_stall_is_withdrawn_with_its_file(void **state) {
    struct folder *f = *state;
    static struct session s;
    char name[MAX_NAME], text[4096];
    struct rec_dump dump = {.id = {7}, .stall = {.suppressed = 3}};
    const uint8_t other[REC_UUID_SIZE] = {8};
    begin_session(&s, f, 0);
    folder_put(f, "stall-1.json", "x", 1);
    rec_policy_count(&s.policy, &s.about, TODAY);
    rec_policy_wrote(&s.policy, &dump, &s.about, "/elsewhere/stall-1.json", STALLREC_OK);
    assert_int_equal(folder_count(f, ".live", name, sizeof name), 1);
    assert_true(folder_get(f, name, text, sizeof text) > 0);
    assert_non_null(strstr(text, "\"written\":1"));
    assert_false(rec_policy_withdraw(&s.policy, other));
    assert_true(rec_policy_withdraw(&s.policy, dump.id));
    assert_false(rec_policy_withdraw(&s.policy, dump.id));
    assert_int_equal(folder_count(f, "stall-1.json", name, sizeof name), 0);
    assert_int_equal(folder_count(f, ".live", name, sizeof name), 1);
    assert_true(folder_get(f, name, text, sizeof text) > 0);
    assert_non_null(strstr(text, "\"written\":0"));
    rec_policy_close(&s.policy);
}

static void a_text_that_gets_shorter_leaves_nothing_behind(void **state) {
    struct folder *f = *state;
    static struct rec_session_file file;
    struct rec_session session = {.written = 1000000};
    struct rec_about about = {0};
    char name[MAX_NAME], text[4096];
    assert_true(rec_session_open(&file, f->dir, 0, &session, &about));
    session.written = 1;
    assert_true(rec_session_close(&file, f->dir, &session, &about));
    assert_int_equal(folder_count(f, "session-", name, sizeof name), 1);
    ssize_t len = folder_get(f, name, text, sizeof text);
    assert_non_null(strstr(text, "\"written\":1,"));
    assert_ptr_equal(strchr(text, '\n'), text + len - 1); /* the text is one line */
}

static void a_session_too_long_to_write_is_no_session(void **state) {
    struct folder *f = *state;
    static struct rec_session_file file;
    static char long_name[REC_SESSION_TEXT];
    struct rec_session session = {0};
    struct rec_about about = {.app_id = long_name};
    memset(long_name, 'a', sizeof long_name - 1);
    assert_false(rec_session_open(&file, f->dir, 0, &session, &about));
    assert_int_equal(file.fd.fd, -1);
    assert_false(rec_session_update(&file, f->dir, &session, &about));
    assert_int_equal(folder_count(f, "session-", NULL, 0), 0);
}

/* ---- descriptors ---- */

static int open_folder_of(const struct folder *f) {
    return open(f->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void a_descriptor_that_the_program_took_over_is_left_alone(void **state) {
    struct folder *f = *state, *other;
    static struct session s;
    void *other_state;
    char name[MAX_NAME], text[4096];
    static const char old[] = "stall-20200101T000000.000Z-0a1b2c3d-1-00000001.json.gz";
    assert_int_equal(folder_setup(&other_state), 0);
    other = other_state;
    folder_put(other, old, "theirs", 6);
    folder_put(other, "precious", "theirs", 6);
    folder_put(f, old, "ours", 4);
    begin_session(&s, f, 0);
    s.policy.config.keep_days = 7;

    /* The program closes all descriptors that it did not open, and its own files get their
     * numbers. */
    int theirs = openat(other->dir, "precious", O_RDWR | O_CLOEXEC);
    int folder = s.policy.folder.fd.fd, session = s.policy.file.fd.fd;
    assert_int_equal(dup2(other->dir, folder), folder);
    assert_int_equal(dup2(theirs, session), session);

    stall(&s, 400);
    assert_false(dump(&s, STALLREC_OK));
    rec_policy_tidy(&s.policy, TODAY);
    rec_policy_close(&s.policy);
    assert_true(folder_has(other, old));
    assert_false(folder_has(f, old));
    assert_int_equal(folder_get(other, "precious", text, sizeof text), 6);
    assert_string_equal(text, "theirs");
    assert_true(fcntl(folder, F_GETFD) >= 0 && fcntl(session, F_GETFD) >= 0); /* the program's
                                                                                 descriptors are
                                                                                 still open */
    assert_int_equal(folder_count(f, "session-", name, sizeof name), 1);
    assert_true(folder_get(f, name, text, sizeof text) > 0);
    assert_non_null(strstr(text, "\"ended\":true"));
    assert_non_null(strstr(text, "\"hang\":{\"stalls\":1,\"stalled_ms\":400}"));
    assert_int_equal(folder_count(other, "", NULL, 0), 2);
    close(folder);
    close(session);
    close(theirs);
    assert_int_equal(folder_teardown(&other_state), 0);
}

static void a_folder_that_was_made_anew_is_found_again(void **state) {
    struct folder *f = *state;
    struct rec_folder folder;
    struct stat sb, found;
    assert_true(rec_folder_open(&folder, f->path));
    int fd = rec_folder_fd(&folder);
    assert_true(fd >= 0 && rec_folder_fd(&folder) == fd);
    assert_int_equal(rmdir(f->path), 0);
    assert_int_equal(rec_folder_fd(&folder), -1);
    assert_int_equal(mkdir(f->path, 0700), 0);
    fd = rec_folder_fd(&folder);
    assert_int_equal(stat(f->path, &sb), 0);
    assert_int_equal(fstat(fd, &found), 0);
    assert_true(sb.st_ino == found.st_ino && sb.st_dev == found.st_dev);
    int root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC), other = fd;
    /* The number now belongs to a descriptor of another folder. */
    assert_int_equal(dup2(root, other), other);
    fd = rec_folder_fd(&folder);
    assert_true(fd >= 0 && fd != other);
    assert_true(fcntl(other, F_GETFD) >= 0);
    close(root);
    rec_folder_close(&folder);
    rec_folder_close(&folder);
    assert_int_equal(fcntl(fd, F_GETFD), -1);
    close(other);
    int again = open_folder_of(f);
    close(f->dir);
    f->dir = again;
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, folder_setup, folder_teardown)
        cmocka_unit_test(a_state_is_the_line_that_it_says_and_comes_back),
        cmocka_unit_test(a_damaged_state_is_none),
        T(dumps_are_numbered_from_one_each_day),
        T(a_clock_set_back_refills_nothing),
        T(two_processes_count_together),
        T(a_slow_disk_of_another_process_is_waited_for),
        T(processes_that_start_at_once_are_one_installation),
        T(a_full_disk_keeps_the_old_state),
        T(a_state_that_is_a_link_is_not_followed),
        T(a_user_outside_the_share_is_not_recorded),
        T(a_release_draws_once_whatever_the_day),
        T(a_session_is_the_line_that_the_format_says),
        T(a_whitelisted_user_has_no_quota),
        T(a_quota_that_cannot_be_remembered_is_used_up),
        T(a_full_disk_uses_up_no_quota),
        T(a_session_that_is_killed_in_a_stall_counts_it_as_fatal),
        T(a_session_that_dies_in_the_background_counts_a_hang),
        T(the_age_of_a_stall_goes_with_it),
        T(a_dump_of_no_stall_is_withdrawn_with_its_file),
        T(a_text_that_gets_shorter_leaves_nothing_behind),
        T(a_session_too_long_to_write_is_no_session),
        T(a_descriptor_that_the_program_took_over_is_left_alone),
        T(a_folder_that_was_made_anew_is_found_again),
#undef T
    };
    return cmocka_run_group_tests_name("policy", tests, NULL, NULL);
}
