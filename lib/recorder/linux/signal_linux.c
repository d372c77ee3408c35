/* The signal handler, its slot, and the monitor's side of it. */
#include "linux/signal_linux.h"

#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "loop/guard.h"

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51 /* Linux 5.14 */
#endif

enum {
    COPY_SIZE = 64 * 1024,
    PAGE = 4096,
    FINISH_MS = 1000,
    SPIN_NS = 100000,
    POLL_NS = 50000, /* first pause of a monitor that no handler wakes; each further pause is twice
                        as long, at most POLL_NS_MAX */
    POLL_NS_MAX = 1000000,
    HANDED_SPINS = 1 << 16, /* maximum number of times that a handler looks for the monitor's copy,
                               some 3 ms in all */
    HANDLERS_STACK = 4096,
    FRAME_UNKNOWN = 4096
};

/* Reads the C library's ucontext_t, whose layout is the kernel's. */
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

/* The two low bits of a slot's word are its state; the other bits count the requests. */
enum slot_state { SLOT_IDLE, SLOT_ARMED, SLOT_BUSY, SLOT_DONE, SLOT_STATE = 3, SLOT_ROUND };

/* Progress of the monitor's reading of a foreign stack, for a handler that must make no system
 * call. */
enum slot_reading { READING_NONE, READING_WANTED, READING_DONE };

struct signal_slot {
    _Atomic uint32_t word;             /* state and round; the monitor waits on it */
    _Atomic uint32_t sleeping;         /* 1 = the monitor sleeps on `word` */
    _Atomic pid_t asked;               /* id of the thread that is asked for a copy */
    _Atomic uint32_t reading;          /* enum slot_reading */
    _Atomic(_Atomic uint32_t *) guard; /* target.guard of the thread that is asked */
    uint64_t sent_ns;
    struct signal_target target;
    struct cfi_registers regs;
    uint64_t lo, size, pause_ns;
    uint64_t handed; /* bytes that the monitor has read for the handler */
    _Alignas(64) uint8_t copy[COPY_SIZE];
};

static uint32_t state_of_async(uint32_t word) {
    return word & SLOT_STATE;
}

static uint32_t with_state_async(uint32_t word, enum slot_state state) {
    return (word & ~(uint32_t)SLOT_STATE) | state;
}

static uint32_t slot_state_async(const struct signal_slot *slot) {
    return state_of_async(atomic_load(&slot->word));
}

static void set_idle_async(struct signal_slot *slot) {
    atomic_store(&slot->word, with_state_async(atomic_load(&slot->word), SLOT_IDLE));
}

/* Cancels the request, so that no handler starts any more. False: a handler has started already, or
 * nothing is requested. */
static bool disarm_async(struct signal_slot *slot) {
    uint32_t word = with_state_async(atomic_load(&slot->word), SLOT_ARMED);
    return atomic_compare_exchange_strong(&slot->word, &word, with_state_async(word, SLOT_IDLE));
}

/* The state of the signal handler, which is global because a signal's disposition belongs to the
 * process, and a handler has no context argument. All members but `filtered` and `alternate` are
 * written by signal_linux_install only; the slot is never freed. */
static struct {
    struct signal_slot *slot;
    int number;
    pid_t pid;
    uid_t uid;
    atomic_bool filtered; /* the latest target has a seccomp filter */
    struct sigaction old;
    _Atomic uint64_t alternate; /* size of the starting thread's alternate signal stack */
    uint64_t room;              /* room that two signals and their handlers need at least */
} ours = {.alternate = SIGNAL_STACK_UNKNOWN};

/* A si_code that sigqueue and kill cannot produce, which marks our own signals. */
enum { SIGNAL_CODE = -0x57a1 };

static uint64_t clock_async(void) {
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void futex_async(_Atomic uint32_t *word, int op, uint32_t value, const struct timespec *ts) {
    syscall(SYS_futex, word, op | FUTEX_PRIVATE_FLAG, value, ts, NULL, 0);
}

__attribute__((no_sanitize("address", "thread", "undefined"))) void
stack_copy_async(uint8_t *to, uint64_t from, uint64_t size) {
    /* `volatile` keeps the compiler from replacing the loop by a call of memcpy. */
    const volatile uint64_t *f = (const volatile uint64_t *)(uintptr_t)from;
    uint64_t *t = (uint64_t *)(void *)to;
    uint64_t i = 0, words = size / 8;
    for (; i + 4 <= words; i += 4) {
        uint64_t a = f[i], b = f[i + 1], c = f[i + 2], d = f[i + 3];
        t[i] = a, t[i + 1] = b, t[i + 2] = c, t[i + 3] = d;
    }
    for (; i < words; i++) {
        t[i] = f[i];
    }
}

bool stack_is_own_async(const struct signal_target *target, uint64_t sp) {
    return target->hi != 0 && sp >= target->lo + ARCH_RED_ZONE + 8 && sp < target->hi;
}

uint64_t stack_copy_mapped_async(pid_t pid, uint8_t *to, uint64_t from, uint64_t size) {
    /* Each page is a range of its own, as the kernel cuts a read short only between ranges. */
    struct iovec local = {to, size < COPY_SIZE ? size : COPY_SIZE};
    struct iovec pages[COPY_SIZE / PAGE + 1];
    unsigned long n = 0;
    for (uint64_t left = local.iov_len; left > 0; n++) {
        uint64_t room = PAGE - from % PAGE;
        pages[n].iov_base = (void *)(uintptr_t)from;
        pages[n].iov_len = room < left ? room : left;
        from += pages[n].iov_len;
        left -= pages[n].iov_len;
    }
    long got = syscall(SYS_process_vm_readv, pid, &local, 1UL, pages, n, 0UL);
    return got > 0 ? (uint64_t)got & ~UINT64_C(7) : 0;
}

_Atomic uint64_t *signal_linux_alternate(void) {
    return &ours.alternate;
}

bool signal_linux_has_room_async(const struct signal_target *target) {
    uint64_t size = target->alternate ? atomic_load(target->alternate) : 0;
    return size == 0 || (size != SIGNAL_STACK_UNKNOWN && size >= ours.room);
}

/* Asks the monitor to read the stack, and waits for its answer in the handler, without a system
 * call, by at most HANDED_SPINS looks. */
static void hand_over_async(struct signal_slot *slot) {
    atomic_store(&slot->reading, READING_WANTED);
    for (unsigned i = 0; i < HANDED_SPINS && atomic_load(&slot->reading) == READING_WANTED; i++) {
        arch_pause_async();
    }
    uint32_t wanted = READING_WANTED;
    bool late = atomic_compare_exchange_strong(&slot->reading, &wanted, READING_NONE);
    slot->size = late ? 0 : slot->handed;
}

/* Reads the stack, on the monitor thread, for a handler that waits in hand_over_async. */
static void read_handed_async(struct signal_slot *slot) {
    if (atomic_load(&slot->reading) == READING_WANTED) {
        uint32_t wanted = READING_WANTED;
        slot->handed = stack_copy_mapped_async(ours.pid, slot->copy, slot->lo, COPY_SIZE);
        atomic_compare_exchange_strong(&slot->reading, &wanted, READING_DONE);
    }
}

static void copy_async(struct signal_slot *slot, const ucontext_t *uc) {
    bool filtered = slot->target.filtered;
    uint64_t begin = filtered ? 0 : clock_async();
    if (slot->target.alternate) {
        atomic_store(slot->target.alternate,
                     (uc->uc_stack.ss_flags & SS_DISABLE) != 0 ? 0 : uc->uc_stack.ss_size);
    }
    context_registers_async(uc, &slot->regs);
    uint64_t sp = slot->regs.value[CFI_SP];
    slot->lo = (sp - ARCH_RED_ZONE) & ~UINT64_C(7);
    slot->size = 0;
    if (stack_is_own_async(&slot->target, sp)) {
        uint64_t size = slot->target.hi - slot->lo;
        slot->size = size < COPY_SIZE ? size : COPY_SIZE;
        stack_copy_async(slot->copy, slot->lo, slot->size);
    } else if (sp > ARCH_RED_ZONE + 8 && filtered) {
        hand_over_async(slot);
    } else if (sp > ARCH_RED_ZONE + 8) {
        slot->size = stack_copy_mapped_async(ours.pid, slot->copy, slot->lo, COPY_SIZE);
    }
    slot->pause_ns = filtered ? 0 : clock_async() - begin;
}

static bool is_handled_async(const struct sigaction *sa) {
    return (sa->sa_flags & SA_SIGINFO) || (sa->sa_handler != SIG_DFL && sa->sa_handler != SIG_IGN);
}

/* Passes a signal to the handler that was installed before ours, as the kernel would, as far as a
 * handler can do that. For a thread under a seccomp filter the signal mask stays that of our
 * handler, which blocks all signals. */
static void chain_handler_async(int sig, siginfo_t *info, void *uc) {
    if (!is_handled_async(&ours.old)) {
        return; /* there is no earlier handler, and the signals that are chosen here have no effect
                   without one */
    }
    sigset_t mask = ((ucontext_t *)uc)->uc_sigmask;
    sigorset(&mask, &mask, &ours.old.sa_mask);
    if (!(ours.old.sa_flags & SA_NODEFER)) {
        sigaddset(&mask, sig);
    }
    if (!atomic_load(&ours.filtered)) {
        sigprocmask(SIG_SETMASK, &mask, NULL);
    }
    if (ours.old.sa_flags & SA_SIGINFO) {
        ours.old.sa_sigaction(sig, info, uc);
    } else {
        ours.old.sa_handler(sig);
    }
}

static void on_signal_async(int sig, siginfo_t *info, void *uc) {
    int saved_errno = errno;
    struct signal_slot *slot = ours.slot;
    if (info->si_code != SIGNAL_CODE || info->si_value.sival_ptr != slot) {
        chain_handler_async(sig, info, uc);
        errno = saved_errno;
        return;
    }
    /* The signal may belong to an earlier round and be late. While it was pending the kernel
     * accepted no other, so no second one follows. Its si_pid is the id of the thread to which it
     * was sent. */
    uint32_t word = atomic_load(&slot->word);
    bool asked = atomic_load(&slot->asked) == info->si_pid;
    if (asked) {
        guard_handled_async(atomic_load(&slot->guard));
    }
    if (state_of_async(word) == SLOT_ARMED && asked &&
        atomic_compare_exchange_strong(&slot->word, &word, with_state_async(word, SLOT_BUSY))) {
        copy_async(slot, uc);
        atomic_store(&slot->word, with_state_async(word, SLOT_DONE));
        if (atomic_load(&slot->sleeping)) {
            futex_async(&slot->word, FUTEX_WAKE, 1, NULL);
        }
    }
    /* While our signal was pending the kernel dropped any other signal of the same number to the
     * thread, so our signal may stand for one of the program's, too. (Go's runtime waits for the
     * SIGURG that it sent to a thread.) */
    info->si_code = SI_TKILL;
    info->si_pid = ours.pid;
    info->si_uid = ours.uid;
    chain_handler_async(sig, info, uc);
    errno = saved_errno;
}

static bool is_ours_async(const struct sigaction *sa) {
    return (sa->sa_flags & SA_SIGINFO) && sa->sa_sigaction == on_signal_async;
}

/* Has the program a handler for the signal that gets no siginfo_t? */
static bool is_handled_plainly(int number) {
    struct sigaction now;
    return sigaction(number, NULL, &now) == 0 && is_handled_async(&now) &&
           !(now.sa_flags & SA_SIGINFO);
}

int signal_linux_choose(void) {
    static const int quiet[] = {SIGURG, SIGWINCH};
    for (size_t i = 0; i < sizeof quiet / sizeof *quiet; i++) {
        struct sigaction now;
        if (sigaction(quiet[i], NULL, &now) == 0 &&
            (is_ours_async(&now) || !is_handled_async(&now))) {
            return quiet[i];
        }
    }
    /* A handler that gets no siginfo_t takes our signal for one that somebody sent, and may end the
     * program, as one that is installed for all signals does. */
    return is_handled_plainly(quiet[0]) ? 0 : quiet[0];
}

bool signal_linux_install(int number) {
    if (!ours.slot) {
        void *memory = mmap(NULL, sizeof *ours.slot, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
        if (memory == MAP_FAILED) {
            return false;
        }
        ours.slot = memory;
    }
    if (ours.pid != getpid()) { /* in a forked child the slot may be a copy of one in use */
        set_idle_async(ours.slot);
        ours.pid = getpid();
    }
    ours.uid = getuid();
    if (number == 0) {
        return true;
    }
    struct sigaction now,
        sa = {.sa_sigaction = on_signal_async, .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    sigfillset(&sa.sa_mask);
    if (sigaction(number, NULL, &now) != 0) {
        return false;
    }
    if (is_ours_async(&now)) {
        return true;
    }
    if (is_handled_async(&now) && !(now.sa_flags & SA_RESTART)) {
        sa.sa_flags &= ~SA_RESTART; /* if the program's handler lets its signal interrupt system
                                       calls, that stays so */
    }
    /* A signal frame holds the processor's registers: 1 to 12 kB on x86-64 (getauxval(3)); a kernel
     * that does not report their size has no large ones. MINSIGSTKSZ cannot be used: with
     * _GNU_SOURCE it is sysconf(_SC_SIGSTKSZ), four frames. */
    uint64_t frame = getauxval(AT_MINSIGSTKSZ);
    ours.room = 2 * (frame > FRAME_UNKNOWN ? frame : FRAME_UNKNOWN) + HANDLERS_STACK;
    ours.number = number;
    ours.old = now;
    return sigaction(number, &sa, NULL) == 0;
}

/* Is the installed handler still ours? If not, our signal would reach a handler that does not
 * expect it. */
static bool handler_in_place_async(void) {
    struct sigaction now;
    return sigaction(ours.number, NULL, &now) == 0 && is_ours_async(&now);
}

static bool send_async(pid_t tid) {
    siginfo_t info;
    memset(&info, 0, sizeof info);
    info.si_signo = ours.number;
    info.si_code = SIGNAL_CODE;
    info.si_pid = tid;
    info.si_value.sival_ptr = ours.slot;
    return syscall(SYS_rt_tgsigqueueinfo, ours.pid, tid, ours.number, &info) == 0;
}

/* Spins until the slot's state is SLOT_DONE, for SPIN_NS at most, as sleeping and waking up would
 * cost the monitor as much, and the handler would have to wake the monitor. */
static void spin_async(struct signal_slot *slot) {
    uint64_t end = clock_async() + SPIN_NS;
    while (slot_state_async(slot) != SLOT_DONE && clock_async() < end) {
        read_handed_async(slot);
        arch_pause_async();
    }
}

/* Waits up to `ms` for SLOT_DONE by sleeping in pauses, where the handler does not wake the
 * monitor. */
static bool poll_async(struct signal_slot *slot, uint64_t ms) {
    uint64_t end = clock_async() + ms * 1000000;
    uint32_t word;
    for (long pause = POLL_NS;
         state_of_async(word = atomic_load(&slot->word)) != SLOT_DONE && clock_async() < end;) {
        struct timespec ts = {.tv_nsec = pause};
        read_handed_async(slot);
        futex_async(&slot->word, FUTEX_WAIT, word, &ts);
        pause = 2 * pause < POLL_NS_MAX ? 2 * pause : POLL_NS_MAX;
    }
    return slot_state_async(slot) == SLOT_DONE;
}

/* Waits at most `ms` until the slot's state is SLOT_DONE. */
static bool await_async(struct signal_slot *slot, uint64_t ms) {
    if (slot->target.filtered) {
        return poll_async(slot, ms);
    }
    uint64_t now = clock_async(), end = now + ms * 1000000;
    atomic_store(&slot->sleeping, 1);
    for (uint32_t word;
         state_of_async(word = atomic_load(&slot->word)) != SLOT_DONE && now < end;) {
        uint64_t left = end - now;
        struct timespec ts = {(time_t)(left / 1000000000), (long)(left % 1000000000)};
        futex_async(&slot->word, FUTEX_WAIT, word, &ts);
        now = clock_async();
    }
    atomic_store(&slot->sleeping, 0);
    return slot_state_async(slot) == SLOT_DONE;
}

bool signal_linux_send_async(const struct signal_target *target) {
    struct signal_slot *slot = ours.slot;
    uint32_t word = atomic_load(&slot->word);
    if (state_of_async(word) == SLOT_BUSY || !handler_in_place_async() ||
        !guard_send_async(target->guard)) {
        return false;
    }
    word += SLOT_ROUND;
    atomic_store(&slot->asked, 0);
    atomic_store(&slot->guard, target->guard);
    slot->target = *target;
    slot->sent_ns = clock_async();
    atomic_store(&ours.filtered, target->filtered);
    atomic_store(&slot->reading, READING_NONE);
    atomic_store(&slot->asked, target->tid);
    atomic_store(&slot->word, with_state_async(word, SLOT_ARMED));
    bool sent = send_async(target->tid);
    guard_sent_async(target->guard, sent);
    return sent || !disarm_async(slot);
}

bool signal_linux_await_async(bool runs, uint32_t ms) {
    if (runs) {
        spin_async(ours.slot);
    }
    return await_async(ours.slot, ms);
}

bool signal_linux_finish_async(struct signal_copy *copy) {
    struct signal_slot *slot = ours.slot;
    if (disarm_async(slot) ||
        !await_async(slot, FINISH_MS)) { /* a handler that has started ends soon */
        return false;
    }
    copy->regs = slot->regs;
    copy->stack = (struct cfi_stack){slot->copy, slot->lo, slot->lo + slot->size};
    copy->pause_ns = slot->target.filtered ? clock_async() - slot->sent_ns : slot->pause_ns;
    set_idle_async(slot);
    return true;
}

uint8_t *signal_linux_buffer_async(size_t *size) {
    if (!ours.slot || slot_state_async(ours.slot) == SLOT_BUSY) {
        return NULL;
    }
    *size = COPY_SIZE;
    return ours.slot->copy;
}
