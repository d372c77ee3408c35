/* The stand-in's kernel: see README.md. But for semaphores, nothing here allocates or takes a lock
 * of the C library, so that any allocation or lock during a call is the recorder's. */
#include "standin.h"

#include <errno.h>
#include <limits.h>
#include <mach-o/dyld.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/failmalloc.h"
#include "darwin.h"

enum {
    REGIONS_MAX = 64,
    SEMAPHORES_MAX = 8,
    LISTS_MAX = 8,
    FIRST_PORT = 0x103, /* the two lowest bits of a port's name are set */
    PORT_STEP = 0x100,
    FIRST_SEMAPHORE = 0x80003,
    TASK_PORT = 0x90003,
    FOREIGN_IDS = 90000,
    SHARED_FROM = 16384 /* number of bytes above which the kernel shares memory, without a copy */
};
/* Lowest address of the test's own memory; the memory that standin_map adds is below. */
#define OWN_FROM (UINT64_C(1) << 36)

struct region {
    uint64_t address;
    const uint8_t *bytes;
    size_t size;
};

struct list {
    void *at;
    size_t size;
};

/* `lock` guards the members that calls change. */
static struct {
    struct standin_thread threads[STANDIN_THREADS_MAX];
    uint32_t thread_count;
    struct region regions[REGIONS_MAX];
    uint32_t region_count;
    struct list lists[LISTS_MAX];
    uint64_t infos, infos_size;
    const char *program;
    void (*hook)(void *arg, unsigned number);
    void *hook_arg;
    unsigned number; /* number of calls since standin_on_call */
    unsigned fail_at[STANDIN_CALLS];
    kern_return_t fail_with[STANDIN_CALLS];
    unsigned reads; /* number of reads since the last suspension began */
    struct standin_counts counts;
} world;

static atomic_flag lock = ATOMIC_FLAG_INIT;
static sem_t semaphores[SEMAPHORES_MAX]; /* they live as long as the process */
static atomic_uint semaphore_count;

static _Thread_local struct standin_thread *self;
static _Thread_local unsigned holding; /* number of threads that the calling thread has suspended */
static _Thread_local unsigned long allocated_then; /* allocations up to the last suspension */

static void enter(void) {
    while (atomic_flag_test_and_set_explicit(&lock, memory_order_acquire)) {
    }
}

static void leave(void) {
    atomic_flag_clear_explicit(&lock, memory_order_release);
}

/* Begins a call: calls the hook, counts the call, and takes the lock. False: the call must return
 * *result, and the lock is free. */
static bool begin(enum standin_call call, kern_return_t *result) {
    enter();
    void (*hook)(void *, unsigned) = world.hook;
    void *arg = world.hook_arg;
    unsigned number = ++world.number;
    leave();
    if (hook != NULL) {
        hook(arg, number);
    }
    enter();
    world.counts.calls[call]++;
    if (holding > 0 && call > STANDIN_CLOCK) {
        world.counts.forbidden++;
    }
    bool fails = world.fail_at[call] != 0 && --world.fail_at[call] == 0;
    *result = fails ? world.fail_with[call] : KERN_SUCCESS;
    if (fails) {
        leave();
    }
    return !fails;
}

static kern_return_t end(kern_return_t result) {
    leave();
    return result;
}

/* ---- scripts ---- */

void standin_reset(void) {
    enter();
    memset(&world, 0, sizeof world);
    world.program = "/nowhere";
    self = NULL;
    leave();
}

static struct standin_thread *add_locked(uint64_t id, const char *name) {
    if (world.thread_count == STANDIN_THREADS_MAX) {
        return NULL;
    }
    struct standin_thread *t = &world.threads[world.thread_count++];
    *t = (struct standin_thread){.id = id, .name = name, .run_state = TH_STATE_WAITING};
    return t;
}

struct standin_thread *standin_add(uint64_t id, const char *name) {
    enter();
    struct standin_thread *t = add_locked(id, name);
    leave();
    return t;
}

void standin_be(const struct standin_thread *thread) {
    self = thread != NULL ? &world.threads[thread - world.threads] : NULL;
}

mach_port_t standin_port(const struct standin_thread *thread) {
    return FIRST_PORT + (mach_port_t)(thread - world.threads) * PORT_STEP;
}

void standin_map(uint64_t address, const void *bytes, size_t size) {
    enter();
    if (world.region_count == REGIONS_MAX) {
        fprintf(stderr, "mach: too many regions\n");
        abort();
    }
    world.regions[world.region_count++] = (struct region){address, bytes, size};
    leave();
}

void standin_unmap(uint64_t address) {
    enter();
    uint32_t kept = 0;
    for (uint32_t i = 0; i < world.region_count; i++) {
        if (world.regions[i].address != address) {
            world.regions[kept++] = world.regions[i];
        }
    }
    world.region_count = kept;
    leave();
}

void standin_set_infos(uint64_t address, uint64_t size) {
    world.infos = address;
    world.infos_size = size;
}

void standin_set_program(const char *path) {
    world.program = path;
}

void standin_on_call(void (*hook)(void *, unsigned), void *arg) {
    enter();
    world.number = 0;
    world.hook = hook;
    world.hook_arg = arg;
    leave();
}

void standin_fail(enum standin_call call, unsigned nth, kern_return_t result) {
    enter();
    world.fail_at[call] = nth;
    world.fail_with[call] = result;
    leave();
}

struct standin_counts standin_counts(void) {
    enter();
    struct standin_counts counts = world.counts;
    counts.rights = counts.suspended = 0;
    for (uint32_t i = 0; i < world.thread_count; i++) {
        counts.rights += world.threads[i].rights;
        counts.suspended += world.threads[i].suspends;
    }
    for (uint32_t i = 0; i < LISTS_MAX; i++) {
        counts.lists += world.lists[i].at != NULL;
    }
    leave();
    return counts;
}

/* ---- threads ---- */

static struct standin_thread *self_locked(void) {
    if (self == NULL) {
        self = add_locked(FOREIGN_IDS + world.thread_count, "another");
    }
    if (self == NULL) {
        fprintf(stderr, "mach: too many threads\n");
        abort();
    }
    return self;
}

static struct standin_thread *thread_of(mach_port_t name) {
    uint32_t i = name < FIRST_PORT ? UINT32_MAX : (name - FIRST_PORT) / PORT_STEP;
    return name % PORT_STEP == FIRST_PORT % PORT_STEP && i < world.thread_count ? &world.threads[i]
                                                                                : NULL;
}

/* Sets *thread to the thread of a port's name. Fails as a Mach call does if the name is no
 * thread's, or if the thread has ended. */
static kern_return_t check_locked(mach_port_t name, struct standin_thread **thread) {
    *thread = thread_of(name);
    if (*thread == NULL) {
        world.counts.forbidden++; /* on a real system the name may be any other port's */
        return MACH_SEND_INVALID_DEST;
    }
    return (*thread)->dead ? KERN_TERMINATED : KERN_SUCCESS;
}

thread_t mach_thread_self(void) {
    kern_return_t result;
    thread_t name = MACH_PORT_NULL;
    if (begin(STANDIN_SELF, &result)) {
        struct standin_thread *t = self_locked();
        t->rights++;
        name = standin_port(t);
        leave();
    }
    return name;
}

unsigned pthread_mach_thread_np(pthread_t thread) {
    (void)thread; /* every caller asks about itself */
    enter();
    mach_port_t name = standin_port(self_locked());
    leave();
    return name;
}

kern_return_t thread_suspend(thread_act_t name) {
    struct standin_thread *t;
    kern_return_t result;
    if (!begin(STANDIN_SUSPEND, &result)) {
        return result;
    }
    if ((result = check_locked(name, &t)) == KERN_SUCCESS) {
        t->suspends++;
        world.reads = 0;
        holding++;
        allocated_then = failmalloc_calls();
    }
    return end(result);
}

kern_return_t thread_resume(thread_act_t name) {
    struct standin_thread *t = thread_of(name);
    kern_return_t result;
    if (!begin(STANDIN_RESUME, &result)) {
        return result;
    }
    if (t == NULL || t->suspends == 0) {
        world.counts.forbidden += t == NULL || t != self;
        return end(KERN_FAILURE);
    }
    t->suspends--;
    holding--;
    world.counts.forbidden += failmalloc_calls() != allocated_then;
    world.counts.pieces = world.reads > world.counts.pieces ? world.reads : world.counts.pieces;
    return end(t->dead ? KERN_TERMINATED : KERN_SUCCESS);
}

kern_return_t thread_get_state(thread_act_t name, thread_state_flavor_t flavor,
                               thread_state_t state, mach_msg_type_number_t *count) {
    struct standin_thread *t;
    kern_return_t result;
    if (!begin(STANDIN_GET_STATE, &result)) {
        return result;
    }
    if ((result = check_locked(name, &t)) == KERN_SUCCESS) {
        if (flavor != ARM_THREAD_STATE64 || *count < ARM_THREAD_STATE64_COUNT) {
            return end(KERN_INVALID_ARGUMENT);
        }
        memcpy(state, &t->state, sizeof t->state);
        *count = ARM_THREAD_STATE64_COUNT;
    }
    return end(result);
}

static time_value_t time_of(uint64_t ns) {
    return (time_value_t){(integer_t)(ns / 1000000000), (integer_t)(ns / 1000 % 1000000)};
}

static void put_info(thread_info_t to, mach_msg_type_number_t *count, const void *info,
                     size_t size) {
    memcpy(to, info, size);
    *count = (mach_msg_type_number_t)(size / sizeof(natural_t));
}

static kern_return_t info_of(const struct standin_thread *t, thread_flavor_t flavor,
                             thread_info_t to, mach_msg_type_number_t *count) {
    integer_t state = t->suspends > 0 ? TH_STATE_STOPPED : t->run_state;
    if (flavor == THREAD_BASIC_INFO && *count >= THREAD_BASIC_INFO_COUNT) {
        thread_basic_info_data_t info = {.user_time = time_of(t->cpu_ns), .run_state = state};
        put_info(to, count, &info, sizeof info);
    } else if (flavor == THREAD_IDENTIFIER_INFO && *count >= THREAD_IDENTIFIER_INFO_COUNT) {
        thread_identifier_info_data_t info = {.thread_id = t->id};
        put_info(to, count, &info, sizeof info);
    } else if (flavor == THREAD_EXTENDED_INFO && *count >= THREAD_EXTENDED_INFO_COUNT) {
        thread_extended_info_data_t info = {.pth_user_time = t->cpu_ns / 1000 * 1000,
                                            .pth_run_state = state};
        size_t size = strnlen(t->name, sizeof info.pth_name); /* a name of full size has no NUL */
        memcpy(info.pth_name, t->name, size);
        put_info(to, count, &info, sizeof info);
    } else {
        return KERN_INVALID_ARGUMENT;
    }
    return KERN_SUCCESS;
}

kern_return_t thread_info(thread_act_t name, thread_flavor_t flavor, thread_info_t to,
                          mach_msg_type_number_t *count) {
    struct standin_thread *t;
    kern_return_t result;
    if (!begin(STANDIN_INFO, &result)) {
        return result;
    }
    if ((result = check_locked(name, &t)) == KERN_SUCCESS) {
        result = info_of(t, flavor, to, count);
    } else if (result == KERN_TERMINATED) {
        result = KERN_INVALID_ARGUMENT;
    }
    return end(result);
}

/* ---- the task ---- */

task_t mach_task_self(void) {
    return TASK_PORT;
}

kern_return_t task_info(task_t task, task_flavor_t flavor, task_info_t to,
                        mach_msg_type_number_t *count) {
    kern_return_t result;
    if (!begin(STANDIN_TASK_INFO, &result)) {
        return result;
    }
    struct task_dyld_info info = {world.infos, world.infos_size, 1};
    if (task != TASK_PORT || flavor != TASK_DYLD_INFO || *count < TASK_DYLD_INFO_COUNT) {
        return end(KERN_INVALID_ARGUMENT);
    }
    put_info(to, count, &info, sizeof info);
    return end(KERN_SUCCESS);
}

static struct list *free_list(void *at) {
    for (uint32_t i = 0; i < LISTS_MAX; i++) {
        if (world.lists[i].at == at) {
            return &world.lists[i];
        }
    }
    return NULL;
}

kern_return_t task_threads(task_t task, thread_act_array_t *threads,
                           mach_msg_type_number_t *count) {
    kern_return_t result;
    if (!begin(STANDIN_THREADS, &result)) {
        return result;
    }
    struct list *list = free_list(NULL);
    size_t size = world.thread_count * sizeof **threads;
    void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (task != TASK_PORT || list == NULL || at == MAP_FAILED) {
        return end(KERN_RESOURCE_SHORTAGE);
    }
    *list = (struct list){at, size};
    *threads = at;
    *count = 0;
    for (uint32_t i = 0; i < world.thread_count; i++) {
        if (!world.threads[i].dead) {
            (*threads)[(*count)++] = standin_port(&world.threads[i]);
            world.threads[i].rights++;
        }
    }
    list->size = *count * sizeof **threads;
    return end(KERN_SUCCESS);
}

kern_return_t mach_port_deallocate(task_t task, mach_port_name_t name) {
    kern_return_t result;
    if (!begin(STANDIN_DEALLOCATE, &result)) {
        return result;
    }
    struct standin_thread *t = thread_of(name);
    if (task != TASK_PORT || t == NULL || t->rights == 0) {
        world.counts.forbidden++; /* the kernel may end a process that does this */
        return end(KERN_INVALID_NAME);
    }
    t->rights--;
    return end(KERN_SUCCESS);
}

kern_return_t vm_deallocate(task_t task, vm_address_t address, vm_size_t size) {
    kern_return_t result;
    if (!begin(STANDIN_FREE, &result)) {
        return result;
    }
    struct list *list = free_list((void *)address);
    if (task != TASK_PORT || list == NULL || address == 0 || list->size != size) {
        world.counts.forbidden++;
        return end(KERN_INVALID_ARGUMENT);
    }
    munmap(list->at, size);
    list->at = NULL;
    return end(KERN_SUCCESS);
}

static const struct region *region_at(uint64_t address) {
    for (uint32_t i = world.region_count; i > 0; i--) {
        const struct region *r = &world.regions[i - 1];
        if (address >= r->address && address - r->address < r->size) {
            return r;
        }
    }
    return NULL;
}

/* Copies from the memory that standin_map added. Returns the number of bytes that the first region
 * has, 0 if there is none. */
static size_t copy_scripted(uint64_t address, uint8_t *to, size_t size) {
    const struct region *r = region_at(address);
    if (r == NULL) {
        return 0;
    }
    size_t left = r->size - (size_t)(address - r->address), n = left < size ? left : size;
    memcpy(to, r->bytes + (address - r->address), n);
    return n;
}

/* Copies from the test's own memory, by write(2) to a pipe, which fails where no memory is mapped.
 * Returns the number of bytes, 0 if they cannot be read. */
static size_t copy_own(uint64_t address, uint8_t *to, size_t size) {
    static int ends[2] = {-1, -1};
    if (ends[0] < 0 && pipe(ends) != 0) {
        return 0;
    }
    size_t n = size < PIPE_BUF ? size : PIPE_BUF;
    if (address < OWN_FROM || write(ends[1], (const void *)(uintptr_t)address, n) != (ssize_t)n) {
        return 0;
    }
    if (read(ends[0], to, n) != (ssize_t)n) {
        close(ends[0]); /* drops the bytes that are left in the pipe */
        close(ends[1]);
        ends[0] = -1;
        return 0;
    }
    return n;
}

kern_return_t vm_read_overwrite(task_t task, vm_address_t address, vm_size_t size, vm_address_t to,
                                vm_size_t *got) {
    kern_return_t result;
    uint8_t *out = (uint8_t *)to;
    if (!begin(STANDIN_READ, &result)) {
        return result;
    }
    world.reads++;
    world.counts.forbidden += task != TASK_PORT || (holding > 0 && size > SHARED_FROM);
    *got = 0;
    while (*got < size) {
        size_t n = copy_scripted(address + *got, out + *got, size - *got);
        n = n > 0 ? n : copy_own(address + *got, out + *got, size - *got);
        if (n == 0) {
            return end(KERN_INVALID_ADDRESS);
        }
        *got += n;
    }
    return end(KERN_SUCCESS);
}

/* ---- semaphores ---- */

static sem_t *semaphore_of(semaphore_t name) {
    uint32_t i = name < FIRST_SEMAPHORE ? UINT32_MAX : (name - FIRST_SEMAPHORE) / PORT_STEP;
    return i < atomic_load(&semaphore_count) ? &semaphores[i] : NULL;
}

kern_return_t semaphore_create(task_t task, semaphore_t *semaphore, int policy, int value) {
    kern_return_t result;
    if (!begin(STANDIN_SEMAPHORE, &result)) {
        return result;
    }
    unsigned i = atomic_load(&semaphore_count);
    if (task != TASK_PORT || policy != SYNC_POLICY_FIFO || i == SEMAPHORES_MAX) {
        return end(KERN_RESOURCE_SHORTAGE);
    }
    sem_init(&semaphores[i], 0, (unsigned)value);
    *semaphore = FIRST_SEMAPHORE + i * PORT_STEP;
    atomic_store(&semaphore_count, i + 1);
    return end(KERN_SUCCESS);
}

kern_return_t semaphore_destroy(task_t task, semaphore_t semaphore) {
    return task == TASK_PORT && semaphore_of(semaphore) != NULL ? KERN_SUCCESS : KERN_INVALID_NAME;
}

kern_return_t semaphore_signal(semaphore_t semaphore) {
    sem_t *s = semaphore_of(semaphore);
    return s != NULL && sem_post(s) == 0 ? KERN_SUCCESS : KERN_INVALID_ARGUMENT;
}

kern_return_t semaphore_wait(semaphore_t semaphore) {
    sem_t *s = semaphore_of(semaphore);
    if (s == NULL) {
        return KERN_INVALID_ARGUMENT;
    }
    return sem_wait(s) == 0 ? KERN_SUCCESS : KERN_ABORTED;
}

kern_return_t semaphore_timedwait(semaphore_t semaphore, mach_timespec_t wait) {
    sem_t *s = semaphore_of(semaphore);
    struct timespec until;
    if (s == NULL) {
        return KERN_INVALID_ARGUMENT;
    }
    if (wait.tv_nsec < 0 || wait.tv_nsec >= 1000000000) {
        return KERN_INVALID_VALUE;
    }
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += wait.tv_sec;
    until.tv_nsec += wait.tv_nsec;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    if (sem_timedwait(s, &until) == 0) {
        return KERN_SUCCESS;
    }
    return errno == ETIMEDOUT ? KERN_OPERATION_TIMED_OUT : KERN_ABORTED;
}

/* ---- what the C library knows of the process ---- */

uint64_t clock_gettime_nsec_np(clockid_t clock) {
    struct timespec ts = {0};
    kern_return_t result;
    if (begin(STANDIN_CLOCK, &result)) {
        clock_gettime(clock == CLOCK_UPTIME_RAW ? CLOCK_MONOTONIC : clock, &ts);
        leave();
    }
    return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

int standin_setname(const char *name) {
    enter();
    self_locked()->name = name;
    leave();
    return 0;
}

int _NSGetExecutablePath(char *to, uint32_t *size) {
    size_t needed = strlen(world.program) + 1;
    if (*size < needed) {
        return -1;
    }
    memcpy(to, world.program, needed);
    return 0;
}

/* ---- locks (-Wl,--wrap=pthread_mutex_lock) ---- */

int __real_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex);

int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex) {
    if (holding > 0) {
        enter();
        world.counts.forbidden++;
        leave();
    }
    return __real_pthread_mutex_lock(mutex);
}
