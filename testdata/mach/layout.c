/* What the stand-in has in common with Darwin's headers: scripts/test/darwin compiles this with
 * both, for arm64. */
#include <mach-o/dyld_images.h>
#include <mach/mach.h>
#include <stddef.h>

#define SAME(what, value) _Static_assert((what) == (value), #what)

SAME(ARM_THREAD_STATE64, 6);
SAME(ARM_THREAD_STATE64_COUNT, 68);
SAME(offsetof(arm_thread_state64_t, __x), 0);
SAME(offsetof(arm_thread_state64_t, __fp), 29 * 8);
SAME(offsetof(arm_thread_state64_t, __lr), 30 * 8);
SAME(offsetof(arm_thread_state64_t, __sp), 31 * 8);
SAME(offsetof(arm_thread_state64_t, __pc), 32 * 8);

SAME(THREAD_BASIC_INFO, 3);
SAME(THREAD_BASIC_INFO_COUNT, 10);
SAME(offsetof(thread_basic_info_data_t, run_state), 24);
SAME(THREAD_IDENTIFIER_INFO, 4);
SAME(THREAD_IDENTIFIER_INFO_COUNT, 6);
SAME(offsetof(thread_identifier_info_data_t, thread_id), 0);
SAME(THREAD_EXTENDED_INFO, 5);
SAME(THREAD_EXTENDED_INFO_COUNT, 28);
SAME(offsetof(thread_extended_info_data_t, pth_user_time), 0);
SAME(offsetof(thread_extended_info_data_t, pth_system_time), 8);
SAME(offsetof(thread_extended_info_data_t, pth_run_state), 24);
SAME(offsetof(thread_extended_info_data_t, pth_name), 48);
SAME(TH_STATE_RUNNING, 1);
SAME(TH_STATE_STOPPED, 2);
SAME(TH_STATE_WAITING, 3);
SAME(TH_STATE_UNINTERRUPTIBLE, 4);
SAME(TH_STATE_HALTED, 5);

SAME(TASK_DYLD_INFO, 17);
SAME(TASK_DYLD_INFO_COUNT, 5);
SAME(offsetof(struct task_dyld_info, all_image_info_size), 8);
SAME(sizeof(struct dyld_image_info), 24);
SAME(offsetof(struct dyld_image_info, imageFilePath), 8);
SAME(sizeof(struct dyld_all_image_infos), 368);
SAME(offsetof(struct dyld_all_image_infos, infoArrayCount), 4);
SAME(offsetof(struct dyld_all_image_infos, infoArray), 8);
SAME(offsetof(struct dyld_all_image_infos, notification), 16);
SAME(offsetof(struct dyld_all_image_infos, dyldImageLoadAddress), 32);
SAME(offsetof(struct dyld_all_image_infos, infoArrayChangeTimestamp), 184);
SAME(offsetof(struct dyld_all_image_infos, dyldPath), 192);

SAME(sizeof(thread_t), 4);
SAME(sizeof(vm_address_t), 8);
SAME(sizeof(mach_timespec_t), 8);
SAME(SYNC_POLICY_FIFO, 0);
SAME(KERN_SUCCESS, 0);
SAME(KERN_INVALID_ADDRESS, 1);
SAME(KERN_INVALID_ARGUMENT, 4);
SAME(KERN_FAILURE, 5);
SAME(KERN_RESOURCE_SHORTAGE, 6);
SAME(KERN_ABORTED, 14);
SAME(KERN_INVALID_NAME, 15);
SAME(KERN_INVALID_VALUE, 18);
SAME(KERN_TERMINATED, 37);
SAME(KERN_OPERATION_TIMED_OUT, 49);
SAME(MACH_SEND_INVALID_DEST, 0x10000003);
