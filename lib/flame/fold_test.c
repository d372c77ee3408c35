#include "flame/fold.h"

#include "base/hash.h"
#include "flame/flame_support_test.h"

static struct strbuf dump_text(const char *stall, const char *members) {
    struct strbuf b = {0};
    strbuf_addf(&b, "{\"format\":\"stall-dump/1\",\"id\":\"d\",\"stall\":{%s},%s}", stall, members);
    return b;
}

/* Returns a share of the dump's whole span; it is a whole stall if the dump has no stall id. */
static struct fold_share share_of(const struct dump *d) {
    int64_t span = dump_span_ms(d);
    const char *id = d->stall.id ? d->stall.id : "";
    return (struct fold_share){
        .ms = span > 0 ? (uint64_t)span : 0, .stall = hash_bytes(id, strlen(id)), .whole = !*id};
}

static void fold_text(struct fold *f, const char *stall, const char *members) {
    struct strbuf text = dump_text(stall, members);
    struct dump d;
    struct err e = {0};
    enum st st = dump_parse(&d, strbuf_cstr(&text), text.len, &e);
    if (st != ST_OK) {
        fail_msg("%s", e.text);
    }
    struct fold_share share = share_of(&d);
    assert_int_equal(fold_add(f, &d, &share, NULL), ST_OK);
    dump_release(&d);
    strbuf_release(&text);
}

static void assert_folded(struct fold_options options, const char *stall, const char *members,
                          const char *want) {
    struct stack_tree t = {0};
    struct fold f = {.tree = &t, .options = options};
    fold_text(&f, stall, members);
    assert_int_equal(fold_finish(&f, NULL), ST_OK);
    assert_written(&t, want);
    fold_release(&f);
    stack_tree_release(&t);
}

#define IMAGES                                                                                     \
    "\"images\":[{\"uuid\":\"6B834217-0000-4000-8000-000000000001\",\"name\":\"Shop\","            \
    "\"load\":4096,\"size\":4096,\"in_app\":true},{\"path\":\"/usr/lib/"                           \
    "libc.so.6\",\"load\":65536,"                                                                  \
    "\"size\":4096}]"
#define SAMPLES(stacks) "\"samples\":{\"interval_ms\":50,\"stacks\":[" stacks "],\"ring\":[0,-1]}"
#define THREAD          "\"threads\":[{\"id\":1,\"main\":true,\"frames\":[4100,4200]}]"

static void frames_run_from_the_outermost(void **state) {
    (void)state;
    assert_folded((struct fold_options){0}, "\"seq\":1,\"span_ms\":70",
                  IMAGES "," SAMPLES("{\"count\":1,\"frames\":[4100,65540,9]}"),
                  "0x9;libc.so.6+0x4;Shop+0x4 70\n");
}

/* Checks that tags of arm64 are not part of an address, while the table of names is searched by the
 * address with its tags. */
static void tags_do_not_change_a_frame(void **state) {
    (void)state;
    assert_folded((struct fold_options){0}, "\"seq\":1,\"span_ms\":70",
                  "\"device\":{\"arch\":\"arm64\"}," IMAGES
                  ",\"names\":{\"6485183463413518440\":[\"g\",4]}," SAMPLES(
                      "{\"count\":1,\"frames\":[4100,6485183463413518440,6485183463413579780,"
                      "6485183463413514249]}"),
                  "0x9;libc.so.6+0x4;g;Shop+0x4 70\n");
}

static void the_span_is_split_exactly(void **state) {
    (void)state;
    assert_folded((struct fold_options){0}, "\"seq\":1,\"span_ms\":100",
                  IMAGES
                  "," SAMPLES("{\"count\":1,\"frames\":[4100]},{\"count\":2,\"frames\":[4101]}"
                              ",{\"count\":4,\"frames\":[4102]}"),
                  "Shop+0x4 14\nShop+0x5 29\nShop+0x6 57\n");
}

static void samples_and_stalls_are_other_weights(void **state) {
    (void)state;
    const char *members =
        IMAGES "," THREAD "," SAMPLES("{\"count\":3,\"frames\":[4100]},{\"count\":7,\"frames\":["
                                      "4101]}") ",\"heaviest\":{\"stack\":0}";
    const char *stall = "\"seq\":1,\"span_ms\":100";
    assert_folded((struct fold_options){.weight = FOLD_SAMPLES}, stall, members,
                  "Shop+0x4 3\nShop+0x5 7\n");
    assert_folded((struct fold_options){.weight = FOLD_STALLS}, stall, members, "Shop+0x4 1\n");
    assert_folded((struct fold_options){.weight = FOLD_STALLS},
                  "\"id\":\"s\",\"seq\":2,\"span_ms\":100", members,
                  "Shop+0x4 1\n"); /* this dump is the first dump of its stall that exists */
    assert_folded((struct fold_options){.weight = FOLD_SAMPLES}, stall, IMAGES "," THREAD,
                  "Shop+0x68;Shop+0x4 1\n");
    assert_string_equal(fold_weight_text(FOLD_MS), "ms");
    assert_string_equal(fold_weight_text(FOLD_SAMPLES), "samples");
    assert_string_equal(fold_weight_text(FOLD_STALLS), "stalls");
}

static void without_samples_the_main_thread_stands_for_all(void **state) {
    (void)state;
    assert_folded((struct fold_options){0}, "\"seq\":1,\"span_ms\":100", IMAGES "," THREAD,
                  "Shop+0x68;Shop+0x4 100\n");
    assert_folded((struct fold_options){0}, "\"seq\":1,\"duration_ms\":90", IMAGES "," THREAD,
                  "Shop+0x68;Shop+0x4 90\n");
}

#define WORKERS                                                                                    \
    "\"threads\":[{\"id\":1,\"main\":true,\"frames\":[4100]},{\"id\":2,\"name\":\"a\","            \
    "\"cpu_permille\":900,\"frames\":[4200]},{\"id\":3,\"name\":\"b\",\"cpu_permille\":300,"       \
    "\"frames\":[4300]},{\"id\":4,\"name\":\"c\",\"frames\":[4400]}]"

static void threads_that_worked_are_what_is_drawn(void **state) {
    (void)state;
    static const char cpu[] = "\"kind\":\"cpu\",\"seq\":1,\"span_ms\":1000";
    static const char dump[] = IMAGES "," WORKERS "," SAMPLES("{\"count\":9,\"frames\":[4100]}");
    assert_folded((struct fold_options){0}, cpu, dump, "Shop+0x68 750\nShop+0xcc 250\n");
    assert_folded((struct fold_options){.by_thread = true}, cpu, dump,
                  "a;Shop+0x68 750\nb;Shop+0xcc 250\n");
    assert_folded((struct fold_options){.weight = FOLD_STALLS}, cpu, dump, "Shop+0x68 1\n");
    assert_folded((struct fold_options){.all_threads = true}, cpu, dump,
                  "Shop+0x130 1000\nShop+0x68 750\nShop+0xcc 250\n");
    assert_folded((struct fold_options){0}, "\"kind\":\"hang\",\"seq\":1,\"span_ms\":1000", dump,
                  "Shop+0x4 1000\n");
}

static void actions_and_absent_workers_have_names(void **state) {
    (void)state;
    assert_folded((struct fold_options){0},
                  "\"kind\":\"slow-action\",\"action\":\"sync\",\"seq\":1,\"span_ms\":1000",
                  IMAGES "," WORKERS, "sync (action);Shop+0x68 750\nsync (action);Shop+0xcc 250\n");
    assert_folded((struct fold_options){0},
                  "\"kind\":\"cpu\",\"top_thread\":{\"id\":9,\"name\":\"w\"},\"seq\":1,"
                  "\"span_ms\":1000",
                  IMAGES "," THREAD, "w (thread) 1000\n");
}

static void time_without_a_stack_is_kept(void **state) {
    (void)state;
    assert_folded((struct fold_options){0}, "\"seq\":1,\"span_ms\":100", IMAGES,
                  "[unavailable] 100\n");
    assert_folded((struct fold_options){0}, "\"seq\":1,\"span_ms\":100",
                  IMAGES "," SAMPLES("{\"count\":1,\"frames\":[]},{\"count\":1,\"frames\":[9]}"),
                  "0x9 50\n[unavailable] 50\n");
}

#define LOCATED                                                                                    \
    "\"strings\":[\"outer;one\",\"mid\",\"leaf\",\"a.c\"],\"locations\":["                         \
    "{\"image\":-1,\"offset\":9,\"start\":9,\"lines\":[],\"source\":\"none\"},"                    \
    "{\"image\":0,\"offset\":4,\"start\":0,\"lines\":[[2,-1,3,1,0],[-1,-1,3,2,0],[0,-1,3,3,0]],"   \
    "\"source\":\"dwarf\"},"                                                                       \
    "{\"image\":1,\"offset\":8,\"start\":6,\"lines\":[],\"source\":\"none\"}]"
#define LOCATED_STACK                                                                              \
    "\"samples\":{\"stacks\":[{\"count\":1,\"frames\":[4100,65544,9],\"locations\":[1,2,0]}]}"

static void inlined_functions_are_marked_frames(void **state) {
    (void)state;
    const char *members = IMAGES "," LOCATED "," LOCATED_STACK;
    const char *stall = "\"seq\":1,\"span_ms\":7";
    assert_folded((struct fold_options){0}, stall, members,
                  "0x9;libc.so.6+0x6;outer\\x3bone;[unknown]_[i];leaf_[i] 7\n");
    assert_folded((struct fold_options){.no_inlines = true}, stall, members,
                  "0x9;libc.so.6+0x6;outer\\x3bone 7\n");
    assert_folded((struct fold_options){.modules = true}, stall, members,
                  "0x9;libc.so.6+0x6;Shop`outer\\x3bone;Shop`[unknown]_[i];Shop`leaf_[i] 7\n");
}

static void the_devices_names_serve_raw_dumps(void **state) {
    (void)state;
    assert_folded((struct fold_options){.modules = true}, "\"seq\":1,\"span_ms\":7",
                  IMAGES ",\"names\":{\"65540\":[\"read\",4],\"9\":[\"#!\",0]}," SAMPLES(
                      "{\"count\":1,\"frames\":[4100,65540,9]}"),
                  "\\x23!;libc.so.6`read;Shop+0x4 7\n");
}

static void a_stall_of_several_dumps_counts_at_the_first(void **state) {
    (void)state;
    static const char *const stalls[] = {
        "\"id\":\"s\",\"seq\":3,\"span_ms\":10", "\"id\":\"s\",\"seq\":2,\"span_ms\":10",
        "\"id\":\"s\",\"seq\":2,\"span_ms\":10", "\"id\":\"t\",\"seq\":1,\"span_ms\":10"};
    static const char *const stacks[] = {"4100", "4104", "4102", "4103"};
    struct strbuf members[4] = {{0}};
    for (size_t i = 0; i < 4; i++) {
        strbuf_addf(&members[i], IMAGES ",\"threads\":[{\"id\":1,\"main\":true,\"frames\":[%s]}]",
                    stacks[i]);
    }
    for (int order = 0; order < 2; order++) { /* the order of the dumps does not decide */
        struct stack_tree t = {0};
        struct fold f = {.tree = &t, .options.weight = FOLD_STALLS};
        for (size_t i = 0; i < 4; i++) {
            size_t n = order ? 3 - i : i;
            fold_text(&f, stalls[n], strbuf_cstr(&members[n]));
        }
        assert_int_equal(fold_finish(&f, NULL), ST_OK);
        assert_written(&t, "Shop+0x6 1\nShop+0x7 1\n");
        assert_int_equal(f.stats.stalls, 2);
        assert_int_equal(f.stats.total_ms, 40);
        fold_release(&f);
        stack_tree_release(&t);
    }
    struct stack_tree t = {
        .ordered = true}; /* in an ordered tree the stack stands where its stall is met first */
    struct fold f = {.tree = &t, .options.weight = FOLD_STALLS};
    for (size_t i = 0; i < 4; i++) {
        fold_text(&f, stalls[i], strbuf_cstr(&members[i]));
        strbuf_release(&members[i]);
    }
    assert_int_equal(fold_finish(&f, NULL), ST_OK);
    assert_written(&t, "Shop+0x4 1\nShop+0x7 1\n");
    fold_release(&f);
    stack_tree_release(&t);
}

static void assert_described(const struct fold_stats *s, const char *want) {
    struct strbuf b = {0};
    fold_describe(s, &b);
    assert_string_equal(strbuf_cstr(&b), want);
    strbuf_release(&b);
}

static void what_was_folded_is_described(void **state) {
    (void)state;
    struct stack_tree t = {0};
    struct fold f = {.tree = &t};
    const char *ten = IMAGES "," SAMPLES("{\"count\":10,\"frames\":[9]}");
    fold_text(&f, "\"id\":\"s\",\"seq\":1,\"span_ms\":1000", ten); /* half of the span is sampled */
    /* More time in samples than in the span: all of it is sampled. */
    fold_text(&f, "\"id\":\"s\",\"seq\":2,\"span_ms\":100", ten);
    fold_text(&f, "\"seq\":1,\"span_ms\":1400", IMAGES); /* no time is sampled */
    assert_described(&f.stats, "2.5 s stalled in 3 dumps of 2 stalls, 24 % of it sampled");
    assert_int_equal(stack_tree_total(&t), 2500);
    fold_text(&f, "\"seq\":1", ten);
    assert_described(
        &f.stats, "2.5 s stalled in 4 dumps of 3 stalls, 24 % of it sampled, 1 without a duration");
    assert_described(&(struct fold_stats){.dumps = 1, .stalls = 1, .total_ms = 840},
                     "840 ms stalled in 1 stall, 0 % of it sampled");
    assert_described(
        &(struct fold_stats){.dumps = 5, .stalls = 5, .total_ms = 200000, .sampled_ms = 200000},
        "3 min 20 s stalled in 5 stalls, 100 % of it sampled");
    assert_described(&(struct fold_stats){.dumps = 5, .stalls = 5, .total_ms = 7500000},
                     "2 h 5 min stalled in 5 stalls, 0 % of it sampled");
    fold_release(&f);
    stack_tree_release(&t);
}

static void sums_past_64_bits_are_refused(void **state) {
    (void)state;
    struct stack_tree t = {0};
    struct fold f = {.tree = &t};
    struct err e = {0};
    struct dump d;
    struct strbuf text = dump_text("\"seq\":1", IMAGES);
    assert_int_equal(dump_parse(&d, text.data, text.len, NULL), ST_OK);
    struct fold_share share = {.ms = INT64_MAX, .whole = true};
    assert_int_equal(fold_add(&f, &d, &share, NULL), ST_OK);
    share.ms = 1;
    assert_int_equal(fold_add(&f, &d, &share, &e), ST_ERR);
    assert_int_equal(e.code, ERR_LIMIT);
    assert_int_equal(f.stats.dumps, 1);
    assert_written(&t, "[unavailable] 9223372036854775807\n");
    dump_release(&d);
    strbuf_release(&text);
    fold_release(&f);
    stack_tree_release(&t);
}

static void fold_once(void *ctx, bool refused) {
    struct stack_tree t = {0};
    struct fold f = {.tree = &t, .options.modules = true};
    struct err e = {0};
    struct fold_share share = share_of(ctx);
    enum st st = fold_add(&f, ctx, &share, &e);
    assert_true(st == ST_OK || (refused && e.code == ERR_NOMEM));
    assert_true(refused || stack_tree_total(&t) == 70);
    fold_release(&f);
    stack_tree_release(&t);
}

/* Folds a dump of a stall that may have more dumps, perhaps with an allocation failing. */
static void fold_stalls_once(void *ctx, bool refused) {
    struct stack_tree t = {0};
    struct fold f = {.tree = &t, .options.weight = FOLD_STALLS};
    struct err e = {0};
    struct fold_share share = {.ms = 70};
    enum st st = fold_add(&f, ctx, &share, &e);
    st = st == ST_OK ? fold_finish(&f, &e) : st;
    assert_true(st == ST_OK || (refused && e.code == ERR_NOMEM));
    assert_true(refused || stack_tree_total(&t) == 1);
    fold_release(&f);
    stack_tree_release(&t);
}

/* Folds with all options that need memory of their own, perhaps with an allocation failing. */
static void fold_users_once(void *ctx, bool refused) {
    const char *labels[] = {"lock", NULL};
    struct stack_tree t = {0};
    struct fold f = {
        .tree = &t,
        .options = {.weight = FOLD_USERS, .lines = true, .by_thread = true, .all_threads = true}};
    struct err e = {0};
    struct fold_share share = share_of(ctx);
    share.labels = labels;
    enum st st = fold_add(&f, ctx, &share, &e);
    st = st == ST_OK ? fold_finish(&f, &e) : st;
    assert_true(st == ST_OK || (refused && e.code == ERR_NOMEM));
    assert_true(refused || stack_tree_total(&t) == 1000000);
    fold_release(&f);
    stack_tree_release(&t);
}

static void no_memory_is_an_error(void **state) {
    (void)state;
    if (!failmalloc_works()) {
        skip();
    }
    struct strbuf text =
        dump_text("\"seq\":1,\"span_ms\":70", IMAGES "," LOCATED "," LOCATED_STACK);
    struct dump d;
    assert_int_equal(dump_parse(&d, text.data, text.len, NULL), ST_OK);
    assert_true(failmalloc_sweep(fold_once, &d) > 5);
    assert_true(failmalloc_sweep(fold_users_once, &d) > 8);
    assert_true(failmalloc_sweep(fold_stalls_once, &d) > 5);
    dump_release(&d);
    strbuf_release(&text);
}

static const char three_threads[] =
    "\"threads\":[{\"id\":1,\"name\":\"ui\",\"main\":true,\"frames\":[4100]},"
    "{\"id\":2,\"frames\":[4101]},{\"id\":3,\"name\":\"a;b\",\"frames\":[]}]";

static void other_threads_count_as_much(void **state) {
    (void)state;
    struct strbuf members = {0};
    strbuf_addf(&members, IMAGES ",%s", three_threads);
    const char *stall = "\"seq\":1,\"span_ms\":70";
    const struct fold_options by = {.all_threads = true, .by_thread = true};
    assert_folded(by, stall, strbuf_cstr(&members),
                  "a\\x3bb;[unavailable] 70\nthread 2;Shop+0x5 70\nui;Shop+0x4 70\n");
    assert_folded((struct fold_options){.by_thread = true}, stall, strbuf_cstr(&members),
                  "ui;Shop+0x4 70\n");
    assert_folded((struct fold_options){.weight = FOLD_SAMPLES, .all_threads = true}, stall,
                  strbuf_cstr(&members), "Shop+0x4 1\nShop+0x5 1\n[unavailable] 1\n");
    assert_folded((struct fold_options){.weight = FOLD_STALLS, .all_threads = true},
                  "\"id\":\"s\",\"seq\":2,\"span_ms\":70", strbuf_cstr(&members),
                  "Shop+0x4 1\nShop+0x5 1\n[unavailable] 1\n");
    strbuf_release(&members);
}

static void a_main_thread_without_a_name_is_main(void **state) {
    (void)state;
    const char *members = IMAGES ",\"threads\":[{\"id\":1,\"name\":\"\",\"main\":true,\"state\":"
                                 "\"running\",\"frames\":[4100]}]";
    assert_folded((struct fold_options){.by_thread = true}, "\"seq\":1,\"span_ms\":70", members,
                  "main;Shop+0x4 70\n");
}

static void labels_are_the_outermost_frames(void **state) {
    (void)state;
    struct strbuf text = dump_text("\"seq\":1,\"span_ms\":70", IMAGES "," THREAD);
    struct dump d;
    struct stack_tree t = {0};
    struct fold f = {.tree = &t, .options = {.by_thread = true}};
    const char *labels[] = {"#1; 5.3", "lock", NULL};
    assert_int_equal(dump_parse(&d, strbuf_cstr(&text), text.len, NULL), ST_OK);
    struct fold_share share = share_of(&d);
    share.labels = labels;
    assert_int_equal(fold_add(&f, &d, &share, NULL), ST_OK);
    assert_written(&t, "\\x231\\x3b 5.3;lock;main;Shop+0x68;Shop+0x4 70\n");
    dump_release(&d);
    strbuf_release(&text);
    fold_release(&f);
    stack_tree_release(&t);
}

/* Checks links on the one stack, with labels below it and the stack of another thread above. */
static void links_stand_on_the_one_stack(void **state) {
    (void)state;
    const char *members = IMAGES
        "," THREAD "," SAMPLES("{\"count\":1,\"frames\":[4101]},{\"count\":2,\"frames\":[4102]}");
    struct strbuf text = dump_text("\"seq\":1,\"span_ms\":70", members);
    struct dump d;
    const char *labels[] = {"5.3", NULL};
    assert_int_equal(dump_parse(&d, strbuf_cstr(&text), text.len, NULL), ST_OK);
    const struct fold_link links[] = {{"[held by db;1: mutex]", &d.threads[0].stack},
                                      {"[held by main: mutex, deadlock]", NULL}};
    static const struct {
        enum fold_weight weight;
        const char *count;
    } rows[] = {{FOLD_MS, "70"}, {FOLD_SAMPLES, "3"}, {FOLD_STALLS, "1"}, {FOLD_USERS, "1"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct stack_tree t = {0};
        struct fold f = {.tree = &t, .options.weight = rows[i].weight};
        struct fold_share share = {.ms = 70,
                                   .whole = i % 2 == 0,
                                   .labels = labels,
                                   .only = &d.samples[1],
                                   .links = links,
                                   .link_count = 2};
        struct strbuf want = {0};
        strbuf_addf(&want,
                    "5.3;Shop+0x6;[held by db\\x3b1: mutex];Shop+0x68;Shop+0x4;"
                    "[held by main: mutex, deadlock] %s\n",
                    rows[i].count);
        assert_int_equal(fold_add(&f, &d, &share, NULL), ST_OK);
        assert_int_equal(fold_finish(&f, NULL), ST_OK);
        assert_written(&t, strbuf_cstr(&want));
        strbuf_release(&want);
        fold_release(&f);
        stack_tree_release(&t);
    }
    dump_release(&d);
    strbuf_release(&text);
}

static void a_user_is_one_however_often_stalled(void **state) {
    (void)state;
    struct stack_tree t = {0};
    struct fold f = {.tree = &t, .options = {.weight = FOLD_USERS}};
    const char *two = IMAGES "," SAMPLES("{\"count\":1,\"frames\":[4100]},{\"count\":2,\"frames\":["
                                         "4101]}");
    struct strbuf members = {0};
    strbuf_addf(&members, "\"user\":\"u;1\",%s", two);
    fold_text(&f, "\"id\":\"s1\",\"seq\":1,\"span_ms\":300", strbuf_cstr(&members));
    fold_text(&f, "\"id\":\"s2\",\"seq\":1,\"span_ms\":600", strbuf_cstr(&members));
    fold_text(&f, "\"id\":\"s3\",\"seq\":1,\"span_ms\":9",
              IMAGES "," THREAD); /* this dump has no user */
    fold_text(&f, "\"id\":\"s3\",\"seq\":2,\"span_ms\":9", IMAGES "," THREAD);
    fold_text(&f, "\"id\":\"s4\",\"seq\":1",
              IMAGES "," THREAD); /* this dump has neither a user nor a duration */
    assert_int_equal(fold_finish(&f, NULL), ST_OK);
    assert_written(&t, "Shop+0x4 0.333333\nShop+0x5 0.666667\nShop+0x68;Shop+0x4 2\n");
    assert_int_equal(f.stats.users, 3);
    struct strbuf words = {0};
    fold_describe(&f.stats, &words);
    assert_non_null(strstr(words.data, ", 3 users"));
    strbuf_release(&words);
    strbuf_release(&members);
    fold_release(&f);
    stack_tree_release(&t);
}

static void in_time_the_ring_gives_the_order(void **state) {
    (void)state;
    struct stack_tree t = {.ordered = true};
    struct fold f = {.tree = &t};
    const char *members =
        IMAGES ",\"samples\":{\"interval_ms\":50,\"stacks\":[{\"count\":2,\"frames\":[4100]},"
               "{\"count\":1,\"frames\":[4101]}],\"ring\":[0,-1,1,0]}";
    fold_text(&f, "\"seq\":1,\"span_ms\":100", members);
    assert_written(&t, "Shop+0x4 34\nShop+0x5 33\nShop+0x4 33\n");
    fold_text(&f, "\"seq\":1,\"span_ms\":30",
              members); /* the second dump begins with the stack with which the first one ends */
    assert_written(
        &t, "Shop+0x4 34\nShop+0x5 33\nShop+0x4 33\nShop+0x4 10\nShop+0x5 10\nShop+0x4 10\n");
    fold_release(&f);
    stack_tree_release(&t);
}

static void lines_are_named_where_they_are_known(void **state) {
    (void)state;
    const char *members =
        IMAGES ",\"threads\":[{\"id\":1,\"main\":true,\"frames\":[4100,4200],\"locations\":[0,1]}],"
               "\"strings\":[\"parse\",\"/src/net.c\",\"get\",\"main\"],"
               "\"locations\":[{\"image\":0,\"offset\":4,\"start\":4,\"lines\":[[2,-1,1,7,0],[0,-1,"
               "1,12,3]],"
               "\"source\":\"dwarf\"},{\"image\":0,\"offset\":104,\"start\":100,"
               "\"lines\":[[3,-1,-1,0,0]],\"source\":\"symtab\"}]";
    const char *stall = "\"seq\":1,\"span_ms\":5";
    assert_folded((struct fold_options){.lines = true}, stall, members,
                  "main;parse (net.c:12);get (net.c:7)_[i] 5\n");
    assert_folded((struct fold_options){.lines = true, .modules = true, .no_inlines = true}, stall,
                  members, "Shop`main;Shop`parse (net.c:12) 5\n");
}

int main(void) {
    dump_library_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_run_from_the_outermost),
        cmocka_unit_test(tags_do_not_change_a_frame),
        cmocka_unit_test(the_span_is_split_exactly),
        cmocka_unit_test(samples_and_stalls_are_other_weights),
        cmocka_unit_test(without_samples_the_main_thread_stands_for_all),
        cmocka_unit_test(threads_that_worked_are_what_is_drawn),
        cmocka_unit_test(actions_and_absent_workers_have_names),
        cmocka_unit_test(time_without_a_stack_is_kept),
        cmocka_unit_test(inlined_functions_are_marked_frames),
        cmocka_unit_test(the_devices_names_serve_raw_dumps),
        cmocka_unit_test(a_stall_of_several_dumps_counts_at_the_first),
        cmocka_unit_test(what_was_folded_is_described),
        cmocka_unit_test(sums_past_64_bits_are_refused),
        cmocka_unit_test(no_memory_is_an_error),
        cmocka_unit_test(other_threads_count_as_much),
        cmocka_unit_test(a_main_thread_without_a_name_is_main),
        cmocka_unit_test(labels_are_the_outermost_frames),
        cmocka_unit_test(links_stand_on_the_one_stack),
        cmocka_unit_test(a_user_is_one_however_often_stalled),
        cmocka_unit_test(in_time_the_ring_gives_the_order),
        cmocka_unit_test(lines_are_named_where_they_are_known),
    };
    return cmocka_run_group_tests_name("fold", tests, NULL, NULL);
}
