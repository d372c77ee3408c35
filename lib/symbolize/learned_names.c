/* Joins the facts that reports give about functions. A function's state only moves forward: start
 * known, named, in conflict; of names that agree, a fixed order chooses one. So the join is
 * commutative, associative and idempotent. */
#include "symbolize/learned_names.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/search.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "symbolize/symbolize.h"

struct learned_image {
    struct image_id id;
    struct map by_start; /* a start's bytes -> index in functions */
    VEC(struct learned_function) functions;
};

struct learned_names {
    pthread_mutex_t lock; /* guards all members below */
    struct map by_id;     /* an id's bytes -> index in images */
    VEC(struct learned_image *) images;
    struct map texts; /* interned names */
};

enum st learned_names_new(struct learned_names **out, struct err *e) {
    struct learned_names *n = calloc(1, sizeof *n);
    if (!n) {
        return err_nomem(e);
    }
    pthread_mutex_init(&n->lock, NULL);
    *out = n;
    return ST_OK;
}

static void learned_image_free(struct learned_image *image) {
    if (image) {
        map_release(&image->by_start);
        VEC_RELEASE(&image->functions);
        free(image);
    }
}

void learned_names_free(struct learned_names *n) {
    if (!n) {
        return;
    }
    for (size_t i = 0; i < n->images.len; i++) {
        learned_image_free(n->images.data[i]);
    }
    VEC_RELEASE(&n->images);
    map_release(&n->by_id);
    map_release(&n->texts);
    pthread_mutex_destroy(&n->lock);
    free(n);
}

bool learned_is_name(const char *text) {
    size_t len = strlen(text);
    if (len == 0 || len > LEARNED_NAME_MAX || !utf8_valid(text, len) || !symbolize_is_name(text)) {
        return false;
    }
    for (size_t i = 0; i < len; i++) {
        if ((unsigned char)text[i] < ' ' || text[i] == 0x7f) {
            return false;
        }
    }
    return true;
}

/* ---- one function ---- */

static enum st write_readable(const char *name, struct strbuf *out, bool *mangled, struct err *e) {
    const struct lookup_frame f = {.linkage = name};
    const char *linkage = NULL;
    enum st st = symbolize_name(&f, SYMBOLIZE_SIMPLIFIED, out, &linkage, e);
    *mangled = linkage != NULL;
    return st;
}

/* Stores the better of two names of a function in f, or marks a conflict if they read differently.
 * A mangled name is better than a readable one; of two mangled or two readable ones the smaller by
 * strcmp is. */
static enum st settle_names(struct learned_function *f, const char *name, struct err *e) {
    struct strbuf old = {0}, new = {0};
    bool old_mangled = false, new_mangled = false;
    enum st st = write_readable(f->name, &old, &old_mangled, e);
    if (st == ST_OK) {
        st = write_readable(name, &new, &new_mangled, e);
    }
    if (st == ST_OK && strcmp(strbuf_cstr(&old), strbuf_cstr(&new)) != 0) {
        f->conflict = true;
    } else if (st == ST_OK) {
        bool takes = new_mangled != old_mangled ? new_mangled : strcmp(name, f->name) < 0;
        f->name = takes ? name : f->name;
    }
    strbuf_release(&old);
    strbuf_release(&new);
    return st;
}

/* Joins a fact to function f; name: the fact's name, interned, or NULL. */
static enum st join_function(struct learned_function *f, const struct learned_function *fact,
                             const char *name, struct err *e) {
    f->end = fact->end > f->end ? fact->end : f->end;
    f->conflict = f->conflict || fact->conflict;
    enum st st = ST_OK;
    if (!f->name) {
        f->name = name;
    } else if (name && name != f->name && !f->conflict) {
        st = settle_names(f, name, e);
    }
    if (f->conflict) {
        f->name = NULL;
        f->end = f->start;
    }
    return st;
}

/* ---- images ---- */

static struct learned_image *learned_find_image(const struct learned_names *n,
                                                const struct image_id *id) {
    const struct map_entry *known = map_get(&n->by_id, id->bytes, id->len);
    return known ? n->images.data[known->value] : NULL;
}

/* Returns the image with this id, which is added if it is new; NULL: out of memory. */
static struct learned_image *learned_take_image(struct learned_names *n,
                                                const struct image_id *id) {
    struct learned_image *image = learned_find_image(n, id);
    if (image) {
        return image;
    }
    image = calloc(1, sizeof *image);
    if (!image || !VEC_PUSH(&n->images, image)) {
        free(image);
        return NULL;
    }
    image->id = *id;
    if (!map_put(&n->by_id, id->bytes, id->len, n->images.len - 1, NULL)) {
        n->images.len--;
        learned_image_free(image);
        return NULL;
    }
    return image;
}

/* Returns the function with this start, which is added if it is new; NULL: out of memory. */
static struct learned_function *learned_take_function(struct learned_image *image, uint64_t start) {
    bool added = false;
    const struct map_entry *known =
        VEC_RESERVE(&image->functions, 1)
            ? map_put(&image->by_start, &start, sizeof start, image->functions.len, &added)
            : NULL;
    if (!known) {
        return NULL;
    }
    if (added) {
        image->functions.data[image->functions.len++] =
            (struct learned_function){start, start, 0, 0};
    }
    return &image->functions.data[known->value];
}

static enum st learned_add_fact(struct learned_names *n, const struct learned_fact *fact,
                                struct err *e) {
    struct learned_image *image = learned_take_image(n, fact->id);
    struct learned_function *f = image ? learned_take_function(image, fact->function.start) : NULL;
    const char *name = fact->function.name;
    if (!f) {
        return err_nomem(e);
    }
    if (name) {
        size_t at = map_intern(&n->texts, name, strlen(name));
        if (at == SIZE_MAX) {
            return err_nomem(e);
        }
        name = map_string(&n->texts, at);
    }
    return join_function(f, &fact->function, name, e);
}

enum st learned_names_add(struct learned_names *n, const struct learned_fact *facts, size_t count,
                          struct err *e) {
    enum st st = ST_OK;
    pthread_mutex_lock(&n->lock);
    for (size_t i = 0; st == ST_OK && i < count; i++) {
        st = learned_add_fact(n, &facts[i], e);
    }
    pthread_mutex_unlock(&n->lock);
    return st;
}

static int learned_compare_starts(const void *a, const void *b) {
    const struct learned_function *x = a, *y = b;
    return COMPARE(x->start, y->start);
}

enum st learned_names_list(struct learned_names *n, const struct image_id *id,
                           struct learned_list *out, struct err *e) {
    enum st st = ST_NONE;
    pthread_mutex_lock(&n->lock);
    const struct learned_image *image = learned_find_image(n, id);
    if (image && image->functions.len > 0) {
        size_t count = image->functions.len;
        st = VEC_RESERVE(out, count) ? ST_OK : err_nomem(e);
        if (st == ST_OK) {
            memcpy(out->data, image->functions.data, count * sizeof *out->data);
            out->len = count;
            qsort(out->data, out->len, sizeof *out->data, learned_compare_starts);
        }
    }
    pthread_mutex_unlock(&n->lock);
    return st;
}

size_t learned_names_image_count(struct learned_names *n) {
    pthread_mutex_lock(&n->lock);
    size_t count = n->images.len;
    pthread_mutex_unlock(&n->lock);
    return count;
}

const struct image_id *learned_names_image_id(struct learned_names *n, size_t i) {
    pthread_mutex_lock(&n->lock);
    const struct image_id *id = &n->images.data[i]->id;
    pthread_mutex_unlock(&n->lock);
    return id;
}
