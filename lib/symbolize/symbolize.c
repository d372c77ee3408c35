/* Symbolication of a dump: each frame to a location, each distinct (image, offset) looked up once a
 * run. */
#include "symbolize/symbolize.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "demangle/demangle.h"
#include "symbolize/address_private.h"

/* What is known of one (image, offset) for the whole run. */
struct answer {
    uint64_t start; /* offset of the function's first byte */
    struct dump_line *lines;
    size_t line_count;
    enum dump_source source;
};

struct symbolizer {
    pthread_mutex_t lock; /* guards all below */
    symbolize_find find;
    void *find_ctx;
    bool linkage_names;
    struct map images;  /* source pointer -> number */
    struct map answers; /* (image number, offset) -> index into answer_list */
    VEC(struct answer) answer_list;
    struct map strings;
    struct arena arena;
    struct lookup_hit hit; /* too large for a stack */
};

/* One dump in work: parallel to its images. */
struct work {
    struct symbolizer *s;
    struct dump *d;
    struct symbol_file *files; /* [image_count] */
    bool *keep;                /* [image_count]: `ok` since an earlier run */
    struct address_rules rules;
    struct map index_of; /* (image, offset, kept location) -> index into locations */
    VEC(struct dump_location) locations;
};

enum st symbolizer_new(struct symbolizer **out, symbolize_find find, void *ctx, bool linkage_names,
                       struct err *e) {
    struct symbolizer *s = calloc(1, sizeof *s);
    if (!s) {
        return err_nomem(e);
    }
    s->find = find;
    s->find_ctx = ctx;
    s->linkage_names = linkage_names;
    if (pthread_mutex_init(&s->lock, NULL) != 0) {
        free(s);
        return err_nomem(e);
    }
    *out = s;
    return ST_OK;
}

void symbolizer_free(struct symbolizer *s) {
    if (!s) {
        return;
    }
    pthread_mutex_destroy(&s->lock);
    map_release(&s->images);
    map_release(&s->answers);
    map_release(&s->strings);
    VEC_RELEASE(&s->answer_list);
    arena_release(&s->arena);
    free(s);
}

bool symbolize_is_name(const char *name) {
    static const char *const not_names[] = {"<redacted>", "<deduplicated_symbol>", "???", "",
                                            "<unknown>"};
    for (size_t i = 0; i < sizeof not_names / sizeof *not_names; i++) {
        if (strcmp(name, not_names[i]) == 0) {
            return false;
        }
    }
    return strncmp(name, "___lldb_unnamed_symbol", 22) != 0;
}

enum st symbolize_name(const struct lookup_frame *f, bool linkage_names, struct strbuf *out,
                       const char **mangled, struct err *e) {
    const char *name = f->linkage ? f->linkage : f->function;
    if (mangled) {
        *mangled = NULL;
    }
    if (!name) {
        return ST_OK;
    }
    enum demangle_scheme scheme = demangle_scheme_of(name, strlen(name));
    if (linkage_names || scheme == DEMANGLE_NONE || scheme == DEMANGLE_SWIFT) {
        /* Swift's short name ("body.getter") would make many functions look like one. */
        strbuf_addstr(out, linkage_names || scheme == DEMANGLE_SWIFT || !f->function ? name
                                                                                     : f->function);
        return strbuf_check(out, e);
    }
    enum st st = demangle(name, strlen(name), out, e);
    if (st == ST_ERR) {
        return ST_ERR;
    }
    if (st == ST_NONE) {
        strbuf_addstr(out, f->function ? f->function : name);
    }
    if (mangled && strcmp(strbuf_cstr(out), name) != 0) {
        *mangled = name;
    }
    return strbuf_check(out, e);
}

/* ---- answers, once a run ---- */

/* An interned copy; NULL for NULL, and when memory runs out (*failed). */
static const char *intern(struct symbolizer *s, const char *text, bool *failed) {
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

static enum st fill_line(struct symbolizer *s, const struct lookup_frame *f, struct dump_line *line,
                         struct err *e) {
    struct strbuf name = {0};
    const char *mangled = NULL;
    bool failed = false;
    enum st st = symbolize_name(f, s->linkage_names, &name, &mangled, e);
    if (st == ST_OK) {
        const char *text = strbuf_cstr(&name);
        *line = (struct dump_line){
            .function = name.len > 0 && symbolize_is_name(text) ? intern(s, text, &failed) : NULL,
            .linkage = intern(s, mangled, &failed),
            .file = f->line ? intern(s, f->file, &failed) : NULL,
            .line = f->file ? f->line : 0,
            .column = f->file && f->line ? f->column : 0,
        };
        st = failed ? err_nomem(e) : ST_OK;
    }
    strbuf_release(&name);
    return st;
}

static enum st look_up(struct symbolizer *s, const struct symbol_file *file, uint64_t offset,
                       struct answer *out, struct err *e) {
    *out = (struct answer){.start = offset};
    struct err why = {0};
    enum st st = lookup_address(file->source, file->base + offset, &s->hit, &why);
    if (why.code == ERR_NOMEM) {
        return err_nomem(e);
    }
    if (st != ST_OK || s->hit.frame_count == 0) {
        return ST_OK; /* nobody's address, or in a unit whose damage the source has complained about
                       */
    }
    struct dump_line *lines = arena_array(&s->arena, s->hit.frame_count, sizeof *lines);
    if (!lines) {
        return err_nomem(e);
    }
    for (size_t i = 0; i < s->hit.frame_count; i++) {
        if (fill_line(s, &s->hit.frames[i], &lines[i], e) != ST_OK) {
            return ST_ERR;
        }
    }
    const struct lookup_frame *real = &s->hit.frames[s->hit.frame_count - 1];
    *out = (struct answer){
        .start = real->start - file->base,
        .lines = lines,
        .line_count = s->hit.frame_count,
        .source = s->hit.quality == LOOKUP_DWARF ? DUMP_SOURCE_DWARF : DUMP_SOURCE_SYMTAB,
    };
    return ST_OK;
}

static enum st answer_for(struct symbolizer *s, const struct symbol_file *file, uint64_t offset,
                          struct answer *out, struct err *e) {
    struct map_entry *image =
        map_put(&s->images, &file->source, sizeof file->source, s->images.count, NULL);
    if (!image) {
        return err_nomem(e);
    }
    uint64_t key[2] = {image->value, offset};
    const struct map_entry *known = map_get(&s->answers, key, sizeof key);
    if (known) {
        *out = s->answer_list.data[known->value];
        return ST_OK;
    }
    if (look_up(s, file, offset, out, e) != ST_OK) {
        return ST_ERR;
    }
    if (!VEC_PUSH(&s->answer_list, *out) ||
        !map_put(&s->answers, key, sizeof key, s->answer_list.len - 1, NULL)) {
        return err_nomem(e);
    }
    return ST_OK;
}

/* ---- one dump ---- */

static enum dump_symbols verdict_text(enum symbol_verdict v) {
    switch (v) {
    case SYMBOLS_OK:
        return DUMP_SYMBOLS_OK;
    case SYMBOLS_ONLY:
        return DUMP_SYMBOLS_ONLY;
    case SYMBOLS_ID_MISMATCH:
        return DUMP_SYMBOLS_UUID_MISMATCH;
    case SYMBOLS_ARCH_MISMATCH:
        return DUMP_SYMBOLS_ARCH_MISMATCH;
    case SYMBOLS_NO_DEBUG_INFO:
        return DUMP_SYMBOLS_NO_DEBUG_INFO;
    case SYMBOLS_DAMAGED:
        return DUMP_SYMBOLS_DAMAGED;
    case SYMBOLS_MISSING:
        break;
    }
    return DUMP_SYMBOLS_MISSING;
}

/* An earlier run's verdict stays, and its file. */
static enum st keep_image(struct work *w, size_t i, struct err *e) {
    struct dump_image *image = &w->d->images[i];
    bool failed = false;
    w->keep[i] = true;
    image->symbols_file = intern(w->s, image->symbols_file, &failed); /* may outlive the dump */
    return failed ? err_nomem(e) : ST_OK;
}

static enum st find_image(struct work *w, size_t i, struct err *e) {
    struct dump_image *image = &w->d->images[i];
    /* Without locations there is nothing to keep, whatever the image says. */
    enum dump_symbols earlier = w->d->locations ? image->symbols : DUMP_SYMBOLS_UNSET;
    if (earlier == DUMP_SYMBOLS_OK) {
        return keep_image(w, i, e);
    }
    struct symbol_request r = {image->id, image->name, image->path,
                               image->arch ? image->arch : w->d->device.arch};
    if (w->s->find(w->s->find_ctx, &r, &w->files[i], e) == ST_ERR) {
        return ST_ERR;
    }
    if (!w->files[i].source && earlier == DUMP_SYMBOLS_ONLY) {
        return keep_image(w, i, e); /* this run has none: keep the better */
    }
    bool failed = false;
    image->symbols = verdict_text(w->files[i].verdict);
    image->symbols_file = intern(w->s, w->files[i].file, &failed);
    return failed ? err_nomem(e) : ST_OK;
}

static enum st find_images(struct work *w, struct err *e) {
    for (size_t i = 0; i < w->d->image_count; i++) {
        if (find_image(w, i, e) != ST_OK) {
            return ST_ERR;
        }
    }
    return ST_OK;
}

/* Is the name that came with the dump one, for this frame? */
static const struct dump_name *reported_name(const struct dump *d, uint64_t frame) {
    size_t low = 0, high = d->name_count;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (d->names[mid].address < frame) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    bool found = low < d->name_count && d->names[low].address == frame && d->names[low].symbol &&
                 symbolize_is_name(d->names[low].symbol);
    return found ? &d->names[low] : NULL;
}

static enum st from_report(struct work *w, const struct dump_name *name, uint64_t frame,
                           struct dump_location *out, struct err *e) {
    struct dump_line *line = arena_alloc(&w->d->arena, sizeof *line);
    if (!line) {
        return err_nomem(e);
    }
    struct lookup_frame f = {.linkage = name->symbol};
    if (fill_line(w->s, &f, line, e) != ST_OK) {
        return ST_ERR;
    }
    uint64_t load = out->image >= 0 ? w->d->images[out->image].load : 0;
    uint64_t address = frame & w->rules.mask;
    out->start = name->offset <= address && address - name->offset >= load
                     ? address - name->offset - load
                     : out->offset;
    out->lines = line;
    out->line_count = 1;
    out->source = DUMP_SOURCE_REPORT;
    return ST_OK;
}

/* What frame i of the stack resolves to. */
static enum st resolve_frame(struct work *w, const struct dump_stack *stack, size_t i,
                             struct dump_location *out, struct err *e) {
    uint64_t address = address_of_frame(&w->rules, stack, i);
    int32_t image = dump_image_at(w->d, address);
    uint64_t load = image >= 0 ? w->d->images[image].load : 0;
    *out =
        (struct dump_location){.image = image, .offset = address - load, .start = address - load};
    if (image >= 0 && w->files[image].source) {
        struct answer a;
        if (answer_for(w->s, &w->files[image], out->offset, &a, e) != ST_OK) {
            return ST_ERR;
        }
        out->start = a.start;
        out->lines = a.lines;
        out->line_count = a.line_count;
        out->source = a.source;
        return ST_OK;
    }
    const struct dump_name *name = reported_name(w->d, stack->frames[i]);
    return name ? from_report(w, name, stack->frames[i], out, e) : ST_OK;
}

/* Kept frames stay as the earlier run resolved them. */
static bool keep_frame(const struct work *w, const struct dump_stack *stack, size_t i,
                       struct dump_location *out) {
    if (!stack->locations || !w->d->locations) {
        return false;
    }
    const struct dump_location *old = &w->d->locations[stack->locations[i]];
    if (old->image < 0 || !w->keep[old->image]) {
        return false;
    }
    *out = *old;
    return true;
}

static enum st locate_stack(struct work *w, struct dump_stack *stack, uint32_t *indexes,
                            struct err *e) {
    for (size_t i = 0; i < stack->frame_count; i++) {
        struct dump_location l;
        if (!keep_frame(w, stack, i, &l) && resolve_frame(w, stack, i, &l, e) != ST_OK) {
            return ST_ERR;
        }
        uint64_t key[2] = {(uint64_t)(int64_t)l.image, l.offset};
        bool added = false;
        struct map_entry *entry = map_put(&w->index_of, key, sizeof key, w->locations.len, &added);
        if (!entry || (added && !VEC_PUSH(&w->locations, l))) {
            return err_nomem(e);
        }
        struct dump_location *known = &w->locations.data[entry->value];
        if (!added && known->source == DUMP_SOURCE_NONE && l.source != DUMP_SOURCE_NONE) {
            *known = l; /* the same place, named by the report at one of its frames only */
        }
        indexes[i] = (uint32_t)entry->value;
    }
    return ST_OK;
}

struct order {
    struct dump_location location;
    uint32_t was;
};

static int compare_locations(const void *a, const void *b) {
    const struct dump_location *x = &((const struct order *)a)->location;
    const struct dump_location *y = &((const struct order *)b)->location;
    if (x->image != y->image) {
        return x->image < y->image ? -1 : 1;
    }
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* Sorts the locations by (image, offset) into the dump's arena; now_at[old index] = new index. */
static enum st sort_locations(struct work *w, uint32_t **now_at, struct err *e) {
    size_t n = w->locations.len;
    struct order *order = malloc((n ? n : 1) * sizeof *order);
    uint32_t *map = arena_array(&w->d->arena, n, sizeof *map);
    struct dump_location *sorted = arena_array(&w->d->arena, n, sizeof *sorted);
    if (!order || !map || !sorted) {
        free(order);
        return err_nomem(e);
    }
    for (size_t i = 0; i < n; i++) {
        order[i] = (struct order){w->locations.data[i], (uint32_t)i};
    }
    qsort(order, n, sizeof *order, compare_locations);
    for (size_t i = 0; i < n; i++) {
        sorted[i] = order[i].location;
        map[order[i].was] = (uint32_t)i;
    }
    free(order);
    w->d->locations = sorted;
    w->d->location_count = n;
    *now_at = map;
    return ST_OK;
}

/* All stacks of a dump: threads, then samples. */
static struct dump_stack *stack_at(struct dump *d, size_t i) {
    return i < d->thread_count ? &d->threads[i].stack : &d->samples[i - d->thread_count];
}

static enum st locate_all(struct work *w, const uint32_t **per_stack, struct err *e) {
    size_t stacks = w->d->thread_count + w->d->sample_count;
    for (size_t i = 0; i < stacks; i++) {
        struct dump_stack *stack = stack_at(w->d, i);
        uint32_t *indexes = arena_array(&w->d->arena, stack->frame_count, sizeof *indexes);
        if (!indexes) {
            return err_nomem(e);
        }
        if (locate_stack(w, stack, indexes, e) != ST_OK) {
            return ST_ERR;
        }
        per_stack[i] = indexes;
    }
    uint32_t *now_at = NULL;
    if (sort_locations(w, &now_at, e) != ST_OK) {
        return ST_ERR;
    }
    for (size_t i = 0; i < stacks; i++) {
        struct dump_stack *stack = stack_at(w->d, i);
        uint32_t *indexes = (uint32_t *)(uintptr_t)per_stack[i]; /* ours, allocated above */
        for (size_t k = 0; k < stack->frame_count; k++) {
            indexes[k] = now_at[indexes[k]];
        }
        stack->locations = indexes;
    }
    return ST_OK;
}

static enum st fill_addition(const struct work *w, const uint32_t **per_stack,
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
    struct work w = {.s = s, .d = d, .rules = address_rules_of(d)};
    size_t stacks = d->thread_count + d->sample_count;
    w.files = arena_array(&d->arena, d->image_count, sizeof *w.files);
    w.keep = arena_array(&d->arena, d->image_count, sizeof *w.keep);
    const uint32_t **per_stack = arena_array(&d->arena, stacks, sizeof *per_stack);
    if (!w.files || !w.keep || !per_stack) {
        return err_nomem(e);
    }
    pthread_mutex_lock(&s->lock);
    enum st st = find_images(&w, e);
    if (st == ST_OK) {
        st = locate_all(&w, per_stack, e);
    }
    pthread_mutex_unlock(&s->lock);
    if (st == ST_OK) {
        st = fill_addition(&w, per_stack, add, e);
    }
    map_release(&w.index_of);
    VEC_RELEASE(&w.locations);
    return st;
}
