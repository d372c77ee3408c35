/* Tests the reading of the records of a perf ring, whole and damaged ones. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <string.h>
#include <cmocka.h>

#include <linux/perf_event.h>

#include "attach/perf_record.h"

/* A record that is being built. */
struct made {
    uint8_t bytes[8192];
    size_t size;
};

static void put(struct made *m, const void *bytes, size_t size) {
    memcpy(m->bytes + m->size, bytes, size);
    m->size += size;
}

static void put32(struct made *m, uint32_t value) {
    put(m, &value, sizeof value);
}

static void put64(struct made *m, uint64_t value) {
    put(m, &value, sizeof value);
}

static void begin_made(struct made *m, uint32_t type, uint16_t flags) {
    uint16_t words[2] = {flags, 0};
    m->size = 0;
    put32(m, type);
    put(m, words, sizeof words);
}

static void end_made(struct made *m) {
    uint16_t size = (uint16_t)m->size;
    memcpy(m->bytes + 6, &size, sizeof size);
}

/* Samples of event 77 have all members; those of events 78 to 80 have fewer. */
static const struct perf_layouts layouts = {
    .event = {77, 78, 79, 80},
    .layout = {PERF_LAYOUT_WHOLE, PERF_LAYOUT_CALLER, PERF_LAYOUT_KEPT, PERF_LAYOUT_TIME},
    .count = 4};

static unsigned registers_asked(enum perf_layout layout) {
    unsigned n = 0;
    for (uint64_t mask = perf_record_registers(layout); mask; mask &= mask - 1) {
        n++;
    }
    return n;
}

/* Builds a sample of an event, in which the register that is number k for the kernel has the value
 * 1000 + k. stack: size of its copy of the stack in bytes; written: how many of these bytes count
 * as written. */
static void make_event(struct made *m, uint64_t event, uint64_t abi, uint64_t stack,
                       uint64_t written) {
    static const uint8_t trace[20] = {1, 2, 3};
    static const uint8_t zeros[4096];
    enum perf_layout layout = layouts.layout[event - 77];
    uint64_t members = perf_record_members(layout);
    begin_made(m, PERF_RECORD_SAMPLE, 0);
    put64(m, event);
    put64(m, 123456789);
    if (members & PERF_SAMPLE_RAW) {
        put32(m, sizeof trace);
        put(m, trace, sizeof trace);
    }
    if (members & PERF_SAMPLE_REGS_USER) {
        put64(m, abi);
    }
    for (unsigned i = 0; abi && i < 64; i++) {
        if (perf_record_registers(layout) >> i & 1) {
            put64(m, 1000 + i);
        }
    }
    if (members & PERF_SAMPLE_STACK_USER) {
        put64(m, stack);
    }
    if (members & PERF_SAMPLE_STACK_USER && stack > 0) {
        put(m, zeros, stack);
        put64(m, written);
    }
    end_made(m);
}

static void make_sample(struct made *m, uint64_t abi, uint64_t stack, uint64_t written) {
    make_event(m, 77, abi, stack, written);
}

static void sample_has_its_members(void **state) {
    (void)state;
    struct made m;
    struct perf_record r;
    make_sample(&m, PERF_SAMPLE_REGS_ABI_64, 512, 100);
    assert_int_equal(perf_record_size(m.bytes), m.size);
    assert_true(perf_record_read(m.bytes, m.size, &layouts, &r));
    assert_int_equal(r.kind, PERF_RECORD_IS_SAMPLE);
    assert_int_equal(r.event, 77);
    assert_int_equal(r.time_ns, 123456789);
    assert_int_equal(r.trace_size, 0);
    assert_int_equal(r.stack_size, 96); /* the 100 bytes that were written, rounded down to whole
                                           words */
    assert_int_equal(registers_asked(PERF_LAYOUT_WHOLE), CFI_REGISTERS);
#if defined(__x86_64__)
    assert_int_equal(r.regs.value[CFI_PC], 1008);
    assert_int_equal(r.regs.value[CFI_SP], 1007);
    assert_int_equal(r.regs.value[CFI_FP], 1006);
    assert_int_equal(r.regs.value[CFI_RDX], 1003);
    assert_int_equal(r.regs.value[CFI_R15], 1023);
#endif
}

static void begin_of_a_wait_has_what_leads_to_its_caller(void **state) {
    (void)state;
    struct made m;
    struct perf_record r;
    make_event(&m, 78, PERF_SAMPLE_REGS_ABI_64, 512, 512);
    assert_true(perf_record_read(m.bytes, m.size, &layouts, &r));
    assert_int_equal(r.trace_size, 20);
    assert_int_equal(r.trace[2], 3);
    assert_int_equal(r.stack_size, 512);
    assert_true(r.regs.known >> CFI_SP & 1 && r.regs.known >> CFI_FP & 1);
    assert_false(r.regs.known & 1); /* the register with DWARF's number 0 */
    assert_true(registers_asked(PERF_LAYOUT_CALLER) <= 4);
}

static void sleep_has_the_registers_that_are_kept(void **state) {
    (void)state;
    struct made m;
    struct perf_record r;
    make_event(&m, 79, PERF_SAMPLE_REGS_ABI_64, 0, 0);
    assert_true(perf_record_read(m.bytes, m.size, &layouts, &r));
    assert_true((r.regs.known & ARCH_KEPT_MASK) == ARCH_KEPT_MASK);
    assert_int_equal(r.stack_size, 0);
}

static void end_of_a_wait_has_its_time(void **state) {
    (void)state;
    struct made m;
    struct perf_record r;
    make_event(&m, 80, 0, 0, 0);
    assert_int_equal(m.size, PERF_RECORD_HEADER + 16);
    assert_true(perf_record_read(m.bytes, m.size, &layouts, &r));
    assert_int_equal(r.time_ns, 123456789);
    assert_int_equal(r.regs.known, 0);
    assert_int_equal(perf_record_registers(PERF_LAYOUT_TIME), 0);
}

static void sample_of_an_event_that_is_not_known_is_passed_over(void **state) {
    (void)state;
    struct made m;
    struct perf_record r;
    static const struct perf_layouts none = {.count = 0};
    make_event(&m, 80, 0, 0, 0);
    assert_true(perf_record_read(m.bytes, m.size, &none, &r));
    assert_int_equal(r.kind, PERF_RECORD_IS_OTHER);
}

static void thread_without_user_registers_has_none(void **state) {
    (void)state;
    struct made m;
    struct perf_record r;
    make_sample(&m, PERF_SAMPLE_REGS_ABI_NONE, 0, 0);
    assert_true(perf_record_read(m.bytes, m.size, &layouts, &r));
    assert_int_equal(r.regs.known, 0);
    assert_int_equal(r.stack_size, 0);
}

static void registers_of_a_32_bit_program_are_not_taken_for_ours(void **state) {
    (void)state;
    struct made m;
    struct perf_record r;
    make_sample(&m, PERF_SAMPLE_REGS_ABI_32, 0, 0);
    assert_true(perf_record_read(m.bytes, m.size, &layouts, &r));
    assert_int_equal(r.regs.known, 0);
}

static void stack_never_is_more_than_its_room(void **state) {
    (void)state;
    struct made m;
    struct perf_record r;
    make_sample(&m, PERF_SAMPLE_REGS_ABI_64, 64, UINT64_MAX);
    assert_true(perf_record_read(m.bytes, m.size, &layouts, &r));
    assert_int_equal(r.stack_size, 64);
}

static void record_cut_at_any_byte_is_refused(void **state) {
    (void)state;
    struct made m;
    struct perf_record r;
    make_sample(&m, PERF_SAMPLE_REGS_ABI_64, 256, 256);
    for (size_t size = 0; size < m.size; size++) {
        assert_false(perf_record_read(m.bytes, size, &layouts, &r));
    }
}

static void lost_records_are_counted(void **state) {
    (void)state;
    struct made m;
    struct perf_record r;
    begin_made(&m, PERF_RECORD_LOST, 0);
    put64(&m, 77);
    put64(&m, 5);
    end_made(&m);
    assert_true(perf_record_read(m.bytes, m.size, &layouts, &r));
    assert_int_equal(r.kind, PERF_RECORD_IS_LOST);
    assert_int_equal(r.lost, 5);
}

static void only_an_exec_is_another_program(void **state) {
    (void)state;
    struct made m;
    struct perf_record r;
    for (int exec = 0; exec < 2; exec++) {
        begin_made(&m, PERF_RECORD_COMM, exec ? PERF_RECORD_MISC_COMM_EXEC : 0);
        put64(&m, 0);
        end_made(&m);
        assert_true(perf_record_read(m.bytes, m.size, &layouts, &r));
        assert_int_equal(r.kind, exec ? PERF_RECORD_IS_EXEC : PERF_RECORD_IS_OTHER);
    }
}

static void end_of_a_thread_has_its_time(void **state) {
    (void)state;
    struct made m;
    struct perf_record r;
    begin_made(&m, PERF_RECORD_EXIT, 0);
    put64(&m, 7);
    put64(&m, 8);
    put64(&m, 123456789);
    end_made(&m);
    assert_true(perf_record_read(m.bytes, m.size, &layouts, &r));
    assert_int_equal(r.kind, PERF_RECORD_IS_END);
    assert_int_equal(r.time_ns, 123456789);
    begin_made(&m, PERF_RECORD_EXIT, 0);
    put64(&m, 7);
    end_made(&m);
    assert_false(perf_record_read(m.bytes, m.size, &layouts, &r));
}

static void size_that_no_record_has_is_refused(void **state) {
    (void)state;
    uint8_t header[PERF_RECORD_HEADER] = {0};
    assert_int_equal(perf_record_size(header), 0);
    header[6] = 9;
    assert_int_equal(perf_record_size(header), 0);
    header[6] = 8;
    assert_int_equal(perf_record_size(header), 8);
}

int main(void) {
#define T(name) cmocka_unit_test(name)
    const struct CMUnitTest tests[] = {
        T(sample_has_its_members),
        T(begin_of_a_wait_has_what_leads_to_its_caller),
        T(sleep_has_the_registers_that_are_kept),
        T(end_of_a_wait_has_its_time),
        T(sample_of_an_event_that_is_not_known_is_passed_over),
        T(thread_without_user_registers_has_none),
        T(registers_of_a_32_bit_program_are_not_taken_for_ours),
        T(stack_never_is_more_than_its_room),
        T(record_cut_at_any_byte_is_refused),
        T(lost_records_are_counted),
        T(only_an_exec_is_another_program),
        T(end_of_a_thread_has_its_time),
        T(size_that_no_record_has_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
