/* Reads load commands, function starts and paths of a loaded Mach-O image. */
#include "darwin/macho_image.h"

#include <string.h>

#define MAGIC_64 UINT32_C(0xfeedfacf)

enum {
    /* <mach-o/loader.h>, <mach/machine.h> */
    HEADER_SIZE = 32,
    SEGMENT_64 = 0x19,
    UUID = 0x1b,
    FUNCTION_STARTS = 0x26,
    SEGMENT_SIZE = 72,
    SECTION_SIZE = 80,
    NAME_SIZE = 16,
    CPU_X86_64 = 0x01000007,
    CPU_ARM64 = 0x0100000c,
    SUBTYPE_MASK = 0x00ffffff,
    SUBTYPE_ARM64E = 2,
    SUBTYPE_X86_64_H = 8,
    /* Limits of this reader. */
    COMMANDS_MAX = 4096,
    SECTIONS_MAX = 1024,
    CHUNK = 4096 /* bytes of a list that are read at a time, and the least result of stride_async */
};

/* Values that are read from several load commands. */
struct macho_layout {
    uint64_t text, linkedit, linkedit_at,
        linkedit_size;  /* vmaddr of __TEXT and of __LINKEDIT; fileoff and filesize of __LINKEDIT */
    uint64_t unwind;    /* vmaddr of __unwind_info */
    uint32_t starts_at; /* file offset of the function starts */
    bool has_text, has_linkedit;
};

static bool named_async(const uint8_t *field, const char *name) {
    return strncmp((const char *)field, name, NAME_SIZE) == 0;
}

static bool macho_read_async(const struct memory *m, uint64_t address, void *to, size_t size) {
    return address <= UINT64_MAX - size && m->read_async(m->arg, address, to, size);
}

/* Reads the headers of __TEXT's sections, which follow its load command. */
static void read_sections_async(const struct memory *m, uint64_t at, uint32_t count,
                                struct macho_image *image, struct macho_layout *layout) {
    for (uint32_t i = 0; i < count; i++) {
        uint8_t section[SECTION_SIZE];
        if (!macho_read_async(m, at + (uint64_t)i * SECTION_SIZE, section, sizeof section)) {
            return;
        }
        if (named_async(section, "__unwind_info")) {
            layout->unwind = memory_u64_async(section + 32);
            image->unwind_size = memory_u64_async(section + 40);
        }
    }
}

static void read_segment_async(const struct memory *m, uint64_t at, uint32_t size,
                               struct macho_image *image, struct macho_layout *layout) {
    uint8_t segment[SEGMENT_SIZE];
    if (size < SEGMENT_SIZE || !macho_read_async(m, at, segment, sizeof segment)) {
        return;
    }
    uint64_t address = memory_u64_async(segment + 24);
    if (named_async(segment + 8, "__TEXT")) {
        uint32_t sections = memory_u32_async(segment + 64);
        layout->text = address;
        layout->has_text = true;
        image->text_size = memory_u64_async(segment + 32);
        if (sections <= SECTIONS_MAX && sections <= (size - SEGMENT_SIZE) / SECTION_SIZE) {
            read_sections_async(m, at + SEGMENT_SIZE, sections, image, layout);
        }
    } else if (named_async(segment + 8, "__LINKEDIT")) {
        layout->linkedit = address;
        layout->linkedit_at = memory_u64_async(segment + 40);
        layout->linkedit_size = memory_u64_async(segment + 48);
        layout->has_linkedit = true;
    }
}

static void read_command_async(const struct memory *m, uint64_t at, uint32_t command, uint32_t size,
                               struct macho_image *image, struct macho_layout *layout) {
    uint8_t raw[24];
    if (command == SEGMENT_64) {
        read_segment_async(m, at, size, image, layout);
    } else if (command == UUID && size >= 24 && macho_read_async(m, at, raw, 24)) {
        memcpy(image->uuid, raw + 8, sizeof image->uuid);
        image->has_uuid = true;
    } else if (command == FUNCTION_STARTS && size >= 16 && macho_read_async(m, at, raw, 16)) {
        layout->starts_at = memory_u32_async(raw + 8);
        image->starts_size = memory_u32_async(raw + 12);
    }
}

/* Sets the run-time addresses. In the process all segments of an image are moved by the same
 * distance, in the shared cache, too. Unwind information or function starts that are not inside
 * their segment get the size 0. */
static void macho_place_async(struct macho_image *image, const struct macho_layout *layout) {
    uint64_t slide = image->load - layout->text; /* wraps as addresses do */
    uint64_t unwind = layout->unwind - layout->text;
    if (image->unwind_size > image->text_size || unwind > image->text_size - image->unwind_size) {
        image->unwind_size = 0;
    }
    image->unwind = layout->unwind + slide;
    uint64_t starts = layout->starts_at - layout->linkedit_at;
    if (!layout->has_linkedit || layout->starts_at < layout->linkedit_at ||
        image->starts_size > layout->linkedit_size ||
        starts > layout->linkedit_size - image->starts_size) {
        image->starts_size = 0;
    }
    image->starts = layout->linkedit + slide + starts;
}

bool macho_image_read_async(const struct memory *memory, uint64_t load, struct macho_image *out) {
    uint8_t header[HEADER_SIZE];
    if (!macho_read_async(memory, load, header, sizeof header) ||
        memory_u32_async(header) != MAGIC_64) {
        return false;
    }
    struct macho_image image = {.load = load,
                                .cpu_type = memory_u32_async(header + 4),
                                .cpu_subtype = memory_u32_async(header + 8)};
    struct macho_layout layout = {0};
    uint32_t count = memory_u32_async(header + 16), left = memory_u32_async(header + 20);
    uint64_t at = load + HEADER_SIZE;
    for (uint32_t i = 0; i < count && i < COMMANDS_MAX && left >= 8; i++) {
        uint8_t command[8];
        if (!macho_read_async(memory, at, command, sizeof command)) {
            return false;
        }
        uint32_t size = memory_u32_async(command + 4);
        if (size < 8 || size > left) {
            return false;
        }
        read_command_async(memory, at, memory_u32_async(command), size, &image, &layout);
        at += size;
        left -= size;
    }
    if (!layout.has_text || image.text_size == 0 || image.text_size > UINT64_MAX - load) {
        return false;
    }
    macho_place_async(&image, &layout);
    *out = image;
    return true;
}

const char *macho_arch_async(uint32_t cpu_type, uint32_t cpu_subtype) {
    uint32_t subtype = cpu_subtype & SUBTYPE_MASK;
    if (cpu_type == CPU_ARM64) {
        return subtype == SUBTYPE_ARM64E ? "arm64e" : "arm64";
    }
    if (cpu_type == CPU_X86_64) {
        return subtype == SUBTYPE_X86_64_H ? "x86_64h" : "x86_64";
    }
    return NULL;
}

/* ---- function starts ---- */

/* A cursor over the list of function starts, which is read in pieces. */
struct starts {
    const struct memory *memory;
    uint64_t address, left; /* address and size of the part that is not read yet */
    uint8_t bytes[CHUNK];
    size_t size, pos;
};

static bool next_byte_async(struct starts *s, uint8_t *byte) {
    if (s->pos == s->size) {
        s->size = s->left < CHUNK ? (size_t)s->left : CHUNK;
        s->pos = 0;
        if (s->size == 0 || !macho_read_async(s->memory, s->address, s->bytes, s->size)) {
            s->size = 0;
            return false;
        }
        s->address += s->size;
        s->left -= s->size;
    }
    *byte = s->bytes[s->pos++];
    return true;
}

/* Returns the next difference of the list, a ULEB128 number; 0 at the end of the list, which is
 * padded with zeroes, for a number that does not fit into 63 bits, and for bytes that cannot be
 * read. */
static uint64_t next_step_async(struct starts *s) {
    uint64_t value = 0;
    uint8_t byte;
    for (unsigned shift = 0; shift < 63 && next_byte_async(s, &byte); shift += 7) {
        value |= (uint64_t)(byte & 0x7f) << shift;
        if ((byte & 0x80) == 0) {
            return value;
        }
    }
    return 0;
}

/* Returns the bytes of the list for each mark: mark i, counted from 0, is made at the first
 * function start that is found after at least (i + 1) times as many bytes of the list were read. */
static uint64_t stride_async(const struct macho_image *image) {
    uint64_t stride = image->starts_size / MACHO_MARKS + 1;
    return stride < CHUNK ? CHUNK : stride;
}

/* Moves the cursor to the last mark at or before the offset and returns the function start at that
 * mark; 0: there is no mark, and the cursor stays at the front. */
static uint64_t seek_async(struct starts *s, const struct macho_marks *marks, uint64_t offset) {
    uint32_t lo = 0, hi = marks != NULL ? marks->count : 0;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (marks->marks[mid].start <= offset) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    if (lo == 0) {
        return 0;
    }
    s->address += marks->marks[lo - 1].next;
    s->left -= marks->marks[lo - 1].next;
    return marks->marks[lo - 1].start;
}

/* Adds a mark for the function that starts at `at`, whose difference the cursor has just read, if
 * the list has been read far enough for another mark. */
static void mark_async(struct macho_marks *marks, const struct macho_image *image,
                       const struct starts *s, uint64_t at) {
    uint64_t next = image->starts_size - s->left - (s->size - s->pos);
    if (marks != NULL && marks->count < MACHO_MARKS && at <= UINT32_MAX && next <= UINT32_MAX &&
        next >= (marks->count + 1) * stride_async(image)) {
        marks->marks[marks->count].start = (uint32_t)at;
        marks->marks[marks->count].next = (uint32_t)next;
        marks->count++;
    }
}

bool macho_function_async(const struct memory *memory, const struct macho_image *image,
                          struct macho_marks *marks, uint64_t address, uint64_t *start,
                          uint64_t *end) {
    uint64_t limit = image->text_size, offset = address - image->load, before, step;
    struct starts s = {.memory = memory, .address = image->starts, .left = image->starts_size};
    if (address < image->load || offset >= limit) {
        return false;
    }
    uint64_t at = seek_async(&s, marks, offset);
    while ((step = next_step_async(&s)) != 0 && step <= limit - at) {
        before = at;
        at += step;
        if (at > offset) {
            *start = image->load + before;
            *end = image->load + at;
            return before > 0;
        }
        mark_async(marks, image, &s, at);
    }
    *start = image->load + at;
    *end = image->load + limit;
    return at > 0;
}

/* ---- paths ---- */

/* Skips the "/private" of "/private/var/", since /var has two names on iOS. */
static const char *without_private_async(const char *path) {
    return strncmp(path, "/private/var/", 13) == 0 ? path + 8 : path;
}

/* Returns the length of the path up to the '/' after the outermost bundle ("Shop.app/"), or, if it
 * is in no bundle, up to its folder's '/'. */
static size_t app_root_async(const char *path, bool *bundle) {
    static const char *const kinds[] = {".app/", ".appex/", ".xctest/"};
    size_t folder = 0;
    *bundle = true;
    for (size_t i = 0; path[i] != '\0'; i++) {
        for (size_t k = 0; path[i] == '.' && k < sizeof kinds / sizeof *kinds; k++) {
            if (strncmp(path + i, kinds[k], strlen(kinds[k])) == 0) {
                return i + strlen(kinds[k]);
            }
        }
        folder = path[i] == '/' ? i + 1 : folder;
    }
    *bundle = false;
    return folder;
}

/* Is the path in a folder of the system, or in Xcode? */
static bool is_system_async(const char *path) {
    static const char *const folders[] = {"/System/", "/usr/",     "/bin/",
                                          "/sbin/",   "/Library/", "/Applications/Xcode"};
    if (strncmp(path, "/usr/local/", 11) == 0) {
        return false;
    }
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        if (strncmp(path, folders[i], strlen(folders[i])) == 0) {
            return true;
        }
    }
    return false;
}

bool macho_in_app_async(const char *path, const char *program) {
    bool bundle;
    path = without_private_async(path);
    program = without_private_async(program);
    if (strcmp(path, program) == 0) {
        return true;
    }
    size_t root = app_root_async(program, &bundle);
    const char *base = strrchr(path, '/');
    if (root == 0 || base == NULL || (!bundle && is_system_async(path)) ||
        strncmp(base, "/libswift", 9) == 0) {
        return false;
    }
    return strncmp(path, program, root) == 0;
}
