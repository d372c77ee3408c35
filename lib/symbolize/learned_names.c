/* Joins the facts that reports give about functions. The state of a start only moves forward: its
 * set of names grows until it is in conflict; of names that read the same, a fixed order chooses
 * one, and the two smallest numbers of those who told it are kept. So the join is commutative,
 * associative and idempotent. */
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

/* A name of a start, in the chain of that start. */
struct learned_entry {
    struct learned_function function;
    size_t next; /* index + 1 of the next entry of the chain; 0 = this is the last one */
};

struct learned_image {
    struct image_id id;
    struct map by_start; /* a start's bytes -> index in entries of the first one of its chain */
    VEC(struct learned_entry) entries; /* in a conflict, only the first one of a chain counts */
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
        VEC_RELEASE(&image->entries);
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

/* Joins a name to that of f if both read the same: *same says so. A mangled name is better than a
 * readable one; of two mangled or two readable ones the smaller by strcmp is. ST_ERR: out of
 * memory. */
static enum st join_name(struct learned_function *f, const char *name, bool *same, struct err *e) {
    struct strbuf old = {0}, new = {0};
    bool old_mangled = false, new_mangled = false;
    enum st st = write_readable(f->name, &old, &old_mangled, e);
    if (st == ST_OK) {
        st = write_readable(name, &new, &new_mangled, e);
    }
    *same = st == ST_OK && strcmp(strbuf_cstr(&old), strbuf_cstr(&new)) == 0;
    if (*same) {
        bool takes = new_mangled != old_mangled ? new_mangled : strcmp(name, f->name) < 0;
        f->name = takes ? name : f->name;
    }
    strbuf_release(&old);
    strbuf_release(&new);
    return st;
}

/* Adds the number of one who told f's name, of which f keeps the two smallest; 0 = no number, which
 * adds nothing. */
static void add_teller(struct learned_function *f, uint32_t number) {
    uint32_t *t = f->told_by;
    if (number == 0 || number == t[0] || number == t[1]) {
        return;
    }
    if (t[0] == 0 || number < t[0]) {
        t[1] = t[0];
        t[0] = number;
    } else if (t[1] == 0 || number < t[1]) {
        t[1] = number;
    }
}

/* Joins to f a fact with the same name as f, or without a name if f has none. */
static void join_fact(struct learned_function *f, const struct learned_function *fact) {
    f->end = fact->end > f->end ? fact->end : f->end;
    add_teller(f, fact->told_by[0] || fact->told_by[1] ? fact->told_by[0] : 1);
    add_teller(f, fact->told_by[1]);
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

/* Returns the first entry of this start; a start that is new gets one without a name, told by
 * nobody. NULL: out of memory. */
static struct learned_entry *learned_take_start(struct learned_image *image, uint64_t start) {
    bool added = false;
    const struct map_entry *known =
        VEC_RESERVE(&image->entries, 1)
            ? map_put(&image->by_start, &start, sizeof start, image->entries.len, &added)
            : NULL;
    if (!known) {
        return NULL;
    }
    if (added) {
        image->entries.data[image->entries.len++] =
            (struct learned_entry){.function = {.start = start, .end = start}};
    }
    return &image->entries.data[known->value];
}

/* Marks the function of a chain as one in conflict, whose names are forgotten. */
static void learned_set_conflict(struct learned_entry *first) {
    uint64_t start = first->function.start;
    *first = (struct learned_entry){.function = {.start = start, .end = start, .conflict = true}};
}

/* Finds the entry of a chain whose name reads as this one, and gives the better of both names to
 * it; *out = NULL: there is none. *count is then the number of the chain's names. ST_ERR: out of
 * memory. */
static enum st learned_find_reading(struct learned_image *image, struct learned_entry *first,
                                    const char *name, struct learned_entry **out, size_t *count,
                                    struct err *e) {
    *out = NULL;
    *count = 0;
    /* Equal texts are found first, because reading a name costs far more than comparing two. */
    for (struct learned_entry *i = first; i;
         i = i->next ? &image->entries.data[i->next - 1] : NULL) {
        if (i->function.name == name) {
            *out = i;
            return ST_OK;
        }
    }
    for (struct learned_entry *i = first; i;
         i = i->next ? &image->entries.data[i->next - 1] : NULL) {
        bool same = false;
        if (!i->function.name) {
            continue;
        }
        if (join_name(&i->function, name, &same, e) != ST_OK) {
            return ST_ERR;
        }
        if (same) {
            *out = i;
            return ST_OK;
        }
        ++*count;
    }
    return ST_OK;
}

/* Joins a fact with a name, which is interned, to the chain of its start; a name more than
 * LEARNED_READINGS_MAX makes the start one in conflict. ST_ERR: out of memory. */
static enum st learned_add_named(struct learned_image *image, size_t first,
                                 const struct learned_function *fact, const char *name,
                                 struct err *e) {
    struct learned_entry *entries = image->entries.data, *found;
    size_t count;
    if (learned_find_reading(image, &entries[first], name, &found, &count, e) != ST_OK) {
        return ST_ERR;
    }
    if (found) {
        join_fact(&found->function, fact);
        return ST_OK;
    }
    if (count == LEARNED_READINGS_MAX) {
        learned_set_conflict(&entries[first]);
        return ST_OK;
    }
    struct learned_entry added = {.function = {fact->start, fact->start, name, false, {0}},
                                  .next = entries[first].next};
    join_fact(&added.function, fact);
    if (!VEC_PUSH(&image->entries, added)) {
        return err_nomem(e);
    }
    image->entries.data[first].next = image->entries.len;
    return ST_OK;
}

static enum st learned_add_fact(struct learned_names *n, const struct learned_fact *fact,
                                struct err *e) {
    struct learned_image *image = learned_take_image(n, fact->id);
    struct learned_entry *first = image ? learned_take_start(image, fact->function.start) : NULL;
    const char *name = fact->function.name;
    if (!first) {
        return err_nomem(e);
    }
    if (fact->function.conflict) {
        learned_set_conflict(first);
    }
    if (first->function.conflict) {
        return ST_OK;
    }
    if (!name) {
        join_fact(&first->function, &fact->function);
        return ST_OK;
    }
    size_t at = map_intern(&n->texts, name, strlen(name));
    return at == SIZE_MAX ? err_nomem(e)
                          : learned_add_named(image, (size_t)(first - image->entries.data),
                                              &fact->function, map_string(&n->texts, at), e);
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

static int learned_compare(const void *a, const void *b) {
    const struct learned_function *x = a, *y = b;
    if (x->start != y->start) {
        return COMPARE(x->start, y->start);
    }
    if (!x->name || !y->name) {
        return COMPARE(x->name != NULL, y->name != NULL);
    }
    return strcmp(x->name, y->name);
}

/* Appends the entries of a chain to a list with room for them: without the first one if it was only
 * made to begin the chain, because nobody told the start without a name. */
static void learned_list_chain(const struct learned_image *image, const struct learned_entry *first,
                               struct learned_list *out) {
    for (const struct learned_entry *i = first; i;
         i = i->next ? &image->entries.data[i->next - 1] : NULL) {
        if (i->function.told_by[0] || i->function.conflict) {
            out->data[out->len++] = i->function;
        }
    }
}

enum st learned_names_list(struct learned_names *n, const struct image_id *id,
                           struct learned_list *out, struct err *e) {
    enum st st = ST_NONE;
    pthread_mutex_lock(&n->lock);
    const struct learned_image *image = learned_find_image(n, id);
    if (image && image->entries.len > 0) {
        st = VEC_RESERVE(out, image->entries.len) ? ST_OK : err_nomem(e);
        for (size_t i = 0; st == ST_OK && i < image->by_start.count; i++) {
            learned_list_chain(image, &image->entries.data[image->by_start.entries[i].value], out);
        }
        if (st == ST_OK) {
            qsort(out->data, out->len, sizeof *out->data, learned_compare);
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
