/* Assembly code of AArch64 for the unwinder's tests, because no compiler is certain to make such
 * code. */
#ifndef STALLREC_UNWIND_CODE_AARCH64_TEST_H
#define STALLREC_UNWIND_CODE_AARCH64_TEST_H

/* A function without rules. */
#define BARE_LEAF                                                                                  \
    ".text\n"                                                                                      \
    ".type bare_leaf,%function\n"                                                                  \
    "bare_leaf: nop\n"                                                                             \
    "bare_leaf_body: nop\n"                                                                        \
    "ret\n"                                                                                        \
    ".size bare_leaf,.-bare_leaf\n"

/* Two functions that address their frame through x29, whatever the compiler's flags. leaf_framed
 * has a plain prologue; that of leaf_moving does not show how large the frame is. */
#define FRAMED_LEAVES                                                                              \
    ".text\n"                                                                                      \
    ".type leaf_framed,%function\n"                                                                \
    "leaf_framed:\n"                                                                               \
    ".cfi_startproc\n"                                                                             \
    "sub sp,sp,#0x1d0\n"                                                                           \
    ".cfi_def_cfa_offset 0x1d0\n"                                                                  \
    "stp x29,x30,[sp,#0x1c0]\n"                                                                    \
    ".cfi_offset x29,-16\n"                                                                        \
    ".cfi_offset x30,-8\n"                                                                         \
    "add x29,sp,#0x1c0\n"                                                                          \
    ".cfi_def_cfa x29,16\n"                                                                        \
    "bl leaf_raise_hidden\n"                                                                       \
    "nop\n"                                                                                        \
    ".cfi_def_cfa sp,0x1d0\n"                                                                      \
    "ldp x29,x30,[sp,#0x1c0]\n"                                                                    \
    ".cfi_restore x29\n"                                                                           \
    ".cfi_restore x30\n"                                                                           \
    "add sp,sp,#0x1d0\n"                                                                           \
    ".cfi_def_cfa_offset 0\n"                                                                      \
    "ret\n"                                                                                        \
    ".cfi_endproc\n"                                                                               \
    ".size leaf_framed,.-leaf_framed\n"                                                            \
    ".type leaf_moving,%function\n"                                                                \
    "leaf_moving:\n"                                                                               \
    ".cfi_startproc\n"                                                                             \
    "stp x29,x30,[sp,#-16]!\n"                                                                     \
    ".cfi_def_cfa_offset 16\n"                                                                     \
    ".cfi_offset x29,-16\n"                                                                        \
    ".cfi_offset x30,-8\n"                                                                         \
    "mov x29,sp\n"                                                                                 \
    ".cfi_def_cfa_register x29\n"                                                                  \
    "mov x9,#0x340\n"                                                                              \
    "sub sp,sp,x9\n"                                                                               \
    "bl leaf_raise_hidden\n"                                                                       \
    "nop\n"                                                                                        \
    "mov sp,x29\n"                                                                                 \
    ".cfi_def_cfa_register sp\n"                                                                   \
    "ldp x29,x30,[sp],#16\n"                                                                       \
    ".cfi_restore x29\n"                                                                           \
    ".cfi_restore x30\n"                                                                           \
    ".cfi_def_cfa_offset 0\n"                                                                      \
    "ret\n"                                                                                        \
    ".cfi_endproc\n"                                                                               \
    ".size leaf_moving,.-leaf_moving\n"

/* Two functions without rules that keep a frame pointer, one of which calls the other, as in an
 * interpreter that was compiled without rules and linked in. */
#define RULELESS_CALLS                                                                             \
    ".text\n"                                                                                      \
    ".type ruleless_outer,%function\n"                                                             \
    "ruleless_outer:\n"                                                                            \
    "stp x29,x30,[sp,#-48]!\n"                                                                     \
    "mov x29,sp\n"                                                                                 \
    "bl ruleless_inner\n"                                                                          \
    "ldp x29,x30,[sp],#48\n"                                                                       \
    "ret\n"                                                                                        \
    ".size ruleless_outer,.-ruleless_outer\n"                                                      \
    ".type ruleless_inner,%function\n"                                                             \
    "ruleless_inner:\n"                                                                            \
    "stp x29,x30,[sp,#-96]!\n"                                                                     \
    "mov x29,sp\n"                                                                                 \
    "bl leaf_raise_hidden\n"                                                                       \
    "ldp x29,x30,[sp],#96\n"                                                                       \
    "ret\n"                                                                                        \
    ".size ruleless_inner,.-ruleless_inner\n"

#endif
