/* Tests the reading of ELF files in memory: this program's own, and damaged ones. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>
#include <cmocka.h>

#include "attach/remote_images.h"
#include "attach/remote_elf.h"

static bool read_own(void *arg, uint64_t address, void *to, size_t size) {
    (void)arg;
    return proc_read_memory_async(getpid(), address, to, size);
}

/* The image is the vdso, which has notes, frame information and symbols in every process. */
static void image_in_memory_has_frames_and_symbols(void **state) {
    (void)state;
    struct remote_elf elf;
    char name[64];
    uint64_t load = getauxval(AT_SYSINFO_EHDR);
    if (load == 0) {
        skip();
    }
    assert_true(remote_elf_read(read_own, NULL, load, &elf));
    assert_int_equal(elf.load, load);
    assert_true(elf.end > load);
    assert_true(elf.frame_header_size > 0 && elf.frame_end > elf.frame_header);
    unsigned named = 0;
    for (uint64_t at = load; at < elf.end; at += 16) {
        remote_elf_symbol(read_own, NULL, &elf, at, name, sizeof name);
        named += strstr(name, "clock_gettime") != NULL;
    }
    assert_true(named > 0);
}

static void header_with_any_byte_changed_is_read_or_refused(void **state) {
    (void)state;
    struct remote_elf elf;
    enum { SIZE = 4096 };
    static uint8_t page[SIZE] __attribute__((aligned(SIZE)));
    if (!read_own(NULL, getauxval(AT_SYSINFO_EHDR), page, sizeof page)) {
        skip();
    }
    for (size_t i = 0; i < 1024; i++) {
        uint8_t before = page[i];
        page[i] ^= 0xff;
        if (remote_elf_read(read_own, NULL, (uint64_t)(uintptr_t)page, &elf)) {
            assert_true(elf.end > elf.load && elf.id_size <= REC_IMAGE_ID_MAX);
        }
        page[i] = before;
    }
}

static void own_images_have_paths_and_ids(void **state) {
    (void)state;
    struct remote_process self;
    struct rec_image image;
    assert_true(remote_process_open(&self, getpid()));
    struct remote_images *images = remote_images_new(&self);
    assert_non_null(images);
    assert_true(remote_images_refresh(images));
    assert_true(
        remote_images_find(images, (uint64_t)(uintptr_t)own_images_have_paths_and_ids, &image));
    assert_true(image.in_app);
    assert_non_null(strstr(image.path, "remote_elf_test"));
    uint64_t code = (uint64_t)(uintptr_t)getenv;
    assert_true(remote_images_find(images, code, &image));
    assert_true(code - image.load < image.size);
    char name[64];
    remote_images_symbol(images, code, name, sizeof name);
    assert_true(*name == '\0' || strstr(name, "getenv") != NULL);
    struct dynamic_symbol symbols[] = {{.name = "getenv"}, {.name = "qsort"}, {.name = "no such"}};
    assert_true(remote_images_symbols(images, symbols, 3));
    assert_int_equal(symbols[0].address, code);
    assert_true(symbols[0].size > 0 && symbols[1].address != 0);
    assert_int_equal(symbols[2].address, 0);
    struct dynamic_symbol none = {.name = "not_in_any_image"};
    assert_false(remote_images_symbols(images, &none, 1));
    uint64_t stack = (uint64_t)(uintptr_t)&image;
    assert_false(remote_images_find(images, stack, &image));
    remote_images_free(images);
    remote_process_close(&self);
}

int main(void) {
#define T(name) cmocka_unit_test(name)
    const struct CMUnitTest tests[] = {
        T(image_in_memory_has_frames_and_symbols),
        T(header_with_any_byte_changed_is_read_or_refused),
        T(own_images_have_paths_and_ids),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
