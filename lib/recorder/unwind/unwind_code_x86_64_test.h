/* Assembly code of x86-64 for the unwinder's tests, because no compiler is certain to make such
 * code. */
#ifndef STALLREC_UNWIND_CODE_X86_64_TEST_H
#define STALLREC_UNWIND_CODE_X86_64_TEST_H

/* A function without rules. */
#define BARE_LEAF                                                                                  \
    ".text\n"                                                                                      \
    ".type bare_leaf,@function\n"                                                                  \
    "bare_leaf: nop\n"                                                                             \
    "bare_leaf_body: nop\n"                                                                        \
    "ret\n"                                                                                        \
    ".size bare_leaf,.-bare_leaf\n"

/* Two functions that address their frame through rbp, whatever the compiler's flags. leaf_framed
 * has a plain prologue; that of leaf_moving does not show how large the frame is. */
#define FRAMED_LEAVES                                                                              \
    ".text\n"                                                                                      \
    ".type leaf_framed,@function\n"                                                                \
    "leaf_framed:\n"                                                                               \
    ".cfi_startproc\n"                                                                             \
    "push %rbp\n"                                                                                  \
    ".cfi_def_cfa_offset 16\n"                                                                     \
    ".cfi_offset %rbp,-16\n"                                                                       \
    "mov %rsp,%rbp\n"                                                                              \
    ".cfi_def_cfa_register %rbp\n"                                                                 \
    "push %rbx\n"                                                                                  \
    "mov %rdi,%rbx\n"                                                                              \
    ".cfi_offset %rbx,-24\n"                                                                       \
    "sub $0x1c8,%rsp\n"                                                                            \
    "call leaf_raise_hidden\n"                                                                     \
    "mov -8(%rbp),%rbx\n"                                                                          \
    "leave\n"                                                                                      \
    ".cfi_def_cfa %rsp,8\n"                                                                        \
    "ret\n"                                                                                        \
    ".cfi_endproc\n"                                                                               \
    ".size leaf_framed,.-leaf_framed\n"                                                            \
    ".type leaf_moving,@function\n"                                                                \
    "leaf_moving:\n"                                                                               \
    ".cfi_startproc\n"                                                                             \
    "push %rbp\n"                                                                                  \
    ".cfi_def_cfa_offset 16\n"                                                                     \
    ".cfi_offset %rbp,-16\n"                                                                       \
    "mov %rsp,%rbp\n"                                                                              \
    ".cfi_def_cfa_register %rbp\n"                                                                 \
    "mov $0x345,%eax\n"                                                                            \
    "sub %rax,%rsp\n"                                                                              \
    "and $-32,%rsp\n"                                                                              \
    "call leaf_raise_hidden\n"                                                                     \
    "leave\n"                                                                                      \
    ".cfi_def_cfa %rsp,8\n"                                                                        \
    "ret\n"                                                                                        \
    ".cfi_endproc\n"                                                                               \
    ".size leaf_moving,.-leaf_moving\n"

/* Two functions without rules that keep a frame pointer, one of which calls the other, as in an
 * interpreter that was compiled without rules and linked in. */
#define RULELESS_CALLS                                                                             \
    ".text\n"                                                                                      \
    ".type ruleless_outer,@function\n"                                                             \
    "ruleless_outer:\n"                                                                            \
    "push %rbp\n"                                                                                  \
    "mov %rsp,%rbp\n"                                                                              \
    "sub $0x20,%rsp\n"                                                                             \
    "call ruleless_inner\n"                                                                        \
    "leave\n"                                                                                      \
    "ret\n"                                                                                        \
    ".size ruleless_outer,.-ruleless_outer\n"                                                      \
    ".type ruleless_inner,@function\n"                                                             \
    "ruleless_inner:\n"                                                                            \
    "push %rbp\n"                                                                                  \
    "mov %rsp,%rbp\n"                                                                              \
    "push %rdi\n"                                                                                  \
    "sub $0x48,%rsp\n"                                                                             \
    "call leaf_raise_hidden\n"                                                                     \
    "leave\n"                                                                                      \
    "ret\n"                                                                                        \
    ".size ruleless_inner,.-ruleless_inner\n"

#endif
