/* Tests of the functions that answer questions about a parsed dump. */
#include "dump/dump_support_test.h"

static void an_address_finds_its_image(void **state) {
    (void)state;
    struct strbuf text = {0};
    struct dump d = parse_json(
        &text, "{" FORMAT ",'images':[{'load':5000,'size':100},{'load':1000,'size':100},"
               "{'load':7000},{'load':9000,'size':10},{'load':18446744073709551600,'size':100},"
               "{'load':20000,'size':1000},{'load':20100,'size':10}]}");
    static const struct {
        uint64_t address;
        int32_t image;
    } want[] = {{0, -1},         {999, -1},           {1000, 1},  {1099, 1},  {1100, -1},
                {5000, 0},       {5100, -1},          {6999, -1}, {7000, 2},  {8999, 2},
                {9000, 3},       {9010, -1},          {20050, 5}, {20105, 6}, {20500, 5},
                {UINT64_MAX, 4}, {UINT64_MAX - 15, 4}};
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        assert_int_equal(dump_image_at(&d, want[i].address), want[i].image);
    }
    dump_release(&d);
    strbuf_release(&text);
}

static void threads_are_found_by_their_id(void **state) {
    (void)state;
    struct strbuf text = {0};
    struct dump d = parse_json(&text, "{'format':'stall-dump/1','threads':[{'id':30,'frames':[]},"
                                      "{'id':10,'name':'a'},{'id':20},{'id':10,'name':'b'},{}]}");
    assert_ptr_equal(dump_thread_by_id(&d, 30), &d.threads[0]);
    assert_ptr_equal(dump_thread_by_id(&d, 10),
                     &d.threads[1]); /* the first of two threads with this id */
    assert_ptr_equal(dump_thread_by_id(&d, 20), &d.threads[2]);
    assert_ptr_equal(dump_thread_by_id(&d, -1), &d.threads[4]); /* the thread without an id */
    assert_null(dump_thread_by_id(&d, 15));
    assert_null(dump_thread_by_id(&d, 31));
    dump_release(&d);
    strbuf_release(&text);
    assert_null(dump_thread_by_id(&d, 30));
}

static void the_heaviest_stack_is_the_devices_choice_or_the_most_frequent(void **state) {
    (void)state;
    struct strbuf text = {0};
    struct dump d = parse_json(
        &text, "{" FORMAT ",'threads':[{'id':259,'main':true,'frames':[4100]}],"
               "'samples':{'stacks':[{'count':3,'frames':[4100]},{'count':5,'frames':[4200]},"
               "{'count':5,'frames':[4300]}]},'heaviest':{'stack':0,'repeats':3}}");
    assert_ptr_equal(dump_heaviest(&d), &d.samples[0]);
    d.heaviest = -1;
    assert_ptr_equal(dump_heaviest(&d), &d.samples[2]); /* of equal counts the last one wins */
    d.sample_count = 0;
    assert_ptr_equal(dump_heaviest(&d), &d.threads[0].stack);
    d.threads[0].main = false;
    assert_null(dump_heaviest(&d));
    dump_release(&d);
    strbuf_release(&text);
}

/* Fills in the weights of the dump's votes, 0 after the last one. */
static void votes_of(const char *json, uint64_t weights[8]) {
    struct strbuf text = {0};
    struct dump d = parse_json(&text, json);
    struct dump_vote votes[8];
    assert_true(dump_vote_count(&d) <= 8);
    dump_votes(&d, votes);
    for (size_t i = 0; i < 8; i++) {
        weights[i] = i < dump_vote_count(&d) ? votes[i].weight : 0;
    }
    dump_release(&d);
    strbuf_release(&text);
}

static void samples_vote_with_their_counts(void **state) {
    (void)state;
    static const uint64_t want[8] = {3, 5};
    uint64_t weights[8];
    votes_of("{" FORMAT ",'stall':{'kind':'hang'},'threads':[{'id':1,'cpu_permille':900,"
             "'frames':[4100]}],'samples':{'stacks':[{'count':3,'frames':[4100]},"
             "{'count':5,'frames':[4200]}]}}",
             weights);
    assert_memory_equal(weights, want, sizeof want);
}

static void threads_that_worked_vote_with_their_shares(void **state) {
    (void)state;
    static const uint64_t want[8] = {42, 43, 15, 0, 700, 0};
    uint64_t weights[8];
    votes_of("{" FORMAT ",'stall':{'kind':'cpu','top_thread':{'id':2,'name':'b'}},'threads':["
             "{'id':1,'main':true,'cpu_permille':100,'frames':[4100]},"
             "{'id':2,'cpu_permille':700,'frames':[4200]},{'id':3,'frames':[4300]}],"
             "'samples':{'stacks':[{'count':3,'frames':[4100]},{'count':3,'frames':[4200]},"
             "{'frames':[4300]}]}}",
             weights);
    assert_memory_equal(weights, want, sizeof want);
}

static void without_shares_the_thread_that_used_most_votes(void **state) {
    (void)state;
    static const uint64_t want[8] = {0, 0, 1000};
    static const uint64_t none[8] = {2};
    uint64_t weights[8];
    votes_of("{" FORMAT ",'stall':{'kind':'cpu','top_thread':{'id':2,'name':'b'}},'threads':["
             "{'id':1,'main':true,'frames':[4100]},{'id':2,'frames':[4200]}],"
             "'samples':{'stacks':[{'count':2,'frames':[4100]}]}}",
             weights);
    assert_memory_equal(weights, want, sizeof want);
    votes_of("{" FORMAT ",'stall':{'kind':'cpu','top_thread':{'id':9,'name':'b'}},'threads':["
             "{'id':1,'main':true,'frames':[4100]},{'id':2,'frames':[4200]}],"
             "'samples':{'stacks':[{'count':2,'frames':[4100]}]}}",
             weights); /* the top thread has no stack in the dump, so only the samples vote */
    assert_memory_equal(weights, none, sizeof none);
}

static void beside_a_culprit_without_a_stack_nobody_votes(void **state) {
    (void)state;
    static const uint64_t samples[8] = {2};
    static const uint64_t top[8] = {0, 0, 1000, 0};
    uint64_t weights[8];
    votes_of("{" FORMAT ",'stall':{'kind':'cpu','top_thread':{'id':9,'name':'b'}},'threads':["
             "{'id':1,'main':true,'frames':[4100]},"
             "{'id':2,'cpu_permille':100,'frames':[4200]},{'id':9,'cpu_permille':900}],"
             "'samples':{'stacks':[{'count':2,'frames':[4100]}]}}",
             weights);
    assert_memory_equal(weights, samples, sizeof samples);
    /* The top thread has a stack and an unknown share. The other thread's known share cannot be
     * larger, so it does not vote. */
    votes_of("{" FORMAT ",'stall':{'kind':'cpu','top_thread':{'id':9,'name':'b'}},'threads':["
             "{'id':1,'main':true,'frames':[4100]},{'id':9,'frames':[4300]},"
             "{'id':2,'cpu_permille':100,'frames':[4200]}],"
             "'samples':{'stacks':[{'count':2,'frames':[4100]}]}}",
             weights);
    assert_memory_equal(weights, top, sizeof top);
}

/* Checks that a heartbeat's thread does not vote in a slow action, and that a thread which worked a
 * tenth of the time does. */
static void in_a_slow_action_a_thread_works_from_a_floor_on(void **state) {
    (void)state;
    static const uint64_t want[8] = {0, 0, 0, 100};
    static const uint64_t none[8] = {2};
    uint64_t weights[8];
    votes_of("{" FORMAT ",'stall':{'kind':'slow-action','action':'a'},'threads':["
             "{'id':1,'main':true,'frames':[4100]},{'id':2,'cpu_permille':99,'frames':[4200]},"
             "{'id':3,'cpu_permille':100,'frames':[4300]}],"
             "'samples':{'stacks':[{'count':2,'frames':[4100]}]}}",
             weights);
    assert_memory_equal(weights, want, sizeof want);
    votes_of("{" FORMAT ",'stall':{'kind':'slow-action','action':'a'},'threads':["
             "{'id':1,'main':true,'frames':[4100]},{'id':2,'cpu_permille':15,'frames':[4200]}],"
             "'samples':{'stacks':[{'count':2,'frames':[4100]}]}}",
             weights);
    assert_memory_equal(weights, none, sizeof none);
}

/* Checks slow actions whose main thread hardly ran and is no thread that worked. */
static void a_slow_action_may_have_nothing_that_worked(void **state) {
    (void)state;
    static const struct {
        const char *thread;
        bool nothing, about;
    } cases[] = {{"'cpu_permille':99", true, false},
                 {"'cpu_permille':100", false, true},
                 {"'cpu_ms':99", true, false},
                 {"'cpu_ms':100", false, false},
                 {"'state':'waiting'", false, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct strbuf text = {0}, json = {0};
        strbuf_addf(&json,
                    "{" FORMAT ",'stall':{'kind':'slow-action','action':'a','span_ms':1000},"
                    "'threads':[{'id':1,'main':true,%s,'frames':[4100]}]}",
                    cases[i].thread);
        struct dump d = parse_json(&text, strbuf_cstr(&json));
        assert_int_equal(dump_nothing_worked(&d), cases[i].nothing);
        assert_int_equal(dump_is_about_threads(&d), cases[i].about);
        assert_string_equal(dump_slow_action(&d), "a");
        assert_null(dump_absent_worker(&d));
        dump_release(&d);
        strbuf_release(&text);
        strbuf_release(&json);
    }
}

static void exact_frames_are_those_listed(void **state) {
    (void)state;
    static const uint32_t listed[] = {1, 4, 5, 9};
    struct dump_stack s = {.frame_count = 12, .exact = listed, .exact_count = 4};
    for (size_t i = 0; i < s.frame_count; i++) {
        assert_int_equal(dump_frame_exact(&s, i), i == 1 || i == 4 || i == 5 || i == 9);
    }
    s.exact_count = 0;
    assert_false(dump_frame_exact(&s, 0));
    s.exact = NULL;
    assert_true(dump_frame_exact(&s, 0));
    assert_false(dump_frame_exact(&s, 1));
}

static void the_span_falls_back(void **state) {
    (void)state;
    struct dump d = {.stall = {.span_ms = 0, .duration_ms = 2, .at_ms = 3}};
    assert_int_equal(dump_span_ms(&d), 0);
    d.stall.span_ms = -1;
    assert_int_equal(dump_span_ms(&d), 2);
    d.stall.duration_ms = -1;
    assert_int_equal(dump_span_ms(&d), 3);
    d.stall.at_ms = -1;
    assert_int_equal(dump_span_ms(&d), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_finds_its_image),
        cmocka_unit_test(threads_are_found_by_their_id),
        cmocka_unit_test(the_heaviest_stack_is_the_devices_choice_or_the_most_frequent),
        cmocka_unit_test(samples_vote_with_their_counts),
        cmocka_unit_test(threads_that_worked_vote_with_their_shares),
        cmocka_unit_test(without_shares_the_thread_that_used_most_votes),
        cmocka_unit_test(beside_a_culprit_without_a_stack_nobody_votes),
        cmocka_unit_test(in_a_slow_action_a_thread_works_from_a_floor_on),
        cmocka_unit_test(a_slow_action_may_have_nothing_that_worked),
        cmocka_unit_test(exact_frames_are_those_listed),
        cmocka_unit_test(the_span_falls_back),
    };
    dump_library_init();
    return cmocka_run_group_tests_name("dump_questions", tests, NULL, NULL);
}
