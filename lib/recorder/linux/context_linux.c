/* Reads registers from the C library's ucontext_t, whose layout is the kernel's. */
#include "linux/context_linux.h"

void context_registers_async(const ucontext_t *uc, struct cfi_registers *regs) {
#if defined(__x86_64__)
    static const uint8_t greg_of[CFI_REGISTERS] = {
        REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
        REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
    for (unsigned i = 0; i < CFI_REGISTERS; i++) {
        regs->value[i] = (uint64_t)uc->uc_mcontext.gregs[greg_of[i]];
    }
#else
    for (unsigned i = 0; i <= CFI_LR; i++) {
        regs->value[i] = uc->uc_mcontext.regs[i];
    }
    regs->value[CFI_SP] = uc->uc_mcontext.sp;
    regs->value[CFI_PC] = uc->uc_mcontext.pc;
#endif
    regs->known = (UINT64_C(1) << CFI_REGISTERS) - 1;
}
