/* Names the machines of ELF files. A processor that Darwin has, too, gets the name that Darwin's
 * tools give it. */
#include <elf.h>
#include <stdio.h>
#include <string.h>

#include "object/elffile_private.h"
#include "object/object.h"
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

/* --- 32-bit ARM: which version, from .ARM.attributes (ABI for the ARM Architecture, addenda32 §3)
 * --- */

enum {
    FORMAT_VERSION = 'A',
    TAG_FILE = 1,
    TAG_CPU_RAW_NAME = 4,
    TAG_CPU_NAME = 5,
    TAG_CPU_ARCH = 6,
    /* Of the tags above this one, odd ones have strings and even ones numbers as values. */
    TAG_COMPATIBILITY = 32,
};

/* Reads an attribute's value and returns its number; 0 for a string, which is skipped. */
static uint64_t read_attribute(struct reader *r, uint64_t tag) {
    bool text =
        tag == TAG_CPU_RAW_NAME || tag == TAG_CPU_NAME || (tag > TAG_COMPATIBILITY && tag % 2);
    uint64_t number = text ? 0 : reader_uleb128(r);
    if (text || tag == TAG_COMPATIBILITY) {
        (void)reader_cstr(r, NULL);
    }
    return number;
}

/* Returns Tag_CPU_arch among the attributes of the whole file; UINT64_MAX if it is absent. */
static uint64_t cpu_arch_of_file(struct reader *r) {
    while (reader_left(r) > 0) {
        uint64_t tag = reader_uleb128(r);
        uint64_t value = read_attribute(r, tag);
        if (tag == TAG_CPU_ARCH && !reader_failed(r)) {
            return value;
        }
    }
    return UINT64_MAX;
}

/* Returns Tag_CPU_arch of one vendor's attributes, with r after the vendor's name; UINT64_MAX if it
 * is absent. Each part is a tag, a size that counts the tag and itself, and attributes. */
static uint64_t cpu_arch_of_vendor(struct reader *r) {
    while (reader_left(r) > 0) {
        size_t start = reader_pos(r);
        uint64_t tag = reader_uleb128(r);
        uint32_t size = reader_u32(r);
        size_t header = reader_pos(r) - start;
        if (size < header) {
            break;
        }
        struct reader part = reader_sub(r, size - header, NULL);
        if (tag == TAG_FILE) {
            return cpu_arch_of_file(&part);
        }
    }
    return UINT64_MAX;
}

enum st elffile_refine_arm(struct object_slice *s, struct err *e) {
    /* names by Tag_CPU_arch, from 0 on */
    static const char *const names[] = {"arm",   "armv4",  "armv4t", "armv5",   "armv5",
                                        "armv5", "armv6",  "armv6",  "armv6",   "armv6",
                                        "armv7", "armv6m", "armv6m", "armv7em", "armv8"};
    const uint8_t *bytes;
    size_t len;
    struct err why = {0};
    if (object_section(s, "ARM.attributes", &bytes, &len, NULL, &why) != ST_OK) {
        return why.code == ERR_NOMEM ? err_nomem(e) : ST_OK;
    }
    struct reader r = reader_init(s->object->path, bytes, len);
    r.big_endian = s->big_endian;
    uint64_t arch = UINT64_MAX;
    if (reader_u8(&r) != FORMAT_VERSION) {
        return ST_OK;
    }
    while (arch == UINT64_MAX && reader_left(&r) > 0) {
        uint32_t size = reader_u32(&r);
        if (size < sizeof size) {
            return ST_OK;
        }
        struct reader vendor = reader_sub(&r, size - sizeof size, NULL);
        if (strcmp(reader_cstr(&vendor, NULL), "aeabi") == 0) {
            arch = cpu_arch_of_vendor(&vendor);
        }
    }
    if (arch < sizeof names / sizeof names[0]) {
        snprintf(s->arch, sizeof s->arch, "%s", names[arch]);
    }
    return ST_OK;
}
