/* Stops and copies a thread: ptrace(2). */
#include "attach/ptrace_stop.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>

#include "stallrec.h"

enum { STOP_MS = 20, NAP_NS = 20000 };

/* Reads the registers of a stopped thread, in the kernel's layout for core files. */
static bool registers_of_stopped(pid_t tid, struct cfi_registers *regs) {
    struct user_regs_struct u;
    struct iovec io = {&u, sizeof u};
    if (ptrace(PTRACE_GETREGSET, tid, (void *)(uintptr_t)NT_PRSTATUS, &io) != 0 ||
        io.iov_len != sizeof u) {
        return false; /* registers of another size: a program for another processor */
    }
    regs->known = 0;
#if defined(__x86_64__)
    const unsigned long long value[CFI_REGISTERS] = {u.rax, u.rdx, u.rcx, u.rbx, u.rsi, u.rdi,
                                                     u.rbp, u.rsp, u.r8,  u.r9,  u.r10, u.r11,
                                                     u.r12, u.r13, u.r14, u.r15, u.rip};
    for (unsigned i = 0; i < CFI_REGISTERS; i++) {
        cfi_set_async(regs, i, value[i]);
    }
#else
    for (unsigned i = 0; i <= CFI_LR; i++) {
        cfi_set_async(regs, i, u.regs[i]);
    }
    cfi_set_async(regs, CFI_SP, u.sp);
    cfi_set_async(regs, CFI_PC, u.pc);
#endif
    return true;
}

enum stop { STOP_THERE, STOP_NOT_YET, STOP_NEVER };

/* Has the thread stopped? With STOP_THERE, *signal becomes the signal that was on its way to the
 * thread, which has to be passed on, or 0. STOP_NEVER: the thread has ended. The end of the thread
 * is not consumed, so that its parent still sees it. */
static enum stop look_for_stop(pid_t tid, int *signal) {
    enum { EVENT_SHIFT = 8 };
    siginfo_t info = {.si_pid = 0};
    if (waitid(P_PID, (id_t)tid, &info, WSTOPPED | __WALL | WNOHANG) != 0) {
        return STOP_NEVER;
    }
    if (info.si_pid != tid) {
        return STOP_NOT_YET;
    }
    *signal = info.si_status >> EVENT_SHIFT != 0 ? 0 : info.si_status;
    return STOP_THERE;
}

static enum stop await_stop(pid_t tid, uint64_t until_ns, int *signal) {
    enum stop stop;
    while ((stop = look_for_stop(tid, signal)) == STOP_NOT_YET && stallrec_clock_ns() < until_ns) {
        nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
    }
    return stop;
}

bool ptrace_release(pid_t tid) {
    int signal = 0;
    enum stop stop = look_for_stop(tid, &signal);
    if (stop == STOP_THERE) {
        ptrace(PTRACE_DETACH, tid, NULL, (void *)(uintptr_t)signal);
    }
    return stop != STOP_NOT_YET;
}

bool ptrace_copy(const struct remote_process *process, pid_t tid, uint8_t *buffer, size_t room,
                 struct cfi_registers *regs, struct cfi_stack *stack, uint64_t *pause_ns,
                 bool *pending) {
    int signal = 0;
    bool ok = false;
    if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) != 0) {
        return false;
    }
    *pending = true;
    uint64_t begin = stallrec_clock_ns();
    enum stop stop = STOP_NEVER;
    if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) == 0) {
        stop = await_stop(tid, begin + STOP_MS * UINT64_C(1000000), &signal);
    }
    if (stop != STOP_THERE) {
        *pending = stop == STOP_NOT_YET;
        return false;
    }
    begin = stallrec_clock_ns();
    if (registers_of_stopped(tid, regs) && regs->value[CFI_SP] > ARCH_RED_ZONE) {
        uint64_t lo = (regs->value[CFI_SP] - ARCH_RED_ZONE) & ~UINT64_C(7);
        size_t size = remote_read_some(process, lo, buffer, room) & ~(size_t)7;
        *stack = (struct cfi_stack){buffer, lo, lo + size};
        ok = size > ARCH_RED_ZONE;
    }
    ptrace(PTRACE_DETACH, tid, NULL, (void *)(uintptr_t)signal);
    *pending = false;
    *pause_ns = stallrec_clock_ns() - begin;
    return ok;
}
