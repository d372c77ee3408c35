#include "flame/formats/pprof.h"

#include "base/gz.h"
#include "flame/flame_support_test.h"
#include "flame/formats/pprof_private.h"
#include "flame/formats/protobuf.h"

static struct strbuf write_profile(const struct stack_tree *t, const struct stack_tree *samples,
                                   const struct pprof_options *o) {
    struct strbuf packed = {0}, plain = {0};
    struct sink sink = sink_to_strbuf(&packed);
    assert_int_equal(pprof_write(t, samples, o, &sink, NULL), ST_OK);
    assert_int_equal(sink_close(&sink, NULL), ST_OK);
    assert_int_equal(gz_inflate("profile", packed.data, packed.len, 0, &plain, NULL), ST_OK);
    strbuf_release(&packed);
    assert_true(pprof_recognise(plain.data, plain.len));
    return plain;
}

static struct pprof_stats read_profile(struct stack_tree *t, const struct strbuf *b, bool counts) {
    struct pprof_stats stats;
    struct err e = {0};
    assert_int_equal(pprof_read(t, "profile", b->data, b->len, counts, &stats, &e), ST_OK);
    return stats;
}

/* Writes folded text as a profile, reads that, and compares. */
static void assert_round_trip(const char *text, const char *unit) {
    struct stack_tree t = {0}, again = {0};
    read_string(&t, text);
    struct strbuf b = write_profile(&t, NULL, &(struct pprof_options){.unit = unit});
    struct pprof_stats stats = read_profile(&again, &b, false);
    assert_string_equal(stats.unit, unit ? unit : "samples");
    assert_written(&again, text);
    strbuf_release(&b);
    stack_tree_release(&t);
    stack_tree_release(&again);
}

static void stacks_come_back(void **state) {
    (void)state;
    assert_round_trip("main;a;b 3\nmain;a;c 4\n", NULL);
    assert_round_trip("libc.so`read;Shop`parse (json.c:120);Shop`scan_[i];x 3\n", "ms");
    assert_round_trip("Shop+0x1f40;0x7f12;[unknown] 1\n", "samples");
    assert_round_trip("a_[i];b_[i];c;d_[k];e_[j] 7\n",
                      "ms"); /* the outermost frame is marked as inlined, but has no caller */
    assert_round_trip("main;operator\\x3b;\xc3\xa9 1\n", "ms");
    assert_round_trip("a 0.25\nb 3\n", "ms");
    assert_round_trip("a;a;a;a 12\na;a;a;b_[i];c_[i] 1\n", "stalls");
    assert_round_trip("a;b 2\n", "users");
}

static void counts_are_rounded_to_their_sum(void **state) {
    (void)state;
    struct stack_tree t = {0}, again = {0};
    read_string(&t, "a 0.5\nb 0.5\nc 0.5\nd 0.5\n");
    struct strbuf b = write_profile(&t, NULL, &(struct pprof_options){.unit = "users"});
    read_profile(&again, &b, false);
    assert_int_equal(stack_tree_total(&again), 2);
    strbuf_release(&b);
    stack_tree_release(&t);
    stack_tree_release(&again);
}

static void samples_are_a_second_value(void **state) {
    (void)state;
    struct stack_tree ms = {0}, samples = {0}, again = {0};
    read_string(&ms, "a;b 120\na;c 30\n");
    read_string(&samples, "a;b 4\na;c 1\na;d 2\n");
    struct strbuf b = write_profile(&ms, &samples, &(struct pprof_options){.unit = "ms"});
    struct pprof_stats stats = read_profile(&again, &b, false);
    assert_string_equal(stats.unit, "ms");
    assert_written(&again, "a;b 120\na;c 30\n");
    stack_tree_release(&again);
    stats = read_profile(&again, &b, true);
    assert_string_equal(stats.unit, "samples");
    assert_written(&again, "a;b 4\na;c 1\na;d 2\n");
    strbuf_release(&b);
    stack_tree_release(&ms);
    stack_tree_release(&samples);
    stack_tree_release(&again);
}

static const char *id_of(void *ctx, const char *module, size_t len) {
    assert_ptr_equal(ctx, NULL);
    return len == 4 && memcmp(module, "Shop", 4) == 0 ? "0123abcd" : "";
}

static void mappings_have_build_ids(void **state) {
    (void)state;
    struct stack_tree t = {0};
    read_string(&t, "Shop`main;libc.so`read 3\nShop+0x10 1\n");
    struct strbuf b = write_profile(&t, NULL, &(struct pprof_options){.build_id = id_of});
    struct reader m = reader_init("profile", b.data, b.len);
    struct protobuf_field f;
    unsigned mappings = 0, with_id = 0, ids = 0;
    while (protobuf_next(&m, &f)) {
        if (f.number == PROFILE_MAPPING) {
            struct protobuf_field g;
            mappings++;
            while (protobuf_next(&f.bytes, &g)) {
                with_id += g.number == MAPPING_BUILD_ID;
            }
        }
        ids += f.number == PROFILE_STRING && reader_left(&f.bytes) == 8 &&
               memcmp(f.bytes.start, "0123abcd", 8) == 0;
    }
    assert_false(reader_failed(&m));
    assert_int_equal(mappings, 2);
    assert_int_equal(with_id, 1);
    assert_int_equal(ids, 1);
    strbuf_release(&b);
    stack_tree_release(&t);
}

static void equal_trees_give_equal_bytes(void **state) {
    (void)state;
    for (uint32_t seed = 1; seed < 20; seed++) {
        struct strbuf text = random_folded(seed, 80, 30);
        struct stack_tree t = {0}, again = {0};
        read_text(&t, text.data, text.len);
        char *folded = write_text(&t);
        read_string(&again, folded);
        struct strbuf a = write_profile(&t, NULL, &(struct pprof_options){0});
        struct strbuf b = write_profile(&again, NULL, &(struct pprof_options){0});
        assert_int_equal(a.len, b.len);
        assert_memory_equal(a.data, b.data, a.len);
        strbuf_release(&a);
        strbuf_release(&b);
        strbuf_release(&text);
        free(folded);
        stack_tree_release(&t);
        stack_tree_release(&again);
    }
}

/* ---- profiles of other programs ---- */

static void put_text(struct strbuf *b, unsigned field, const char *text) {
    protobuf_put_bytes(b, field, text, strlen(text));
}

static void put_message(struct strbuf *b, unsigned field, struct strbuf *m) {
    protobuf_put_bytes(b, field, strbuf_cstr(m), m->len);
    strbuf_release(m);
}

/* Builds a profile of one sample of `value` at one location, whose lines are `lines` functions,
 * with its tables in the order of Go's runtime. */
static struct strbuf small_profile(const char *unit, unsigned lines, uint64_t value,
                                   uint64_t location) {
    struct strbuf b = {0}, m = {0}, line = {0};
    protobuf_put_u64(&m, VALUE_TYPE, 1);
    protobuf_put_u64(&m, VALUE_UNIT, 2);
    put_message(&b, PROFILE_SAMPLE_TYPE, &m);
    protobuf_put_u64(&m, SAMPLE_LOCATION, location); /* the numbers are not packed */
    protobuf_put_u64(&m, SAMPLE_VALUE, value);
    put_message(&b, PROFILE_SAMPLE, &m);
    protobuf_put_u64(&m, MAPPING_ID, 7);
    protobuf_put_u64(&m, MAPPING_FILE, 4);
    put_message(&b, PROFILE_MAPPING, &m);
    protobuf_put_u64(&m, LOCATION_ID, 900);
    for (unsigned i = 0; i < lines; i++) {
        protobuf_put_u64(&line, LINE_FUNCTION, 5);
        put_message(&m, LOCATION_LINE, &line);
    }
    protobuf_put_u64(&m, LOCATION_ADDRESS, 0x1234);
    protobuf_put_u64(&m, LOCATION_MAPPING, 7);
    put_message(&b, PROFILE_LOCATION, &m);
    protobuf_put_u64(&m, FUNCTION_ID, 5);
    protobuf_put_u64(&m, FUNCTION_NAME, 3);
    put_message(&b, PROFILE_FUNCTION, &m);
    put_text(&b, PROFILE_STRING, "");
    put_text(&b, PROFILE_STRING, "cpu");
    put_text(&b, PROFILE_STRING, unit);
    put_text(&b, PROFILE_STRING, "main.work");
    put_text(&b, PROFILE_STRING, "/usr/bin/shop");
    return b;
}

static void assert_profile(struct strbuf b, const char *want, const char *unit) {
    struct stack_tree t = {0};
    struct pprof_stats stats = read_profile(&t, &b, false);
    assert_written(&t, want);
    assert_string_equal(stats.unit, unit);
    stack_tree_release(&t);
    strbuf_release(&b);
}

static void other_writers_are_read(void **state) {
    (void)state;
    assert_profile(small_profile("nanoseconds", 1, 2500000, 900), "shop`main.work 2.5\n", "ms");
    assert_profile(small_profile("microseconds", 1, 2500, 900), "shop`main.work 2.5\n", "ms");
    assert_profile(small_profile("seconds", 1, 2, 900), "shop`main.work 2000\n", "ms");
    assert_profile(small_profile("bytes", 2, 64, 900), "shop`main.work;shop`main.work_[i] 64\n",
                   "bytes");
    assert_profile(small_profile("count", 0, 3, 900), "shop+0x1234 3\n", "cpu");
}

static void negative_values_are_counted(void **state) {
    (void)state;
    struct stack_tree t = {0};
    struct strbuf b = small_profile("count", 1, (uint64_t)-3, 900);
    assert_int_equal(read_profile(&t, &b, false).negative, 1);
    assert_int_equal(stack_tree_total(&t), 0);
    strbuf_release(&b);
    stack_tree_release(&t);
}

static void assert_refused(struct strbuf b, enum err_code code) {
    struct stack_tree t = {0};
    struct pprof_stats stats;
    struct err e = {0};
    assert_int_equal(pprof_read(&t, "profile", b.data, b.len, false, &stats, &e), ST_ERR);
    assert_int_equal(e.code, code);
    assert_non_null(strstr(e.text, "profile"));
    stack_tree_release(&t);
    strbuf_release(&b);
}

static void damage_is_refused(void **state) {
    (void)state;
    assert_refused(small_profile("count", 1, 3, 901), ERR_FORMAT); /* no location has this id */
    struct strbuf b = small_profile("count", 1, 3, 900);
    strbuf_truncate(&b, b.len - 4);
    assert_refused(b, ERR_TRUNCATED);
    b = (struct strbuf){0};
    put_text(&b, PROFILE_STRING, ""); /* the profile has no sample type */
    assert_refused(b, ERR_FORMAT);
    b = small_profile("count", 1, 3, 900);
    strbuf_addc(&b, 0x0b); /* the start of a group, which proto3 does not have */
    assert_refused(b, ERR_TRUNCATED);
}

/* Reads a profile in which a few bytes stand for much text. */
static void text_has_a_budget(void **state) {
    (void)state;
    struct strbuf b = small_profile("count", 3000, 1, 900);
    struct strbuf name = {0}, function = {0};
    for (int i = 0; i < 500000; i++) {
        strbuf_addc(&name, 'n');
    }
    protobuf_put_bytes(&b, PROFILE_STRING, name.data, name.len); /* this is string 5 */
    protobuf_put_u64(&function, FUNCTION_ID, 6);
    protobuf_put_u64(&function, FUNCTION_NAME, 5);
    put_message(&b, PROFILE_FUNCTION, &function);
    for (size_t i = 0; i < b.len - 1; i++) { /* makes function 6 the function of all lines */
        if (b.data[i] == (LINE_FUNCTION << 3) && b.data[i + 1] == 5 && b.data[i - 1] == 2) {
            b.data[i + 1] = 6;
        }
    }
    struct stack_tree t = {0};
    struct pprof_stats stats;
    struct err e = {0};
    assert_int_equal(pprof_read(&t, "profile", b.data, b.len, false, &stats, &e), ST_ERR);
    assert_int_equal(e.code, ERR_LIMIT);
    stack_tree_release(&t);
    strbuf_release(&b);
    strbuf_release(&name);
}

static void only_profiles_are_recognised(void **state) {
    (void)state;
    const char *const no[] = {"",           "\n",     "Hello 3\n", "a;b 1\n", "{\"format\":1}",
                              "\n\n\n\n\n", "H\n\nab"};
    for (size_t i = 0; i < sizeof no / sizeof *no; i++) {
        assert_false(pprof_recognise(no[i], strlen(no[i])));
    }
    static const char go[] = "\x48\xac\xb5\x81\xfb\x90\xba\x90\xf5\x18\n\x04\x08\x01\x10\x02";
    assert_true(pprof_recognise(go, sizeof go - 1)); /* Go's runtime writes the time first */
    assert_false(pprof_recognise(go, 11));
    assert_true(pprof_recognise("Z\x04\x08\x01\x10\x02",
                                6)); /* a profile may also begin with the period's type */
}

/* ---- memory ---- */

static void there_and_back(void *ctx, bool refused) {
    struct stack_tree *t = ctx, again = {0};
    struct strbuf packed = {0}, plain = {0};
    struct sink sink = sink_to_strbuf(&packed);
    struct pprof_stats stats;
    struct err e = {0};
    enum st st = pprof_write(t, t, &(struct pprof_options){.unit = "ms"}, &sink, &e);
    if (sink_close(&sink, &e) == ST_OK && st == ST_OK) {
        st = gz_inflate("profile", packed.data, packed.len, 0, &plain, &e);
    }
    if (st == ST_OK && !err_is(&e)) {
        st = pprof_read(&again, "profile", plain.data, plain.len, false, &stats, &e);
    }
    assert_true(refused ? !err_is(&e) || e.code == ERR_NOMEM : st == ST_OK);
    strbuf_release(&packed);
    strbuf_release(&plain);
    stack_tree_release(&again);
}

static void no_memory_is_an_error(void **state) {
    (void)state;
    if (!failmalloc_works()) {
        skip();
    }
    struct stack_tree t = {0};
    read_string(&t, "m`main;a (f.c:3);b_[i] 3\nm`main;c 4\n");
    assert_true(failmalloc_sweep(there_and_back, &t) > 20);
    stack_tree_release(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stacks_come_back),
        cmocka_unit_test(counts_are_rounded_to_their_sum),
        cmocka_unit_test(samples_are_a_second_value),
        cmocka_unit_test(mappings_have_build_ids),
        cmocka_unit_test(equal_trees_give_equal_bytes),
        cmocka_unit_test(other_writers_are_read),
        cmocka_unit_test(negative_values_are_counted),
        cmocka_unit_test(damage_is_refused),
        cmocka_unit_test(text_has_a_budget),
        cmocka_unit_test(only_profiles_are_recognised),
        cmocka_unit_test(no_memory_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
