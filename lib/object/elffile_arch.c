/* Names of ELF machines: those that Darwin's tools use where both know the processor. */
#include <elf.h>
#include <stdio.h>

#include "object/object_private.h"

void elffile_arch_name(uint16_t machine, unsigned address_size, bool big_endian,
                       char out[OBJECT_ARCH_TEXT]) {
    static const struct {
        uint16_t machine;
        unsigned address_size; /* 0 = any */
        const char *little, *big;
    } machines[] = {
        {EM_386, 0, "i386", "i386"},          {EM_X86_64, 8, "x86_64", "x86_64"},
        {EM_X86_64, 4, "x32", "x32"},         {EM_ARM, 0, "arm", "armeb"},
        {EM_AARCH64, 8, "arm64", "arm64_be"}, {EM_AARCH64, 4, "arm64_32", "arm64_32_be"},
        {EM_RISCV, 8, "riscv64", "riscv64"},  {EM_RISCV, 4, "riscv32", "riscv32"},
        {EM_PPC, 0, "ppcle", "ppc"},          {EM_PPC64, 0, "ppc64le", "ppc64"},
        {EM_S390, 8, "s390x", "s390x"},       {EM_S390, 4, "s390", "s390"},
        {EM_MIPS, 8, "mips64el", "mips64"},   {EM_MIPS, 4, "mipsel", "mips"},
        {EM_SPARC, 0, "sparc", "sparc"},      {EM_SPARCV9, 0, "sparc64", "sparc64"},
        {258, 8, "loong64", "loong64"}, /* EM_LOONGARCH, newer than some elf.h */
        {258, 4, "loong32", "loong32"},
    };
    for (size_t i = 0; i < sizeof machines / sizeof machines[0]; i++) {
        if (machines[i].machine == machine &&
            (machines[i].address_size == 0 || machines[i].address_size == address_size)) {
            snprintf(out, OBJECT_ARCH_TEXT, "%s",
                     big_endian ? machines[i].big : machines[i].little);
            return;
        }
    }
    snprintf(out, OBJECT_ARCH_TEXT, "machine-%u", machine);
}
