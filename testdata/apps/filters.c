/* A program that puts a filter of its system calls up, and then stalls twice, on the processor and
 * asleep:
 *
 *     filters none | container | kill CALL | only-own | strict   before | after | all-threads |
 *                                                                      unseen
 *
 * container: what a container runtime's default profile (moby's seccomp/default.json) refuses to a
 * process without capabilities, refused with EPERM as there. kill: this call ends the process.
 * only-own: all do but those that this program makes. strict: the kernel's strict mode, in which it
 * ends at once, since no loop can wait. The filter comes before the loop turns, or after, or after
 * for all threads, or after by a system call that libc does not make. The call acct is made at the
 * end. Ends with 77 if the system does not let it try. */
#include <errno.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "filter.h"
#include "turns.h"

enum { CANNOT_TRY = 77, STALL_MS = 700 };

/* clone with one of these makes a namespace. */
#define NAMESPACES                                                                                 \
    (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID |  \
     CLONE_NEWNET)

static void refuse_as_a_container(struct program *p) {
    static const long refused[] = {SYS_acct,
                                   SYS_add_key,
                                   SYS_bpf,
                                   SYS_clock_adjtime,
                                   SYS_clock_settime,
                                   SYS_delete_module,
                                   SYS_finit_module,
                                   SYS_init_module,
                                   SYS_kexec_load,
                                   SYS_keyctl,
                                   SYS_lookup_dcookie,
                                   SYS_mbind,
                                   SYS_migrate_pages,
                                   SYS_mount,
                                   SYS_move_pages,
                                   SYS_name_to_handle_at,
                                   SYS_open_by_handle_at,
                                   SYS_perf_event_open,
                                   SYS_pivot_root,
                                   SYS_quotactl,
                                   SYS_reboot,
                                   SYS_request_key,
                                   SYS_setdomainname,
                                   SYS_sethostname,
                                   SYS_setns,
                                   SYS_settimeofday,
                                   SYS_swapoff,
                                   SYS_swapon,
                                   SYS_syslog,
                                   SYS_umount2,
                                   SYS_unshare,
                                   SYS_userfaultfd,
                                   SYS_vhangup};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        answer(p, refused[i], SECCOMP_RET_ERRNO | EPERM);
    }
    /* The call clone3 is refused, because a filter cannot read its flags. */
    answer(p, SYS_clone3, SECCOMP_RET_ERRNO | ENOSYS);
    add(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3));
    load(p, offsetof(struct seccomp_data, args));
    add(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, NAMESPACES, 0, 1));
    add(p, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM));
}

static void allow_own_calls(struct program *p) {
    static const long own[] = {SYS_read,       SYS_write,
                               SYS_close,      SYS_pipe2,
                               SYS_ppoll,      SYS_clock_nanosleep,
                               SYS_exit_group, SYS_restart_syscall,
#ifdef SYS_poll
                               SYS_poll,       SYS_pipe,
#endif
                               SYS_newfstatat};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        answer(p, own[i], SECCOMP_RET_ALLOW);
    }
}

static long number_of(const char *name) {
    static const struct {
        const char *name;
        long number;
    } all[] = {{"futex", SYS_futex},
               {"openat", SYS_openat},
               {"clone3", SYS_clone3},
               {"rt_sigreturn", SYS_rt_sigreturn},
               {"process_vm_readv", SYS_process_vm_readv},
               {"fsync", SYS_fsync},
               {"acct", SYS_acct}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (strcmp(name, all[i].name) == 0) {
            return all[i].number;
        }
    }
    fprintf(stderr, "filters: no call '%s'\n", name);
    exit(2);
}

/* Sets a filter by the system call prctl(PR_SET_SECCOMP, …), without the C library. */
static long set_filter_unseen(const struct sock_fprog *program) {
#if defined(__x86_64__)
    long got = SYS_prctl;
    __asm__ volatile("syscall"
                     : "+a"(got)
                     : "D"((long)PR_SET_SECCOMP), "S"((long)SECCOMP_MODE_FILTER), "d"(program)
                     : "rcx", "r11", "memory");
    return got;
#elif defined(__aarch64__)
    register long x0 __asm__("x0") = PR_SET_SECCOMP;
    register long x1 __asm__("x1") = SECCOMP_MODE_FILTER;
    register const struct sock_fprog *x2 __asm__("x2") = program;
    register long x8 __asm__("x8") = SYS_prctl;
    __asm__ volatile("svc #0" : "+r"(x0) : "r"(x1), "r"(x2), "r"(x8) : "memory");
    return x0;
#else
    (void)program;
    return -1;
#endif
}

static long set_filter(const struct sock_fprog *program, const char *when) {
    if (strcmp(when, "unseen") == 0) {
        return set_filter_unseen(program);
    }
    if (strcmp(when, "all-threads") == 0) {
        return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, program);
    }
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program);
}

static void put_up(const char *what, const char *call, const char *when) {
    struct program p = {.length = 0};
    uint32_t others = SECCOMP_RET_ALLOW;
    load(&p, offsetof(struct seccomp_data, nr));
    if (strcmp(what, "container") == 0) {
        refuse_as_a_container(&p);
    } else if (strcmp(what, "kill") == 0) {
        answer(&p, number_of(call), SECCOMP_RET_KILL_PROCESS);
    } else {
        allow_own_calls(&p);
        others = SECCOMP_RET_KILL_PROCESS;
    }
    add(&p, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, others));
    struct sock_fprog program = {p.length, p.code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
        exit(CANNOT_TRY);
    }
    if (set_filter(&program, when) != 0) { /* by either system call, as programs use both */
        exit(CANNOT_TRY);
    }
}

OWN_FRAME static void sleep_in_the_loop(void) {
    sleep_ms(STALL_MS);
    KEEP_FRAME();
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "", *when = argc > 2 ? argv[argc - 1] : "";
    const char *call = argc > 3 ? argv[2] : "";
    if (argc < 3) {
        fprintf(stderr, "filters: what, and when?\n");
        return 2;
    }
    if (strcmp(when, "before") != 0) {
        turns(TURNS);
    }
    if (strcmp(what, "strict") == 0) {
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
        syscall(SYS_exit, write(STDOUT_FILENO, "ended\n", 6) != 6);
    }
    if (strcmp(what, "none") != 0) {
        put_up(what, call, when);
    }
    turns(TURNS);
    compute(STALL_MS);
    turns(TURNS);
    sleep_in_the_loop();
    turns(2 * TURNS);
    if (strcmp(call, "acct") == 0) {
        syscall(SYS_acct, NULL);
    }
    /* This calls write, because stdio would make other system calls. */
    return write(STDOUT_FILENO, "ended\n", 6) != 6;
}
