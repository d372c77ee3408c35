/* Tests, on bytes of x86-64 code, which prologues and calls are counted, and which code makes the
 * answer unknown. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "unwind/prologue.h"

enum { BASE = 0x400000, UNKNOWN = -1 };
#define BYTES(literal) (literal), sizeof(literal) - 1

struct code_sample {
    const char *name, *code;
    size_t size;
    long expected; /* bytes of the frame, or an enum prologue_call */
};

/* The module's only segment, with an exact copy of the code, so that a sanitizer sees a byte that
 * is read behind it. */
static struct cfi_module module_of(const struct code_sample *s) {
    uint8_t *copy = malloc(s->size);
    assert_non_null(copy);
    memcpy(copy, s->code, s->size);
    return (struct cfi_module){.segments = {{BASE, copy, s->size, true}}, .segment_count = 1};
}

static void release_module(struct cfi_module *m) {
    free((void *)(uintptr_t)m->segments[0].bytes);
}

static void frames_are_counted_from_the_prologue(void **state) {
    static const struct code_sample samples[] = {
        {"a small frame", BYTES("\x55\x48\x89\xe5\x48\x83\xec\x20"), 32},
        {"endbr64, the other mov", BYTES("\xf3\x0f\x1e\xfa\x55\x48\x8b\xec\x48\x83\xec\x08"), 8},
        {"a large frame", BYTES("\x55\x48\x89\xe5\x48\x81\xec\x00\x10\0\0"), 4096},
        {"pushes", BYTES("\x55\x48\x89\xe5\x41\x57\x53\x48\x83\xec\x18"), 40},
        {"mov between them", BYTES("\x55\x48\x89\xe5\x53\x89\xfb\x48\x83\xec\x18"), 32},
        {"a load", BYTES("\x55\x48\x89\xe5\x48\x8b\x5f\x08\x48\x83\xec\x18"), 24},
        {"a load by an index", BYTES("\x55\x48\x89\xe5\x48\x8b\x1c\xcf\x48\x83\xec\x18"), 24},
        {"a load by an index alone",
         BYTES("\x55\x48\x89\xe5\x48\x8b\x1c\xcd\1\2\3\4\x48\x83\xec\x18"), 24},
        {"lea, relative", BYTES("\x55\x48\x89\xe5\x48\x8d\x05\1\2\3\4\x48\x83\xec\x18"), 24},
        {"test", BYTES("\x55\x48\x89\xe5\x85\xff\x48\x83\xec\x18"), 24},
        {"xor", BYTES("\x55\x48\x89\xe5\x31\xc0\x33\xd2\x48\x83\xec\x18"), 24},
        {"a store far below", BYTES("\x55\x48\x89\xe5\x89\xbd\0\xff\xff\xff\x48\x83\xec\x18"), 24},
        {"no frame pointer", BYTES("\x53\x48\x83\xec\x18"), UNKNOWN},
        {"another mov", BYTES("\x55\x48\x89\xe0\x48\x83\xec\x18"), UNKNOWN},
        {"no subtraction", BYTES("\x55\x48\x89\xe5\xc3"), UNKNOWN},
        {"an end after REX", BYTES("\x55\x48\x89\xe5\x48"), UNKNOWN},
        {"an end before SIB", BYTES("\x55\x48\x89\xe5\x8b\x1c"), UNKNOWN},
        {"an end in the displacement", BYTES("\x55\x48\x89\xe5\x8b\x9f\1\2"), UNKNOWN},
        {"mov to rbp", BYTES("\x55\x48\x89\xe5\x48\x8b\x2f\x48\x83\xec\x18"), UNKNOWN},
        {"xor to rsp", BYTES("\x55\x48\x89\xe5\x31\xc4\x48\x83\xec\x18"), UNKNOWN},
        {"sub of a register from rsp later", BYTES("\x55\x48\x89\xe5\x48\x83\xec\x18\x48\x29\xc4"),
         UNKNOWN},
        {"lea to rsp later", BYTES("\x55\x48\x89\xe5\x48\x83\xec\x18\x48\x8d\x65\x08"), UNKNOWN},
        {"a load of r12 later", BYTES("\x55\x48\x89\xe5\x48\x83\xec\x18\x4c\x8b\x65\x08"), 24},
    };
    (void)state;
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        const struct code_sample *s = &samples[i];
        struct cfi_module m = module_of(s);
        uint64_t size = 0;
        bool known = prologue_frame_size_async(&m, BASE, s->size, &size);
        if (known != (s->expected != UNKNOWN) || (known && size != (uint64_t)s->expected)) {
            fail_msg("%s: %d, %llu", s->name, known, (unsigned long long)size);
        }
        assert_false(prologue_frame_size_async(&m, BASE, s->size + 1, &size)); /* not all there */
        release_module(&m);
    }
}

static void calls_are_told_by_their_last_byte(void **state) {
    static const struct code_sample samples[] = {
        {"direct", BYTES("\x90\x90\xe8\x10\0\0\0"), PROLOGUE_DIRECT_CALL},
        {"by a register", BYTES("\x90\x90\x90\x90\x90\xff\xd0"), PROLOGUE_INDIRECT_CALL},
        {"by memory", BYTES("\x90\x90\x90\x90\xff\x50\x08"), PROLOGUE_INDIRECT_CALL},
        {"by a table", BYTES("\xff\x14\xc5\x00\x10\x40\0"), PROLOGUE_INDIRECT_CALL},
        {"relative", BYTES("\x90\xff\x15\1\2\3\4"), PROLOGUE_INDIRECT_CALL},
        {"a jump", BYTES("\x90\x90\x90\x90\x90\xff\xe0"), PROLOGUE_NO_CALL},
        {"nothing", BYTES("\x90\x90\x90\x90\x90\x90\x90"), PROLOGUE_NO_CALL},
        {"too little", BYTES("\xff\xd0"), PROLOGUE_NO_CALL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        const struct code_sample *s = &samples[i];
        struct cfi_module m = module_of(s);
        uint64_t target = 0, pc = BASE + s->size;
        enum prologue_call kind = prologue_call_before_async(&m, pc, &target);
        if ((long)kind != s->expected || target != (kind == PROLOGUE_DIRECT_CALL ? pc + 0x10 : 0)) {
            fail_msg("%s: %d, %llx", s->name, (int)kind, (unsigned long long)target);
        }
        release_module(&m);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_are_counted_from_the_prologue),
        cmocka_unit_test(calls_are_told_by_their_last_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
