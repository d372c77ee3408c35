#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "classify/stats/triage_private.h"

/* Texts that are part of each other, or that differ only in the place at which a piece of their
 * text ends. */
static const char *const words[] = {"", "a", "ab", "a\tb", "a\nb", "b", "\xc3\xa9", "\x01"};
enum {
    WORDS = sizeof words / sizeof *words,
    FRAMES = 2,
    KEYS = 1 + WORDS * WORDS * (1 + WORDS * WORDS)
};

/* Fills in the frames of key number n: none, one, or two. */
static size_t frames_of(size_t n, struct bucket_frame frames[FRAMES]) {
    size_t count = 0;
    for (; n > 0 && count < FRAMES; count++) {
        n--;
        frames[count] =
            (struct bucket_frame){.image = words[n % WORDS], .function = words[n / WORDS % WORDS]};
        n /= (size_t)WORDS * WORDS;
    }
    return count;
}

static void text_of(size_t n, struct strbuf *out) {
    struct bucket_frame frames[FRAMES];
    size_t count = frames_of(n, frames);
    strbuf_clear(out);
    for (size_t i = 0; i < count; i++) {
        key_text_add(out, frames[i].image, frames[i].function);
    }
    assert_non_null(strbuf_cstr(out));
}

static struct bucket *put(struct triage *t, struct bucket_set *set, size_t n, bool *added) {
    struct bucket_frame frames[FRAMES];
    struct strbuf text = {0};
    text_of(n, &text);
    struct bucket *b = bucket_put(set, strbuf_cstr(&text), text.len, added);
    size_t count = frames_of(n, frames);
    if (b && *added) {
        b->frames = calloc(count + 1, sizeof(const struct bucket_frame *));
        b->frame_count = b->frames ? count : 0;
    }
    for (size_t i = 0; b && *added && i < b->frame_count; i++) {
        frames[i].image = triage_intern(t, frames[i].image);
        frames[i].function = triage_intern(t, frames[i].function);
        b->frames[i] = triage_frame(t, &frames[i]);
        assert_non_null(b->frames[i]);
    }
    strbuf_release(&text);
    return b;
}

static int sign(int order) {
    return (order > 0) - (order < 0);
}

static void a_bucket_has_the_order_and_the_id_of_its_text(void **state) {
    (void)state;
    struct triage *t = NULL;
    struct strbuf x = {0}, y = {0};
    assert_int_equal(triage_new(&t, &(struct triage_options){0}, NULL), ST_OK);
    for (size_t i = 0; i < 40000; i++) {
        size_t first = hash_u64(2 * i) % KEYS, second = hash_u64(2 * i + 1) % KEYS;
        char id[KEY_ID_SIZE];
        bool added;
        const struct bucket *a = put(t, &t->level[0], first, &added);
        const struct bucket *b = put(t, &t->level[1], second, &added);
        text_of(first, &x);
        text_of(second, &y);
        assert_int_equal(sign(bucket_compare(a, b)),
                         sign(strcmp(strbuf_cstr(&x), strbuf_cstr(&y))));
        key_id('1', strbuf_cstr(&x), x.len, id);
        assert_string_equal(a->id, id);
    }
    triage_free(t);
    strbuf_release(&x);
    strbuf_release(&y);
}

static void each_key_has_one_bucket(void **state) {
    (void)state;
    struct triage *t = NULL, *from = NULL;
    struct strbuf x = {0};
    bool added;
    assert_int_equal(triage_new(&t, &(struct triage_options){0}, NULL), ST_OK);
    assert_int_equal(triage_new(&from, &(struct triage_options){0}, NULL), ST_OK);
    for (size_t n = 0; n < KEYS; n += 2) {
        put(t, &t->actions, n, &added); /* some texts can be made in two ways, such as a\tb */
    }
    for (size_t n = 0; n < KEYS; n++) {
        struct bucket *b = put(from, &from->actions, n, &added);
        if (!added) {
            continue;
        }
        struct bucket *known = bucket_find(&t->actions, b);
        text_of(n, &x);
        size_t count = t->actions.buckets.len;
        struct bucket *same = bucket_put(&t->actions, strbuf_cstr(&x), x.len, &added);
        assert_true(added == !known);
        assert_int_equal(t->actions.buckets.len, count + added);
        if (known) {
            assert_ptr_equal(same, known);
            assert_int_equal(bucket_compare(known, b), 0);
        } else {
            same->frames = calloc(b->frame_count + 1, sizeof(const struct bucket_frame *));
            assert_non_null(same->frames);
            memcpy(same->frames, b->frames, b->frame_count * sizeof(const struct bucket_frame *));
            same->frame_count = b->frame_count;
        }
        assert_ptr_equal(bucket_find(&t->actions, b), same);
    }
    triage_free(t);
    triage_free(from);
    strbuf_release(&x);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bucket_has_the_order_and_the_id_of_its_text),
        cmocka_unit_test(each_key_has_one_bucket),
    };
    return cmocka_run_group_tests_name("bucket", tests, NULL, NULL);
}
