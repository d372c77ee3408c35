/* Sets of processors. */
#include "base/processors.h"

#ifdef __linux__
#include <sys/syscall.h>
#include <unistd.h>
#endif

enum { WORD_BITS = 8 * sizeof(unsigned long) };

#ifdef SYS_sched_setaffinity
struct processors processors_allowed(void) {
    struct processors set = {0};
    /* The system call returns the bytes of the mask that it filled. */
    long bytes = syscall(SYS_sched_getaffinity, 0, sizeof set.mask, set.mask);
    set.bytes = bytes > 0 ? (size_t)bytes : 0;
    return set;
}

unsigned processors_here(void) {
    unsigned processor;
    bool known = syscall(SYS_getcpu, &processor, NULL, NULL) == 0 && processor < PROCESSORS_MAX;
    return known ? processor : PROCESSORS_MAX;
}

bool processors_use(const struct processors *set) {
    return set->bytes > 0 && syscall(SYS_sched_setaffinity, 0, set->bytes, set->mask) == 0;
}
#else
struct processors processors_allowed(void) {
    return (struct processors){0};
}

unsigned processors_here(void) {
    return PROCESSORS_MAX;
}

bool processors_use(const struct processors *set) {
    (void)set;
    return false;
}
#endif

unsigned processors_count(const struct processors *set) {
    unsigned count = 0;
    for (size_t i = 0; i < set->bytes / sizeof *set->mask; i++) {
        count += (unsigned)__builtin_popcountl(set->mask[i]);
    }
    return count;
}

bool processors_remove(struct processors *set, unsigned processor) {
    size_t word = processor / WORD_BITS;
    unsigned long bit = 1UL << processor % WORD_BITS;
    if (word >= set->bytes / sizeof *set->mask || (set->mask[word] & bit) == 0 ||
        processors_count(set) < 2) {
        return false;
    }
    set->mask[word] &= ~bit;
    return true;
}
