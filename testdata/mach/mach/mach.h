/* What the recorder uses of <mach/mach.h>, with its names, values and layouts. */
#ifndef STANDIN_MACH_H
#define STANDIN_MACH_H

#include <stdint.h>

typedef int kern_return_t;
typedef int integer_t;
typedef unsigned natural_t;
typedef natural_t mach_port_name_t;
typedef mach_port_name_t mach_port_t, thread_t, thread_act_t, task_t, semaphore_t;
typedef natural_t mach_msg_type_number_t;
typedef uintptr_t vm_address_t, vm_size_t;
typedef uint64_t mach_vm_address_t, mach_vm_size_t;
typedef int thread_state_flavor_t, thread_flavor_t, task_flavor_t;
typedef natural_t *thread_state_t;
typedef integer_t *thread_info_t, *task_info_t;
typedef thread_act_t *thread_act_array_t;
typedef int clock_res_t;
typedef int policy_t;

#define MACH_PORT_NULL 0
#define MACH_PORT_DEAD ((mach_port_name_t)~0)

#define KERN_SUCCESS             0
#define KERN_INVALID_ADDRESS     1
#define KERN_INVALID_ARGUMENT    4
#define KERN_FAILURE             5
#define KERN_RESOURCE_SHORTAGE   6
#define KERN_ABORTED             14
#define KERN_INVALID_NAME        15
#define KERN_INVALID_VALUE       18
#define KERN_TERMINATED          37
#define KERN_OPERATION_TIMED_OUT 49
#define MACH_SEND_INVALID_DEST   0x10000003

#define SYNC_POLICY_FIFO 0

typedef struct {
    integer_t seconds, microseconds;
} time_value_t;

typedef struct {
    unsigned tv_sec;
    clock_res_t tv_nsec;
} mach_timespec_t;

/* ---- threads ---- */

#define TH_STATE_RUNNING         1
#define TH_STATE_STOPPED         2
#define TH_STATE_WAITING         3
#define TH_STATE_UNINTERRUPTIBLE 4
#define TH_STATE_HALTED          5

#define THREAD_BASIC_INFO 3
typedef struct {
    time_value_t user_time, system_time;
    integer_t cpu_usage;
    policy_t policy;
    integer_t run_state, flags, suspend_count, sleep_time;
} thread_basic_info_data_t;
#define THREAD_BASIC_INFO_COUNT                                                                    \
    ((mach_msg_type_number_t)(sizeof(thread_basic_info_data_t) / sizeof(natural_t)))

#define THREAD_IDENTIFIER_INFO 4
typedef struct {
    uint64_t thread_id, thread_handle, dispatch_qaddr;
} thread_identifier_info_data_t;
#define THREAD_IDENTIFIER_INFO_COUNT                                                               \
    ((mach_msg_type_number_t)(sizeof(thread_identifier_info_data_t) / sizeof(natural_t)))

#define THREAD_EXTENDED_INFO 5
#define MAXTHREADNAMESIZE    64
typedef struct {
    uint64_t pth_user_time, pth_system_time;
    int32_t pth_cpu_usage, pth_policy, pth_run_state, pth_flags, pth_sleep_time;
    int32_t pth_curpri, pth_priority, pth_maxpriority;
    char pth_name[MAXTHREADNAMESIZE];
} thread_extended_info_data_t;
#define THREAD_EXTENDED_INFO_COUNT                                                                 \
    ((mach_msg_type_number_t)(sizeof(thread_extended_info_data_t) / sizeof(natural_t)))

#define ARM_THREAD_STATE64 6
typedef struct {
    uint64_t __x[29], __fp, __lr, __sp, __pc;
    uint32_t __cpsr, __pad;
} arm_thread_state64_t;
#define ARM_THREAD_STATE64_COUNT                                                                   \
    ((mach_msg_type_number_t)(sizeof(arm_thread_state64_t) / sizeof(uint32_t)))
#define arm_thread_state64_ptrauth_strip(state) ((void)(state))
#define arm_thread_state64_get_pc(state)        ((state).__pc)
#define arm_thread_state64_get_sp(state)        ((state).__sp)
#define arm_thread_state64_get_fp(state)        ((state).__fp)
#define arm_thread_state64_get_lr(state)        ((state).__lr)

kern_return_t thread_get_state(thread_act_t thread, thread_state_flavor_t flavor,
                               thread_state_t state, mach_msg_type_number_t *count);
kern_return_t thread_info(thread_act_t thread, thread_flavor_t flavor, thread_info_t info,
                          mach_msg_type_number_t *count);
kern_return_t thread_suspend(thread_act_t thread);
kern_return_t thread_resume(thread_act_t thread);
thread_t mach_thread_self(void);

/* ---- the task ---- */

#define TASK_DYLD_INFO 17
#pragma pack(push, 4)
struct task_dyld_info {
    mach_vm_address_t all_image_info_addr;
    mach_vm_size_t all_image_info_size;
    integer_t all_image_info_format;
};
#pragma pack(pop)
#define TASK_DYLD_INFO_COUNT                                                                       \
    ((mach_msg_type_number_t)(sizeof(struct task_dyld_info) / sizeof(natural_t)))

task_t mach_task_self(void);
kern_return_t task_info(task_t task, task_flavor_t flavor, task_info_t info,
                        mach_msg_type_number_t *count);
kern_return_t task_threads(task_t task, thread_act_array_t *threads, mach_msg_type_number_t *count);
kern_return_t mach_port_deallocate(task_t task, mach_port_name_t name);
kern_return_t vm_deallocate(task_t task, vm_address_t address, vm_size_t size);
kern_return_t vm_read_overwrite(task_t task, vm_address_t address, vm_size_t size, vm_address_t to,
                                vm_size_t *got);

kern_return_t semaphore_create(task_t task, semaphore_t *semaphore, int policy, int value);
kern_return_t semaphore_destroy(task_t task, semaphore_t semaphore);
kern_return_t semaphore_signal(semaphore_t semaphore);
kern_return_t semaphore_wait(semaphore_t semaphore);
kern_return_t semaphore_timedwait(semaphore_t semaphore, mach_timespec_t wait);

#endif
