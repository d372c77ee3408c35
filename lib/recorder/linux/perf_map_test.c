/* Tests the reading of perf maps, in pieces of any size and with lines of any form. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "linux/jit_names_linux.h"
#include "linux/perf_map.h"

static struct perf_map map;
static struct code_text text;

static void read_in_pieces(const char *lines, size_t piece, struct rec_code_name *names,
                           uint32_t count) {
    size_t size = strlen(lines);
    text.used = 0;
    perf_map_begin_async(&map, names, count, &text);
    for (size_t at = 0; at < size; at += piece) {
        perf_map_feed_async(&map, lines + at, size - at < piece ? size - at : piece);
    }
    perf_map_end_async(&map);
}

static void an_address_has_the_name_of_its_range(void **state) {
    (void)state;
    const char *lines = "1000 10 first\n1010 20 JS:~slow /srv/app.js:12:5\nnonsense\n zz 1 x\n"
                        "0x2000 10 Lcom/shop/Cart;::sync\n3000 10 old\n3000 8 new";
    for (size_t piece = 1; piece < 200; piece = piece * 3 + 1) {
        struct rec_code_name names[] = {{.address = 0x1000, .exact = true},
                                        {.address = 0x1010},
                                        {.address = 0x1011},
                                        {.address = 0x1031},
                                        {.address = 0x2008},
                                        {.address = 0x3004},
                                        {.address = 0x300c}};
        read_in_pieces(lines, piece, names, 7);
        assert_string_equal(names[0].symbol, "first");
        assert_string_equal(names[1].symbol, "first"); /* a return address follows its call, which
                                                          may be the last instruction of a
                                                          function */
        assert_string_equal(names[2].symbol, "JS:~slow");
        assert_string_equal(names[2].file, "/srv/app.js");
        assert_int_equal(names[2].line, 12);
        assert_int_equal(names[2].offset, 1);
        assert_true(names[2].in_app);
        assert_null(names[3].symbol);
        assert_string_equal(names[4].symbol, "Lcom/shop/Cart;::sync");
        assert_null(names[4].file);
        assert_string_equal(names[5].symbol, "new");
        assert_string_equal(names[6].symbol, "old");
    }
}

static void a_place_at_the_end_of_a_name_is_taken_off(void **state) {
    (void)state;
    static const struct {
        const char *text, *symbol, *file;
        uint32_t line;
        bool in_app;
    } cases[] = {
        {"JS:*f file:///srv/a b.mjs:3:4", "JS:*f file:///srv/a", "b.mjs", 3, false},
        {"JS:*f file:///srv/a.mjs:3:4", "JS:*f", "/srv/a.mjs", 3, true},
        {"JS:^g node:internal/timers:504:25", "JS:^g", "node:internal/timers", 504, false},
        {"h /srv/node_modules/x/y.js:7", "h", "/srv/node_modules/x/y.js", 7, false},
        {"py::i:/srv/a.py", "py::i:/srv/a.py", NULL, 0, false},
        {"j:12", "j:12", NULL, 0, false},
        {":1:2", ":1:2", NULL, 0, false},
        {"k /usr/lib/x.js:1", "k", "/usr/lib/x.js", 1, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rec_code_name name = {.address = 1};
        text.used = 0;
        code_text_name_async(&text, cases[i].text, strlen(cases[i].text), &name);
        assert_string_equal(name.symbol, cases[i].symbol);
        assert_string_equal(name.file ? name.file : "", cases[i].file ? cases[i].file : "");
        assert_int_equal(name.line, cases[i].line);
        assert_int_equal(name.in_app, cases[i].in_app);
    }
}

static void a_text_without_room_gives_no_name(void **state) {
    (void)state;
    struct rec_code_name name = {.address = 1};
    text.used = CODE_TEXT_SIZE - 8;
    code_text_name_async(&text, "longer than that", 16, &name);
    assert_null(name.symbol);
    code_text_name_async(&text, "f\x01g", 3, &name);
    assert_string_equal(name.symbol, "f?g");
}

/* Writes the perf map of a made-up process, with these permissions. Returns whether an address gets
 * its name from it. */
static bool file_counts(struct jit_names *jit, unsigned mode, uid_t owner) {
    char root[] = "/tmp/stallrec-perf-map-XXXXXX", folder[64], path[96], maps[] = "/dev/null";
    struct rec_code_name name = {.address = 0x1004};
    assert_non_null(mkdtemp(root));
    snprintf(folder, sizeof folder, "%s/tmp", root);
    assert_int_equal(mkdir(folder, 0700), 0);
    snprintf(path, sizeof path, "%s/perf-77.map", folder);
    int fd = open(path, O_CREAT | O_WRONLY, 0600);
    assert_true(fd >= 0 && write(fd, "1000 10 made\n", 13) == 13);
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
    jit_names_fill_async(jit, root, 77, maps, owner, &name, 1);
    unlink(path);
    rmdir(folder);
    rmdir(root);
    return name.symbol && strcmp(name.symbol, "made") == 0;
}

static void only_a_file_that_nobody_else_may_write_counts(void **state) {
    (void)state;
    struct jit_names *jit = jit_names_new();
    assert_non_null(jit);
    assert_true(file_counts(jit, 0644, geteuid()));
    assert_false(file_counts(jit, 0664, geteuid()));
    assert_false(file_counts(jit, 0646, geteuid()));
    if (geteuid() != 0) {
        assert_false(file_counts(jit, 0644, geteuid() + 1));
    }
    jit_names_free(jit);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_has_the_name_of_its_range),
        cmocka_unit_test(a_place_at_the_end_of_a_name_is_taken_off),
        cmocka_unit_test(a_text_without_room_gives_no_name),
        cmocka_unit_test(only_a_file_that_nobody_else_may_write_counts),
    };
    return cmocka_run_group_tests_name("perf_map", tests, NULL, NULL);
}
