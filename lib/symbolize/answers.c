/* Keeps the answers of a run in a hash table of stripes with a lock each, so that threads seldom
 * wait. */
#include "symbolize/answers_private.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "symbolize/symbolize.h"

/* ENTRY_BYTES: approximate number of bytes that the map needs for a string besides the string. */
enum { STRIPES = 64, FIRST_SLOTS = 64, ENTRY_BYTES = 64 };

struct answer_node {
    const struct lookup_source *source;
    uint64_t offset;
    struct answer answer;
};

/* One part of the hash table. Its lock is held while an answer that will be kept in it is resolved:
 * a thread that wants an answer of this stripe waits. */
struct answer_stripe {
    pthread_mutex_t lock;
    struct answer_node **slots; /* open addressing; their number is a power of two, or 0 */
    size_t slot_count, count;
    struct arena arena; /* the nodes, and the lines of their answers */
};

struct answers {
    pthread_mutex_t *source_lock; /* serialises sources that are not concurrent */
    enum symbolize_names names;
    const struct path_map *paths; /* borrowed, or NULL */
    size_t kept_max;
    atomic_size_t kept; /* approximate number of bytes kept so far */
    pthread_mutex_t text_lock;
    struct map texts; /* strings of names and files, which the answers of all stripes share; guarded
                         by text_lock */
    struct answer_stripe stripes[STRIPES];
};

enum st answers_new(struct answers **out, pthread_mutex_t *lock, enum symbolize_names names,
                    size_t kept_max, struct err *e) {
    struct answers *a = calloc(1, sizeof *a);
    if (!a) {
        return err_nomem(e);
    }
    a->source_lock = lock;
    a->names = names;
    a->kept_max = kept_max;
    pthread_mutex_init(&a->text_lock, NULL);
    for (size_t i = 0; i < STRIPES; i++) {
        pthread_mutex_init(&a->stripes[i].lock, NULL);
    }
    *out = a;
    return ST_OK;
}

void answers_use_paths(struct answers *a, const struct path_map *paths) {
    a->paths = paths;
}

void answers_free(struct answers *a) {
    if (!a) {
        return;
    }
    for (size_t i = 0; i < STRIPES; i++) {
        pthread_mutex_destroy(&a->stripes[i].lock);
        arena_release(&a->stripes[i].arena);
        free(a->stripes[i].slots);
    }
    pthread_mutex_destroy(&a->text_lock);
    map_release(&a->texts);
    free(a);
}

/* ---- strings and lines ---- */

/* The place to which a string is copied: the texts that all answers share, or the arena of one
 * dump. */
struct text_home {
    struct answers *shared; /* NULL = the arena */
    struct arena *arena;
};

/* Returns a copy of the text in `home`; NULL for NULL, and without memory (then *failed is set). */
static const char *answers_keep_text(const struct text_home *home, const char *text, bool *failed) {
    if (!text) {
        return NULL;
    }
    const char *copy = NULL;
    size_t len = strlen(text);
    if (home->shared) {
        struct answers *a = home->shared;
        pthread_mutex_lock(&a->text_lock);
        size_t before = a->texts.count;
        size_t i = map_intern(&a->texts, text, len);
        copy = i == SIZE_MAX ? NULL : map_string(&a->texts, i);
        if (a->texts.count > before) {
            atomic_fetch_add(&a->kept, len + ENTRY_BYTES);
        }
        pthread_mutex_unlock(&a->text_lock);
    } else {
        copy = arena_strdup(home->arena, text, len);
    }
    *failed = *failed || !copy;
    return copy;
}

static enum st fill_line(const struct answers *a, const struct lookup_frame *f,
                         const struct text_home *home, struct dump_line *line, struct err *e) {
    struct strbuf name = {0};
    const char *mangled = NULL;
    bool failed = false;
    enum st st = symbolize_name(f, a->names, &name, &mangled, e);
    if (st == ST_OK) {
        const char *text = strbuf_cstr(&name);
        *line = (struct dump_line){
            .function = name.len > 0 && symbolize_is_name(text)
                            ? answers_keep_text(home, text, &failed)
                            : NULL,
            .linkage = answers_keep_text(home, mangled, &failed),
            .file = answers_keep_text(home, f->file, &failed),
            .line = f->file ? f->line : 0,
            .column = f->file && f->line ? f->column : 0,
        };
        st = failed ? err_nomem(e) : ST_OK;
    }
    strbuf_release(&name);
    return st;
}

enum st answers_line(const struct answers *a, const struct lookup_frame *f, struct arena *arena,
                     struct dump_line *line, struct err *e) {
    struct text_home home = {.arena = arena};
    return fill_line(a, f, &home, line, e);
}

/* ---- resolving ---- */

static enum st answers_look_up(struct answers *a, struct lookup_source *source, uint64_t address,
                               struct lookup_hit *hit, struct err *why) {
    if (source->concurrent) {
        return lookup_address(source, address, hit, why);
    }
    pthread_mutex_lock(a->source_lock);
    enum st st = lookup_address(source, address, hit, why);
    pthread_mutex_unlock(a->source_lock);
    return st;
}

static const enum dump_source source_of[] = {[LOOKUP_DWARF] = DUMP_SOURCE_DWARF,
                                             [LOOKUP_SYMTAB] = DUMP_SOURCE_SYMTAB,
                                             [LOOKUP_LEARNED] = DUMP_SOURCE_LEARNED};

/* Fills a line from a frame that was looked up; the rules of a->paths, if not NULL, replace the
 * beginning of its file's path. ST_ERR: out of memory. */
static enum st fill_mapped_line(const struct answers *a, const struct lookup_frame *frame,
                                const struct text_home *home, struct dump_line *line,
                                struct err *e) {
    struct lookup_frame f = *frame;
    struct strbuf file = {0};
    enum st st = f.file && a->paths ? path_map_apply(a->paths, f.file, &file, e) : ST_NONE;
    if (st == ST_OK) {
        f.file = strbuf_cstr(&file);
    }
    st = st == ST_ERR ? ST_ERR : fill_line(a, &f, home, line, e);
    strbuf_release(&file);
    return st;
}

static enum st fill_answer(struct answers *a, const struct lookup_hit *hit, uint64_t base,
                           const struct text_home *home, struct answer *out, struct err *e) {
    struct dump_line *lines = arena_array(home->arena, hit->frame_count, sizeof *lines);
    if (!lines) {
        return err_nomem(e);
    }
    for (size_t i = 0; i < hit->frame_count; i++) {
        if (fill_mapped_line(a, &hit->frames[i], home, &lines[i], e) != ST_OK) {
            return ST_ERR;
        }
    }
    *out = (struct answer){
        .start = hit->frames[hit->frame_count - 1].start - base,
        .lines = lines,
        .line_count = hit->frame_count,
        .source = source_of[hit->quality],
    };
    return ST_OK;
}

static enum st answers_resolve(struct answers *a, const struct symbol_file *file, uint64_t offset,
                               const struct text_home *home, struct answer *out, struct err *e) {
    struct lookup_hit *hit = malloc(sizeof *hit); /* The hit is too large for a stack frame. */
    struct err why = {0};
    *out = (struct answer){.start = offset};
    if (!hit) {
        return err_nomem(e);
    }
    enum st st = answers_look_up(a, file->source, file->base + offset, hit, &why);
    if (why.code == ERR_NOMEM) {
        st = err_nomem(e);
    } else if (st == ST_OK && hit->frame_count > 0) {
        st = fill_answer(a, hit, file->base, home, out, e);
    } else {
        out->start = st == ST_OK ? hit->start - file->base : offset;
        st = ST_OK; /* No function with a name owns the address, or its unit is damaged and the
                       source has complained. */
    }
    free(hit);
    return st;
}

/* ---- the table ---- */

/* Returns the slot of the key, or the free slot where it belongs. At least half of the slots are
 * free. There must be slots. */
static size_t stripe_find_slot(const struct answer_stripe *s, const struct lookup_source *source,
                               uint64_t offset, uint64_t hash) {
    size_t mask = s->slot_count - 1, at = (size_t)(hash / STRIPES) & mask;
    while (s->slots[at] && (s->slots[at]->offset != offset || s->slots[at]->source != source)) {
        at = (at + 1) & mask;
    }
    return at;
}

static uint64_t hash_of(const struct lookup_source *source, uint64_t offset) {
    return hash_u64(offset ^ hash_u64((uint64_t)(uintptr_t)source));
}

/* Grows the table so that at least half of the slots stay free. False: out of memory. */
static bool stripe_grow(struct answer_stripe *s) {
    if (s->count < s->slot_count / 2) {
        return true;
    }
    struct answer_stripe larger = {.slot_count = s->slot_count ? s->slot_count * 2 : FIRST_SLOTS};
    larger.slots = calloc(larger.slot_count, sizeof(struct answer_node *));
    if (!larger.slots) {
        return false;
    }
    for (size_t i = 0; i < s->slot_count; i++) {
        struct answer_node *n = s->slots[i];
        if (n) {
            uint64_t hash = hash_of(n->source, n->offset);
            larger.slots[stripe_find_slot(&larger, n->source, n->offset, hash)] = n;
        }
    }
    free(s->slots);
    s->slots = larger.slots;
    s->slot_count = larger.slot_count;
    return true;
}

/* Resolves the offset, and keeps the answer in stripe s, whose lock the caller holds. ST_ERR: out
 * of memory, and nothing is kept. */
static enum st add_answer(struct answers *a, struct answer_stripe *s,
                          const struct symbol_file *file, uint64_t offset, uint64_t hash,
                          struct answer *out, struct err *e) {
    const struct text_home home = {a, &s->arena};
    size_t before = s->arena.used;
    struct answer_node *n = stripe_grow(s) ? arena_alloc(&s->arena, sizeof *n) : NULL;
    if (!n) {
        return err_nomem(e);
    }
    *n = (struct answer_node){.source = file->source, .offset = offset};
    if (answers_resolve(a, file, offset, &home, &n->answer, e) != ST_OK) {
        return ST_ERR;
    }
    s->slots[stripe_find_slot(s, file->source, offset, hash)] = n;
    s->count++;
    atomic_fetch_add(&a->kept, s->arena.used - before + 2 * sizeof n);
    *out = n->answer;
    return ST_OK;
}

enum st answers_find(struct answers *a, const struct symbol_file *file, uint64_t offset,
                     struct arena *arena, struct answer *out, struct err *e) {
    uint64_t hash = hash_of(file->source, offset);
    struct answer_stripe *s = &a->stripes[hash % STRIPES];
    enum st st = ST_NONE;
    pthread_mutex_lock(&s->lock);
    const struct answer_node *known =
        s->slot_count ? s->slots[stripe_find_slot(s, file->source, offset, hash)] : NULL;
    if (known) {
        *out = known->answer;
        st = ST_OK;
    } else if (atomic_load(&a->kept) < a->kept_max) {
        st = add_answer(a, s, file, offset, hash, out, e);
    }
    pthread_mutex_unlock(&s->lock);
    if (st != ST_NONE) {
        return st;
    }
    const struct text_home home = {.arena = arena};
    return answers_resolve(a, file, offset, &home, out, e);
}
