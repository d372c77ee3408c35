/* Looks addresses up in learned names. */
#include "symbolize/learned_source.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/search.h"
#include "base/vec.h"
#include "symbolize/learned_choice.h"
#include "symbolize/learned_folder.h"

/* The source of one image: its functions, each with its end cut at the next one's start. */
struct learned_source {
    struct lookup_source source; /* must be the first member */
    struct learned_names *names; /* owns the functions' names */
    struct learned_list functions;
};

struct learned_sources {
    learned_complain complain;
    void *ctx;
    struct learned_names *told; /* names to answer from besides the folders; borrowed, or NULL */
    VEC(const char *) folders;
    struct arena arena;
    struct map by_id; /* an id's bytes -> index in sources */
    VEC(struct learned_source *) sources;
    struct learned_counts counts;
};

/* ---- one image ---- */

/* Returns the function with the greatest start not above the offset; NULL: none. */
static const struct learned_function *function_below(const struct learned_source *s,
                                                     uint64_t offset) {
    size_t above = SEARCH_ABOVE(s->functions.data, s->functions.len, start, offset);
    return above > 0 ? &s->functions.data[above - 1] : NULL;
}

static enum st learned_lookup(struct lookup_source *source, uint64_t offset, struct lookup_hit *hit,
                              struct err *e) {
    (void)e;
    const struct learned_function *f =
        function_below((const struct learned_source *)source, offset);
    if (!f || !f->name || offset >= f->end) {
        return ST_NONE;
    }
    hit->quality = LOOKUP_LEARNED;
    hit->start = f->start;
    hit->end = f->end;
    hit->frames[0] = (struct lookup_frame){.linkage = f->name, .start = f->start};
    hit->frame_count = 1;
    return ST_OK;
}

static void learned_close(struct lookup_source *source) {
    struct learned_source *s = (struct learned_source *)source;
    VEC_RELEASE(&s->functions);
    learned_names_free(s->names);
    free(s);
}

static const struct lookup_ops learned_ops = {learned_lookup, learned_close};

bool learned_source_denies(const struct lookup_source *source, uint64_t start, uint64_t offset) {
    const struct learned_function *f =
        function_below((const struct learned_source *)source, offset);
    return f && (f->start > start || (f->start == start && f->conflict));
}

/* ---- all images ---- */

enum st learned_sources_new(struct learned_sources **out, learned_complain complain, void *ctx,
                            struct err *e) {
    struct learned_sources *s = calloc(1, sizeof *s);
    if (!s) {
        return err_nomem(e);
    }
    s->complain = complain;
    s->ctx = ctx;
    *out = s;
    return ST_OK;
}

void learned_sources_free(struct learned_sources *s) {
    if (!s) {
        return;
    }
    for (size_t i = 0; i < s->sources.len; i++) {
        learned_close(&s->sources.data[i]->source);
    }
    VEC_RELEASE(&s->sources);
    VEC_RELEASE(&s->folders);
    map_release(&s->by_id);
    arena_release(&s->arena);
    free(s);
}

void learned_sources_use_names(struct learned_sources *s, struct learned_names *n) {
    s->told = n;
}

enum st learned_sources_use_folder(struct learned_sources *s, const char *folder, struct err *e) {
    const char *own = arena_strdup(&s->arena, folder, strlen(folder));
    return own && VEC_PUSH(&s->folders, own) ? ST_OK : err_nomem(e);
}

/* Joins the names that were learned in this run (s->told) to `all`. ST_ERR: out of memory. */
static enum st join_told(const struct learned_sources *s, const struct image_id *id,
                         struct learned_names *all, struct err *e) {
    struct learned_list list = {0};
    enum st st = s->told ? learned_names_list(s->told, id, &list, e) : ST_NONE;
    for (size_t i = 0; st == ST_OK && i < list.len; i++) {
        st = learned_names_add(all, &(struct learned_fact){id, list.data[i]}, 1, e);
    }
    VEC_RELEASE(&list);
    return st == ST_NONE ? ST_OK : st;
}

static enum st join_folders(const struct learned_sources *s, const struct image_id *id,
                            struct learned_names *all, struct err *e) {
    for (size_t i = 0; i < s->folders.len; i++) {
        struct err why = {0};
        enum st st = learned_folder_read(s->folders.data[i], id, all, &why);
        if (st == ST_ERR && why.code == ERR_NOMEM) {
            return err_nomem(e);
        }
        if (st == ST_ERR && s->complain) {
            s->complain(s->ctx, NULL, &why);
        }
    }
    return ST_OK;
}

/* Cuts each function's end at the next start. */
static void cut_ends(struct learned_list *l) {
    for (size_t i = 0; i < l->len; i++) {
        struct learned_function *f = &l->data[i];
        if (i + 1 < l->len && f->end > f[1].start) {
            f->end = f[1].start;
        }
    }
}

static enum st learned_open_image(struct learned_sources *s, const struct image_id *id,
                                  struct learned_source *image, struct err *e) {
    if (learned_names_new(&image->names, e) != ST_OK ||
        join_told(s, id, image->names, e) != ST_OK ||
        join_folders(s, id, image->names, e) != ST_OK) {
        return ST_ERR;
    }
    if (learned_names_list(image->names, id, &image->functions, e) == ST_ERR) {
        return ST_ERR;
    }
    learned_list_choose(&image->functions, &s->counts);
    cut_ends(&image->functions);
    return ST_OK;
}

static enum st learned_make_source(struct learned_sources *s, const struct image_id *id,
                                   struct err *e) {
    struct learned_source *image = calloc(1, sizeof *image);
    if (!image) {
        return err_nomem(e);
    }
    image->source = (struct lookup_source){
        .ops = &learned_ops, .content = LOOKUP_HAS_SYMBOLS, .concurrent = true};
    enum st st = learned_open_image(s, id, image, e);
    if (st == ST_OK && !VEC_PUSH(&s->sources, image)) {
        st = err_nomem(e);
    }
    if (st != ST_OK) {
        learned_close(&image->source);
        return st;
    }
    return map_put(&s->by_id, id->bytes, id->len, s->sources.len - 1, NULL) ? ST_OK : err_nomem(e);
}

enum st learned_sources_find(struct learned_sources *s, const struct image_id *id,
                             struct lookup_source **out, struct err *e) {
    if (image_id_is_zero(id)) {
        return ST_NONE;
    }
    const struct map_entry *known = map_get(&s->by_id, id->bytes, id->len);
    if (!known) {
        if (learned_make_source(s, id, e) != ST_OK) {
            return ST_ERR;
        }
        known = map_get(&s->by_id, id->bytes, id->len);
    }
    struct learned_source *image = s->sources.data[known->value];
    if (image->functions.len == 0) {
        return ST_NONE;
    }
    *out = &image->source;
    return ST_OK;
}

struct learned_counts learned_sources_counts(const struct learned_sources *s) {
    return s->counts;
}
