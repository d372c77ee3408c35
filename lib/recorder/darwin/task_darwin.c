/* Reads threads and memory of this process by Mach calls. */
#include "darwin/task_darwin.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

enum {
#if defined(__arm64__)
    STEP = 16384, /* size of a page on arm64: a copy is cut at a page's end, so that it does not
                     fail at the end of the stack */
#else
    STEP = 4096,
#endif
    /* Maximum number of bytes of one copy, for which the kernel uses a buffer of its own. It would
     * share a larger range copy-on-write, and each page that the thread then writes to would fault
     * (XNU: vm_map_copyin_internal, msg_ool_size_small). */
    PIECE = 16384,
    NS_PER_US = 1000
};

/* Reads this process's memory by <mach/vm_map.h>, as the functions of mach_vm.h are barred on iOS;
 * addresses are as wide in both. False: a part of it cannot be read. */
static bool read_own_async(void *arg, uint64_t address, void *to, size_t size) {
    vm_size_t got = 0;
    (void)arg;
    return vm_read_overwrite(mach_task_self(), (vm_address_t)address, size,
                             (vm_address_t)(uintptr_t)to, &got) == KERN_SUCCESS &&
           got == size;
}

struct memory task_memory(void) {
    return (struct memory){NULL, read_own_async};
}

/* ---- registers ---- */

#if defined(__arm64__)
bool task_registers_async(thread_t thread, struct task_registers *out) {
    arm_thread_state64_t state;
    mach_msg_type_number_t count = ARM_THREAD_STATE64_COUNT;
    if (thread_get_state(thread, ARM_THREAD_STATE64, (thread_state_t)&state, &count) !=
        KERN_SUCCESS) {
        return false;
    }
    /* The accessors of arm64e authenticate the pointers that the kernel signed, and abort if that
     * fails; after the strip there is nothing to authenticate. */
    arm_thread_state64_ptrauth_strip(state);
    out->walk = (struct fp_registers){
        .pc = arm_thread_state64_get_pc(state),
        .sp = arm_thread_state64_get_sp(state),
        .fp = arm_thread_state64_get_fp(state),
        .lr = arm_thread_state64_get_lr(state),
    };
    out->call = (struct xnu_call){
        .number = state.__x[16],
        .args = {state.__x[0], state.__x[1], state.__x[2], state.__x[3]},
    };
    return true;
}
#else
bool task_registers_async(thread_t thread, struct task_registers *out) {
    x86_thread_state64_t state;
    mach_msg_type_number_t count = x86_THREAD_STATE64_COUNT;
    if (thread_get_state(thread, x86_THREAD_STATE64, (thread_state_t)&state, &count) !=
        KERN_SUCCESS) {
        return false;
    }
    out->walk = (struct fp_registers){.pc = state.__rip, .sp = state.__rsp, .fp = state.__rbp};
    out->call = (struct xnu_call){
        .number = state.__rax,
        .args = {state.__rdi, state.__rsi, state.__rdx, state.__r10},
    };
    return true;
}
#endif

/* ---- the kernel's data about a thread ---- */

static bool extended_async(thread_t thread, thread_extended_info_data_t *info) {
    mach_msg_type_number_t count = THREAD_EXTENDED_INFO_COUNT;
    return thread_info(thread, THREAD_EXTENDED_INFO, (thread_info_t)info, &count) == KERN_SUCCESS;
}

bool task_usage_async(thread_t thread, struct task_usage *out) {
    thread_extended_info_data_t info;
    if (!extended_async(thread, &info)) {
        return false;
    }
    out->waiting = info.pth_run_state == TH_STATE_WAITING;
    out->ticks = info.pth_user_time + info.pth_system_time;
    return true;
}

uint64_t task_thread_id_async(thread_t thread) {
    thread_identifier_info_data_t info;
    mach_msg_type_number_t count = THREAD_IDENTIFIER_INFO_COUNT;
    if (thread_info(thread, THREAD_IDENTIFIER_INFO, (thread_info_t)&info, &count) != KERN_SUCCESS) {
        return 0;
    }
    return info.thread_id;
}

static uint64_t ns_of(time_value_t t) {
    return (uint64_t)t.seconds * 1000000000 + (uint64_t)t.microseconds * NS_PER_US;
}

/* Returns the CPU time of THREAD_BASIC_INFO. THREAD_EXTENDED_INFO is finer, but its unit differs
 * between systems. */
uint64_t task_cpu_ns_async(thread_t thread) {
    thread_basic_info_data_t info;
    mach_msg_type_number_t count = THREAD_BASIC_INFO_COUNT;
    if (thread_info(thread, THREAD_BASIC_INFO, (thread_info_t)&info, &count) != KERN_SUCCESS) {
        return UINT64_MAX;
    }
    return ns_of(info.user_time) + ns_of(info.system_time);
}

static enum rec_thread_state state_of(integer_t run_state) {
    switch (run_state) {
    case TH_STATE_RUNNING:
        return REC_STATE_RUNNING;
    case TH_STATE_STOPPED:
    case TH_STATE_HALTED:
        return REC_STATE_STOPPED;
    case TH_STATE_WAITING:
        return REC_STATE_WAITING;
    case TH_STATE_UNINTERRUPTIBLE:
        return REC_STATE_BLOCKED;
    default:
        return REC_STATE_UNKNOWN;
    }
}

bool task_describe_async(thread_t thread, struct rec_thread *out) {
    thread_extended_info_data_t info;
    uint64_t id = task_thread_id_async(thread);
    if (id == 0 || id > INT64_MAX || !extended_async(thread, &info)) {
        return false;
    }
    out->id = (int64_t)id;
    out->state = state_of(info.pth_run_state);
    out->cpu_ns = task_cpu_ns_async(thread);
    size_t size = strnlen(info.pth_name, sizeof info.pth_name);
    size = size < REC_NAME_MAX ? size : REC_NAME_MAX - 1;
    memcpy(out->name, info.pth_name, size);
    out->name[size] = '\0';
    return true;
}

/* ---- all threads ---- */

struct task_list task_list_async(void) {
    thread_act_array_t threads;
    mach_msg_type_number_t count;
    if (task_threads(mach_task_self(), &threads, &count) != KERN_SUCCESS) {
        return (struct task_list){0};
    }
    return (struct task_list){threads, count};
}

void task_list_release_async(struct task_list *list) {
    for (uint32_t i = 0; i < list->count; i++) {
        mach_port_deallocate(mach_task_self(), list->threads[i]);
    }
    if (list->threads != NULL) {
        vm_deallocate(mach_task_self(), (vm_address_t)(uintptr_t)list->threads,
                      list->count * sizeof *list->threads);
    }
    *list = (struct task_list){0};
}

/* ---- waits ---- */

/* Is the instruction before the thread's pc a system call? */
static bool in_call_async(const struct task_registers *registers) {
#if defined(__arm64__)
    static const uint8_t enter[] = {0x01, 0x10, 0x00, 0xd4}; /* svc #0x80 */
#else
    static const uint8_t enter[] = {0x0f, 0x05}; /* syscall */
#endif
    uint8_t code[sizeof enter];
    return read_own_async(NULL, registers->walk.pc - sizeof code, code, sizeof code) &&
           memcmp(code, enter, sizeof code) == 0;
}

/* Returns the id of the lock's owner if it is a thread of this process; -1 if not. The port name
 * in the lock is only compared and never used: once the lock is freed, it may name a port of
 * another process, for which a call would wait. */
static int64_t owner_async(const struct xnu_wait *wait) {
    int64_t owner = -1;
    struct task_list list = task_list_async();
    for (uint32_t i = 0; i < list.count && owner < 0; i++) {
        if (wait->owner_port == 0 || list.threads[i] == wait->owner_port) {
            uint64_t id = task_thread_id_async(list.threads[i]);
            bool is_owner = id != 0 && (wait->owner_port != 0 || id == wait->owner_id);
            owner = is_owner && id <= INT64_MAX ? (int64_t)id : -1;
        }
    }
    task_list_release_async(&list);
    return owner;
}

struct rec_wait task_wait_async(thread_t thread) {
    struct rec_wait wait = {.kind = REC_WAIT_NONE, .owner = -1};
    struct task_registers registers;
    struct task_usage before, after;
    if (!task_usage_async(thread, &before) || !before.waiting ||
        !task_registers_async(thread, &registers) || !task_usage_async(thread, &after) ||
        after.ticks != before.ticks || !in_call_async(&registers)) {
        return wait;
    }
    struct memory memory = task_memory();
    struct xnu_wait found = xnu_wait_async(&memory, &registers.call);
    wait.kind = found.kind;
    wait.address = found.address;
    if (found.owner_port != 0 || found.owner_id != 0) {
        wait.owner = owner_async(&found);
    }
    return wait;
}

/* ---- copies ---- */

/* Extends the copy to the end of the page that holds `last`. False: the page is copied already, a
 * page up to it cannot be read, or there is no room. */
static bool extend_async(const struct task_copier *copier, struct fp_stack *stack, uint64_t last) {
    uint64_t end = (last | (STEP - 1)) + 1;
    if (end <= stack->hi || end - stack->lo > copier->room) {
        return false;
    }
    while (stack->hi < end) {
        uint64_t size = end - stack->hi < PIECE ? end - stack->hi : PIECE;
        if (!read_own_async(NULL, stack->hi, copier->buffer + (stack->hi - stack->lo),
                            (size_t)size)) {
            return false;
        }
        stack->hi += size;
    }
    return true;
}

static bool copy_suspended_async(const struct task_copier *copier, thread_t thread,
                                 struct task_copy *out) {
    if (!task_registers_async(thread, &out->registers)) {
        return false;
    }
    uint64_t lo = out->registers.walk.sp & ~UINT64_C(7), reach;
    out->stack = (struct fp_stack){copier->buffer, lo, lo};
    if (lo == 0 || lo > UINT64_MAX - copier->room || !extend_async(copier, &out->stack, lo)) {
        return true; /* the registers alone still give one frame */
    }
    while ((reach = fp_reach_async(TASK_CPU, &out->stack, out->registers.walk.fp,
                                   copier->max_frames)) != 0 &&
           reach - lo < copier->room && extend_async(copier, &out->stack, reach + 15)) {
    }
    return true;
}

bool task_copy_async(const struct task_copier *copier, thread_t thread, struct task_copy *out) {
    if (thread_suspend(thread) != KERN_SUCCESS) {
        return false;
    }
    uint64_t since = clock_gettime_nsec_np(CLOCK_UPTIME_RAW);
    bool ok = copy_suspended_async(copier, thread, out);
    thread_resume(thread);
    out->pause_ns = clock_gettime_nsec_np(CLOCK_UPTIME_RAW) - since;
    return ok;
}

void task_prepare(const struct task_copier *copier) {
    thread_t self = pthread_mach_thread_np(pthread_self());
    struct task_registers registers;
    task_registers_async(self, &registers);
    read_own_async(NULL, (uint64_t)(uintptr_t)copier->buffer, &registers.call.number, 8);
    clock_gettime_nsec_np(CLOCK_UPTIME_RAW);
    thread_resume(self); /* thread_resume fails here, as the calling thread is not suspended */
}
