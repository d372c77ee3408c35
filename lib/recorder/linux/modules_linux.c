/* Lists the modules by dl_iterate_phdr.
 *
 * The callback runs under the lock under which dlclose unmaps, so a module's memory stays mapped
 * as long as the callback runs, and no longer. _dl_find_object is faster but cannot be used, as
 * dlclose updates its table after the unmapping. Nor can dladdr and dlsym: they take the lock that
 * is held while a library's constructors run, so a stall inside dlopen would stop the recorder,
 * too. */
#include "linux/modules_linux.h"

#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "linux/proc_linux.h"
#include "unwind/cfi.h"

/* A lock that is held during a fork, and whenever the recorder takes the dynamic linker's lock, so
 * that no fork happens meanwhile. It is global to the process, as the dynamic linker's lock is, and
 * recursive, because a signal handler may fork while the thread forks. */
static pthread_mutex_t not_forking = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

int modules_iterate_async(int (*visit)(struct dl_phdr_info *, size_t, void *), void *arg) {
    pthread_mutex_lock(&not_forking);
    int result = dl_iterate_phdr(visit, arg);
    pthread_mutex_unlock(&not_forking);
    return result;
}

bool modules_try_hold(void) {
    return pthread_mutex_trylock(&not_forking) == 0;
}

void modules_release(void) {
    pthread_mutex_unlock(&not_forking);
}

void modules_before_fork(void) {
    pthread_mutex_lock(&not_forking);
}

void modules_after_fork(void) {
    pthread_mutex_unlock(&not_forking);
}

void modules_in_forked_child(void) {
    /* The mutex is initialised and not unlocked, as the child's thread has another id than its
     * owner. */
    not_forking = (pthread_mutex_t)PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
}

static bool holds_async(const struct dl_phdr_info *info, uint64_t pc) {
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type == PT_LOAD && pc - (info->dlpi_addr + p->p_vaddr) < p->p_memsz) {
            return true;
        }
    }
    return false;
}

/* Describes a module for the unwinder. Only the bytes of a segment that come from the file count,
 * as those after them are zero. */
static void describe_async(const struct dl_phdr_info *info, struct cfi_module *module) {
    memset(module, 0, sizeof *module);
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uint64_t at = info->dlpi_addr + p->p_vaddr;
        if (p->p_type == PT_GNU_EH_FRAME) {
            module->header = at;
            module->header_size = p->p_memsz;
        } else if (p->p_type == PT_LOAD && (p->p_flags & PF_R) &&
                   module->segment_count < CFI_SEGMENTS) {
            struct cfi_segment *s = &module->segments[module->segment_count++];
            s->address = at;
            s->bytes = (const uint8_t *)(uintptr_t)at;
            s->size = p->p_filesz < p->p_memsz ? p->p_filesz : p->p_memsz;
            s->code = (p->p_flags & PF_X) != 0;
        }
    }
}

struct module_search {
    uint64_t pc;
    unwind_visit_fn *visit;
    void *visit_arg;
};

static int module_search_async(struct dl_phdr_info *info, size_t size, void *arg) {
    struct module_search *s = arg;
    (void)size;
    if (!holds_async(info, s->pc)) {
        return 0;
    }
    struct cfi_module module;
    describe_async(info, &module);
    s->visit(s->visit_arg, &module);
    return 1;
}

bool modules_find_async(uint64_t pc, unwind_visit_fn *visit, void *arg) {
    struct module_search s = {pc, visit, arg};
    return modules_iterate_async(module_search_async, &s) != 0;
}

struct entry_search {
    uint64_t call;
    struct modules_entry found;
};

static void read_entry_async(void *arg, const struct cfi_module *module) {
    struct entry_search *s = arg;
    struct cfi_row row;
    if (cfi_find_row_async(module, s->call, &row) == CFI_OK && row.cfa.kind == CFI_IS_OFFSET &&
        row.cfa.value == (int32_t)row.cfa.value &&
        (row.cfa.reg == CFI_SP || row.cfa.reg == CFI_FP)) {
        s->found = (struct modules_entry){(int32_t)row.cfa.value, row.cfa.reg == CFI_FP};
    }
}

struct modules_entry modules_entry_async(uint64_t pc) {
    struct entry_search s = {.call = pc - 1};
    modules_find_async(s.call, read_entry_async, &s);
    return s.found;
}

static bool module_find_async(void *arg, uint64_t pc, unwind_visit_fn *visit, void *visit_arg) {
    (void)arg;
    return modules_find_async(pc, visit, visit_arg);
}

static int count_async(struct dl_phdr_info *info, size_t size, void *arg) {
    uint64_t *generation = arg;
    (void)size;
    *generation = info->dlpi_adds + info->dlpi_subs; /* neither counter ever falls */
    return 1;
}

uint64_t modules_generation_async(void) {
    uint64_t generation = 0;
    modules_iterate_async(count_async, &generation);
    return generation;
}

static uint64_t generation_async(void *arg) {
    (void)arg;
    return modules_generation_async();
}

struct work {
    void (*work_async)(void *);
    void *arg;
};

static int hold_async(struct dl_phdr_info *info, size_t size, void *arg) {
    const struct work *w = arg;
    (void)info, (void)size;
    w->work_async(w->arg);
    return 1;
}

void modules_hold_async(void (*work_async)(void *), void *arg) {
    struct work w = {work_async, arg};
    modules_iterate_async(hold_async, &w);
}

static bool module_read_async(void *arg, uint64_t address, void *to, size_t size) {
    (void)arg;
    return proc_read_memory_async((pid_t)syscall(SYS_getpid), address, to, size);
}

struct unwind_modules modules_linux(void) {
    struct unwind_modules modules = {NULL, module_find_async, generation_async, module_read_async};
    uint8_t probe = 0, copy;
    if (!module_read_async(NULL, (uint64_t)(uintptr_t)&probe, &copy, sizeof copy)) {
        modules.read_async = NULL; /* process_vm_readv is forbidden, as in a sandbox */
    }
    return modules;
}
