/* Tests of text of sampled stacks. */
#include "dump/reports/report_support_test.h"

#include <stdio.h>

#define HEAD(event, more)                                                                          \
    "Date/Time:        2026-11-20 10:10:14.120 +0100\n"                                            \
    "OS Version:       iPhone OS 18.7 (Build 22H20)\nArchitecture:     arm64e\n"                   \
    "Incident Identifier: i-1\n\nCommand:          Shop\nPath:             /x/Shop.app/Shop\n"     \
    "Version:          5.3.1 (1234)\nArchitecture:     arm64\n\nEvent:            " event          \
    "\n" more "Duration:         12.50s\nSteps:            9 (100ms sampling interval)\n"          \
    "Hardware model:   iPhone13,3\n\nHeaviest stack for the target process:\n"                     \
    "  9  ??? (Shop + 4) [0x100000004]\n\n"
#define SHOP_IMAGES                                                                                \
    "\n  Binary Images:\n"                                                                         \
    "     0x100000000 -                ???  Shop <4c4c442c-5555-3144-a1de-7aabf56a019c>  "         \
    "/x/Shop.app/Shop\n"                                                                           \
    "     0x180000000 -        0x180000fff  libx.dylib  "                                          \
    "<00000000-0000-4000-8000-000000000001>  /usr/lib/libx.dylib\n"
#define CPU "CPU:              90 seconds cpu time over 150 seconds (60% cpu average)\n"

static void a_process_that_used_too_much_is_counted_stacks(void **state) {
    (void)state;
    struct converted c = convert_text_of(HEAD(
        "cpu usage", CPU) "Powerstats for:   Shop [301]\nNum samples:      9\n"
                          "  9  start + 4 (libx.dylib + 16) [0x180000010]\n"
                          "    6  -[Cart(More) add:] + 12 (Shop + 256) [0x100000100]\n"
                          "      4  ??? (Shop + 512) [0x100000200]\n"
                          "        1   <User mode>\n"
                          "    2  ??? (Shop + 768) [0x100000300]\n" SHOP_IMAGES
                          "\nPowerstats for:   other [7]\n  90  f (other + 1) [0x100000001]\n");
    const struct dump *d = only_dump(&c);
    assert_string_equal(d->id, "i-1");
    assert_string_equal(d->time, "2026-11-20T09:10:14.120Z");
    assert_string_equal(d->stall.kind, "cpu");
    assert_string_equal(d->app.version, "5.3.1");
    assert_string_equal(d->app.build, "1234");
    assert_string_equal(d->device.arch, "arm64"); /* the process's architecture, not the system's */
    assert_int_equal(d->stall.duration_ms,
                     150000); /* the stall's duration, not the 12.5 s of the samples */
    assert_int_equal(d->stall.cpu_permille, 600);
    assert_int_equal(d->thread_count, 1);
    assert_true(d->threads[0].main);
    check_frames(&d->threads[0].stack, FRAMES(0x100000200, 0x100000100, 0x180000010));
    assert_int_equal(d->sample_count, 4);
    assert_int_equal(d->samples[0].count, 1); /* 9 - 6 - 2 samples ended there */
    check_frames(&d->samples[0], FRAMES(0x180000010));
    assert_int_equal(d->samples[1].count, 2);
    assert_int_equal(d->samples[2].count, 4);
    assert_int_equal(d->samples[3].count, 2);
    check_frames(&d->samples[3], FRAMES(0x100000300, 0x180000010));
    assert_int_equal(d->image_count, 2);
    assert_true(d->images[0].in_app && !d->images[1].in_app);
    assert_non_null(strstr(c.texts[0].data, "\"cpu_ms\":90000"));
    assert_non_null(strstr(c.texts[0].data, "\"4294967552\":[\"-[Cart(More) add:]\",12]"));
    assert_non_null(strstr(c.texts[0].data, "\"format\":\"spindump\""));
    release_converted(&c);
}

/* The UUID of the executable is also in the head of its section; its load address is computed from
 * frames. */
static void the_executable_of_samples_has_its_uuid(void **state) {
    static const char *const lists[] = {
        "     0x100000000 -                ???  Shop  /x/Shop.app/Shop\n",
        "     0x180000000 -        0x180000fff  libx.dylib  /usr/lib/libx.dylib\n"};
    (void)state;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        struct strbuf text = {0};
        strbuf_addf(&text,
                    "%sPowerstats for:   Shop [301]\n"
                    "UUID:             4C4C442C-5555-3144-A1DE-7AABF56A019C\n"
                    "Path:             /x/Shop.app/Shop\n  9  ??? (Shop + 256) [0x100000100]\n\n"
                    "  Binary Images:\n%s",
                    HEAD("cpu usage", CPU), lists[i]);
        struct converted c = convert_text_of(strbuf_cstr(&text));
        const struct dump *d = only_dump(&c);
        char id[IMAGE_ID_TEXT];
        assert_int_equal(d->image_count, 1);
        assert_int_equal(d->images[0].load, 0x100000000);
        assert_string_equal(image_id_text(&d->images[0].id, id),
                            "4C4C442C-5555-3144-A1DE-7AABF56A019C");
        assert_true(d->images[0].in_app);
        release_converted(&c);
        strbuf_release(&text);
    }
}

/* A leaf with many samples below a node with few is not on the heaviest stack. */
static void the_heaviest_stack_is_followed_from_the_root(void **state) {
    (void)state;
    struct converted c = convert_text_of(
        HEAD("cpu usage", CPU) "Powerstats for:   Shop [301]\nNum samples:      15\n"
                               "  15  ??? (Shop + 16) [0x100000010]\n"
                               "    4  ??? (Shop + 32) [0x100000020]\n"
                               "    6  ??? (Shop + 48) [0x100000030]\n"
                               "      3  ??? (Shop + 64) [0x100000040]\n"
                               "      3  ??? (Shop + 80) [0x100000050]\n"
                               "    5  ??? (Shop + 96) [0x100000060]\n" SHOP_IMAGES);
    check_frames(&only_dump(&c)->threads[0].stack, FRAMES(0x100000040, 0x100000030, 0x100000010));
    release_converted(&c);
}

/* Only the section of the hung process counts. Its first thread is the main one, and frames of the
 * kernel are left out. */
static void a_hang_is_the_main_threads_samples(void **state) {
    (void)state;
    struct converted c = convert_text_of(
        HEAD("hang",
             "") "Process:          Also [7]\n  Thread 0x9    9 samples (1-9)\n"
                 "  9  f (Also + 1) [0x100000001] 1-9\n\nProcess:          Shop [301]\n"
                 "  Thread 0x103    DispatchQueue \"com.apple.main-thread\"(1)    9 samples (1-9)\n"
                 "  <process frontmost>\n"
                 "  9  main + 8 (Main.swift:31,1 in Shop + 256) [0x100000100] 1-9\n"
                 "    9  ??? (Shop + 512) [0x100000200] 1-9\n"
                 "     *9  trap + 1 (kernel + 2) [0xffffff8000219990] 1-9\n"
                 "  Thread 0x104    Thread name \"net\"    9 samples (1-9)\n"
                 "  9  ??? (libx.dylib + 32) [0x180000020] 1-9\n" SHOP_IMAGES);
    const struct dump *d = only_dump(&c);
    assert_string_equal(d->stall.kind, "hang");
    assert_int_equal(d->thread_count, 2);
    assert_int_equal(d->threads[0].id, 0x103);
    assert_string_equal(d->threads[0].name, "com.apple.main-thread");
    assert_true(d->threads[0].main && !d->threads[1].main);
    check_frames(&d->threads[0].stack, FRAMES(0x100000200, 0x100000100));
    assert_string_equal(d->threads[1].name, "net");
    check_frames(&d->threads[1].stack, FRAMES(0x180000020));
    assert_int_equal(d->sample_count, 1);
    assert_int_equal(d->samples[0].count, 9);
    assert_non_null(strstr(c.texts[0].data, "\"interval_ms\":100"));
    release_converted(&c);
}

static void what_used_too_much_is_the_kind(void **state) {
    static const char *const events[][2] = {{"disk writes", "disk-write"},
                                            {"wakeups", "cpu"},
                                            {"slow launch", "launch"},
                                            {"hang", "hang"}};
    (void)state;
    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        struct strbuf text = {0};
        strbuf_addf(&text, HEAD("%s", "Action taken:     Process killed\n"), events[i][0]);
        strbuf_addstr(&text, "Powerstats for:   Shop\n  9  ??? (Shop + 256) [0x100000100]\n");
        strbuf_addstr(&text, SHOP_IMAGES);
        struct converted c = convert_text_of(strbuf_cstr(&text));
        const struct dump *d = only_dump(&c);
        assert_string_equal(d->stall.kind, events[i][1]);
        assert_true(d->stall.fatal);
        release_converted(&c);
        strbuf_release(&text);
    }
}

/* atos(1) puts its own words in the place of "NAME + 24 (IMAGE + 256)". */
static void rows_of_atos_have_names_files_and_lines(void **state) {
    (void)state;
    struct converted c = convert_text_of(
        HEAD("hang", "") "Process:          Shop [301]\n  Thread 0x104    9 samples (1-9)\n"
                         "  9  main (in Shop) (main.m:12) [0x100000100] 1-9\n"
                         "    9  f(int) (in Shop) + 8 [0x100000200] 1-9\n"
                         "      <patched truncated backtrace>\n" SHOP_IMAGES);
    const char *text = only_dump(&c)->text;
    assert_non_null(strstr(text, "\"4294967552\":[\"main\",0,\"main.m\",12]"));
    assert_non_null(strstr(text, "\"4294967808\":[\"f(int)\",8]"));
    release_converted(&c);
    c = convert_text_of("Call graph:\n    9 Thread_1   DispatchQueue_1: x  (serial)\n"
                        "    + 9 main (in Shop) (main.m:12) [0x100000100]\n"
                        "\nTotal number in stack (recursive counted multiple):\n");
    assert_non_null(strstr(only_dump(&c)->text, "\"4294967552\":[\"main\",0,\"main.m\",12]"));
    release_converted(&c);
}

/* A note stands in the place of a frame, and has frames below it. */
static void frames_below_a_note_are_not_missing(void **state) {
    (void)state;
    struct converted c = convert_text_of(
        HEAD("hang", "") "Process:          Shop [301]\n  Thread 0x104    9 samples (1-9)\n"
                         "  9  main + 8 (Shop + 256) [0x100000100] 1-9\n"
                         "    9  <patched truncated backtrace>\n"
                         "      9  wait + 8 (libx.dylib + 48) [0x180000030] 1-9\n" SHOP_IMAGES);
    assert_string_equal(only_dump(&c)->lack, "1 stack that the system truncated");
    release_converted(&c);
}

static void samples_without_their_process_are_refused(void **state) {
    (void)state;
    struct converted c =
        convert_text_of(/* as people paste it */
                        HEAD(
                            "cpu usage",
                            CPU) "Powerstats for:   Shop [301]\n  9  f (Shop + 4) [0x100000004]\n");
    check_frames(&only_dump(&c)->threads[0].stack, FRAMES(0x100000004));
    assert_string_equal(only_dump(&c)->images[0].name, "Shop"); /* the name that the frame gives */
    assert_int_equal(only_dump(&c)->images[0].load, 0x100000000);
    assert_string_equal(only_dump(&c)->lack,
                        "what follows: the text ends without \"Binary Images\"");
    release_converted(&c);
    check_refused(
        HEAD("cpu usage", CPU) "Powerstats for:   Shopping [301]\n  9  f (x + 4) [0x100000004]\n",
        "without a stack of its process");
}

/* A report on the whole system: it has no event, no command and no heaviest stack. */
#define SYSTEM                                                                                     \
    "Date/Time:        2026-11-20 10:10:14.120 +0100\n"                                            \
    "OS Version:       iPhone OS 18.7 (Build 22H20)\nArchitecture:     arm64e\n"                   \
    "Report Version:   53\n\nData Source:      Stackshots\n\nDuration:         2.00s\n"            \
    "Steps:            8 (250ms sampling interval)\n\nHardware model:   iPhone13,3\n\n\n"
#define SECTION(name, pid, path, note, leaf)                                                       \
    "Process:          " name " [" pid                                                             \
    "]\nUUID:             4C4C442C-5555-3144-A1DE-7AABF56A019C\n"                                  \
    "Codesigning ID:   com.example." name "\nPath:             " path "\n"                         \
    "Architecture:     arm64\n" note "Num samples:      8 (1-8)\n\n"                               \
    "  Thread 0x" pid "    DispatchQueue \"com.apple.main-thread\"(1)    8 samples (1-8)\n"        \
    "  8  ??? (" name " + 256) [0x100000100]\n" leaf "\n  Binary Images (1 of 9):\n"               \
    "     0x100000000 -        0x100000fff  " name                                                 \
    " <4c4c442c-5555-3144-a1de-7aabf56a019c>  " path "\n\n\n"
#define WAITING(n) "   *" #n "  ??? (kernel + 64) [0xfffffff007004040] (blocked by mutex)\n"
#define DAEMON     SECTION("logd", "20", "/usr/libexec/logd", "Note: Unresponsive for 9 seconds\n", "")
#define HOME                                                                                       \
    SECTION("SpringBoard", "34", "/System/Library/CoreServices/SpringBoard.app/SpringBoard", "",   \
            WAITING(8))
#define MAIL       SECTION("Mail", "40", "/Applications/Mail.app/Mail", "", WAITING(2))
#define SHOP(note) SECTION("Shop", "41", "/x/Shop.app/Shop", note, WAITING(5))
#define GAME       SECTION("Game", "42", "/x/Game.app/Game", "", "  <process frontmost>\n")

static void a_systems_report_is_of_its_most_blocked_app(void **state) {
    (void)state;
    static const struct {
        const char *text, *process, *app, *reason;
        int64_t ms;
    } cases[] = {
        {SYSTEM DAEMON HOME MAIL SHOP("") GAME, NULL, "com.example.Shop",
         "Shop: the app with most blocked samples, of 5 processes", -1},
        {SYSTEM DAEMON SHOP("") SECTION("Slow", "7", "/x/Slow.app/Slow",
                                        "Note:             Unresponsive for 6 seconds before "
                                        "sampling\n",
                                        ""),
         NULL, "com.example.Slow", "Slow: the app that did not respond, of 3 processes", 6000},
        {SYSTEM DAEMON SECTION("Calm", "7", "/x/Calm.app/Calm", "", "") GAME, NULL,
         "com.example.Game", "Game: the app in front, of 3 processes", -1},
        {SYSTEM DAEMON SECTION("Calm", "7", "/x/Calm.app/Calm", "CPU Time:         0.034s\n", "")
             SECTION("Busy (My Busy)", "8", "/x/Busy.app/Busy", "CPU Time:         0.120s (3M)\n",
                     ""),
         NULL, "com.example.Busy (My Busy)",
         "Busy: the app that ran most, none was blocked, of 3 processes", -1},
        {SYSTEM SECTION("Gone", "7", "/x/Gone.app/Gone",
                        "Note:             Suspended for 8 samples\n", WAITING(7))
             DAEMON SECTION("Calm", "8", "/x/Calm.app/Calm", "", "")
                 SECTION("Part", "9", "/x/Calm.app/PlugIns/Part.appex/Part",
                         "CPU Time:         0.120s\n", ""),
         NULL, "com.example.Calm", "Calm: the first app, none was blocked, of 4 processes", -1},
        {SYSTEM DAEMON SECTION("Busy (My Busy)", "8", "/x/Busy.app/Busy", "", ""), "Busy",
         "com.example.Busy (My Busy)", NULL, -1},
        {SYSTEM DAEMON HOME, NULL, "com.example.logd",
         "logd: the process that did not respond, of 2 processes", 9000},
        {SYSTEM GAME, NULL, "com.example.Game", NULL, -1},
        {SYSTEM DAEMON HOME MAIL SHOP("") GAME, "Mail", "com.example.Mail", NULL, -1},
        {SYSTEM DAEMON HOME MAIL SHOP("") GAME, "42", "com.example.Game", NULL, -1},
        {HEAD("hang", "") SHOP("") GAME, "Game", "com.example.Game", NULL, -1},
        {HEAD("hang", "") GAME SHOP(""), NULL, "Shop", "hang", 12500},
        {SHOP(""), NULL, "com.example.Shop", NULL, -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct converted c = convert_process_of(cases[i].text, cases[i].process);
        const struct dump *d = only_dump(&c);
        char reason[128];
        assert_string_equal(d->app.id ? d->app.id : "", cases[i].app ? cases[i].app : "");
        (void)snprintf(reason, sizeof reason, "\"reason\":\"%s\"",
                       cases[i].reason ? cases[i].reason : "");
        assert_int_equal(strstr(d->text, cases[i].reason ? reason : "\"reason\":") != NULL,
                         cases[i].reason != NULL);
        assert_int_equal(d->stall.duration_ms, cases[i].ms);
        assert_string_equal(d->stall.kind, "hang");
        assert_int_equal(d->image_count, 1);
        assert_int_equal(d->threads[0].stack.frame_count, 1);
        assert_true(d->images[0].in_app);
        release_converted(&c);
    }
}

#define SPINDUMP(more, duration)                                                                   \
    "Date/Time:        2026-11-20 10:10:14.120 +0100\nReport Version:   25\n\n" more               \
    "Duration:         " duration "\nSteps:            8 (250ms sampling interval)\n\n\n"

/* What the head says of the time before the samples counts, with and without an event. */
static void time_without_a_response_is_the_duration(void **state) {
    (void)state;
    static const struct {
        const char *text, *reason;
        int64_t ms;
    } cases[] = {
#define TOLD   "9.99s (process was unresponsive for 94 seconds before sampling)"
#define OWN    "Command:          Shop\nPID:              41\n\n"
#define WAITED SHOP("Note:             Unresponsive for 6 seconds before sampling\n")
        {SPINDUMP(OWN, TOLD) SHOP(""), NULL, 94000},
        {SPINDUMP(OWN, "9.99s") WAITED, NULL, 6000},
        {SPINDUMP(OWN, "9.99s") SHOP(""), NULL, -1},
        {SPINDUMP(OWN "Event:            hang\n", TOLD) SHOP(""), "hang", 94000},
        {SPINDUMP(OWN "Event:            hang\n", "2.00s") WAITED, "hang", 6000},
        {SPINDUMP(OWN "Event:            hang\n", "9.99s") WAITED, "hang", 9990},
        {SPINDUMP("Event:            shutdown stall\n", "1.00s (sampling started after 2 seconds)")
             SHOP("") MAIL,
         "shutdown stall; Shop: the app with most blocked samples, of 2 processes", 1000},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct converted c = convert_text_of(cases[i].text);
        const struct dump *d = only_dump(&c);
        assert_int_equal(d->stall.duration_ms, cases[i].ms);
        assert_true(!strstr(d->text, "\"reason\":") == !cases[i].reason);
        assert_non_null(strstr(d->text, cases[i].reason ? cases[i].reason : ""));
        release_converted(&c);
    }
}

static void a_process_that_is_not_there_is_refused(void **state) {
    (void)state;
    struct converted c = convert_process_of(SYSTEM DAEMON HOME, "Shop");
    assert_int_equal(c.st, ST_ERR);
    assert_non_null(strstr(c.err.text, "no process 'Shop' among the 2 of the report"));
    release_converted(&c);
}

/* A process has a section for each state that it was in. */
static void all_sections_of_a_process_are_counted(void **state) {
    (void)state;
    struct converted c = convert_text_of(
        HEAD("cpu usage",
             CPU) "Powerstats for:   Shop [301]\n  4  f (Shop + 256) [0x100000100]\n" SHOP_IMAGES
                  "Powerstats for:   Shop [302]\n  9  f (Shop + 256) [0x100000108]\n" SHOP_IMAGES
                  "Powerstats for:   Shop [301]\n  5  f (Shop + 512) [0x100000200]\n" SHOP_IMAGES);
    const struct dump *d = only_dump(&c);
    assert_int_equal(d->thread_count, 1);
    assert_int_equal(d->sample_count, 2);
    assert_int_equal(d->samples[0].count, 4);
    assert_int_equal(d->samples[1].count, 5);
    check_frames(&d->samples[1], FRAMES(0x100000200));
    assert_int_equal(d->image_count, 1);
    release_converted(&c);
}

/* A spindump of two threads: the first waits for the second, and `how` says for whom the second
 * waits. */
#define BLOCKED(how)                                                                               \
    HEAD("hang", "")                                                                               \
    "Process:          Shop (My Shop) [301] [unique pid 7]\n  Thread 0x2ca9e    DispatchQueue "    \
    "\"com.apple.main-thread\"(1)\n"                                                               \
    "  9  start + 4 (libx.dylib + 16) [0x180000010]\n"                                             \
    "    9  __psynch_mutexwait + 8 (libx.dylib + 64) [0x180000040]\n"                              \
    "     *5  psynch_mtxcontinue + 0 (pthread + 112) [0xffffff8003753c15] (blocked by turnstile "  \
    "waiting for Shop [301] [unique pid 301] thread 0x2caa0) 1-5\n"                                \
    "     *4  psynch_mtxcontinue + 0 (pthread + 112) [0xffffff8003753c15] (blocked by turnstile "  \
    "waiting for Shop [301] thread 0x2caa1) 6-9\n"                                                 \
    "  Thread 0x2caa0    Thread name \"db\"\n  9  ??? (libx.dylib + 32) [0x180000020]\n"           \
    "     *9  ulock_wait + 0 (kernel + 1) [0xffffff8003753c15] (" how ")\n" SHOP_IMAGES

static void a_spindump_tells_by_whom_a_thread_is_blocked(void **state) {
    (void)state;
    struct converted c =
        convert_text_of(BLOCKED("suspended, blocked by turnstile waiting for Shop [301] thread "
                                "0x2ca9e"));
    const struct dump *d = only_dump(&c);
    assert_string_equal(d->threads[0].waits_for.kind, "mutex");
    assert_int_equal(d->threads[0].waits_for.owner, 0x2caa0); /* named in 5 of 9 samples */
    assert_string_equal(d->threads[1].waits_for.kind, "lock");
    assert_int_equal(d->threads[1].waits_for.owner, 0x2ca9e);
    release_converted(&c);
    c = convert_text_of(
        BLOCKED("blocked by turnstile waiting for this thread - part of a deadlock"));
    assert_int_equal(only_dump(&c)->threads[1].waits_for.owner, 0x2caa0);
    release_converted(&c);
    static const char *const others[] = {
        (BLOCKED("blocked by turnstile waiting for smd [7] thread 0x1")),
        (BLOCKED("blocked by turnstile waiting for Shop [3011] thread 0x1")),
        (BLOCKED("blocked by turnstile waiting for Shop [301] thread 0x1 after 2 hops")),
        (BLOCKED("blocked by turnstile waiting for Shop [301]")),
        (BLOCKED("blocked by turnstile waiting for Shop [301] thread 0xffffffffffffffff"))};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        c = convert_text_of(others[i]);
        assert_null(only_dump(&c)->threads[1].waits_for.kind);
        release_converted(&c);
    }
}

static void a_tree_without_its_indentation_is_refused(void **state) {
    (void)state;
    struct converted c = convert_text_of(
        HEAD("cpu usage", CPU) "Powerstats for:   Shop [301]\nNum samples:      9\n"
                               "9  start + 4 (libx.dylib + 16) [0x180000010]\n"
                               "6  f + 12 (Shop + 256) [0x100000100]\n" SHOP_IMAGES);
    assert_int_equal(c.st, ST_ERR);
    assert_non_null(strstr(c.err.text, "lost their indentation: 15 samples of a thread of 9"));
    release_converted(&c);
    c = convert_text_of("Date/Time:    2026-11-20 10:10:14 +0100\nSteps: 99\n\nProcess: Shop [1]\n"
                        "  Thread 0x1  DispatchQueue 1  9 samples (1-9)\n"
                        "9  start + 4 (libx.dylib + 16) [0x180000010]\n"
                        "9  f + 12 (Shop + 256) [0x100000100]\n" SHOP_IMAGES);
    assert_int_equal(c.st, ST_ERR);
    release_converted(&c);
}

static void a_profile_of_the_system_is_no_hang(void **state) {
    (void)state;
    struct converted c = convert_text_of(
        "Date/Time:        2026-11-20 10:10:14 +0100\nEvent:            powerstats\n"
        "Duration:         99.00s\nSteps:            9\n\n"
        "Powerstats for:   Few\nPath:             /Applications/Few.app/Few\n"
        "Num samples:      1 (10%)\n  1  f + 1 (Few + 2) [0x100000001]\n"
        "  Binary Images:\n     0x100000000 - ??? Few <> /Applications/Few.app/Few\n\n"
        "Powerstats for:   Shop\nPath:             /Applications/Shop.app/Shop\n"
        "Num samples:      8 (80%)\n  8  f + 1 (Shop + 2) [0x100000001]\n" SHOP_IMAGES);
    const struct dump *d = only_dump(&c);
    assert_string_equal(d->stall.kind, "cpu");
    assert_int_equal(d->stall.duration_ms, -1);
    assert_non_null(strstr(c.texts[0].data,
                           "\"reason\":\"Shop: the app with most samples, none was "
                           "blocked, of 2 processes\""));
    release_converted(&c);
}

static void a_spindump_that_ends_in_another_process_says_so(void **state) {
    (void)state;
    struct converted c =
        convert_text_of("Date/Time:    2026-11-20 10:10:14 +0100\nSteps: 9\n\nProcess: Shop [1]\n"
                        "Path: /x/Shop.app/Shop\n  Thread 0x1  DispatchQueue 1  9 samples (1-9)\n"
                        "  9  f + 12 (Shop + 256) [0x100000100]\n" SHOP_IMAGES
                        "\nProcess: other [2]\nPath: /usr/bin/oth");
    assert_non_null(strstr(only_dump(&c)->lack, "ends within its last process"));
    release_converted(&c);
}

/* A thread has an entry for each queue that it ran; the entry of the main queue need not come
 * first. */
static void entries_of_one_thread_are_joined(void **state) {
    (void)state;
    struct converted c = convert_text_of(HEAD(
        "hang", "") "Process:          Shop [301]\n"
                    "  Thread 0x104    Thread name \"net\"    9 samples (1-9)\n"
                    "  9  ??? (libx.dylib + 32) [0x180000020] 1-9\n"
                    "  Thread 0x103    DispatchQueue \"store\"(12)    7 samples (3-9)\n"
                    "  7  main + 8 (Shop + 256) [0x100000100] 3-9\n"
                    "    7  wait + 8 (libx.dylib + 48) [0x180000030] 3-9\n"
                    "  Thread 0x103    DispatchQueue \"com.apple.main-thread\"(1)    2 samples\n"
                    "  2  main + 8 (Shop + 256) [0x100000100] 1-2\n" SHOP_IMAGES);
    const struct dump *d = only_dump(&c);
    assert_int_equal(d->thread_count, 2);
    assert_false(d->threads[0].main);
    assert_int_equal(d->threads[1].id, 0x103);
    assert_string_equal(d->threads[1].name, "com.apple.main-thread");
    assert_true(d->threads[1].main);
    check_frames(&d->threads[1].stack, FRAMES(0x180000030, 0x100000100));
    assert_int_equal(d->sample_count, 2);
    assert_int_equal(d->samples[0].count + d->samples[1].count, 9);
    assert_null(d->lack);
    release_converted(&c);
}

static void a_main_thread_that_is_missing_is_told(void **state) {
    (void)state;
    struct converted c = convert_text_of(
        HEAD("hang", "") "Process:          Shop [301]\n"
                         "  Thread 0x104    Thread name \"net\"    9 samples (1-9)\n"
                         "  9  thread_start + 8 (libx.dylib + 32) [0x180000020] 1-9\n"
                         "    9  f + 8 (libx.dylib + 48) [0x180000030] 1-9\n"
                         "    ...\n" SHOP_IMAGES);
    const struct dump *d = only_dump(&c);
    assert_true(d->threads[0].main);
    assert_string_equal(d->lack, "the main thread: another thread started the first one; "
                                 "1 line within its call trees that could not be read");
    release_converted(&c);
}

static void the_kernels_stacks_of_old_systems_are_left_out(void **state) {
    (void)state;
    struct converted c = convert_text_of(
        HEAD("hang", "") "Process:          Shop [301]\n  Thread 0x28a    DispatchQueue 1\n"
                         "  User stack:\n"
                         "    9 f + 12 (in Shop + 256) [0x100000100]\n"
                         "      9 g + 8 (in libx.dylib) [0x180000020]\n"
                         "  Kernel stack:\n"
                         "    9 ipc_mqueue_receive + 0 (in mach_kernel) [0xffffff8000215930]\n\n"
                         "  Thread 0x2c0    DispatchQueue 2\n  User stack:\n"
                         "    9 h + 8 (in libx.dylib) [0x180000030]\n" SHOP_IMAGES);
    const struct dump *d = only_dump(&c);
    assert_int_equal(d->thread_count, 2);
    check_frames(&d->threads[0].stack, FRAMES(0x180000020, 0x100000100));
    check_frames(&d->threads[1].stack, FRAMES(0x180000030));
    assert_null(d->lack);
    release_converted(&c);
}

static void a_sentence_behind_the_tree_is_not_its_line(void **state) {
    static const struct {
        const char *end, *lack;
    } rows[] = {{"```\n</details>\n", "what follows: "},
                {"\nThanks!\n", "what follows: "},
                {"Thanks!\n", "1 line within its call trees that could not be read; "},
                {"\n  9  f\n", "1 line within its call trees that could not be read; "}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct strbuf text = {0};
        strbuf_addf(&text, "%s%s",
                    HEAD("hang", "") "Process:  Shop [3]\n  Thread 0x1  DispatchQueue 1\n"
                                     "  9  start + 4 (libx.dylib + 16) [0x180000010]\n",
                    rows[i].end);
        struct converted c = convert_text_of(strbuf_cstr(&text));
        const char *lack = only_dump(&c)->lack;
        assert_int_equal(strncmp(lack, rows[i].lack, strlen(rows[i].lack)), 0);
        release_converted(&c);
        strbuf_release(&text);
    }
}

static void the_heaviest_stack_alone_is_read(void **state) {
    static const char text[] =
        "Date/Time:  2026-11-20 10:10:14 +0100\nCommand: Shop\nEvent: hang\nSteps: 9\n\n"
        "Heaviest stack for the main thread of the target process:\n"
        "  9  start + 1 (libx.dylib + 16) [0x180000010]\n  9  f (Shop + 256) [0x100000100]\n\n";
    /* the text may end within the head of its first process */
    static const char *const ends[] = {"", "\nProcess:          Shop [301]\nPath: /x/Shop\nUID:\n"};
    (void)state;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        struct strbuf whole = {0};
        strbuf_addf(&whole, "%s%s", text, ends[i]);
        struct converted c = convert_text_of(strbuf_cstr(&whole));
        const struct dump *d = only_dump(&c);
        check_frames(&d->threads[0].stack, FRAMES(0x100000100, 0x180000010));
        assert_int_equal(d->sample_count, 1);
        assert_int_equal(d->samples[0].count, 9);
        assert_non_null(strstr(d->lack, "all but the main thread's heaviest stack"));
        release_converted(&c);
        strbuf_release(&whole);
    }
}

/* People paste only the heaviest stack, also with the frames as atos writes them. */
static void a_heaviest_stack_without_a_head_is_read(void **state) {
    static const char text[] = "Heaviest stack for the main thread of the target process:\n"
                               "  48  start + 4 (libdyld.dylib + 94004) [0x18393df34]\n"
                               "  48  main (in Shop) (main.mm:290) [0x10049952c]\n"
                               "  48  ??? (Shop + 256) [0x100000100]\n";
    bool more = false;
    (void)state;
    assert_non_null(report_text_format_of(text, sizeof text - 1, &more));
    assert_null(report_text_format_of(text, 70, &more));
    assert_true(more);
    struct converted c = convert_text_of(text);
    const struct dump *d = only_dump(&c);
    assert_string_equal(d->stall.kind, "hang");
    check_frames(&d->threads[0].stack, FRAMES(0x100000100, 0x10049952c, 0x18393df34));
    assert_string_equal(dump_name_at(d, 0x10049952c)->symbol, "main");
    assert_string_equal(dump_name_at(d, 0x10049952c)->file, "main.mm");
    assert_int_equal(dump_name_at(d, 0x18393df34)->offset, 4);
    assert_non_null(strstr(d->lack, "all but the main thread's heaviest stack"));
    assert_int_equal(d->image_count, 2); /* the images whose load addresses are in the frames */
    release_converted(&c);
}

static void a_truncated_stack_is_told(void **state) {
    (void)state;
    struct converted c = convert_text_of(
        HEAD("hang", "") "Process:          Shop [301]\n"
                         "  Thread 0x103    DispatchQueue \"com.apple.main-thread\"(1)\n"
                         "  9  f (Shop + 256) [0x100000100]\n"
                         "  Thread 0x104\n"
                         "  9  <patched truncated backtrace>\n"
                         "    9  g (libx.dylib + 16) [0x180000010]\n" SHOP_IMAGES);
    assert_string_equal(only_dump(&c)->lack, "1 stack that the system truncated");
    release_converted(&c);
}

int main(void) {
    dump_library_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_that_used_too_much_is_counted_stacks),
        cmocka_unit_test(the_executable_of_samples_has_its_uuid),
        cmocka_unit_test(the_heaviest_stack_is_followed_from_the_root),
        cmocka_unit_test(a_hang_is_the_main_threads_samples),
        cmocka_unit_test(what_used_too_much_is_the_kind),
        cmocka_unit_test(rows_of_atos_have_names_files_and_lines),
        cmocka_unit_test(frames_below_a_note_are_not_missing),
        cmocka_unit_test(samples_without_their_process_are_refused),
        cmocka_unit_test(a_systems_report_is_of_its_most_blocked_app),
        cmocka_unit_test(time_without_a_response_is_the_duration),
        cmocka_unit_test(a_process_that_is_not_there_is_refused),
        cmocka_unit_test(all_sections_of_a_process_are_counted),
        cmocka_unit_test(a_spindump_tells_by_whom_a_thread_is_blocked),
        cmocka_unit_test(a_tree_without_its_indentation_is_refused),
        cmocka_unit_test(a_profile_of_the_system_is_no_hang),
        cmocka_unit_test(a_spindump_that_ends_in_another_process_says_so),
        cmocka_unit_test(entries_of_one_thread_are_joined),
        cmocka_unit_test(a_main_thread_that_is_missing_is_told),
        cmocka_unit_test(the_kernels_stacks_of_old_systems_are_left_out),
        cmocka_unit_test(a_sentence_behind_the_tree_is_not_its_line),
        cmocka_unit_test(the_heaviest_stack_alone_is_read),
        cmocka_unit_test(a_heaviest_stack_without_a_head_is_read),
        cmocka_unit_test(a_truncated_stack_is_told),
    };
    return cmocka_run_group_tests_name("report_sampled", tests, NULL, NULL);
}
