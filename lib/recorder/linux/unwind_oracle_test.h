/* Uses libunwind, where it is installed, as a second opinion on a copied stack. It gets the same
 * registers and bytes as the recorder's unwinder. One file of each program includes this header. */
#ifndef STALLREC_UNWIND_ORACLE_TEST_H
#define STALLREC_UNWIND_ORACLE_TEST_H

#include "linux/copy_linux.h"

enum oracle {
    ORACLE_NONE,   /* libunwind is not installed, or it ends earlier, without a contradiction */
    ORACLE_AGREES, /* both stacks are the same down to the outermost frame */
    ORACLE_DIFFERS
};

#ifdef HAVE_LIBUNWIND_REMOTE
#include <libunwind.h>
#include <link.h>
#include <string.h>

/* This function is declared in none of libunwind's headers, but perf(1) uses it in this way. */
extern int UNW_OBJ(dwarf_search_unwind_table)(unw_addr_space_t, unw_word_t, unw_dyn_info_t *,
                                              unw_proc_info_t *, int, void *);

struct oracle_table {
    unw_word_t ip;
    unw_dyn_info_t info;
};

/* Finds the search table of .eh_frame_hdr in the module that holds t->ip. The encodings must be
 * those that all linkers write: a sorted table of 32-bit pairs. */
static int oracle_find_table(struct dl_phdr_info *module, size_t size, void *arg) {
    struct oracle_table *t = arg;
    const unsigned char *header = NULL;
    bool inside = false;
    (void)size;
    for (int i = 0; i < module->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &module->dlpi_phdr[i];
        unw_word_t at = module->dlpi_addr + p->p_vaddr;
        if (p->p_type == PT_LOAD && t->ip >= at && t->ip < at + p->p_memsz) {
            inside = true;
            t->info.start_ip = at;
            t->info.end_ip = at + p->p_memsz;
        } else if (p->p_type == PT_GNU_EH_FRAME) {
            header = (const unsigned char *)(uintptr_t)at;
        }
    }
    if (!inside || !header || header[2] != 3 || header[3] != 0x3b) {
        return 0;
    }
    uint32_t entries;
    memcpy(&entries, header + 8, sizeof entries);
    t->info.format = UNW_INFO_FORMAT_REMOTE_TABLE;
    t->info.u.rti.segbase = (unw_word_t)(uintptr_t)header;
    t->info.u.rti.table_data = (unw_word_t)(uintptr_t)header + 12;
    t->info.u.rti.table_len = entries;
    return 1;
}

static int oracle_proc_info(unw_addr_space_t space, unw_word_t ip, unw_proc_info_t *out, int need,
                            void *arg) {
    struct oracle_table t = {.ip = ip};
    if (!dl_iterate_phdr(oracle_find_table, &t)) {
        return -UNW_ENOINFO;
    }
    return UNW_OBJ(dwarf_search_unwind_table)(space, ip, &t.info, out, need, arg);
}

static void oracle_put_info(unw_addr_space_t space, unw_proc_info_t *info, void *arg) {
    (void)space, (void)info, (void)arg;
}

static int oracle_no_list(unw_addr_space_t space, unw_word_t *out, void *arg) {
    (void)space, (void)out, (void)arg;
    return -UNW_ENOINFO;
}

/* Reads a word of the copied stack, or of the memory of a module. */
static int oracle_memory(unw_addr_space_t space, unw_word_t at, unw_word_t *value, int write,
                         void *arg) {
    const struct copy *copy = arg;
    uint64_t word;
    (void)space;
    if (write) {
        return -UNW_EINVAL;
    }
    if (cfi_load_async(&copy->stack, at, &word)) {
        *value = word;
        return 0;
    }
    struct oracle_table t = {.ip = at};
    if (!dl_iterate_phdr(oracle_find_table, &t)) {
        return -UNW_EINVAL;
    }
    memcpy(value, (const void *)(uintptr_t)at, sizeof *value);
    return 0;
}

static int oracle_register(unw_addr_space_t space, unw_regnum_t reg, unw_word_t *value, int write,
                           void *arg) {
    const struct copy *copy = arg;
    (void)space;
    if (write || reg < 0 || reg >= CFI_REGISTERS || !(copy->regs.known >> reg & 1)) {
        return -UNW_EBADREG;
    }
    *value = copy->regs.value[reg];
    return 0;
}

static int oracle_no_float(unw_addr_space_t space, unw_regnum_t reg, unw_fpreg_t *value, int write,
                           void *arg) {
    (void)space, (void)reg, (void)value, (void)write, (void)arg;
    return -UNW_EBADREG;
}
static int oracle_no_resume(unw_addr_space_t space, unw_cursor_t *cursor, void *arg) {
    (void)space, (void)cursor, (void)arg;
    return -UNW_EINVAL;
}
static int oracle_no_name(unw_addr_space_t space, unw_word_t at, char *out, size_t size,
                          unw_word_t *offset, void *arg) {
    (void)space, (void)at, (void)out, (void)size, (void)offset, (void)arg;
    return -UNW_ENOINFO;
}

static enum oracle oracle_ask(const struct copy *copy, const struct rec_stack *stack) {
    static unw_accessors_t accessors = {oracle_proc_info, oracle_put_info, oracle_no_list,
                                        oracle_memory,    oracle_register, oracle_no_float,
                                        oracle_no_resume, oracle_no_name};
    static unw_addr_space_t space;
    struct copy asked = *copy;
    unw_cursor_t cursor;
    unw_word_t ip = 0;
    if (!space) {
        space = unw_create_addr_space(&accessors, 0);
    }
    if (!space || unw_init_remote(&cursor, space, &asked) != 0) {
        return ORACLE_NONE;
    }
    for (uint32_t i = 0;; i++) {
        unw_get_reg(&cursor, UNW_REG_IP, &ip);
        if (i == stack->count || ip != stack->frames[i]) {
            return i == stack->count && ip == 0 ? ORACLE_AGREES : ORACLE_DIFFERS;
        }
        int more = unw_step(&cursor);
        if (more <= 0) {
            return more == 0 && i + 1 == stack->count ? ORACLE_AGREES : ORACLE_NONE;
        }
    }
}

#else

static enum oracle oracle_ask(const struct copy *copy, const struct rec_stack *stack) {
    (void)copy, (void)stack;
    return ORACLE_NONE;
}

#endif
#endif
