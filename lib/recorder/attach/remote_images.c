/* The image table of another process, from its mappings and its memory. */
#include "attach/remote_images.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach/elf_sections.h"
#include "attach/remote_elf.h"
#include "attach/remote_map.h"
#include "linux/images_linux.h"

enum {
    IMAGES_MAX = 16384,
    MAPS_MAX = 262144,
    CODE_BEFORE = 16 * 1024, /* bytes of code that are copied before the unwound address, to hold
                                the function's first instructions */
    CODE_BEHIND = 256,
};
#define FRAMES_MAX (UINT64_C(256) << 20)

enum { OWN_HEADER = 20 };

/* The memory of an image that the unwinder reads, copied when it is first needed. A static program
 * often has no .eh_frame_hdr: then a header without a search table is made, at an address after the
 * image. */
struct image_frames {
    uint8_t *bytes; /* a copy of the memory at `address` */
    uint64_t address, size;
    uint64_t header, header_size;
    /* The made header, if `made` is true; `header` is then an address after the image. */
    uint8_t own[OWN_HEADER];
    bool made, tried;
};

struct remote_image {
    struct remote_elf elf;
    uint64_t device, inode;
    uint64_t first_end; /* the end of the image's first mapping */
    char *path;
    bool loaded; /* the image was mapped at the last refresh */
    bool in_app;
    struct image_frames frames;
};

struct remote_images {
    const struct remote_process *process;
    struct remote_image *image;
    size_t count, room;
    uint64_t generation;
    uint64_t stack_end; /* the end of the main thread's stack; 0: it is not known */
    bool looked;        /* the mappings were read since the last call of remote_images_look */
    char program[REMOTE_PATH_MAX];
    uint8_t code[CODE_BEFORE + CODE_BEHIND];
};

static bool read_process(void *arg, uint64_t address, void *to, size_t size) {
    return remote_read(arg, address, to, size);
}

struct remote_images *remote_images_new(const struct remote_process *process) {
    struct remote_images *images = calloc(1, sizeof *images);
    if (images) {
        images->process = process;
    }
    return images;
}

static void image_release(struct remote_image *image) {
    free(image->path);
    free(image->frames.bytes);
}

void remote_images_forget(struct remote_images *images) {
    for (size_t i = 0; i < images->count; i++) {
        image_release(&images->image[i]);
    }
    images->count = 0;
    images->generation++;
    images->looked = false;
}

void remote_images_free(struct remote_images *images) {
    if (images) {
        remote_images_forget(images);
        free(images->image);
        free(images);
    }
}

/* ---- the file of an image ---- */

static bool read_file(void *arg, uint64_t offset, void *to, size_t size) {
    return offset <= INT64_MAX && pread(*(int *)arg, to, size, (off_t)offset) == (ssize_t)size;
}

/* Opens the file of an image: first as it is mapped, for which the system may demand more rights
 * than for the memory; else, if the path is the program's, as /proc/PID/exe; else by its path. -1:
 * it cannot be opened, or the file that was opened has another inode number than the image. */
static int open_image(const struct remote_images *t, const struct remote_image *image) {
    char path[REMOTE_PATH_MAX + 8];
    struct stat sb;
    snprintf(path, sizeof path, "map_files/%llx-%llx", (unsigned long long)image->elf.load,
             (unsigned long long)image->first_end);
    int fd = remote_process_file(t->process, path);
    if (fd < 0 && strcmp(image->path, t->program) == 0) {
        fd = remote_process_file(t->process, "exe");
    }
    if (fd < 0) {
        snprintf(path, sizeof path, "root%s", image->path);
        fd = remote_process_file(t->process, path);
    }
    if (fd >= 0 && (fstat(fd, &sb) != 0 || !S_ISREG(sb.st_mode) || sb.st_ino != image->inode)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* Finds a build id that no program header names, as in Go's programs: the file's section headers
 * hold its address, at which it is read from memory. */
static void find_remote_id(const struct remote_images *t, struct remote_image *image) {
    enum { NOTE_MAX = 256 };
    uint8_t note[NOTE_MAX];
    uint64_t address, size;
    int fd = image->inode ? open_image(t, image) : -1;
    if (fd < 0) {
        return;
    }
    if (elf_section_find(read_file, &fd, ".note.gnu.build-id", &address, &size) &&
        size <= sizeof note &&
        remote_read(t->process, image->elf.bias + address, note, (size_t)size)) {
        image->elf.id_size = images_build_id_async(note, (size_t)size, image->elf.id);
    }
    close(fd);
}

/* ---- the table ---- */

/* A file that is mapped from its first byte on, and may turn out to be an image. */
struct candidate {
    struct remote_map map; /* the first mapping */
    bool open;
    bool code; /* a mapping of the file is executable */
};

static bool is_vdso(const struct remote_map *map) {
    return strcmp(map->path, "[vdso]") == 0;
}

static struct remote_image *image_known(struct remote_images *t, const struct remote_map *map) {
    for (size_t i = 0; i < t->count; i++) {
        struct remote_image *image = &t->image[i];
        if (image->elf.load == map->lo && image->device == map->device &&
            image->inode == map->inode) {
            return image;
        }
    }
    return NULL;
}

static struct remote_image *image_add(struct remote_images *t) {
    if (t->count == t->room) {
        size_t room = t->room ? t->room * 2 : 64;
        struct remote_image *more =
            room <= IMAGES_MAX ? realloc(t->image, room * sizeof *more) : NULL;
        if (!more) {
            return NULL;
        }
        t->image = more;
        t->room = room;
    }
    return &t->image[t->count];
}

/* Drops unloaded images that overlap a new one. */
static void drop_overlapped(struct remote_images *t, const struct remote_elf *elf) {
    for (size_t i = t->count; i-- > 0;) {
        struct remote_image *image = &t->image[i];
        if (!image->loaded && image->elf.load < elf->end && elf->load < image->elf.end) {
            image_release(image);
            *image = t->image[--t->count];
        }
    }
}

static void image_found(struct remote_images *t, const struct remote_map *map) {
    struct remote_image *image = image_known(t, map);
    struct remote_elf elf;
    if (image) {
        image->loaded = true;
        return;
    }
    if (!remote_elf_read(read_process, (void *)(uintptr_t)t->process, map->lo, &elf)) {
        return;
    }
    drop_overlapped(t, &elf);
    image = image_add(t);
    char *path = image ? strdup(is_vdso(map) ? "linux-vdso.so.1" : map->path) : NULL;
    if (!path) {
        return;
    }
    *image = (struct remote_image){
        .elf = elf, .device = map->device, .inode = map->inode, .path = path, .loaded = true};
    image->first_end = map->hi;
    image->in_app = images_in_app_async(path, t->program);
    if (elf.id_size == 0) {
        find_remote_id(t, image);
    }
    t->count++;
    t->generation++;
}

static void end_candidate(struct remote_images *t, struct candidate *c) {
    if (c->open && c->code) {
        image_found(t, &c->map);
    }
    c->open = false;
}

/* Adds a mapping to the candidate. A mapping of another file, or from a file's first byte on, ends
 * the candidate; if it is from the first byte on and can be read, it begins the next one. Mappings
 * of one file follow each other; mappings of no file between them are ignored, except that the
 * main thread's stack sets t->stack_end. */
static void take_map(struct remote_images *t, struct candidate *c, const struct remote_map *map) {
    bool file = map->inode != 0 || is_vdso(map);
    if (strcmp(map->path, "[stack]") == 0) {
        t->stack_end = map->hi;
    }
    if (!file) {
        return;
    }
    bool same =
        c->open && map->device == c->map.device && map->inode == c->map.inode && map->offset != 0;
    if (!same) {
        end_candidate(t, c);
        if (map->offset != 0 || !map->read) {
            return;
        }
        c->map = *map;
        c->open = true;
        c->code = false;
    }
    c->code |= map->execute;
}

bool remote_images_refresh(struct remote_images *t) {
    int fd = remote_process_file(t->process, "maps");
    FILE *maps = fd < 0 ? NULL : fdopen(fd, "r");
    if (!maps) {
        int why = errno;
        if (fd >= 0) {
            close(fd);
        }
        errno = why;
        return false;
    }
    remote_process_program(t->process, t->program, sizeof t->program);
    for (size_t i = 0; i < t->count; i++) {
        t->image[i].loaded = false;
    }
    char *line = NULL;
    size_t room = 0, lines = 0;
    struct candidate *c = calloc(1, sizeof *c);
    struct remote_map map;
    errno = 0;
    for (ssize_t n; c && lines < MAPS_MAX && (n = getline(&line, &room, maps)) > 0; lines++) {
        if (remote_map_read(line, (size_t)n, &map)) {
            take_map(t, c, &map);
        }
    }
    if (c) {
        end_candidate(t, c);
    }
    int why = errno;
    free(c);
    free(line);
    fclose(maps);
    errno = why;
    return lines >
           0; /* without rights over the process, the maps file can be opened but holds no line */
}

static struct remote_image *image_at(const struct remote_images *t, uint64_t address) {
    struct remote_image *best = NULL;
    for (size_t i = 0; i < t->count; i++) {
        struct remote_image *image = &t->image[i];
        if (address >= image->elf.load && address < image->elf.end &&
            (!best || image->loaded > best->loaded)) {
            best = image;
        }
    }
    return best;
}

bool remote_images_find(const struct remote_images *t, uint64_t address, struct rec_image *out) {
    const struct remote_image *image = image_at(t, address);
    if (!image) {
        return false;
    }
    *out = (struct rec_image){.load = image->elf.load,
                              .size = image->elf.end - image->elf.load,
                              .in_app = image->in_app,
                              .path = image->path,
                              .id_kind = image->elf.id_size ? REC_ID_BUILD : REC_ID_NONE,
                              .id_len = image->elf.id_size};
    memcpy(out->id, image->elf.id, image->elf.id_size);
    return true;
}

bool remote_images_on_stack(const struct remote_images *t, uint64_t address) {
    enum { STACK_MAX = 128 << 20 };
    return t->stack_end == 0 || (address < t->stack_end && t->stack_end - address <= STACK_MAX);
}

bool remote_images_first(const struct remote_images *t, uint64_t *load) {
    if (t->count == 0) {
        return false;
    }
    *load = t->image[0].elf.load;
    return true;
}

void remote_images_symbol(const struct remote_images *t, uint64_t address, char *name,
                          size_t room) {
    const struct remote_image *image = image_at(t, address);
    *name = '\0';
    if (image) {
        remote_elf_symbol(read_process, (void *)(uintptr_t)t->process, &image->elf, address, name,
                          room);
    }
}

bool remote_images_symbols(const struct remote_images *t, struct dynamic_symbol *symbols,
                           unsigned count) {
    void *process = (void *)(uintptr_t)t->process;
    for (size_t i = 0; i < t->count; i++) {
        const struct remote_elf *elf = &t->image[i].elf;
        if (t->image[i].loaded && remote_elf_find(read_process, process, elf, &symbols[0])) {
            for (unsigned k = 1; k < count; k++) {
                remote_elf_find(read_process, process, elf, &symbols[k]);
            }
            return true;
        }
    }
    return false;
}

uint64_t remote_images_generation(const struct remote_images *t) {
    return t->generation;
}

/* ---- for the unwinder ---- */

void remote_images_look(struct remote_images *t) {
    t->looked = false;
}

/* ---- frames of an image ---- */

/* Makes a .eh_frame_hdr of version 1 that holds the address of .eh_frame in 8 bytes and has no
 * table (Linux Standard Base 5.0, 10.6.2). */
static void make_header(struct image_frames *f, uint64_t end) {
    static const uint8_t head[4] = {1, 0 /* absolute */, 0xff, 0xff /* omitted */};
    f->made = true;
    f->header = end;
    f->header_size = OWN_HEADER;
    memset(f->own, 0, sizeof f->own);
    memcpy(f->own, head, sizeof head);
    memcpy(f->own + sizeof head, &f->address, sizeof f->address);
}

static void find_frames(struct remote_images *t, const struct remote_image *image,
                        struct image_frames *f) {
    const struct remote_elf *elf = &image->elf;
    if (elf->frame_header_size > 0) {
        f->address = f->header = elf->frame_header;
        f->header_size = elf->frame_header_size;
        f->size = elf->frame_end - elf->frame_header;
        return;
    }
    int fd = image->inode ? open_image(t, image) : -1;
    if (fd < 0) {
        return;
    }
    if (elf_section_find(read_file, &fd, ".eh_frame", &f->address, &f->size)) {
        f->address += elf->bias;
        make_header(f, elf->end);
    }
    close(fd);
}

static void copy_image_frames(struct remote_images *t, struct remote_image *image) {
    struct image_frames *f = &image->frames;
    if (f->tried) {
        return;
    }
    f->tried = true;
    find_frames(t, image, f);
    f->bytes = f->size > 0 && f->size <= FRAMES_MAX ? malloc((size_t)f->size) : NULL;
    f->size = f->bytes ? remote_read_some(t->process, f->address, f->bytes, (size_t)f->size) : 0;
}

/* Copies the code around pc, CODE_BEFORE bytes before it and CODE_BEHIND after it, as far as it can
 * be read. */
static void copy_code(struct remote_images *t, const struct remote_image *image, uint64_t pc,
                      struct cfi_segment *out) {
    uint64_t from = pc - image->elf.load < CODE_BEFORE ? image->elf.load : pc - CODE_BEFORE;
    uint64_t end = image->elf.end - pc < CODE_BEHIND ? image->elf.end : pc + CODE_BEHIND;
    size_t size = remote_read_some(t->process, from, t->code, (size_t)(end - from));
    if (size <= pc - from) { /* the pages before pc cannot be read */
        from = pc & ~UINT64_C(4095);
        size = remote_read_some(t->process, from, t->code, (size_t)(end - from));
    }
    *out = (struct cfi_segment){.address = from, .bytes = t->code, .size = size, .code = true};
}

static bool module_find(void *arg, uint64_t pc, unwind_visit_fn *visit, void *visit_arg) {
    struct remote_images *t = arg;
    struct remote_image *image = image_at(t, pc);
    if (!image && !t->looked) {
        t->looked = true;
        remote_images_refresh(t);
        image = image_at(t, pc);
    }
    if (!image) {
        return false;
    }
    copy_image_frames(t, image);
    const struct image_frames *f = &image->frames;
    struct cfi_module module = {.header = f->size ? f->header : 0, .header_size = f->header_size};
    if (f->size > 0) { /* the frames come first, as the copy of the code may overlap them */
        module.segments[module.segment_count++] =
            (struct cfi_segment){.address = f->address, .bytes = f->bytes, .size = f->size};
    }
    if (f->made) {
        module.segments[module.segment_count++] =
            (struct cfi_segment){.address = f->header, .bytes = f->own, .size = OWN_HEADER};
    }
    copy_code(t, image, pc, &module.segments[module.segment_count++]);
    visit(visit_arg, &module);
    return true;
}

static uint64_t module_generation(void *arg) {
    const struct remote_images *t = arg;
    return t->generation;
}

static bool module_read(void *arg, uint64_t address, void *to, size_t size) {
    const struct remote_images *t = arg;
    return remote_read(t->process, address, to, size);
}

struct unwind_modules remote_images_modules(struct remote_images *t) {
    return (struct unwind_modules){t, module_find, module_generation, module_read};
}
