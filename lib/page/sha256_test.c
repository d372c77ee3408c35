/* Unit tests of SHA-256, by the examples of FIPS 180-4 and what sha256sum prints. */
#include "page/sha256.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

static void expect_base64(const char *text, size_t len, const char *digest) {
    char out[SHA256_BASE64_SIZE];
    sha256_base64(text, len, out);
    assert_string_equal(out, digest);
}

static void digests_are_those_of_the_standard(void **state) {
    (void)state;
    expect_base64("", 0, "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
    expect_base64("abc", 3, "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=");
    const char *two = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    expect_base64(two, strlen(two), "JI1qYdIGOLjlwCaTDD5gOaM85Flk/yFn9uzt1BnbBsE=");
}

/* Hashes texts of up to two blocks; around the end of a block the length goes into the next one. */
static void every_length_up_to_two_blocks_differs(void **state) {
    (void)state;
    char text[129], digests[129][SHA256_BASE64_SIZE];
    memset(text, 'a', sizeof text);
    for (size_t i = 0; i < 129; i++) {
        sha256_base64(text, i, digests[i]);
        for (size_t k = 0; k < i; k++) {
            assert_string_not_equal(digests[i], digests[k]);
        }
    }
    assert_string_equal(digests[55], "n0OQ+NMMLdkuyfCVtl4rmumwqSWlJY4kHJ8ekQ9zQxg=");
    assert_string_equal(digests[64], "/+BU/nrgy23GXDr5th1SCfQ5hR20PQulmXM33xVGaOs=");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digests_are_those_of_the_standard),
        cmocka_unit_test(every_length_up_to_two_blocks_differs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
