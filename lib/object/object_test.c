/* Tests what holds for every format: fixtures, real files, cut files, several threads, lack of
 * memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pthread.h>

#include <cmocka.h>

#include "base/failmalloc.h"
#include "base/filemap.h"
#include "object/find/find.h"
#include "object/object.h"

enum { PATH_SIZE = 1024, LINE_SIZE = 8192, FIELDS = 5 };

static const struct object_slice *slice_of(const struct object *o, const char *arch) {
    const struct object_slice *s = object_slice_by_arch(o, arch);
    assert_non_null(s);
    return s;
}

static struct object *open_file(const char *path) {
    struct object *o = NULL;
    struct err e = {0};
    enum st st = object_open(&o, path, &e);
    if (st != ST_OK) {
        fail_msg("%s: %s", path, st == ST_NONE ? "no object file" : e.text);
    }
    return o;
}

/* ---- fixtures: testdata/objects/MANIFEST lists file, architecture, id, answers, functions ---- */

struct manifest_row {
    char path[PATH_SIZE];    /* path of the file, inside a bundle if it is one */
    char answers[PATH_SIZE]; /* path of expected.ARCH.jsonl */
    char arch[32], id[64];
    bool bundle;
};

/* Cuts a line at its tabs into FIELDS fields; false if it is a comment or has fewer. */
static bool cut_fields(char *line, char *fields[FIELDS]) {
    size_t n = 0;
    for (char *at = line; at && n < FIELDS; n++) {
        fields[n] = at;
        at = strpbrk(at, "\t\n");
        if (at) {
            *at++ = '\0';
        }
    }
    return line[0] != '#' && n == FIELDS;
}

static bool read_row(FILE *f, struct manifest_row *row) {
    char line[LINE_SIZE], *fields[FIELDS];
    while (fgets(line, sizeof line, f)) {
        if (!cut_fields(line, fields)) {
            continue;
        }
        const char *slash = strrchr(fields[0], '/'), *suffix = strstr(fields[0], ".dSYM");
        row->bundle = suffix != NULL;
        if (suffix) {
            snprintf(row->path, sizeof row->path,
                     "testdata/objects/%s/Contents/Resources/DWARF/%.*s", fields[0],
                     (int)(suffix - slash - 1), slash + 1);
        } else {
            snprintf(row->path, sizeof row->path, "testdata/objects/%s", fields[0]);
        }
        snprintf(row->answers, sizeof row->answers, "testdata/objects/%s", fields[3]);
        snprintf(row->arch, sizeof row->arch, "%s", fields[1]);
        snprintf(row->id, sizeof row->id, "%s", fields[2]);
        return true;
    }
    return false;
}

static void every_fixture_has_the_architecture_and_id_of_the_manifest(void **state) {
    FILE *f = fopen("testdata/objects/MANIFEST", "r");
    struct manifest_row row;
    size_t rows = 0;
    (void)state;
    assert_non_null(f);
    for (; read_row(f, &row); rows++) {
        struct object *o = open_file(row.path);
        const struct object_slice *s = slice_of(o, row.arch);
        char id[IMAGE_ID_TEXT];
        image_id_text(object_slice_id(s), id);
        assert_string_equal(id[0] ? id : "-", row.id);
        assert_true(!row.bundle || object_has_dwarf(s));
        assert_true(object_has_symbols(s));
        assert_null(object_damage(o));
        object_close(o);
    }
    fclose(f);
    assert_true(rows >= 20);
}

/* Returns the symbol that owns the address, or NULL. */
static const struct object_symbol *owner(const struct object_symbol *symbols, size_t count,
                                         uint64_t address) {
    const struct object_symbol *found = NULL;
    for (size_t i = 0; i < count && symbols[i].address <= address; i++) {
        found = &symbols[i];
    }
    return found && address - found->address < found->size ? found : NULL;
}

/* Copies the string after the last `key` in line; false if there is none. */
static bool last_member(const char *line, const char *key, char *out, size_t size) {
    const char *at = NULL;
    for (const char *next = line; (next = strstr(next, key)) != NULL; next++) {
        at = next + strlen(key);
    }
    if (!at) {
        return false;
    }
    at += strspn(at, " \"");
    size_t len = strcspn(at, "\",");
    if (len >= size) {
        return false;
    }
    memcpy(out, at, len);
    out[len] = '\0';
    return true;
}

/* Compares our symbols with llvm-symbolizer's answers and returns how many were compared. It takes
 * the outer function's name from the symbol table where it has one: the last frame's `fn` is what
 * our symbols must say. One class of difference: between the Mach-O header and the first function
 * llvm names the nearest symbol, _mh_execute_header, which is no function; we name none
 * (stallkit-design(7), ADDRESS RULES, 4). */
static size_t compare_with_answers(const struct object_slice *s, const char *path) {
    FILE *f = fopen(path, "r");
    const struct object_symbol *symbols;
    size_t count = 0, compared = 0;
    static char line[1 << 20];
    char address_text[64], name[16384];
    assert_non_null(f);
    assert_int_equal(object_symbols(s, &symbols, &count, NULL), ST_OK);
    while (fgets(line, sizeof line, f)) {
        uint64_t address;
        if (!last_member(line, "\"addr\":", address_text, sizeof address_text) ||
            !last_member(line, "\"fn\":", name, sizeof name)) {
            continue;
        }
        assert_true(parse_hex(address_text, strlen(address_text), &address));
        const struct object_symbol *symbol = owner(symbols, count, address);
        bool of_header = !symbol && strcmp(name, "_mh_execute_header") == 0;
        if (!of_header && strcmp(symbol ? symbol->name : "", name) != 0) {
            fail_msg("%s 0x%llx: ours is '%s', llvm's is '%s'", path, (unsigned long long)address,
                     symbol ? symbol->name : "", name);
        }
        compared++;
    }
    fclose(f);
    return compared;
}

static void symbols_answer_as_llvm_symbolizer_does_on_every_fixture(void **state) {
    FILE *f = fopen("testdata/objects/MANIFEST", "r");
    struct manifest_row row;
    size_t compared = 0;
    (void)state;
    assert_non_null(f);
    while (read_row(f, &row)) {
        struct object *o = open_file(row.path);
        char *separate = NULL;
        enum st st = find_separate_debug(slice_of(o, row.arch), row.path, NULL, 0, &separate, NULL);
        if (st == ST_OK) { /* the file is stripped: its debug file has the local symbols */
            object_close(o);
            o = open_file(separate);
            free(separate);
        }
        compared += compare_with_answers(slice_of(o, row.arch), row.answers);
        object_close(o);
    }
    fclose(f);
    assert_true(compared > 500);
}

/* ---- third-party files ---- */

static char *path_in(const char *real, const char *rest, char out[PATH_SIZE]) {
    int len = snprintf(out, PATH_SIZE, "%s/objects/%s", real, rest);
    assert_in_range(len, 1, PATH_SIZE - 1);
    return out;
}

static void symbols_answer_as_llvm_symbolizer_does_on_third_party_files(void **state) {
    static const struct {
        const char *file, *answers, *arch;
    } files[] = {
        {"arm64-kscrash/38BD5E0B-A9B8-383D-8C2F-4D87E20F867B.dSYM/Contents/Resources/DWARF/KSCrash",
         "arm64-kscrash/expected.arm64.jsonl", "arm64"},
        {"arm64-swift-objc/swift-package-manager.app.dSYM/Contents/Resources/DWARF/"
         "swift-package-manager",
         "arm64-swift-objc/expected.arm64.jsonl", "arm64"},
        {"universal-armv7-armv7s/armv7-armv7s.dSYM/Contents/Resources/DWARF/CrashTest",
         "universal-armv7-armv7s/expected.armv7.jsonl", "armv7"},
        {"universal-armv7-armv7s/armv7-armv7s.dSYM/Contents/Resources/DWARF/CrashTest",
         "universal-armv7-armv7s/expected.armv7s.jsonl", "armv7s"},
        {"universal-objc-swift/bugsnag-example.app.dSYM/Contents/Resources/DWARF/bugsnag-example",
         "universal-objc-swift/expected.arm64.jsonl", "arm64"},
        {"universal-objc-swift/bugsnag-example.app.dSYM/Contents/Resources/DWARF/bugsnag-example",
         "universal-objc-swift/expected.armv7.jsonl", "armv7"},
        {"x86_64-cxx/crash_macos.dSYM/Contents/Resources/DWARF/crash_macos",
         "x86_64-cxx/expected.x86_64.jsonl", "x86_64"},
        {"x86_64-cxx-big/libclrjit.dylib.dwarf", "x86_64-cxx-big/expected.x86_64.jsonl", "x86_64"},
        {"i386-dwarf2/test-mach-o-32.dSYM", "i386-dwarf2/expected.i386.jsonl", "i386"},
        {"arm64-dwarf5/helloworld", "arm64-dwarf5/expected.arm64.jsonl", "arm64"},
    };
    const char *real = getenv("REAL");
    char path[PATH_SIZE], answers[PATH_SIZE];
    (void)state;
    if (!real || !*real) {
        skip();
    }
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        struct object *o = open_file(path_in(real, files[i].file, path));
        const char *expected = path_in(real, files[i].answers, answers);
        assert_true(compare_with_answers(slice_of(o, files[i].arch), expected) > 0);
        object_close(o);
    }
}

/* Go's linker packs the DWARF of its Mach-O files the GNU way; LLVM 14 cannot read them. */
static void the_packed_sections_of_a_go_binary_are_inflated(void **state) {
    const char *real = getenv("REAL");
    char path[PATH_SIZE];
    const uint8_t *bytes;
    size_t len;
    (void)state;
    if (!real || !*real) {
        skip();
    }
    struct object *o = open_file(path_in(real, "go-zdebug/go-aarch64", path));
    const struct object_slice *s = slice_of(o, "arm64");
    assert_true(object_has_dwarf(s));
    assert_int_equal(object_section(s, "debug_info", &bytes, &len, NULL, NULL), ST_OK);
    assert_int_equal(len, 630636);
    assert_int_equal(object_section(s, "debug_line", &bytes, &len, NULL, NULL), ST_OK);
    assert_int_equal(len, 243776);
    object_close(o);
}

/* ---- opening ---- */

static void a_file_that_cannot_be_opened_is_an_error(void **state) {
    static const char *const paths[] = {"testdata/no-such-file", "testdata", "/dev/null/x"};
    (void)state;
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        struct object *o = NULL;
        struct err e = {0};
        assert_int_equal(object_open(&o, paths[i], &e), ST_ERR);
        assert_int_equal(e.code, ERR_IO);
        assert_non_null(strstr(e.text, paths[i]));
        assert_null(o);
    }
}

static void a_text_file_is_no_object_file(void **state) {
    struct object *o = NULL;
    struct err e = {0};
    (void)state;
    assert_int_equal(object_open(&o, "testdata/objects/MANIFEST", &e), ST_NONE);
    assert_false(err_is(&e));
    object_close(NULL);
}

static void the_same_debug_info_packed_or_plain_has_the_same_bytes(void **state) {
    static const char *const packed[] = {"libshop.zlib.so", "libshop.zlib-gnu.so",
                                         "libshop.zstd.so"};
    static const char *const names[] = {"debug_info",    "debug_abbrev", "debug_line",
                                        "debug_str",     "debug_addr",   "debug_rnglists",
                                        "debug_line_str"};
    struct object *plain = open_file("testdata/objects/elf-dwarf5/libshop.so");
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        char path[PATH_SIZE];
        snprintf(path, sizeof path, "testdata/objects/elf-dwarf5/%s", packed[i]);
        struct object *o = open_file(path);
        for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
            const uint8_t *wanted, *bytes;
            size_t wanted_len, len;
            assert_int_equal(
                object_section(object_slice(plain, 0), names[k], &wanted, &wanted_len, NULL, NULL),
                ST_OK);
            assert_int_equal(object_section(object_slice(o, 0), names[k], &bytes, &len, NULL, NULL),
                             ST_OK);
            assert_int_equal(len, wanted_len);
            assert_memory_equal(bytes, wanted, len);
        }
        object_close(o);
    }
    object_close(plain);
}

/* ---- damage ---- */

static const char *const usual_files[] = {
    "testdata/objects/macho-arm64/Shop",
    "testdata/objects/macho-universal/Shop.dSYM/Contents/Resources/DWARF/Shop",
    "testdata/objects/elf-dwarf5/libshop.zlib.so",
    "testdata/objects/elf-dwarf5/split/libshop.so",
    "testdata/objects/elf-i386/libshop.so",
};

/* Opens the first len bytes, in a block of just that size so that a sanitizer sees the first byte
 * read past it, and asks for everything in the file. */
static void open_cut(const uint8_t *bytes, size_t len) {
    uint8_t *exact = malloc(len ? len : 1);
    const struct object_symbol *symbols;
    const uint64_t *starts;
    const uint8_t *section;
    size_t count, section_len;
    struct object *o = NULL;
    struct err e = {0};
    assert_non_null(exact);
    memcpy(exact, bytes, len);
    enum st st = object_open_bytes(&o, "cut", exact, len, &e);
    assert_true(err_is(&e) == (st == ST_ERR));
    for (size_t i = 0; st == ST_OK && i < object_slice_count(o); i++) {
        const struct object_slice *s = object_slice(o, i);
        (void)!object_symbols(s, &symbols, &count, NULL);
        (void)!object_function_starts(s, &starts, &count, NULL);
        (void)!object_section(s, "debug_info", &section, &section_len, NULL, NULL);
        (void)!object_section(s, "debug_line", &section, &section_len, NULL, NULL);
    }
    object_close(o);
    free(exact);
}

static void files_cut_anywhere_are_refused_or_read_within_their_bounds(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof usual_files / sizeof usual_files[0]; i++) {
        struct filemap m = {0};
        assert_int_equal(filemap_open(&m, usual_files[i], 0, NULL), ST_OK);
        size_t dense =
            m.size < 2048
                ? m.size
                : 2048; /* the first bytes are cut one by one, because the headers are there */
        for (size_t len = 0; len < dense; len++) {
            open_cut(m.data, len);
        }
        for (size_t len = dense; len < m.size; len += 61) {
            open_cut(m.data, len);
        }
        filemap_release(&m);
    }
}

/* ---- threads ---- */

struct asked {
    const struct object_slice *slice;
    const uint8_t *section;
    const struct object_symbol *symbols;
    bool ok;
};

static void *ask_in_thread(void *arg) {
    struct asked *a = arg;
    size_t len, count;
    a->ok = object_section(a->slice, "debug_info", &a->section, &len, NULL, NULL) == ST_OK &&
            object_symbols(a->slice, &a->symbols, &count, NULL) == ST_OK;
    return NULL;
}

static void several_threads_get_the_same_section_and_symbols(void **state) {
    enum { THREADS = 8 };
    pthread_t threads[THREADS];
    struct asked asked[THREADS];
    struct object *o = open_file("testdata/objects/elf-dwarf5/libshop.zlib.so");
    (void)state;
    for (size_t i = 0; i < THREADS; i++) {
        asked[i] = (struct asked){.slice = object_slice(o, 0)};
        assert_int_equal(pthread_create(&threads[i], NULL, ask_in_thread, &asked[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_true(asked[i].ok);
        assert_ptr_equal(asked[i].section, asked[0].section);
        assert_ptr_equal(asked[i].symbols, asked[0].symbols);
    }
    object_close(o);
}

/* ---- lack of memory ---- */

static void ask_all(void *path, bool refused) {
    struct object *o = NULL;
    struct err e = {0};
    enum st st = object_open(&o, path, &e);
    assert_true(st == ST_OK || (refused && st == ST_ERR && e.code == ERR_NOMEM));
    for (size_t i = 0; st == ST_OK && i < object_slice_count(o); i++) {
        const struct object_slice *s = object_slice(o, i);
        const struct object_symbol *symbols;
        const uint64_t *starts;
        const uint8_t *bytes;
        size_t count;
        e = (struct err){0};
        enum st got = object_symbols(s, &symbols, &count, &e);
        assert_true(got == ST_OK || (refused && e.code == ERR_NOMEM));
        e = (struct err){0};
        got = object_function_starts(s, &starts, &count, &e);
        assert_true(got != ST_ERR || (refused && e.code == ERR_NOMEM));
        e = (struct err){0};
        got = object_section(s, "debug_info", &bytes, &count, NULL, &e);
        assert_true(got != ST_ERR || (refused && e.code == ERR_NOMEM));
    }
    /* Lack of memory must not be reported as damage. */
    assert_true(st != ST_OK || !object_damage(o));
    object_close(o);
}

static void lack_of_memory_is_an_ordinary_error(void **state) {
    (void)state;
    if (!failmalloc_works()) {
        skip();
    }
    for (size_t i = 0; i < sizeof usual_files / sizeof usual_files[0]; i++) {
        char path[PATH_SIZE];
        snprintf(path, sizeof path, "%s", usual_files[i]);
        assert_true(failmalloc_sweep(ask_all, path) > 3);
    }
    char unlinked[] = "testdata/objects/elf-unlinked/shop.ko";
    assert_true(failmalloc_sweep(ask_all, unlinked) > 3);
}

static void what_failed_for_lack_of_memory_works_when_memory_is_back(void **state) {
    struct object *o = open_file("testdata/objects/elf-dwarf5/libshop.zlib.so");
    const struct object_slice *s = object_slice(o, 0);
    const struct object_symbol *symbols;
    const uint8_t *bytes;
    size_t count;
    struct err e = {0}, e2 = {0};
    (void)state;
    if (!failmalloc_works()) {
        skip();
    }
    failmalloc_arm(1, true);
    enum st section = object_section(s, "debug_info", &bytes, &count, NULL, &e);
    enum st symbol = object_symbols(s, &symbols, &count, &e2);
    (void)failmalloc_disarm();
    assert_int_equal(section, ST_ERR);
    assert_int_equal(e.code, ERR_NOMEM);
    assert_int_equal(symbol, ST_ERR);
    assert_int_equal(e2.code, ERR_NOMEM);
    assert_int_equal(object_section(s, "debug_info", &bytes, &count, NULL, NULL), ST_OK);
    assert_int_equal(object_symbols(s, &symbols, &count, NULL), ST_OK);
    object_close(o);
}

/* --- modes for scripts/test/object-tools, which compares with other tools: `object_test FILE`
 * lists the architectures, `object_test FILE ARCH` all that is known of one --- */

static int print_archs(const char *path) {
    struct object *o = NULL;
    struct err e = {0};
    if (object_open(&o, path, &e) != ST_OK) {
        fprintf(stderr, "%s: %s\n", path, err_is(&e) ? e.text : "no object file");
        return 1;
    }
    for (size_t i = 0; i < object_slice_count(o); i++) {
        puts(object_slice_arch(object_slice(o, i)));
    }
    object_close(o);
    return 0;
}

/* Returns an address as tools print it: as an offset in its section if the file is not linked. */
static unsigned long long printed_address(const struct object_slice *s, uint64_t address) {
    struct object_section_info info;
    for (size_t i = 0; object_has_section_offsets(s) && object_section_info(s, i, &info); i++) {
        if (address - info.address < info.size && info.address > 0) {
            return address - info.address;
        }
    }
    return address;
}

static int print_facts(const char *path, const char *arch) {
    struct object *o = NULL;
    struct err e = {0};
    const struct object_slice *s = NULL;
    if (object_open(&o, path, &e) == ST_OK) {
        s = object_slice_by_arch(o, arch);
    }
    if (!s) {
        fprintf(stderr, "%s: no slice %s %s\n", path, arch, e.text);
        object_close(o);
        return 1;
    }
    char id[IMAGE_ID_TEXT];
    const struct object_symbol *symbols;
    const uint64_t *starts;
    size_t count = 0;
    printf("id %s\nbase %llx\n", image_id_text(object_slice_id(s), id),
           (unsigned long long)object_slice_base(s));
    struct object_section_info info;
    for (size_t i = 0; object_section_info(s, i, &info); i++) {
        printf("section %s %llx %llx\n", info.name, (unsigned long long)info.size,
               printed_address(s, info.address));
    }
    enum st st = object_symbols(s, &symbols, &count, &e);
    for (size_t i = 0; st == ST_OK && i < count; i++) {
        printf("symbol %llx %llx %s\n", printed_address(s, symbols[i].address),
               (unsigned long long)symbols[i].size, symbols[i].name);
    }
    st = object_function_starts(s, &starts, &count, &e);
    for (size_t i = 0; st == ST_OK && i < count; i++) {
        printf("start %llx\n", (unsigned long long)starts[i]);
    }
    object_close(o);
    return 0;
}

int main(int argc, char **argv) {
    if (argc == 2) {
        return print_archs(argv[1]);
    }
    if (argc == 3) {
        return print_facts(argv[1], argv[2]);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_fixture_has_the_architecture_and_id_of_the_manifest),
        cmocka_unit_test(symbols_answer_as_llvm_symbolizer_does_on_every_fixture),
        cmocka_unit_test(symbols_answer_as_llvm_symbolizer_does_on_third_party_files),
        cmocka_unit_test(the_packed_sections_of_a_go_binary_are_inflated),
        cmocka_unit_test(a_file_that_cannot_be_opened_is_an_error),
        cmocka_unit_test(a_text_file_is_no_object_file),
        cmocka_unit_test(the_same_debug_info_packed_or_plain_has_the_same_bytes),
        cmocka_unit_test(files_cut_anywhere_are_refused_or_read_within_their_bounds),
        cmocka_unit_test(several_threads_get_the_same_section_and_symbols),
        cmocka_unit_test(lack_of_memory_is_an_ordinary_error),
        cmocka_unit_test(what_failed_for_lack_of_memory_works_when_memory_is_back),
    };
    return cmocka_run_group_tests_name("object", tests, NULL, NULL);
}
