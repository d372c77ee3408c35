/* Tests frames whose return address is only in x30: of functions without rules, and of functions
 * with rules where x30 is not known, as of a thread that sleeps in a system call of a function that
 * stores nothing.
 */
#include "unwind/unwind_situation_test.h"

#include <sys/syscall.h>
#include <unistd.h>

/* Sends a signal to the thread itself; when the handler runs, the interrupted pc is in this
 * function. */
__asm__(".text\n"
        ".type leaf_call,%function\n"
        "leaf_call:\n"
        ".cfi_startproc\n"
        "mov x8,#131\n" /* tgkill */
        "svc #0\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size leaf_call,.-leaf_call\n");
long leaf_call(pid_t pid, pid_t tid, long signal_number) __attribute__((visibility("hidden")));

NOINLINE static void call_once(struct situation *s) {
    pid_t pid = getpid(), tid = (pid_t)syscall(SYS_gettid);
    leaf_call(pid, tid, SIGUSR1);
    s->sink++;
}

NOINLINE static void call_twice(struct situation *s) {
    pid_t pid = getpid(), tid = (pid_t)syscall(SYS_gettid);
    leaf_call(pid, tid, SIGUSR1);
    s->sink++;
    leaf_call(pid, tid, 0);
    s->sink++;
}

/* The caller is found by the call that leads to it, so this must be a direct call. */
NOINLINE static void name_once(struct situation *s) {
    call_once(s);
    s->sink++;
}

NOINLINE static void name_twice(struct situation *s) {
    call_twice(s);
    s->sink++;
}

/* Checks the stack with all registers, and then forgets all registers but pc and sp, as /proc gives
 * no others. */
static struct situation *forgetful(void (*leaf)(struct situation *)) {
    struct situation *s = new_situation(9, leaf);
    run(s, 0);
    unwind_now(s);
    if (!is_right(s)) {
        fail_with_frames(s);
    }
    assert_true(s->frames[0].function == (uint64_t)(uintptr_t)leaf_call);
    assert_true(s->frames[2].function == (uint64_t)(uintptr_t)leaf);
    struct cfi_registers known = {.known = 0};
    cfi_set_async(&known, CFI_PC, s->snap.regs.value[CFI_PC]);
    cfi_set_async(&known, CFI_SP, s->snap.regs.value[CFI_SP]);
    s->snap.regs = known;
    return s;
}

static void unknown_return_address_is_told_by_the_callers_code(void **state) {
    (void)state;
    struct situation *s = forgetful(name_once);
    uint64_t caller = s->frames[1].pc;
    size_t count = s->count;
    unwind_now(s);
#ifdef CALLERS_NEED_X29 /* callers may use x29, which is not known either */
    if (!is_right(s)) {
        assert_int_equal(s->end, UNWIND_REGISTER);
        assert_int_equal(s->count, 1);
        free(s);
        return;
    }
#endif
    if (!is_right(s)) {
        fail_with_frames(s);
    }
    assert_int_equal(s->count, count);
    assert_true(s->frames[1].pc == caller);
    free(s);
}

static void caller_with_two_such_calls_does_not_tell(void **state) {
    (void)state;
    struct situation *s = forgetful(name_twice);
    unwind_now(s);
    assert_int_equal(s->end, UNWIND_REGISTER);
    assert_int_equal(s->count, 1);
    free(s);
}

static void stack_without_the_caller_does_not_tell(void **state) {
    (void)state;
    struct situation *s = forgetful(name_once);
    memset(s->snap.copy, 0x41, 1024);
    unwind_now(s);
    assert_int_equal(s->end, UNWIND_REGISTER);
    assert_int_equal(s->count, 1);
    free(s);
}

/* ---- functions without rules ---- */

/* Each of these functions, in the middle of its code, sends a signal to the calling thread. */
#define BARE(name, prologue, epilogue)                                                             \
    __asm__(".text\n.type " #name ",%function\n" #name ":\n" prologue                              \
            "mov x8,#131\nsvc #0\n" epilogue ".size " #name ",.-" #name "\n");                     \
    long name(pid_t pid, pid_t tid, long signal_number) __attribute__((visibility("hidden")))

BARE(bare_plain, "", "ret\n");
BARE(bare_signed, "paciasp\n", "autiasp\nret\n");
BARE(bare_not_yet, "", /* nothing is stored yet */
     "stp x29,x30,[sp,#-32]!\nmov x29,sp\nstr x19,[sp,#16]\nmov x19,#0\n"
     "ldr x19,[sp,#16]\nldp x29,x30,[sp],#32\nret\n");
BARE(bare_pushing, "stp x19,x20,[sp,#-48]!\nstr d8,[sp,#16]\nstr x21,[sp,#24]\nmov x20,#7\n",
     "cbz x20,1f\nldr d8,[sp,#16]\nb 2f\n1: nop\n2: ldr x21,[sp,#24]\nldp x19,x20,[sp],#48\nret\n");
BARE(bare_vectors, "stp d8,d9,[sp,#-64]!\nstp q10,q11,[sp,#16]\nstr x19,[sp,#-16]!\nmov x19,#3\n",
     "ldr x19,[sp],#16\nldp q10,q11,[sp,#16]\nldp d8,d9,[sp],#64\nret\n");
BARE(bare_framed,
     "stp x29,x30,[sp,#-48]!\nmov x29,sp\nstp x19,x20,[sp,#16]\nsub sp,sp,#1,lsl #12\n"
     "sub sp,sp,#0x120\n",
     "add sp,sp,#0x120\nadd sp,sp,#1,lsl #12\nldp x19,x20,[sp,#16]\nldp x29,x30,[sp],#48\nret\n");
BARE(bare_half_framed, "stp x29,x30,[sp,#-16]!\nmov x29,#1\n", "ldp x29,x30,[sp],#16\nret\n");
BARE(bare_aligned, "mov x9,sp\nand sp,x9,#-4096\nstr x9,[sp,#-16]!\n", /* no constant shows by how
                                                                          much sp is lowered */
     "ldr x9,[sp],#16\nmov sp,x9\nret\n");
BARE(bare_unending, "str x19,[sp,#-32]!\n", "cbnz xzr,3f\nldr x19,[sp],#32\nret\n3: b 3b\n");

static long (*bare)(pid_t, pid_t, long);

NOINLINE static void call_bare(struct situation *s) {
    pid_t pid = getpid(), tid = (pid_t)syscall(SYS_gettid);
    bare(pid, tid, SIGUSR1);
    s->sink++;
}

static void function_without_rules_is_left_by_the_way_that_its_code_shows(void **state) {
    static long (*const functions[])(pid_t, pid_t, long) = {
        bare_plain,  bare_signed,      bare_not_yet, bare_pushing, bare_vectors,
        bare_framed, bare_half_framed, bare_aligned, bare_unending};
    (void)state;
    for (unsigned i = 0; i < sizeof functions / sizeof *functions; i++) {
        struct situation *s = new_situation(9, call_bare);
        bare = functions[i];
        run(s, 0);
        unwind_now(s);
        assert_true(s->frames[0].function == 0);
        assert_true(s->count > 1 && s->frames[1].function == (uint64_t)(uintptr_t)call_bare);
        /* If the caller of one of these two addresses its frame through x29, no register shows
         * where that frame is; the stack then ends there, without a wrong frame. */
        bool lost = s->end == UNWIND_REGISTER && s->count == 2 &&
                    (functions[i] == bare_aligned || functions[i] == bare_half_framed);
        if (!is_right(s) && !lost) {
            print_message("function %u\n", i);
            fail_with_frames(s);
        }
        free(s);
    }
}

/* The first entry of a linkage table, which pushes two words, and the next entry. */
__asm__(".text\n"
        ".type table,%function\n"
        "table: stp x16,x30,[sp,#-16]!\n"
        "adrp x16,table\nldr x17,[x16,#16]\nadd x16,x16,#16\nbr x17\nnop\nnop\nnop\n"
        "adrp x16,table\nldr x17,[x16,#24]\nadd x16,x16,#24\nbr x17\n"
        ".size table,.-table\n");
extern const char table[] __attribute__((visibility("hidden")));

static void stack_interrupted_in_a_linkage_table_is_right(void **state) {
    (void)state;
    struct situation *s = new_situation(9, call_bare);
    bare = bare_plain;
    run(s, 0);
    uint64_t sp = s->snap.regs.value[CFI_SP];
    for (unsigned i = 0; i < 12; i++) {
        if (i >= 5 && i < 8) {
            continue; /* these instructions are never executed */
        }
        cfi_set_async(&s->snap.regs, CFI_PC, (uint64_t)(uintptr_t)table + 4 * i);
        cfi_set_async(&s->snap.regs, CFI_SP, i > 0 && i < 5 ? sp - 16 : sp);
        unwind_now(s);
        if (!is_right(s)) {
            print_message("instruction %u\n", i);
            fail_with_frames(s);
        }
    }
    free(s);
}

/* A resolver as glibc has it, with rules that at first do not count the two words that are
 * pushed. */
__asm__(".text\n"
        ".type resolver,%function\n"
        "resolver:\n"
        ".cfi_startproc\n"
        "hint #34\n"
        ".cfi_rel_offset x30,8\n"
        "stp x8,x9,[sp,#-208]!\n"
        ".cfi_adjust_cfa_offset 208\n"
        ".cfi_rel_offset x8,0\n"
        ".cfi_rel_offset x9,8\n"
        "stp x6,x7,[sp,#16]\n"
        "ldp x6,x7,[sp,#16]\n"
        "ldp x8,x9,[sp],#208\n"
        ".cfi_adjust_cfa_offset -208\n"
        "ldp x17,x30,[sp],#16\n"
        ".cfi_adjust_cfa_offset -16\n"
        "br x16\n"
        ".cfi_endproc\n"
        ".size resolver,.-resolver\n");
extern const char resolver[] __attribute__((visibility("hidden")));

static void put_word(struct situation *s, uint64_t at, uint64_t word) {
    assert_true(at >= s->snap.stack.lo && at + 8 <= s->snap.stack.hi);
    memcpy(s->snap.copy + (at - s->snap.stack.lo), &word, sizeof word);
}

static void stack_interrupted_in_the_resolver_is_right(void **state) {
    enum { INSTRUCTIONS = 7, X16 = 16, X17 = 17, X30 = 30 };
    static const unsigned below[INSTRUCTIONS] = {16, 16, 224, 224, 224, 16, 0};
    (void)state;
    struct situation *s = new_situation(9, call_bare);
    bare = bare_framed;
    run(s, 0);
    unwind_now(s);
    assert_true(is_right(s));
    uint64_t sp = s->frames[1].sp, returns = s->frames[1].pc;
    uint64_t slots = (uint64_t)(uintptr_t)&bare; /* stands for the address of the table's slots; any
                                                    address will do */
    put_word(s, sp - 16, slots + 64);
    put_word(s, sp - 8, returns);
    /* The caller's x29, which bare_framed() has stored. */
    uint64_t fp;
    assert_true(cfi_load_async(&s->snap.stack, s->snap.regs.value[CFI_FP], &fp));
    for (unsigned i = 0; i < INSTRUCTIONS; i++) {
        struct cfi_registers *regs = &s->snap.regs;
        cfi_set_async(regs, CFI_PC, (uint64_t)(uintptr_t)resolver + 4 * i);
        cfi_set_async(regs, CFI_SP, sp - below[i]);
        cfi_set_async(regs, CFI_FP, fp);
        cfi_set_async(regs, X16, slots + 16);
        cfi_set_async(regs, X17, (uint64_t)(uintptr_t)resolver);
        cfi_set_async(regs, X30, returns);
        unwind_now(s);
        if (!is_right(s) || s->frames[1].pc != returns || s->frames[1].sp != sp) {
            print_message("instruction %u\n", i);
            fail_with_frames(s);
        }
    }
    free(s);
}

/* A function with rules whose x29 does not point to its frame record, but to words that look like
 * one. */
__asm__(".text\n"
        ".type without_record,%function\n"
        "without_record:\n"
        ".cfi_startproc\n"
        "stp x29,x30,[sp,#-16]!\n"
        ".cfi_def_cfa_offset 16\n"
        ".cfi_offset x29,-16\n"
        ".cfi_offset x30,-8\n"
        "mov x29,x3\n"
        "bl bare_aligned\n"
        "ldp x29,x30,[sp],#16\n"
        ".cfi_restore x29\n"
        ".cfi_restore x30\n"
        ".cfi_def_cfa_offset 0\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size without_record,.-without_record\n");
void without_record(pid_t pid, pid_t tid, long signal_number, const uint64_t *looks_like_record)
    __attribute__((visibility("hidden")));

NOINLINE static void call_without_record(struct situation *s) {
    uint64_t pair[2] = {(uint64_t)(uintptr_t)pair, (uint64_t)(uintptr_t)call_once + 8};
    pid_t pid = getpid(), tid = (pid_t)syscall(SYS_gettid);
    without_record(pid, tid, SIGUSR1, pair);
    s->sink += pair[1];
}

static void register_that_points_to_no_frame_record_is_not_taken_for_one(void **state) {
    (void)state;
    struct situation *s = new_situation(9, call_without_record);
    run(s, 0);
    unwind_now(s);
    assert_int_equal(s->end, UNWIND_REGISTER);
    assert_int_equal(s->count, 2);
    assert_true(s->frames[1].function == (uint64_t)(uintptr_t)without_record);
    free(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unknown_return_address_is_told_by_the_callers_code),
        cmocka_unit_test(caller_with_two_such_calls_does_not_tell),
        cmocka_unit_test(stack_without_the_caller_does_not_tell),
        cmocka_unit_test(function_without_rules_is_left_by_the_way_that_its_code_shows),
        cmocka_unit_test(stack_interrupted_in_a_linkage_table_is_right),
        cmocka_unit_test(stack_interrupted_in_the_resolver_is_right),
        cmocka_unit_test(register_that_points_to_no_frame_record_is_not_taken_for_one),
    };
    return cmocka_run_group_tests_name("unwind_link_aarch64", tests, set_up, tear_down);
}
