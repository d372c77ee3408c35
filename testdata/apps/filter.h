/* Programs of a seccomp filter, instruction by instruction. Included by one file per program. */
#ifndef DEMO_FILTER_H
#define DEMO_FILTER_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>

#include "app.h"

struct program {
    struct sock_filter code[272];
    unsigned short length;
};

static void add(struct program *p, struct sock_filter instruction) {
    if (p->length == sizeof p->code / sizeof *p->code) {
        fprintf(stderr, "a filter is too long\n");
        exit(1);
    }
    p->code[p->length++] = instruction;
}

/* Appends instructions that take this action if the number of the call, which was loaded before, is
 * this one. */
static void answer(struct program *p, long number, uint32_t action) {
    add(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 1));
    add(p, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action));
}

/* Appends an instruction that loads the word at this offset of struct seccomp_data. */
static void load(struct program *p, size_t offset) {
    add(p, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset));
}

#endif
