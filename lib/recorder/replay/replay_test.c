/* Tests the core by replays of traces: those of testdata/traces, and random ones. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/fake_capture_test.h"
#include "replay/replay.h"
#include "files/trace_write.h"

/* ---- traces of testdata ---- */

struct text {
    char bytes[512 * 1024];
    size_t len;
};

static void add_line(struct text *t, const char *line) {
    size_t len = strlen(line);
    assert_true(t->len + len + 2 <= sizeof t->bytes);
    memcpy(t->bytes + t->len, line, len);
    t->len += len;
    t->bytes[t->len++] = '\n';
    t->bytes[t->len] = '\0';
}

struct talk {
    struct text told, expected;
};

static void on_line(void *ctx, const char *line) {
    add_line(&((struct talk *)ctx)->told, line);
}

static void on_expect(void *ctx, const char *line) {
    add_line(&((struct talk *)ctx)->expected, line);
}

static void read_file(const char *path, struct text *out) {
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    out->len = fread(out->bytes, 1, sizeof out->bytes - 1, f);
    assert_int_equal(ferror(f), 0);
    out->bytes[out->len] = '\0';
    fclose(f);
}

static void every_trace_tells_what_it_expects(void **state) {
    (void)state;
    static struct text trace;
    static struct talk talk;
    glob_t paths;
    assert_int_equal(glob("testdata/traces/*.trace", 0, NULL, &paths), 0);
    assert_true(paths.gl_pathc >= 50);
    int wrong = 0;
    for (size_t i = 0; i < paths.gl_pathc; i++) {
        char message[256] = "";
        read_file(paths.gl_pathv[i], &trace);
        memset(&talk, 0, sizeof talk);
        struct rec_replay_sink sink = {.line = on_line, .expect = on_expect, .ctx = &talk};
        bool ok = rec_replay(trace.bytes, trace.len, &sink, message, sizeof message);
        if (!ok || strcmp(talk.told.bytes, talk.expected.bytes) != 0) {
            print_error("%s: %s\n--- expected\n%s--- told\n%s", paths.gl_pathv[i], message,
                        talk.expected.bytes, talk.told.bytes);
            wrong++;
        }
    }
    globfree(&paths);
    assert_int_equal(wrong, 0);
}

static bool add_bytes(void *ctx, const void *bytes, size_t len) {
    struct text *t = ctx;
    if (len >= sizeof t->bytes - t->len) {
        return false;
    }
    memcpy(t->bytes + t->len, bytes, len);
    t->len += len;
    t->bytes[t->len] = '\0';
    return true;
}

/* ---- traces that are written ---- */

enum { STACK_NAMES = 32 };

struct numbers {
    char names[STACK_NAMES][64];
    unsigned count;
};

static unsigned number_of(struct numbers *n, const char *name, size_t size) {
    unsigned i = 0;
    while (i < n->count && (strlen(n->names[i]) != size || memcmp(n->names[i], name, size) != 0)) {
        i++;
    }
    if (i == n->count) {
        assert_true(i < STACK_NAMES);
        snprintf(n->names[n->count++], sizeof n->names[0], "%.*s", (int)size, name);
    }
    return i;
}

/* Copies lines, with the name of each stack replaced by a number in the order of appearance, as a
 * trace that the recorder writes has other names. A name is the fifth word of a dump's line, and
 * precedes each '='.
 */
static void number_stacks(const struct text *from, struct text *to) {
    struct numbers numbers = {.count = 0};
    to->len = 0;
    for (const char *at = from->bytes; *at != '\0';) {
        char out[4096] = "";
        size_t end = strcspn(at, "\n"), used = 0;
        for (unsigned k = 0; end > 0; k++) {
            size_t size = strcspn(at, " \n"), name = strcspn(at, "=");
            bool dump = k == 4 && strstr(out, " dump ") != NULL && strncmp(at, "none ", 5) != 0;
            name = name < size ? name : dump ? size : 0;
            int n = name > 0
                        ? snprintf(out + used, sizeof out - used, "#%u%.*s ",
                                   number_of(&numbers, at, name), (int)(size - name), at + name)
                        : snprintf(out + used, sizeof out - used, "%.*s ", (int)size, at);
            assert_true(n > 0 && (size_t)n < sizeof out - used);
            used += (size_t)n;
            at += size + (at[size] == ' ');
            end -= size + (end > size);
        }
        add_line(to, out);
        at++;
    }
}

/* Replays the trace, and the trace that is written of this replay. False: the two replays do not
 * print the same lines, except for the names of stacks. */
static bool round_trip(const char *name, const struct text *trace) {
    static struct text written;
    static struct talk first, second;
    static struct text told, again_told;
    char message[256] = "";
    memset(&written, 0, sizeof written);
    memset(&first, 0, sizeof first);
    memset(&second, 0, sizeof second);
    struct rec_out out = {.write = add_bytes, .ctx = &written};
    struct rec_replay_sink sink = {.line = on_line, .ctx = &first, .trace = &out};
    struct rec_replay_sink again = {.line = on_line, .ctx = &second};
    bool ok = rec_replay(trace->bytes, trace->len, &sink, message, sizeof message) && !out.failed &&
              rec_replay(written.bytes, written.len, &again, message, sizeof message);
    number_stacks(&first.told, &told);
    number_stacks(&second.told, &again_told);
    ok = ok && strcmp(told.bytes, again_told.bytes) == 0;
    if (!ok) {
        print_error("%s: %s\n--- told\n%s--- again\n%s", name, message, first.told.bytes,
                    second.told.bytes);
    }
    return ok;
}

static void a_trace_written_of_a_replay_tells_the_same(void **state) {
    (void)state;
    static struct text trace;
    glob_t paths;
    assert_int_equal(glob("testdata/traces/*.trace", 0, NULL, &paths), 0);
    int wrong = 0;
    for (size_t i = 0; i < paths.gl_pathc; i++) {
        read_file(paths.gl_pathv[i], &trace);
        wrong += !round_trip(paths.gl_pathv[i], &trace);
    }
    globfree(&paths);
    assert_int_equal(wrong, 0);
}

/* The loop moves on while the threads are captured, which does not happen in a replay. */
static void a_loop_that_goes_on_behind_a_detection_is_not_told_as_before(void **state) {
    (void)state;
    static struct text written;
    static struct rec_trace trace;
    static struct talk talk;
    struct fake fake = {.images = 1, .others = 2, .wakes = true};
    struct stallrec_config config;
    fake_stack(&fake, 2, 0x10100, 0x10200);
    stallrec_config_init(&config, sizeof config);
    config.threads_after_ms = 0; /* the threads are captured with the first dump */
    assert_int_equal(rec_config_read(&config, &config), STALLREC_OK);
    struct rec_out out = {.write = add_bytes, .ctx = &written};
    struct rec_capture capture = fake_capture(&fake);
    written.len = 0;
    rec_trace_begin(&trace, &config, &capture, &out, 0);
    capture = rec_trace_capture(&trace);
    void *memory = malloc(rec_core_size(&config));
    assert_non_null(memory);
    struct rec_core *core = rec_core_init(memory, &config, &capture, 0);
    rec_trace_started(&trace);
    uint64_t next = 0, end = UINT64_C(320000000);
    struct rec_event event = {.kind = REC_EVENT_EDGE, .value = REC_LOOP_WAKE};
    rec_event_tell(core, &event);
    rec_trace_event(&trace, &event);
    while (next < end) {
        event = (struct rec_event){.kind = REC_EVENT_STEP, .at_ns = next};
        next = rec_event_tell(core, &event);
        rec_trace_event(&trace, &event);
    }
    event = (struct rec_event){.kind = REC_EVENT_EDGE, .at_ns = end, .value = REC_LOOP_SLEEP};
    rec_event_tell(core, &event);
    rec_trace_event(&trace, &event);
    const struct rec_dump *dump = rec_core_closed(core);
    assert_non_null(dump);
    assert_int_equal(fake.thread_calls, 1);
    rec_trace_wrote(&trace, end + 900000);
    event = (struct rec_event){.kind = REC_EVENT_TICK, .at_ns = end + 100000}; /* the event waited
                                                                                  while the dump was
                                                                                  written */
    rec_event_tell(core, &event);
    rec_trace_event(&trace, &event);
    rec_trace_flush(&trace);
    char message[256] = "", want[128];
    memset(&talk, 0, sizeof talk);
    struct rec_replay_sink sink = {.line = on_line, .ctx = &talk};
    assert_true(rec_replay(written.bytes, written.len, &sink, message, sizeof message));
    snprintf(want, sizeof want, "write 1.1 at %llu span %llu of 320 ended",
             (unsigned long long)dump->stall.at_ms, (unsigned long long)dump->stall.span_ms);
    assert_non_null(strstr(talk.told.bytes, want));
    free(memory);
}

static bool replays(const char *trace, char message[256]) {
    static struct talk talk;
    memset(&talk, 0, sizeof talk);
    struct rec_replay_sink sink = {.line = on_line, .ctx = &talk, .steps_max = 1 << 20};
    return rec_replay(trace, strlen(trace), &sink, message, 256);
}

static void a_wrong_trace_is_refused_with_its_line(void **state) {
    (void)state;
    static const struct {
        const char *trace, *message;
    } cases[] = {
        {"at x wake", "line 1: 'at' needs a time in ms and an event"},
        {"\nat 5 jump", "line 2: unknown event 'jump'"},
        {"at 5 wake\nat 4 sleep", "line 2: time does not go back, nor do the suspended act"},
        {"set steps told\nat 5 step\nat 4 tick", "line 3: time does not go back"},
        {"at 5 suspend 10\nat 14 sleep", "line 2: time does not go back, nor do the suspended act"},
        {"at 5 busy 3", "line 1: 'busy' needs times in ms: of a span"},
        {"at 5 busy 4 3", "line 1: 'busy' needs times in ms: of a span"},
        {"at 5 stop\nat 6 wake", "line 2: an event after stop"},
        {"at 1 run a", "line 1: no such stack"},
        {"set ring 0\nat 1 wake", "line 2: a setting is out of its range"},
        {"set ring 4294967296", "line 1: not a number: '4294967296'"},
        {"set colour 3", "line 1: unknown field 'colour'"},
        {"set check never", "line 1: unknown value 'never'"},
        {"at 1 wake\nset ring 3", "line 2: set after the first event"},
        {"stack a", "line 1: a stack needs functions"},
        {"stack a f+4294967296", "line 1: not a function, or too many: 'f'"},
        {"hello", "line 1: unknown item 'hello'"},
        {"set preset apple", "line 1: unknown value 'apple'"},
        {"set detectors runloop,magic", "line 1: unknown value 'runloop,magic'"},
        {"set detectors ping\nset ping_ms 0\nat 1 wake", "line 3: a setting is out of its range"},
        {"at 1 activity", "line 1: no such activity"},
        {"at 1 answer maybe", "line 1: answer once, always, never or refuse"},
        {"at 1 cpu", "line 1: cpu needs thousandths of a processor"},
        {"at 1 launch now", "line 1: launch begin, prewarmed, active, done, start or idle"},
        {"at 1 span-begin", "line 1: span-begin needs a name, and a limit in ms if any"},
        {"at 1 span-begin x soon", "line 1: span-begin needs a name, and a limit in ms if any"},
        {"at 1 span-end", "line 1: span-end needs a name"},
        {"set sample_ms 1\nat 0 wake\nat 3000000 sleep", "line 3: the trace is too long"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char message[256] = "";
        assert_false(replays(cases[i].trace, message));
        assert_string_equal(message, cases[i].message);
    }
}

/* ---- random traces ---- */

static uint32_t next_random(uint32_t *state) {
    *state ^= *state << 13; /* xorshift32, G. Marsaglia 2003 */
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

static uint32_t pick(uint32_t *state, uint32_t below) {
    return next_random(state) % below;
}

static size_t put(char *text, size_t size, size_t len, const char *format, unsigned long long a,
                  const char *b) {
    int n = -1;
    if (strcmp(format, "set") == 0) {
        n = snprintf(text + len, size - len, "set %s %llu\n", b, a);
    } else if (strcmp(format, "at") == 0) {
        n = snprintf(text + len, size - len, "at %llu %s\n", a, b);
    }
    assert_true(n > 0 && (size_t)n < size - len);
    return len + (size_t)n;
}

/* Writes random settings, such as an app may choose, of the run-loop detector alone. Returns their
 * length. */
static size_t random_settings(uint32_t *s, char *text, size_t size) {
    size_t len = 0;
    len = put(text, size, len, "set", 100 + pick(s, 2000), "threshold_ms");
    len = put(text, size, len, "set", 100 + pick(s, 1500), "check_ms");
    len = put(text, size, len, "set", 20 + pick(s, 100), "sample_ms");
    len = put(text, size, len, "set", pick(s, 2) * pick(s, 400), "first_sample_ms");
    len = put(text, size, len, "set", 1 + pick(s, 20), "ring");
    len = put(text, size, len, "set", pick(s, 5000), "write_deadline_ms");
    int n = snprintf(text + len, size - len, "set check %s\nset backoff %s\nset restart %s\n",
                     pick(s, 2) ? "stall" : "periodic", pick(s, 2) ? "dumps" : "checks",
                     pick(s, 4) ? "idle" : "activity");
    return len + (size_t)n;
}

static const char *const presets[] = {"default", "wechat", "arms", "dewu", "qilagmonitor"};
static const char *const detectors[] = {"runloop", "semaphore", "ping", "frame-rate",
                                        "cpu",     "launch",    "span"};

/* Writes a random preset, with its own detectors or with one to seven random ones. Returns the
 * length. */
static size_t random_preset(uint32_t *s, char *text, size_t size) {
    int n = snprintf(text, size, "set preset %s\n", presets[pick(s, 5)]);
    size_t len = (size_t)n;
    uint32_t chosen = pick(s, 3) ? 1 + pick(s, 127) : 0;
    const char *between = "set detectors ";
    for (unsigned i = 0; i < 7; i++) {
        if ((chosen >> i & 1) != 0) {
            n = snprintf(text + len, size - len, "%s%s", between, detectors[i]);
            len += (size_t)n;
            between = ",";
        }
    }
    if (chosen != 0) {
        text[len++] = '\n';
        len = put(text, size, len, "set", 300 + pick(s, 3000), "ping_ms");
        len = put(text, size, len, "set", 50 + pick(s, 3000), "launch_ms");
    }
    return len;
}

/* Writes a trace of 40 random events. With an even seed it has a random preset and random
 * detectors, else random settings of the run-loop detector. Returns its length. */
static size_t random_trace(uint32_t seed, char *text, size_t size) {
    static const char *const names[] = {"wake",
                                        "sleep",
                                        "turn",
                                        "run a",
                                        "run b",
                                        "run c",
                                        "run w",
                                        "run i",
                                        "run none",
                                        "suspend 3000",
                                        "tick",
                                        "cpu 100",
                                        "cpu 1700 worker",
                                        "answer never",
                                        "answer once",
                                        "answer always",
                                        "launch begin",
                                        "launch prewarmed",
                                        "launch active",
                                        "launch done",
                                        "span-begin x 700",
                                        "span-begin y",
                                        "span-end x",
                                        "span-end y",
                                        "activity before-sources",
                                        "activity before-timers",
                                        "activity after-waiting",
                                        "activity before-waiting",
                                        "answer never",
                                        "wake",
                                        "sleep"};
    uint32_t s = seed * 2654435761u + 1;
    size_t len = seed % 2 == 0 ? random_preset(&s, text, size) : random_settings(&s, text, size);
    int n = snprintf(text + len, size - len,
                     "stack a f+1 main\nstack b f+9 main\nstack c g main\nidle w epoll main\ninput "
                     "i read main\n");
    len += (size_t)n;
    const uint32_t kinds = seed % 4 == 1 ? 10 : sizeof names / sizeof *names;
    unsigned long long t = 0;
    for (unsigned i = 0; i < 40; i++) {
        const char *event = names[pick(&s, kinds)];
        len = put(text, size, len, "at", t, event);
        t += strcmp(event, "suspend 3000") == 0 ? 3000 : 0;
        t += pick(&s, 4) == 0 ? pick(&s, 9000) : pick(&s, 900);
    }
    return put(text, size, len, "at", t, "stop");
}

enum { SEEN = 256 };

struct spans {
    struct {
        uint8_t id[REC_UUID_SIZE];
        uint64_t span_ms, at_ms, duration_ms;
        uint32_t seq;
    } stalls[SEEN];
    unsigned count, dumps, lost, dumps_begun, of_detector[7];
    uint64_t hang, hang_end_ms; /* the last stall of the loop, and its end */
    struct text told;
};

static void check_dump(const struct rec_dump *dump, const char *told) {
    uint32_t samples = 0, repeats = 0;
    assert_in_range(dump->thread_count, 1, 1);
    assert_true(dump->ring_count >= 1);
    for (uint32_t i = 0; i < dump->stack_count; i++) {
        samples += dump->stacks[i].count;
        assert_true(dump->stacks[i].count > 0);
    }
    for (uint32_t i = 0; i < dump->ring_count; i++) {
        samples += dump->ring[i] < 0;
        assert_in_range(dump->ring[i] + 1, 0, dump->stack_count);
    }
    assert_int_equal(samples, dump->ring_count);
    if (dump->heaviest >= 0) {
        assert_true((uint32_t)dump->heaviest < dump->stack_count);
        repeats = dump->stacks[dump->heaviest].count;
    }
    assert_true(dump->heaviest_repeats >= repeats);
    if (dump->stall.at_ms < dump->stall.threshold_ms) {
        fail_msg("%s at %llu, threshold %llu\n%s", dump->stall.detector,
                 (unsigned long long)dump->stall.at_ms,
                 (unsigned long long)dump->stall.threshold_ms, told);
    }
}

/* Checks that no time is in two stalls of the loop, whichever detectors find them. */
static void check_hang(struct spans *s, const struct rec_dump *dump) {
    const struct rec_stall *stall = &dump->stall;
    if (strcmp(stall->kind, "hang") != 0 && strcmp(stall->kind, "launch") != 0) {
        return;
    }
    uint64_t since_ms = stall->since_ns / 1000000;
    if (stall->number != s->hang && since_ms + 1 < s->hang_end_ms) {
        fail_msg("stall %llu begins at %llu, the one before ends at %llu\n%s",
                 (unsigned long long)stall->number, (unsigned long long)since_ms,
                 (unsigned long long)s->hang_end_ms, s->told.bytes);
    }
    s->hang = stall->number;
    s->hang_end_ms = since_ms + stall->gap_ms + stall->duration_ms;
}

static void add_span(void *ctx, const struct rec_dump *dump) {
    struct spans *s = ctx;
    check_dump(dump, s->told.bytes);
    check_hang(s, dump);
    s->dumps++;
    for (unsigned k = 0; k < 7; k++) {
        s->of_detector[k] += strcmp(dump->stall.detector, detectors[k]) == 0;
    }
    unsigned i = 0;
    while (i < s->count && memcmp(s->stalls[i].id, dump->stall.id, REC_UUID_SIZE) != 0) {
        i++;
    }
    assert_true(i < SEEN);
    if (i == s->count) {
        s->count++;
        memcpy(s->stalls[i].id, dump->stall.id, REC_UUID_SIZE);
    }
    /* The dumps of a stall are written in order, and each dump's share begins where that of the one
     * before ended. */
    assert_int_equal(dump->stall.seq, s->stalls[i].seq + 1);
    assert_true(dump->stall.at_ms >= s->stalls[i].span_ms);
    assert_true(dump->stall.at_ms <= dump->stall.duration_ms);
    s->stalls[i].seq++;
    s->stalls[i].span_ms += dump->stall.span_ms;
    assert_true(dump->stall.at_ms <= s->stalls[i].span_ms);
    assert_true(dump->stall.duration_ms >= s->stalls[i].duration_ms);
    s->stalls[i].duration_ms = dump->stall.duration_ms;
}

static void note(void *ctx, const char *line) {
    struct spans *s = ctx;
    s->dumps_begun += strstr(line, " dump ") != NULL;
    s->lost += strstr(line, " lost") != NULL;
    add_line(&s->told, line);
}

static void spans_of_a_stall_add_up_to_its_duration_in_any_trace(void **state) {
    (void)state;
    static char trace[8192];
    static struct spans spans;
    unsigned stalls = 0, dumps = 0, several = 0, of_detector[7] = {0};
    for (uint32_t seed = 1; seed <= 3000; seed++) {
        char message[256] = "";
        size_t len = random_trace(seed, trace, sizeof trace);
        memset(&spans, 0, sizeof spans);
        struct rec_replay_sink sink = {.line = note, .dump = add_span, .ctx = &spans};
        if (!rec_replay(trace, len, &sink, message, sizeof message)) {
            fail_msg("seed %u: %s", (unsigned)seed, message);
        }
        for (unsigned i = 0; i < spans.count; i++) {
            if (spans.stalls[i].span_ms != spans.stalls[i].duration_ms) {
                fail_msg("seed %u: spans %llu, duration %llu\n%s", (unsigned)seed,
                         (unsigned long long)spans.stalls[i].span_ms,
                         (unsigned long long)spans.stalls[i].duration_ms, spans.told.bytes);
            }
            several += spans.stalls[i].seq > 1;
        }
        assert_int_equal(spans.dumps, spans.dumps_begun); /* every dump begun is written */
        assert_int_equal(spans.lost, 0);
        stalls += spans.count;
        dumps += spans.dumps;
        for (unsigned k = 0; k < 7; k++) {
            of_detector[k] += spans.of_detector[k];
        }
    }
    for (unsigned k = 0; k < 7; k++) { /* the frame-rate detector alone makes no dump */
        assert_true((of_detector[k] > 200) == (strcmp(detectors[k], "frame-rate") != 0));
    }
    assert_int_equal(of_detector[3], 0);
    /* The random traces must have had enough stalls and dumps. */
    assert_true(stalls > 3000);
    assert_true(several > 500);
    assert_true(dumps > stalls + 500);
}

static void the_same_trace_tells_the_same(void **state) {
    (void)state;
    static char trace[8192];
    static struct spans first, second;
    size_t told = 0;
    for (uint32_t seed = 1; seed <= 50; seed++) {
        char message[256];
        size_t len = random_trace(seed, trace, sizeof trace);
        memset(&first, 0, sizeof first);
        memset(&second, 0, sizeof second);
        struct rec_replay_sink sink = {.line = note, .ctx = &first};
        assert_true(rec_replay(trace, len, &sink, message, sizeof message));
        sink.ctx = &second;
        assert_true(rec_replay(trace, len, &sink, message, sizeof message));
        assert_string_equal(first.told.bytes, second.told.bytes);
        told += first.told.len;
    }
    assert_true(told > 10000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_trace_tells_what_it_expects),
        cmocka_unit_test(a_trace_written_of_a_replay_tells_the_same),
        cmocka_unit_test(a_loop_that_goes_on_behind_a_detection_is_not_told_as_before),
        cmocka_unit_test(a_wrong_trace_is_refused_with_its_line),
        cmocka_unit_test(spans_of_a_stall_add_up_to_its_duration_in_any_trace),
        cmocka_unit_test(the_same_trace_tells_the_same),
    };
    return cmocka_run_group_tests_name("replay", tests, NULL, NULL);
}
