#include "base/hash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

/* Compares with the SipHash paper's appendix A and the first entries of the reference
 * implementation's table: the key is 00 01 … 0f, the input 00 01 … of growing length. */
static void siphash_agrees_with_its_paper(void **state) {
    (void)state;
    uint8_t input[64];
    for (size_t i = 0; i < sizeof input; i++) {
        input[i] = (uint8_t)i;
    }
    assert_true(hash_bytes(input, 15) == UINT64_C(0xa129ca6149be45e5));
    assert_true(hash_bytes(NULL, 0) == UINT64_C(0x726fdb47dd0e0e31));
    assert_true(hash_bytes(input, 1) == UINT64_C(0x74f839c593dc67fd));
    assert_true(hash_bytes(input, 8) == UINT64_C(0x93f5f5799a932462));
    assert_true(hash_bytes(input, 63) == UINT64_C(0x958a324ceb064572));
}

static void integers_spread(void **state) {
    (void)state;
    /* The first outputs of SplitMix64 with seed 0 are the hashes of 0, gamma, 2 gamma … */
    assert_true(hash_u64(0) == UINT64_C(0xe220a8397b1dcdaf));
    assert_true(hash_u64(UINT64_C(0x9e3779b97f4a7c15)) == UINT64_C(0x6e789e6aa1b965f4));
    unsigned buckets[256] = {0};
    for (uint64_t i = 0; i < 256 * 64; i++) {
        buckets[hash_u64(i << 12) & 255]++;
    }
    for (size_t i = 0; i < 256; i++) {
        assert_in_range(buckets[i], 24, 120); /* 64 expected, standard deviation 8 */
    }
}

static void quick_hashes_tell_lengths_and_bytes(void **state) {
    (void)state;
    static const char zeros[32];
    uint64_t seen[sizeof zeros + 26];
    size_t count = 0;
    for (size_t len = 0; len < sizeof zeros; len++) {
        seen[count++] = hash_quick(zeros, len);
    }
    for (size_t i = 0; i < 26; i++) {
        char text[26] = "aaaaaaaaaaaaaaaaaaaaaaaaa";
        text[i] = 'b';
        seen[count++] = hash_quick(text, sizeof text);
    }
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < i; k++) {
            assert_true(seen[i] != seen[k]);
        }
    }
    assert_true(hash_quick(zeros, 20) ==
                hash_quick(zeros + 7, 20)); /* the hash does not depend on the address */
}

static void quick_hashes_depend_on_each_byte(void **state) {
    (void)state;
    for (size_t len = 1; len <= 20; len++) {
        char text[20] = "";
        uint64_t before = hash_quick(text, len);
        for (size_t i = 0; i < len; i++) {
            text[i] = 1;
            assert_true(hash_quick(text, len) != before);
            text[i] = 0;
        }
    }
}

static void the_checksum_is_that_of_gzip(void **state) {
    (void)state;
    assert_int_equal(hash_crc32("123456789", 9), 0xcbf43926); /* the check value of CRC-32 */
    assert_int_equal(hash_crc32("", 0), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_checksum_is_that_of_gzip),
        cmocka_unit_test(siphash_agrees_with_its_paper),
        cmocka_unit_test(integers_spread),
        cmocka_unit_test(quick_hashes_depend_on_each_byte),
        cmocka_unit_test(quick_hashes_tell_lengths_and_bytes),
    };
    return cmocka_run_group_tests_name("hash", tests, NULL, NULL);
}
