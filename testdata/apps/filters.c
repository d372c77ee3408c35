/* A program that puts a filter of its system calls up, and then stalls twice, on the processor and
 * asleep:
 *
 *     filters none | container | kill CALL | only-own | strict   before | after | all-threads
 *
 * container: what a container runtime's default profile (moby's seccomp/default.json) refuses to a
 * process without capabilities, refused with EPERM as there. kill: this call ends the process.
 * only-own: all do but those that this program makes. strict: the kernel's strict mode, in which it
 * ends at once, since no loop can wait. The filter comes before the loop turns, or after, or after
 * for all threads. The call acct is made at the end. Ends with 77 if the system does not let it
 * try. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "turns.h"

enum { CANNOT_TRY = 77, STALL_MS = 700, MAX = 128 };

struct program {
    struct sock_filter code[MAX];
    unsigned short length;
};

static void add(struct program *p, struct sock_filter instruction) {
    if (p->length < MAX) {
        p->code[p->length++] = instruction;
    }
}

static void answer(struct program *p, long number, uint32_t action) {
    add(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 1));
    add(p, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action));
}

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
    answer(p, SYS_clone3, SECCOMP_RET_ERRNO | ENOSYS); /* whose flags a filter cannot read */
    add(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3));
    add(p, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                        offsetof(struct seccomp_data, args)));
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

static void put_up(const char *what, const char *call, bool on_all_threads) {
    struct program p = {.length = 0};
    uint32_t others = SECCOMP_RET_ALLOW;
    add(&p,
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)));
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
    /* Programs do it in either way. */
    long got = on_all_threads ? syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                                        SECCOMP_FILTER_FLAG_TSYNC, &program)
                              : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
    if (got != 0) {
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
        put_up(what, call, strcmp(when, "all-threads") == 0);
    }
    turns(TURNS);
    compute(STALL_MS);
    turns(TURNS);
    sleep_in_the_loop();
    turns(2 * TURNS);
    if (strcmp(call, "acct") == 0) {
        syscall(SYS_acct, NULL);
    }
    return write(STDOUT_FILENO, "ended\n", 6) != 6; /* stdio would make calls of its own */
}
