/* Symbolicates a dump: resolves each frame to a location, and looks up each distinct (image,
 * offset) once a run. */
#include "symbolize/symbolize.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/search.h"
#include "dump/frame_address.h"
#include "symbolize/answers_private.h"

enum { ANSWERS_KEPT_MAX = 96 * 1024 * 1024 };

struct symbolizer {
    struct answers *answers;
    pthread_mutex_t lock; /* guards all members below, and sources that are not concurrent */
    symbolize_find find;
    void *find_ctx;
    struct learned_sources *learned;   /* borrowed, or NULL */
    const struct retrace_set *retrace; /* borrowed, or NULL */
    const struct path_map *paths;      /* borrowed, or NULL */
    struct map strings;
};

/* The image and offset of one frame. */
struct symbolize_place {
    uint64_t offset;
    int32_t image;
    uint32_t number; /* number of the frame, counted over all stacks */
};

/* The work on one dump. */
struct symbolize_work {
    struct symbolizer *s;
    struct dump *d;
    struct symbol_file *files; /* [image_count] */
    /* [image_count]: names learned from reports, for images whose files have no names */
    struct symbol_file *told;
    bool *keep;   /* [image_count]: the answers of an earlier run are kept */
    bool *hidden; /* [image_count]: an earlier run's answers have hidden names */
    struct address_rules rules;
    const struct retrace_map *retrace;    /* mapping for the dump's names; NULL = none */
    size_t frame_count;                   /* in all stacks */
    struct symbolize_place *places;       /* [frame_count] */
    uint64_t *frames;                     /* [frame_count]: addresses as they stand in the dump */
    const struct dump_location **earlier; /* [frame_count]: from earlier_location(); NULL = none */
    bool *innermost;                      /* [frame_count]: the frame is its stack's first */
    const struct dump_name *callee; /* name that all frames of the current place called; NULL =
                                       callee_of() returned none */
};

enum st symbolizer_new(struct symbolizer **out, symbolize_find find, void *ctx,
                       enum symbolize_names names, struct err *e) {
    struct symbolizer *s = calloc(1, sizeof *s);
    if (!s) {
        return err_nomem(e);
    }
    s->find = find;
    s->find_ctx = ctx;
    pthread_mutex_init(&s->lock, NULL);
    if (answers_new(&s->answers, &s->lock, names, ANSWERS_KEPT_MAX, e) != ST_OK) {
        symbolizer_free(s);
        return ST_ERR;
    }
    *out = s;
    return ST_OK;
}

void symbolizer_use_learned(struct symbolizer *s, struct learned_sources *learned) {
    s->learned = learned;
}

void symbolizer_use_retrace(struct symbolizer *s, const struct retrace_set *set) {
    s->retrace = set;
}

void symbolizer_use_paths(struct symbolizer *s, const struct path_map *paths) {
    s->paths = paths;
    answers_use_paths(s->answers, paths);
}

void symbolizer_free(struct symbolizer *s) {
    if (!s) {
        return;
    }
    pthread_mutex_destroy(&s->lock);
    answers_free(s->answers);
    map_release(&s->strings);
    free(s);
}

/* Returns an interned copy of the text; NULL for NULL, and without memory (then *failed is set). */
static const char *symbolizer_intern(struct symbolizer *s, const char *text, bool *failed) {
    if (!text) {
        return NULL;
    }
    size_t i = map_intern(&s->strings, text, strlen(text));
    if (i == SIZE_MAX) {
        *failed = true;
        return NULL;
    }
    return map_string(&s->strings, i);
}

/* ---- one dump ---- */

/* The verdict on an image in a dump, by the finder's verdict. */
static const enum dump_symbols dump_verdicts[] = {
    [0] = DUMP_SYMBOLS_MISSING, /* no file was found, and the finder gave no verdict */
    [SYMBOLS_OK] = DUMP_SYMBOLS_OK,
    [SYMBOLS_SPLIT] = DUMP_SYMBOLS_SPLIT,
    [SYMBOLS_ONLY] = DUMP_SYMBOLS_ONLY,
    [SYMBOLS_ID_MISMATCH] = DUMP_SYMBOLS_UUID_MISMATCH,
    [SYMBOLS_ARCH_MISMATCH] = DUMP_SYMBOLS_ARCH_MISMATCH,
    [SYMBOLS_NO_DEBUG_INFO] = DUMP_SYMBOLS_NO_DEBUG_INFO,
    [SYMBOLS_DAMAGED] = DUMP_SYMBOLS_DAMAGED,
    [SYMBOLS_MISSING] = DUMP_SYMBOLS_MISSING,
};

/* Keeps the verdict, file and locations of an earlier run for image i. ST_ERR: out of memory. */
static enum st keep_image(struct symbolize_work *w, size_t i, struct err *e) {
    struct dump_image *image = &w->d->images[i];
    bool failed = false;
    w->keep[i] = true;
    image->symbols_file =
        symbolizer_intern(w->s, image->symbols_file, &failed); /* may outlive the dump */
    return failed ? err_nomem(e) : ST_OK;
}

/* Can the file name functions? A file without debug info and symbols has at most the functions'
 * addresses. */
static bool has_names(const struct symbol_file *file) {
    return file->source && file->verdict != SYMBOLS_NO_DEBUG_INFO;
}

/* Does the text contain a name that Apple's bitcode compiler hid, such as "__hidden#12_"? */
static bool is_hidden(const char *text) {
    return text && strstr(text, "__hidden#");
}

/* Notes the images in which an earlier run left names that Apple's bitcode compiler hid. */
static void note_hidden_names(struct symbolize_work *w) {
    for (size_t i = 0; w->d->locations && i < w->d->location_count; i++) {
        const struct dump_location *l = &w->d->locations[i];
        for (size_t k = 0; l->image >= 0 && k < l->line_count; k++) {
            const struct dump_line *line = &l->lines[k];
            w->hidden[l->image] = w->hidden[l->image] || is_hidden(line->function) ||
                                  is_hidden(line->linkage) || is_hidden(line->file);
        }
    }
}

/* Are the answers of an earlier run, with this verdict, better than those that the file of image i
 * gives? True if `earlier` is a verdict with names and the better one; or the same one if both the
 * earlier answers and the file have hidden names, and no map of these names was found. */
static bool is_earlier_better(const struct symbolize_work *w, size_t i, enum dump_symbols earlier) {
    const struct symbol_file *file = &w->files[i];
    enum dump_symbols now = dump_verdicts[file->verdict];
    bool named =
        earlier == DUMP_SYMBOLS_OK || earlier == DUMP_SYMBOLS_SPLIT || earlier == DUMP_SYMBOLS_ONLY;
    bool as_hidden = now == earlier && w->hidden[i] && file->source && file->source->hidden &&
                     !file->source->names_cut;
    /* Better verdicts have lower values in the enum. */
    return named && (now > earlier || as_hidden);
}

static enum st find_image(struct symbolize_work *w, size_t i, struct err *e) {
    struct dump_image *image = &w->d->images[i];
    /* A dump without locations has no earlier answers to keep, even if its images have verdicts. */
    enum dump_symbols earlier = w->d->locations ? image->symbols : DUMP_SYMBOLS_UNSET;
    if (earlier == DUMP_SYMBOLS_OK && !w->hidden[i]) {
        return keep_image(w, i, e);
    }
    if (image->unplaced) {
        image->symbols = DUMP_SYMBOLS_MISSING; /* no file can answer for an unknown offset */
        image->symbols_file = NULL;
        return ST_OK;
    }
    struct symbol_request r = {image->id, image->name, image->path,
                               image->arch ? image->arch : w->d->device.arch};
    if (w->s->find(w->s->find_ctx, &r, &w->files[i], e) == ST_ERR) {
        return ST_ERR;
    }
    if (is_earlier_better(w, i, earlier)) {
        return keep_image(w, i, e);
    }
    bool failed = false;
    image->symbols = dump_verdicts[w->files[i].verdict];
    struct strbuf mapped = {0};
    const char *file = w->files[i].file;
    if (file && w->s->paths && path_map_apply(w->s->paths, file, &mapped, NULL) == ST_OK) {
        file = strbuf_cstr(&mapped);
    }
    failed = mapped.failed;
    image->symbols_file = symbolizer_intern(w->s, file, &failed);
    strbuf_release(&mapped);
    if (!failed && w->s->learned && !has_names(&w->files[i]) &&
        learned_sources_find(w->s->learned, &image->id, &w->told[i].source, e) == ST_ERR) {
        return ST_ERR;
    }
    return failed ? err_nomem(e) : ST_OK;
}

static enum st find_images(struct symbolize_work *w, struct err *e) {
    note_hidden_names(w);
    for (size_t i = 0; i < w->d->image_count; i++) {
        if (find_image(w, i, e) != ST_OK) {
            return ST_ERR;
        }
    }
    return ST_OK;
}

/* Returns the offset in its image at which the function of a frame's own name starts; p->offset if
 * the name's offset reaches below the image. */
static uint64_t start_of_name(const struct symbolize_work *w, const struct symbolize_place *p,
                              const struct dump_name *name) {
    uint64_t load = p->image >= 0 ? w->d->images[p->image].load : 0;
    uint64_t address = w->frames[p->number] & w->rules.mask;
    return name->offset <= address && address - name->offset >= load ? address - name->offset - load
                                                                     : p->offset;
}

/* Resolves a place by the dump's own name of its frame: outside of all images by the lines that the
 * mapping has for the name; else, or if the mapping lacks its class, by the name itself and the
 * calls inlined into its function. ST_ERR: out of memory. */
static enum st from_report(struct symbolize_work *w, const struct symbolize_place *p,
                           const struct dump_name *name, struct dump_location *out, struct err *e) {
    enum st st = w->retrace && out->image < 0
                     ? retrace_lines(w->retrace, name, w->callee, &w->d->arena, &out->lines,
                                     &out->line_count, e)
                     : ST_NONE;
    if (st != ST_NONE) {
        out->source = DUMP_SOURCE_REPORT;
        out->in_app = name->in_app;
        return st;
    }
    const size_t count = name->inlined_count + 1;
    struct dump_line *lines = arena_array(&w->d->arena, count, sizeof *lines);
    if (!lines) {
        return err_nomem(e);
    }
    for (size_t i = 0; i < count; i++) {
        const struct dump_line *inlined = i + 1 < count ? &name->inlined[i] : NULL;
        struct lookup_frame f = {.linkage = inlined ? inlined->function : name->symbol,
                                 .file = inlined ? inlined->file : name->file,
                                 .line = inlined ? inlined->line : name->line};
        if (answers_line(w->s->answers, &f, &w->d->arena, &lines[i], e) != ST_OK) {
            return ST_ERR;
        }
    }
    out->start = start_of_name(w, p, name);
    out->lines = lines;
    out->line_count = count;
    out->source = DUMP_SOURCE_REPORT;
    out->in_app = out->image < 0 && name->in_app;
    return ST_OK;
}

/* Resolves a place by a source. If the image's load address is 0, where no system loads one, the
 * offset is an address of the file, and counts from the file's base; below the base nothing is
 * looked up. ST_ERR: out of memory. */
static enum st from_source(struct symbolize_work *w, const struct symbol_file *file,
                           const struct symbolize_place *p, struct dump_location *out,
                           struct err *e) {
    struct answer a;
    uint64_t base = w->d->images[p->image].load == 0 ? file->base : 0;
    if (p->offset < base) {
        out->start = p->offset;
        return ST_OK;
    }
    if (answers_find(w->s->answers, file, p->offset - base, &w->d->arena, &a, e) != ST_OK) {
        return ST_ERR;
    }
    out->start = a.start + base;
    out->lines = a.lines;
    out->line_count = a.line_count;
    out->source = a.source;
    return ST_OK;
}

/* Resolves a place for which no file has a name: by learned names, else by the dump's own name for
 * the frame at p, else by an earlier run's answer from learned names. Where the learned and the own
 * name have one start, the own name is taken, which may have a line. ST_ERR: out of memory. */
static enum st from_names(struct symbolize_work *w, const struct symbolize_place *p,
                          const struct dump_name *name, struct dump_location *out, struct err *e) {
    const struct symbol_file *told =
        p->image >= 0 && w->told[p->image].source ? &w->told[p->image] : NULL;
    if (told && from_source(w, told, p, out, e) != ST_OK) {
        return ST_ERR;
    }
    bool learned = out->source != DUMP_SOURCE_NONE;
    if (name && (!learned || start_of_name(w, p, name) == out->start)) {
        return from_report(w, p, name, out, e);
    }
    const struct dump_location *old = w->earlier[p->number];
    if (!learned && old && !(told && learned_source_denies(told->source, old->start, p->offset))) {
        *out = *old;
    }
    return ST_OK;
}

/* Resolves a place for the frame at p, whose own name in the dump is `name` (NULL = none): by the
 * earlier answer if the image is kept, else by the image's file if that has names, else by
 * from_names, and if that gives nothing, by a file without names, which may know the start. ST_ERR:
 * out of memory. */
static enum st resolve_place(struct symbolize_work *w, const struct symbolize_place *p,
                             const struct dump_name *name, struct dump_location *out,
                             struct err *e) {
    const struct dump_location *old = w->earlier[p->number];
    if (old && w->keep[old->image]) {
        *out = *old;
        return ST_OK;
    }
    *out = (struct dump_location){.image = p->image, .offset = p->offset, .start = p->offset};
    const struct symbol_file *file = p->image >= 0 ? &w->files[p->image] : NULL;
    if (file && has_names(file)) {
        return from_source(w, file, p, out, e);
    }
    if (from_names(w, p, name, out, e) != ST_OK) {
        return ST_ERR;
    }
    bool startless = out->source == DUMP_SOURCE_NONE && file && file->source;
    return startless ? from_source(w, file, p, out, e) : ST_OK;
}

/* Returns an earlier run's answer for a frame if it may stay: any answer in an image that is kept,
 * an answer from learned names, and a report's name that is not among the dump's names any more.
 * NULL: none. */
static const struct dump_location *earlier_location(const struct symbolize_work *w,
                                                    const struct dump_stack *stack, size_t i) {
    if (!stack->locations || !w->d->locations) {
        return NULL;
    }
    const struct dump_location *old = &w->d->locations[stack->locations[i]];
    bool told = old->source == DUMP_SOURCE_LEARNED ||
                (old->source == DUMP_SOURCE_REPORT && !dump_name_at(w->d, stack->frames[i]));
    return old->image >= 0 && (told || w->keep[old->image]) ? old : NULL;
}

/* Returns stack i of a dump: those of threads come before samples. */
static struct dump_stack *stack_at(struct dump *d, size_t i) {
    return i < d->thread_count ? &d->threads[i].stack : &d->samples[i - d->thread_count];
}

static size_t stack_count(const struct dump *d) {
    return d->thread_count + d->sample_count;
}

static void locate_frame(struct symbolize_work *w, const struct dump_stack *stack, size_t i,
                         size_t number) {
    const struct dump_location *old = earlier_location(w, stack, i);
    struct symbolize_place *p = &w->places[number];
    w->earlier[number] = old;
    w->frames[number] = stack->frames[i];
    w->innermost[number] = i == 0;
    p->number = (uint32_t)number;
    if (old && w->keep[old->image]) {
        p->image = old->image;
        p->offset = old->offset;
    } else {
        uint64_t address = address_of_frame(&w->rules, stack, i);
        p->image = dump_image_at(w->d, address);
        p->offset = address - (p->image >= 0 ? w->d->images[p->image].load : 0);
    }
}

static enum st locate_frames(struct symbolize_work *w, struct err *e) {
    size_t number = 0;
    for (size_t i = 0; i < stack_count(w->d); i++) {
        w->frame_count += stack_at(w->d, i)->frame_count;
    }
    w->places = calloc(w->frame_count + 1, sizeof *w->places);
    w->frames = calloc(w->frame_count + 1, sizeof *w->frames);
    w->earlier = calloc(w->frame_count + 1, sizeof *w->earlier);
    w->innermost = calloc(w->frame_count + 1, sizeof *w->innermost);
    if (!w->places || !w->frames || !w->earlier || !w->innermost || w->frame_count > UINT32_MAX) {
        return err_nomem(e);
    }
    for (size_t i = 0; i < stack_count(w->d); i++) {
        const struct dump_stack *stack = stack_at(w->d, i);
        for (size_t k = 0; k < stack->frame_count; k++) {
            locate_frame(w, stack, k, number++);
        }
    }
    return ST_OK;
}

static bool places_equal(const struct symbolize_place *x, const struct symbolize_place *y) {
    return x->image == y->image && x->offset == y->offset;
}

static int compare_places(const void *a, const void *b) {
    const struct symbolize_place *x = a, *y = b;
    int order = COMPARE(x->image, y->image);
    order = order ? order : COMPARE(x->offset, y->offset);
    return order ? order : COMPARE(x->number, y->number);
}

enum { FEW_PLACES = 64 };

/* Sorts the places of one image: a few by insertion, which is faster, else by qsort. */
static void sort_image(struct symbolize_place *places, size_t count) {
    if (count > FEW_PLACES) {
        qsort(places, count, sizeof *places, compare_places);
        return;
    }
    for (size_t i = 1; i < count; i++) {
        struct symbolize_place p = places[i];
        size_t at = i;
        for (; at > 0 && compare_places(&p, &places[at - 1]) < 0; at--) {
            places[at] = places[at - 1];
        }
        places[at] = p;
    }
}

/* Sorts the places image by image. A dump has many images with few frames each, so this takes half
 * the time of one qsort. ST_ERR: out of memory. */
static enum st sort_places(struct symbolize_work *w, struct err *e) {
    size_t images = w->d->image_count + 1; /* the first one stands for no image (-1) */
    size_t *ends = calloc(images + 1, sizeof *ends);
    struct symbolize_place *sorted = calloc(w->frame_count + 1, sizeof *sorted);
    enum st st = ends && sorted ? ST_OK : err_nomem(e);
    for (size_t i = 0; st == ST_OK && i < w->frame_count; i++) {
        ends[w->places[i].image + 2]++;
    }
    for (size_t i = 1; st == ST_OK && i < images; i++) {
        /* Start of the places of image i - 1; the next loop moves it to their end. */
        ends[i] += ends[i - 1];
    }
    for (size_t i = 0; st == ST_OK && i < w->frame_count; i++) {
        sorted[ends[w->places[i].image + 1]++] = w->places[i];
    }
    for (size_t i = 0, from = 0; st == ST_OK && i < images; from = ends[i++]) {
        sort_image(sorted + from, ends[i] - from);
    }
    free(ends);
    if (st != ST_OK) {
        free(sorted);
        return st;
    }
    free(w->places);
    w->places = sorted;
    return ST_OK;
}

/* Returns the dump's own name for a frame; NULL: the frame has none, or only a placeholder. */
static const struct dump_name *own_name(const struct symbolize_work *w,
                                        const struct symbolize_place *p) {
    const struct dump_name *name = dump_name_at(w->d, w->frames[p->number]);
    return name && symbolize_is_name(name->symbol) ? name : NULL;
}

/* Returns the name that all these frames called; NULL: they called different ones, one of them is
 * innermost or called a frame without a name, or there are no mappings, which alone need this
 * name. */
static const struct dump_name *callee_of(const struct symbolize_work *w,
                                         const struct symbolize_place *places, size_t count) {
    const struct dump_name *callee = NULL;
    for (size_t i = 0; w->retrace && i < count; i++) {
        const uint32_t number = places[i].number;
        const struct dump_name *own =
            w->innermost[number] ? NULL : dump_name_at(w->d, w->frames[number - 1]);
        if (!own || (callee && own != callee)) {
            return NULL;
        }
        callee = own;
    }
    return callee;
}

/* Resolves the place at index `from`, and counts the frames that share it. The place's own name is
 * that of the first of these frames that has one; in an image with a source, own names are not
 * looked up. If no frame has a name, the earlier answer of the first frame that has one is used.
 * ST_ERR: out of memory. */
static enum st resolve_run(struct symbolize_work *w, size_t from, struct dump_location *out,
                           size_t *frames, struct err *e) {
    const struct symbolize_place *p = &w->places[from], *named = p;
    bool has_file = p->image >= 0 && w->files[p->image].source;
    const struct dump_name *name = NULL;
    size_t n = 0;
    for (; from + n < w->frame_count && places_equal(p, &p[n]); n++) {
        const struct dump_name *own = name || has_file ? NULL : own_name(w, &p[n]);
        if (own || (!name && !w->earlier[named->number] && w->earlier[p[n].number])) {
            named = &p[n];
        }
        name = own ? own : name;
    }
    *frames = n;
    w->callee = callee_of(w, p, n);
    return resolve_place(w, named, name, out, e);
}

/* Fills the dump's locations, in the order of (image, offset), and indexes[] by the frames'
 * numbers. ST_ERR: out of memory. */
static enum st resolve_places(struct symbolize_work *w, uint32_t *indexes, struct err *e) {
    size_t count = 0;
    if (sort_places(w, e) != ST_OK) {
        return ST_ERR;
    }
    for (size_t i = 0; i < w->frame_count; i++) {
        count += i == 0 || !places_equal(&w->places[i - 1], &w->places[i]);
    }
    struct dump_location *locations = arena_array(&w->d->arena, count, sizeof *locations);
    if (!locations) {
        return err_nomem(e);
    }
    for (size_t i = 0, at = 0; i < w->frame_count; at++) {
        size_t frames;
        if (resolve_run(w, i, &locations[at], &frames, e) != ST_OK) {
            return ST_ERR;
        }
        for (; frames > 0; frames--) {
            indexes[w->places[i++].number] = (uint32_t)at;
        }
    }
    w->d->locations = locations;
    w->d->location_count = count;
    return ST_OK;
}

static enum st locate_all(struct symbolize_work *w, const uint32_t **per_stack, struct err *e) {
    if (locate_frames(w, e) != ST_OK) {
        return ST_ERR;
    }
    uint32_t *indexes = arena_array(&w->d->arena, w->frame_count, sizeof *indexes);
    if (!indexes) {
        return err_nomem(e);
    }
    if (resolve_places(w, indexes, e) != ST_OK) {
        return ST_ERR;
    }
    for (size_t i = 0; i < stack_count(w->d); i++) {
        struct dump_stack *stack = stack_at(w->d, i);
        per_stack[i] = stack->locations = indexes;
        indexes += stack->frame_count;
    }
    return ST_OK;
}

static enum st fill_addition(const struct symbolize_work *w, const uint32_t **per_stack,
                             struct dump_addition *add, struct err *e) {
    struct dump *d = w->d;
    enum dump_symbols *symbols = arena_array(&d->arena, d->image_count, sizeof *symbols);
    const char **files = arena_array(&d->arena, d->image_count, sizeof *files);
    if (!symbols || !files) {
        return err_nomem(e);
    }
    for (size_t i = 0; i < d->image_count; i++) {
        symbols[i] = d->images[i].symbols;
        files[i] = d->images[i].symbols_file;
    }
    *add = (struct dump_addition){
        .locations = d->locations,
        .location_count = d->location_count,
        .thread_locations = per_stack,
        .sample_locations = per_stack + d->thread_count,
        .image_symbols = symbols,
        .image_files = files,
    };
    return ST_OK;
}

enum st symbolize_dump(struct symbolizer *s, struct dump *d, struct dump_addition *add,
                       struct err *e) {
    struct symbolize_work w = {
        .s = s, .d = d, .rules = address_rules_of(d), .retrace = retrace_set_find(s->retrace, d)};
    w.files = arena_array(&d->arena, d->image_count, sizeof *w.files);
    w.told = arena_array(&d->arena, d->image_count, sizeof *w.told);
    w.keep = arena_array(&d->arena, d->image_count, sizeof *w.keep);
    w.hidden = arena_array(&d->arena, d->image_count, sizeof *w.hidden);
    const uint32_t **per_stack = arena_array(&d->arena, stack_count(d), sizeof *per_stack);
    if (!w.files || !w.told || !w.keep || !w.hidden || !per_stack) {
        return err_nomem(e);
    }
    pthread_mutex_lock(&s->lock);
    enum st st = find_images(&w, e);
    pthread_mutex_unlock(&s->lock);
    if (st == ST_OK) {
        st = locate_all(&w, per_stack, e);
    }
    if (st == ST_OK) {
        st = fill_addition(&w, per_stack, add, e);
    }
    free(w.places);
    free(w.frames);
    free(w.earlier);
    free(w.innermost);
    return st;
}
