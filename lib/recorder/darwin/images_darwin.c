/* The image table, from dyld's list for debuggers. The first LISTED_MAX entries of the list are
 * read whenever it changes, which is rare; an image's headers are read only when a frame may lie in
 * it, and, once one does, again whenever the list changes. Tables have a fixed size, in memory that
 * is touched only as they fill. */
#include "darwin/images_darwin.h"

#include <mach-o/dyld.h>
#include <mach-o/dyld_images.h>
#include <string.h>
#include <sys/mman.h>

#include "darwin/macho_image.h"
#include "darwin/task_darwin.h"

enum {
    LISTED_MAX = 4096,
    READ_MAX = 1024,
    PATHS_SIZE = 256 * 1024,
    PATH_SIZE = 1024,
    PAGE = 4096,
    BATCH = 64,
    CACHED = 2048, /* entries of the cache; a power of two */
    MARKED = 32,   /* number of images that can have marks at the same time */
    MARKED_FROM =
        16384, /* bytes of function starts; a shorter list is read from the front, without marks */
    ATTEMPTS = 3
};

/* An image as dyld lists it. */
struct listed {
    uint64_t load, path;
};

/* An image in which a frame was found. */
struct known {
    struct macho_image image;
    uint32_t path; /* offset of its path in images.paths */
    bool loaded, in_app;
};

struct cached {
    uint64_t address; /* 0: the entry is free */
    struct fp_function function;
};

/* The marks among an image's function starts. A program may have a million functions, and without
 * marks their starts would be read from the front for each uncached address. */
struct marked {
    uint32_t owner; /* index of the image in `known`, + 1; 0: none */
    struct macho_marks marks;
};

struct images {
    struct memory memory;
    uint64_t infos, infos_size; /* address and size of struct dyld_all_image_infos */
    uint64_t stamp; /* stamp of the list that was read last; 0: none was read, or not all of it */
    uint32_t listed_count, known_count;
    uint32_t paths_used;
    char program[PATH_SIZE];
    struct listed listed[LISTED_MAX];
    struct known known[READ_MAX];
    struct cached cached[CACHED];
    uint32_t next_marked; /* number of entries of `marked` that were taken; modulo MARKED, the index
                             of the next one */
    struct marked marked[MARKED];
    char paths[PATHS_SIZE];
};

static bool image_read_darwin_async(const struct images *t, uint64_t address, void *to,
                                    size_t size) {
    return t->memory.read_async(t->memory.arg, address, to, size);
}

/* ---- dyld's list ---- */

/* Reads the head of dyld's list; false while dyld changes the list, or if the head cannot be read
 * or is too short. */
static bool read_head_async(const struct images *t, struct dyld_all_image_infos *head) {
    size_t size = sizeof *head;
    memset(head, 0, sizeof *head);
    if (t->infos_size < size) {
        size = (size_t)t->infos_size; /* an older system's struct lacks the time of change */
    }
    return size >= offsetof(struct dyld_all_image_infos, notification) &&
           image_read_darwin_async(t, t->infos, head, size) && head->infoArray != NULL;
}

static uint64_t stamp_of(const struct dyld_all_image_infos *head) {
    return head->infoArrayChangeTimestamp != 0 ? head->infoArrayChangeTimestamp
                                               : (uint64_t)head->infoArrayCount + 1;
}

static void image_list_darwin_async(struct images *t, uint64_t load, uint64_t path) {
    if (load != 0 && t->listed_count < LISTED_MAX) {
        t->listed[t->listed_count++] = (struct listed){load, path};
    }
}

static bool read_list_async(struct images *t, const struct dyld_all_image_infos *head) {
    struct dyld_image_info batch[BATCH];
    uint64_t at = (uint64_t)(uintptr_t)head->infoArray;
    t->listed_count = 0;
    for (uint32_t done = 0; done < head->infoArrayCount && done < LISTED_MAX;) {
        uint32_t n = head->infoArrayCount - done;
        n = n < BATCH ? n : BATCH;
        if (!image_read_darwin_async(t, at + done * sizeof *batch, batch, n * sizeof *batch)) {
            return false;
        }
        for (uint32_t i = 0; i < n; i++) {
            image_list_darwin_async(t, (uint64_t)(uintptr_t)batch[i].imageLoadAddress,
                                    (uint64_t)(uintptr_t)batch[i].imageFilePath);
        }
        done += n;
    }
    image_list_darwin_async(t, (uint64_t)(uintptr_t)head->dyldImageLoadAddress,
                            (uint64_t)(uintptr_t)head->dyldPath);
    return true;
}

static const struct listed *listed_at_async(const struct images *t, uint64_t load) {
    for (uint32_t i = 0; i < t->listed_count; i++) {
        if (t->listed[i].load == load) {
            return &t->listed[i];
        }
    }
    return NULL;
}

static bool is_same_async(const struct macho_image *a, const struct macho_image *b) {
    return a->has_uuid == b->has_uuid && a->text_size == b->text_size &&
           memcmp(a->uuid, b->uuid, sizeof a->uuid) == 0;
}

/* Sets for each known image whether it is still loaded. */
static void check_known_async(struct images *t) {
    for (uint32_t i = 0; i < t->known_count; i++) {
        struct known *k = &t->known[i];
        struct macho_image now;
        k->loaded = listed_at_async(t, k->image.load) != NULL &&
                    macho_image_read_async(&t->memory, k->image.load, &now) &&
                    is_same_async(&k->image, &now);
    }
}

void images_refresh_async(struct images *t) {
    struct dyld_all_image_infos head, after;
    for (unsigned i = 0; i < ATTEMPTS; i++) {
        if (!read_head_async(t, &head) || stamp_of(&head) == t->stamp) {
            return;
        }
        t->stamp = 0;
        if (read_list_async(t, &head) && read_head_async(t, &after) &&
            stamp_of(&after) == stamp_of(&head)) {
            t->stamp = stamp_of(&head);
            break;
        }
    }
    memset(t->cached, 0, sizeof t->cached);
    check_known_async(t);
}

/* ---- one image ---- */

/* Copies the path and returns its offset; 0, which is the offset of "", if it cannot be read, is
 * too long, or has no room. */
static uint32_t keep_path_async(struct images *t, uint64_t from) {
    uint32_t at = t->paths_used, size = 0;
    while (from != 0 && size < PATH_SIZE && PATHS_SIZE - at > size + BATCH) {
        size_t n = PAGE - (size_t)(from % PAGE); /* the next page may not be mapped */
        n = n < BATCH ? n : BATCH;
        if (!image_read_darwin_async(t, from, t->paths + at + size, n)) {
            return 0;
        }
        size_t text = strnlen(t->paths + at + size, n);
        if (text < n) {
            t->paths_used = at + size + (uint32_t)text + 1;
            return at;
        }
        size += (uint32_t)n;
        from += n;
    }
    return 0;
}

/* Adds the image of dyld's list that holds the address, and returns it; NULL: there is none, its
 * headers cannot be read, or there is no room. */
static struct known *read_image_async(struct images *t, uint64_t address) {
    const struct listed *best = NULL;
    struct known added = {.loaded = true};
    for (uint32_t i = 0; i < t->listed_count; i++) {
        const struct listed *l = &t->listed[i];
        if (l->load <= address && (best == NULL || l->load > best->load)) {
            best = l;
        }
    }
    if (best == NULL || t->known_count == READ_MAX ||
        !macho_image_read_async(&t->memory, best->load, &added.image) ||
        address - best->load >= added.image.text_size) {
        return NULL;
    }
    added.path = keep_path_async(t, best->path);
    added.in_app = macho_in_app_async(t->paths + added.path, t->program);
    t->known[t->known_count] = added;
    return &t->known[t->known_count++];
}

static struct known *known_async(struct images *t, uint64_t address, bool loaded) {
    for (uint32_t i = t->known_count; i > 0; i--) {
        struct known *k = &t->known[i - 1];
        if (k->loaded == loaded && address >= k->image.load &&
            address - k->image.load < k->image.text_size) {
            return k;
        }
    }
    return NULL;
}

static struct known *image_async(struct images *t, uint64_t address) {
    struct known *k = known_async(t, address, true);
    k = k != NULL ? k : read_image_async(t, address);
    return k != NULL ? k : known_async(t, address, false);
}

bool images_find_async(struct images *t, uint64_t address, struct rec_image *out) {
    const struct known *k = image_async(t, address);
    if (k == NULL) {
        return false;
    }
    *out = (struct rec_image){.load = k->image.load,
                              .size = k->image.text_size,
                              .in_app = k->in_app,
                              .path = t->paths + k->path,
                              .arch = macho_arch_async(k->image.cpu_type, k->image.cpu_subtype)};
    if (k->image.has_uuid) {
        out->id_kind = REC_ID_UUID;
        out->id_len = sizeof k->image.uuid;
        memcpy(out->id, k->image.uuid, sizeof k->image.uuid);
    }
    return true;
}

/* ---- functions ---- */

/* Returns the marks of an image whose list of function starts has at least MARKED_FROM bytes; new
 * marks may take the place of another image's. NULL for any other image. */
static struct macho_marks *marks_async(struct images *t, const struct known *k) {
    uint32_t owner = (uint32_t)(k - t->known) + 1;
    if (k->image.starts_size < MARKED_FROM) {
        return NULL;
    }
    for (uint32_t i = 0; i < MARKED; i++) {
        if (t->marked[i].owner == owner) {
            return &t->marked[i].marks;
        }
    }
    struct marked *taken = &t->marked[t->next_marked++ % MARKED];
    taken->owner = owner;
    taken->marks.count = 0;
    return &taken->marks;
}

static void read_function_async(struct images *t, const struct known *k, uint64_t address,
                                struct fp_function *out) {
    const struct macho_image *image = &k->image;
    struct unwind_info info = {t->memory, image->unwind, image->unwind_size, image->load};
    struct unwind_info_entry entry;
    *out = (struct fp_function){0};
    if (unwind_info_find_async(&info, address, &entry) == UNWIND_INFO_OK) {
        out->rule = unwind_rule_async(TASK_CPU, entry.encoding);
        out->start = entry.start;
        out->end = entry.end;
    }
    uint64_t start, end;
    if (macho_function_async(&t->memory, image, marks_async(t, k), address, &start, &end)) {
        out->start = start;
        out->end = end;
    }
}

bool images_function_async(void *images, uint64_t address, struct fp_function *out) {
    struct images *t = images;
    struct cached *c = &t->cached[(address ^ address >> 13) % CACHED];
    if (address != 0 && c->address == address) {
        *out = c->function;
        return true;
    }
    const struct known *k = image_async(t, address);
    if (k == NULL) {
        return false;
    }
    read_function_async(t, k, address, out);
    *c = (struct cached){address, *out};
    return true;
}

/* ---- start and end ---- */

struct images *images_new(void) {
    struct images *t = mmap(NULL, sizeof *t, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
    if (t == MAP_FAILED) {
        return NULL;
    }
    struct task_dyld_info info;
    mach_msg_type_number_t count = TASK_DYLD_INFO_COUNT;
    if (task_info(mach_task_self(), TASK_DYLD_INFO, (task_info_t)&info, &count) == KERN_SUCCESS) {
        t->infos = info.all_image_info_addr;
        t->infos_size = info.all_image_info_size;
    }
    uint32_t size = sizeof t->program;
    if (_NSGetExecutablePath(t->program, &size) != 0) {
        t->program[0] = '\0';
    }
    t->memory = task_memory();
    t->paths_used = 1; /* offset 0 is the empty path */
    return t;
}

void images_free(struct images *t) {
    if (t != NULL) {
        munmap(t, sizeof *t);
    }
}
