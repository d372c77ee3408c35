/* Tests of counts by stratum and group of users. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "base/hash.h"
#include "classify/stats/clusters.h"

static void order_and_grouping_do_not_matter(void **state) {
    (void)state;
    struct clusters one = {0}, parts[3];
    memset(parts, 0, sizeof parts);
    for (uint64_t i = 0; i < 5000; i++) {
        uint64_t h = hash_u64(i);
        uint32_t cell = (uint32_t)(h % 400);
        assert_true(clusters_add(&one, cell, i % 3, i));
        assert_true(clusters_add(&parts[h >> 32 & 1], cell, i % 3, i));
    }
    assert_true(clusters_merge(&parts[2], &parts[1]));
    assert_true(clusters_merge(&parts[2], &parts[0]));
    assert_int_equal(one.cells.len, 400);
    assert_int_equal(parts[2].cells.len, 400);
    /* Members are compared one by one, because the structs have padding. */
    for (size_t i = 0; i < 400; i++) {
        assert_int_equal(one.cells.data[i].cell, parts[2].cells.data[i].cell);
        assert_int_equal(one.cells.data[i].count, parts[2].cells.data[i].count);
        assert_int_equal(one.cells.data[i].ms, parts[2].cells.data[i].ms);
    }
    clusters_release(&one);
    for (size_t i = 0; i < 3; i++) {
        clusters_release(&parts[i]);
    }
}

static void a_stratum_is_a_family_of_models_and_a_major_version(void **state) {
    (void)state;
    uint32_t s = cluster_stratum("iPhone13,3", "iOS 18.7", 6);
    assert_int_equal(s, cluster_stratum("iPhone13,1", "iOS 18.0.1", 4));
    assert_int_not_equal(s, cluster_stratum("iPhone14,3", "iOS 18.7", 6));
    assert_int_not_equal(s, cluster_stratum("iPhone13,3", "iOS 17.7", 6));
    uint32_t other = cluster_stratum("SM-G998B", "Android 14", 8);
    assert_int_equal(other, cluster_stratum("Pixel 8", "Android 14", 8));
    assert_int_not_equal(other, cluster_stratum("Pixel 8", "Android 14", 4));
    assert_int_equal(cluster_stratum(NULL, NULL, -1), cluster_stratum("", "", -1));
}

static void names_of_any_length_have_a_stratum(void **state) {
    (void)state;
    char name[5000];
    memset(name, '7', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    assert_true(cluster_stratum(name, name, INT64_MAX) < CLUSTER_STRATA);
    name[4000] = ',';
    assert_true(cluster_stratum(name, name, INT64_MIN) < CLUSTER_STRATA);
}

static void users_fall_into_all_groups_of_their_stratum(void **state) {
    (void)state;
    unsigned users[CLUSTER_GROUPS] = {0};
    for (uint64_t i = 0; i < 6400; i++) {
        uint32_t cell = cluster_cell_of(CLUSTER_STRATA - 1, hash_bytes(&i, sizeof i));
        assert_true(cell < CLUSTER_CELLS && cell >= CLUSTER_CELLS - CLUSTER_GROUPS);
        users[cell % CLUSTER_GROUPS]++;
    }
    for (size_t g = 0; g < CLUSTER_GROUPS; g++) {
        assert_in_range(users[g], 60, 140);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_and_grouping_do_not_matter),
        cmocka_unit_test(a_stratum_is_a_family_of_models_and_a_major_version),
        cmocka_unit_test(names_of_any_length_have_a_stratum),
        cmocka_unit_test(users_fall_into_all_groups_of_their_stratum),
    };
    return cmocka_run_group_tests_name("clusters", tests, NULL, NULL);
}
