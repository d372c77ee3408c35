/* Tests that a level-1 bucket shares the tally of its only child as long as both are equal, and has
 * its own tally from then on. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "classify/keys/fixture_dump_test.h"
#include "classify/stats/keyer_bench_test.h"
#include "classify/stats/triage_private.h"

enum { DUMPS = 300, PARTS = 4, NAME = 32 };

static struct triage *new_triage(void) {
    struct triage *t = NULL;
    assert_int_equal(triage_new(&t, &(struct triage_options){.rules = "t"}, NULL), ST_OK);
    return t;
}

/* Adds dump n, one of two of its stall, with one of 144 keys of level 1 and one of 3 callers. */
static void add_dump(const struct keyer_bench *b, struct triage *t, uint64_t n) {
    uint64_t r = hash_u64(n + 1);
    char names[3][NAME], id[NAME], stall[NAME], version[NAME];
    struct fixture f = {0};
    struct stall_key key;
    snprintf(id, sizeof id, "dump%u", (unsigned)n);
    snprintf(stall, sizeof stall, "stall%u", (unsigned)n / 2);
    snprintf(version, sizeof version, "%u", (unsigned)(r >> 40) % 6);
    f.d = (struct dump){.id = id, .user = stall, .text = id, .text_len = strlen(id)};
    f.d.app.version = version;
    f.d.stall.id = stall;
    f.d.stall.kind = "hang";
    f.d.stall.seq = (int64_t)(n % 2) + 1;
    f.d.stall.at_ms = (int64_t)(n % 2) * 1000;
    f.d.stall.span_ms = 1000;
    f.d.stall.threshold_ms = -1;
    f.d.stall.ended = n % 2 == 1;
    f.d.stall.duration_ms = f.d.stall.ended ? 2000 : -1;
    for (unsigned i = 0; i < 3; i++) {
        snprintf(names[i], NAME, "f%u_%u", i, (unsigned)(r >> 8 * i) % (i < 2 ? 12 : 3));
        fixture_frame(&f, "Shop", true, names[i], 0x10 * (i + 1));
    }
    fixture_stack(&f, 2);
    assert_int_equal(keyer_key(b->keyer, &f.d, &key, NULL), ST_OK);
    assert_int_equal(triage_add(t, &f.d, &key, true, NULL, NULL), ST_OK);
}

/* Checks that level 1 has the sums of its children, and counts the buckets with a shared tally and
 * those with their own. */
static void assert_sums(const struct triage *t, size_t *shared, size_t *own) {
    *shared = *own = 0;
    for (size_t i = 0; i < t->level[0].buckets.len; i++) {
        const struct bucket *b = t->level[0].buckets.data[i];
        struct tally sum = {0};
        for (size_t k = 0; k < b->children.len; k++) {
            const struct bucket *child = t->level[1].buckets.data[b->children.data[k]];
            assert_true(tally_merge(&sum, child->tally, NULL));
            assert_true(b->children.len == 1 || child->tally != b->tally);
        }
        /* A stall of several dumps is counted once, in the child that has most of its time. */
        assert_int_equal(b->tally->dumps, sum.dumps);
        assert_int_equal(b->tally->ms, sum.ms);
        assert_int_equal(b->tally->stalls, sum.stalls);
        *shared += b->tally->sharers == 1;
        *own += b->tally->sharers == 0;
        tally_release(&sum);
    }
}

static void level_1_counts_what_its_children_count(void **state) {
    struct triage *t = new_triage();
    size_t shared, own, most = 0;
    for (uint64_t n = 0; n < DUMPS; n++) {
        add_dump(*state, t, n);
        assert_sums(t, &shared, &own);
        most = shared > most ? shared : most;
    }
    assert_true(most > shared); /* some buckets that shared a tally got a second child */
    assert_true(shared > 0 && own > 0);
    triage_free(t);
}

static void write(const struct triage *t, struct strbuf *out) {
    struct sink s = sink_to_strbuf(out);
    strbuf_clear(out);
    assert_int_equal(triage_write_partial(t, &s, NULL), ST_OK);
    assert_int_equal(sink_close(&s, NULL), ST_OK);
}

/* Reads a partial, whose texts and buckets have other indexes than those of the triage into which
 * it is merged. */
static struct triage *read_back(const struct strbuf *text) {
    struct partial_reader *r = NULL;
    struct triage *t = NULL;
    const char *at = text->data, *end = text->data + text->len;
    assert_int_equal(partial_reader_new(&r, NULL), ST_OK);
    while (at < end) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        assert_non_null(line_end);
        assert_int_not_equal(partial_reader_line(r, at, (size_t)(line_end - at), &t, NULL), ST_ERR);
        at = line_end + 1;
    }
    partial_reader_free(r);
    assert_non_null(t);
    return t;
}

static void parts_that_share_add_up_to_the_whole(void **state) {
    struct triage *whole = new_triage(), *sum = new_triage();
    struct strbuf text = {0}, expected = {0};
    size_t shared, own, whole_shared;
    for (uint64_t n = 0; n < DUMPS; n++) {
        add_dump(*state, whole, n);
    }
    for (uint64_t part = 0; part < PARTS; part++) {
        struct triage *t = new_triage();
        for (uint64_t n = 0; n < DUMPS; n++) {
            if (n / 2 % PARTS == part) {
                add_dump(*state, t, n);
            }
        }
        write(t, &text);
        triage_free(t);
        t = read_back(&text);
        assert_sums(t, &shared, &own);
        assert_true(shared > own);
        assert_int_equal(triage_merge(sum, t, NULL), ST_OK);
        triage_free(t);
    }
    assert_sums(whole, &whole_shared, &own);
    assert_sums(sum, &shared, &own);
    /* Tallies that were counted separately, but are equal, are shared again. */
    assert_true(shared >= whole_shared);
    write(whole, &expected);
    write(sum, &text);
    assert_string_equal(strbuf_cstr(&text), strbuf_cstr(&expected));
    strbuf_release(&text);
    strbuf_release(&expected);
    triage_free(whole);
    triage_free(sum);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(level_1_counts_what_its_children_count),
        cmocka_unit_test(parts_that_share_add_up_to_the_whole),
    };
    return cmocka_run_group_tests_name("shared_tally", tests, keyer_bench_setup,
                                       keyer_bench_teardown);
}
