/* Tests packing: what is packed is unpacked, against another text or none, and bytes of any origin
 * are refused without much memory. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "history/pack_text.h"

static int make_packer(void **state) {
    struct packer *p = NULL;
    assert_int_equal(packer_new(&p, NULL), ST_OK);
    *state = p;
    return 0;
}

static int free_packer(void **state) {
    packer_free(*state);
    return 0;
}

/* Fills a text that repeats nothing. */
static void fill(struct strbuf *text, size_t len, uint64_t seed) {
    strbuf_reset(text);
    while (text->len < len) {
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
        strbuf_addhex(text, seed);
    }
    strbuf_truncate(text, len);
    assert_false(text->failed);
}

static enum st unpack(struct packer *p, const struct strbuf *shared, const void *bytes, size_t len,
                      struct strbuf *out, struct err *e) {
    enum st st = packer_open(p, shared->data, shared->len, bytes, len, e);
    strbuf_reset(out);
    while (st == ST_OK) {
        st = packer_next(p, out, e);
    }
    return st;
}

static void what_is_packed_is_unpacked(void **state) {
    static const size_t sizes[] = {0, 1, PACKED_PIECE, PACKED_PIECE + 1, 5 * PACKED_PIECE};
    struct packer *p = *state;
    struct strbuf text = {0}, packed = {0}, again = {0}, shared = {0};
    for (size_t i = 0; i < 2 * sizeof sizes / sizeof *sizes; i++) {
        fill(&text, sizes[i / 2], i);
        strbuf_reset(&shared);
        strbuf_reset(&packed);
        if (i % 2) {
            fill(&shared, 1000, 7);
        }
        assert_int_equal(
            packer_pack(p, 513, shared.data, shared.len, text.data, text.len, &packed, NULL),
            ST_OK);
        assert_true(packed_is_one(packed.data, packed.len));
        assert_int_equal(packed_number(packed.data, packed.len), i % 2 ? 513 : 0);
        assert_int_equal(unpack(p, &shared, packed.data, packed.len, &again, NULL), ST_NONE);
        assert_int_equal(again.len, text.len);
        assert_string_equal(strbuf_cstr(&again), strbuf_cstr(&text));
    }
    strbuf_release(&text);
    strbuf_release(&packed);
    strbuf_release(&again);
    strbuf_release(&shared);
}

static void what_a_text_shares_with_another_is_left_out(void **state) {
    struct packer *p = *state;
    struct strbuf shared = {0}, text = {0}, packed = {0}, again = {0}, other = {0};
    fill(&shared, 1 << 20, 1);
    fill(&text, 1 << 20, 1);
    fill(&other, 1 << 20, 2);
    assert_int_equal(packer_pack(p, 1, shared.data, shared.len, text.data, text.len, &packed, NULL),
                     ST_OK);
    assert_true(packed.len < 1000);
    assert_int_equal(unpack(p, &shared, packed.data, packed.len, &again, NULL), ST_NONE);
    assert_string_equal(strbuf_cstr(&again), strbuf_cstr(&text));
    struct err e = {0};
    assert_int_equal(unpack(p, &other, packed.data, packed.len, &again, &e), ST_ERR);
    assert_int_equal(e.code, ERR_FORMAT);
    strbuf_release(&shared);
    strbuf_release(&text);
    strbuf_release(&packed);
    strbuf_release(&again);
    strbuf_release(&other);
}

static void damaged_and_cut_bytes_are_refused(void **state) {
    struct packer *p = *state;
    struct strbuf text = {0}, packed = {0}, again = {0}, none = {0};
    fill(&text, 300, 3);
    assert_int_equal(packer_pack(p, 0, NULL, 0, text.data, text.len, &packed, NULL), ST_OK);
    for (size_t i = 0; i < packed.len; i++) {
        struct err e = {0};
        assert_int_equal(unpack(p, &none, packed.data, i, &again, &e), ST_ERR);
        assert_true(e.code == ERR_TRUNCATED || e.code == ERR_FORMAT);
        packed.data[i] ^= 0x55;
        enum st st = unpack(p, &none, packed.data, packed.len, &again, &e);
        packed.data[i] ^= 0x55;
        assert_true(st == ST_ERR || strcmp(strbuf_cstr(&again), strbuf_cstr(&text)) == 0);
    }
    strbuf_addc(&packed, '\0');
    assert_int_equal(unpack(p, &none, packed.data, packed.len, &again, NULL), ST_ERR);
    strbuf_release(&text);
    strbuf_release(&packed);
    strbuf_release(&again);
}

static void a_text_out_of_proportion_is_refused(void **state) {
    enum { LARGE = 80 << 20 };
    struct packer *p = *state;
    struct strbuf packed = {0}, again = {0}, none = {0};
    char *zeros = calloc(LARGE, 1);
    assert_non_null(zeros);
    assert_int_equal(packer_pack(p, 0, NULL, 0, zeros, LARGE, &packed, NULL), ST_OK);
    free(zeros);
    struct err e = {0};
    assert_int_equal(unpack(p, &none, packed.data, packed.len, &again, &e), ST_ERR);
    assert_int_equal(e.code, ERR_LIMIT);
    strbuf_release(&packed);
    strbuf_release(&again);
}

static void a_short_packer_packs_against_its_text(void **state) {
    struct packer *any = *state, *p = NULL;
    struct strbuf text = {0}, packed = {0}, again = {0}, shared = {0}, none = {0};
    fill(&shared, 1000, 7);
    assert_int_equal(packer_new_short(&p, 513, shared.data, shared.len, NULL), ST_OK);
    for (size_t size = 0; size <= 3 * PACKED_PIECE; size = size * 3 + 400) {
        fill(&text, size, size);
        strbuf_add(&text, shared.data, shared.len);
        strbuf_reset(&packed);
        assert_int_equal(packer_pack(p, 0, NULL, 0, text.data, text.len, &packed, NULL), ST_OK);
        assert_int_equal(packed_number(packed.data, packed.len), 513);
        assert_true(packed.len < size + 200);
        assert_int_equal(unpack(p, &none, packed.data, packed.len, &again, NULL), ST_NONE);
        assert_int_equal(again.len, text.len);
        assert_memory_equal(again.data, text.data, text.len);
        assert_int_equal(unpack(any, &none, packed.data, packed.len, &again, NULL), ST_ERR);
    }
    packer_free(p);
    strbuf_release(&text);
    strbuf_release(&packed);
    strbuf_release(&again);
    strbuf_release(&shared);
}

static void a_dictionary_is_no_text_to_pack_against(void **state) {
    (void)state;
    static const char dictionary[] = "\x37\xa4\x30\xec and what is no dictionary of zstd";
    struct packer *p = NULL;
    struct err e = {0};
    assert_int_equal(packer_new_short(&p, 1, dictionary, sizeof dictionary, &e), ST_ERR);
    assert_int_equal(e.code, ERR_FORMAT);
    assert_null(p);
    assert_int_equal(packer_new_short(&p, 1, dictionary, 3, NULL), ST_OK);
    packer_free(p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_short_packer_packs_against_its_text),
        cmocka_unit_test(a_dictionary_is_no_text_to_pack_against),
        cmocka_unit_test(what_is_packed_is_unpacked),
        cmocka_unit_test(what_a_text_shares_with_another_is_left_out),
        cmocka_unit_test(damaged_and_cut_bytes_are_refused),
        cmocka_unit_test(a_text_out_of_proportion_is_refused),
    };
    return cmocka_run_group_tests(tests, make_packer, free_packer);
}
