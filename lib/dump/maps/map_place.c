/* Gives addresses to the images and names that have none, and fills the draft. */
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "base/search.h"
#include "dump/maps/map_trees.h"

#define PLACE_ALIGN UINT64_C(0x4000)
/* Made-up addresses lie above all known addresses below PLACE_END. The images placed there end
 * below 2 * PLACE_END, because arm64 addresses have 47 bits. */
#define PLACE_END (UINT64_C(1) << 46)
/* Minimum distance in bytes between the made-up addresses of names. They are apart because a frame
 * may be looked up one byte before its address. */
enum { NAME_STEP = 16 };

/* An image's load address with its index, because qsort passes no context. */
struct load_of {
    uint64_t load;
    size_t image;
};

struct placement {
    struct map_stacks *s;
    struct load_of *loads; /* load addresses of the placed images that are not unsure, ascending */
    size_t load_count;
    uint64_t top;       /* lowest address at which made-up addresses may begin */
    uint64_t bare_base; /* made-up address to which the offsets of names that belong to no image are
                           added; the smallest of these offsets is NAME_STEP */
    size_t bare_count;
    uint64_t homeless; /* number of frames without a symbol that keep their address, as the load
                          address of their image is unknown or unsure */
    bool main_told;    /* the document marks a thread as the main one */
};

static int by_load_address(const void *a, const void *b) {
    const struct load_of *x = a, *y = b;
    int order = COMPARE(x->load, y->load);
    return order ? order : COMPARE(x->image, y->image);
}

static enum st sort_loads(struct placement *p) {
    struct map_stacks *s = p->s;
    p->load_count = 0;
    p->loads = arena_array(&s->r->arena, s->images.len, sizeof *p->loads);
    if (!p->loads) {
        return err_nomem(s->r->e);
    }
    for (size_t i = 0; i < s->images.len; i++) {
        const struct map_image *image = &s->images.data[i];
        if (image->placed && !image->unsure) {
            p->loads[p->load_count++] = (struct load_of){image->image.load, i};
        }
    }
    if (p->load_count > 0) {
        qsort(p->loads, p->load_count, sizeof *p->loads, by_load_address);
    }
    return ST_OK;
}

/* Returns the placed image that holds the address; NULL: none does. An image of unknown size holds
 * all addresses up to the next placed image. */
static struct map_image *map_image_of(const struct placement *p, uint64_t address) {
    size_t i;
    LOWER_BOUND(i, p->load_count, p->loads[i].load, address + 1)
    struct map_image *image = i > 0 ? &p->s->images.data[p->loads[i - 1].image] : NULL;
    uint64_t size = image ? image->image.size : 0;
    return image && (size == 0 || address - image->image.load < size) ? image : NULL;
}

static void note_end(struct map_image *image, uint64_t offset) {
    image->end = offset >= image->end ? offset + 1 : image->end;
}

/* ---- frames that have no address ---- */

/* Returns the made-up image that holds the names of frames in images with this image's name; the
 * made-up image is made when first needed. NULL: there is no image, or it has no name; with *failed
 * set, memory ran out or there are too many images. */
static struct map_image *names_of(struct map_stacks *s, size_t image, bool in_app, bool *failed) {
    const char *name = image == SIZE_MAX ? NULL : s->images.data[image].image.name;
    if (!name) {
        return NULL;
    }
    size_t at = map_stacks_find(s, 'm', name, strlen(name));
    if (at == SIZE_MAX) {
        struct map_image made = {.made_up = true};
        made.image.name = name;
        at = map_stacks_new_image(s, &made);
        *failed = at == SIZE_MAX;
    }
    if (at == SIZE_MAX) {
        return NULL;
    }
    struct map_image *out = &s->images.data[at];
    out->image.in_app = out->image.in_app || in_app;
    return out;
}

/* Gives a frame without an address a made-up address. The same symbol, file and line in an image
 * always gets the same address. */
static enum st place_name(struct placement *p, struct map_frame *f) {
    struct map_stacks *s = p->s;
    struct strbuf key = {0};
    bool failed = false, added = false;
    bool in_app = f->in_app || (f->image != SIZE_MAX && s->images.data[f->image].image.in_app);
    struct map_image *image = names_of(s, f->image, in_app, &failed);
    if (failed) {
        return ST_ERR;
    }
    f->image = image ? (size_t)(image - s->images.data) : SIZE_MAX;
    strbuf_addf(&key, "%zu %s\n%s\n%u", f->image, f->symbol, f->file ? f->file : "",
                (unsigned)f->line);
    uint64_t next = image ? image->end + NAME_STEP : (p->bare_count + 1) * NAME_STEP;
    const struct map_entry *entry =
        key.failed ? NULL : map_put(&s->by_name, key.data, key.len, (size_t)next, &added);
    strbuf_release(&key);
    if (!entry) {
        return err_nomem(s->r->e);
    }
    p->bare_count += added && !image;
    f->offset = entry->value;
    f->symbol_offset = 0;
    if (image) {
        note_end(image, f->offset);
    }
    return ST_OK;
}

/* ---- frames in an image whose load address is not known ---- */

/* Returns the image that holds the addresses of frames in the image `origin`, whose load address is
 * not known; it is made when first needed. NULL: out of memory, or too many images. */
static struct map_image *addresses_of(struct map_stacks *s, size_t origin) {
    size_t at = map_stacks_find(s, 'o', &origin, sizeof origin);
    if (at == SIZE_MAX) {
        struct map_image made = {.origin = origin, .low = UINT64_MAX};
        made.image = s->images.data[origin].image;
        made.image.load = made.image.size = 0;
        made.image.unplaced = true;
        at = map_stacks_new_image(s, &made);
    }
    return at == SIZE_MAX ? NULL : &s->images.data[at];
}

/* Lets a frame keep its address. The frame moves to the image that holds such addresses of its own
 * image (addresses_of). */
static enum st keep_address(struct map_stacks *s, struct map_frame *f) {
    struct map_image *image = addresses_of(s, f->image);
    if (!image) {
        return ST_ERR;
    }
    /* the range begins at the start of the frame's function or, if that is not known, one byte
     * before the frame's address, where the frame may be looked up */
    uint64_t before = f->symbol_offset > 0 ? f->symbol_offset : 1;
    uint64_t low = f->address > before ? f->address - before : 0;
    f->image = (size_t)(image - s->images.data);
    image->low = low < image->low ? low : image->low;
    image->high = f->address > image->high ? f->address : image->high;
    image->image.in_app = image->image.in_app || f->in_app;
    return ST_OK;
}

/* A range of addresses of the image with the index `image`. */
struct map_stretch {
    uint64_t low, high; /* lowest and highest address */
    size_t image;
};

static int stretch_by_low(const void *a, const void *b) {
    const struct map_stretch *x = a, *y = b;
    int order = COMPARE(x->low, y->low);
    return order ? order : COMPARE(x->image, y->image);
}

/* Gives each unplaced image the range of its frames' addresses. An unplaced image that overlaps
 * another image, or whose range is larger than MAP_OFFSET_END, becomes torn and gets no range. */
static enum st settle_unplaced(struct map_stacks *s) {
    struct map_stretch *all = arena_array(&s->r->arena, s->images.len, sizeof *all);
    size_t count = 0, last = 0; /* last: of the images so far, the one with the highest end */
    if (!all) {
        return err_nomem(s->r->e);
    }
    for (size_t i = 0; i < s->images.len; i++) {
        const struct map_image *m = &s->images.data[i];
        if (m->image.unplaced) {
            all[count++] = (struct map_stretch){m->low, m->high, i};
        } else if (m->placed && !m->unsure && m->image.size > 0) {
            uint64_t room = UINT64_MAX - m->image.load;
            uint64_t size = m->image.size - 1 < room ? m->image.size - 1 : room;
            all[count++] = (struct map_stretch){m->image.load, m->image.load + size, i};
        }
    }
    if (count > 1) {
        qsort(all, count, sizeof *all, stretch_by_low);
    }
    for (size_t i = 0; i < count; i++) {
        struct map_image *m = &s->images.data[all[i].image];
        if (i > 0 && all[i].low <= all[last].high) {
            m->torn = s->images.data[all[last].image].torn = true;
        }
        last = all[i].high >= all[last].high ? i : last;
        m->torn = m->torn || (m->image.unplaced && m->high - m->low > MAP_OFFSET_END);
    }
    for (size_t i = 0; i < s->images.len; i++) {
        struct map_image *m = &s->images.data[i];
        if (m->image.unplaced && !m->torn) {
            m->image.load = m->low;
            m->image.size = m->high - m->low + (m->high < UINT64_MAX);
            m->placed = true;
        }
    }
    return ST_OK;
}

/* Decides whether a frame is placed by its address, its offset or its name. */
static enum st settle_frame(struct placement *p, struct map_frame *f) {
    struct map_stacks *s = p->s;
    struct map_image *image = f->image == SIZE_MAX ? NULL : &s->images.data[f->image];
    if (f->kind == FRAME_ABSOLUTE) {
        struct map_image *holder = map_image_of(p, f->address);
        if (holder && holder != image && image && holder->image.size == 0) {
            /* the frame names another image, and where the image `holder` ends is not known */
            holder = NULL;
        }
        if (holder) {
            holder->image.in_app = holder->image.in_app || f->in_app;
            note_end(holder, f->address - holder->image.load);
        } else if (!f->symbol && image && image->unsure && f->offset > 0 &&
                   !image_id_is_zero(&image->image.id)) {
            /* without a symbol, the offset is one in the image, and the image can be found by its
             * id */
            f->kind = FRAME_RELATIVE;
            note_end(image, f->offset);
        } else if (image && (!image->placed || image->unsure)) {
            p->homeless += !f->symbol;
            return keep_address(s, f);
        } else if (f->symbol) {
            /* The address is in no image, or in another one than the frame names. */
            f->kind = FRAME_NAMED;
        }
    } else if (f->kind == FRAME_RELATIVE && image->unsure) {
        f->kind = f->symbol ? FRAME_NAMED : FRAME_UNREAD;
    } else if (f->kind == FRAME_RELATIVE) {
        note_end(image, f->offset);
    }
    return ST_OK;
}

/* Gives a frame that is known by its name alone a place. A frame with a symbol whose image is torn
 * is treated like this, too. */
static enum st settle_name(struct placement *p, struct map_frame *f) {
    const struct map_image *image = f->image == SIZE_MAX ? NULL : &p->s->images.data[f->image];
    if (f->kind == FRAME_ABSOLUTE && f->symbol && image && image->image.unplaced && image->torn) {
        f->kind = FRAME_NAMED;
    }
    return f->kind == FRAME_NAMED ? place_name(p, f) : ST_OK;
}

/* ---- images ---- */

static uint64_t round_up(uint64_t value) {
    return (value + PLACE_ALIGN - 1) / PLACE_ALIGN * PLACE_ALIGN;
}

/* Gives each placed image of unknown size the size that its frames need, but at most the distance
 * to the next placed image above it. Raises p->top to the highest end of a placed image that is
 * below PLACE_END. */
static void close_images(struct placement *p) {
    for (size_t i = 0; i < p->load_count; i++) {
        struct map_image *image = &p->s->images.data[p->loads[i].image];
        uint64_t size = round_up(image->end > 0 ? image->end : 1);
        uint64_t room = i + 1 < p->load_count ? p->loads[i + 1].load - p->loads[i].load : size;
        if (image->image.size == 0) {
            image->image.size = room > 0 && room < size ? room : size;
        }
        uint64_t end = image->image.load + image->image.size;
        if (image->image.load < PLACE_END && end < PLACE_END && end > p->top) {
            p->top = end;
        }
    }
}

/* Places the images that have frames but whose load address is unknown or unsure. They lie above
 * all known addresses below PLACE_END. */
static enum st place_images(struct placement *p) {
    struct map_stacks *s = p->s;
    for (size_t i = 0; i < s->frames.len; i++) {
        const struct map_frame *f = &s->frames.data[i];
        if (f->kind == FRAME_ABSOLUTE && f->address < PLACE_END && f->address >= p->top) {
            p->top = f->address + 1;
        }
    }
    p->top = round_up(p->top) + PLACE_ALIGN;
    for (size_t i = 0; i < s->images.len; i++) {
        struct map_image *image = &s->images.data[i];
        if ((image->placed && !image->unsure) || image->end == 0) {
            continue;
        }
        image->image.load = p->top;
        image->image.size = round_up(image->end);
        image->placed = true;
        image->unsure = false;
        p->top += image->image.size + PLACE_ALIGN;
        if (p->top > 2 * PLACE_END) {
            return err_set(s->r->e, ERR_LIMIT, "its images are larger than memory");
        }
    }
    p->bare_base = p->top;
    return ST_OK;
}

static enum st settle_all(struct placement *p) {
    struct map_stacks *s = p->s;
    enum st st = sort_loads(p);
    for (size_t i = 0; i < s->frames.len && st == ST_OK; i++) {
        st = settle_frame(p, &s->frames.data[i]);
    }
    if (st == ST_OK) {
        close_images(p);
        st = settle_unplaced(s);
    }
    for (size_t i = 0; i < s->frames.len && st == ST_OK; i++) {
        st = settle_name(p, &s->frames.data[i]);
    }
    return st == ST_OK ? place_images(p) : st;
}

/* ---- the draft ---- */

static uint64_t frame_at(const struct placement *p, const struct map_frame *f) {
    switch (f->kind) {
    case FRAME_UNREAD:
        return 0;
    case FRAME_ABSOLUTE:
        return f->address;
    default:
        return f->offset +
               (f->image == SIZE_MAX ? p->bare_base : p->s->images.data[f->image].image.load);
    }
}

/* Adds the frame's name to the draft, and returns the draft's frame, with its address and the
 * number of the name. */
static struct report_frame draft_frame(const struct placement *p, const struct map_frame *f) {
    struct report *r = p->s->r;
    struct report_frame frame = report_frame_at(r, frame_at(p, f));
    const struct report_name name = {.address = frame.address,
                                     .symbol = f->symbol,
                                     .offset = f->symbol_offset,
                                     .file = f->file,
                                     .line = f->line,
                                     .in_app = f->in_app && f->image == SIZE_MAX};
    frame.name = f->kind == FRAME_UNREAD ? 0 : report_name(r, &name);
    return frame;
}

/* Adds all names to the draft, in the order of the frames, and counts the frames that could not be
 * read. */
static void draft_names(struct placement *p) {
    for (size_t i = 0; i < p->s->frames.len; i++) {
        p->s->r->frames_unread += p->s->frames.data[i].kind == FRAME_UNREAD;
        (void)draft_frame(p, &p->s->frames.data[i]);
    }
}

static bool map_node_address(void *ctx, const json_t *node, uint64_t *out) {
    const struct placement *p = ctx;
    const struct map_frame *f = map_trees_frame(p->s, node);
    *out = f ? draft_frame(p, f).address : 0;
    return f != NULL;
}

/* The destination of a thread's call trees in the draft. */
struct tree_draft {
    struct report *r;
    struct report_tree tree;
    bool samples;  /* true: the trees become samples; false: their heaviest path becomes a stack */
    bool has_path; /* the heaviest path was taken */
};

static enum st draft_roots(void *ctx, const json_t *roots) {
    struct tree_draft *t = ctx;
    if (t->samples) {
        return report_tree_samples(t->r, &t->tree, roots, NULL);
    }
    if (t->has_path) {
        return ST_OK;
    }
    t->has_path = true;
    return report_tree_heaviest(t->r, &t->tree, roots);
}

/* Adds the samples of a thread to the draft if it is the main thread. If the document marks no
 * thread as main, the samples of every thread are added, unless the format has separate samples for
 * each thread (per_thread). */
static enum st draft_samples(struct placement *p, const struct map_thread *t,
                             const struct report_thread *out) {
    struct map_stacks *s = p->s;
    struct tree_draft draft = {.r = s->r,
                               .tree = {s->map->children, s->map->count, NULL,
                                        !s->map->outermost_first, map_node_address, p},
                               .samples = true};
    if ((p->main_told || s->per_thread) && !t->thread.main) {
        return ST_OK;
    }
    if (t->tree) {
        return map_trees_each(s, t->tree, draft_roots, &draft);
    }
    struct report_stack sample = out->stack;
    sample.samples = t->samples;
    return t->samples > 0 ? report_add_sample(s->r, &sample) : ST_OK;
}

static enum st draft_thread(struct placement *p, const struct map_thread *t) {
    struct map_stacks *s = p->s;
    struct report_thread out = t->thread;
    struct tree_draft draft = {.r = s->r,
                               .tree = {s->map->children, s->map->count, NULL,
                                        !s->map->outermost_first, map_node_address, p}};
    enum st st = ST_OK;
    out.stack = report_begin_stack(s->r);
    for (size_t i = 0; i < t->count && i < DUMP_FRAMES_MAX && st == ST_OK; i++) {
        st = report_add_frame(s->r, draft_frame(p, &s->frames.data[t->first + i]));
    }
    if (st == ST_OK && t->count == 0 && t->tree) {
        st = map_trees_each(s, t->tree, draft_roots, &draft);
    }
    report_end_stack(s->r, &out.stack);
    if (st == ST_OK) {
        st = report_add_thread(s->r, &out);
    }
    return st == ST_OK ? draft_samples(p, t, &out) : st;
}

/* Unless a thread is marked as the main one, marks the first thread that has a stack. A thread that
 * crashed and whose stack is missing counts as having one. */
static void mark_main(struct placement *p) {
    struct map_stacks *s = p->s;
    struct map_thread *first = NULL;
    for (size_t i = s->threads.len; i-- > 0;) {
        struct map_thread *t = &s->threads.data[i];
        p->main_told = p->main_told || t->thread.main;
        first = t->count > 0 || t->tree || t->thread.crashed ? t : first;
    }
    if (first && !p->main_told) {
        first->thread.main = true;
        if (first->count == 0 && !first->tree) {
            report_lack(s->r, "the stack of its main thread");
        }
    }
}

/* Marks the app's own images by its executable's UUID or path, if no flag in the document marks
 * them. */
static void mark_app(struct map_stacks *s, const char *app_uuid, const char *app_path) {
    struct image_id id;
    char text[IMAGE_ID_TEXT];
    if (s->app_told) {
        return;
    }
    if (app_path) {
        report_executable(s->r, app_path);
    }
    if (!app_uuid || !parse_uuid(app_uuid, strlen(app_uuid), &id)) {
        return;
    }
    image_id_text(&id, text);
    size_t at = map_stacks_find(s, 'u', text, strlen(text));
    if (at != SIZE_MAX) {
        struct report_image *image = &s->images.data[at].image;
        image->in_app = true;
        if (!app_path && image->path) {
            report_executable(s->r, image->path);
        }
    }
}

enum st map_stacks_finish(struct map_stacks *s, const char *app_uuid, const char *app_path) {
    struct placement p = {.s = s, .top = UINT64_C(1) << 32};
    if (s->frames.len == 0) {
        return err_set(s->r->e, ERR_FORMAT, "a report without a stack");
    }
    if (settle_all(&p) != ST_OK) {
        return ST_ERR;
    }
    mark_main(&p);
    mark_app(s, app_uuid, app_path);
    for (size_t i = 0; i < s->images.len; i++) {
        struct map_image *image = &s->images.data[i];
        if (image->image.unplaced) {
            image->image.in_app = image->image.in_app || s->images.data[image->origin].image.in_app;
        }
        if (image->placed) {
            report_image(s->r, &s->images.data[i].image);
        }
    }
    draft_names(&p);
    report_lack_count(s->r, p.homeless, "frame whose image has no load address",
                      "frames whose images have no load address");
    for (size_t i = 0; i < s->threads.len; i++) {
        if (draft_thread(&p, &s->threads.data[i]) != ST_OK) {
            return ST_ERR;
        }
    }
    return ST_OK;
}
