/* Tests context slots, the redaction of the home directory, and the share of users that are
 * recorded. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/context.h"
#include "support/redact.h"
#include "support/share.h"

/* ---- slots ---- */

static void keys_are_set_replaced_and_removed(void **state) {
    (void)state;
    struct rec_context context = {0};
    struct rec_context_copy copy;
    assert_int_equal(rec_context_set(&context, "screen", "Cart", NULL, NULL), STALLREC_OK);
    assert_int_equal(rec_context_set(&context, "net", "wifi", NULL, NULL), STALLREC_OK);
    assert_int_equal(rec_context_set(&context, "screen", "Checkout", NULL, NULL), STALLREC_OK);
    rec_context_read(&context, &copy);
    assert_int_equal(copy.count, 2);
    assert_string_equal(copy.pairs[0].key, "screen");
    assert_string_equal(copy.pairs[0].value, "Checkout");
    assert_string_equal(copy.pairs[1].value, "wifi");
    assert_int_equal(rec_context_set(&context, "screen", NULL, NULL, NULL), STALLREC_OK);
    assert_int_equal(rec_context_set(&context, "never", "", NULL, NULL), STALLREC_OK);
    rec_context_read(&context, &copy);
    assert_int_equal(copy.count, 1);
    assert_string_equal(copy.pairs[0].key, "net");
}

static void a_key_too_many_too_long_or_empty_is_refused(void **state) {
    (void)state;
    struct rec_context context = {0};
    char key[STALLREC_CONTEXT_KEY + 1];
    memset(key, 'k', sizeof key);
    key[STALLREC_CONTEXT_KEY] = '\0';
    assert_int_equal(rec_context_set(&context, key, "v", NULL, NULL), STALLREC_ERR_CONTEXT);
    assert_int_equal(rec_context_set(&context, key + 1, "v", NULL, NULL), STALLREC_OK);
    assert_int_equal(rec_context_set(&context, "", "v", NULL, NULL), STALLREC_ERR_CONTEXT);
    for (int i = 1; i < STALLREC_CONTEXT_SLOTS; i++) {
        snprintf(key, sizeof key, "key%d", i);
        assert_int_equal(rec_context_set(&context, key, "v", NULL, NULL), STALLREC_OK);
    }
    assert_int_equal(rec_context_set(&context, "more", "v", NULL, NULL), STALLREC_ERR_CONTEXT);
    assert_int_equal(rec_context_set(&context, "key3", "w", NULL, NULL), STALLREC_OK);
    assert_int_equal(rec_context_set(&context, "key3", NULL, NULL, NULL), STALLREC_OK);
    assert_int_equal(rec_context_set(&context, "more", "v", NULL, NULL), STALLREC_OK);
}

static void only_keys_of_the_list_are_kept(void **state) {
    (void)state;
    struct rec_context context = {0};
    static const char *const lists[] = {"screen,net", "net, screen", "screen", ",,screen,"};
    static const char *const others[] = {"scree", "screens", "net,screen", "x", " "};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(rec_context_set(&context, "screen", "v", lists[i], NULL), STALLREC_OK);
        for (size_t k = 0; k < 5; k++) {
            assert_int_equal(rec_context_set(&context, others[k], "v", lists[i], NULL),
                             STALLREC_ERR_CONTEXT);
        }
    }
    assert_int_equal(rec_context_set(&context, "screen", "v", "", NULL), STALLREC_ERR_CONTEXT);
}

static void a_long_value_is_cut_between_characters(void **state) {
    (void)state;
    struct rec_context context = {0};
    struct rec_context_copy copy;
    char value[400];
    for (size_t lead = 0; lead < 4; lead++) { /* the cut falls on every byte of the character */
        memset(value, 'a', lead);
        for (size_t at = lead; at + 3 < sizeof value; at += 3) {
            memcpy(value + at, "\xe2\x82\xac", 4);
        }
        assert_int_equal(rec_context_set(&context, "k", value, NULL, NULL), STALLREC_OK);
        rec_context_read(&context, &copy);
        size_t len = strlen(copy.pairs[0].value);
        assert_int_equal((len - lead) % 3, 0);
        assert_true(len < STALLREC_CONTEXT_VALUE && len + 3 >= STALLREC_CONTEXT_VALUE);
        assert_memory_equal(copy.pairs[0].value, value, len);
    }
}

static void a_value_loses_the_home_directory(void **state) {
    (void)state;
    struct rec_context context = {0};
    struct rec_context_copy copy;
    assert_int_equal(rec_context_set(&context, "file", "open /home/ann/a.txt", NULL, "/home/ann"),
                     STALLREC_OK);
    rec_context_read(&context, &copy);
    assert_string_equal(copy.pairs[0].value, "open ~/a.txt");
}

static void a_slot_that_stays_half_written_is_left_out(void **state) {
    (void)state;
    struct rec_context context = {0};
    struct rec_context_copy copy;
    assert_int_equal(rec_context_set(&context, "a", "1", NULL, NULL), STALLREC_OK);
    assert_int_equal(rec_context_set(&context, "b", "2", NULL, NULL), STALLREC_OK);
    atomic_fetch_add(&context.slots[0].sequence, 1); /* the slot's writer is the thread that
                                                        stalls */
    rec_context_read(&context, &copy);
    assert_int_equal(copy.count, 1);
    assert_string_equal(copy.pairs[0].key, "b");
}

struct shared {
    struct rec_context context;
    atomic_bool stop;
};

/* Writes values of one repeated letter each, so that a mix of two is noticed, until shared->stop is
 * set. */
static void *writer(void *arg) {
    struct shared *shared = arg;
    char value[STALLREC_CONTEXT_VALUE];
    for (unsigned i = 0; !atomic_load(&shared->stop); i++) {
        size_t len = 1 + i % (sizeof value - 1);
        memset(value, 'a' + (int)(i % 26), len);
        value[len] = '\0';
        rec_context_set(&shared->context, "key", value, NULL, NULL);
        rec_context_app(&shared->context, i % 2 != 0, i);
    }
    return NULL;
}

static void a_reader_never_sees_half_of_a_write(void **state) {
    (void)state;
    static struct shared shared;
    pthread_t thread;
    unsigned seen = 0;
    assert_int_equal(pthread_create(&thread, NULL, writer, &shared), 0);
    for (unsigned i = 0; i < 20000; i++) {
        struct rec_context_copy copy;
        rec_context_read(&shared.context, &copy);
        rec_context_foreground_ns(&shared.context, UINT64_MAX / 2);
        assert_true(copy.count <= 1);
        if (copy.count == 1) {
            const char *value = copy.pairs[0].value;
            size_t len = strlen(value);
            seen++;
            assert_string_equal(copy.pairs[0].key, "key");
            assert_true(len >= 1 && strspn(value, (char[]){value[0], '\0'}) == len);
        }
    }
    atomic_store(&shared.stop, true);
    pthread_join(thread, NULL);
    assert_true(seen > 0);
}

static void foreground_time_is_that_between_its_calls(void **state) {
    (void)state;
    struct rec_context context = {0};
    struct rec_context_copy copy;
    rec_context_begin(&context, 90);
    assert_int_equal(rec_context_foreground_ns(&context, 95), 5); /* the app counts as in the
                                                                     foreground until it reports
                                                                     otherwise */
    rec_context_read(&context, &copy);
    assert_int_equal(copy.app, REC_APP_UNKNOWN);
    rec_context_app(&context, true, 100);
    assert_int_equal(rec_context_foreground_ns(&context, 130), 40);
    rec_context_app(&context, true, 150); /* the app reports it twice */
    rec_context_app(&context, false, 200);
    assert_int_equal(rec_context_foreground_ns(&context, 900), 110);
    rec_context_app(&context, true, 1000);
    assert_int_equal(rec_context_foreground_ns(&context, 1001), 111);
    assert_int_equal(rec_context_foreground_ns(&context, 900), 110); /* a reader whose clock is late
                                                                        gets no time of the present
                                                                        foreground */
    rec_context_read(&context, &copy);
    assert_int_equal(copy.app, REC_APP_FOREGROUND);
    atomic_fetch_add(&context.app.sequence, 1);
    assert_true(rec_context_foreground_ns(&context, 1001) == UINT64_MAX);
}

/* ---- redaction ---- */

static void a_path_in_the_home_directory_loses_it(void **state) {
    (void)state;
    assert_string_equal(rec_redact_rest("/home/ann/app", "/home/ann"), "/app");
    assert_string_equal(rec_redact_rest("/home/ann/app", "/home/ann//"), "/app");
    assert_string_equal(rec_redact_rest("/home/ann", "/home/ann"), "");
    assert_null(rec_redact_rest("/home/anna/app", "/home/ann"));
    assert_null(rec_redact_rest("/mnt/home/ann/app", "/home/ann"));
    assert_null(rec_redact_rest("/usr/bin/app", "/"));
    assert_null(rec_redact_rest("/usr/bin/app", ""));
    assert_null(rec_redact_rest("/usr/bin/app", NULL));
    assert_null(rec_redact_rest("usr/bin/app", "usr"));
}

static void a_text_loses_the_home_directory_wherever_it_stands(void **state) {
    (void)state;
    char to[64];
    static const char *const cases[][2] = {
        {"/home/ann", "~"},
        {"file:///home/ann/x", "file://~/x"},
        {"a /home/ann b /home/ann.", "a ~ b ~."},
        {"/home/anna /home/ann-2 /home/ann\xc3\xa9", "/home/anna /home/ann-2 /home/ann\xc3\xa9"},
        {"/home/an", "/home/an"},
        {"", ""}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_string_equal(rec_redact_text(to, sizeof to, cases[i][0], "/home/ann/"), cases[i][1]);
    }
    assert_string_equal(rec_redact_text(to, 4, "ab/home/ann", "/home/ann"), "ab~");
    assert_string_equal(rec_redact_text(to, 3, "ab/home/ann", "/home/ann"), "ab");
    assert_string_equal(rec_redact_text(to, 1, "ab", NULL), "");
}

/* ---- share ---- */

enum { USERS = 100000 };

static unsigned users_in(const char *epoch, uint32_t ppm) {
    unsigned count = 0;
    for (unsigned i = 0; i < USERS; i++) {
        char user[16];
        snprintf(user, sizeof user, "user%u", i);
        count += rec_share_has(user, epoch, ppm);
    }
    return count;
}

static void a_share_is_that_share_of_users_on_each_day(void **state) {
    (void)state;
    for (int day = 1; day <= 5; day++) {
        char epoch[16];
        snprintf(epoch, sizeof epoch, "2026112%d", day);
        unsigned n = users_in(epoch, 50000); /* 5 % of the users are 5000; the standard deviation is
                                                69 */
        assert_in_range(n, 4650, 5350);
    }
    assert_int_equal(users_in("20261121", 0), 0);
    assert_int_equal(users_in("20261121", REC_SHARE_ALL), USERS);
    assert_in_range(users_in("20261121", 100), 1, 40); /* ten users are expected */
}

static void another_day_draws_other_users(void **state) {
    (void)state;
    unsigned both = 0, first = 0;
    for (unsigned i = 0; i < USERS; i++) {
        char user[16];
        snprintf(user, sizeof user, "user%u", i);
        bool a = rec_share_has(user, "20261121", 50000), b = rec_share_has(user, "20261122", 50000);
        first += a;
        both += a && b;
        assert_true(!a || rec_share_has(user, "20261121", 60000)); /* a larger share includes the
                                                                      smaller one */
    }
    assert_in_range(both, first / 20 - 100, first / 20 + 100); /* by chance, 5 % of the first day's
                                                                  users are in the second day's
                                                                  share */
}

static void the_draw_is_the_same_everywhere(void **state) {
    (void)state;
    /* The draw must never change, as devices with any version must give the same result. */
    assert_true(rec_hash(REC_HASH_START, "foobar", 6) == UINT64_C(0x85944171f73967e8));
    uint32_t low = 0, high = REC_SHARE_ALL;
    while (low < high) { /* finds the smallest share that has this user */
        uint32_t middle = (low + high) / 2;
        if (rec_share_has("ann", "20261121", middle)) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    assert_int_equal(low, 359669);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_are_set_replaced_and_removed),
        cmocka_unit_test(a_key_too_many_too_long_or_empty_is_refused),
        cmocka_unit_test(only_keys_of_the_list_are_kept),
        cmocka_unit_test(a_long_value_is_cut_between_characters),
        cmocka_unit_test(a_value_loses_the_home_directory),
        cmocka_unit_test(a_slot_that_stays_half_written_is_left_out),
        cmocka_unit_test(a_reader_never_sees_half_of_a_write),
        cmocka_unit_test(foreground_time_is_that_between_its_calls),
        cmocka_unit_test(a_path_in_the_home_directory_loses_it),
        cmocka_unit_test(a_text_loses_the_home_directory_wherever_it_stands),
        cmocka_unit_test(a_share_is_that_share_of_users_on_each_day),
        cmocka_unit_test(another_day_draws_other_users),
        cmocka_unit_test(the_draw_is_the_same_everywhere),
    };
    return cmocka_run_group_tests_name("context", tests, NULL, NULL);
}
