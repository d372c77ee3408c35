/* The image table, from dl_iterate_phdr.
 *
 * The table has a fixed size, in memory that is touched only as it fills, so that nothing is
 * allocated while the program runs. Paths are copied, as the dynamic linker frees its own on
 * dlclose. */
#include "linux/images_linux.h"

#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "linux/modules_linux.h"

enum { IMAGES_MAX = 4096, PATHS_SIZE = 1 << 20, PATH_SIZE = 4096, PAGE = 4096 };

struct image {
    uint64_t load, end;
    uint32_t path;   /* offset into paths */
    uint32_t serial; /* order in which images were first seen; of images at one address the later
                        one counts */
    uint8_t id[REC_IMAGE_ID_MAX];
    uint8_t id_size;
    bool loaded;
    bool in_app;
};

struct images {
    uint64_t generation;
    uint32_t count, serial;
    uint32_t paths_used;
    char program[PATH_SIZE];
    struct image image[IMAGES_MAX];
    char paths[PATHS_SIZE];
};

static uint32_t image_word_async(const uint8_t *p) {
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

uint8_t images_build_id_async(const uint8_t *notes, size_t size, uint8_t id[REC_IMAGE_ID_MAX]) {
    while (size >= 12) {
        uint64_t name = image_word_async(notes), desc = image_word_async(notes + 4);
        uint32_t type = image_word_async(notes + 8);
        uint64_t name_room = (name + 3) & ~UINT64_C(3), desc_room = (desc + 3) & ~UINT64_C(3);
        if (name_room > size - 12 || desc > size - 12 - name_room) {
            return 0;
        }
        if (type == NT_GNU_BUILD_ID && name == 4 && memcmp(notes + 12, "GNU", 4) == 0) {
            if (desc == 0 || desc > REC_IMAGE_ID_MAX) {
                return 0;
            }
            memcpy(id, notes + 12 + name_room, (size_t)desc);
            return (uint8_t)desc;
        }
        if (desc_room > size - 12 - name_room) {
            return 0;
        }
        notes += 12 + name_room + desc_room;
        size -= 12 + name_room + desc_room;
    }
    return 0;
}

static bool begins_async(const char *s, const char *with) {
    return strncmp(s, with, strlen(with)) == 0;
}

bool images_is_preload_async(const char *path) {
    const char *base = strrchr(path, '/');
    return base && strcmp(base, "/libstallrec-preload.so") == 0;
}

bool images_in_app_async(const char *path, const char *program) {
    if (strcmp(path, program) == 0) {
        return true;
    }
    if (!strrchr(path, '/') || images_is_preload_async(path)) {
        return false; /* the vdso, and the preloaded recorder, are not the app's */
    }
    return !begins_async(path, "/lib") &&
           (!begins_async(path, "/usr/") || begins_async(path, "/usr/local/"));
}

struct extent {
    uint64_t lo, hi; /* address range of all PT_LOAD segments, widened to whole pages */
};

static struct extent extent_async(const struct dl_phdr_info *info) {
    struct extent e = {UINT64_MAX, 0};
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type != PT_LOAD) {
            continue;
        }
        uint64_t lo = info->dlpi_addr + p->p_vaddr, hi = lo + p->p_memsz;
        lo &= ~(uint64_t)(PAGE - 1);
        hi = (hi + PAGE - 1) & ~(uint64_t)(PAGE - 1);
        e.lo = lo < e.lo ? lo : e.lo;
        e.hi = hi > e.hi ? hi : e.hi;
    }
    return e;
}

static uint8_t read_id_async(const struct dl_phdr_info *info, uint8_t id[REC_IMAGE_ID_MAX]) {
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type == PT_NOTE) {
            const uint8_t *notes = (const uint8_t *)(uintptr_t)(info->dlpi_addr + p->p_vaddr);
            uint8_t n = images_build_id_async(notes, p->p_filesz, id);
            if (n > 0) {
                return n;
            }
        }
    }
    return 0;
}

/* Copies the path into t->paths. Returns its offset; 0, the empty path, if there is no room. */
static uint32_t keep_path_async(struct images *t, const char *path) {
    size_t size = strlen(path) + 1;
    if (size > PATHS_SIZE - t->paths_used) {
        return 0;
    }
    uint32_t at = t->paths_used;
    memcpy(t->paths + at, path, size);
    t->paths_used += (uint32_t)size;
    return at;
}

/* Returns a place for a new image: an unused one, or that of the unloaded image that was seen
 * first; NULL if all images are loaded. */
static struct image *image_place_async(struct images *t) {
    if (t->count < IMAGES_MAX) {
        return &t->image[t->count++];
    }
    struct image *oldest = NULL;
    for (uint32_t i = 0; i < t->count; i++) {
        struct image *m = &t->image[i];
        if (!m->loaded && (!oldest || m->serial < oldest->serial)) {
            oldest = m;
        }
    }
    return oldest;
}

static bool is_same_async(const struct images *t, const struct image *a, const struct image *b,
                          const char *path) {
    return a->load == b->load && a->end == b->end && a->id_size == b->id_size &&
           memcmp(a->id, b->id, a->id_size) == 0 && strcmp(t->paths + a->path, path) == 0;
}

struct visit {
    struct images *images;
    bool first; /* the first image, which is visited next, is the main program, whose name is empty
                 */
};

static int image_visit_async(struct dl_phdr_info *info, size_t size, void *arg) {
    struct visit *v = arg;
    struct images *t = v->images;
    struct extent e = extent_async(info);
    const char *path = info->dlpi_name ? info->dlpi_name : "";
    (void)size;
    if (v->first && !*path) {
        path = t->program;
    }
    v->first = false;
    t->generation = info->dlpi_adds + info->dlpi_subs;
    if (e.lo >= e.hi) {
        return 0;
    }
    struct image m = {.load = e.lo, .end = e.hi, .loaded = true};
    m.id_size = read_id_async(info, m.id);
    for (uint32_t i = 0; i < t->count; i++) {
        if (is_same_async(t, &t->image[i], &m, path)) {
            t->image[i].loaded = true;
            return 0;
        }
    }
    struct image *place = image_place_async(t);
    if (place) {
        m.path = keep_path_async(t, path);
        m.in_app = images_in_app_async(path, t->program);
        m.serial = t->serial++;
        *place = m;
    }
    return 0;
}

/* Empties the table, so that the refresh stores all paths again, as the memory of replaced images'
 * paths is reused in no other way. */
static void forget_async(struct images *t) {
    t->count = 0;
    t->paths_used = 1;
}

uint64_t images_refresh_async(struct images *t) {
    if (modules_generation_async() == t->generation) {
        return t->generation;
    }
    if (t->paths_used > PATHS_SIZE / 4 * 3) {
        forget_async(t);
    }
    for (uint32_t i = 0; i < t->count; i++) {
        t->image[i].loaded = false;
    }
    struct visit v = {t, true};
    modules_iterate_async(image_visit_async, &v);
    return t->generation;
}

bool images_find_async(const struct images *t, uint64_t address, struct rec_image *out) {
    const struct image *best = NULL;
    for (uint32_t i = 0; i < t->count; i++) {
        const struct image *m = &t->image[i];
        if (address >= m->load && address < m->end &&
            (!best || m->loaded > best->loaded ||
             (m->loaded == best->loaded && m->serial > best->serial))) {
            best = m;
        }
    }
    if (!best) {
        return false;
    }
    *out = (struct rec_image){.load = best->load,
                              .size = best->end - best->load,
                              .in_app = best->in_app,
                              .path = t->paths + best->path,
                              .id_kind = best->id_size ? REC_ID_BUILD : REC_ID_NONE,
                              .id_len = best->id_size};
    memcpy(out->id, best->id, best->id_size);
    return true;
}

/* Sets path to the program's path, or, without /proc, to the name given to exec. */
static void find_program(char path[PATH_SIZE]) {
    ssize_t n = readlink("/proc/self/exe", path, PATH_SIZE - 1);
    const char *name = (const char *)getauxval(AT_EXECFN);
    path[n > 0 ? n : 0] = '\0';
    if (n <= 0 && name && strlen(name) < PATH_SIZE) {
        memcpy(path, name, strlen(name) + 1);
    }
}

struct images *images_new(void) {
    struct images *t = mmap(NULL, sizeof *t, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (t == MAP_FAILED) {
        return NULL;
    }
    find_program(t->program);
    t->generation = UINT64_MAX;
    t->paths_used = 1; /* offset 0 is the empty path */
    images_refresh_async(t);
    return t;
}

void images_free(struct images *t) {
    if (t) {
        munmap(t, sizeof *t);
    }
}
